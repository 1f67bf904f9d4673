//! Tools of the proof: what the tests share.

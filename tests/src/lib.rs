//! Tools of the proof: what the tests share.

pub mod bench;

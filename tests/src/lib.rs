//! Tools of the proof: what the tests share.

pub mod agent;
pub mod words;

//! Shared code of the proof of acp-core.

pub mod bench;
pub mod describe;

//! Ending a child process, step by step.
/// Placeholder.
#[derive(Debug)]
pub struct Shutdown;

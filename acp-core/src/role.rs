//! The two ends of a connection, as types: what only one of them may do, the other cannot even name.

/// The end that sends `initialize`: an editor, or whoever starts an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Client {}

/// The end that answers `initialize`: the coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {}

/// One of the two ends, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// See [`Client`].
    Client,
    /// See [`Agent`].
    Agent,
}

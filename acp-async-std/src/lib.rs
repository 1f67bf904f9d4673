//! The async-std adapter of `acp-core`.
//!
//! It has no public items yet: it will be the twin of `acp-tokio`, over the same core and with the same names. Until then
//! use `acp-tokio`, or drive `acp_core::Connection` from a loop of your own, as its crate documentation shows.

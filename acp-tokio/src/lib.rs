//! The tokio adapter of `acp-core`.

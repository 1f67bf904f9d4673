//! Layer 1: bytes and JSON; no protocol state.

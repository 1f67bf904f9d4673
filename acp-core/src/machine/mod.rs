//! Layer 0: pure state machines.

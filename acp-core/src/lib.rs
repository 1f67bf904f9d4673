//! The Agent Client Protocol as sans-io state machines.
#![no_std]

extern crate alloc;

pub mod machine;
pub mod wire;

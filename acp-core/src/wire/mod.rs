//! Layer 1: bytes and JSON; no protocol state.

mod id;
mod method;
mod object;
mod payload;

pub use id::Id;
pub use method::{Form, Gate, Method, MethodName, Sender, Spec};
pub use payload::{ErrorObject, NotJson, Payload, code};

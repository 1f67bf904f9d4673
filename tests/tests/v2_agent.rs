//! Version 2 of the protocol at the agent's end, rule by rule.

#[path = "v2_agent/cancel.rs"]
mod cancel;
#[path = "v2_agent/ends.rs"]
mod ends;
#[path = "v2_agent/entities.rs"]
mod entities;
#[path = "v2_agent/foreground.rs"]
mod foreground;
#[path = "v2_agent/keys.rs"]
mod keys;
#[path = "v2_agent/methods.rs"]
mod methods;
#[path = "v2_agent/negotiation.rs"]
mod negotiation;
#[path = "v2_agent/sessions.rs"]
mod sessions;
#[path = "v2_agent/submissions.rs"]
mod submissions;

/// Nothing said, or nothing told.
fn none() -> Vec<String> {
    Vec::new()
}

//! Version 2 of the protocol at the client's end, rule by rule.

#[path = "v2_client/ends.rs"]
mod ends;
#[path = "v2_client/methods.rs"]
mod methods;
#[path = "v2_client/negotiation.rs"]
mod negotiation;
#[path = "v2_client/one_api.rs"]
mod one_api;
#[path = "v2_client/permissions.rs"]
mod permissions;
#[path = "v2_client/sessions.rs"]
mod sessions;
#[path = "v2_client/stop_and_steer.rs"]
mod stop_and_steer;
#[path = "v2_client/turns.rs"]
mod turns;

/// Nothing said, or nothing told.
fn none() -> Vec<String> {
    Vec::new()
}

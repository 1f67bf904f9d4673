//! The policy in the header of a scene: `name=value`, a value of `none` for no limit.

use core::time::Duration;

use acp_core::{Batches, Config, machine::Overlap};

/// Sets what a word says.
///
/// # Panics
///
/// There is no such knob, or it cannot have this value.
pub(super) fn set(config: &mut Config, word: &str) {
    assert!(word.split_once('=').and_then(|(name, value)| change(config, name, value)).is_some(), "`{word}`?");
}

fn change(config: &mut Config, name: &str, value: &str) -> Option<()> {
    let time = || if value == "none" { Some(None) } else { duration(value).map(Some) };
    let count = || value.parse::<usize>().ok();
    let limits = &mut config.limits;
    match name {
        "line" => limits.line = count()?,
        "queued_bytes" => limits.queued_bytes = count()?,
        "own_requests" => limits.own_requests = count()?,
        "peer_requests" => limits.peer_requests = count()?,
        "actions" => limits.actions = count()?,
        "sessions" => limits.sessions = count()?,
        "noise_lines" => limits.noise_lines = count()?,
        "early_updates" => limits.early_updates = count()?,
        "overlap" => {
            config.overlap = match value.split_once(':') {
                None if value == "refuse" => Overlap::Refuse,
                Some(("queue", most)) => Overlap::Queue(most.parse().ok()?),
                Some(("forward", most)) => Overlap::Forward(most.parse().ok()?),
                _ => return None,
            }
        }
        "stop" => config.stop_confirm = time()?,
        "force" => config.force_cancelled = time()?,
        "client_request" => config.client_request = time()?,
        "close" => config.close_session = duration(value)?,
        "drain" => config.drain = duration(value)?,
        "idle" => config.idle = time()?,
        "silence" => config.silence = time()?,
        "cancel_confirm" => config.cancel_confirm = time()?,
        "permission" => config.permission = time()?,
        "cascade" => config.cascade = value.parse().ok()?,
        "not_initialized_code" => config.not_initialized_code = value.parse().ok()?,
        "batches" if value == "reject" => config.batches = Batches::Reject,
        "methods" => config.methods = value.split(',').map(Into::into).collect(),
        "versions" => config.versions = value.split(',').map(|one| one.parse().ok()).collect::<Option<_>>()?,
        "offer" => config.offer = Some(value.parse().ok()?),
        _ => return None,
    }
    Some(())
}

/// `30s`, `250ms`, `5m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let number = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number * 60)),
        _ => None,
    }
}

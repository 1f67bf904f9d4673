//! The first line of a recording: which end it is, and the policy it runs under.

use alloc::{boxed::Box, collections::BTreeSet, string::String, vec::Vec};
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    config::{Batches, Config, Limits},
    machine::Overlap,
    role::Side,
};

/// The only format there is.
pub(crate) const FORMAT: u32 = 1;

/// The first line. Times are nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) acp_recording: u32,
    pub(crate) agent: bool,
    limits: [usize; 14],
    versions: Vec<u16>,
    offer: Option<u16>,
    /// `[0]` refuses, `[1, n]` queues, `[2, n]` forwards.
    overlap: Vec<usize>,
    stop_confirm: Option<u64>,
    force_cancelled: Option<u64>,
    client_request: Option<u64>,
    close_session: u64,
    drain: u64,
    idle: Option<u64>,
    silence: Option<u64>,
    cancel_confirm: Option<u64>,
    permission: Option<u64>,
    not_initialized_code: i64,
    unknown_session_code: i64,
    cascade: bool,
    batches: bool,
    methods: BTreeSet<Box<str>>,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The first line of a recording.
pub(crate) fn header(side: Side, config: &Config) -> String {
    // Whole, so that a new field is not forgotten here.
    let Config {
        limits,
        versions,
        offer,
        overlap,
        stop_confirm,
        force_cancelled,
        client_request,
        close_session,
        drain,
        idle,
        silence,
        cancel_confirm,
        permission,
        not_initialized_code,
        unknown_session_code,
        cascade,
        batches,
        methods,
    } = config.clone();
    let Limits {
        line,
        queued_bytes,
        reserve_per_request,
        own_requests,
        peer_requests,
        actions,
        sessions,
        batch,
        noise_lines,
        noise_bytes,
        idempotency_keys,
        cancellable,
        early_updates,
        open_tool_calls,
    } = limits;
    let header = Header {
        acp_recording: FORMAT,
        agent: side == Side::Agent,
        limits: [
            line,
            queued_bytes,
            reserve_per_request,
            own_requests,
            peer_requests,
            actions,
            sessions,
            batch,
            noise_lines,
            noise_bytes,
            idempotency_keys,
            cancellable,
            early_updates,
            open_tool_calls,
        ],
        versions: versions.into_iter().collect(),
        offer,
        overlap: match overlap {
            Overlap::Refuse => [0].into(),
            Overlap::Queue(most) => [1, most].into(),
            Overlap::Forward(most) => [2, most].into(),
        },
        stop_confirm: stop_confirm.map(nanos),
        force_cancelled: force_cancelled.map(nanos),
        client_request: client_request.map(nanos),
        close_session: nanos(close_session),
        drain: nanos(drain),
        idle: idle.map(nanos),
        silence: silence.map(nanos),
        cancel_confirm: cancel_confirm.map(nanos),
        permission: permission.map(nanos),
        not_initialized_code,
        unknown_session_code,
        cascade,
        batches: batches == Batches::Accept,
        methods,
    };
    // Numbers, strings and lists always have a form in JSON.
    serde_json::to_string(&header).unwrap_or_default()
}

impl Header {
    /// The policy it says. `None`: it says no such thing.
    pub(crate) fn config(self) -> Option<Config> {
        let mut config = if self.agent { Config::agent() } else { Config::client() };
        let limits = &mut config.limits;
        [
            limits.line,
            limits.queued_bytes,
            limits.reserve_per_request,
            limits.own_requests,
            limits.peer_requests,
            limits.actions,
            limits.sessions,
            limits.batch,
            limits.noise_lines,
            limits.noise_bytes,
            limits.idempotency_keys,
            limits.cancellable,
            limits.early_updates,
            limits.open_tool_calls,
        ] = self.limits;
        config.overlap = match *self.overlap {
            [0] => Overlap::Refuse,
            [1, most] => Overlap::Queue(most),
            [2, most] => Overlap::Forward(most),
            _ => return None,
        };
        config.versions = self.versions.into_iter().collect();
        config.offer = self.offer;
        config.stop_confirm = self.stop_confirm.map(Duration::from_nanos);
        config.force_cancelled = self.force_cancelled.map(Duration::from_nanos);
        config.client_request = self.client_request.map(Duration::from_nanos);
        config.close_session = Duration::from_nanos(self.close_session);
        config.drain = Duration::from_nanos(self.drain);
        config.idle = self.idle.map(Duration::from_nanos);
        config.silence = self.silence.map(Duration::from_nanos);
        config.cancel_confirm = self.cancel_confirm.map(Duration::from_nanos);
        config.permission = self.permission.map(Duration::from_nanos);
        config.not_initialized_code = self.not_initialized_code;
        config.unknown_session_code = self.unknown_session_code;
        config.cascade = self.cascade;
        config.batches = if self.batches { Batches::Accept } else { Batches::Reject };
        config.methods = self.methods;
        Some(config)
    }
}

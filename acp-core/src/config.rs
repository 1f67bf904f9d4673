//! All policy in one place, with the reason beside each default.

use alloc::{boxed::Box, collections::BTreeSet};
use core::time::Duration;

use smallvec::SmallVec;
use thiserror::Error;

use crate::{
    machine::Overlap,
    wire::{SPOKEN, code},
};

/// What a connection may hold, and what happens at each limit. Every count falls back to 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one line, either way, line break excluded. Default 16 MiB: images in base64 fit, a runaway does not.
    /// A longer line that arrives is skipped and settles only its own request; a longer one of ours is refused.
    pub line: usize,
    /// Bytes that may wait to be written. Default 32 MiB. Over it, voluntary sends get `Full`; answers and cancels have
    /// a reserve on top.
    pub queued_bytes: usize,
    /// Bytes beyond [`queued_bytes`](Self::queued_bytes) for each open request of the peer, so that its answer always
    /// has room. Default 64 KiB. An answer that fits in neither goes out as -32603.
    pub reserve_per_request: usize,
    /// Requests of ours that may be open. Default 128. Over it, the next gets `Full`.
    pub own_requests: usize,
    /// Requests of the peer's that may be open, prompts apart. Default 128. Over it, the next is answered -32603.
    pub peer_requests: usize,
    /// Actions that may wait for the host. Default 1 024. At it, `wants_input` turns false; what was handed in is still
    /// processed, so one chunk may overshoot.
    pub actions: usize,
    /// Sessions. Default 16 384. Over it, a request that would open one is answered -32603, or refused.
    pub sessions: usize,
    /// Entries of a batch. Default 1 024. A longer one is answered with one -32600.
    pub batch: usize,
    /// Lines without meaning in a row, with no good one between. Default 100. Over it, the connection is closed.
    pub noise_lines: usize,
    /// Bytes of such lines. Default 1 MiB. Over it, the connection is closed.
    pub noise_bytes: usize,
    /// Agent, version 2: idempotency keys remembered of each session, the latest. Default 128. A prompt sent again after
    /// that many others counts as a new one.
    pub idempotency_keys: usize,
    /// Agent, version 2: tool calls and terminals of each session that may be cancelled at a time. Default 1 024. One more
    /// cannot be: `tool_call/cancel` for it is answered -32602.
    pub cancellable: usize,
    /// Updates held for a session whose opening is not answered yet, each. Default 256. Over it, they are told at once,
    /// flagged as of no known session.
    pub early_updates: usize,
    /// Client: tool calls of each turn that are known to have no result yet. Default 256. One more is not told as left open
    /// when the turn is over.
    pub open_tool_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 16 << 20,
            queued_bytes: 32 << 20,
            reserve_per_request: 64 << 10,
            own_requests: 128,
            peer_requests: 128,
            actions: 1024,
            sessions: 16_384,
            batch: 1024,
            noise_lines: 100,
            noise_bytes: 1 << 20,
            idempotency_keys: 128,
            cancellable: 1024,
            early_updates: 256,
            open_tool_calls: 256,
        }
    }
}

/// What to do with a JSON-RPC batch. ACP v1 speaks of single messages only, its SDKs disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Batches {
    /// Take it, and answer with one array: older peers send them.
    Accept,
    /// Answer one -32600, id null, and process nothing.
    Reject,
}

/// Every policy of a connection. Start from [`Config::client`] or [`Config::agent`] and change what you need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Config {
    /// What may be held.
    pub limits: Limits,
    /// The protocol versions spoken, of 1 and 2. Default: 1, because 2 is a preview. A client asks for the newest of them
    /// unless [`offer`](Self::offer) says otherwise, goes on with an older one of them if the agent answers that, and
    /// closes otherwise. An agent of version 1 only answers the asked one, or 1; one of version 2 answers the newest that
    /// is not newer than the asked one, or -32022.
    pub versions: SmallVec<[u16; 2]>,
    /// Client: the version to ask for. Default `None`: the newest of [`versions`](Self::versions).
    pub offer: Option<u16>,
    /// What becomes of a prompt while another runs. Default: a client refuses it, since the protocol leaves its meaning
    /// open; an agent queues up to 128, since clients send them.
    pub overlap: Overlap,
    /// Client: how long a Stop may go unconfirmed before the connection is closed. Default 10 s, from the first Stop.
    /// `None` leaves it to the host.
    pub stop_confirm: Option<Duration>,
    /// Agent: how long after the first cancel a turn that its host does not end is answered `cancelled` anyway. Default
    /// 30 s; repeated cancels do not extend it. `None`: never.
    pub force_cancelled: Option<Duration>,
    /// Agent: how long `fs/*` and `terminal/*` requests to the client may take. Default 30 s, because a machine answers
    /// them. `terminal/wait_for_exit` has no limit, since it waits for a program, which takes its time; permissions and
    /// elicitations have none, since a person answers them.
    pub client_request: Option<Duration>,
    /// Agent: how long closing a session waits for its turns. Default 5 s.
    pub close_session: Duration,
    /// How long, after the end of the input or a local close, accepted requests may still be answered; and then, how long
    /// the peer may take for each message that waits to be written. Default 2 s.
    pub drain: Duration,
    /// Close after this long without any line, while nothing is open in either direction, counted from the first call
    /// that tells the time. Default `None`: people think.
    pub idle: Option<Duration>,
    /// Report after this long without any line, while a request of ours is open and the peer does not wait for us:
    /// [`Common::Silent`](crate::Common::Silent). Default `None`. It only reports: an agent may think for long.
    pub silence: Option<Duration>,
    /// Report after this long that a request of ours which was to be cancelled is still open:
    /// [`Common::CancelUnconfirmed`](crate::Common::CancelUnconfirmed). Default `None`, since peers may ignore
    /// `$/cancel_request`.
    pub cancel_confirm: Option<Duration>,
    /// Client: report after this long that a permission request is still open:
    /// [`ClientAction::PermissionOverdue`](crate::ClientAction::PermissionOverdue). Default `None`: a dialog may stay
    /// open for hours.
    pub permission: Option<Duration>,
    /// The code for requests before, and a repetition of, `initialize`. Default -32002; the SDKs use -32600, and so does
    /// version 2 once it is agreed.
    pub not_initialized_code: i64,
    /// The code for a session that does not exist here. Default -32002 with `data.sessionId`.
    pub unknown_session_code: i64,
    /// Whether cancelling a turn also sends `$/cancel_request` for each request that it ends. Default no: support for it
    /// is optional, and unknown peers may answer it with an error. In version 2 an agent always does, since it must.
    pub cascade: bool,
    /// What to do with a batch. Default: accept. Version 2 has none: there it is always rejected.
    pub batches: Batches,
    /// Requests beyond the protocol that the host serves, extensions (`_…`) apart, which always reach it. Others are
    /// answered -32601 without asking.
    pub methods: BTreeSet<Box<str>>,
}

/// Why a [`Config`] cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A limit of nothing would refuse everything.
    #[error("`{0}` is 0: give at least 1, or keep the default")]
    Zero(&'static str),
    /// A time of nothing would expire at once.
    #[error("`{0}` is zero: give a time above zero, or `None` for no limit where that is offered")]
    NoTime(&'static str),
    /// No version, or one that is not spoken here; or an offer of version 0, which never was a released one.
    #[error(
        "`versions` must name at least one of the protocol versions 1 and 2, and no other; `offer` must be above 0"
    )]
    Versions,
    /// A time in milliseconds that is none.
    #[error("`{given}` is not a time: give milliseconds from 1 to 2147483647, as a whole number")]
    Millis {
        /// What was given.
        given: Box<str>,
    },
}

impl Config {
    /// The defaults of a client: a second prompt in a session is refused.
    #[must_use]
    pub fn client() -> Self {
        Self::with_overlap(Overlap::Refuse)
    }

    /// The defaults of an agent: up to 128 prompts wait in each session.
    #[must_use]
    pub fn agent() -> Self {
        Self::with_overlap(Overlap::Queue(128))
    }

    fn with_overlap(overlap: Overlap) -> Self {
        Self {
            limits: Limits::default(),
            versions: SmallVec::from_slice(&[1]),
            offer: None,
            overlap,
            stop_confirm: Some(Duration::from_secs(10)),
            force_cancelled: Some(Duration::from_secs(30)),
            client_request: Some(Duration::from_secs(30)),
            close_session: Duration::from_secs(5),
            drain: Duration::from_secs(2),
            idle: None,
            silence: None,
            cancel_confirm: None,
            permission: None,
            not_initialized_code: code::RESOURCE_NOT_FOUND,
            unknown_session_code: code::RESOURCE_NOT_FOUND,
            cascade: false,
            batches: Batches::Accept,
            methods: BTreeSet::new(),
        }
    }

    /// Sets [`client_request`](Self::client_request) from text, as a host reads it from its environment: whole
    /// milliseconds from 1 to 2 147 483 647, which is what every runtime's timers can take.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Millis`]: zero, nonsense, or too long.
    pub fn client_request_millis(mut self, text: &str) -> Result<Self, ConfigError> {
        let millis = text.trim().parse::<u64>().ok().filter(|millis| (1..=2_147_483_647).contains(millis));
        let millis = millis.ok_or_else(|| ConfigError::Millis { given: text.into() })?;
        self.client_request = Some(Duration::from_millis(millis));
        Ok(self)
    }

    /// Whether a connection can be built from it.
    ///
    /// # Errors
    ///
    /// Names the first value that is zero or impossible.
    pub fn check(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        let zero = [
            ("limits.line", limits.line),
            ("limits.queued_bytes", limits.queued_bytes),
            ("limits.reserve_per_request", limits.reserve_per_request),
            ("limits.own_requests", limits.own_requests),
            ("limits.peer_requests", limits.peer_requests),
            ("limits.actions", limits.actions),
            ("limits.sessions", limits.sessions),
            ("limits.batch", limits.batch),
            ("limits.noise_lines", limits.noise_lines),
            ("limits.noise_bytes", limits.noise_bytes),
            ("limits.idempotency_keys", limits.idempotency_keys),
            ("limits.cancellable", limits.cancellable),
            ("limits.early_updates", limits.early_updates),
            ("limits.open_tool_calls", limits.open_tool_calls),
        ];
        if let Some((name, _)) = zero.into_iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::Zero(name));
        }
        let times = [
            ("stop_confirm", self.stop_confirm),
            ("force_cancelled", self.force_cancelled),
            ("client_request", self.client_request),
            ("close_session", Some(self.close_session)),
            ("drain", Some(self.drain)),
            ("idle", self.idle),
            ("silence", self.silence),
            ("cancel_confirm", self.cancel_confirm),
            ("permission", self.permission),
        ];
        if let Some((name, _)) = times.into_iter().find(|(_, time)| *time == Some(Duration::ZERO)) {
            return Err(ConfigError::NoTime(name));
        }
        let spoken = self.versions.iter().all(|version| SPOKEN.contains(version));
        if self.versions.is_empty() || !spoken || self.offer == Some(0) {
            return Err(ConfigError::Versions);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, ConfigError};
    use core::time::Duration;

    #[test]
    fn zero_and_impossible_values_are_refused_by_name() {
        assert_eq!(Config::client().check(), Ok(()));
        assert_eq!(Config::agent().check(), Ok(()));
        let broken = |change: fn(&mut Config)| {
            let mut config = Config::agent();
            change(&mut config);
            config.check()
        };
        assert_eq!(broken(|config| config.limits.line = 0), Err(ConfigError::Zero("limits.line")));
        assert_eq!(broken(|config| config.drain = Duration::ZERO), Err(ConfigError::NoTime("drain")));
        assert_eq!(broken(|config| config.idle = Some(Duration::ZERO)), Err(ConfigError::NoTime("idle")));
        assert_eq!(broken(|config| config.versions.clear()), Err(ConfigError::Versions));
        for given in ["0", "-1", "1.5", "", "soon", "2147483648", "99999999999999999999"] {
            let refused = Config::agent().client_request_millis(given);
            assert_eq!(refused, Err(ConfigError::Millis { given: given.into() }));
        }
        let taken = Config::agent().client_request_millis(" 250 ").map(|config| config.client_request);
        assert_eq!(taken, Ok(Some(Duration::from_millis(250))));
    }
}

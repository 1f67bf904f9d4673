//! What version 2 makes of a client's turn: the answer to the prompt says that it was inserted, and the turn is over when
//! the foreground comes to rest. To the host it is the same turn: begun once, ended once, cancelled in the same ways.

use alloc::{boxed::Box, collections::BTreeSet, vec::Vec};

use super::{
    Connection,
    call::{Call, Purpose},
    recording::note,
    turns::Turn,
};
use crate::{
    action::{CancelCause, ClientAction, Origin, Outcome},
    error::{CommandError, Misuse},
    machine::{Foreground, Machine, TurnInput, Work, WorkInput, WorkOutput},
    role::Client,
    session::Stage,
    ticket::{IncomingKey, SessionKey, TurnKey},
    time::Timestamp,
    wire::{
        ErrorObject, Method, MethodName, Payload, SessionState, StopReason, UpdateKind, code,
        dialect::{
            v1::{self, ToolCallSeen},
            v2::{self, StateSeen},
        },
    },
};

/// What a client keeps of a session in version 2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Watched {
    work: Work,
    /// Whether work was said to go on in the background.
    background: bool,
    /// Whether the history was told to its end, before the session was answered.
    replayed: bool,
    /// Permission requests that a cancel left open, and whose owners are committed since.
    committed: BTreeSet<u64>,
}

/// What of an update concerns the core.
pub(super) enum Seen {
    State(StateSeen, Payload),
    ReplayComplete,
    Child(Box<str>, Option<bool>),
    ToolCall(ToolCallSeen),
}

impl Connection<Client> {
    /// Begins a prompt turn as [`prompt`](Self::prompt) does, under a key by which the agent knows it again: version 2 only.
    /// After a connection was lost it may be sent once more with the same key, on another one, without being done twice.
    /// The key has 1 to 255 characters and is unique in its session: a random one, as a rule.
    ///
    /// # Errors
    ///
    /// [`CommandError::Unsupported`] in version 1; otherwise as for [`prompt`](Self::prompt), or for the key.
    pub fn prompt_once(
        &mut self,
        session: SessionKey,
        content: &Payload,
        key: &str,
        meta: Option<&Payload>,
        now: Timestamp,
    ) -> Result<TurnKey, CommandError> {
        note!(self, "prompt_once", now, "session" = session, "content" = content, "key" = key, "meta" = meta);
        self.advance(now);
        self.check_open()?;
        if !self.speaks_v2() {
            return Err(self.unsupported(&MethodName::Known(Method::SessionPrompt)));
        }
        let misuse = Misuse::Payload("an idempotency key has 1 to 255 characters");
        let member = Payload::new(key).ok().filter(|_| (1..=255).contains(&key.chars().count())).ok_or(misuse)?;
        let params = self.prompt_params(session, content, meta)?;
        let params = Payload::splice(&[br#""idempotencyKey":"#, member.as_bytes()].concat(), &params).ok_or(misuse)?;
        self.begin(session, params, TurnInput::Prompt)
    }

    /// What the agent last reported a session to be at. In version 1, which has no such reports, a session is idle, or
    /// running while a turn of ours is.
    #[must_use]
    pub fn foreground(&self, session: SessionKey) -> Foreground {
        match self.role.watched.get(&session) {
            Some(watched) => watched.work.foreground(),
            None if !self.speaks_v2() && self.running_turn(session).is_some() => Foreground::Running,
            None => Foreground::Idle,
        }
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    /// What of an update concerns the core. Nearly every update is a piece of a message, which does not.
    pub(super) fn look(&self, params: &Payload) -> Option<Seen> {
        let (kind, update) = v2::update(params)?;
        match kind {
            UpdateKind::SubagentUpdate => v2::child(update.as_bytes()).map(|(id, cancel)| Seen::Child(id, cancel)),
            UpdateKind::ToolCall | UpdateKind::ToolCallUpdate => v1::tool_call(&update).map(Seen::ToolCall),
            UpdateKind::StateUpdate if self.speaks_v2() => Some(Seen::State(v2::state(update.as_bytes())?, update)),
            UpdateKind::ReplayComplete if self.speaks_v2() => Some(Seen::ReplayComplete),
            _ => None,
        }
    }

    /// Whether what a session that is being opened tells is its history.
    pub(super) fn is_replaying(&self, session: SessionKey) -> bool {
        let history =
            |call: &Call| call.session == Some(session) && matches!(call.purpose, Purpose::Open { history: true, .. });
        self.sessions.get(session).is_some_and(|session| session.stage != Stage::Open)
            && self.outgoing.iter().any(|(_, call)| history(call))
            && !self.role.watched.get(&session).is_some_and(|watched| watched.replayed)
    }

    /// What an update of this session comes to, after the host was told of it.
    pub(super) fn heed(&mut self, session: SessionKey, origin: Origin, seen: Seen) {
        match seen {
            Seen::ToolCall(seen) => {
                let most = self.config.limits.open_tool_calls;
                if let Origin::Turn(turn) = origin {
                    if let Some(turn) = self.turns.get_mut(&turn) {
                        turn.note_tool_call(&seen, most);
                    }
                }
            }
            Seen::Child(id, cancel) => {
                self.sessions.adopt(&id, session, cancel);
            }
            Seen::ReplayComplete if self.is_replaying(session) => {
                self.role.watched.entry(session).or_default().replayed = true;
            }
            // Nobody asked for it.
            Seen::ReplayComplete => {}
            Seen::State(seen, update) => {
                // Cancelled work ends as `cancelled`, and so does what would confirm a cancel. What ended otherwise was begun
                // after it: there is nothing to be told apart.
                if seen.stop.as_ref().is_some_and(|stop| *stop != StopReason::Cancelled) {
                    self.step_work(session, WorkInput::Uncancel);
                }
                let watched = self.role.watched.entry(session).or_default();
                if let Some(background) = seen.background {
                    watched.background = background;
                }
                let Ok(output) = watched.work.step(WorkInput::Report(state(&seen.state)));
                if let WorkOutput::Completed(over) = output {
                    self.complete(&over, seen, &update);
                }
            }
        }
    }

    /// The foreground came to rest, and the work of these is over.
    fn complete(&mut self, over: &[u64], seen: StateSeen, update: &Payload) {
        let outcome = match seen {
            StateSeen { stop: Some(StopReason::Error), error, .. } => Outcome::Error(
                error.unwrap_or_else(|| ErrorObject::new(code::INTERNAL_ERROR, "the agent's work ended with an error")),
            ),
            _ => Outcome::Result(update.clone()),
        };
        for turn in over {
            self.prompt_resolved(TurnKey(*turn), outcome.clone());
        }
    }

    /// The session was answered.
    pub(super) fn replay_over(&mut self, session: SessionKey) {
        if let Some(watched) = self.role.watched.get_mut(&session) {
            watched.replayed = false;
        }
    }

    /// What is wrong with an elicitation, so that nobody need be asked.
    pub(super) fn check_elicitation(&self, params: Option<&Payload>) -> Result<(), &'static str> {
        let Some(params) = params else { return Ok(()) };
        if v1::elicitation(params).is_some_and(|gate| !self.own.offers(gate)) {
            return Err("this client did not offer elicitations of this mode");
        }
        if self.speaks_v2() { v2::elicitation_scope(params) } else { Ok(()) }
    }

    /// The agent took a prompt: it has its place in the session.
    pub(super) fn prompt_inserted(&mut self, turn: TurnKey, result: &Payload) {
        let message = v2::message_id(result);
        let Some(of) = self.turns.get_mut(&turn) else { return };
        of.message = Some(message.clone().unwrap_or_default());
        let session = of.session;
        self.step_work(session, WorkInput::Insert { turn: turn.0, cancelled: false });
        self.tell(ClientAction::PromptInserted { session, turn, message });
        if self.sessions.get(session).is_none() {
            // The answer may follow that to `session/close`, which is the end of the work.
            self.prompt_resolved(turn, Outcome::Cancelled(CancelCause::CloseSession));
        }
    }

    /// The session is gone, and with it the work of what was inserted: no report of its end can come any more.
    pub(super) fn end_inserted(&mut self, session: SessionKey) {
        let of = |(key, turn): (&TurnKey, &Turn)| (turn.session == session && turn.is_inserted()).then_some(*key);
        let inserted: Vec<TurnKey> = self.turns.iter().filter_map(of).collect();
        for turn in inserted {
            self.prompt_resolved(turn, Outcome::Cancelled(CancelCause::CloseSession));
        }
    }

    /// A prompt was sent. One that is sent while a cancel is under way is not covered by it.
    pub(super) fn work_sent(&mut self, session: SessionKey, turn: TurnKey) {
        if let Some(known) = self.sessions.get(session).filter(|_| self.speaks_v2()) {
            let behind_cancel = known.turns.is_cancelling();
            self.role.watched.entry(session).or_default();
            self.step_work(session, WorkInput::Prompt { turn: turn.0, behind_cancel });
        }
    }

    /// One input of the machine of a session's work, from which nothing follows here. Version 1 has none.
    pub(super) fn step_work(&mut self, session: SessionKey, input: WorkInput) {
        if let Some(watched) = self.role.watched.get_mut(&session) {
            let Ok(_) = watched.work.step(input);
        }
    }

    /// Whether a permission of this session may belong to work that a cancel does not reach. Then it is the agent that
    /// takes it back: a client answers in its place only for what it knows to be cancelled (ACP v2, Permission Requests).
    pub(super) fn may_be_of_background(&self, session: SessionKey) -> bool {
        self.role.watched.get(&session).is_some_and(|watched| watched.background)
    }

    /// A permission that a cancel left open is its owner's from here on.
    pub(super) fn commit_left_open(&mut self, session: SessionKey, key: IncomingKey) {
        let Self { role, incoming, .. } = self;
        let committed = &mut role.watched.entry(session).or_default().committed;
        committed.retain(|key| incoming.get(*key).is_some());
        committed.insert(key.0);
    }

    pub(super) fn is_left_open(&self, session: SessionKey, key: IncomingKey) -> bool {
        self.role.watched.get(&session).is_some_and(|watched| watched.committed.contains(&key.0))
    }

    /// A session that another brought is its agent's to drive.
    pub(super) fn check_not_child(&self, session: SessionKey) -> Result<(), Misuse> {
        match self.sessions.get(session).and_then(|session| session.child.as_ref()) {
            Some(_) => Err(Misuse::ChildSession),
            None => Ok(()),
        }
    }

    /// The origin of an update of a known session.
    pub(super) fn origin(&self, session: SessionKey) -> Origin {
        if self.is_replaying(session) {
            return Origin::Replay;
        }
        self.running_turn(session).map_or(Origin::OutOfTurn, Origin::Turn)
    }
}

fn state(said: &SessionState) -> Foreground {
    match said {
        SessionState::Idle => Foreground::Idle,
        SessionState::Running => Foreground::Running,
        SessionState::RequiresAction => Foreground::RequiresAction,
        // Whatever it means, it must not be taken for idle.
        SessionState::Unobserved | SessionState::Unknown(_) => Foreground::Unknown,
    }
}

//! The client's commands.

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use super::{Connection, call::Purpose, client_setup::Opening, client_work::Watched, recording::note, turns::Turn};
use crate::{
    error::{CommandError, Misuse},
    machine::{CancelKind, HandshakeInput, Machine, TurnInput, TurnOutput, TurnReject, WorkInput},
    outbox::Tag,
    role::Client,
    session::Stage,
    ticket::{FrameId, RequestKey, Scope, SessionKey, TurnKey},
    time::Timestamp,
    wire::{Capabilities, Method, MethodName, Params, Payload, dialect::v2, write_request},
};

/// What only a client keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClientState {
    /// Updates of sessions that are not known yet, by id.
    pub(super) early: BTreeMap<Box<str>, Vec<Payload>>,
    /// The last `session/cancel` that was for no turn of ours, of each session, as long as it may fail.
    pub(super) stops: BTreeMap<SessionKey, FrameId>,
    /// Openings that may need a login, by the key of their first request.
    pub(super) openings: BTreeMap<u64, Opening>,
    /// The ids of the ways to log in that the agent advertised, and that can be asked for on the wire.
    pub(super) auth_methods: Vec<Box<str>>,
    /// Those that cannot: they are for a terminal.
    pub(super) terminal_logins: Vec<Box<str>>,
    /// Version 2: what is kept of each session.
    pub(super) watched: BTreeMap<SessionKey, Watched>,
    /// What we offered before the `initialize` that is under way, which stands again if that one fails.
    pub(super) own_before: Capabilities,
}

impl Connection<Client> {
    /// Opens the connection: sends `initialize`. `params` is an object without `protocolVersion`, which comes from the
    /// configuration, in the shape of that version: `clientCapabilities` and `clientInfo` in version 1, `capabilities` and
    /// `info`, which is required, in version 2. The answer is told as [`Common::Resolved`](crate::Common::Resolved); if its
    /// version is not spoken here, the connection closes, as the protocol says it should. After an error it may be tried
    /// again; in version 2 also after a success, until another request is sent.
    ///
    /// # Errors
    ///
    /// [`Misuse::AlreadyInitialized`] while one is open or after the last that may be sent; otherwise see
    /// [`CommandError`].
    pub fn initialize(&mut self, params: &Payload, now: Timestamp) -> Result<RequestKey, CommandError> {
        note!(self, "initialize", now, "params" = params);
        self.advance(now);
        if !self.lifecycle.is_open() {
            return Err(CommandError::Closed);
        }
        let newest = self.config.versions.iter().copied().max().unwrap_or(1);
        let version = self.config.offer.unwrap_or(newest);
        let member = alloc::format!(r#""protocolVersion":{version}"#);
        let params = Payload::splice(member.as_bytes(), params)
            .ok_or(Misuse::Payload("the params of `initialize` must be a JSON object"))?;
        if version >= 2 && !v2::has_info(&params) {
            let why = "version 2 of the protocol wants `info`, with a `name` and a `version`";
            return Err(Misuse::Payload(why).into());
        }
        let mut next = self.handshake;
        next.step(HandshakeInput::Offer(version)).map_err(|_| Misuse::AlreadyInitialized)?;
        let method = MethodName::Known(Method::Initialize);
        let request = self.send_call(&method, Some(&params), Purpose::Initialize, None, None)?;
        self.handshake = next;
        self.role.own_before = core::mem::replace(&mut self.own, Capabilities::of_client(&params));
        Ok(request)
    }

    /// Begins a prompt turn: sends `session/prompt`. `content` is an array of content blocks; `meta`, if given, an object
    /// for `_meta`. The end is told as [`ClientAction::TurnEnded`](crate::ClientAction::TurnEnded), once, whatever happens.
    ///
    /// While a turn runs in this session, [`Config::overlap`] decides: by default the prompt is refused. With
    /// [`Overlap::Queue`](crate::Overlap::Queue) it waits here, unsent, until that turn is over: see
    /// [`waiting_prompts`](Self::waiting_prompts), [`edit_prompt`](Self::edit_prompt), and
    /// [`cancel_turn`](Self::cancel_turn), which takes it back. With [`Overlap::Forward`](crate::Overlap::Forward) it is
    /// sent at once.
    ///
    /// [`Config::overlap`]: crate::Config::overlap
    ///
    /// # Errors
    ///
    /// [`Misuse::TurnInProgress`] while a turn runs, [`Misuse::SessionNotOpen`] while the session is being opened or
    /// closed; otherwise see [`CommandError`].
    pub fn prompt(
        &mut self,
        session: SessionKey,
        content: &Payload,
        meta: Option<&Payload>,
        now: Timestamp,
    ) -> Result<TurnKey, CommandError> {
        note!(self, "prompt", now, "session" = session, "content" = content, "meta" = meta);
        self.advance(now);
        let params = self.prompt_params(session, content, meta)?;
        self.begin(session, params, TurnInput::Prompt)
    }

    /// Cuts the running turn short for the sake of another prompt: cancels it with [`CancelKind::Steer`], and sends the
    /// prompt when it is over. The prompt waits also where [`Config::overlap`](crate::Config::overlap) refuses a second
    /// one, one at a time; with [`Overlap::Forward`](crate::Overlap::Forward) it is sent at once, behind the cancel. If no
    /// turn of ours runs, it is sent at once, and nothing is cancelled.
    ///
    /// Of several such prompts in a row each is sent, in order, and cut short for the next. If the turn that was cut short
    /// fails, the ones that wait are not sent, since the agent's view of the session may differ from ours: each ends as
    /// [`Settlement::Failed`](crate::Settlement::Failed) with [`Outcome::NotSent`](crate::Outcome::NotSent).
    ///
    /// # Errors
    ///
    /// [`CommandError::Full`] if as many wait as may; otherwise as for [`prompt`](Self::prompt). Nothing was cancelled.
    pub fn steer(
        &mut self,
        session: SessionKey,
        content: &Payload,
        meta: Option<&Payload>,
        now: Timestamp,
    ) -> Result<TurnKey, CommandError> {
        note!(self, "steer", now, "session" = session, "content" = content, "meta" = meta);
        self.advance(now);
        let params = self.prompt_params(session, content, meta)?;
        let running = self.running_turn(session);
        let turn = self.begin(session, params.clone(), TurnInput::Follow)?;
        if let Some(running) = running {
            if let Some(turn) = self.turns.get_mut(&turn) {
                turn.steers = true;
            }
            self.cancel(running, CancelKind::Steer, &[])?;
            self.send_behind(session, turn, &params);
        }
        Ok(turn)
    }

    /// The prompts that wait in a session, unsent, in the order in which they will be sent.
    pub fn waiting_prompts(&self, session: SessionKey) -> impl Iterator<Item = TurnKey> {
        let queued = self.sessions.get(session).into_iter().flat_map(|session| session.turns.queued());
        queued.map(TurnKey).filter(|turn| self.waiting_prompt(*turn).is_some())
    }

    /// The parameters of a prompt that waits; `None` if it was sent, or is over.
    #[must_use]
    pub fn waiting_prompt(&self, turn: TurnKey) -> Option<&Payload> {
        self.turns.get(&turn)?.params.as_ref()
    }

    /// Replaces what a waiting prompt says. Returns whether it did: not if the prompt was sent, or is over.
    ///
    /// # Errors
    ///
    /// `content` or `meta` is not what [`prompt`](Self::prompt) takes.
    pub fn edit_prompt(
        &mut self,
        turn: TurnKey,
        content: &Payload,
        meta: Option<&Payload>,
        now: Timestamp,
    ) -> Result<bool, CommandError> {
        note!(self, "edit_prompt", now, "turn" = turn, "content" = content, "meta" = meta);
        self.advance(now);
        let Some(session) = self.turns.get(&turn).map(|turn| turn.session) else { return Ok(false) };
        let params = self.prompt_params(session, content, meta)?;
        Ok(match self.turns.get_mut(&turn) {
            Some(Turn { params: waiting @ Some(_), .. }) => waiting.replace(params).is_some(),
            _ => false,
        })
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    pub(super) fn prompt_params(
        &self,
        session: SessionKey,
        content: &Payload,
        meta: Option<&Payload>,
    ) -> Result<Payload, CommandError> {
        self.check_open()?;
        self.check_not_child(session)?;
        if content.as_bytes().first() != Some(&b'[') {
            return Err(Misuse::Payload("the prompt must be a JSON array of content blocks").into());
        }
        let meta = meta_member(meta)?;
        let members = [br#""prompt":"#, content.as_bytes(), &meta].concat();
        let params = Payload::splice(&members, &Payload::EMPTY).ok_or(Misuse::Payload("the prompt is not JSON"))?;
        self.with_session(session, &params)
    }

    pub(super) fn begin(
        &mut self,
        session: SessionKey,
        params: Payload,
        input: fn(u64) -> TurnInput,
    ) -> Result<TurnKey, CommandError> {
        let turn = TurnKey(self.last_turn + 1);
        let known = self.sessions.get(session).ok_or(Misuse::UnknownSession)?;
        if known.stage != Stage::Open {
            return Err(Misuse::SessionNotOpen.into());
        }
        let mut turns = known.turns.clone();
        let started = turns.step(input(turn.0)).map_err(|why| match why {
            TurnReject::Full => CommandError::Full { what: "overlap" },
            TurnReject::Busy | TurnReject::NoSuchFrame => Misuse::TurnInProgress.into(),
        })?;
        let opened = match started {
            // It waits here, unsent, so that a cancel of the one before cannot hit it.
            TurnOutput::Wait => Turn::new(session, 0, Some(params)),
            _ => Turn::new(session, self.send_prompt(session, turn, &params)?, None),
        };
        self.next_turn();
        if let Some(session) = self.sessions.get_mut(session) {
            session.turns = turns;
        }
        if started != TurnOutput::Wait {
            self.work_sent(session, turn);
        }
        self.turns.insert(turn, opened);
        Ok(turn)
    }

    /// A prompt that was queued to be sent goes out behind all that was queued since, if it is not out yet: the cancel for
    /// its sake is not about it.
    fn send_behind(&mut self, session: SessionKey, turn: TurnKey, params: &Payload) {
        let Some(request) = self.turns.get(&turn).filter(|turn| turn.params.is_none()).map(|turn| turn.request) else {
            return;
        };
        if self.outbox.withdraw(|tag| *tag == Tag::Request(request)) {
            let params = Params::from(Some(params));
            let method = Method::SessionPrompt.name();
            let frame = self.outbox.push(Tag::Request(request), |out| write_request(out, request, method, params));
            if let Some(call) = self.outgoing.get_mut(request) {
                call.frame = frame;
            }
            self.step_work(session, WorkInput::End { turn: turn.0, done: false });
            self.work_sent(session, turn);
        }
    }

    pub(super) fn send_prompt(
        &mut self,
        session: SessionKey,
        turn: TurnKey,
        params: &Payload,
    ) -> Result<u64, CommandError> {
        let method = MethodName::Known(Method::SessionPrompt);
        let place = Some((session, Scope::Session(session)));
        self.send_call(&method, Some(params), Purpose::Prompt(turn), place, None).map(|request| request.0)
    }
}

/// `,"_meta":{…}`, or nothing.
pub(super) fn meta_member(meta: Option<&Payload>) -> Result<Vec<u8>, Misuse> {
    match meta {
        None => Ok(Vec::new()),
        Some(meta) if meta.is_object() => Ok([br#","_meta":"#, meta.as_bytes()].concat()),
        Some(_) => Err(Misuse::Payload("`_meta` must be a JSON object")),
    }
}

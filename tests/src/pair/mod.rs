//! Both ends of a connection, the types that ship, with a host at each and two pipes of frames between them.
//!
//! What is left open, and so explored, is the order of everything: which frame arrives when, what either host does when,
//! and, if asked for, when a host takes an action, when a frame is handed out, and how it all ends. Unless it is asked
//! for, hosts take their actions at once, and frames go out at once.

pub mod args;
mod choice;
mod content;
mod endings;
mod ends;
pub mod proof;
mod show;
mod sight;
mod watch;

use core::hash::{Hash, Hasher};
use std::collections::VecDeque;

use acp_core::{CancelKind, Config, Overlap, Payload, ticket::FrameId};
use bytes::Bytes;

use self::{
    ends::{AgentEnd, ClientEnd, Seen},
    sight::{Says, Sight, sight},
    watch::Watch,
};
use crate::explore::{Broken, Model};

pub use self::{
    choice::{Choice, End, Mutant, Scope, Side},
    watch::rule,
};

/// A frame under way.
#[derive(Clone, Debug, Hash)]
struct Flight {
    line: Bytes,
    sight: Sight,
    /// Its name, and the turn it is about, if the transport may give it up: else states would differ by nothing else.
    name: Option<(FrameId, usize)>,
}

#[derive(Clone, Debug, Default, Hash)]
struct Pipe {
    frames: VecDeque<Flight>,
    broken: bool,
}

/// A state of the pair.
#[derive(Debug)]
pub struct World {
    client: ClientEnd,
    agent: AgentEnd,
    to_client: Pipe,
    to_agent: Pipe,
    watch: Watch,
    cancels: usize,
    updates: usize,
    failures: usize,
    seen: Seen,
}

/// The pair as a model.
#[derive(Debug)]
pub struct Pair {
    scope: Scope,
    version: u16,
    mutant: Option<Mutant>,
    prompts: Vec<Payload>,
    asks: Vec<Payload>,
    updates: Vec<Payload>,
}

impl Pair {
    /// The pair as it ships, or with a fault.
    #[must_use]
    pub fn new(scope: Scope, mutant: Option<Mutant>) -> Self {
        Self::in_version(1, scope, mutant)
    }

    /// The same in a version of the protocol.
    #[must_use]
    pub fn in_version(version: u16, scope: Scope, mutant: Option<Mutant>) -> Self {
        Self {
            scope,
            version,
            mutant,
            prompts: (1..=scope.prompts).map(content::prompt).collect(),
            asks: (1..=scope.permissions).map(|ask| content::ask(version, ask)).collect(),
            updates: (1..=scope.prompts).map(|turn| content::update(version, turn)).collect(),
        }
    }

    /// Hosts take what they are told; frames go out, if that is no step of its own.
    fn settle(&self, world: &mut World) -> Result<(), Broken> {
        self.tell(world)?;
        if !self.scope.hand_out {
            while self.hand_out(world, Side::Client)? || self.hand_out(world, Side::Agent)? {}
        }
        // Handing out the last frame may be the end.
        self.tell(world)
    }

    /// Hosts take their actions, unless they are slow.
    fn tell(&self, world: &mut World) -> Result<(), Broken> {
        let World { client, agent, watch, seen, .. } = world;
        client.note_over(watch);
        agent.note_forced(watch);
        if !self.scope.slow {
            client.drain(watch, seen)?;
            return agent.drain(watch, seen);
        }
        if !client.end.looks() {
            client.taken(watch)?;
        }
        if agent.end.looks() { Ok(()) } else { watch.aborts_resolved() }
    }

    /// The next frame of this end goes into its pipe. Whether there was one.
    fn hand_out(&self, world: &mut World, side: Side) -> Result<bool, Broken> {
        let frame = match side {
            Side::Client => world.client.end.conn.poll_transmit(),
            Side::Agent => world.agent.end.conn.poll_transmit(),
        };
        let Some(frame) = frame else { return Ok(false) };
        let id = frame.id();
        let mut line = frame.into_line();
        let mut sighted = sight::seen(&line, side, self.version);
        if let (Side::Agent, Sight::Withdraw { id }) = (side, sighted) {
            sighted = Sight::TakeBack { id };
        }
        match (self.mutant, sighted) {
            (Some(Mutant::EndsAlthoughCancelled), Sight::Idle { says: Says::Cancelled, .. }) => {
                line = String::from_utf8_lossy(&line).replace("cancelled", "end_turn").into();
                sighted = sight(&line);
            }
            (Some(Mutant::ForgetsPermissions), Sight::Answer { says: Says::Dismissed, .. })
                if (1..=self.scope.sessions).any(|session| world.watch.cancelling(session)) =>
            {
                return Ok(true);
            }
            (Some(Mutant::EndsAlthoughCancelled), Sight::Answer { id, says: Says::Cancelled }) => {
                line =
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"stopReason\":\"end_turn\"}}}}\n").into();
                sighted = sight(&line);
            }
            _ => {}
        }
        let turn = world.watch.sent(side, sighted)?;
        let pipe = if side == Side::Client { &mut world.to_agent } else { &mut world.to_client };
        if !pipe.broken {
            let name = (world.failures < self.scope.failures).then_some((id, turn));
            pipe.frames.push_back(Flight { line, sight: sighted, name });
        }
        Ok(true)
    }

    fn deliver(&self, world: &mut World, side: Side) -> Result<(), Broken> {
        let pipe = if side == Side::Client { &mut world.to_client } else { &mut world.to_agent };
        let Some(Flight { line, sight: sighted, .. }) = pipe.frames.pop_front() else { return Ok(()) };
        match side {
            Side::Client => {
                if matches!(sighted, Sight::Ask { ask, .. } if world.watch.cancelling(world.watch.session_of(ask))) {
                    world.seen.push("a permission crossed the cancel");
                }
                world.watch.received(sighted)?;
                world.client.end.conn.handle_input(&line, world.client.end.now);
            }
            Side::Agent => {
                world.watch.received(sighted)?;
                if self.mutant != Some(Mutant::IgnoresCancel) || !matches!(sighted, Sight::Cancel { .. }) {
                    world.agent.end.conn.handle_input(&line, world.agent.end.now);
                }
            }
        }
        Ok(())
    }
}

impl World {
    /// Nothing is under way, and no host owes anything.
    fn is_quiet(&self) -> bool {
        let (client, agent) = (&self.client, &self.agent);
        client.dialogs.is_empty()
            && agent.tickets.is_empty()
            && self.to_client.frames.is_empty()
            && self.to_agent.frames.is_empty()
            && client.end.conn.queued_bytes() == 0
            && agent.end.conn.queued_bytes() == 0
            && !(client.end.waits || agent.end.waits)
    }

    /// The lines under way to this end, the oldest first.
    pub fn under_way(&self, to: Side) -> impl Iterator<Item = &Bytes> {
        let pipe = if to == Side::Client { &self.to_client } else { &self.to_agent };
        pipe.frames.iter().map(|flight| &flight.line)
    }

    /// Both hosts know what became of everything, and both ends forgot it.
    fn over(&self) -> Result<(), Broken> {
        self.watch.over()?;
        self.client.end.nothing_left("client")?;
        self.agent.end.nothing_left("agent")
    }

    fn is_closed(&self) -> bool {
        self.client.end.closed && self.agent.end.closed && self.agent.tickets.is_empty()
    }
}

impl Model for Pair {
    type State = Box<World>;
    type Choice = Choice;

    fn initial(&self) -> Box<World> {
        let overlap = match self.scope {
            Scope { waiting: 0, .. } => Overlap::Refuse,
            Scope { waiting, forward: true, .. } => Overlap::Forward(waiting),
            Scope { waiting, .. } => Overlap::Queue(waiting),
        };
        // One that takes prompts one after the other is what every other scope is about.
        let at_agent = match self.scope {
            Scope { insert: true, forward: true, waiting, .. } => Overlap::Forward(waiting),
            _ => Config::agent().overlap,
        };
        let (client, agent) = ends::open([overlap, at_agent], self.scope.sessions, self.version);
        let (to_client, to_agent) = (Pipe::default(), Pipe::default());
        let watch = Watch { second: self.version == 2, ..Watch::default() };
        Box::new(World {
            client,
            agent,
            to_client,
            to_agent,
            watch,
            cancels: 0,
            updates: 0,
            failures: 0,
            seen: Vec::new(),
        })
    }

    /// Late cancels are tried, and must have changed nothing.
    fn check_spends(&self) -> bool {
        false
    }

    fn fork(&self, world: &Box<World>) -> Option<Box<World>> {
        let World { client, agent, to_client, to_agent, watch, cancels, updates, failures, seen: _ } = &**world;
        Some(Box::new(World {
            client: client.fork()?,
            agent: agent.fork()?,
            to_client: to_client.clone(),
            to_agent: to_agent.clone(),
            watch: watch.clone(),
            cancels: *cancels,
            updates: *updates,
            failures: *failures,
            seen: Vec::new(),
        }))
    }

    fn choices(&self, world: &Box<World>) -> Vec<Choice> {
        let (scope, client, agent) = (&self.scope, &world.client, &world.agent);
        let mut choices = Vec::new();
        if !world.to_agent.frames.is_empty() && agent.end.conn.wants_input() {
            choices.push(Choice::Deliver(Side::Agent));
        }
        if !world.to_client.frames.is_empty() && client.end.conn.wants_input() {
            choices.push(Choice::Deliver(Side::Client));
        }
        let waiting = [(Side::Client, client.end.waits), (Side::Agent, agent.end.waits)];
        choices.extend(waiting.into_iter().filter(|(_, waits)| *waits).map(|(side, _)| Choice::Take(side)));
        if scope.hand_out && client.end.conn.queued_bytes() > 0 {
            choices.push(Choice::HandOut(Side::Client));
        }
        if scope.hand_out && agent.end.conn.queued_bytes() > 0 {
            choices.push(Choice::HandOut(Side::Agent));
        }
        if world.failures < scope.failures {
            let of = |side, pipe: &Pipe| (0..pipe.frames.len()).map(move |place| Choice::Fail(side, place));
            choices.extend(of(Side::Client, &world.to_agent).filter(|_| !client.end.closed));
            choices.extend(of(Side::Agent, &world.to_client).filter(|_| !agent.end.closed));
        }
        let turns = &world.watch.turns;
        for session in (1..=scope.sessions).filter(|_| client.end.is_open()) {
            let here = |turn: &usize| turns[turn - 1].session == session && !turns[turn - 1].told;
            let live = || (1..=turns.len()).filter(here);
            if live().count() <= scope.waiting && turns.len() < scope.prompts {
                choices.push(Choice::Prompt(session));
            }
            if world.cancels < scope.cancels {
                let cancels = |turn| [CancelKind::Stop, CancelKind::Steer].map(|kind| Choice::Cancel(turn, kind));
                // One that waits at the agent takes a `$/cancel_request`, which is not explored.
                choices.extend(live().take(if scope.forward { 1 } else { scope.prompts }).flat_map(cancels));
            }
        }
        choices.extend(client.dialogs.keys().flat_map(|ask| [true, false].map(|yes| Choice::Decide(*ask, yes))));
        for (turn, ticket) in &agent.tickets {
            let (turn, live) = (*turn, agent.end.conn.is_live(ticket.turn()));
            if agent.end.is_open() && live && world.watch.asks.len() < scope.permissions {
                choices.push(Choice::Ask(turn));
            }
            if !agent.end.closed && world.updates < scope.updates {
                choices.push(Choice::Update(turn));
            }
            if scope.insert {
                choices.push(Choice::Insert(turn));
            }
            choices.extend([End::Turn, End::Error].map(|end| Choice::EndTurn(turn, end)));
            if scope.says_cancelled {
                choices.push(Choice::EndTurn(turn, End::Cancelled));
            }
        }
        if scope.ends() {
            self.endings(world, &mut choices);
        }
        choices
    }

    fn apply(&self, world: &mut Box<World>, choice: &Choice) -> Result<(), Broken> {
        world.seen.clear();
        let World { client, agent, watch, cancels, updates, seen, .. } = &mut **world;
        match *choice {
            Choice::Deliver(side) => self.deliver(world, side)?,
            Choice::HandOut(side) => drop(self.hand_out(world, side)?),
            Choice::Take(Side::Client) => drop(client.take(watch, seen)?),
            Choice::Take(Side::Agent) => drop(agent.take(watch, seen)?),
            Choice::Fail(side, place) => {
                world.failures += 1;
                self.fail(world, side, place)?;
            }
            Choice::Prompt(session) => client.prompt(session, &self.prompts[watch.turns.len()], watch)?,
            Choice::Cancel(turn, kind) => {
                *cancels += 1;
                client.cancel(turn, kind, watch, seen)?;
            }
            Choice::Decide(ask, select) => client.decide(ask, select, watch)?,
            Choice::Ask(turn) => agent.ask(turn, &self.asks[watch.asks.len()], watch)?,
            Choice::Update(turn) => {
                *updates += 1;
                agent.update(turn, &self.updates[turn - 1], watch)?;
            }
            Choice::Insert(turn) => agent.insert(turn, watch, seen)?,
            Choice::EndTurn(turn, end) => agent.end_turn(turn, end, watch, seen)?,
            Choice::Expire(Side::Agent) if self.expire(world) => {}
            Choice::Close(side) | Choice::Eof(side) | Choice::Lost(side) | Choice::Expire(side) => {
                self.end(world, *choice, side);
            }
        }
        self.settle(world)
    }

    fn check(&self, world: &mut Box<World>) -> Result<(), Broken> {
        let World { client, agent, watch, .. } = &**world;
        client.end.is_bounded("client")?;
        agent.end.is_bounded("agent")?;
        if self.scope.ends() && world.is_closed() {
            watch.paid(!client.end.cut, !agent.end.cut, [rule::PAID; 2])?;
            world.over()?;
        } else if !self.scope.endings && client.end.is_open() && agent.end.is_open() && world.is_quiet() {
            watch.paid(true, true, [rule::DECIDED, rule::NOTHING_LEFT])?;
            world.over()?;
        }
        let World { client, watch, seen, .. } = &mut **world;
        client.late_cancels(watch, seen)
    }

    fn is_settled(&self, world: &Box<World>) -> bool {
        if self.scope.endings || !world.client.end.is_open() || !world.agent.end.is_open() {
            return world.is_closed();
        }
        world.is_quiet() && world.client.end.is_idle() && world.agent.end.is_idle()
    }

    fn outcomes<'a>(&self, world: &'a Box<World>) -> &'a [&'static str] {
        &world.seen
    }

    fn describe(&self, world: &Box<World>, choice: &Choice) -> String {
        let line = match choice {
            Choice::Deliver(Side::Client) => world.to_client.frames.front(),
            Choice::Deliver(Side::Agent) => world.to_agent.frames.front(),
            Choice::Fail(Side::Client, place) => world.to_agent.frames.get(*place),
            Choice::Fail(Side::Agent, place) => world.to_client.frames.get(*place),
            _ => None,
        };
        let line = line.map(|flight| String::from_utf8_lossy(&flight.line).trim_end().to_owned());
        line.map_or_else(|| choice.to_string(), |line| format!("{choice}: {line}"))
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // What the last choice brought about is no part of the future.
        let Self { client, agent, to_client, to_agent, watch, cancels, updates, failures, seen: _ } = self;
        (client, agent, to_client, to_agent, watch, cancels, updates, failures).hash(hasher);
    }
}

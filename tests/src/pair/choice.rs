//! What is explored, how much of it, and with which fault.

use core::fmt::{self, Display};

use acp_core::CancelKind;

/// How much there is to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Sessions that are open.
    pub sessions: usize,
    /// Prompts of the client, in all sessions together.
    pub prompts: usize,
    /// How many of them may wait behind the one that runs. None: a second is refused.
    pub waiting: usize,
    /// Whether those are sent at once, and wait at the agent.
    pub forward: bool,
    /// Cancels of the client, Stop or Steer.
    pub cancels: usize,
    /// Permission requests of the agent.
    pub permissions: usize,
    /// Updates of the agent: each announces the turn's tool call.
    pub updates: usize,
    /// Whether handing out a frame is a step of its own. If not, frames go out at once.
    pub hand_out: bool,
    /// Whether the connection may end: closed by a host, cut off, lost, and its deadline.
    pub endings: bool,
    /// Whether every deadline may come before anything else happens: a Stop that is not confirmed, which ends the
    /// connection, and a cancelled turn whose host does not end it.
    pub timers: bool,
    /// Whether the agent's host may also say `cancelled` by itself.
    pub says_cancelled: bool,
    /// Frames that are lost on their way, which the end that handed them out is told.
    pub failures: usize,
    /// Version 2: whether the agent's host may give a prompt its place whenever it likes; then those that wait at the agent
    /// are in its hands, too, and it may put them into the running work.
    pub insert: bool,
    /// Whether hosts are slow: then it is a step of its own to take an action, and a host acts on what it knows by then.
    pub slow: bool,
}

impl Scope {
    /// A little of what two ends in one session come to. Every other scope says in what it differs.
    pub const SMALL: Self = Self {
        sessions: 1,
        prompts: 2,
        waiting: 0,
        forward: false,
        cancels: 1,
        permissions: 1,
        updates: 1,
        hand_out: false,
        endings: false,
        timers: false,
        says_cancelled: false,
        failures: 0,
        insert: false,
        slow: false,
    };

    /// Whether a connection may come to its end.
    pub(super) const fn ends(&self) -> bool {
        self.endings || self.timers || self.failures > 0
    }
}

/// A fault that is built into what stands between the ends and the pipes, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A cancel forgets the open permissions: their `cancelled` is not sent.
    ForgetsPermissions,
    /// The agent ignores a cancel.
    IgnoresCancel,
    /// The agent answers `end_turn` although it was cancelled.
    EndsAlthoughCancelled,
}

/// Either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The client.
    Client,
    /// The agent.
    Agent,
}

/// What an agent's host says about a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// `end_turn`.
    Turn,
    /// An error.
    Error,
    /// `cancelled`.
    Cancelled,
}

/// What can happen. Turns and permission requests go by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The next frame arrives at this end.
    Deliver(Side),
    /// The next frame of this end is handed out.
    HandOut(Side),
    /// The host at this end takes the next action.
    Take(Side),
    /// The transport gives up this frame of this end, which is under way: the oldest is 0.
    Fail(Side, usize),
    /// The client's host prompts in this session.
    Prompt(usize),
    /// The client's host cancels a turn.
    Cancel(usize, CancelKind),
    /// The client's host decides a permission request: with the option, or with none.
    Decide(usize, bool),
    /// The agent's host asks for a permission in this turn.
    Ask(usize),
    /// The agent's host reports a tool call in this turn.
    Update(usize),
    /// Version 2: the agent's host gives the prompt of this turn its place.
    Insert(usize),
    /// The agent's host ends this turn.
    EndTurn(usize, End),
    /// The host at this end closes.
    Close(Side),
    /// The stream to this end ends here: what is in the pipe is lost.
    Eof(Side),
    /// The stream fails at this end, both ways.
    Lost(Side),
    /// The next deadline of this end comes: the time to drain is over, or, if asked for, any other.
    Expire(Side),
}

impl Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Client { "client" } else { "agent" })
    }
}

impl Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deliver(side) => write!(f, "the {side} receives"),
            Self::HandOut(side) => write!(f, "the {side} hands out its next frame"),
            Self::Take(side) => write!(f, "the {side}'s host takes its next action"),
            Self::Fail(side, place) => write!(f, "frame {place} of the {side} cannot be delivered"),
            Self::Prompt(1) => write!(f, "the client prompts"),
            Self::Prompt(session) => write!(f, "the client prompts in session {session}"),
            Self::Cancel(turn, kind) => write!(f, "the client cancels turn {turn} ({kind:?})"),
            Self::Decide(ask, true) => write!(f, "the client allows permission {ask}"),
            Self::Decide(ask, false) => write!(f, "the client dismisses permission {ask}"),
            Self::Ask(turn) => write!(f, "the agent asks for a permission in turn {turn}"),
            Self::Update(turn) => write!(f, "the agent reports a tool call in turn {turn}"),
            Self::Insert(turn) => write!(f, "the agent's host inserts the prompt of turn {turn}"),
            Self::EndTurn(turn, end) => write!(f, "the agent's host ends turn {turn} ({end:?})"),
            Self::Close(side) => write!(f, "the {side}'s host closes"),
            Self::Eof(side) => write!(f, "the stream to the {side} ends"),
            Self::Lost(side) => write!(f, "the {side} loses the stream"),
            Self::Expire(side) => write!(f, "the {side}'s deadline comes"),
        }
    }
}

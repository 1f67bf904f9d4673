//! Stop and Steer in every order of a small scope, on a real connection: {steer, stop} × {pending, sent, failed} × {settle,
//! error, permission, close, timer}.
//!
//! What is expected is said a second time here, and differently: as the frames that are alive. A Steer writes one if no
//! cancel is alive, a Stop if no Stop is. The turn is being cancelled exactly as long as one is alive.

use core::hash::{Hash, Hasher};
use core::panic::AssertUnwindSafe;
use std::collections::{BTreeSet, VecDeque};
use std::hash::DefaultHasher;
use std::panic::catch_unwind;

use acp_core::{CancelKind, Cancellation, Cause, Config, FrameId, Timestamp, TurnKey};
use acp_tests::{
    client::{ClientBench, text},
    taped,
};
use core::time::Duration;

const BOUND: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Op {
    Steer,
    Stop,
    /// One frame is handed out.
    Send,
    /// The transport fails the last cancel of this kind that was handed out.
    SteerFails,
    StopFails,
    Permission,
    Settle,
    Error,
    Close,
    /// The bound passes.
    Timer,
    /// The next prompt begins.
    Next,
}

const ALL: [Op; 11] = [
    Op::Steer,
    Op::Stop,
    Op::Send,
    Op::SteerFails,
    Op::StopFails,
    Op::Permission,
    Op::Settle,
    Op::Error,
    Op::Close,
    Op::Timer,
    Op::Next,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    Pending,
    Sent,
    Failed,
}

/// A frame that was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Written {
    Cancel(CancelKind),
    Answer(u64),
    Prompt,
}

/// The rules, said again.
#[derive(Clone, Debug, Default, Hash)]
struct Model {
    /// Frames that wait, in order.
    waiting: VecDeque<Written>,
    /// Cancels that were handed out and not failed.
    out: Vec<CancelKind>,
    /// Cancels that failed.
    failed: BTreeSet<CancelKind>,
    /// A Steer that wrote nothing, since a Stop was alive.
    joined: bool,
    /// Permission requests that the host has to decide.
    open: Vec<u64>,
    asked: u64,
    settled: bool,
    over: bool,
    next: bool,
    due: Option<Timestamp>,
    /// How often the turn was steered and stopped.
    asks: [usize; 2],
}

impl Model {
    fn alive(&self, kind: CancelKind) -> bool {
        self.waiting.contains(&Written::Cancel(kind)) || self.out.contains(&kind)
    }

    fn cancelling(&self) -> bool {
        !self.settled && (self.alive(CancelKind::Stop) || self.alive(CancelKind::Steer))
    }

    fn place(&self, kind: CancelKind) -> Option<Where> {
        match () {
            () if self.settled => None,
            () if self.waiting.contains(&Written::Cancel(kind)) => Some(Where::Pending),
            () if self.out.contains(&kind) => Some(Where::Sent),
            () if self.failed.contains(&kind) => Some(Where::Failed),
            () => None,
        }
    }

    /// What may happen now, within the scope.
    fn may(&self, op: Op) -> bool {
        !self.over
            && match op {
                // A late one changes nothing, so it does not count.
                Op::Steer => self.asks[0] < 2 || self.settled,
                Op::Stop => self.asks[1] < 2 || self.settled,
                Op::Send => !self.waiting.is_empty(),
                Op::SteerFails => self.out.contains(&CancelKind::Steer),
                Op::StopFails => self.out.contains(&CancelKind::Stop),
                Op::Permission => self.asked < 2,
                Op::Settle | Op::Error => !self.settled,
                Op::Close => true,
                Op::Timer => true,
                Op::Next => self.settled && !self.next,
            }
    }

    /// Takes one step, and says what the host hears of it.
    fn step(&mut self, op: Op, now: Timestamp) -> Vec<String> {
        match op {
            Op::Steer => self.cancel(CancelKind::Steer, now),
            Op::Stop => self.cancel(CancelKind::Stop, now),
            Op::Send => {
                if let Some(Written::Cancel(kind)) = self.waiting.pop_front() {
                    self.out.push(kind);
                }
                vec![]
            }
            Op::SteerFails => self.fails(CancelKind::Steer),
            Op::StopFails => self.fails(CancelKind::Stop),
            Op::Permission => {
                self.asked += 1;
                if self.cancelling() {
                    self.waiting.push_back(Written::Answer(self.asked));
                    return vec![];
                }
                self.open.push(self.asked);
                let turn = match (self.settled, self.next) {
                    (false, _) => "turn 1",
                    (true, true) => "turn 2",
                    (true, false) => "OutOfTurn",
                };
                vec![format!("permission {} s1 {turn}", self.asked)]
            }
            Op::Settle => {
                let how = if self.cancelling() { "Cancelled" } else { "CancelledUnasked" };
                self.settle();
                vec![format!("turn 1 {how}")]
            }
            Op::Error => {
                self.settle();
                vec!["turn 1 Failed, Error -32603".into()]
            }
            Op::Close => {
                let mut heard = self.end();
                heard.extend(self.open.iter().map(|asked| format!("revoked {asked}")));
                self.waiting.extend(core::mem::take(&mut self.open).into_iter().map(Written::Answer));
                heard
            }
            Op::Timer if self.due.is_some() => {
                let mut heard = self.end();
                heard.extend(core::mem::take(&mut self.open).into_iter().map(|asked| format!("revoked {asked}")));
                heard.push("closed StopUnconfirmed".into());
                self.waiting.clear();
                heard
            }
            Op::Timer => vec![],
            Op::Next => {
                self.next = true;
                self.waiting.push_back(Written::Prompt);
                vec![]
            }
        }
    }

    fn cancel(&mut self, kind: CancelKind, now: Timestamp) -> Vec<String> {
        if self.settled {
            return vec![];
        }
        self.asks[usize::from(kind == CancelKind::Stop)] += 1;
        if kind == CancelKind::Stop && !self.alive(CancelKind::Stop) {
            self.due = Some(now + BOUND);
        }
        let rides = match kind {
            CancelKind::Stop => self.alive(CancelKind::Stop),
            CancelKind::Steer => self.cancelling(),
        };
        if rides {
            self.joined |= kind == CancelKind::Steer && !self.alive(CancelKind::Steer);
            return vec![];
        }
        self.waiting.push_back(Written::Cancel(kind));
        let void = core::mem::take(&mut self.open);
        self.waiting.extend(void.iter().map(|asked| Written::Answer(*asked)));
        void.iter().map(|asked| format!("revoked {asked}")).collect()
    }

    fn fails(&mut self, kind: CancelKind) -> Vec<String> {
        self.out.retain(|out| *out != kind);
        if self.settled {
            return vec![];
        }
        self.failed.insert(kind);
        let stop = kind == CancelKind::Stop;
        let steer = !stop || core::mem::take(&mut self.joined);
        if stop {
            self.due = None;
        }
        vec![format!("undelivered turn 1 stop={stop} steer={steer}")]
    }

    fn settle(&mut self) {
        self.settled = true;
        self.due = None;
        self.joined = false;
        self.failed.clear();
        self.asks = [0, 0];
        self.waiting.retain(|written| !matches!(written, Written::Cancel(_)));
    }

    /// The turns that were open end with the connection.
    fn end(&mut self) -> Vec<String> {
        let mut heard = Vec::new();
        if !self.settled {
            heard.push("turn 1 Closed, Closed".into());
        } else if self.next {
            heard.push("turn 2 Closed, Closed".into());
        }
        self.waiting.retain(|written| *written != Written::Prompt);
        self.settle();
        self.over = true;
        heard
    }
}

/// The connection, the model, and what the transport still holds.
struct Run {
    client: ClientBench,
    turn: TurnKey,
    model: Model,
    out: Vec<(CancelKind, FrameId)>,
}

impl Run {
    fn new() -> Self {
        taped::off();
        let (client, _, turn) = ClientBench::running(Config::client());
        Self { client, turn, model: Model::default(), out: Vec::new() }
    }

    fn cancel(&mut self, kind: CancelKind) {
        let before = self.client.conn.queued_bytes();
        let (settled, shares) = (self.model.settled, self.model.cancelling());
        let now = self.client.now;
        let cancelled = self.client.conn.cancel_turn(self.turn, kind, now).expect("a turn of ours");
        let writes = !settled && !(shares && (kind == CancelKind::Steer || self.model.alive(CancelKind::Stop)));
        let expected = match (settled, writes) {
            (true, _) => Cancellation::Moot,
            (false, true) => Cancellation::Requested,
            (false, false) => Cancellation::AlreadyRequested,
        };
        assert_eq!(cancelled, expected);
        assert_eq!(self.client.conn.queued_bytes() > before, writes, "one frame for each, unless it failed");
    }

    /// Hands out one frame, which is the one that the model says.
    fn send(&mut self, expected: &Written) {
        let frame = self.client.conn.poll_transmit().expect("a frame waits");
        let (id, line) = (frame.id(), String::from_utf8(frame.into_line().to_vec()).expect("UTF-8"));
        let (what, sent) = match expected {
            Written::Cancel(kind) => ("session/cancel".to_owned(), Some((*kind, id))),
            Written::Answer(asked) => {
                (format!(r#""id":{asked},"result":{{"outcome":{{"outcome":"cancelled"}}}}"#), None)
            }
            Written::Prompt => ("session/prompt".to_owned(), None),
        };
        assert!(line.contains(&what), "{line}: {what}");
        self.out.extend(sent);
    }

    fn fail(&mut self, kind: CancelKind) {
        let place = self.out.iter().rposition(|(of, _)| *of == kind).expect("one is out");
        let (_, frame) = self.out.remove(place);
        let now = self.client.now;
        self.client.conn.handle_transmit_failed(frame, now);
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Steer => self.cancel(CancelKind::Steer),
            Op::Stop => self.cancel(CancelKind::Stop),
            Op::Send => {
                let next = self.model.waiting.front().cloned().expect("one waits");
                self.send(&next);
            }
            Op::SteerFails => self.fail(CancelKind::Steer),
            Op::StopFails => self.fail(CancelKind::Stop),
            Op::Permission => {
                let id = self.model.asked + 1;
                self.client.permission(id, "s1");
            }
            Op::Settle => self.client.stops(3, "cancelled"),
            Op::Error => self.client.error(3, -32603),
            Op::Close => {
                let now = self.client.now;
                self.client.conn.close(now);
            }
            Op::Timer => self.client.wait(BOUND),
            Op::Next => {
                let (now, session) = (self.client.now, self.client.conn.find_session("s1").expect("open"));
                assert!(self.client.conn.prompt(session, &text("next"), None, now).is_ok());
            }
        }
        let mut heard = self.model.step(op, self.client.now);
        if op == Op::Close {
            // What was answered at the end is written, and a cancel is not among it.
            assert!(!self.model.waiting.iter().any(|written| matches!(written, Written::Cancel(_))));
            for written in core::mem::take(&mut self.model.waiting) {
                self.send(&written);
            }
            heard.push("closed Local".into());
        }
        assert_eq!(self.client.heard(), heard);
        let due = self.client.conn.poll_timeout().map(|deadline| (deadline.cause, deadline.at));
        assert_eq!(due, self.model.due.map(|at| (Cause::StopConfirm(self.turn), at)), "exactly while a Stop is alive");
        assert_eq!(self.client.conn.is_live(self.turn), !self.model.settled);
        assert_eq!(self.client.conn.is_closed(), self.model.over);
        if self.model.waiting.is_empty() {
            assert_eq!(self.client.conn.queued_bytes(), 0, "nothing is written that the rules do not ask for");
        }
    }
}

/// All that the future depends on: two paths that lead to the same need to be followed only once.
fn state(run: &Run) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&run.client.conn, &run.model, &run.out).hash(&mut hasher);
    hasher.finish()
}

/// A connection is not cloned: every path is walked from the start.
fn walk(path: &[Op]) -> Run {
    let mut run = Run::new();
    for (at, op) in path.iter().enumerate() {
        let checked = catch_unwind(AssertUnwindSafe(|| run.step(*op)));
        assert!(checked.is_ok(), "at step {at} of {path:?}");
    }
    run
}

#[test]
fn every_order_of_stops_and_steers_keeps_the_rules() {
    let (mut states, mut steps, mut met) = (BTreeSet::new(), 0, BTreeSet::new());
    let mut paths = VecDeque::from([(Vec::new(), Model::default())]);
    while let Some((path, model)) = paths.pop_front() {
        for op in ALL.into_iter().filter(|op| model.may(*op)) {
            for kind in [CancelKind::Steer, CancelKind::Stop] {
                met.extend(model.place(kind).map(|place| (kind, place, op)));
            }
            let path = [&path[..], &[op]].concat();
            let run = walk(&path);
            steps += 1;
            // Time that passes without a deadline changes the clock and nothing else.
            if op != Op::Timer && states.insert(state(&run)) {
                paths.push_back((path, run.model));
            }
        }
    }
    for kind in [CancelKind::Steer, CancelKind::Stop] {
        for place in [Where::Pending, Where::Sent, Where::Failed] {
            for op in [Op::Settle, Op::Error, Op::Permission, Op::Close, Op::Timer] {
                assert!(met.contains(&(kind, place, op)), "{kind:?} {place:?} × {op:?} was not met");
            }
        }
    }
    println!("{} states, {steps} steps", states.len());
    assert!(states.len() > 1_000, "the scope is smaller than it was: {}", states.len());
}

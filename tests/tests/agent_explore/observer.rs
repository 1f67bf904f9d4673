//! Whoever watches the agent: what went in, what came out, and what must be true of it.

use core::hash::Hash;
use std::collections::BTreeMap;

use acp_core::{Cause, CommandError, Delivery, Overlap, RequestKey};
use acp_tests::{agent::AgentBench, words::frame_in_words};
use serde_json::Value;

use crate::{outcomes::OUTCOMES, work::Work, world::Event};

/// A prompt, as the client and the host see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Prompt {
    /// Of what nobody prompted, a number that no request has.
    pub(crate) id: u64,
    /// Received while another was open, so that it may have to wait.
    crossed: bool,
    pub(crate) told: bool,
    aborted: bool,
    dropped: bool,
    /// Somebody cancelled it after it was received and before it was over.
    pub(crate) cancelled: bool,
    /// What the host said.
    pub(crate) said: Option<&'static str>,
    forced: bool,
    /// It is over, whether or not its answer has been written.
    pub(crate) over: bool,
    pub(crate) answer: Option<String>,
    /// Version 2: it has its place, written or not.
    pub(crate) inserted: bool,
    /// Version 2: its work is that of the session, and was not told as over.
    pub(crate) works: bool,
    /// Version 2: the user's message was told.
    pub(crate) echoed: bool,
}

impl Prompt {
    /// One that the host is told of, and that has its place, with nobody to answer.
    pub(crate) fn of_nobody() -> Self {
        let answer = Some("to nobody".to_owned());
        Self { id: u64::MAX, told: true, inserted: true, works: true, answer, ..Self::default() }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observer {
    pub(crate) work: Option<Work>,
    forwards: bool,
    refuses: bool,
    /// In the order in which they were received; a turn is its place, from 1.
    pub(crate) prompts: Vec<Prompt>,
    /// Our requests: the turn, whether it was seen on the wire, what became of it.
    pub(crate) requests: BTreeMap<u64, (u64, bool, Option<String>)>,
    pub(crate) close: Option<bool>,
    pub(crate) ended: bool,
    pub(crate) closed: bool,
    /// The client did not read until the time for that had passed.
    unread: bool,
    seen: Vec<&'static str>,
}

impl Observer {
    pub(crate) fn new(version: u16, overlap: Overlap) -> Self {
        Self {
            work: (version == 2).then(Work::default),
            forwards: matches!(overlap, Overlap::Forward(_)),
            refuses: overlap == Overlap::Refuse,
            prompts: Vec::new(),
            requests: BTreeMap::new(),
            close: None,
            ended: false,
            closed: false,
            unread: false,
            seen: Vec::new(),
        }
    }

    /// What was seen that is worth a name.
    pub(crate) fn witnessed(&self) -> &[&'static str] {
        &self.seen
    }

    /// What decides about what may follow, which the names of what was seen do not.
    pub(crate) fn state(&self) -> impl Hash {
        (self.prompts.clone(), self.requests.clone(), self.close, self.ended, self.closed, self.work.clone())
    }

    /// Whether what the client sends still arrives.
    pub(crate) fn hears(&self) -> bool {
        !self.ended
    }

    /// Whether a prompt of this id was received.
    pub(crate) fn knows(&self, id: u64) -> bool {
        self.prompts.iter().any(|prompt| prompt.id == id)
    }

    /// A request of ours that the client could answer.
    pub(crate) fn asked(&self) -> Option<u64> {
        self.requests.iter().find(|(_, (_, written, _))| *written).map(|(id, _)| *id)
    }

    pub(crate) fn prompt(&mut self, turn: u64) -> &mut Prompt {
        self.prompts.get_mut(usize::try_from(turn).expect("small") - 1).expect("a turn that was received")
    }

    pub(crate) fn see(&mut self, what: impl AsRef<str>) {
        let what = what.as_ref();
        let known = OUTCOMES.iter().find(|outcome| **outcome == what);
        let known = known.unwrap_or_else(|| panic!("nobody expects {what:?}"));
        if !self.seen.contains(known) {
            self.seen.push(known);
        }
    }

    // ---- what goes in ------------------------------------------------------------------------------------------

    /// Says of every prompt whether this event cancels it: if it was received before, and is not over.
    pub(crate) fn before(&mut self, event: Event, bench: &AgentBench) {
        let open = !self.ended;
        let exists = bench.conn.find_session("s1").is_some();
        let cancel_all = match event {
            Event::Cancel => open && exists,
            Event::Close => open && exists && self.close.is_none(),
            Event::Eof => open,
            _ => false,
        };
        for prompt in self.prompts.iter_mut().filter(|prompt| !prompt.over) {
            // In version 2 the request of what has its place is answered: there is nothing to cancel.
            let request = open && event == Event::CancelRequest(prompt.id) && !prompt.inserted;
            prompt.cancelled |= cancel_all || request;
        }
        match event {
            Event::Prompt(id) if open => {
                let crossed = self.prompts.iter().any(|prompt| !prompt.over);
                // What the session does not take is over at once.
                if exists && self.close.is_none() {
                    let over = crossed && self.refuses;
                    let said = over.then_some("-32600");
                    self.prompts.push(Prompt { id, crossed, over, said, ..Prompt::default() });
                } else {
                    self.see("a prompt to a closed session");
                }
            }
            Event::Close if open && exists && self.close.is_none() => self.close = Some(false),
            Event::Eof => self.ended = true,
            _ => {}
        }
    }

    pub(crate) fn asks(&mut self, turn: u64, sent: Result<RequestKey, CommandError>) {
        match sent {
            Ok(request) => {
                let void = self.prompt(turn).cancelled;
                if self.shows_work(turn) {
                    self.inserted(turn);
                }
                self.requests.insert(request.number(), (turn, false, None));
                self.see(if void { "asked after the cancel" } else { "asked" });
            }
            Err(CommandError::TurnOver) => assert!(self.prompt(turn).over, "t{turn} is not over"),
            Err(CommandError::Closed) => assert!(self.ended, "refused on an open connection"),
            Err(why) => panic!("{why}"),
        }
    }

    pub(crate) fn reports(&mut self, turn: u64, delivery: Delivery) {
        let over = self.prompt(turn).over || !self.shows_work(turn);
        assert_eq!(delivery == Delivery::TooLate, over, "an update of t{turn}: {delivery:?}");
        if !over {
            self.inserted(turn);
        }
        self.see(format!("update {delivery:?}"));
    }

    pub(crate) fn ends(&mut self, turn: u64, said: &'static str, delivery: Delivery) {
        let prompt = self.prompt(turn);
        let expected = match (prompt.over, prompt.cancelled) {
            (true, _) => Delivery::TooLate,
            (false, true) => Delivery::AsCancelled,
            (false, false) => Delivery::Queued,
        };
        assert_eq!(delivery, expected, "the end of t{turn}");
        if !prompt.over {
            prompt.said = Some(said);
            prompt.over = true;
            self.work_ended(turn);
        }
        self.see(format!("end {delivery:?}"));
    }

    // ---- what comes out ----------------------------------------------------------------------------------------

    pub(crate) fn told(&mut self, event: Event, told: &[String]) {
        for (at, action) in told.iter().enumerate() {
            assert!(!self.closed, "told after the end: {action}");
            let words: Vec<&str> = action.split(' ').collect();
            let number = |word: &str| word[1..].parse::<u64>().expect("a number");
            match words[..] {
                ["Prompt", turn] => {
                    let prompt = self.prompt(number(turn));
                    assert!(!prompt.told && !prompt.over, "{action} is told once, and never of what is over");
                    prompt.told = true;
                    let alone = self.prompts.iter().filter(|prompt| prompt.told && !prompt.over).count() == 1;
                    assert!(alone || self.forwards, "{action}, and another runs");
                    self.begins_behind_no_cancel(number(turn));
                }
                ["DropQueued", turn] => {
                    let earlier = told[..at].iter().any(|earlier| earlier.starts_with("AbortTurn"));
                    assert!(!earlier, "{action} comes after the abort: the backend has begun it");
                    assert!(self.forwards, "only a backend that queues can drop");
                    let prompt = self.prompt(number(turn));
                    assert!(prompt.cancelled && prompt.told && !prompt.over, "{action}");
                    (prompt.dropped, prompt.over) = (true, true);
                    self.see("DropQueued");
                }
                ["AbortTurn", turn, cause, ref again @ ..] => {
                    let prompt = self.prompt(number(turn));
                    assert!(prompt.cancelled && prompt.told && !prompt.over, "{action}");
                    assert_eq!(prompt.aborted, !again.is_empty(), "{action}: news once");
                    prompt.aborted = true;
                    let early = told[..at].iter().any(|earlier| earlier.ends_with("Cancelled(Session)"));
                    assert!(!early, "the model stream is aborted first");
                    self.see(format!("AbortTurn {cause}{}", if again.is_empty() { "" } else { " again" }));
                }
                ["TurnForced", turn] => {
                    assert_eq!(event, Event::Timer, "{action}");
                    let prompt = self.prompt(number(turn));
                    assert!(prompt.aborted && !prompt.over, "{action}");
                    (prompt.forced, prompt.over) = (true, true);
                    self.see("TurnForced");
                }
                ["Resolved", request, outcome, ..] => {
                    let outcome = outcome.to_owned();
                    self.see(format!("Resolved {outcome}"));
                    let (turn, _, resolved) = self.requests.entry(number(request)).or_insert((0, false, None));
                    assert_eq!(resolved.replace(outcome.clone()), None, "{action}: resolved twice");
                    let turn = *turn;
                    if outcome.starts_with("Cancelled") && turn > 0 {
                        // What a turn left open when it ended by itself ends with its session.
                        let with_session = outcome == "Cancelled(CloseSession)" && self.close == Some(true);
                        assert!(with_session || self.prompt(turn).cancelled, "{action}, and nobody cancelled");
                    }
                }
                ["IdleCancel", _] => {
                    let running = self.prompts.iter().any(|prompt| !prompt.over);
                    assert!(event == Event::Cancel && !running, "{action}, and a turn runs");
                    self.see("IdleCancel");
                }
                ["CloseSession", _] => {
                    assert_eq!(self.close, Some(false), "{action}");
                    assert!(self.prompts.iter().all(|prompt| prompt.over), "{action}, and a turn runs");
                    self.close = Some(true);
                    self.see("CloseSession");
                }
                ["CancelRequested"] => assert!(self.ended, "{action}"),
                ["Closed", ..] => {
                    assert!(self.ended && at + 1 == told.len(), "{action} is told last");
                    self.closed = true;
                    self.unread = event == Event::Timer;
                }
                _ => panic!("nobody expects {action}"),
            }
        }
        // A prompt that waits and is cancelled is over at once.
        for prompt in self.prompts.iter_mut().filter(|prompt| prompt.cancelled && !prompt.told) {
            prompt.over = true;
        }
    }

    pub(crate) fn wire(&mut self, event: Event, frames: &[Value]) {
        for frame in frames {
            if self.work.is_some() && self.told_of_work(frame) {
                continue;
            }
            let words = frame_in_words(frame);
            if words == "9: ok" || words == "9: -32800" {
                assert!(self.close.is_some(), "a close is answered that was not asked");
                assert!(self.prompts.iter().all(|prompt| prompt.answer.is_some()), "the turns are answered before");
            } else if let Some(turn) = frame["params"]["update"]["content"]["text"].as_str() {
                let turn = turn[1..].parse().expect("a number");
                assert_eq!(self.prompt(turn).answer, None, "an update of t{turn} after its answer");
            } else if let Some(id) = words.strip_prefix("ask ") {
                let id = id.split(' ').next().and_then(|id| id.parse().ok()).expect("an id");
                let (turn, written, _) = self.requests.get_mut(&id).expect("a request that was made");
                assert!(!core::mem::replace(written, true), "sent twice");
                let turn = *turn;
                assert!(!self.prompt(turn).cancelled, "{words}: asked in a turn that is being cancelled");
            } else {
                self.answered(event, &words);
            }
        }
    }

    fn answered(&mut self, event: Event, words: &str) {
        let (id, answer) = words.split_once(": ").expect("an answer");
        let id: u64 = id.parse().expect("an id of the client's");
        self.see(answer);
        let closing = self.close.is_some();
        let Some(prompt) = self.prompts.iter_mut().find(|prompt| prompt.id == id) else {
            assert!(answer == "-32002" && closing, "{words} after {event:?}");
            return;
        };
        assert_eq!(prompt.answer, None, "{words}: answered twice");
        assert!(prompt.over, "{words}: nobody ended it");
        assert!(!prompt.inserted, "{words}: it has its place");
        let cancelled = if self.work.is_some() { "-32800" } else { "cancelled" };
        let expected = match (prompt.cancelled, prompt.said) {
            (true, _) => cancelled,
            (false, Some(said)) => said,
            (false, None) => panic!("{words}: nobody said so"),
        };
        assert_eq!(answer, expected, "{words} after {event:?}");
        prompt.answer = Some(answer.to_owned());
    }

    // ---- what is true then -------------------------------------------------------------------------------------

    pub(crate) fn after(&mut self, bench: &AgentBench) {
        let conn = &bench.conn;
        assert_eq!(conn.is_closed(), self.closed, "the end is told when it has come");
        let unresolved = self.requests.values().filter(|(_, _, outcome)| outcome.is_none()).count();
        assert_eq!(conn.unresolved(), unresolved);
        for (at, prompt) in self.prompts.iter().enumerate() {
            if let Some(turn) = bench.held.known.get(&(at as u64 + 1)) {
                assert_eq!(conn.is_live(*turn), !prompt.over && !self.closed, "t{}", at + 1);
            }
        }
        self.work_is_told(bench);
        match conn.poll_timeout().map(|deadline| deadline.cause) {
            None => {
                let forced = self.prompts.iter().any(|prompt| prompt.aborted && !prompt.over);
                assert!(!forced || self.closed, "a cancelled turn that nobody bounds");
            }
            Some(cause) => {
                assert!(!self.closed, "{cause:?} is armed after the end");
                assert!(conn.poll_timeout().is_some_and(|deadline| deadline.at > bench.now), "{cause:?} is due");
                match cause {
                    Cause::ForceCancelled(turn) => {
                        let prompt = self.prompt(turn.number());
                        assert!(prompt.cancelled && !prompt.over, "{cause:?} has outlived its turn");
                    }
                    Cause::Request(request) => {
                        assert_eq!(self.requests[&request.number()].2, None, "{cause:?} has outlived its request");
                    }
                    Cause::CloseSession(_) => {
                        let running = self.prompts.iter().any(|prompt| !prompt.over);
                        assert!(self.close == Some(false) && running, "{cause:?} has outlived its close");
                    }
                    Cause::Drain => assert!(self.ended),
                    other => panic!("nobody arms {other:?}"),
                }
            }
        }
    }

    /// After the end nothing is left.
    pub(crate) fn concluded(&self, bench: &AgentBench) {
        assert!(self.closed, "it never ends");
        for prompt in &self.prompts {
            assert!(prompt.answer.is_some() || self.unread, "{prompt:?} was never answered");
            assert!(!prompt.works || self.unread, "the work of {prompt:?} was never over");
        }
        for (id, (_, _, outcome)) in &self.requests {
            assert!(outcome.is_some(), "r{id} was never resolved");
        }
        let conn = &bench.conn;
        assert_eq!(
            (conn.queued_bytes(), conn.held_bytes(), conn.unresolved(), conn.unanswered().count()),
            (0, 0, 0, 0)
        );
        assert_eq!(conn.poll_timeout(), None);
    }
}

//! What must be true of work in version 2: a prompt is answered when it has its place, and states tell when work begins and
//! when it is over, which is that of all prompts which have theirs.

use std::collections::VecDeque;

use acp_core::machine::Foreground;
use acp_tests::{agent::AgentBench, v2};
use serde_json::Value;

use crate::observer::{Observer, Prompt};

/// What is known of the work of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    /// The last state that was written is not idle.
    busy: bool,
    /// How work ended that was not cancelled, until that is written.
    due: VecDeque<&'static str>,
    /// Something was said to go on in the background; and that was written.
    background: [bool; 2],
    /// Requests of ours that were taken back.
    taken_back: Vec<u64>,
    /// The session's close is answered.
    gone: bool,
}

impl Observer {
    fn work(&mut self) -> &mut Work {
        self.work.as_mut().expect("version 2")
    }

    /// The host may change something about the session.
    pub(crate) fn is_open(&self) -> bool {
        self.close.is_none() && !self.ended
    }

    /// Nothing is worked on, so that the host may begin by itself.
    pub(crate) fn may_begin(&self) -> bool {
        self.is_open() && self.prompts.iter().all(|prompt| prompt.over)
    }

    // ---- the host ----------------------------------------------------------------------------------------------

    /// Something is shown of this turn, unless it was cancelled before it had its place: then it never gets one.
    pub(crate) fn shows_work(&mut self, turn: u64) -> bool {
        let first = self.work.is_none();
        let prompt = self.prompt(turn);
        first || prompt.inserted || !prompt.cancelled
    }

    /// The prompt of this turn has its place now, if not before.
    pub(crate) fn inserted(&mut self, turn: u64) {
        let second = self.work.is_some();
        self.prompt(turn).inserted |= second;
    }

    pub(crate) fn inserts(&mut self, turn: u64, done: bool) {
        let others = self.prompts.iter().any(|prompt| prompt.inserted && !prompt.over);
        let prompt = self.prompt(turn);
        assert_eq!(done, !prompt.inserted && !prompt.over && !prompt.cancelled, "the insertion of t{turn}");
        prompt.inserted |= done;
        self.see(match (done, others) {
            (false, _) => "insertion TooLate",
            (true, true) => "insertion into running work",
            (true, false) => "insertion",
        });
    }

    pub(crate) fn begins(&mut self, turn: u64) {
        self.prompts.push(Prompt::of_nobody());
        assert_eq!(self.prompts.len() as u64, turn, "turns are numbered as they come");
    }

    pub(crate) fn goes_on_in_background(&mut self) {
        self.work().background[0] = true;
    }

    /// The host ended a turn. If that was all there was to work on, it is about to be told.
    pub(crate) fn work_ended(&mut self, turn: u64) {
        if self.work.is_none() {
            return;
        }
        let others = self.prompts.iter().any(|prompt| prompt.inserted && !prompt.over);
        let prompt = self.prompt(turn);
        let well = prompt.said == Some("end_turn");
        let cancelled = prompt.cancelled;
        prompt.inserted |= well && !cancelled;
        let was_worked_on = prompt.inserted;
        if let Some(work) = self.work.as_mut().filter(|_| was_worked_on && !cancelled && !others) {
            work.due.push_back(if well { "end_turn" } else { "error -32603" });
        }
    }

    /// A backend could begin what it is told of at once, and that before the end of what is cancelled was told.
    pub(crate) fn begins_behind_no_cancel(&self, turn: u64) {
        let cancelling = self.prompts.iter().any(|prompt| prompt.told && prompt.cancelled && !prompt.over);
        assert!(self.work.is_none() || !cancelling, "t{turn} is told, and a cancel is not carried out");
    }

    // ---- the wire ----------------------------------------------------------------------------------------------

    /// A frame. Whether it was about work, and so is judged.
    pub(crate) fn told_of_work(&mut self, frame: &Value) -> bool {
        let words = v2::words(frame);
        let words: Vec<&str> = words.split(' ').collect();
        match words[..] {
            [id, "inserted", message] => {
                self.answered_with_place(id, message);
                // The answer may follow that to `session/close`.
                return true;
            }
            ["s1", state @ ("running" | "requires_action"), ref more @ ..] => {
                assert!(self.prompts.iter().any(|prompt| prompt.works), "{state}, and nothing is worked on");
                self.work().busy = true;
                self.background(more == ["+bg"]);
                self.see(state);
            }
            // Said again with what goes on in the background.
            ["s1", "idle", "+bg"] => self.background(true),
            ["s1", "idle", ref how @ ..] => {
                let background = how.last() == Some(&"+bg");
                let how = how[..how.len() - usize::from(background)].join(" ");
                self.background(background);
                self.idle(&how);
            }
            ["s1", "user_message", message] => {
                let echoed = self
                    .named(message)
                    .is_some_and(|prompt| prompt.answer.is_some() && !core::mem::replace(&mut prompt.echoed, true));
                assert!(echoed, "the user's message {message} is told again, or before its prompt has its place");
            }
            ["s1", "agent_message_chunk", ..] => {
                let turn = frame["params"]["update"]["content"]["text"].as_str().map(|text| text[1..].parse());
                let turn = turn.and_then(Result::ok).expect("a turn");
                assert!(self.prompt(turn).works, "an update of t{turn}, whose prompt has no place, or is over");
            }
            ["$/cancel_request", id] => {
                let id = id.parse().expect("an id of ours");
                let (_, written, outcome) = &self.requests[&id];
                assert!(*written && outcome.is_some(), "request {id} is taken back, and waited for");
                assert!(!self.work().taken_back.contains(&id), "request {id} is taken back twice");
                self.work().taken_back.push(id);
                self.see("taken back");
            }
            ["9:", "ok"] => {
                assert!(!self.work().busy, "the session is closed, and its work is not told as over");
                self.work().gone = true;
                return false;
            }
            _ => return false,
        }
        assert!(!self.work().gone, "{words:?}: the session is gone");
        true
    }

    /// The prompt of the message that the core names, or the host.
    fn named(&mut self, message: &str) -> Option<&mut Prompt> {
        let turn = message.strip_prefix("prompt-").or_else(|| message.strip_prefix('m'))?;
        let turn: usize = turn.parse().ok()?;
        self.prompts.get_mut(turn - 1)
    }

    fn answered_with_place(&mut self, id: &str, message: &str) {
        let id: Option<u64> = id.strip_suffix(':').and_then(|id| id.parse().ok());
        let prompt = self.named(message).expect("a prompt that was received");
        assert_eq!((Some(prompt.id), &prompt.answer), (id, &None), "the answer {message}");
        assert!(prompt.inserted, "{message} was given no place");
        (prompt.answer, prompt.works) = (Some("inserted".to_owned()), true);
        self.see("inserted");
    }

    fn idle(&mut self, how: &str) {
        assert!(core::mem::take(&mut self.work().busy), "idle {how}, and it was not at work");
        let mut cancelled = false;
        for prompt in self.prompts.iter_mut().filter(|prompt| prompt.works) {
            assert!(prompt.over, "idle {how}, and {prompt:?} goes on");
            cancelled |= prompt.cancelled;
            prompt.works = false;
        }
        let due = if cancelled { Some("cancelled") } else { self.work().due.pop_front() };
        assert_eq!(Some(how), due, "how the work is told to have ended");
        self.see(format!("idle {how}"));
    }

    /// Once something was said to go on in the background, every report of a state says so.
    fn background(&mut self, said: bool) {
        let [known, written] = &mut self.work().background;
        assert!(*known || !said, "nothing goes on in the background");
        assert!(said || !*written, "a report leaves out what goes on in the background");
        *written |= said;
    }

    // ---- what is true then -------------------------------------------------------------------------------------

    /// What was owed about work is written, or waits to be.
    pub(crate) fn work_is_told(&self, bench: &AgentBench) {
        let Some(work) = self.work.as_ref().filter(|_| !self.closed && bench.conn.queued_bytes() == 0) else { return };
        let live = |prompt: &&Prompt| !prompt.over;
        let worked_on = self.prompts.iter().filter(live).any(|prompt| prompt.inserted);
        assert!(work.busy || !worked_on, "something is worked on, and that is not told");
        assert!(!work.busy || self.prompts.iter().any(|prompt| !prompt.over), "all is over, and that is not told");
        assert!(work.due.is_empty(), "the end of work is not told: {:?}", work.due);
        let forgotten = self.requests.iter().find(|(id, (_, written, outcome))| {
            let cancelled =
                outcome.as_ref().is_some_and(|how| how.ends_with("(Session)") || how.ends_with("(Request)"));
            *written && cancelled && !work.taken_back.contains(id)
        });
        assert!(self.ended || forgotten.is_none(), "the client is not told that nobody waits for {forgotten:?}");
        let Some(session) = bench.conn.find_session("s1") else { return };
        let asked = |(turn, _, outcome): &(u64, bool, Option<String>)| {
            outcome.is_none() && self.prompts[usize::try_from(*turn).expect("small") - 1].inserted
        };
        let waits = bench.conn.foreground(session) == Foreground::RequiresAction;
        let aborting = self.prompts.iter().filter(live).any(|prompt| prompt.cancelled);
        assert!(!waits || aborting || self.requests.values().any(asked), "nobody waits for the user");
    }
}

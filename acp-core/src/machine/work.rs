//! What a session works on, as version 2 of the protocol has it: which prompts have their place in it, and which of them are
//! over when the foreground comes to rest.
//!
//! ```text
//!            Prompt              Insert                 the foreground comes to rest, End
//!   (nothing) ────▶ waiting ──────────────▶ inserted ────────────────────────────────────▶ over
//!                      │   End, if it went well: ▲
//!                      └─ End ──▶ refused
//! ```
//!
//! The answer to `session/prompt` says that a prompt was inserted, and nothing more; the work ends for the session as a
//! whole, by a state (ACP v2, Prompt Lifecycle). So what is over then is all that was inserted before, in whatever order,
//! except for what was sent behind a cancel which this state confirms. A prompt that was cancelled before it was inserted
//! never is. The same machine serves the end that reports and the end that is told.

use core::convert::Infallible;

use smallvec::SmallVec;

use super::{Foreground, ForegroundOutput, Machine};

/// The work of one session. Prompts are named by numbers of the owner's, never given twice.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/work.svg"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Work {
    foreground: Foreground,
    /// In the order of the wire.
    prompts: SmallVec<[Prompt; 1]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Prompt {
    turn: u64,
    inserted: bool,
    /// It was sent behind a cancel that is not confirmed.
    spared: bool,
}

/// What may happen to [`Work`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkInput {
    /// A prompt was sent or received.
    Prompt {
        /// Its number.
        turn: u64,
        /// Whether a cancel is under way, which is not about it.
        behind_cancel: bool,
    },
    /// A prompt is to get its place.
    Insert {
        /// Its number.
        turn: u64,
        /// Whether it was cancelled.
        cancelled: bool,
    },
    /// A prompt is over, whatever the state of the session.
    End {
        /// Its number.
        turn: u64,
        /// Whether its work was done: then it was inserted, said or not.
        done: bool,
    },
    /// The cancel under way came to nothing.
    Uncancel,
    /// The session is reported to be at this.
    Report(Foreground),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkOutput {
    /// Nothing.
    Noted,
    /// The prompt has its place.
    Inserted,
    /// It has one already, or is cancelled, or over.
    TooLate,
    /// The prompt was never inserted.
    Refused {
        /// Whether the session is at work, and has nothing left to work on.
        rest: bool,
    },
    /// The prompt is over.
    Ended {
        /// Whether it has to be inserted first.
        insert: bool,
        /// Whether the session has nothing left to work on.
        rest: bool,
    },
    /// The state of the session.
    Reported(ForegroundOutput),
    /// The session came to rest: the work of these is over, in this order. Each has to be ended.
    Completed(SmallVec<[u64; 2]>),
}

impl Work {
    /// What the session was last reported to be at.
    #[must_use]
    pub const fn foreground(&self) -> Foreground {
        self.foreground
    }

    /// Whether a prompt has its place and is not over.
    #[must_use]
    pub fn is_inserted(&self, turn: u64) -> bool {
        self.prompts.iter().any(|prompt| prompt.turn == turn && prompt.inserted)
    }

    /// The prompts that have their place and are not over, in order.
    pub fn inserted(&self) -> impl Iterator<Item = u64> {
        self.prompts.iter().filter(|prompt| prompt.inserted).map(|prompt| prompt.turn)
    }

    fn insert(&mut self, turn: u64, cancelled: bool) -> WorkOutput {
        match self.prompts.iter_mut().find(|prompt| prompt.turn == turn && !prompt.inserted) {
            Some(prompt) if !cancelled => {
                prompt.inserted = true;
                WorkOutput::Inserted
            }
            _ => WorkOutput::TooLate,
        }
    }

    fn end(&mut self, turn: u64, done: bool) -> WorkOutput {
        let Some(place) = self.prompts.iter().position(|prompt| prompt.turn == turn) else {
            return WorkOutput::TooLate;
        };
        let Prompt { inserted, .. } = self.prompts.remove(place);
        let rest = self.inserted().next().is_none();
        if inserted || done {
            return WorkOutput::Ended { insert: !inserted, rest };
        }
        // If no work goes on, there is none whose end would confirm the cancel: what was sent after it ends with the next.
        let covered = |prompt: &Prompt| prompt.inserted && !prompt.spared;
        if self.foreground.is_idle() && !self.prompts.iter().any(covered) {
            self.spare_none();
        }
        WorkOutput::Refused { rest: rest && !self.foreground.is_idle() }
    }

    fn report(&mut self, state: Foreground) -> WorkOutput {
        let Ok(output) = self.foreground.step(state);
        if output != ForegroundOutput::Completed {
            return WorkOutput::Reported(output);
        }
        let over = self.prompts.iter().filter(|prompt| prompt.inserted && !prompt.spared);
        let over = over.map(|prompt| prompt.turn).collect();
        self.spare_none();
        WorkOutput::Completed(over)
    }

    fn spare_none(&mut self) {
        for prompt in &mut self.prompts {
            prompt.spared = false;
        }
    }
}

impl Machine for Work {
    type Input = WorkInput;
    type Output = WorkOutput;
    type Reject = Infallible;

    fn step(&mut self, input: WorkInput) -> Result<WorkOutput, Infallible> {
        Ok(match input {
            WorkInput::Prompt { turn, behind_cancel } => {
                self.prompts.push(Prompt { turn, inserted: false, spared: behind_cancel });
                WorkOutput::Noted
            }
            WorkInput::Insert { turn, cancelled } => self.insert(turn, cancelled),
            WorkInput::End { turn, done } => self.end(turn, done),
            WorkInput::Uncancel => {
                self.spare_none();
                WorkOutput::Noted
            }
            WorkInput::Report(state) => self.report(state),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Foreground, ForegroundOutput, Machine, Prompt, SmallVec, Work, WorkInput as In, WorkOutput as Out};

    const STATES: [Foreground; 4] =
        [Foreground::Idle, Foreground::Running, Foreground::RequiresAction, Foreground::Unknown];

    /// Every state with up to two prompts, 1 and 2.
    fn every_state() -> Vec<Work> {
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let prompt = |turn, (inserted, spared)| Prompt { turn, inserted, spared };
        let one = kinds.map(|kind| SmallVec::from_iter([prompt(1, kind)]));
        let two = kinds
            .into_iter()
            .flat_map(|first| kinds.map(|second| SmallVec::from_iter([prompt(1, first), prompt(2, second)])));
        let prompts: Vec<SmallVec<[Prompt; 1]>> = [SmallVec::new()].into_iter().chain(one).chain(two).collect();
        let with = |foreground| prompts.iter().map(move |prompts| Work { foreground, prompts: prompts.clone() });
        STATES.into_iter().flat_map(with).collect()
    }

    fn after(before: &Work, input: In) -> (Work, Out) {
        let mut work = before.clone();
        let Ok(output) = work.step(input);
        (work, output)
    }

    #[test]
    fn only_a_prompt_that_waits_and_is_not_cancelled_gets_its_place() {
        for before in every_state() {
            for (turn, cancelled) in [1, 2, 3].into_iter().flat_map(|turn| [(turn, false), (turn, true)]) {
                let (work, output) = after(&before, In::Insert { turn, cancelled });
                let waits = before.prompts.iter().any(|prompt| prompt.turn == turn && !prompt.inserted);
                if waits && !cancelled {
                    assert_eq!(output, Out::Inserted, "{before:?}");
                    assert!(work.is_inserted(turn) && work.inserted().count() == before.inserted().count() + 1);
                } else {
                    assert_eq!((work, output), (before.clone(), Out::TooLate), "{turn}, cancelled: {cancelled}");
                }
            }
        }
    }

    #[test]
    fn a_prompt_ends_once_as_what_it_was_and_the_last_ends_the_work() {
        for before in every_state() {
            for (turn, done) in [1, 2, 3].into_iter().flat_map(|turn| [(turn, false), (turn, true)]) {
                let (work, output) = after(&before, In::End { turn, done });
                let Some(prompt) = before.prompts.iter().find(|prompt| prompt.turn == turn) else {
                    assert_eq!((work, output), (before.clone(), Out::TooLate));
                    continue;
                };
                let others: Vec<_> = before.prompts.iter().filter(|prompt| prompt.turn != turn).copied().collect();
                let alone = others.iter().all(|other| !other.inserted);
                let expected = match (prompt.inserted, done) {
                    (true, _) => Out::Ended { insert: false, rest: alone },
                    (false, true) => Out::Ended { insert: true, rest: alone },
                    (false, false) => Out::Refused { rest: alone && before.foreground != Foreground::Idle },
                };
                assert_eq!(output, expected, "{before:?}");
                assert_eq!(after(&work, In::End { turn, done }).1, Out::TooLate, "it ends once");
                // What was refused confirms a cancel, if nothing else will.
                let covered = others.iter().any(|other| other.inserted && !other.spared);
                let nothing_else = before.foreground == Foreground::Idle && !covered;
                let freed = matches!(expected, Out::Refused { .. }) && nothing_else;
                let others = others.into_iter().map(|other| Prompt { spared: other.spared && !freed, ..other });
                assert_eq!(work.prompts.to_vec(), others.collect::<Vec<_>>(), "{before:?}");
            }
        }
    }

    #[test]
    fn a_session_at_rest_completes_what_was_inserted_before_its_cancel_in_order_and_nothing_else() {
        for before in every_state() {
            for state in STATES {
                let (work, output) = after(&before, In::Report(state));
                assert_eq!(work.foreground, state);
                if state != Foreground::Idle || before.foreground == Foreground::Idle {
                    assert!(matches!(output, Out::Reported(_)) && work.prompts == before.prompts, "{output:?}");
                    assert_eq!(output == Out::Reported(ForegroundOutput::Same), state == before.foreground);
                    continue;
                }
                let over: &[u64] = match before.prompts.iter().map(|p| p.inserted && !p.spared).collect::<Vec<_>>()[..]
                {
                    [true, true] => &[1, 2],
                    [true] | [true, false] => &[1],
                    [false, true] => &[2],
                    _ => &[],
                };
                assert_eq!(output, Out::Completed(SmallVec::from_slice(over)), "{before:?}");
                assert_eq!(work.prompts.len(), before.prompts.len(), "their owner ends them");
                assert!(work.prompts.iter().all(|prompt| !prompt.spared), "the cancel is confirmed");
            }
        }
    }

    #[test]
    fn a_prompt_behind_a_cancel_is_spared_until_the_cancel_comes_to_nothing() {
        for before in every_state() {
            for behind_cancel in [false, true] {
                let (work, output) = after(&before, In::Prompt { turn: 3, behind_cancel });
                assert_eq!(output, Out::Noted);
                assert_eq!(work.prompts.last(), Some(&Prompt { turn: 3, inserted: false, spared: behind_cancel }));
                let (work, output) = after(&work, In::Uncancel);
                assert_eq!(output, Out::Noted);
                assert!(work.prompts.iter().all(|prompt| !prompt.spared));
                assert_eq!(work.inserted().collect::<Vec<_>>(), before.inserted().collect::<Vec<_>>());
            }
        }
    }
}

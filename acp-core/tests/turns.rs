//! Every reachable state of the turn machine × every input, against a second, independent description of the rules.

use std::collections::BTreeSet;

use acp_core::machine::{
    Asked, Broken, CancelKind, CancelScope, Cancelled, Ended, Machine, Overlap, TurnInput, TurnOutput, TurnReject,
    Turns,
};

const TURNS: [u64; 4] = [1, 2, 3, 4];
const ASKS: [u64; 2] = [1, 2];
const KINDS: [CancelKind; 2] = [CancelKind::Stop, CancelKind::Steer];

/// The rules said again, over plain lists: what is known, in order, and which frames are where.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    prompts: Vec<u64>,
    asks: Vec<u64>,
    committed: Vec<u64>,
    stop: &'static str,
    steer: &'static str,
}

impl Reference {
    fn asked(&self) -> bool {
        !self.stop.is_empty() || !self.steer.is_empty()
    }

    fn expect(&mut self, overlap: Overlap, input: TurnInput) -> Result<TurnOutput, TurnReject> {
        let forward = matches!(overlap, Overlap::Forward(_));
        Ok(match input {
            TurnInput::Prompt(turn) => {
                if self.prompts.is_empty() {
                    self.prompts.push(turn);
                    return Ok(TurnOutput::Start);
                }
                match overlap {
                    Overlap::Refuse => return Err(TurnReject::Busy),
                    Overlap::Queue(limit) | Overlap::Forward(limit) if self.prompts.len() > limit => {
                        return Err(TurnReject::Full);
                    }
                    Overlap::Queue(_) | Overlap::Forward(_) => self.prompts.push(turn),
                }
                if forward { TurnOutput::Deliver } else { TurnOutput::Wait }
            }
            // A line that follows a cancel waits where a second prompt is refused, one at a time.
            TurnInput::Follow(turn) if overlap == Overlap::Refuse && !self.prompts.is_empty() => {
                if self.prompts.len() > 1 {
                    return Err(TurnReject::Full);
                }
                self.prompts.push(turn);
                TurnOutput::Wait
            }
            TurnInput::Follow(turn) => return self.expect(overlap, TurnInput::Prompt(turn)),
            TurnInput::Commit(ask) => {
                if let Some(place) = self.asks.iter().position(|open| *open == ask) {
                    self.committed.push(self.asks.remove(place));
                    self.committed.sort_unstable();
                }
                if self.committed.contains(&ask) { TurnOutput::Committed } else { TurnOutput::AlreadyVoid }
            }
            TurnInput::Ask(_) if self.asked() => TurnOutput::Void,
            TurnInput::Ask(ask) => {
                if !self.asks.contains(&ask) {
                    self.asks.push(ask);
                    self.asks.sort_unstable();
                }
                TurnOutput::Open(self.prompts.first().copied())
            }
            TurnInput::Answered(ask) if self.committed.contains(&ask) => {
                self.committed.retain(|open| *open != ask);
                TurnOutput::Answered
            }
            TurnInput::Answered(ask) => match self.asks.iter().position(|open| *open == ask) {
                Some(place) => {
                    self.asks.remove(place);
                    TurnOutput::Answered
                }
                None => TurnOutput::AlreadyVoid,
            },
            TurnInput::Cancel(scope, kind) => {
                let covers = |turn: u64| scope == CancelScope::Session || scope == CancelScope::Turn(turn);
                let mut covered = Cancelled { delivered: forward, ..Cancelled::default() };
                let running = self.prompts.first().copied();
                covered.dropped = self.prompts.iter().skip(1).copied().filter(|turn| covers(*turn)).collect();
                self.prompts.retain(|turn| Some(*turn) == running || !covers(*turn));
                if let Some(turn) = running.filter(|turn| covers(*turn)) {
                    let news = match (kind, self.asked(), self.stop.is_empty()) {
                        (_, false, _) => Asked::First,
                        (CancelKind::Stop, true, true) => Asked::Again,
                        _ => Asked::Shared,
                    };
                    match kind {
                        CancelKind::Stop if self.stop.is_empty() => self.stop = "pending",
                        CancelKind::Steer if self.steer.is_empty() => {
                            self.steer = if self.stop.is_empty() { "pending" } else { "joined" };
                        }
                        _ => {}
                    }
                    covered.running = Some((turn, news));
                    covered.void = self.asks.drain(..).collect();
                }
                TurnOutput::Cancelled(covered)
            }
            TurnInput::Sent(kind) => {
                let slot = if kind == CancelKind::Stop { &mut self.stop } else { &mut self.steer };
                if *slot != "pending" {
                    return Err(TurnReject::NoSuchFrame);
                }
                *slot = "sent";
                TurnOutput::Sent
            }
            TurnInput::Failed(kind) => {
                let slot = if kind == CancelKind::Stop { &mut self.stop } else { &mut self.steer };
                if !["pending", "sent"].contains(slot) {
                    return Err(TurnReject::NoSuchFrame);
                }
                *slot = "";
                let joined = kind == CancelKind::Stop && self.steer == "joined";
                if joined {
                    self.steer = "";
                }
                TurnOutput::Unsent(acp_core::machine::Unsent {
                    stop: kind == CancelKind::Stop,
                    steer: kind == CancelKind::Steer || joined,
                })
            }
            TurnInput::Fail(turn) if !forward && self.asked() && self.prompts.first() == Some(&turn) => {
                (self.stop, self.steer) = ("", "");
                TurnOutput::Broken(Broken { dropped: self.prompts.drain(..).skip(1).collect() })
            }
            TurnInput::End(turn) | TurnInput::Fail(turn) => {
                match self.prompts.iter().position(|known| *known == turn) {
                    Some(0) => {
                        let cancelled = self.asked();
                        self.prompts.remove(0);
                        (self.stop, self.steer) = ("", "");
                        TurnOutput::Ended(Ended { cancelled, next: self.prompts.first().map(|next| (*next, !forward)) })
                    }
                    Some(place) => {
                        self.prompts.remove(place);
                        TurnOutput::Ended(Ended { cancelled: false, next: None })
                    }
                    None => TurnOutput::AlreadyOver,
                }
            }
        })
    }
}

fn inputs() -> Vec<TurnInput> {
    let mut all = Vec::new();
    all.extend(ASKS.iter().flat_map(|ask| [TurnInput::Ask(*ask), TurnInput::Commit(*ask), TurnInput::Answered(*ask)]));
    all.extend(TURNS.iter().flat_map(|turn| {
        [TurnInput::Prompt(*turn), TurnInput::Follow(*turn), TurnInput::End(*turn), TurnInput::Fail(*turn)]
    }));
    for kind in KINDS {
        all.extend([TurnInput::Sent(kind), TurnInput::Failed(kind), TurnInput::Cancel(CancelScope::Session, kind)]);
        all.extend(TURNS.iter().map(|turn| TurnInput::Cancel(CancelScope::Turn(*turn), kind)));
    }
    all
}

fn explore(overlap: Overlap) -> usize {
    let mut seen = BTreeSet::from([Reference::default()]);
    let mut waiting = vec![(Turns::new(overlap), Reference::default())];
    let mut edges = 0;
    while let Some((machine, reference)) = waiting.pop() {
        for input in inputs() {
            // Names are given once: a prompt that is known does not come again.
            let again = match input {
                TurnInput::Prompt(turn) | TurnInput::Follow(turn) => reference.prompts.contains(&turn),
                TurnInput::Ask(ask) => reference.committed.contains(&ask),
                _ => false,
            };
            if again {
                continue;
            }
            let (mut next, mut expected) = (machine.clone(), reference.clone());
            let output = next.step(input);
            assert_eq!(output, expected.expect(overlap, input), "{reference:?} × {input:?}");
            if output.is_err() {
                assert_eq!(next, machine, "a refused input changed the state");
            }
            assert_eq!(next.running(), expected.prompts.first().copied());
            assert_eq!(next.queued().collect::<Vec<_>>(), expected.prompts.iter().skip(1).copied().collect::<Vec<_>>());
            assert_eq!(next.is_cancelling(), expected.asked());
            assert_eq!(next.has_unsent_cancel(), [expected.stop, expected.steer].contains(&"pending"));
            assert_eq!(next.is_idle(), {
                expected.prompts.is_empty() && expected.asks.is_empty() && expected.committed.is_empty()
            });
            assert!(ASKS.iter().all(|ask| next.is_committed(*ask) == expected.committed.contains(ask)));
            edges += 1;
            if seen.insert(expected.clone()) {
                waiting.push((next, expected));
            }
        }
    }
    println!("{overlap:?}: {} states, {edges} edges", seen.len());
    seen.len()
}

#[test]
fn every_state_answers_every_input_when_a_second_prompt_is_refused() {
    // Each of 2 asks is unknown, open or committed. 4 turns alone, or with one of 3 behind; each with its asks, or with 10
    // places of its cancel frames, which leave of the asks the committed ones only.
    assert_eq!(explore(Overlap::Refuse), 9 + 4 * (1 + 3) * (9 + 10 * 4));
}

#[test]
fn every_state_answers_every_input_when_prompts_queue() {
    assert!(explore(Overlap::Queue(2)) > 500);
}

#[test]
fn every_state_answers_every_input_when_prompts_are_forwarded() {
    assert!(explore(Overlap::Forward(2)) > 500);
}

//! The judge: it sees both wires and both hosts, knows nothing of the code in between, and says what is broken.

mod ask;
mod lost;
pub mod rule;
mod words;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use acp_core::{CancelKind, Delivery, Settlement, wire::StopReason};

use self::ask::Ask;
use super::{
    End, Side,
    sight::{Says, Sight},
};
use crate::explore::Broken;

/// All that is known about one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Turn {
    pub(super) session: usize,
    /// The id of its prompt on the wire, once it is there.
    pub(super) id: Option<u64>,
    /// The client's host cancelled it, and was not told since that this came to nothing.
    pub(super) asked: bool,
    /// How: Stop, Steer.
    kinds: [bool; 2],
    /// A cancel of it was on the wire.
    cancel_sent: bool,
    /// How many are, or arrived.
    cancels: u8,
    /// Cancels that failed, until that is told.
    unsent: u8,
    /// Its prompt cannot be delivered.
    undelivered: bool,
    /// A cancel is on the wire behind its prompt.
    covered: bool,
    /// The agent has its prompt.
    received: bool,
    /// Version 2: its prompt was answered, and has its place.
    pub(super) inserted: bool,
    /// Version 2: its host was told of that.
    placed: bool,
    /// A cancel was there before its host ended it.
    pub(super) reached: bool,
    /// The agent's host was told of that.
    aborted: bool,
    /// What the agent's host said, while that still counted.
    said: Option<End>,
    /// It ended at the agent, and not by its host: it waited there, or was not ended in time.
    forced: bool,
    /// Version 2: a cancel was there while its work was not reported as over, whatever its host had said.
    cut: bool,
    /// Its tool call waits for its last word.
    call_open: bool,
    pub(super) answered: Option<Says>,
    /// It is over at the client's end.
    pub(super) over: bool,
    /// The client's host was told of that.
    pub(super) told: bool,
    /// Namely that it failed.
    failed: bool,
}

/// What is known. Numbers of turns and of permission requests begin at 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Watch {
    pub(super) turns: Vec<Turn>,
    pub(super) asks: Vec<Ask>,
    /// The client's connection ends, which makes every permission void.
    pub(super) client_ends: bool,
    /// The version of the protocol is 2.
    pub(super) second: bool,
    /// Version 2: the sessions in which work was reported.
    pub(super) busy: BTreeSet<usize>,
    /// Version 2: how the work of a session ended, if it was not cancelled, until that is told.
    pub(super) due: BTreeMap<usize, VecDeque<End>>,
}

impl End {
    /// What follows on the wire, if nobody cancelled.
    const fn as_said(self) -> Says {
        match self {
            Self::Turn => Says::Ended,
            Self::Error => Says::Failed,
            Self::Cancelled => Says::Withdrawn,
        }
    }
}

pub(super) fn hold(holds: bool, rule: &'static str, how: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { rule, how: how() }) }
}

impl Watch {
    pub(super) fn turn(&mut self, turn: usize) -> &mut Turn {
        self.turns.get_mut(turn.wrapping_sub(1)).expect("the hosts number their turns")
    }

    /// The client's host prompts.
    pub(super) fn prompts(&mut self, session: usize) {
        self.turns.push(Turn { session, ..Turn::default() });
    }

    /// The client's host cancels a turn.
    pub(super) fn cancels(&mut self, turn: usize, kind: CancelKind) {
        let turn = self.turn(turn);
        turn.asked = true;
        turn.kinds[usize::from(kind == CancelKind::Steer)] = true;
    }

    // ---- the wire ----------------------------------------------------------------------------------------------

    /// A frame is on the wire. For a cancel, the number of the turn it is about.
    pub(super) fn sent(&mut self, by: Side, sight: Sight) -> Result<usize, Broken> {
        let running = match sight {
            Sight::Cancel { session } => self.turns.iter().position(|turn| turn.session == session && !turn.over),
            _ => None,
        };
        self.judge_sent(by, sight).map(|()| running.map_or(0, |index| index + 1))
    }

    fn judge_sent(&mut self, by: Side, sight: Sight) -> Result<(), Broken> {
        match (by, sight) {
            (Side::Client, Sight::Prompt { id, turn }) => {
                let again = self.turn(turn).id.replace(id);
                hold(again.is_none(), rule::ONE_ANSWER, || format!("the prompt of turn {turn} was sent again"))
            }
            (Side::Client, Sight::Cancel { session }) => {
                let here = |turn: &&mut Turn| turn.session == session && !turn.over;
                for turn in self.turns.iter_mut().filter(here).filter(|turn| turn.id.is_some()) {
                    turn.covered = true;
                }
                let running = self.turns.iter_mut().find(here);
                let asked = running.is_some_and(|turn| {
                    turn.cancel_sent = true;
                    turn.cancels += 1;
                    turn.asked
                });
                hold(asked, rule::ITS_OWN_TURN, || "a cancel was sent, and nobody cancelled the turn that runs".into())
            }
            (Side::Client, Sight::Withdraw { id }) => {
                let asked = self.turns.iter().any(|turn| turn.id == Some(id) && turn.asked);
                hold(asked, rule::ITS_OWN_TURN, || format!("the cancel of request {id} was sent, and nobody asked"))
            }
            (Side::Client, Sight::Answer { id, says }) => self.permission_answered(id, says),
            (Side::Agent, Sight::Ask { id, ask }) => {
                let again = self.ask(ask).id.replace(id);
                hold(again.is_none(), rule::ONE_ANSWER, || format!("permission {ask} was asked again"))
            }
            (Side::Agent, Sight::Update { turn, last }) => {
                let turn_is = self.turn(turn);
                turn_is.call_open = !last;
                let before = turn_is.answered.is_none();
                hold(before, rule::UPDATES_FIRST, || format!("an update of turn {turn} follows its answer"))
            }
            (Side::Agent, Sight::Answer { id, says: Says::Inserted }) => self.prompt_inserted(id),
            (Side::Agent, Sight::Answer { id, says }) => self.prompt_answered(id, says),
            (Side::Agent, Sight::Busy { .. } | Sight::Echo { .. } | Sight::Idle { .. }) => self.reported(sight),
            (Side::Agent, Sight::TakeBack { id }) => {
                let of = self.asks.iter().find(|ask| ask.id == Some(id)).map_or(0, |ask| ask.turn);
                let reached = of > 0 && self.turn(of).reached;
                hold(reached, rule::ITS_OWN_TURN, || format!("request {id} was taken back, and its work goes on"))
            }
            _ => hold(false, rule::CONFORMING, || format!("nobody asked the {by} to send {sight:?}")),
        }
    }

    fn prompt_answered(&mut self, id: u64, says: Says) -> Result<(), Broken> {
        let found = self.turns.iter_mut().enumerate().find(|(_, turn)| turn.id == Some(id));
        let Some((index, turn)) = found else {
            return hold(false, rule::ONE_ANSWER, || format!("{id} is no request of the client's, and was answered"));
        };
        let number = index + 1;
        let again = turn.answered.replace(says);
        let Turn { reached, said, call_open, inserted, .. } = *turn;
        let cancelled = if self.second { Says::Withdrawn } else { Says::Cancelled };
        hold(again.is_none() && !inserted, rule::ONE_ANSWER, || format!("turn {number} was answered again"))?;
        if reached {
            return hold(says == cancelled, rule::CANCELLED, || {
                format!("turn {number} was cancelled before it ended, and was answered {says:?}")
            })
            .and_then(|()| hold(!call_open, rule::LAST_WORD, || format!("turn {number} was cancelled without it")));
        }
        hold(says != Says::Cancelled, rule::NEVER_UNASKED, || format!("turn {number} was answered {says:?}"))?;
        hold(Some(says) == said.map(End::as_said), rule::ITS_OWN_TURN, || {
            format!("the host of turn {number} said {said:?}, and it was answered {says:?}")
        })?;
        hold(says == Says::Ended || !call_open, rule::LAST_WORD, || format!("turn {number} failed without it"))
    }

    /// A frame is at an end's door.
    pub(super) fn received(&mut self, sight: Sight) -> Result<(), Broken> {
        match sight {
            Sight::Prompt { turn, .. } => self.turn(turn).received = true,
            Sight::Ask { ask, .. } => self.ask(ask).received = true,
            Sight::Cancel { session } => {
                let hit = |turn: &Turn| turn.session == session && turn.received && turn.said.is_none();
                let astray = self.turns.iter().position(|turn| hit(turn) && !turn.covered);
                hold(astray.is_none(), rule::ITS_OWN_TURN, || {
                    format!("a cancel hits turn {:?}, which nobody cancelled", astray.map(|index| index + 1))
                })?;
                self.cancel_reaches(Some(session));
            }
            Sight::Withdraw { id } => {
                let open = |turn: &&mut Turn| turn.id == Some(id) && turn.received && turn.said.is_none();
                if let Some(turn) = self.turns.iter_mut().find(open) {
                    turn.reached = true;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whatever the agent has of this session, or of any, and its host has not ended is cancelled now: by a cancel, or by
    /// the end of the connection.
    pub(super) fn cancel_reaches(&mut self, session: Option<usize>) {
        let here = |turn: &Turn| session.is_none_or(|session| turn.session == session);
        let second = self.second;
        for turn in self.turns.iter_mut().filter(|turn| here(turn) && turn.received && turn.answered.is_none()) {
            turn.cut = second;
        }
        for turn in self.turns.iter_mut().filter(|turn| here(turn) && turn.received && turn.said.is_none()) {
            turn.reached = true;
        }
    }

    // ---- the hosts ---------------------------------------------------------------------------------------------

    /// Whether the client cancelled the turn that runs in this session, and waits for its end.
    pub(super) fn cancelling(&self, session: usize) -> bool {
        self.turns.iter().find(|turn| turn.session == session && !turn.over).is_some_and(|turn| turn.asked)
    }

    /// The agent's host ends a turn, and is told what becomes of that.
    pub(super) fn said(&mut self, number: usize, end: End, delivery: Delivery) -> Result<(), Broken> {
        let turn = self.turn(number);
        turn.said = Some(end);
        let expected = match (turn.reached, end) {
            (true, End::Turn | End::Error) => Delivery::AsCancelled,
            (false, End::Cancelled) => Delivery::AsWithdrawn,
            (true, End::Cancelled) | (false, End::Turn | End::Error) => Delivery::Queued,
        };
        hold(delivery == expected, rule::CANCELLED, || {
            format!("the host of turn {number} said {end:?}, which is {expected:?}, and was told {delivery:?}")
        })
    }

    /// The agent's host is told that its turn was answered without it.
    pub(super) fn forced(&mut self, number: usize) -> Result<(), Broken> {
        let reached = self.turn(number).reached;
        hold(reached, rule::NEVER_UNASKED, || format!("turn {number} was forced, and nobody cancelled it"))
    }

    /// Whether a turn lives at the agent's end.
    pub(super) fn note_forced(&mut self, number: usize, lives: bool) {
        let turn = self.turn(number);
        turn.forced = !lives && turn.said.is_none();
    }

    /// The agent's host is told to stop.
    pub(super) fn aborted(&mut self, number: usize, again: bool) -> Result<(), Broken> {
        let turn = self.turn(number);
        let before = core::mem::replace(&mut turn.aborted, true);
        let reached = turn.reached;
        hold(reached, rule::ITS_OWN_TURN, || format!("turn {number} was aborted, and nobody cancelled it"))?;
        hold(before == again, rule::TOLD_ONCE, || format!("the abort of turn {number} was told with again: {again}"))
    }

    /// The agent's host has taken all that it is told: nothing of a turn that it was told to stop is left to wait for.
    pub(super) fn aborts_resolved(&self) -> Result<(), Broken> {
        let waits = |ask: &Ask| !ask.resolved && self.turns.get(ask.turn - 1).is_some_and(|turn| turn.aborted);
        let waiting = self.asks.iter().position(waits).map(|index| index + 1);
        hold(waiting.is_none(), rule::RESOLVED_ONCE, || {
            format!("permission {waiting:?} outlives the abort of its turn")
        })
    }

    /// The client's host is told of the end of a turn. Answers by what name that goes.
    pub(super) fn told(
        &mut self,
        number: usize,
        settlement: &Settlement,
        closing: bool,
    ) -> Result<&'static str, Broken> {
        // What waits behind a turn that failed is taken back: it may build on what is not there.
        let session = self.turn(number).session;
        let before = self.turns.iter().take(number - 1).rfind(|turn| turn.session == session && turn.id.is_some());
        let behind_failed = before.is_some_and(|turn| turn.failed);
        let turn = self.turn(number);
        let again = core::mem::replace(&mut turn.told, true);
        // How it was cancelled matters no more: states are not to differ by that alone.
        (turn.kinds, turn.cancels) = ([false; 2], 0);
        turn.failed = *settlement == Settlement::Failed;
        let Turn { answered, asked, id, undelivered, .. } = *turn;
        hold(!again, rule::TOLD_ONCE, || format!("the end of turn {number} was told again: {settlement:?}"))?;
        let expected = match answered {
            // A prompt that was never sent needs no answer.
            None if asked && id.is_none() && *settlement == Settlement::Cancelled => Settlement::Cancelled,
            None if behind_failed && id.is_none() && *settlement == Settlement::Failed => Settlement::Failed,
            None if undelivered => Settlement::Failed,
            _ if closing && *settlement == Settlement::Closed => Settlement::Closed,
            Some(Says::Ended) if asked => Settlement::EndedAlthoughCancelled(StopReason::EndTurn),
            Some(Says::Ended) => Settlement::Ended(StopReason::EndTurn),
            Some(Says::Cancelled | Says::Withdrawn) if asked => Settlement::Cancelled,
            Some(Says::Cancelled | Says::Withdrawn) => Settlement::CancelledUnasked,
            Some(Says::Failed | Says::Selected | Says::Dismissed | Says::Nonsense | Says::Inserted) => {
                Settlement::Failed
            }
            None => Settlement::Closed,
        };
        hold(*settlement == expected, rule::TOLD_ONCE, || {
            format!("turn {number} was answered {answered:?}, and told as {settlement:?}")
        })?;
        Ok(match expected {
            Settlement::Ended(_) => "Settlement::Ended",
            Settlement::Cancelled => "Settlement::Cancelled",
            Settlement::CancelledUnasked => "Settlement::CancelledUnasked",
            Settlement::EndedAlthoughCancelled(_) => "Settlement::EndedAlthoughCancelled",
            Settlement::Failed => "Settlement::Failed",
            _ => "Settlement::Closed",
        })
    }

    /// What was owed on the wire was paid: all of it, or what the end of each side still could.
    pub(super) fn paid(&self, by_client: bool, by_agent: bool, rule: [&'static str; 2]) -> Result<(), Broken> {
        let owed = |ask: &Ask| by_client && ask.received && ask.answered.is_none();
        let forgotten = self.asks.iter().position(owed).map(|index| index + 1);
        hold(forgotten.is_none(), rule[0], || format!("permission {forgotten:?} was never answered"))?;
        let owed = |turn: &Turn| by_agent && turn.received && turn.answered.is_none();
        let forgotten = self.turns.iter().position(owed).map(|index| index + 1);
        hold(forgotten.is_none(), rule[1], || format!("turn {forgotten:?} was never answered"))
    }

    /// Both hosts know what became of everything.
    pub(super) fn over(&self) -> Result<(), Broken> {
        let untold = self.turns.iter().position(|turn| !turn.told);
        hold(untold.is_none(), rule::TOLD_ONCE, || {
            format!("the end of turn {:?} was never told", untold.map(|index| index + 1))
        })?;
        let open = self.asks.iter().position(|ask| !ask.resolved);
        hold(open.is_none(), rule::RESOLVED_ONCE, || {
            format!("permission {:?} was never resolved", open.map(|index| index + 1))
        })
    }
}

//! Time and the end: what expires, what draining means, and the one `Closed`.

use super::{
    Connection, Role,
    answer::{Duty, OpenBatches},
    recording::note,
};
use crate::{
    action::{Common, Outcome},
    error::CloseReason,
    machine::{IncomingInput, LifecycleInput, LifecycleOutput, Machine},
    ticket::{IncomingKey, TurnKey},
    timers::Cause,
};

impl<R: Role> Connection<R> {
    /// Ends the connection from this side: turns are cancelled, our requests resolve, what the host owes may be answered
    /// for [`Config::drain`](crate::Config::drain), the output is flushed, and `Closed` is told.
    pub fn close(&mut self, now: crate::Timestamp) {
        note!(self, "close", now);
        self.advance(now);
        self.end(CloseReason::Local);
    }

    /// Begins the end, with the output standing.
    pub(super) fn end(&mut self, reason: CloseReason) {
        if self.lifecycle.step(LifecycleInput::End(reason)) != LifecycleOutput::Drain {
            return;
        }
        self.timers.clear();
        self.resolve_all();
        R::on_ending(self);
        for key in self.open_keys() {
            if matches!(
                self.duty(key),
                Some(Duty::Plain { .. } | Duty::Open { .. } | Duty::Delete { .. } | Duty::Close { told: true, .. })
            ) {
                self.signal(key);
            }
        }
        self.timers.arm(Cause::Drain, self.now + self.config.drain);
        self.settle_end();
    }

    /// Ends the connection at once: what waits to be written is dropped.
    pub(super) fn cut(&mut self, reason: CloseReason) {
        if self.lifecycle.is_closed() {
            return;
        }
        let was_open = self.lifecycle.is_open();
        self.outbox.clear();
        let told = self.lifecycle.step(LifecycleInput::Cut(reason));
        if was_open {
            self.resolve_all();
            R::on_ending(self);
        }
        // Nobody can be answered any more: what is still held by the host is worth nothing, and nothing is kept.
        for key in self.open_keys() {
            let _ = self.incoming.step(IncomingInput::Answer(key.0));
        }
        for (turn, lost) in core::mem::take(&mut self.turns).into_entries() {
            R::on_turn_lost(self, turn, lost);
        }
        self.batches = OpenBatches::default();
        self.timers.clear();
        self.outbox.clear();
        if told == LifecycleOutput::Tell {
            self.tell_closed();
        }
    }

    /// Whether the end has come: nothing is owed, nothing waits to be written.
    pub(super) fn settle_end(&mut self) {
        if self.lifecycle.is_open() || self.is_owing() || !self.outbox.is_empty() {
            return;
        }
        if self.lifecycle.step(LifecycleInput::Settled) == LifecycleOutput::Tell {
            self.timers.clear();
            self.tell_closed();
        }
    }

    fn tell_closed(&mut self) {
        if let Some(reason) = self.lifecycle.reason().cloned() {
            self.tell(Common::Closed(reason));
            self.over = true;
        }
    }

    /// Our open requests will not be answered any more.
    fn resolve_all(&mut self) {
        let open: alloc::vec::Vec<u64> = self.outgoing.iter().map(|(id, _)| id).collect();
        for id in open {
            self.resolve_own(id, Outcome::Closed);
        }
    }

    fn open_keys(&self) -> alloc::vec::Vec<IncomingKey> {
        self.incoming.iter().map(|(key, _)| IncomingKey(key)).collect()
    }

    /// Arms the clocks of silence again, or disarms them: the idle one while anything is open, the other one while nothing
    /// of ours is, or while the peer waits for us.
    #[inline]
    pub(super) fn touch_clocks(&mut self) {
        if self.config.idle.is_some() || self.config.silence.is_some() {
            self.set_clocks();
        }
    }

    fn set_clocks(&mut self) {
        let open = self.lifecycle.is_open();
        let (ours, theirs) = (!self.outgoing.is_empty(), !self.incoming.is_empty());
        let clocks =
            [(Cause::Idle, self.config.idle, !ours && !theirs), (Cause::Silence, self.config.silence, ours && !theirs)];
        for (cause, time, runs) in clocks {
            match time {
                Some(time) if open && runs => self.timers.arm(cause, self.now + time),
                Some(_) => self.timers.disarm(cause),
                None => {}
            }
        }
    }

    /// A deadline is due. It is disarmed already.
    pub(super) fn expire(&mut self, cause: Cause) {
        match cause {
            Cause::Request(request) => self.resolve_own(request.0, Outcome::TimedOut),
            Cause::StopConfirm(_) => self.cut(CloseReason::StopUnconfirmed),
            Cause::ForceCancelled(turn) => R::on_force_due(self, turn),
            Cause::CloseSession(session) => R::on_close_due(self, session),
            Cause::Idle => self.end(CloseReason::Idle),
            Cause::Silence => {
                if let Some(time) = self.config.silence {
                    self.tell(Common::Silent(time));
                }
            }
            Cause::Permission(key) => R::on_permission_due(self, key),
            Cause::CancelConfirm(request) => self.cancel_unconfirmed(request.0),
            Cause::Drain => {
                if self.lifecycle.step(LifecycleInput::Expired) == LifecycleOutput::Force {
                    self.force();
                }
            }
        }
    }

    /// A peer that reads, however slowly, gets everything that was queued: each message it takes gives it that time again.
    pub(super) fn extend_flush(&mut self) {
        if self.timers.is_armed(Cause::Drain) && !self.is_owing() {
            self.timers.arm(Cause::Drain, self.now + self.config.drain);
        }
    }

    /// Whether the host still owes something: an answer, or in version 2 the end of work whose prompt is answered.
    fn is_owing(&self) -> bool {
        !self.incoming.is_empty() || !self.turns.is_empty()
    }

    /// What is still owed is answered in the host's place; if that was done before, the peer does not read: give up.
    fn force(&mut self) {
        if !self.is_owing() {
            return self.cut(CloseReason::Local);
        }
        self.timers.arm(Cause::Drain, self.now + self.config.drain);
        for key in self.open_keys() {
            match self.duty(key) {
                Some(Duty::Prompt(turn)) => R::on_force_due(self, *turn),
                _ => drop(self.answer_for_host(key, &Self::cancelled_error("the connection ended, and the request"))),
            }
        }
        let working: alloc::vec::Vec<TurnKey> = self.turns.keys().copied().collect();
        for turn in working {
            R::on_force_due(self, turn);
        }
        self.settle_end();
    }
}

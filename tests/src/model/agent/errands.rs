//! What an agent makes of the client's errands: the version agreement, logins, and sessions that come and go.

use super::{Agent, INTERNAL, INVALID, LOGIN, NOT_FOUND, NOTHING};
use crate::model::{
    end::{Accord, Due},
    places::{Seat, Stage},
    words::{Cause, Leg, Message, Of, Resolution, Said, Stray, Told, Want},
};

/// How long the turns of a session that is closed have, in milliseconds.
const CLOSE: u64 = 5_000;

/// An errand that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) of: (usize, Leg),
    pub(super) want: Want,
    /// As the so manieth of the client's requests it came.
    pub(super) came: usize,
    /// The session that it is about, and whether that is there for it only.
    pub(super) seat: Option<(Seat, bool)>,
    /// Whether the host knows of it.
    pub(super) told: bool,
    /// Version 2: whether it closes what is being closed.
    pub(super) too: bool,
    pub(super) signalled: bool,
}

impl Task {
    pub(super) const fn named(&self) -> Of {
        Of::Errand(self.of.0, self.of.1)
    }
}

impl Agent {
    /// Whether `initialize` can only be refused.
    pub(in crate::model) fn is_initialized(&self) -> bool {
        self.end.accord == Accord::Agreed && (self.end.used || !self.two)
    }

    // ---- what arrives ----------------------------------------------------------------------------------------------

    pub(in crate::model) fn wanted(&mut self, number: usize, leg: Leg, want: Want) {
        let of = Of::Errand(number, leg);
        let came = self.arrival(of);
        self.end.used |= want != Want::Initialize && self.end.accord == Accord::Agreed;
        let want = if leg == Leg::LogIn { Want::LogIn } else { want };
        let agreed = self.end.accord == Accord::Agreed;
        let refused = match want {
            Want::Initialize if self.end.accord == Accord::None => None,
            Want::Initialize => Some(NOTHING),
            _ if !agreed => Some(NOTHING),
            Want::New | Want::Load(_) | Want::Resume(_) if self.locked => Some(LOGIN),
            Want::Load(session) | Want::Resume(session) => {
                let place = self.places.find(session).and_then(|seat| self.places.get(seat));
                place.filter(|place| place.running.is_some() || place.stage != Stage::Open).map(|_| INVALID)
            }
            Want::Close(session) if self.two => match self.why_not(session) {
                Some(NOTHING) if self.places.find(session).is_none() => return self.answer(of, Said::Done),
                Some(NOTHING) => None,
                other => other,
            },
            Want::Close(session) => self.why_not(session),
            Want::New | Want::LogIn => None,
        };
        if let Some(code) = refused {
            return self.answer(of, Said::Failed(code));
        }
        let mut task = Task { of: (number, leg), want, came, seat: None, told: true, too: false, signalled: false };
        match want {
            Want::Initialize => self.end.accord = Accord::Offered,
            Want::Load(session) | Want::Resume(session) => {
                let fresh = self.places.find(session).is_none();
                let seat = self.places.open(session);
                self.stage(seat, Stage::Opening);
                task.seat = Some((seat, fresh));
            }
            Want::Close(session) => {
                if let Some(seat) = self.places.find(session) {
                    return self.close(task, seat);
                }
            }
            Want::New | Want::LogIn => {}
        }
        self.tasks.push(task);
        self.end.tell(Told::Errand(number, leg, matches!(want, Want::Load(_))));
    }

    /// Why nothing can happen in a session: it is not there, or being opened.
    pub(super) fn why_not(&self, session: usize) -> Option<i64> {
        match self.places.find(session).and_then(|seat| self.places.get(seat)).map(|place| place.stage) {
            None | Some(Stage::Closing) => Some(NOTHING),
            Some(Stage::Opening) => Some(INVALID),
            Some(Stage::Open) => None,
        }
    }

    fn stage(&mut self, seat: Seat, stage: Stage) {
        if let Some(place) = self.places.get_mut(seat) {
            place.stage = stage;
        }
    }

    /// Its turns are cancelled first, and waited for.
    fn close(&mut self, task: Task, seat: Seat) {
        if self.places.get(seat).is_some_and(|place| place.stage == Stage::Closing) {
            // It is answered when that is closed, or not.
            return self.tasks.push(Task { seat: Some((seat, false)), told: false, too: true, ..task });
        }
        self.tasks.push(Task { seat: Some((seat, false)), told: false, ..task });
        self.stage(seat, Stage::Closing);
        self.cancel_all(seat, Cause::CloseSession);
        if self.places.get(seat).is_some_and(|place| place.running.is_some()) {
            self.end.arm(Due::CloseSession(seat), CLOSE);
        }
        self.may_close(seat);
    }

    /// If a session is being closed and nothing runs in it, its host is told.
    pub(super) fn may_close(&mut self, seat: Seat) {
        let Some(place) = self.places.get(seat) else { return };
        if place.stage != Stage::Closing || place.running.is_some() {
            return;
        }
        let closes = |task: &&mut Task| task.seat == Some((seat, false)) && !task.told && !task.too;
        if let Some(task) = self.tasks.iter_mut().find(closes) {
            task.told = true;
            self.end.dues.remove(&Due::CloseSession(seat));
            self.end.tell(Told::Errand(task.of.0, task.of.1, false));
        }
    }

    /// `$/cancel_request` of an errand. Its host hears of it once, and answers it all the same.
    pub(in crate::model) fn errand_cancelled(&mut self, of: (usize, Leg)) {
        if let Some(place) = self.tasks.iter().position(|task| task.of == of) {
            let told = self.tasks[place].told;
            self.signal(place, told);
        }
    }

    pub(super) fn signal(&mut self, place: usize, tells: bool) {
        let task = &mut self.tasks[place];
        if !core::mem::replace(&mut task.signalled, true) && tells {
            let of = task.named();
            self.end.tell(Told::CancelRequested(of));
        }
    }

    /// What nobody of ours would say.
    pub(in crate::model) fn stray(&mut self, stray: Stray) {
        let open = |of: Of| match of {
            Of::Prompt(number) => self.turns.iter().any(|turn| turn.number == number && !turn.inserted),
            Of::Errand(number, leg) => self.tasks.iter().any(|task| task.of == (number, leg)),
            Of::Ask(_) | Of::Stray => false,
        };
        let doubled = matches!(stray, Stray::Again(of) if open(of));
        self.end.used |= matches!(stray, Stray::Again(_) | Stray::Delete) && self.end.accord == Accord::Agreed;
        match stray {
            Stray::Again(_) if doubled => {
                if self.two && self.end.accord == Accord::Agreed {
                    self.end.send(Message::UsedTwice);
                }
                self.end.tell(Told::Violation);
            }
            Stray::Again(of) => {
                self.arrival(of);
                self.answer(of, Said::Failed(NOT_FOUND));
            }
            Stray::Initialize | Stray::Delete => {
                self.arrival(Of::Stray);
                let code = match (stray, self.end.accord) {
                    (Stray::Initialize, Accord::Agreed) if self.two => INVALID,
                    (Stray::Delete, Accord::Agreed) => NOT_FOUND,
                    _ => NOTHING,
                };
                self.answer(Of::Stray, Said::Failed(code));
            }
            Stray::Answer => self.end.tell(Told::Violation),
        }
    }

    // ---- its host --------------------------------------------------------------------------------------------------

    /// The host grants an errand. `new`: the session that it would make.
    pub(in crate::model) fn grant(&mut self, of: (usize, Leg), want: Want, new: usize) -> &'static str {
        if of.1 == Leg::LogIn || want == Want::LogIn {
            // What the client sends upon the answer is to pass.
            self.locked = false;
        }
        let Some(place) = self.tasks.iter().position(|task| task.of == of) else { return gone(of.1, want, true) };
        let Task { want, seat, .. } = self.tasks.remove(place);
        let said = match want {
            Want::Initialize => {
                self.end.accord = Accord::Agreed;
                Said::Version(if self.two { 2 } else { 1 })
            }
            Want::New => {
                self.places.open(new);
                Said::Session(new)
            }
            Want::Load(_) | Want::Resume(_) | Want::Close(_) | Want::LogIn => Said::Done,
        };
        match (want, seat) {
            (Want::Close(_), Some((seat, _))) => {
                self.forget(seat);
                self.close_too(seat, said);
            }
            (Want::Load(session) | Want::Resume(session), Some((seat, _))) => {
                self.resume(session, seat, matches!(want, Want::Load(_)));
                self.stage(seat, Stage::Open);
            }
            _ => {}
        }
        self.answer(Of::Errand(of.0, of.1), said);
        "Queued"
    }

    /// The host refuses it.
    pub(in crate::model) fn refuse(&mut self, of: (usize, Leg), want: Want) -> &'static str {
        let Some(place) = self.tasks.iter().position(|task| task.of == of) else { return gone(of.1, want, false) };
        let task = self.tasks.remove(place);
        self.undo(task, Said::Failed(INTERNAL));
        "Queued"
    }

    /// An errand comes to nothing.
    pub(super) fn undo(&mut self, task: Task, said: Said) {
        match (task.want, task.seat) {
            (Want::Initialize, _) => self.end.accord = Accord::None,
            (_, Some((seat, true))) => self.forget(seat),
            (_, Some(_)) if task.too => {}
            (Want::Close(_), Some((seat, _))) => {
                self.stage(seat, Stage::Open);
                self.close_too(seat, said);
            }
            (_, Some((seat, false))) => self.stage(seat, Stage::Open),
            (_, None) => {}
        }
        self.answer(task.named(), said);
    }

    /// Who closed a session that was being closed has the same answer.
    fn close_too(&mut self, seat: Seat, said: Said) {
        while let Some(place) = self.tasks.iter().position(|task| task.too && task.seat == Some((seat, false))) {
            let task = self.tasks.remove(place);
            self.answer(task.named(), said);
        }
    }

    /// A session is gone, and with it what was asked there.
    fn forget(&mut self, seat: Seat) {
        self.end.dues.remove(&Due::CloseSession(seat));
        self.cancel_all(seat, Cause::CloseSession);
        self.resolve_those(|asked| asked.seat == seat, Resolution::Cancelled(Cause::CloseSession));
        self.places.close(seat);
    }
}

/// What is answered for what nobody waits for any more.
const fn gone(leg: Leg, want: Want, well: bool) -> &'static str {
    match (leg, want) {
        (Leg::First | Leg::Again, Want::New | Want::Load(_) | Want::Resume(_)) if well => "Closed",
        _ => "TooLate",
    }
}

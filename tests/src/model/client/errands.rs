//! What a client asks for apart from prompts: the version agreement, logins, and sessions that come and go.

use super::{Accord, Client, Due, Leg, Message, Of, Stage, Told};
use crate::model::{
    places::Seat,
    words::{Cause, Origin, Plan, Resolution, Said, Settled, Want},
};

/// How long an errand that is bounded waits, in milliseconds.
pub(in crate::model) const BOUND: u64 = 20_000;

/// The answer of who demands a login.
const LOGIN: Said = Said::Failed(-32000);

/// An errand that is not over.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Errand {
    want: Want,
    leg: Leg,
    /// Whether it may log in.
    logs_in: bool,
    /// The session it is about, and whether that is there for it only.
    seat: Option<(Seat, bool)>,
    /// Whether the request under way was taken back.
    taken_back: bool,
}

impl Client {
    pub(in crate::model) fn errand(&mut self, number: usize, want: Want, plan: Plan) -> &'static str {
        if want == Want::Initialize {
            match (self.end.is_open(), self.end.accord) {
                (false, _) => return "Closed",
                (true, Accord::None) => self.end.accord = Accord::Offered,
                (true, _) => return "AlreadyInitialized",
            }
        } else if let Some(why) = self.closed() {
            return why;
        }
        let mut seat = None;
        match want {
            Want::Load(session) | Want::Resume(session) => {
                let known = self.places.find(session);
                match known.and_then(|seat| self.places.get(seat)) {
                    Some(place) if place.running.is_some() => return "TurnInProgress",
                    Some(place) if place.stage != Stage::Open => return "SessionNotOpen",
                    _ => seat = Some((self.places.open(session), known.is_none())),
                }
            }
            Want::Close(session) => seat = self.places.find(session).map(|seat| (seat, false)),
            Want::Initialize | Want::New | Want::LogIn => {}
        }
        let logs_in = plan == Plan::LogIn;
        self.errands.insert(number, Errand { want, leg: Leg::First, logs_in, seat, taken_back: false });
        self.go(number, Leg::First);
        if plan == Plan::Bounded {
            self.end.arm(Due::Request(number), BOUND);
        }
        self.restage(seat.map(|(seat, _)| seat));
        "Done"
    }

    /// Sends a request of an errand.
    fn go(&mut self, number: usize, leg: Leg) {
        self.end.used |= self.end.accord == Accord::Agreed;
        if let Some(errand) = self.errands.get_mut(&number) {
            (errand.leg, errand.taken_back) = (leg, false);
        }
        self.open.push(Of::Errand(number, leg));
        self.end.send(Message::Errand(number, leg));
    }

    /// A session is where the errands about it that are under way have it: closed, if one closes it.
    fn restage(&mut self, seat: Option<Seat>) {
        let Some(seat) = seat else { return };
        let about = self.errands.values().filter(|errand| errand.seat.is_some_and(|(of, _)| of == seat));
        let stage = about.fold(Stage::Open, |stage, errand| match (stage, errand.want) {
            (_, Want::Close(_)) | (Stage::Closing, _) => Stage::Closing,
            _ => Stage::Opening,
        });
        if let Some(place) = self.places.get_mut(seat) {
            place.stage = stage;
        }
    }

    pub(in crate::model) fn retract(&mut self, number: usize) -> &'static str {
        let Some(errand) = self.errands.get_mut(&number) else { return "Moot" };
        if core::mem::replace(&mut errand.taken_back, true) {
            return "AlreadyRequested";
        }
        let leg = errand.leg;
        if self.end.unsend(&Message::Errand(number, leg)) {
            self.resolved(number, Resolution::Cancelled(Cause::Request));
        } else {
            self.end.send(Message::Withdraw(Of::Errand(number, leg)));
        }
        "Requested"
    }

    /// A cancel of this request did not arrive, and may be asked again.
    pub(super) fn not_retracted(&mut self, number: usize, leg: Leg) {
        if let Some(errand) = self.errands.get_mut(&number).filter(|errand| errand.leg == leg) {
            errand.taken_back = false;
            self.end.tell(Told::CancelUnconfirmed(Of::Errand(number, Leg::First)));
        }
    }

    /// The request under way is answered, or never will be.
    pub(super) fn resolved(&mut self, number: usize, how: Resolution) {
        let Some(Errand { leg, want, logs_in, taken_back, .. }) = self.errands.get(&number).copied() else { return };
        self.open.retain(|open| *open != Of::Errand(number, leg));
        self.end.dues.remove(&Due::Request(number));
        // What its host took back does not go on.
        match leg {
            Leg::First if logs_in && !taken_back && how == Resolution::Answered(LOGIN) => {
                return self.go(number, Leg::LogIn);
            }
            Leg::LogIn if !taken_back && how == Resolution::Answered(Said::Done) => return self.go(number, Leg::Again),
            Leg::LogIn if how != Resolution::Closed => return self.done(number, Resolution::Answered(LOGIN)),
            Leg::First | Leg::LogIn | Leg::Again => {}
        }
        if want == Want::Initialize {
            let agreed = matches!(how, Resolution::Answered(Said::Version(_)));
            self.end.accord = if agreed { Accord::Agreed } else { Accord::None };
        }
        self.done(number, how);
    }

    /// An errand is over.
    fn done(&mut self, number: usize, how: Resolution) {
        let Some(Errand { want, seat, .. }) = self.errands.remove(&number) else { return };
        let well = matches!(how, Resolution::Answered(Said::Done | Said::Session(_) | Said::Version(_)));
        let mut told = match want {
            Want::Load(session) | Want::Resume(session) | Want::Close(session) => seat.map(|_| session),
            Want::Initialize | Want::New | Want::LogIn => None,
        };
        match (want, seat) {
            (Want::Load(_) | Want::Resume(_), Some((seat, true))) if !well => {
                self.forget(seat);
                told = None;
            }
            (Want::Close(_), Some((seat, _))) if well => self.forget(seat),
            (_, seat) => self.restage(seat.map(|(seat, _)| seat)),
        }
        if let Resolution::Answered(Said::Session(session)) = how {
            self.places.open(session);
            told = Some(session);
        }
        self.end.tell(Told::Done(number, told, how));
        if matches!(want, Want::New | Want::Load(_) | Want::Resume(_)) {
            self.opened(told);
        }
    }

    /// What came too early is told.
    fn opened(&mut self, session: Option<usize>) {
        let seat = session.and_then(|session| self.places.find(session));
        if let Some((seat, session)) = seat.zip(session) {
            if let Some(place) = self.places.get_mut(seat) {
                place.replayed = false;
            }
            for update in self.early.remove(&session).into_iter().flatten() {
                self.end.tell(Told::Update(update, Some(session), Origin::Early));
                self.heed(update, seat);
            }
        }
        if !self.is_opening() {
            for update in core::mem::take(&mut self.early).into_values().flatten() {
                self.end.tell(Told::Update(update, None, Origin::Early));
            }
        }
    }

    /// Whether a session that has no name yet is asked for.
    pub(super) fn is_opening(&self) -> bool {
        self.errands.values().any(|errand| errand.want == Want::New && errand.leg != Leg::LogIn)
    }

    /// Whether what a session tells is its history.
    pub(super) fn is_replaying(&self, seat: Seat) -> bool {
        let told = self.places.get(seat).is_some_and(|place| place.replayed);
        !told
            && self.errands.values().any(|errand| {
                let here = errand.seat.is_some_and(|(of, _)| of == seat);
                here && matches!(errand.want, Want::Load(_)) && errand.leg != Leg::LogIn
            })
    }

    /// A session is gone, and with it what its host was asked there, and the prompts that wait here.
    fn forget(&mut self, seat: Seat) {
        self.void(seat);
        let waiting = self.places.get_mut(seat).map(|place| core::mem::take(&mut place.waiting)).unwrap_or_default();
        for number in waiting {
            if !self.is_open(Of::Prompt(number)) {
                self.forget_prompt(number);
                self.end.tell(Told::TurnEnded(number, Settled::NotSent));
            }
        }
        for number in self.inserted.iter().copied().filter(|of| self.live.get(of) == Some(&seat)).collect::<Vec<_>>() {
            self.settle(number, Settled::Cancelled);
        }
        self.places.close(seat);
    }
}

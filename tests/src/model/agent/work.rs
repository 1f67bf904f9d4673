//! What version 2 asks of an agent: prompts get their place, which is the answer to them, and the end of the work is told for
//! the session as a whole.

use super::{Agent, INTERNAL, Kind, Seat, Turn};
use crate::model::{
    words::{Ending, Message, Of, Said, State, Stop, Update, Want},
    work::Over,
};

/// The error that says that something was cancelled.
const CANCELLED: i64 = -32800;

impl Agent {
    /// The host gives a prompt its place.
    pub(in crate::model) fn insert_prompt(&mut self, number: usize) -> &'static str {
        match self.insert(number, true) {
            _ if !self.two => "Queued",
            true => "Queued",
            false => "TooLate",
        }
    }

    /// A prompt gets its place, unless it has one, or is cancelled, or over. `named`: its host gives it.
    pub(super) fn insert(&mut self, number: usize, named: bool) -> bool {
        let two = self.two;
        let Some(turn) = self.turn(number).filter(|turn| two && !turn.inserted && turn.cause.is_none()) else {
            return false;
        };
        turn.inserted = true;
        let seat = turn.seat;
        if let Some(place) = self.places.get_mut(seat) {
            place.work.insert(number);
        }
        self.show(number, seat, named);
        true
    }

    /// The answer, the state, and the message.
    fn show(&mut self, number: usize, seat: Seat, named: bool) {
        self.answer(Of::Prompt(number), Said::Inserted(named));
        self.is_at(seat, State::Running);
        self.end.send(Message::Update(Update::User(number, named)));
    }

    /// The session is at this. It is said if it is news.
    fn is_at(&mut self, seat: Seat, state: State) {
        let Some(place) = self.places.get_mut(seat) else { return };
        let rested = matches!((place.work.state, state), (State::Rest(_), State::Rest(_)));
        let news = place.work.state != state && !rested || matches!(state, State::Rest(Some(_)));
        place.work.report(state);
        if let (true, Some(session)) = (news, self.places.name(seat)) {
            self.end.send(Message::Update(Update::State(session, state)));
        }
    }

    /// Work that waits for the user's answer is said to, and to go on with the last one.
    pub(super) fn waits(&mut self, number: usize) {
        let Some(turn) = self.turn(number) else { return };
        let (seat, shown) = (turn.seat, turn.inserted && turn.cause.is_none());
        if shown {
            self.is_at(seat, if self.asks_user(number) { State::Waiting } else { State::Running });
        }
    }

    /// Whether a turn waits for the user's answer.
    fn asks_user(&self, number: usize) -> bool {
        self.asks.values().any(|asked| asked.turn == number && asked.kind == Kind::Permission)
    }

    /// Whether the history of a session is to be told.
    pub(super) fn is_replaying(&self, session: usize) -> bool {
        self.tasks.iter().any(|task| task.want == Want::Load(session))
    }

    /// What comes before the answer to who resumes a session.
    pub(super) fn resume(&mut self, session: usize, seat: Seat, history: bool) {
        if !self.two {
            return;
        }
        if history {
            self.end.send(Message::Update(Update::Replayed(session)));
        }
        let state = match self.places.get(seat).map(|place| place.work.state) {
            Some(State::Rest(_)) | None => State::Rest(None),
            Some(state) => state,
        };
        self.end.send(Message::Update(Update::State(session, state)));
    }

    /// The end of a turn: its prompt is refused, or its work is over.
    pub(super) fn settle_work(&mut self, turn: &Turn, cancelled: bool, ending: Ending) -> &'static str {
        let (number, seat) = (turn.number, turn.seat);
        let done = !cancelled && ending == Ending::Ended;
        let over = self.places.get_mut(seat).map(|place| place.work.end(number, done));
        let (stop, delivery) = match ending {
            Ending::Cancelled if cancelled => (Stop::Cancelled, "Queued"),
            _ if cancelled => (Stop::Cancelled, "AsCancelled"),
            Ending::Cancelled => (Stop::Error(CANCELLED), "AsWithdrawn"),
            Ending::Ended => (Stop::Ended, "Queued"),
            Ending::Failed => (Stop::Error(INTERNAL), "Queued"),
        };
        match over {
            None => return "TooLate",
            Some(Over::Refused { idle }) => {
                let said = if stop == Stop::Error(INTERNAL) { Said::Failed(INTERNAL) } else { Said::Withdrawn };
                self.answer(Of::Prompt(number), said);
                if idle {
                    self.is_at(seat, State::Rest(Some(Stop::Cancelled)));
                }
            }
            Some(Over::Worked { last }) => {
                if !turn.inserted {
                    self.show(number, seat, false);
                }
                if last {
                    self.is_at(seat, State::Rest(Some(stop)));
                } else if !self.turns.iter().any(|turn| turn.seat == seat && self.asks_user(turn.number)) {
                    // Perhaps it was only this one that waited for the user.
                    self.is_at(seat, State::Running);
                }
            }
        }
        delivery
    }
}

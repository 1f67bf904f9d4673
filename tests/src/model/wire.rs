//! What is between the ends: what is on its way, what arrives, and what does not.

use std::collections::VecDeque;

use super::{
    Model,
    end::Frame,
    words::{Break, Message, Of, Reason, Side, Stray, Told, Update},
};

/// The way to one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    pub(super) frames: VecDeque<Frame>,
    /// How much of the first was read: nothing, not enough to know what it is about, or more.
    pub(super) part: u8,
    /// Nothing comes through any more.
    pub(super) broken: bool,
    /// The requests that were ever put into it.
    pub(super) asked: Vec<Of>,
}

impl Pipe {
    pub(super) fn put(&mut self, message: Message) {
        self.put_frame(Frame { message, cancels: None });
    }

    fn put_frame(&mut self, frame: Frame) {
        match frame.message {
            Message::Prompt(number) => self.asked.push(Of::Prompt(number)),
            Message::Errand(number, leg) => self.asked.push(Of::Errand(number, leg)),
            Message::Ask(ask, _) => self.asked.push(Of::Ask(ask)),
            _ => {}
        }
        if !self.broken {
            self.frames.push_back(frame);
        }
    }

    fn break_off(&mut self) {
        self.frames.clear();
        (self.part, self.broken) = (0, true);
    }

    /// The place of a frame, counted from the end, if it can get lost: it is a host's, and was not read.
    pub(super) fn place(&self, back: usize) -> Option<usize> {
        let place = self.frames.len().checked_sub(back + 1)?;
        let whole = place > 0 || self.part == 0;
        (whole && !matches!(self.frames[place].message, Message::Stray(_))).then_some(place)
    }
}

impl Model {
    pub(super) fn pipe(&self, side: Side) -> &Pipe {
        if side == Side::Client { &self.to_client } else { &self.to_agent }
    }

    pub(super) fn pipe_mut(&mut self, side: Side) -> &mut Pipe {
        if side == Side::Client { &mut self.to_client } else { &mut self.to_agent }
    }

    pub(super) fn hand_out(&mut self, side: Side, count: usize) {
        for _ in 0..count {
            let owes = self.owes(side);
            let Some(frame) = self.end_mut(side).hand_out(owes) else { break };
            self.outcome.written.push(frame.message.clone());
            self.pipe_mut(side.other()).put_frame(frame);
        }
    }

    pub(super) fn lose(&mut self, side: Side, back: usize) {
        let pipe = self.pipe_mut(side.other());
        let Some(frame) = pipe.place(back).and_then(|place| pipe.frames.remove(place)) else { return };
        match side {
            Side::Client => self.client.undelivered(&frame),
            Side::Agent => self.agent.undelivered(&frame),
        }
    }

    pub(super) fn deliver(&mut self, side: Side, whole: u8, part: u8) {
        for _ in 0..whole {
            let pipe = self.pipe_mut(side);
            let Some(frame) = pipe.frames.pop_front() else { break };
            pipe.part = 0;
            match side {
                Side::Client => self.client_reads(frame.message),
                Side::Agent => self.agent_reads(&frame.message),
            }
        }
        let pipe = self.pipe_mut(side);
        if !pipe.frames.is_empty() {
            pipe.part = pipe.part.max(part);
        }
    }

    fn client_reads(&mut self, message: Message) {
        match message {
            Message::Update(update) => self.client.update(update, self.session_of(update)),
            Message::Ask(ask, kind) => self.client.asked(ask, kind, self.asks[ask - 1]),
            Message::Withdraw(Of::Ask(ask)) => self.client.taken_back(ask),
            Message::Answer(of, said) => self.client.answered(of, said),
            Message::Stray(stray) => self.client.stray(stray),
            _ => self.client.end.tell(Told::Violation),
        }
    }

    fn session_of(&self, update: Update) -> usize {
        match update {
            Update::State(session, _) | Update::Replayed(session) => session,
            Update::User(prompt, _) => self.prompts[prompt - 1],
            Update::Text(number) | Update::Open(number) | Update::Finished(number) | Update::LastWord(number) => {
                self.updates[number - 1]
            }
        }
    }

    fn agent_reads(&mut self, message: &Message) {
        match *message {
            Message::Prompt(number) => self.agent.prompted(number, self.prompts[number - 1]),
            Message::Errand(number, leg) => self.agent.wanted(number, leg, self.want(number)),
            Message::Cancel(session) => self.agent.cancelled(session),
            Message::Withdraw(Of::Prompt(number)) => self.agent.prompt_cancelled(number),
            Message::Withdraw(Of::Errand(number, leg)) => self.agent.errand_cancelled((number, leg)),
            Message::Answer(Of::Ask(ask), said) => self.agent.answered(ask, said),
            Message::Stray(stray) => self.agent.stray(stray),
            _ => self.agent.end.tell(Told::Violation),
        }
    }

    pub(super) fn break_off(&mut self, side: Side, how: Break) {
        if how == Break::Eof && self.end(side).is_open() && self.pipe(side).part > 0 {
            // What was left without a line break is no message. An agent says so, a client does not answer noise.
            match side {
                Side::Client => self.client.end.tell(Told::Violation),
                Side::Agent => {
                    self.agent.end.send(Message::NotUnderstood);
                    self.agent.end.tell(Told::Violation);
                }
            }
        }
        if how != Break::Close {
            self.pipe_mut(side).break_off();
        }
        match (side, how) {
            (Side::Client, Break::Lost) => self.client.cut(Reason::Lost),
            (Side::Agent, Break::Lost) => self.agent.cut(Reason::Lost),
            (Side::Client, Break::Eof) => self.client.drain(Reason::Eof),
            (Side::Agent, Break::Eof) => self.agent.drain(Reason::Eof),
            (Side::Client, Break::Close) => self.client.drain(Reason::Local),
            (Side::Agent, Break::Close) => self.agent.drain(Reason::Local),
        }
    }

    /// What may go wrong on the way to this end.
    pub(super) fn strays(&self, side: Side) -> Vec<Stray> {
        let again = self.pipe(side).asked.iter().rev().take(2).map(|of| Stray::Again(*of));
        let mut strays: Vec<_> = again.chain([Stray::Answer]).collect();
        if side == Side::Agent {
            strays.push(Stray::Delete);
            if self.agent.is_initialized() {
                strays.push(Stray::Initialize);
            }
        }
        strays
    }
}

//! Lines in: what each is, whether it may pass, and whose it is.

use alloc::{format, vec::Vec};

use bytes::Bytes;

use super::{
    Connection, Role,
    answer::{Duty, Place, Served},
};
use crate::{
    action::{Common, Outcome},
    config::Batches,
    error::{CloseReason, Violation},
    machine::{
        Admission, Arrival, HandshakeInput, IncomingInput, IncomingOutput, IncomingReject, Machine, OutgoingInput,
        OutgoingOutput, Withdrawal,
    },
    outbox::Tag,
    role::Side,
    ticket::{IncomingKey, RequestKey},
    timers::Cause,
    wire::{
        ErrorObject, Form, Framed, Id, Line, Malformed, Message, Method, MethodName, Oversized, OversizedShape,
        Payload, Sender, Shape, code, dialect::v1, own, parse_line,
    },
};

/// Lines without meaning since the last good one: technically a nuisance, in numbers an attack or a wrong program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Noise {
    lines: usize,
    bytes: usize,
}

impl<R: Role> Connection<R> {
    pub(super) fn receive_framed(&mut self, framed: Framed) {
        match framed {
            Framed::Line(line) => self.receive_message(&line),
            Framed::TooLong(oversized) => {
                self.receive_oversized(oversized);
                self.touch_clocks();
            }
        }
    }

    fn receive_message(&mut self, line: &Bytes) {
        match parse_line(line, self.config.limits.batch) {
            Line::Blank => {}
            Line::Message(message) => self.receive(message, None, line.len()),
            Line::Batch(_) | Line::EmptyBatch | Line::BatchTooLarge
                if self.config.batches == Batches::Reject || self.speaks_v2() =>
            {
                self.malformed(Malformed::nothing("batches are not supported here"), None, line.len());
            }
            Line::Batch(messages) => self.receive_batch(messages, line.len()),
            Line::EmptyBatch => self.malformed(Malformed::nothing("a batch must not be empty"), None, line.len()),
            Line::BatchTooLarge => {
                self.malformed(Malformed::nothing("the batch has too many entries"), None, line.len());
            }
        }
        self.touch_clocks();
    }

    /// Elements are handled in order; the answers wait for each other.
    fn receive_batch(&mut self, messages: Vec<Message>, size: usize) {
        let batch = self.batches.begin(messages.len());
        let noise = messages.iter().all(|message| matches!(message, Message::Malformed(_)));
        for (index, message) in messages.into_iter().enumerate() {
            if !self.lifecycle.is_open() {
                break;
            }
            self.receive(message, Some(Place { batch, index }), size);
        }
        self.settle_batch(batch);
        // One line, however many entries.
        if noise {
            self.count_noise(size);
        }
    }

    fn receive(&mut self, message: Message, place: Option<Place>, size: usize) {
        match message {
            Message::Malformed(malformed) => self.malformed(malformed, place, size),
            Message::Request { id, method, params } => {
                self.noise = Noise::default();
                self.receive_request(id, method, params, place);
            }
            Message::Notification { method, params } => {
                self.noise = Noise::default();
                self.receive_notification(method, params);
            }
            Message::Response { id, answer } => {
                self.noise = Noise::default();
                self.receive_response(&id, answer);
            }
        }
    }

    // ---- requests ----------------------------------------------------------------------------------------------

    fn receive_request(&mut self, id: Id, method: MethodName, params: Option<Payload>, place: Option<Place>) {
        // Prompts have a limit of their own: the queue of their session.
        let counts = method.known() != Some(Method::SessionPrompt);
        if self.speaks_v2() && id.is_null() {
            let error = ErrorObject::new(code::INVALID_REQUEST, "the id of a request must not be null");
            self.refuse(&Id::NULL, place, &error);
            return self.violation(Violation::BadRequest { method, why: "its id is null" });
        }
        if R::SIDE == Side::Agent && method.known() != Some(Method::Initialize) {
            // From here on `initialize` may not be repeated. Where nothing is agreed, nothing changes.
            let _ = self.handshake.step(HandshakeInput::Use);
        }
        let about = Served { method: method.clone(), duty: Duty::Plain { session: None }, place };
        let key = match self.incoming.step(IncomingInput::Arrive { id: id.clone(), counts, about }) {
            Ok(IncomingOutput::Arrived(Arrival::Waiting(key))) => IncomingKey(key),
            Err(IncomingReject::Duplicate) => {
                // An answer under its id would be taken for the answer to the first.
                if self.speaks_v2() {
                    let error = ErrorObject::new(code::INVALID_REQUEST, "the id of an open request was used again");
                    self.refuse(&Id::NULL, place, &error);
                }
                return self.violation(Violation::DuplicateId { method });
            }
            Ok(_) | Err(IncomingReject::NeverArrived) => {
                let limit = self.config.limits.peer_requests;
                let error = ErrorObject::new(
                    code::INTERNAL_ERROR,
                    format!("{limit} requests are open already: try again when one is answered"),
                );
                return self.refuse(&id, place, &error);
            }
        };
        if let Some(place) = place {
            self.batches.owe(place.batch);
        }
        match self.admit(&method, params.as_ref()) {
            Ok(()) => R::on_request(self, key, method, params),
            Err(error) => {
                self.answer(key, Err(&error));
            }
        }
    }

    /// Whether a request may pass. The order matters: what does not exist is refused in every state.
    fn admit(&self, method: &MethodName, params: Option<&Payload>) -> Result<(), ErrorObject> {
        let not_found = || ErrorObject::new(code::METHOD_NOT_FOUND, format!("no method `{method}` here"));
        let Some(known) = self.known(method) else {
            let served = method.is_extension() || self.config.methods.contains(method.as_str());
            return if served { self.admit_by_state(method) } else { Err(not_found()) };
        };
        let spec = known.spec();
        let from_peer = match R::SIDE {
            Side::Agent => matches!(spec.sender, Sender::Client | Sender::Both),
            Side::Client => matches!(spec.sender, Sender::Agent | Sender::Both),
        };
        if !from_peer || spec.form == Form::Notification {
            return Err(not_found());
        }
        self.admit_by_state(method)?;
        if spec.gate(self.speaks().number()).is_some_and(|gate| !self.own.offers(gate)) {
            return Err(ErrorObject::new(
                code::METHOD_NOT_FOUND,
                format!("`{method}` was not offered when the connection was initialized"),
            ));
        }
        if params.is_some_and(|params| !params.is_object()) {
            return Err(ErrorObject::new(code::INVALID_PARAMS, format!("the params of `{method}` must be an object")));
        }
        Ok(())
    }

    fn admit_by_state(&self, method: &MethodName) -> Result<(), ErrorObject> {
        let initialize = method.known() == Some(Method::Initialize);
        let why = match self.handshake.admission() {
            Admission::Anything => return Ok(()),
            Admission::OnlyInitialize if initialize => return Ok(()),
            Admission::Ordinary if !initialize => return Ok(()),
            Admission::OnlyInitialize | Admission::Nothing if !initialize => {
                format!("`{method}` came before `initialize` was answered: initialize the connection first")
            }
            Admission::OnlyInitialize | Admission::Ordinary | Admission::Nothing => {
                "the connection is initialized already, or being initialized".into()
            }
        };
        let code = if self.speaks_v2() { code::INVALID_REQUEST } else { self.config.not_initialized_code };
        Err(ErrorObject::new(code, why))
    }

    /// Answers a request that was never kept.
    fn refuse(&mut self, id: &Id, place: Option<Place>, error: &ErrorObject) {
        if let Some(place) = place {
            self.batches.owe(place.batch);
        }
        self.write_answer(id, place, Err(error));
    }

    // ---- notifications -----------------------------------------------------------------------------------------

    fn receive_notification(&mut self, method: MethodName, params: Option<Payload>) {
        let Some(known) = self.known(&method) else {
            // "Implementations are free to ignore" what is protocol level and unknown (ACP, Cancellation).
            if !method.is_protocol_level() && self.hears() {
                self.tell(Common::Notification { method, params });
            }
            return;
        };
        if known == Method::CancelRequest {
            return self.receive_cancel_request(params.as_ref());
        }
        if !self.hears() {
            return;
        }
        let spec = known.spec();
        let from_peer = match R::SIDE {
            Side::Agent => matches!(spec.sender, Sender::Client | Sender::Both),
            Side::Client => matches!(spec.sender, Sender::Agent | Sender::Both),
        };
        if !from_peer {
            let why = "this end is the one that sends it";
            return self.violation(Violation::BadNotification { method, why });
        }
        if spec.form == Form::Request {
            let why = "it is a request, and came without an id";
            return self.violation(Violation::BadNotification { method, why });
        }
        R::on_notification(self, known, params);
    }

    /// An agent ignores notifications before it is initialized; a client takes what early agents tell.
    fn hears(&self) -> bool {
        R::SIDE == Side::Client || self.handshake.admission().is_ordinary()
    }

    fn receive_cancel_request(&mut self, params: Option<&Payload>) {
        let Some(id) = params.and_then(v1::request_id) else {
            let why = "`requestId` is missing, or is no id";
            let method = MethodName::Known(Method::CancelRequest);
            return self.violation(Violation::BadNotification { method, why });
        };
        // Unknown or answered: ignored, since the answer and the cancel may cross (ACP, Cancellation).
        if let Ok(IncomingOutput::Withdrawn(Withdrawal::Signal(key))) = self.incoming.step(IncomingInput::Cancel(id)) {
            let key = IncomingKey(key);
            if !R::on_withdrawn(self, key) {
                self.tell(Common::CancelRequested(key));
            }
        }
    }

    // ---- responses ---------------------------------------------------------------------------------------------

    fn receive_response(&mut self, id: &Id, answer: Result<Payload, ErrorObject>) {
        match (id.own(), answer) {
            (Some(own), Ok(result)) => self.resolve(own, Outcome::Result(result)),
            (Some(own), Err(error)) => self.resolve(own, Outcome::Error(error)),
            (None, Err(error)) if id.is_null() => self.violation(Violation::PeerRejected(error)),
            (None, _) => self.violation(Violation::NeverIssued),
        }
    }

    /// Resolves a request of ours by what arrived under its id. A late or second answer is dropped without a word.
    fn resolve(&mut self, own: u64, outcome: Outcome) {
        match self.outgoing.step(OutgoingInput::Answer(own)) {
            Ok(OutgoingOutput::Resolved(answered)) => {
                self.timers.disarm(Cause::Request(RequestKey(own)));
                if answered.cancelled {
                    self.timers.disarm(Cause::CancelConfirm(RequestKey(own)));
                    // Nobody needs to be told to cancel what is over.
                    self.outbox.withdraw(|tag| *tag == Tag::CancelRequest(own));
                }
                R::on_resolved(self, own, answered.about, outcome);
                self.touch_clocks();
            }
            Ok(_) => {}
            Err(_) => self.violation(Violation::NeverIssued),
        }
    }

    // ---- what is wrong -----------------------------------------------------------------------------------------

    /// A message that is none. Whoever may wait for it is answered or settled: a call is refused, an answer of ours
    /// that cannot be read resolves as invalid. What looks like a response is never answered, however broken.
    fn malformed(&mut self, malformed: Malformed, place: Option<Place>, size: usize) {
        let Malformed { shape, id, why, raw } = malformed;
        let own = id.as_ref().and_then(Id::own).filter(|own| self.outgoing.get(*own).is_some());
        match (shape, own) {
            (Shape::Response | Shape::Bare, Some(own)) => {
                let raw = raw.unwrap_or(Payload::NULL);
                return self.resolve(own, Outcome::Invalid { why, raw });
            }
            (Shape::Response | Shape::Hybrid, _) => {}
            (Shape::NotJson, _) if R::SIDE == Side::Agent => {
                self.refuse(&Id::NULL, place, &ErrorObject::new(code::PARSE_ERROR, why));
            }
            (Shape::Call | Shape::Bare | Shape::Nothing, _) if R::SIDE == Side::Agent => {
                // An open request's id gets no second answer.
                let id = id.unwrap_or(Id::NULL);
                if self.incoming.key(&id).is_none() {
                    self.refuse(&id, place, &ErrorObject::new(code::INVALID_REQUEST, why));
                }
            }
            // "A client never answers noise": programs print on their stdout. A call with a readable id is no noise.
            (Shape::Call, _) => {
                if let Some(id) = id.filter(|id| self.incoming.key(id).is_none()) {
                    self.refuse(&id, place, &ErrorObject::new(code::INVALID_REQUEST, why));
                }
            }
            (Shape::NotJson | Shape::Bare | Shape::Nothing, _) => {}
        }
        self.violation(match shape {
            Shape::NotJson => Violation::NotJson { size },
            Shape::Call | Shape::Response | Shape::Hybrid | Shape::Bare | Shape::Nothing => {
                Violation::NotRpc { why, size }
            }
        });
        if place.is_none() {
            self.count_noise(size);
        }
    }

    fn count_noise(&mut self, size: usize) {
        self.noise.lines += 1;
        self.noise.bytes = self.noise.bytes.saturating_add(size);
        if self.noise.lines > self.config.limits.noise_lines || self.noise.bytes > self.config.limits.noise_bytes {
            self.end(CloseReason::TooMuchNoise);
        }
    }

    /// A line over the limit settles only what it was about.
    fn receive_oversized(&mut self, oversized: Oversized) {
        let Oversized { size, limit, shape, id, method, session } = oversized;
        let own = id.as_ref().and_then(Id::own).filter(|own| self.outgoing.get(*own).is_some());
        if own.is_none() || matches!(shape, OversizedShape::Request | OversizedShape::Notification) {
            self.violation(Violation::TooLong { size, limit, method: method.clone(), session });
        }
        match (shape, own) {
            // A lone id is noise to the scanner, but it names who waits.
            (OversizedShape::Response | OversizedShape::Noise, Some(own)) => {
                self.resolve(own, Outcome::TooLong { size, limit });
            }
            (OversizedShape::Request, _) => {
                let id = id.unwrap_or(Id::NULL);
                if self.incoming.key(&id).is_none() {
                    let name = method.as_ref().map_or("", MethodName::as_str);
                    let error = ErrorObject::new(
                        code::INVALID_REQUEST,
                        format!("the request takes {size} bytes, and a line may have {limit}"),
                    );
                    self.refuse(&id, None, &error.with_data(own::too_long(name, size, limit)));
                }
            }
            (OversizedShape::Noise, _) => {
                if R::SIDE == Side::Agent {
                    let why = format!("a line of {size} bytes was skipped, and a line may have {limit}");
                    let id = id.filter(|id| self.incoming.key(id).is_none()).unwrap_or(Id::NULL);
                    self.refuse(&id, None, &ErrorObject::new(code::INVALID_REQUEST, why));
                }
                self.count_noise(usize::try_from(size).unwrap_or(usize::MAX).min(self.config.limits.noise_bytes / 4));
            }
            (OversizedShape::Notification | OversizedShape::Response, _) => {}
        }
    }
}

//! Cancelling a request of ours by itself: `$/cancel_request`, which the peer may ignore.

use alloc::format;

use super::{Connection, Role, recording::note};
use crate::{
    action::{CancelCause, Cancellation, Common, Outcome},
    error::{CommandError, Misuse},
    machine::{Asked, Machine, OutgoingInput, OutgoingOutput},
    outbox::Tag,
    ticket::{FrameId, RequestKey},
    timers::Cause,
    wire::{Method, Payload, write_notification},
};

impl<R: Role> Connection<R> {
    /// Asks the peer to cancel a request of ours with `$/cancel_request`, once. It stays open: the peer still owes an
    /// answer, which may be a normal result, or an error of code -32800. A request that was not handed out yet is taken
    /// back instead, and resolves as [`Outcome::Cancelled`].
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownKey`] if the key was never given. That it is resolved already is [`Cancellation::Moot`].
    pub fn cancel_request(&mut self, request: RequestKey, now: crate::Timestamp) -> Result<Cancellation, CommandError> {
        note!(self, "cancel_request", now, "request" = request);
        self.advance(now);
        self.withdraw_own(request)
    }

    pub(super) fn withdraw_own(&mut self, request: RequestKey) -> Result<Cancellation, CommandError> {
        let part = self.outgoing.iter().find(|(_, call)| call.told_as == Some(request.0));
        let request = part.map_or(request, |(id, _)| RequestKey(id));
        match self.outgoing.step(OutgoingInput::Cancel(request.0)) {
            Ok(OutgoingOutput::Asked(Asked::First | Asked::Again)) => {
                if self.outbox.withdraw(|tag| *tag == Tag::Request(request.0)) {
                    self.resolve_own(request.0, Outcome::Cancelled(CancelCause::Request));
                } else {
                    let frame = self.send_cancel_request(request.0);
                    if let Some(call) = self.outgoing.get_mut(request.0) {
                        call.cancel = Some(frame);
                    }
                    if let Some(time) = self.config.cancel_confirm {
                        self.timers.arm(Cause::CancelConfirm(request), self.now + time);
                    }
                }
                Ok(Cancellation::Requested)
            }
            Ok(OutgoingOutput::Asked(Asked::Shared)) => Ok(Cancellation::AlreadyRequested),
            Ok(_) => Ok(Cancellation::Moot),
            Err(_) => Err(Misuse::UnknownKey.into()),
        }
    }

    pub(super) fn send_cancel_request(&mut self, id: u64) -> FrameId {
        let member = format!(r#""requestId":{id}"#);
        let params = Payload::splice(member.as_bytes(), &Payload::EMPTY);
        let name = Method::CancelRequest.name();
        self.outbox.push(Tag::CancelRequest(id), |out| write_notification(out, name, params.as_ref()))
    }

    /// A `$/cancel_request` could not be delivered: it may be asked again. Whether this frame was one that still matters.
    pub(super) fn cancel_request_failed(&mut self, frame: FrameId) -> bool {
        let found = self.outgoing.iter().find(|(_, call)| call.cancel == Some(frame)).map(|(id, _)| id);
        let Some(id) = found else { return false };
        if self.uncancel(id) {
            self.cancel_unconfirmed(id);
        }
        true
    }

    /// As if this request had never been asked to be cancelled. Whether it had.
    pub(super) fn uncancel(&mut self, id: u64) -> bool {
        let Ok(OutgoingOutput::Unsent) = self.outgoing.step(OutgoingInput::CancelFailed(id)) else { return false };
        self.timers.disarm(Cause::CancelConfirm(RequestKey(id)));
        if let Some(call) = self.outgoing.get_mut(id) {
            call.cancel = None;
        }
        true
    }

    pub(super) fn cancel_unconfirmed(&mut self, id: u64) {
        let told_as = self.outgoing.get(id).and_then(|call| call.told_as).unwrap_or(id);
        self.tell(Common::CancelUnconfirmed(RequestKey(told_as)));
    }
}

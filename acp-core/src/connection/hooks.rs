//! Where the role enters: the same message means one thing to a client and another to an agent.

use bytes::BytesMut;

use super::{Connection, IncomingKey, Role, call::Call, turns::Turn};
use crate::{
    action::{Delivery, Outcome},
    error::CommandError,
    ticket::{FrameId, SessionKey, TurnKey},
    wire::{ErrorObject, Method, MethodName, Payload},
};

/// Sealed: nobody else can be a role.
pub trait Hooks: Sized + core::fmt::Debug + Eq + core::hash::Hash + Send + 'static {
    /// What only this end keeps.
    type State: Clone + core::fmt::Debug + Default + Eq + core::hash::Hash + Send;

    /// A request that may pass: admitted, in the right direction, with params that are an object.
    fn on_request(conn: &mut Connection<Self>, key: IncomingKey, method: MethodName, params: Option<Payload>)
    where
        Self: Role;

    /// Whether the peer offered this request of ours, as far as its parameters decide that.
    fn is_offered(_conn: &Connection<Self>, _method: Method, _params: Option<&Payload>) -> bool
    where
        Self: Role,
    {
        true
    }

    /// A notification of a known method in the right direction.
    fn on_notification(conn: &mut Connection<Self>, method: Method, params: Option<Payload>)
    where
        Self: Role;

    /// The peer asks to cancel a request of its own that is open here. Answers whether that was all there is to do;
    /// if not, the owner is told.
    fn on_withdrawn(conn: &mut Connection<Self>, key: IncomingKey) -> bool
    where
        Self: Role;

    /// A request of ours is resolved.
    fn on_resolved(conn: &mut Connection<Self>, id: u64, call: Call, outcome: Outcome)
    where
        Self: Role;

    /// A session of ours was opened, or failed to be: what was held for it can be told.
    fn on_opened(conn: &mut Connection<Self>, session: Option<SessionKey>)
    where
        Self: Role;

    /// The end has begun: turns and permissions are over.
    fn on_ending(conn: &mut Connection<Self>)
    where
        Self: Role;

    /// Ends a turn of the peer's in the host's place, and says how.
    fn end_for_host(conn: &mut Connection<Self>, turn: TurnKey, error: &ErrorObject) -> Delivery
    where
        Self: Role;

    /// The same for one whose prompt is answered: version 2 does that when it is inserted.
    fn end_answered(conn: &mut Connection<Self>, key: IncomingKey, error: &ErrorObject) -> Delivery
    where
        Self: Role;

    /// Something is about to be sent in a turn. Answers how many bytes of it have room in any case.
    fn on_turn_used(
        conn: &mut Connection<Self>,
        turn: TurnKey,
        write: impl FnOnce(&mut BytesMut),
    ) -> Result<usize, CommandError>
    where
        Self: Role;

    /// The user was asked something in a turn, or has answered.
    fn on_asked(conn: &mut Connection<Self>, turn: TurnKey)
    where
        Self: Role;

    /// The host had its time to end a cancelled turn.
    fn on_force_due(conn: &mut Connection<Self>, turn: TurnKey)
    where
        Self: Role;

    /// The turns of a closing session had their time.
    fn on_close_due(conn: &mut Connection<Self>, session: SessionKey)
    where
        Self: Role;

    /// The stream is gone, and with it a turn that was not over.
    fn on_turn_lost(conn: &mut Connection<Self>, turn: TurnKey, lost: Turn)
    where
        Self: Role;

    /// The time to decide a permission request has passed.
    fn on_permission_due(conn: &mut Connection<Self>, key: IncomingKey)
    where
        Self: Role;

    /// A session is about to be forgotten: what is open in it will not be settled otherwise.
    fn on_forget(conn: &mut Connection<Self>, session: SessionKey)
    where
        Self: Role;

    /// A frame could not be delivered. Answers whether it was a cancel, which may then be asked again.
    fn on_cancel_failed(conn: &mut Connection<Self>, frame: FrameId) -> bool
    where
        Self: Role;

    /// Answers what an action still owes.
    fn decline(conn: &mut Connection<Self>, action: Self::Action) -> Delivery
    where
        Self: Role;
}

//! Which child processes a session owns (an agent's MCP servers, a client's terminals), and when they have to go. How a
//! child ends is [`crate::process::Departure`]'s; this says only that its end begins.
//!
//! A session lets all its children go, at once, when its host is told that it is closed, loaded or resumed, and when it
//! is no longer known; every session does at the end of the connection. The order is the host's: what it keeps after it was
//! told of a load belongs to what is loaded.

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

use super::Desk;
use crate::{
    connection::Role,
    ticket::{ChildKey, SessionKey},
};

#[derive(Debug)]
struct Child<T> {
    session: SessionKey,
    /// Fired when it is to end. `None`: that was asked for.
    token: Option<T>,
}

#[derive(Debug)]
pub(super) struct Children<T> {
    next: u64,
    kept: BTreeMap<ChildKey, Child<T>>,
    /// Tokens that are to be fired.
    due: VecDeque<T>,
    /// How many sessions had been forgotten when that was last looked at.
    forgotten: u64,
}

impl<T> Default for Children<T> {
    fn default() -> Self {
        Self { next: 0, kept: BTreeMap::new(), due: VecDeque::new(), forgotten: 0 }
    }
}

impl<T> Children<T> {
    pub(super) fn let_go(&mut self, whose: impl Fn(ChildKey, SessionKey) -> bool) {
        for (key, child) in &mut self.kept {
            if whose(*key, child.session) {
                self.due.extend(child.token.take());
            }
        }
    }
}

impl<R: Role, A, P, T: Default> Desk<R, A, P, T> {
    /// A session owns a child from now on; `token` is what [`Desk::release`] gives when the child is to end. One of a
    /// session that is not known here, for one because it was just closed, is to end at once.
    ///
    /// # Errors
    ///
    /// The connection is over, and nobody ends it any more: the token comes back.
    pub fn keep(&mut self, session: SessionKey, token: T) -> Result<ChildKey, T> {
        if self.finished {
            return Err(token);
        }
        let key = ChildKey(self.children.next);
        self.children.next = self.children.next.wrapping_add(1);
        self.children.kept.insert(key, Child { session, token: Some(token) });
        if self.conn.session_id(session).is_none() {
            self.end_child(key);
        }
        Ok(key)
    }

    /// The token of the next child that is to end: fire it. To be asked after every input and command and every
    /// [`Desk::take`], until it answers `None`.
    #[inline]
    pub fn release(&mut self) -> Option<T> {
        if self.children.kept.is_empty() { None } else { self.next_release() }
    }

    fn next_release(&mut self) -> Option<T> {
        let forgotten = self.conn.sessions_forgotten();
        if forgotten != self.children.forgotten {
            self.children.forgotten = forgotten;
            let conn = &self.conn;
            self.children.let_go(|_, session| conn.session_id(session).is_none());
        }
        self.children.due.pop_front()
    }

    /// One child is to end, although its session goes on.
    pub fn end_child(&mut self, child: ChildKey) {
        self.children.let_go(|key, _| key == child);
    }

    /// A child has ended, asked or not.
    pub fn child_ended(&mut self, child: ChildKey) {
        self.children.kept.remove(&child);
    }

    /// Nobody ends children any more: what there still is was killed.
    pub fn forsake_children(&mut self) -> Vec<T> {
        let kept = core::mem::take(&mut self.children);
        kept.kept.into_values().filter_map(|child| child.token).chain(kept.due).collect()
    }

    /// Whether nothing that a session let go is still there. What it keeps does not count.
    #[must_use]
    pub fn is_released(&self, session: SessionKey) -> bool {
        !self.children.kept.values().any(|child| child.session == session && child.token.is_none())
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec, vec::Vec};
    use core::time::Duration;

    use crate::{
        action::AgentAction,
        config::Config,
        connection::Connection,
        desk::Desk,
        machine::shutdown::{Input, Step},
        process::{Departure, Grace},
        role::Agent,
        ticket::SessionKey,
        time::Timestamp,
        wire::{ErrorObject, Payload},
    };

    const NOW: Timestamp = Timestamp::ZERO;

    type AgentDesk = Desk<Agent, (), (), u8>;

    fn hear(desk: &mut AgentDesk, message: &str) {
        desk.read(format!("{{\"jsonrpc\":\"2.0\",{message}}}\n").as_bytes(), NOW);
        assert!(desk.sort(NOW).is_none());
    }

    fn told(desk: &mut AgentDesk) -> AgentAction {
        desk.take().0.expect("something is told")
    }

    fn ask(desk: &mut AgentDesk, id: u64, method: &str, session: &str) -> AgentAction {
        hear(
            desk,
            &format!(
                r#""id":{id},"method":"session/{method}","params":{{"sessionId":"{session}","cwd":"/","mcpServers":[]}}"#
            ),
        );
        told(desk)
    }

    fn accept(desk: &mut AgentDesk, action: AgentAction, id: &str) -> SessionKey {
        let AgentAction::SessionRequested { ticket, .. } = action else { panic!("{action:?}") };
        let result = Payload::new(&serde_json::json!({ "sessionId": id })).expect("JSON");
        desk.conn().accept_session(ticket, &result, NOW).expect("it is new").0
    }

    /// With two sessions, `a` and `b`.
    fn desk() -> (AgentDesk, SessionKey, SessionKey) {
        let mut desk = AgentDesk::new(Connection::new(Config::agent()).expect("good"));
        hear(&mut desk, r#""id":1,"method":"initialize","params":{"protocolVersion":1}"#);
        let AgentAction::Initialize { ticket, .. } = told(&mut desk) else { panic!() };
        let sessions = serde_json::json!({ "resume": {}, "close": {}, "delete": {}, "fork": {} });
        let offered =
            serde_json::json!({ "agentCapabilities": { "loadSession": true, "sessionCapabilities": sessions } });
        let offered = Payload::try_from(offered).expect("JSON");
        desk.conn().accept_initialize(ticket, &offered, NOW).expect("an object");
        let [a, b] = ["a", "b"].map(|id| {
            let asked = ask(&mut desk, 2, "new", "");
            accept(&mut desk, asked, id)
        });
        (desk, a, b)
    }

    fn released(desk: &mut AgentDesk) -> Vec<u8> {
        core::iter::from_fn(|| desk.release()).collect()
    }

    #[test]
    fn a_session_that_is_closed_loaded_or_resumed_lets_its_children_go_when_its_host_is_told() {
        for method in ["close", "load", "resume"] {
            let (mut desk, a, b) = desk();
            let first = desk.keep(a, 1).expect("it goes on");
            desk.keep(b, 2).expect("it goes on");
            let second = desk.keep(a, 3).expect("it goes on");
            assert_eq!(released(&mut desk), [] as [u8; 0]);
            let message =
                format!(r#""id":9,"method":"session/{method}","params":{{"sessionId":"a","cwd":"/","mcpServers":[]}}"#);
            hear(&mut desk, &message);
            // What the host keeps before it knows is of the old kind, and what it keeps afterwards of the new.
            let third = desk.keep(a, 4).expect("it goes on");
            assert_eq!(released(&mut desk), [] as [u8; 0], "{method}: nobody has been told");
            told(&mut desk);
            desk.keep(a, 5).expect("it goes on");
            assert_eq!(released(&mut desk), [1, 3, 4], "{method}: all at once, the other session's not");
            assert!(!desk.is_released(a) && desk.is_released(b));
            for child in [first, second, third] {
                assert!(!desk.is_released(a));
                desk.child_ended(child);
            }
            assert!(desk.is_released(a), "{method}: what it keeps now does not count");
            desk.finish(NOW);
            assert_eq!(released(&mut desk), [2, 5], "{method}: the end of the connection is the end of all");
            assert_eq!(desk.keep(a, 6), Err(6));
        }
    }

    #[test]
    fn a_fork_takes_nothing_from_its_source() {
        let (mut desk, a, _) = desk();
        desk.keep(a, 1).expect("it goes on");
        let asked = ask(&mut desk, 9, "fork", "a");
        accept(&mut desk, asked, "c");
        assert_eq!(released(&mut desk), [] as [u8; 0]);
    }

    #[test]
    fn a_session_that_is_no_longer_known_lets_its_children_go() {
        // Deleted; and loaded in vain.
        let (mut desk, a, _) = desk();
        desk.keep(a, 1).expect("it goes on");
        let asked = ask(&mut desk, 9, "delete", "a");
        assert_eq!(released(&mut desk), [] as [u8; 0], "it may be refused");
        let AgentAction::Common(crate::action::Common::Request { ticket, .. }) = asked else { panic!("{asked:?}") };
        desk.conn().respond(ticket, Ok(Payload::EMPTY), NOW).expect("it is short");
        assert_eq!(released(&mut desk), [1]);

        let asked = ask(&mut desk, 10, "load", "stored");
        let AgentAction::SessionRequested { ticket, session: Some(session), .. } = asked else { panic!("{asked:?}") };
        desk.keep(session, 2).expect("it goes on");
        assert_eq!(released(&mut desk), [] as [u8; 0]);
        desk.conn().reject_session(ticket, &ErrorObject::new(-32603, "no such thing"), NOW);
        assert_eq!(released(&mut desk), [2]);
        desk.keep(session, 3).expect("it goes on");
        assert_eq!(released(&mut desk), [3], "it came too late");
    }

    #[test]
    fn a_child_may_end_before_its_session() {
        let (mut desk, a, _) = desk();
        let child = desk.keep(a, 1).expect("it goes on");
        desk.end_child(child);
        desk.end_child(child);
        assert_eq!(released(&mut desk), [1], "it is asked once");
        assert!(!desk.is_released(a));
        desk.child_ended(child);
        assert!(desk.is_released(a));
        desk.keep(a, 2).expect("it goes on");
        assert_eq!(desk.forsake_children(), [2]);
        assert!(desk.is_released(a));
    }

    #[test]
    fn three_stubborn_children_take_the_time_of_one() {
        let (mut desk, a, _) = desk();
        let grace = Grace { stdin: Duration::from_secs(5), terminate: Duration::from_secs(5) };
        for child in 0..3 {
            desk.keep(a, child).expect("it goes on");
        }
        desk.finish(NOW);
        let mut departures = vec![Departure::new(grace); 3];
        let mut taken = vec![Vec::new(); 3];
        // As an adapter does it: whatever is released begins at once.
        for child in core::iter::from_fn(|| desk.release()) {
            let child = usize::from(child);
            departures[child].step(Input::Begin, NOW, |step| {
                taken[child].push((NOW, step));
                true
            });
        }
        while let Some(due) = departures.iter().filter_map(Departure::due).min() {
            for (departure, taken) in departures.iter_mut().zip(&mut taken).filter(|(one, _)| one.due() == Some(due)) {
                departure.step(Input::Expired, due, |step| {
                    taken.push((due, step));
                    true
                });
            }
        }
        let at = Timestamp::from_millis;
        let alone = vec![(at(0), Step::CloseStdin), (at(5_000), Step::Terminate), (at(10_000), Step::Kill)];
        assert_eq!(taken, vec![alone; 3]);
    }
}

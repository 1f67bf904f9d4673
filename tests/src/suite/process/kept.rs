//! Child processes that sessions own: when they end, that all of a session's do at once, and that none is left.
//!
//! That they end at once, and not one after the other, is seen without a clock: each goes only when it has seen that the
//! others were asked to go, too.

use core::sync::atomic::{AtomicU32, Ordering};
use std::{fs, os::unix::process::ExitStatusExt as _, path::PathBuf, process::Command};

use acp_core::{
    Agent, AgentAction, Client, ClientAction, CloseReason, Common, Config, Payload, SessionKey, SessionTicket,
    machine::shutdown::Step, process::Grace,
};
use futures_channel::oneshot;
use futures_lite::{AsyncWriteExt as _, future::or};
use rustix::process::Signal;
use serde_json::json;

use super::{LONG, SHORT, STUBBORN, line, pid, reaped, rest, sh};
use crate::suite::{
    Adapter, BoxRead, BoxWrite, Raw, Task,
    pair::{duplex, payload, place},
    soon,
};

/// An agent with one session, and a client that the test plays.
struct Owner<A: Adapter> {
    agent: A::Handle<Agent>,
    actions: A::Actions<Agent>,
    driver: Task<Option<CloseReason>>,
    /// Drops the driver.
    stop: oneshot::Sender<()>,
    client: Raw,
    session: SessionKey,
}

impl<A: Adapter> Owner<A> {
    async fn new() -> Self {
        let (near, far) = duplex(4096);
        let (agent, mut actions, driver) = A::agent(near, Config::agent());
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            if stopped.await.is_err() {
                core::future::pending::<()>().await;
            }
            None
        };
        let driver = A::spawn(or(async { Some(driver.await) }, stopped));
        let mut client = Raw::new(far);
        client.say(json!({ "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } })).await;
        let Some(AgentAction::Initialize { ticket, .. }) = A::next(&mut actions).await else { panic!() };
        let sessions = json!({ "resume": {}, "close": {} });
        let offered = json!({ "agentCapabilities": { "loadSession": true, "sessionCapabilities": sessions } });
        A::with(&agent, |conn, now| conn.accept_initialize(ticket, &payload(offered), now)).expect("an object");
        client.hear().await.expect("an answer");
        client.say(json!({ "id": 2, "method": "session/new", "params": { "cwd": "/", "mcpServers": [] } })).await;
        let Some(AgentAction::SessionRequested { ticket, .. }) = A::next(&mut actions).await else { panic!() };
        let session = accept::<A>(&agent, ticket);
        client.hear().await.expect("an answer");
        Self { agent, actions, driver, stop, client, session }
    }

    /// Keeps a child, which has said `up`.
    async fn keep(&self, command: Command, grace: Grace) -> Kept<A> {
        let (process, stdin, mut stdout) = A::start(command, grace).expect("sh starts");
        let id = A::id(&process).expect("it runs");
        assert_eq!(line::<A>(&mut stdout).await, "up");
        Kept { process: A::keep(&self.agent, self.session, process), id, stdin, stdout }
    }

    /// The client asks for this, and the host is told of it.
    async fn ask(&mut self, method: &str) -> AgentAction {
        let params = json!({ "sessionId": "s", "cwd": "/", "mcpServers": [] });
        self.client.say(json!({ "id": 3, "method": method, "params": params })).await;
        soon::<A, _>("an action", A::next(&mut self.actions)).await.expect("it is told")
    }

    /// The client is gone.
    async fn disconnect(self) -> CloseReason {
        drop(self.client);
        soon::<A, _>("the end of the driver", self.driver).await.expect("it was not dropped")
    }
}

fn accept<A: Adapter>(agent: &A::Handle<Agent>, ticket: SessionTicket) -> SessionKey {
    let result = payload(json!({ "sessionId": "s" }));
    A::with(agent, |conn, now| conn.accept_session(ticket, &result, now)).expect("it can be opened").0
}

/// A child that a session owns. Its stdin stays in the host's hands, and so open.
struct Kept<A: Adapter> {
    process: A::Kept<Agent>,
    id: u32,
    stdin: BoxWrite,
    stdout: BoxRead,
}

impl<A: Adapter> Kept<A> {
    /// How it ended: its exit code or signal, the step that it took, and the rest of what it said.
    async fn end(self) -> (Option<i32>, Option<Step>, String) {
        let (status, by) = soon::<A, _>("the end of a child", A::kept_ended(self.process)).await.expect("a status");
        assert_eq!(rustix::process::test_kill_process(pid(self.id)), Err(rustix::io::Errno::SRCH), "it is reaped");
        (status.and_then(|status| status.code().or(status.signal())), by, rest::<A>(self.stdout).await)
    }
}

/// Where children leave word for each other.
struct Meeting(PathBuf);

impl Meeting {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("acp-meeting-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let place = std::env::temp_dir().join(name);
        fs::create_dir(&place).expect("it is new");
        Self(place)
    }

    /// A child that runs `until_asked`, then leaves word and waits for the word of all three.
    fn child(&self, number: u32, until_asked: &str) -> Command {
        // Not for ever: a test that fails may leave nobody to end it.
        let wait = r#": > "$0/$1"; until [ -e "$0/0" ] && [ -e "$0/1" ] && [ -e "$0/2" ]; do
            sleep 0.01; n=$((n + 1)); [ $n -lt 9000 ] || exit 9
        done"#;
        let mut command = sh(&format!("{until_asked}; {wait}; echo all 2>&- || :"));
        command.arg(&self.0).arg(number.to_string());
        command
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Heeds the end of its stdin.
const READS: &str = "echo up; cat >/dev/null";
/// Heeds SIGTERM only.
const TERMS: &str = "trap asked=1 TERM; echo up; until [ $asked ]; do sleep 0.01; done";

#[doc(hidden)]
pub async fn all_that_a_session_owns_ends_at_once_on_close_load_resume_and_disconnect<A: Adapter>() {
    for way in ["session/close", "session/load", "session/resume", "disconnect"] {
        for (until_asked, grace, step) in
            [(READS, LONG, Step::CloseStdin), (TERMS, Grace { stdin: SHORT.stdin, ..LONG }, Step::Terminate)]
        {
            let (mut owner, meeting, mut kept) = (Owner::<A>::new().await, Meeting::new(), Vec::new());
            for number in 0..3 {
                kept.push(owner.keep(meeting.child(number, until_asked), grace).await);
            }
            let agent = owner.agent.clone();
            if way == "disconnect" {
                assert_eq!(owner.disconnect().await, CloseReason::Eof);
                // The driver was done with them before it was done itself.
                for one in &kept {
                    assert!(rustix::process::test_kill_process(pid(one.id)).is_err(), "{way}: it is left behind");
                }
            } else {
                owner.ask(way).await;
                soon::<A, _>("the release", A::released(&agent, owner.session)).await;
            }
            for one in kept {
                assert_eq!(one.end().await, (Some(0), Some(step), "all\n".into()), "{way}");
            }
        }
    }
}

#[doc(hidden)]
pub async fn a_child_that_ignores_sigterm_is_killed_with_all_it_started<A: Adapter>() {
    let mut owner = Owner::<A>::new().await;
    let kept = owner.keep(sh(STUBBORN), SHORT).await;
    let (agent, session) = (owner.agent.clone(), owner.session);
    let AgentAction::CloseSession { ticket, .. } = owner.ask("session/close").await else { panic!() };
    soon::<A, _>("the release", A::released(&agent, session)).await;
    assert!(A::with(&agent, |conn, now| conn.respond(ticket, Ok(Payload::EMPTY), now)).is_ok());
    assert_eq!(kept.end().await, (Some(Signal::KILL.as_raw()), Some(Step::Kill), String::new()));
    assert_eq!(owner.client.hear().await, Some(json!({ "id": 3, "result": {} })));
    assert_eq!(owner.disconnect().await, CloseReason::Eof);
}

#[doc(hidden)]
pub async fn what_is_kept_after_a_load_stays_until_the_end<A: Adapter>() {
    let mut owner = Owner::<A>::new().await;
    let old = owner.keep(sh(READS), LONG).await;
    let AgentAction::SessionRequested { ticket, .. } = owner.ask("session/load").await else { panic!() };
    let new = owner.keep(sh(READS), LONG).await;
    accept::<A>(&owner.agent, ticket);
    assert_eq!(old.end().await, (Some(0), Some(Step::CloseStdin), String::new()));
    soon::<A, _>("the release", A::released(&owner.agent, owner.session)).await;
    assert!(rustix::process::test_kill_process(pid(new.id)).is_ok(), "the new one runs");
    assert_eq!(owner.disconnect().await, CloseReason::Eof);
    assert_eq!(new.end().await, (Some(0), Some(Step::CloseStdin), String::new()));
}

#[doc(hidden)]
pub async fn a_child_of_a_session_may_end_before_it<A: Adapter>() {
    let owner = Owner::<A>::new().await;
    let mut by_itself = owner.keep(sh("echo up; read go; exit 3"), LONG).await;
    by_itself.stdin.write_all(b"go\n").await.expect("sh reads");
    assert_eq!(by_itself.end().await, (Some(3), None, String::new()));
    let asked = owner.keep(sh(READS), LONG).await;
    A::kept_end(&asked.process);
    assert_eq!(asked.end().await, (Some(0), Some(Step::CloseStdin), String::new()));
    assert_eq!(owner.disconnect().await, CloseReason::Eof);
}

#[doc(hidden)]
pub async fn a_child_that_comes_too_late_is_ended<A: Adapter>() {
    let mut owner = Owner::<A>::new().await;
    let AgentAction::CloseSession { ticket, .. } = owner.ask("session/close").await else { panic!() };
    assert!(A::with(&owner.agent, |conn, now| conn.respond(ticket, Ok(Payload::EMPTY), now)).is_ok());
    let late = owner.keep(sh(READS), LONG).await;
    assert_eq!(late.end().await, (Some(0), Some(Step::CloseStdin), String::new()), "the session is gone");

    let (agent, session) = (owner.agent.clone(), owner.session);
    assert_eq!(owner.disconnect().await, CloseReason::Eof);
    let (process, _stdin, mut stdout) = A::start(sh(STUBBORN), LONG).expect("sh starts");
    assert_eq!(line::<A>(&mut stdout).await, "up");
    let kept = A::keep(&agent, session, process);
    assert_eq!(rest::<A>(stdout).await, "", "nobody is left who could ask it to go");
    assert!(A::kept_ended(kept).await.is_err());
}

#[doc(hidden)]
pub async fn a_dropped_driver_kills_what_the_sessions_own<A: Adapter>() {
    let owner = Owner::<A>::new().await;
    let Kept { process, id, stdin: _stdin, stdout } = owner.keep(sh(STUBBORN), LONG).await;
    owner.stop.send(()).expect("it is driven");
    assert_eq!(owner.driver.await, None);
    assert_eq!(rest::<A>(stdout).await, "");
    assert!(A::kept_ended(process).await.is_err(), "nobody saw how it ended");
    soon::<A, _>("the release", A::released(&owner.agent, owner.session)).await;
    reaped::<A>(id).await;
}

/// An agent that opens every session, and goes when its stdin has ended: see [`Meeting::child`].
const OPENS: &str = r#"trap '' PIPE; while read -r asked; do
    id=$(printf %s "$asked" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $asked in *initialize*) is='"protocolVersion":1' ;; *) is='"sessionId":"s"' ;; esac
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{$is}}"
done"#;

#[doc(hidden)]
pub async fn an_agent_does_not_wait_for_what_the_clients_sessions_own<A: Adapter>() {
    let meeting = Meeting::new();
    let (client, mut actions, running) = A::launch(meeting.child(0, OPENS), LONG).expect("sh starts");
    let ending = A::spawn(A::run(running));
    A::initialize(&client, &Payload::EMPTY).expect("idle").await;
    let opened = A::request(&client, "session/new", place()).expect("initialized").await;
    let session = opened.session.expect("a session");
    let mut kept = Vec::new();
    for number in [1, 2] {
        let (process, stdin, mut stdout) = A::start(meeting.child(number, READS), LONG).expect("sh starts");
        assert_eq!(line::<A>(&mut stdout).await, "up");
        kept.push((A::keep(&client, session, process), stdin, stdout));
    }
    A::close(&client);
    let (reason, status, by) = ending.await.expect("a status");
    assert_eq!((reason, status.and_then(|status| status.code())), (CloseReason::Local, Some(0)));
    assert_eq!(by, Some(Step::CloseStdin), "it saw the others go");
    for (process, _stdin, stdout) in kept {
        let (status, by) = A::kept_ended(process).await.expect("a status");
        assert_eq!((status.and_then(|status| status.code()), by), (Some(0), Some(Step::CloseStdin)));
        assert_eq!(rest::<A>(stdout).await, "all\n");
    }
    while let Some(action) = A::next::<Client>(&mut actions).await {
        assert!(matches!(action, ClientAction::Common(Common::Closed(CloseReason::Local))), "{action:?}");
    }
}

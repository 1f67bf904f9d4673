//! Both ends over pipes in memory, down to one byte wide, in virtual time: nothing waits for what it need not.

use core::time::Duration;

use acp_core::{
    AgentAction, CancelKind, ClientAction, CloseReason, Common, Config, Decision, Outcome, Payload, SessionKey,
    Settlement, TurnKey, wire::StopReason,
};
use acp_tokio::{Actions, Handle, PromptTurn, Turn};
use serde_json::{Value, json};
use tokio::io::{duplex, split};

fn payload(value: Value) -> Payload {
    Payload::try_from(value).expect("a JSON value is JSON")
}

fn text(text: &str) -> Payload {
    payload(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
}

/// An agent that opens every session and hands each turn to `run`, until the connection ends.
async fn serve<F>(agent: Handle<acp_core::Agent>, mut actions: Actions<acp_core::Agent>, run: fn(Turn) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut sessions = 0;
    while let Some(action) = actions.next().await {
        match action {
            AgentAction::Initialize { ticket, .. } => {
                agent.accept_initialize(ticket, &Payload::EMPTY).expect("an object");
            }
            AgentAction::SessionRequested { ticket, .. } => {
                sessions += 1;
                let result = payload(json!({ "sessionId": format!("s{sessions}") }));
                agent.accept_session(ticket, &result).expect("a new session");
            }
            AgentAction::Prompt { ticket, .. } => drop(tokio::spawn(run(agent.turn(ticket)))),
            other => drop(agent.decline(other)),
        }
    }
}

struct Pair {
    client: Handle<acp_core::Client>,
    actions: Actions<acp_core::Client>,
    session: SessionKey,
    ends: [tokio::task::JoinHandle<CloseReason>; 2],
}

/// Both ends over a pipe of this width, initialized, with one session.
async fn pair<F>(width: usize, run: fn(Turn) -> F) -> Pair
where
    F: Future<Output = ()> + Send + 'static,
{
    let (left, right) = duplex(width);
    let (reader, writer) = split(right);
    let (agent, told, driver) = acp_tokio::agent(reader, writer, Config::agent()).expect("good");
    let agent_end = tokio::spawn(driver);
    tokio::spawn(serve(agent, told, run));
    let (reader, writer) = split(left);
    let (client, actions, driver) = acp_tokio::client(reader, writer, Config::client()).expect("good");
    let client_end = tokio::spawn(driver);
    let answer = client.initialize(&Payload::EMPTY).expect("idle").await;
    assert!(matches!(answer.outcome, Outcome::Result(_)), "{answer:?}");
    let params = payload(json!({ "cwd": "/", "mcpServers": [] }));
    let opened = client.request("session/new", Some(params), None).expect("initialized").await;
    let session = opened.session.expect("a session");
    Pair { client, actions, session, ends: [client_end, agent_end] }
}

impl Pair {
    fn prompt(&self) -> TurnKey {
        self.begin().detach()
    }

    fn begin(&self) -> PromptTurn {
        self.client.prompt(self.session, &payload(json!([{ "type": "text", "text": "go" }]))).expect("idle")
    }

    /// Takes actions up to the end of the turn: how many updates there were, and how it ended.
    async fn finish(&mut self) -> (usize, Settlement) {
        let mut updates = 0;
        loop {
            match self.actions.next().await.expect("the turn ends first") {
                ClientAction::Update { .. } => updates += 1,
                ClientAction::TurnEnded { settlement, .. } => return (updates, settlement),
                ClientAction::PermissionRequested { ticket, offer, .. } => {
                    let option = offer.options.first().expect("an option").id.clone();
                    self.client.decide(ticket, &Decision::Select(option));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    async fn close(self) {
        self.client.close();
        assert_eq!(self.client.closed().await, CloseReason::Local);
        let [client, agent] = self.ends;
        assert_eq!(client.await.expect("it did not panic"), CloseReason::Local);
        assert_eq!(agent.await.expect("it did not panic"), CloseReason::Eof);
    }
}

async fn stream(turn: Turn) {
    for _ in 0..20 {
        turn.update(&text("piece")).await.expect("it fits");
    }
    turn.stop(StopReason::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn whole_turns_pass_through_a_pipe_of_one_byte() {
    let mut pair = pair(1, stream).await;
    for _ in 0..3 {
        pair.prompt();
        assert_eq!(pair.finish().await, (20, Settlement::Ended(StopReason::EndTurn)));
    }
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_turns_pass_between_threads() {
    let mut pair = pair(64, stream).await;
    for _ in 0..50 {
        pair.prompt();
        assert_eq!(pair.finish().await, (20, Settlement::Ended(StopReason::EndTurn)));
    }
    pair.close().await;
}

/// Streams until its token fires.
async fn until_cancelled(turn: Turn) {
    let (token, more) = (turn.token().clone(), text("more"));
    loop {
        tokio::select! {
            () = token.cancelled() => break,
            updated = turn.update(&more) => drop(updated.expect("it fits")),
        }
    }
    turn.stop(StopReason::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_in_mid_stream_reaches_the_turn_and_only_that_turn() {
    let mut pair = pair(1024, until_cancelled).await;
    for _ in 0..3 {
        let turn = pair.prompt();
        assert!(matches!(pair.actions.next().await, Some(ClientAction::Update { .. })));
        pair.client.cancel_turn(turn, CancelKind::Stop).expect("a turn of ours");
        assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    }
    pair.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_fires_while_the_agents_host_takes_no_actions() {
    let (left, right) = duplex(1 << 16);
    let (reader, writer) = split(right);
    let (agent, mut told, driver) = acp_tokio::agent(reader, writer, Config::agent()).expect("good");
    tokio::spawn(driver);
    let (reader, writer) = split(left);
    let (client, _actions, driver) = acp_tokio::client(reader, writer, Config::client()).expect("good");
    tokio::spawn(driver);
    let hello = client.initialize(&Payload::EMPTY).expect("idle");
    let Some(AgentAction::Initialize { ticket, .. }) = told.next().await else { panic!() };
    agent.accept_initialize(ticket, &Payload::EMPTY).expect("an object");
    hello.await;
    let opened = client.request("session/new", Some(Payload::EMPTY), None).expect("initialized");
    let Some(AgentAction::SessionRequested { ticket, .. }) = told.next().await else { panic!() };
    agent.accept_session(ticket, &payload(json!({ "sessionId": "s" }))).expect("new");
    let session = opened.await.session.expect("a session");
    let turn = client.prompt(session, &payload(json!([]))).expect("idle").detach();
    let Some(AgentAction::Prompt { ticket, .. }) = told.next().await else { panic!() };
    let held = agent.turn(ticket);
    // From here on the host takes nothing, and 500 notifications lie before the cancel.
    for _ in 0..500 {
        client.with(|conn, now| conn.notify("_note", None, now)).expect("there is room");
    }
    client.cancel_turn(turn, CancelKind::Steer).expect("a turn of ours");
    held.token().cancelled().await;
    assert!(matches!(told.next().await, Some(AgentAction::Common(Common::Notification { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_takes_no_actions_stops_the_reading_and_a_peer_that_does_not_read_stops_the_updates() {
    let mut pair = pair(256, until_cancelled).await;
    let turn = pair.prompt();
    // In virtual time this ends when nothing can move any more.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    pair.client.cancel_turn(turn, CancelKind::Steer).expect("a turn of ours");
    let (updates, settlement) = pair.finish().await;
    assert_eq!(settlement, Settlement::Cancelled);
    let held = 64 << 10; // the agent's mark; its pieces are of some 150 bytes each
    assert!((1024..1024 + 2 * (held + (64 << 10)) / 100).contains(&updates), "{updates}");
    pair.close().await;
}

async fn drops_it(turn: Turn) {
    let _ = turn.update(&text("so long")).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_turn_is_answered() {
    let mut pair = pair(1024, drops_it).await;
    pair.prompt();
    assert_eq!(pair.finish().await, (1, Settlement::Failed));
    pair.close().await;
}

async fn asks(turn: Turn) {
    let params = json!({
        "toolCall": { "toolCallId": "t" },
        "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
    });
    let asked = turn.ask("session/request_permission", &payload(params), None).await.expect("it can be asked");
    let Outcome::Result(result) = asked.outcome else { panic!("{asked:?}") };
    turn.update(&text(result.as_str())).await.expect("it fits");
    turn.stop(StopReason::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn an_agent_awaits_a_permission_in_its_turn() {
    let mut pair = pair(1, asks).await;
    pair.prompt();
    assert_eq!(pair.finish().await, (1, Settlement::Ended(StopReason::EndTurn)));
    pair.close().await;
}

async fn hangs(turn: Turn) {
    turn.token().cancelled().await;
    turn.stop(StopReason::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_ends_the_agent_and_its_turns() {
    let pair = pair(1024, hangs).await;
    pair.prompt();
    let Pair { client, actions, ends: [client_end, agent_end], .. } = pair;
    client_end.abort();
    drop((client, actions));
    assert_eq!(agent_end.await.expect("it did not panic"), CloseReason::Eof);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_driver_resolves_what_is_awaited() {
    let (left, _right) = duplex(64);
    let (reader, writer) = split(left);
    let (client, mut actions, driver) = acp_tokio::client(reader, writer, Config::client()).expect("good");
    let hello = client.initialize(&Payload::EMPTY).expect("idle");
    let driver = tokio::spawn(driver);
    tokio::task::yield_now().await;
    driver.abort();
    assert_eq!(hello.await.outcome, Outcome::Closed);
    assert!(actions.next().await.is_none());
    client.room().await;
    assert!(client.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_awaited_resolves_after_its_updates_were_taken() {
    let mut pair = pair(1024, stream).await;
    let mut turn = pair.begin();
    let mut updates = 0;
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut turn => break ended.0,
            action = pair.actions.next() => updates += usize::from(matches!(action, Some(ClientAction::Update { .. }))),
        }
    };
    assert_eq!((updates, ended), (20, Settlement::Ended(StopReason::EndTurn)));
    pair.client.flush().await;
    assert_eq!(pair.client.with(|conn, _| conn.queued_bytes()), 0);
    pair.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_steer_cuts_the_running_turn_short_and_sends_its_line_after_it() {
    let mut pair = pair(1024, until_cancelled).await;
    pair.prompt();
    let line = payload(json!([{ "type": "text", "text": "rather this" }]));
    let second = pair.client.steer(pair.session, &line).expect("room").detach();
    assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    assert!(matches!(pair.actions.next().await, Some(ClientAction::Update { .. })));
    pair.client.cancel_turn(second, CancelKind::Stop).expect("a turn of ours");
    assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    pair.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_prompt_is_cancelled_and_a_detached_one_is_not() {
    let mut pair = pair(1024, until_cancelled).await;
    drop(pair.begin());
    assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    let turn = pair.begin().detach();
    assert!(matches!(pair.actions.next().await, Some(ClientAction::Update { .. })));
    assert!(pair.client.with(|conn, _| conn.is_live(turn)));
    // The agent is in mid-stream: whether it sees the end of its input or of its output first is a race.
    pair.client.close();
    assert_eq!(pair.client.closed().await, CloseReason::Local);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_drops_its_stream_still_answers_and_still_learns_the_end_of_a_prompt() {
    let pair = pair(1024, asks).await;
    let turn = pair.begin();
    drop(pair.actions);
    // The permission is declined: the outcome `cancelled`, with which this agent goes on.
    assert_eq!(turn.await.0, Settlement::Ended(StopReason::EndTurn));
    pair.client.close();
    assert_eq!(pair.client.closed().await, CloseReason::Local);
}

#[tokio::test(start_paused = true)]
async fn closing_is_bounded_although_the_peer_keeps_its_pipe_and_does_not_read() {
    let (left, _kept) = duplex(64);
    let (reader, writer) = split(left);
    let (client, _actions, driver) = acp_tokio::client(reader, writer, Config::client()).expect("good");
    let large = payload(json!({ "clientInfo": { "name": "x".repeat(100_000), "version": "1" } }));
    let hello = client.initialize(&large).expect("idle");
    let driver = tokio::spawn(driver);
    tokio::task::yield_now().await;
    let before = tokio::time::Instant::now();
    client.close();
    assert_eq!(driver.await.expect("it did not panic"), CloseReason::Local);
    assert_eq!(hello.await.outcome, Outcome::Closed);
    assert!(before.elapsed() <= 3 * Config::client().drain, "{:?}", before.elapsed());
}

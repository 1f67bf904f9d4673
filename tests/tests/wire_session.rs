//! A whole session over the wire: very many updates, in order, however they are cut; and values nobody has heard of, which
//! reach the host as they came.

use acp_core::{
    Client, ClientAction, Origin, Payload, TurnEnd,
    wire::{
        ContentKind, PermissionOptionKind, PlanEntryPriority, PlanEntryStatus, StopReason, ToolCallStatus, ToolKind,
        UpdateKind,
    },
};
use acp_tests::schema::may_emit;
use acp_tests::wire::{Wire, ok, raw, rpc};
use proptest::prelude::*;

fn update(update: &str) -> String {
    rpc(&format!(r#""method":"session/update","params":{{"sessionId":"s1","update":{update}}}"#))
}

fn chunk(n: usize) -> String {
    update(&format!(
        r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{n} {}"}}}}"#,
        "é".repeat(n % 50)
    ))
}

/// A client in its turn 1, whose prompt is request 3.
fn prompting() -> Wire<Client> {
    let mut client = Wire::client(|_| {});
    let session = client.key("s1");
    client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    client.quiet();
    client
}

#[test]
fn a_hundred_thousand_updates_in_one_write_arrive_complete_and_in_order() {
    const MANY: usize = 100_000;
    let mut stream: String = (0..MANY).map(chunk).collect();
    stream.push_str(&rpc(r#""id":3,"result":{"stopReason":"end_turn"}"#));
    let mut client = prompting();
    client.feed(&stream);
    assert!(!client.conn.wants_input(), "the host has something to take first");
    let session = client.key("s1");
    let turn = client.conn.running_turn(session);
    assert_eq!(turn, None, "what was handed in is processed, the end of the turn included");
    for n in 0..MANY {
        let Some(ClientAction::Update { session: Some(of), origin: Origin::Turn(turn), params }) =
            client.conn.poll_action()
        else {
            panic!("update {n}")
        };
        assert_eq!((of, turn.number()), (session, 1));
        let expected = chunk(n);
        assert!(expected.trim_end().ends_with(&format!("{params}}}")), "update {n}: {params}");
    }
    assert_eq!(client.actions(), [r#"turn 1 of s1 ended: Ended(EndTurn), result {"stopReason":"end_turn"}"#]);
    assert!(client.conn.wants_input());
    assert_eq!(client.counts(), [0; 4]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn where_a_session_is_cut_does_not_matter(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        updates in 1..300_usize,
    ) {
        let mut stream: String = (0..updates).map(chunk).collect();
        stream.push_str(&rpc(r#""id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}"#));
        stream.push_str(&rpc(r#""id":3,"result":{"stopReason":"end_turn"}"#));
        stream.push_str(&chunk(0));
        let mut whole = prompting();
        whole.feed(&stream);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        cuts.sort_unstable();
        let (mut pieces, mut actions, mut from) = (prompting(), Vec::new(), 0);
        for to in cuts.into_iter().chain([stream.len()]) {
            pieces.feed(&stream.as_bytes()[from..to]);
            actions.extend(pieces.actions());
            from = to;
        }
        prop_assert_eq!(&actions, &whole.actions());
        prop_assert_eq!(actions.len(), updates + 3);
        prop_assert_eq!(pieces.conn, whole.conn, "and so is all the rest");
    }
}

/// Known kinds, kinds from the future, and updates that are wrong in some part: all of them are the host's to judge.
const UPDATES: &[&str] = &[
    r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}"#,
    r#"{"sessionUpdate":"turn_complete","x":1}"#,
    r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":12}}"#,
    r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram","data":[1e400,"\ud800"]}}"#,
    r#"{"sessionUpdate":"tool_call","toolCallId":"t1","title":"x","kind":"teleport","status":null,"locations":[{"path":"/a"},{"path":5}],"_meta":null}"#,
    r#"{"sessionUpdate":"tool_call_update","toolCallId":"t9","status":"in_progress"}"#,
    r#"{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"evaporated"}"#,
    r#"{"sessionUpdate":"plan","entries":[{"content":"x","priority":"urgent","status":"blocked"}]}"#,
    r#"{"sessionUpdate":7}"#,
    r#"{"sessionUpdate":"plan","sessionUpdate":"plan"}"#,
    r#"{ "spaced" : [ 1 , 2 ] }"#,
    "{}",
    "null",
    "[]",
    "12345678901234567890.5",
];

#[test]
fn unknown_and_malformed_updates_reach_the_host_as_they_came_and_in_order() {
    let mut client = prompting();
    client.feed(UPDATES.iter().map(|of| update(of)).collect::<String>());
    let expected: Vec<_> =
        UPDATES.iter().map(|of| format!(r#"update s1 Turn(TurnKey(1)) {{"sessionId":"s1","update":{of}}}"#)).collect();
    assert_eq!(client.actions(), expected);
    assert_eq!(client.frames(), [""; 0]);
    assert!(client.conn.running_turn(client.key("s1")).is_some(), "the turn goes on");
}

#[test]
fn an_update_of_no_session_is_reported() {
    let mut client = prompting();
    for params in ["", r#","params":{}"#, r#","params":{"sessionId":7,"update":{}}"#, r#","params":["s1"]"#] {
        client.feed(rpc(&format!(r#""method":"session/update"{params}"#)));
        let told = client.actions();
        assert!(told.len() == 1 && told[0].starts_with("violation bad notification session/update"), "{told:?}");
    }
    client.feed(rpc(r#""method":"session/update","params":{"sessionId":"s9","update":{}}"#));
    assert_eq!(client.actions(), [r#"update - OutOfTurn {"sessionId":"s9","update":{}}"#]);
    assert_eq!(client.frames(), [""; 0]);
}

/// What a host reads out of a payload: the known values as such, and any other as the string it was.
#[test]
fn open_values_are_read_from_what_came() {
    fn read<T: for<'a> serde::Deserialize<'a>>(json: &str) -> T {
        raw(json).get().unwrap_or_else(|why| panic!("{json}: {why}"))
    }
    assert_eq!(read::<UpdateKind>(r#""plan""#), UpdateKind::Plan);
    assert_eq!(read::<UpdateKind>(r#""turn_complete""#), UpdateKind::Unknown("turn_complete".into()));
    assert_eq!(read::<StopReason>(r#""error""#), StopReason::Error);
    assert_eq!(read::<StopReason>(r#""_x/why""#), StopReason::Unknown("_x/why".into()));
    assert_eq!(read::<ToolKind>(r#""teleport""#), ToolKind::Unknown("teleport".into()));
    assert_eq!(read::<ToolCallStatus>(r#""in_progress""#), ToolCallStatus::InProgress);
    assert_eq!(read::<ToolCallStatus>(r#""evaporated""#), ToolCallStatus::Unknown("evaporated".into()));
    assert_eq!(read::<PermissionOptionKind>(r#""allow_twice""#), PermissionOptionKind::Unknown("allow_twice".into()));
    assert_eq!(read::<PlanEntryPriority>(r#""urgent""#), PlanEntryPriority::Unknown("urgent".into()));
    assert_eq!(read::<PlanEntryStatus>(r#""blocked""#), PlanEntryStatus::Unknown("blocked".into()));
    assert_eq!(read::<ContentKind>(r#""hologram""#), ContentKind::Unknown("hologram".into()));
    // Escapes do not hide a known value.
    assert_eq!(read::<StopReason>(r#""end\u005fturn""#), StopReason::EndTurn);
    // Written back as it came.
    assert_eq!(Payload::new(&read::<ToolKind>(r#""tele\u0070ort""#)).expect("a string").as_str(), r#""teleport""#);
}

#[test]
fn permission_options_of_unknown_kinds_can_be_shown_and_chosen() {
    let mut client = prompting();
    let options = r#"[{"optionId":"a","name":"Once","kind":"allow_once"},{"optionId":"b","name":"Twice","kind":"allow_twice"},{"optionId":"c"},{"name":"no id"},5]"#;
    client.feed(rpc(&format!(
        r#""id":"q","method":"session/request_permission","params":{{"sessionId":"s1","toolCall":{{"toolCallId":"t","kind":"teleport"}},"options":{options}}}"#
    )));
    assert_eq!(
        client.actions(),
        [
            r#"permission s1 turn 1: t [a=allow_once,b=allow_twice,c=] dropped ["options.2.name", "options.2.kind", "options.3", "options.4"]"#
        ]
    );
    let Some(ClientAction::PermissionRequested { ticket, .. }) = client.told.pop() else { panic!() };
    client.conn.decide(ticket, &acp_core::Decision::Select("b".into()), client.now);
    assert_eq!(client.frames(), [ok("\"q\"", r#"{"outcome":{"outcome":"selected","optionId":"b"}}"#)]);
}

/// A list with one entry that cannot be read is the host's list, the good entries included.
#[test]
fn a_result_with_a_malformed_entry_is_a_result() {
    let mut client = Wire::client(|_| {});
    client.conn.request("session/list", Some(Payload::EMPTY), None, client.now).expect("offered");
    let list = r#"{"sessions":[{"sessionId":"a","cwd":"/"},{"sessionId":7}],"nextCursor":null}"#;
    client.feed(rpc(&format!(r#""id":3,"result":{list}"#)));
    assert_eq!(client.actions(), [format!("resolved 3 - result {list}")]);
}

#[test]
fn an_agent_sends_any_stop_reason_and_any_update() {
    may_emit("its host sends what a later version may have");
    let mut agent = Wire::agent(|_| {});
    agent.feed(rpc(r#""id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}"#));
    let Some(acp_core::AgentAction::Prompt { ticket, .. }) = agent.conn.poll_action() else { panic!("a turn") };
    let objects: Vec<_> = UPDATES.iter().filter(|update| update.starts_with('{')).collect();
    for of in &objects {
        agent.conn.update(&ticket, &raw(of), agent.now).expect("an object");
    }
    assert!(agent.conn.update(&ticket, &raw("[]"), agent.now).is_err());
    agent.conn.end_turn(ticket, &TurnEnd::Stop(StopReason::from("out_of_coffee")), agent.now);
    let frames = agent.frames();
    assert_eq!(frames.last(), Some(&ok("3", r#"{"stopReason":"out_of_coffee"}"#)));
    for (frame, of) in frames.iter().zip(&objects) {
        assert_eq!(frame, update(of).trim_end());
    }
    assert_eq!(frames.len(), objects.len() + 1);
}

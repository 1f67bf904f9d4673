//! What an opening comes to when it is not simply answered: a login that is demanded, and answers that cannot be used.

use acp_core::{
    Cancellation, ClientAction, CommandError, Common, Config, Outcome, Payload, RequestKey, Resolved, SessionPlan,
    TurnKey,
};
use acp_tests::{
    bench::{agent_capabilities, payload},
    client::{ClientBench, config, text},
};
use core::time::Duration;
use serde_json::{Value, json};

fn options() -> Payload {
    payload(json!({ "cwd": "/", "mcpServers": [] }))
}

fn plan(login: &str) -> SessionPlan {
    let mut plan = SessionPlan::new(options());
    plan.login = Some(login.into());
    plan
}

/// Initialized, with two ways to log in, one of a kind that nobody here has heard of.
fn initialized() -> ClientBench {
    let mut client = ClientBench::fresh(Config::client());
    let methods =
        json!([{ "id": "key", "type": "env_var", "vars": [{ "name": "KEY" }] }, { "id": "web", "name": "Log in" }]);
    client.initialize(json!({ "agentCapabilities": agent_capabilities(), "authMethods": methods }));
    client.heard();
    client
}

fn open(client: &mut ClientBench, plan: &SessionPlan) -> RequestKey {
    let now = client.now;
    client.conn.open_session(plan, now).expect("it may be sent")
}

/// The outcomes of our requests that were told.
fn outcomes(client: &mut ClientBench) -> Vec<Resolved> {
    let resolved = |action| match action {
        ClientAction::Common(Common::Resolved(resolved)) => Some(resolved),
        _ => None,
    };
    client.actions().into_iter().filter_map(resolved).collect()
}

// ---- a demanded login ------------------------------------------------------------------------------------------

#[test]
fn a_demanded_login_surfaces_with_the_advertised_ways_and_nothing_is_tried_by_itself() {
    let mut client = initialized();
    open(&mut client, &SessionPlan::new(options()));
    open(&mut client, &SessionPlan::stored("s1", options()));
    let mut unknown = plan("browser");
    unknown.stored = Some("s2".into());
    open(&mut client, &unknown);
    client.said();
    for id in 2..5 {
        client.error(id, -32000);
    }
    let told = outcomes(&mut client);
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|resolved| resolved.outcome.is_auth_required() && resolved.session.is_none()));
    assert_eq!(client.conn.auth_methods().collect::<Vec<_>>(), ["key", "web"]);
    assert_eq!((client.said(), client.conn.sessions(), client.conn.unresolved()), (vec![], 0, 0));
}

/// "The Client MUST NOT send an `authenticate` request for a terminal method" (ACP v1, Authentication).
#[test]
fn a_login_for_a_terminal_is_never_asked_for_on_the_wire() {
    let mut client = ClientBench::fresh(Config::client());
    let methods = json!([{ "id": "tui", "name": "There", "type": "terminal" }, { "id": "web", "name": "Here" }]);
    client.initialize(json!({ "authMethods": methods }));
    client.heard();
    assert_eq!(client.conn.auth_methods().collect::<Vec<_>>(), ["web"]);
    let now = client.now;
    let params = payload(json!({ "methodId": "tui" }));
    for asked in [client.conn.log_in("tui", None, now), client.conn.request("authenticate", Some(params), None, now)] {
        assert!(matches!(asked, Err(CommandError::NotOffered(_))), "{asked:?}");
    }
    open(&mut client, &plan("tui"));
    client.said();
    client.error(2, -32000);
    assert_eq!(client.said(), [""; 0], "the demand is told, and nothing is tried");
}

#[test]
fn a_named_login_is_tried_once_and_the_session_asked_for_once_more() {
    let mut client = initialized();
    let asked = open(&mut client, &plan("web"));
    client.said();
    client.error(2, -32000);
    assert_eq!(
        client.frames(),
        [json!({ "id": 3, "method": "authenticate", "params": { "methodId": "web" } })],
        "as the caller said"
    );
    client.result(3, json!({}));
    let again = json!({ "id": 4, "method": "session/new", "params": { "cwd": "/", "mcpServers": [] } });
    assert_eq!(client.frames(), [again]);
    assert_eq!(client.heard(), [""; 0], "it is one command: one end");
    client.result(4, json!({ "sessionId": "s1" }));
    assert_eq!(client.heard(), [format!("resolved {} s1 Result", asked.number())]);
}

#[test]
fn a_login_that_is_demanded_again_ends_the_matter() {
    let mut client = initialized();
    open(&mut client, &plan("web"));
    client.error(2, -32000);
    client.result(3, json!({}));
    client.error(4, -32000);
    assert_eq!(client.heard(), ["resolved 2 - Error -32000"]);
    assert_eq!(client.said(), ["ask 2 session/new", "ask 3 authenticate", "ask 4 session/new"]);
}

#[test]
fn an_opening_that_was_to_be_cancelled_does_not_go_on_by_itself() {
    for cancelled_at in [2, 3] {
        let mut client = initialized();
        let asked = open(&mut client, &plan("web"));
        client.said();
        let mut after = vec![];
        for id in [2, 3] {
            if id == cancelled_at {
                let now = client.now;
                assert_eq!(client.conn.cancel_request(asked, now), Ok(Cancellation::Requested));
                after.push(format!("$/cancel_request {id}"));
            }
            assert_eq!(client.said(), after);
            match id {
                2 => client.error(2, -32000),
                _ if cancelled_at == 3 => client.result(3, json!({})),
                _ => {}
            }
            after = if (id, cancelled_at) == (2, 3) { vec!["ask 3 authenticate".into()] } else { vec![] };
            assert_eq!(client.said(), after);
            after.clear();
        }
        assert_eq!(client.heard(), ["resolved 2 - Error -32000"]);
        assert_eq!(client.conn.unresolved(), 0);
    }
}

#[test]
fn an_opening_whose_cancel_was_not_delivered_goes_on() {
    let mut client = initialized();
    let asked = open(&mut client, &plan("web"));
    client.said();
    let now = client.now;
    assert_eq!(client.conn.cancel_request(asked, now), Ok(Cancellation::Requested));
    let frame = client.conn.poll_transmit().expect("the cancel").id();
    client.conn.handle_transmit_failed(frame, now);
    assert_eq!(client.heard(), ["unconfirmed 2"]);
    client.error(2, -32000);
    assert_eq!(client.said(), ["ask 3 authenticate"]);
}

#[test]
fn a_login_that_fails_leaves_the_demand_as_the_outcome() {
    let mut client = initialized();
    let mut stored = plan("web");
    stored.stored = Some("s1".into());
    open(&mut client, &stored);
    client.chunk("s1", "before");
    client.error(2, -32000);
    client.error(3, -32603);
    assert_eq!(client.heard(), ["update (gone) Replay: before", "resolved 2 - Error -32000"]);
    assert_eq!((client.conn.sessions(), client.conn.unresolved()), (0, 0));
    assert_eq!(client.said(), ["ask 2 session/load", "ask 3 authenticate"]);
}

#[test]
fn the_history_of_a_session_that_needed_a_login_is_a_replay() {
    let mut client = initialized();
    let mut stored = plan("web");
    stored.stored = Some("s1".into());
    open(&mut client, &stored);
    client.error(2, -32000);
    client.result(3, json!({}));
    client.chunk("s1", "old");
    client.result(4, json!({}));
    assert_eq!(client.heard(), ["update s1 Replay: old", "resolved 2 s1 Result"]);
}

#[test]
fn an_error_of_any_other_code_is_no_demand() {
    let mut client = initialized();
    open(&mut client, &plan("web"));
    client.error(2, -32002);
    assert_eq!(
        (client.heard(), client.said()),
        (vec!["resolved 2 - Error -32002".into()], vec!["ask 2 session/new".into()])
    );
}

#[test]
fn the_end_resolves_an_opening_once_at_every_step() {
    for steps in 0..3 {
        let mut client = initialized();
        open(&mut client, &plan("web"));
        if steps > 0 {
            client.error(2, -32000);
        }
        if steps > 1 {
            client.result(3, json!({}));
        }
        client.said();
        client.eof();
        assert_eq!(client.heard(), ["resolved 2 - Closed", "closed Eof"], "after {steps} steps");
        assert_eq!(client.conn.unresolved(), 0);
    }
}

#[test]
fn cancelling_an_opening_cancels_what_it_is_at() {
    let mut client = initialized();
    let asked = open(&mut client, &plan("web"));
    client.error(2, -32000);
    client.said();
    let now = client.now;
    assert_eq!(client.conn.cancel_request(asked, now), Ok(Cancellation::Requested));
    assert_eq!(client.said(), ["$/cancel_request 3"]);
    client.error(3, -32800);
    assert_eq!(client.heard(), ["resolved 2 - Error -32000"]);
    assert_eq!(client.conn.cancel_request(asked, now), Ok(Cancellation::Moot));
}

#[test]
fn a_prompt_is_never_sent_twice_whatever_its_error() {
    let (mut client, session, _) = ClientBench::running(Config::client());
    client.chunk("s1", "some work");
    client.error(3, -32000);
    assert_eq!(client.heard(), ["update s1 turn 1: some work", "turn 1 Failed, Error -32000"]);
    assert_eq!((client.said(), client.conn.running_turn(session)), (vec![], None));
}

// ---- answers that cannot be used -------------------------------------------------------------------------------

/// An opening whose answer cannot be used resolves so, once, with no session; nothing is sent again.
fn unusable(change: fn(&mut Config), then: impl FnOnce(&mut ClientBench)) -> Outcome {
    let mut client = ClientBench::fresh(config(change));
    client.initialize(json!({}));
    client.heard();
    let mut plan = SessionPlan::new(options());
    plan.timeout = Some(Duration::from_secs(5));
    open(&mut client, &plan);
    then(&mut client);
    let mut told = outcomes(&mut client);
    assert_eq!(told.len(), 1);
    let Resolved { request, session, outcome } = told.remove(0);
    assert_eq!((request.number(), session), (2, None));
    client.result(2, json!({ "sessionId": "late" }));
    assert_eq!((client.heard(), client.conn.sessions()), (vec![], 0), "a late answer is dropped without a word");
    assert_eq!((client.said(), client.due_in()), (vec![], None));
    outcome
}

#[test]
fn a_session_whose_answer_cannot_be_used_is_uncertain_and_never_asked_for_again() {
    let none: fn(&mut Config) = |_| {};
    let invalid = unusable(none, |client| {
        client.said();
        client.message(json!({ "id": 2 }));
    });
    assert!(matches!(invalid, Outcome::Invalid { raw, .. } if raw.get::<Value>().expect("JSON")["id"] == 2));
    let nameless = unusable(none, |client| {
        client.said();
        client.result(2, json!({ "sessionId": 7 }));
    });
    assert!(matches!(nameless, Outcome::Invalid { raw, .. } if raw.as_str() == r#"{"sessionId":7}"#));
    let bad_error = unusable(none, |client| {
        client.said();
        client.message(json!({ "id": 2, "error": { "code": "E1" } }));
    });
    assert!(matches!(bad_error, Outcome::Invalid { .. }), "an unreadable error is not the agent's no: {bad_error:?}");
    let too_long = unusable(
        |config| config.limits.line = 200,
        |client| {
            client.said();
            client.result(2, json!({ "sessionId": "s".repeat(300) }));
        },
    );
    assert!(matches!(too_long, Outcome::TooLong { limit: 200, .. }));
    let timed_out = unusable(none, |client| {
        client.said();
        client.wait(Duration::from_secs(5));
    });
    assert_eq!(timed_out, Outcome::TimedOut);
    let undelivered = unusable(none, |client| {
        let frame = client.conn.poll_transmit().expect("the request").id();
        let now = client.now;
        client.conn.handle_transmit_failed(frame, now);
    });
    assert_eq!(undelivered, Outcome::Undelivered);
}

#[test]
fn keys_of_turns_that_never_were_are_told_from_those_that_are_over() {
    let (mut client, session, turn) = ClientBench::running(Config::client());
    client.stops(3, "end_turn");
    let (mut other, _, first) = ClientBench::running(Config::client());
    other.stops(3, "end_turn");
    let now = other.now;
    let (second, _) = client.prompt(session);
    let kind = acp_core::CancelKind::Steer;
    let strange: TurnKey = second;
    assert_eq!(other.conn.cancel_turn(strange, kind, now), Err(acp_core::Misuse::UnknownKey.into()));
    assert_eq!(other.conn.cancel_turn(first, kind, now), Ok(Cancellation::Moot));
    assert_eq!(client.conn.cancel_turn(turn, kind, now), Ok(Cancellation::Moot));
    assert_eq!(client.conn.edit_prompt(turn, &text("hi"), None, now), Ok(false));
}

//! The agent's deadlines in virtual time: the force floor of a cancelled turn, idleness, and how soon a cancel is known.

use core::time::Duration;

use acp_core::{Cause, Config, Delivery, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk};
use serde_json::json;

fn none() -> Vec<String> {
    Vec::new()
}

const FLOOR: Duration = Duration::from_secs(30);

#[test]
fn a_cancelled_turn_that_its_host_does_not_end_is_answered_cancelled_at_the_floor() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.cancel("s1");
    bench.prompt(4, "s1");
    bench.told();
    assert_eq!(bench.due_in(), Some(FLOOR));
    bench.wait(FLOOR - Duration::from_millis(1));
    assert_eq!((bench.wire(), bench.told()), (none(), none()));
    bench.wait(Duration::from_millis(1));
    assert_eq!(bench.wire(), ["3: cancelled"]);
    assert_eq!(bench.told(), ["TurnForced t1", "Prompt t2"], "the host knows before it begins the next");
    assert_eq!(bench.deadline(), None);

    assert_eq!(bench.update(1, chunk("late")), Ok(Delivery::TooLate));
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::TooLate, "a late end is not taken for the next turn's");
    assert_eq!(bench.wire(), none());
    bench.end(2, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["4: end_turn"]);
}

#[test]
fn the_floor_is_armed_once_from_the_first_cancel_and_repetitions_do_not_extend_it() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.cancel("s1");
    let first = bench.deadline();
    for _ in 0..5 {
        bench.wait(Duration::from_secs(5));
        bench.cancel("s1");
        bench.cancel_request(3);
        assert_eq!(bench.deadline(), first);
    }
    bench.wait(Duration::from_secs(5));
    assert_eq!(bench.wire(), ["3: cancelled"]);
}

#[test]
fn whatever_settles_the_turn_disarms_the_floor() {
    type Settle = fn(&mut AgentBench) -> Delivery;
    let ways: [Settle; 3] = [
        |bench| bench.end(1, StopReason::EndTurn),
        |bench| bench.fail(1, -32603),
        |bench| {
            let dropped = bench.held.turns.remove(&1).expect("a ticket");
            bench.conn.abandon(dropped.key(), bench.now)
        },
    ];
    for settle in ways {
        let mut bench = AgentBench::ready();
        bench.prompt(3, "s1");
        bench.cancel("s1");
        bench.told();
        settle(&mut bench);
        assert_eq!((bench.wire(), bench.deadline()), (vec!["3: cancelled".into()], None));
        bench.prompt(4, "s1");
        bench.told();
        bench.wait(FLOOR * 2);
        assert_eq!((bench.wire(), bench.told()), (none(), none()), "it does not reach the next turn");
    }
}

#[test]
fn the_floor_is_a_policy() {
    let mut config = Config::agent();
    config.force_cancelled = None;
    let mut bench = AgentBench::with_sessions(config, &["s1"]);
    bench.prompt(3, "s1");
    bench.cancel("s1");
    bench.told();
    assert_eq!(bench.deadline(), None);
    bench.wait(FLOOR * 1000);
    assert_eq!(bench.wire(), none());
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: cancelled"]);
}

#[test]
fn each_session_has_a_floor_of_its_own() {
    let mut bench = AgentBench::with_sessions(Config::agent(), &["s1", "s2"]);
    bench.prompt(3, "s1");
    bench.prompt(4, "s2");
    bench.cancel("s1");
    bench.wait(Duration::from_secs(10));
    bench.cancel("s2");
    bench.told();
    bench.wait(Duration::from_secs(20));
    assert_eq!((bench.wire(), bench.told()), (vec!["3: cancelled".into()], vec!["TurnForced t1".into()]));
    bench.wait(Duration::from_secs(10));
    assert_eq!(bench.wire(), ["4: cancelled"]);
}

#[test]
fn closing_a_session_that_is_being_cancelled_waits_as_long_as_a_close_does() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.cancel("s1");
    bench.wait(Duration::from_secs(20));
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    assert_eq!(bench.due_in(), Some(Duration::from_secs(5)));
    bench.wait(Duration::from_secs(5));
    assert_eq!(bench.told(), ["TurnForced t1", "CloseSession s1"]);
    assert_eq!(bench.deadline(), None, "both deadlines are gone");
}

#[test]
fn turns_and_decisions_have_no_time_limit() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.ask_permission(bench.turn(1)).expect("sent");
    assert_eq!(bench.deadline(), None);
    bench.wait(Duration::from_secs(31 * 60));
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire().pop(), Some("3: end_turn".into()));
}

#[test]
fn by_default_nobody_is_thrown_out_for_thinking() {
    let mut bench = AgentBench::ready();
    assert_eq!(bench.deadline(), None);
    bench.wait(Duration::from_secs(86_400));
    assert!(!bench.conn.is_closed());
}

#[test]
fn idleness_counts_only_while_nothing_is_open_in_either_direction() {
    let mut config = Config::agent();
    config.idle = Some(Duration::from_secs(60));
    let mut bench = AgentBench::with_sessions(config, &["s1"]);
    assert_eq!(bench.due_in(), Some(Duration::from_secs(60)));
    bench.wait(Duration::from_secs(59));
    bench.notify("_vendor/x", json!({}));
    assert_eq!(bench.due_in(), Some(Duration::from_secs(60)), "any line counts");
    bench.prompt(3, "s1");
    bench.told();
    assert_eq!(bench.deadline(), None, "a turn runs");
    let session = bench.session("s1");
    let asked = bench.ask_permission(session).expect("sent");
    bench.end(1, StopReason::EndTurn);
    bench.wait(Duration::from_secs(600));
    assert_eq!(bench.deadline(), None, "a person is being asked");
    bench.answer(asked, json!({ "outcome": { "outcome": "cancelled" } }));
    bench.told();
    bench.frames();
    bench.wait(Duration::from_secs(60));
    assert_eq!(bench.told(), ["Closed Idle"]);
    assert_eq!(bench.deadline(), None);
}

#[test]
fn early_and_repeated_timeouts_are_harmless_and_time_never_runs_backwards() {
    let mut bench = AgentBench::ready();
    bench.wait(Duration::from_secs(100));
    bench.prompt(3, "s1");
    bench.cancel("s1");
    let deadline = bench.deadline().expect("the floor");
    assert!(matches!(deadline.cause, Cause::ForceCancelled(_)));
    for _ in 0..3 {
        bench.conn.handle_timeout(acp_core::Timestamp::ZERO);
        bench.conn.handle_timeout(bench.now);
        assert_eq!(bench.deadline(), Some(deadline));
    }
    bench.wait(FLOOR);
    for _ in 0..3 {
        bench.conn.handle_timeout(bench.now);
    }
    assert_eq!(bench.wire(), ["3: cancelled"]);
}

#[test]
fn a_cancel_is_known_on_the_input_that_brought_it_however_much_waits_to_be_written() {
    const UPDATES: usize = 10_000;
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    let turn = bench.turn(1);
    let asked = bench.ask_permission(turn).expect("queued");
    let update = acp_tests::bench::payload(chunk("The reader is slow."));
    for _ in 0..UPDATES {
        assert_eq!(bench.conn.update(turn, &update, bench.now), Ok(Delivery::Queued));
    }
    assert!(bench.conn.queued_bytes() > UPDATES * update.len(), "nothing was written");
    assert!(bench.conn.wants_input(), "and it still reads");

    let before = bench.now;
    bench.cancel("s1");
    let resolved = format!("Resolved r{} Cancelled(Session)", asked.number());
    assert_eq!(bench.told(), ["AbortTurn t1 Session".to_owned(), resolved]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.now, before, "no time went by");

    let frames = bench.wire();
    assert_eq!(frames.len(), UPDATES + 1, "the permission was taken back");
    assert!(frames[..UPDATES].iter().all(|frame| frame == "upd s1 agent_message_chunk"));
    assert_eq!(frames[UPDATES], "3: cancelled");
    assert_eq!(bench.conn.queued_bytes(), 0);
}

//! Which version is offered, what may be answered, and when `initialize` may come again.

use acp_core::{CommandError, Misuse, Payload, wire::Gate};
use acp_tests::{
    bench::{agent_capabilities, payload},
    client::ClientBench,
    schema::may_emit,
    v2::{agent_result, client, client_config, client_params, info, initialize},
};
use serde_json::{Value, json};

fn speaking(versions: &[u16], offer: Option<u16>) -> ClientBench {
    ClientBench::fresh(client_config(|config| {
        config.versions = versions.iter().copied().collect();
        config.offer = offer;
    }))
}

/// Offers; the version that went out.
fn offers(client: &mut ClientBench) -> Value {
    let now = client.now;
    client.conn.initialize(&payload(client_params()), now).expect("it may be sent");
    client.frames()[0]["params"]["protocolVersion"].clone()
}

#[test]
fn the_newest_version_is_offered_and_any_that_is_spoken_is_gone_on_with() {
    may_emit("its host offers in the shape of version 2, whatever it asks for");
    for (spoken, offer, sent, answered, end) in [
        (&[1][..], None, 1, json!(1), Ok(1)),
        (&[1], None, 1, json!(2), Err("closed Version { theirs: 2 }")),
        (&[1, 2], None, 2, json!(1), Ok(1)),
        (&[1, 2], None, 2, json!(2), Ok(2)),
        (&[1, 2], None, 2, json!(3), Err("closed Version { theirs: 3 }")),
        (&[1, 2], None, 2, json!(0), Err("closed Version { theirs: 0 }")),
        (&[1, 2], None, 2, json!(65_535), Err("closed Version { theirs: 65535 }")),
        (&[1, 2], Some(1), 1, json!(1), Ok(1)),
        (&[1, 2], Some(3), 3, json!(2), Ok(2)),
        (&[2], None, 2, json!(2), Ok(2)),
        (&[2], None, 2, json!(1), Err("closed Version { theirs: 1 }")),
        (&[1, 2], None, 2, json!("2"), Err("closed Handshake")),
        (&[1, 2], None, 2, json!(2.0), Err("closed Handshake")),
        (&[1, 2], None, 2, json!(null), Err("closed Handshake")),
    ] {
        let mut client = speaking(spoken, offer);
        assert_eq!(offers(&mut client), sent, "{spoken:?}");
        let mut result = agent_result();
        result["protocolVersion"] = answered.clone();
        client.result(1, result);
        let heard = client.heard();
        assert_eq!(heard[0], "resolved 1 - Result");
        match end {
            Ok(version) => assert_eq!((client.conn.version(), heard.len()), (Some(version), 1), "{answered}"),
            Err(closed) => assert_eq!(heard[1], closed, "{spoken:?} {answered}"),
        }
    }
}

#[test]
fn an_agent_that_has_no_such_version_says_so_and_the_client_may_try_again() {
    let mut client = speaking(&[1, 2], None);
    offers(&mut client);
    let data = json!({ "requested": 2, "supported": [3] });
    client.message(json!({ "id": 1, "error": { "code": -32022, "message": "no", "data": data } }));
    assert_eq!(client.heard(), ["resolved 1 - Error -32022"]);
    assert_eq!(client.conn.version(), None);
    assert_eq!(offers(&mut client), 2);
}

#[test]
fn the_answer_is_read_in_the_shape_of_its_own_version() {
    let v1 =
        json!({ "protocolVersion": 1, "agentCapabilities": agent_capabilities(), "authMethods": [{ "id": "old" }] });
    let mut v2 = agent_result();
    v2["protocolVersion"] = json!(2);
    for (result, load, fork, auth, ways) in [(v1, true, true, false, "old"), (v2, true, true, true, "web")] {
        let mut client = speaking(&[1, 2], None);
        offers(&mut client);
        client.result(1, result);
        let peer = client.conn.peer_capabilities();
        assert_eq!([Gate::LoadSession, Gate::Fork, Gate::Auth].map(|gate| peer.offers(gate)), [load, fork, auth]);
        assert_eq!(client.conn.auth_methods().collect::<Vec<_>>(), [ways]);
    }
}

#[test]
fn version_2_is_offered_with_the_name_of_the_program() {
    for lacking in [json!({}), json!({ "info": { "name": "x" } }), json!({ "clientInfo": info() })] {
        let mut client = speaking(&[1, 2], None);
        let now = client.now;
        let refused = client.conn.initialize(&payload(lacking), now);
        assert!(matches!(refused, Err(CommandError::Misuse(Misuse::Payload(_)))), "{refused:?}");
        assert_eq!(client.frames(), Vec::<Value>::new());
        assert_eq!(offers(&mut client), 2, "nothing was changed by that");
    }
    let mut client = speaking(&[1], None);
    let now = client.now;
    assert!(client.conn.initialize(&Payload::EMPTY, now).is_ok(), "version 1 does not need it");
}

#[test]
fn initialize_may_be_sent_again_until_another_request_is() {
    let mut client = client(client_config(|_| ()));
    let now = client.now;
    client.conn.notify("_x/hello", None, now).expect("a notification is no request");
    client.frames();
    offers(&mut client);
    let again = client.conn.initialize(&payload(client_params()), now);
    assert_eq!(again, Err(Misuse::AlreadyInitialized.into()), "while one is open");
    let early = client.conn.request("session/list", None, None, now);
    assert_eq!(early, Err(Misuse::NotInitialized.into()));
    client.result(2, json!({ "protocolVersion": 2, "info": info() }));
    assert!(!client.conn.peer_capabilities().offers(Gate::Session), "the latest is in force");
    initialize(&mut client, agent_result());
    assert!(client.conn.peer_capabilities().offers(Gate::Session));
    client.conn.request("session/list", None, None, now).expect("it is offered");
    let late = client.conn.initialize(&payload(client_params()), now);
    assert_eq!(late, Err(Misuse::AlreadyInitialized.into()));
}

#[test]
fn an_initialize_that_fails_leaves_the_one_before_it_in_force_with_what_both_ends_offer() {
    let fail: [fn(&mut ClientBench); 2] = [
        |client| client.error(2, -32603),
        // Nobody can deliver it.
        |_| (),
    ];
    for (index, fail) in fail.into_iter().enumerate() {
        let mut client = client(client_config(|_| ()));
        let now = client.now;
        client.conn.initialize(&payload(json!({ "info": info() })), now).expect("it may be sent");
        if index == 1 {
            let frame = client.conn.poll_transmit().expect("it waits to be written");
            client.conn.handle_transmit_failed(frame.id(), now);
        }
        client.frames();
        fail(&mut client);
        assert!(client.heard()[0].starts_with("resolved 2"));
        assert_eq!(client.conn.version(), Some(2));
        assert!(client.conn.peer_capabilities().offers(Gate::Session));
        let params = json!({ "mode": "form", "message": "m", "requestId": 1 });
        client.request("e", "elicitation/create", params);
        assert_eq!(client.heard(), ["request 1 elicitation/create"], "the client offered it first");
    }
}

#[test]
fn a_version_of_which_nothing_is_known_has_no_methods_of_another() {
    let mut client = client(client_config(|_| ()));
    let now = client.now;
    let why = client.conn.request("authenticate", Some(payload(json!({ "methodId": "web" }))), None, now);
    assert!(matches!(why, Err(CommandError::Unsupported { version: 2, .. })));
}

//! A turn that relays a stream from elsewhere, as a model's answer comes, and drops it the moment it is cancelled.
//!
//! The source is a server on 127.0.0.1 that sends words for ever, in the form of server-sent events. The client cancels in
//! mid-stream; what counts is how soon the *source* sees its connection end, for until then somebody pays for tokens.

use core::{error::Error, net::SocketAddr, time::Duration};
use std::{io, time::Instant};

use acp_core::{AgentAction, ClientAction, Config, Payload, Settlement, wire::StopReason};
use acp_examples::shape::{chunk, internal, payload, text_block};
use acp_tokio::Turn;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, duplex, split},
    net::{TcpListener, TcpStream},
    time::{interval, timeout},
};

/// Words that the client hears before it cancels.
const ENOUGH: usize = 5;
/// How long the source may go on after that before this program calls itself broken.
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let source = tokio::spawn(source(listener));
    let (here, there) = duplex(64 << 10);
    tokio::spawn(agent(there, address));

    let (reader, writer) = split(here);
    let (client, mut actions, driver) = acp_tokio::client(reader, writer, Config::client())?;
    tokio::spawn(driver);
    client.initialize(&Payload::EMPTY)?.await;
    let opened = client.request("session/new", Some(payload(json!({ "cwd": "/", "mcpServers": [] }))), None)?.await;
    let session = opened.session.ok_or("no session")?;
    let turn = client.prompt(session, &payload(json!([text_block("Tell me everything.")])))?;
    let (mut heard, mut late, mut cancelled) = (0, 0, None);
    let settlement = loop {
        match actions.next().await.ok_or("the agent is gone")? {
            ClientAction::Update { .. } if cancelled.is_none() => {
                heard += 1;
                if heard == ENOUGH {
                    cancelled = Some(Instant::now());
                    turn.stop();
                }
            }
            // What was on its way when the cancel was sent.
            ClientAction::Update { .. } => late += 1,
            ClientAction::TurnEnded { settlement, .. } => break settlement,
            other => drop(client.decline(other)),
        }
    };
    let cancelled = cancelled.ok_or("the turn ended before the cancel")?;
    let answered = cancelled.elapsed();
    let dropped = timeout(PATIENCE, source).await???.saturating_duration_since(cancelled);
    println!("heard {heard} words, then cancelled; {late} more were on their way");
    println!("the source saw its connection end after {:.3} ms", dropped.as_secs_f64() * 1e3);
    println!("the turn was answered after {:.3} ms: {settlement:?}", answered.as_secs_f64() * 1e3);
    if settlement == Settlement::Cancelled { Ok(()) } else { Err("the turn was not cancelled".into()) }
}

/// Sends words to the one who connects, until the connection ends. Gives the time of that.
async fn source(listener: TcpListener) -> io::Result<Instant> {
    let (mut socket, _) = listener.accept().await?;
    let (mut reader, mut writer) = socket.split();
    writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await?;
    let (mut ticks, mut request) = (interval(Duration::from_millis(10)), [0; 1024]);
    loop {
        tokio::select! {
            read = reader.read(&mut request) => if !matches!(read, Ok(1..)) { return Ok(Instant::now()) },
            // If nobody is there any more, reading says so next.
            _ = ticks.tick() => drop(writer.write_all(b"data: word \n\n").await),
        }
    }
}

async fn agent(pipe: tokio::io::DuplexStream, address: SocketAddr) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (reader, writer) = split(pipe);
    let (agent, mut actions, driver) = acp_tokio::agent(reader, writer, Config::agent())?;
    tokio::spawn(driver);
    while let Some(action) = actions.next().await {
        match action {
            AgentAction::Initialize { ticket, .. } => drop(agent.accept_initialize(ticket, &Payload::EMPTY)?),
            AgentAction::SessionRequested { ticket, .. } => {
                let _ = agent.accept_session(ticket, &payload(json!({ "sessionId": "only" })))?;
            }
            AgentAction::Prompt { ticket, .. } => drop(tokio::spawn(answer(agent.turn(ticket), address))),
            other => drop(agent.decline(other)),
        }
    }
    Ok(())
}

/// One turn. Whatever holds a resource stands in the future that the token's arm drops: here, the TCP connection.
async fn answer(turn: Turn, address: SocketAddr) {
    let relayed = tokio::select! {
        biased;
        () = turn.token().cancelled() => Ok(()),
        relayed = relay(&turn, address) => relayed,
    };
    match relayed {
        Ok(()) => turn.stop(StopReason::EndTurn),
        Err(why) => turn.fail(internal(why)),
    };
}

async fn relay(turn: &Turn, address: SocketAddr) -> io::Result<()> {
    let mut socket = BufReader::new(TcpStream::connect(address).await?);
    socket.write_all(b"GET /answer HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    let mut lines = socket.lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(word) = line.strip_prefix("data: ") {
            turn.update(&payload(chunk("agent_message_chunk", word))).await.map_err(io::Error::other)?;
        }
    }
    Ok(())
}

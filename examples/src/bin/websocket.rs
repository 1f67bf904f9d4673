//! A transport that keeps messages apart: a server on 127.0.0.1 that is an agent to many clients at once, over
//! WebSockets, and clients that talk to it. It ends when all have their answers: `websocket [CLIENTS]`
//!
//! A message is one frame without its line break (`into_message`), and goes in as it came (`handle_message`).

use core::{error::Error, time::Duration};
use std::{env, time::Instant};

use acp_core::{Role, Timestamp};
use acp_examples::bare::{Asker, End, Host, Talker};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::sleep,
};
use tokio_tungstenite::{
    WebSocketStream, accept_async, client_async,
    tungstenite::{Message, Utf8Bytes},
};

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let count = env::args().nth(1).map_or(Ok(8), |count| count.parse())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut clients = JoinSet::new();
    for number in 1..=count {
        clients.spawn(async move {
            let tcp = TcpStream::connect(address).await?;
            let (socket, _) = client_async(format!("ws://{address}/acp"), tcp).await?;
            // Every second one has heard enough after two words.
            let client = drive(Asker::begin((number % 2 == 0).then_some(2))?, socket).await?;
            Ok::<_, Failure>(format!("client {number}: {}", client.host.story().replace('\n', "→ ")))
        });
    }
    let mut served = JoinSet::new();
    for _ in 0..count {
        let (tcp, _) = listener.accept().await?;
        served.spawn(async move {
            let socket = accept_async(tcp).await?;
            drive(Talker::begin(Duration::from_millis(20))?, socket).await.map(drop)
        });
    }
    while let Some(story) = clients.join_next().await {
        println!("{}", story??);
    }
    while let Some(ended) = served.join_next().await {
        ended??;
    }
    Ok(())
}

/// Drives one end over one socket, until both are closed.
async fn drive<R, H>(mut end: End<R, H>, socket: WebSocketStream<TcpStream>) -> Result<End<R, H>, Failure>
where
    R: Role,
    H: Host<R>,
{
    let (mut sink, mut stream) = socket.split();
    // Writing has a task of its own, which holds one frame. The others stay where they are counted; and a peer that
    // does not read keeps nobody from reading, so that two of them cannot wait for each other.
    let (frames, mut next) = mpsc::channel(1);
    let writing = tokio::spawn(async move {
        while let Some(text) = next.recv().await {
            sink.send(Message::Text(text)).await?;
        }
        sink.close().await
    });
    let started = Instant::now();
    let now = || Timestamp::from_elapsed(started.elapsed());
    loop {
        let due = end.step(now())?;
        let unsent = end.conn.queued_bytes() > 0;
        if end.conn.is_closed() && !unsent {
            break;
        }
        tokio::select! {
            message = stream.next(), if end.conn.wants_input() => match message {
                Some(Ok(Message::Text(text))) => end.conn.handle_message(&text.into(), now()),
                Some(Ok(Message::Binary(bytes))) => end.conn.handle_message(&bytes, now()),
                Some(Ok(Message::Close(_))) | None => end.conn.handle_eof(now()),
                Some(Ok(_)) => {} // pings are answered by the socket itself
                Some(Err(why)) => end.conn.handle_lost(&why.to_string(), now()),
            },
            room = frames.reserve(), if unsent => match room {
                Ok(room) => {
                    if let Some(frame) = end.conn.poll_transmit() {
                        room.send(Utf8Bytes::try_from(frame.into_message())?);
                    }
                }
                Err(_) => end.conn.handle_lost("the socket takes no more messages", now()),
            },
            () = sleep(due.map_or(Duration::MAX, |at| at.saturating_duration_since(now()))) => {}
        }
    }
    drop(frames);
    // That the peer was faster to close is no news.
    let _ = writing.await?;
    Ok(end)
}

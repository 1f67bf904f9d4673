//! `peer-connections CONTENDER COUNT`: so many connections at once, both ends in this process, each with a session. Prints
//! the heap that one of them takes while nothing happens, and the processor time of a turn on one after the other.

use std::{env, sync::Arc};

use bench_core::{AgentHooks, Client as _, ClientHooks, Contender, Io, alloc, duplex};
use rustix::time::{ClockId, clock_gettime};
use tokio::{runtime::Builder, sync::oneshot, task::LocalSet};

#[expect(dead_code, reason = "its own program is another one")]
#[path = "main.rs"]
mod ours;

struct Official;

impl Contender for Official {
    const NAME: &'static str = "official";
    type Client = peer_official::Handle;

    async fn client(
        io: Io,
        hooks: Arc<ClientHooks>,
        ready: oneshot::Sender<peer_official::Handle>,
        stop: oneshot::Receiver<()>,
    ) {
        peer_official::client_on(peer_official::streams(io), hooks, ready, stop).await;
    }

    async fn agent(io: Io, hooks: Arc<AgentHooks>) {
        peer_official::agent_on(peer_official::streams(io), hooks).await;
    }
}

/// Nanoseconds of processor time so far.
fn processor() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

async fn run<C: Contender>(count: usize) {
    alloc::enable();
    let before = alloc::snap().live;
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        let (here, there) = duplex();
        let (ready, handle) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        tokio::task::spawn_local(C::agent(there, Arc::new(AgentHooks::new())));
        tokio::task::spawn_local(C::client(here, Arc::new(ClientHooks::new(0)), ready, stopped));
        let client = handle.await.expect("a client");
        client.initialize().await;
        let session = client.new_session().await;
        open.push((client, session, stop));
    }
    let heap = (alloc::snap().live - before) / count as i64;
    alloc::disable();
    // At least so many turns, on all of them.
    let rounds = (2_000 / count).max(2);
    let mut least = i64::MAX;
    for _ in 0..rounds {
        let start = processor();
        for (client, session, _) in &open {
            client.prompt(session, "turn").await;
        }
        least = least.min((processor() - start) / count as i64);
    }
    println!("{heap} {least}");
}

fn main() {
    let mut arguments = env::args().skip(1);
    let (contender, count) = (arguments.next().unwrap_or_default(), arguments.next());
    let count = count.and_then(|count| count.parse().ok()).expect("peer-connections CONTENDER COUNT");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        match contender.as_str() {
            "ours" => run::<ours::Mine>(count).await,
            "official" => run::<Official>(count).await,
            "floor-serde" => run::<peer_floor::Floor<false>>(count).await,
            "floor-scan" => run::<peer_floor::Floor<true>>(count).await,
            other => panic!("nobody is called {other}"),
        }
    });
}

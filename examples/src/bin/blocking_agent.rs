//! An agent on plain threads, without any async: one reads, one writes, each turn has its own, and the main one acts.
//!
//! They share the connection under a mutex, and wait for each other on a condition variable. Nobody holds the lock while
//! it reads, writes or thinks. The cancellation token of a turn is a channel whose sender is dropped.

use core::{error::Error, time::Duration};
use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread,
    time::Instant,
};

use acp_core::{Agent, AgentAction, Config, Connection, Delivery, Timestamp, TurnEnd, TurnTicket, wire::StopReason};
use acp_examples::{
    bare::{WORDS, welcome},
    shape::{chunk, payload},
};

/// Bytes that may wait to be written before a turn waits with its next word.
const ENOUGH: usize = 64 << 10;

struct Shared {
    agent: Mutex<Connection<Agent>>,
    changed: Condvar,
    started: Instant,
}

impl Shared {
    /// Waits until `look` finds something. Whoever waits also serves the timers.
    fn wait<T>(&self, mut look: impl FnMut(&mut Connection<Agent>, Timestamp) -> Option<T>) -> T {
        let mut agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = Timestamp::from_elapsed(self.started.elapsed());
            agent.handle_timeout(now);
            if let Some(found) = look(&mut agent, now) {
                self.changed.notify_all();
                return found;
            }
            let due = agent.poll_timeout().map(|deadline| deadline.at.saturating_duration_since(now));
            // Whoever changes something wakes the others, so that it does not matter how long they sleep.
            let woken = self.changed.wait_timeout(agent, due.unwrap_or(Duration::from_secs(3600)));
            agent = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Does something at once.
    fn with<T>(&self, act: impl FnOnce(&mut Connection<Agent>, Timestamp) -> T) -> T {
        let mut act = Some(act);
        self.wait(|agent, now| act.take().map(|act| act(agent, now)))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let agent = Mutex::new(Connection::new(Config::agent())?);
    let shared = Arc::new(Shared { agent, changed: Condvar::new(), started: Instant::now() });
    let (reader, writer) = (Arc::clone(&shared), Arc::clone(&shared));
    thread::spawn(move || read(&reader)); // not waited for: nothing interrupts a read of stdin
    let (writing, written) = mpsc::channel::<()>();
    thread::spawn(move || write(&writer, writing));

    let mut tokens = BTreeMap::new();
    while let Some(action) = shared.wait(|agent, _| match agent.poll_action() {
        None if agent.is_closed() => Some(None),
        action => action.map(Some),
    }) {
        match shared.with(|agent, now| welcome(agent, action, now))? {
            Some(AgentAction::Prompt { ticket, .. }) => {
                shared.with(|agent, _| tokens.retain(|turn, _| agent.is_live(*turn)));
                let (token, cancelled) = mpsc::channel();
                tokens.insert(ticket.turn(), token);
                let shared = Arc::clone(&shared);
                thread::spawn(move || answer(&shared, ticket, &cancelled));
            }
            Some(AgentAction::AbortTurn { turn, .. }) => drop(tokens.remove(&turn)),
            _ => {}
        }
    }
    // A client that does not read is not waited for any longer.
    let _ = written.recv_timeout(Duration::from_secs(2));
    Ok(())
}

fn read(shared: &Shared) {
    let mut piece = [0; 8192];
    while shared.wait(|agent, _| (agent.wants_input() || agent.is_closed()).then(|| !agent.is_closed())) {
        match io::stdin().lock().read(&mut piece) {
            Ok(0) => return shared.with(Connection::handle_eof),
            Ok(n) => shared.with(|agent, now| agent.handle_input(&piece[..n], now)),
            Err(why) => return shared.with(|agent, now| agent.handle_lost(&why.to_string(), now)),
        }
    }
}

/// Drops `_writing` when all is written.
fn write(shared: &Shared, _writing: mpsc::Sender<()>) {
    while let Some(frame) = shared.wait(|agent, _| match agent.poll_transmit() {
        None if agent.is_closed() => Some(None),
        frame => frame.map(Some),
    }) {
        let mut stdout = io::stdout().lock();
        if let Err(why) = stdout.write_all(&frame.into_line()).and_then(|()| stdout.flush()) {
            shared.with(|agent, now| agent.handle_lost(&why.to_string(), now));
        }
    }
}

/// One turn: it may block as long as it likes, and asks its token whether it should go on.
fn answer(shared: &Shared, ticket: TurnTicket, cancelled: &mpsc::Receiver<()>) {
    for word in WORDS {
        let update = payload(chunk("agent_message_chunk", word));
        let room = |agent: &Connection<Agent>| agent.queued_bytes() < ENOUGH || !agent.is_live(ticket.turn());
        let sent = shared.wait(|agent, now| room(agent).then(|| agent.update(&ticket, &update, now)));
        let pause = cancelled.recv_timeout(Duration::from_millis(100));
        if pause != Err(mpsc::RecvTimeoutError::Timeout) || sent != Ok(Delivery::Queued) {
            break;
        }
    }
    // A cancelled turn is answered `cancelled`, whatever is said here.
    shared.with(|agent, now| agent.end_turn(ticket, &TurnEnd::Stop(StopReason::EndTurn), now));
}

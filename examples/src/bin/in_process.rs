//! An agent and a client in one program, without a pipe between them: what one end wants to write is handed to the other
//! as it is, so that no byte of a payload is copied on the way.
//!
//! With a number it cancels after so many words: `in_process [N]`

use core::{error::Error, time::Duration};
use std::{env, thread, time::Instant};

use acp_core::{Role, Timestamp};
use acp_examples::bare::{Asker, End, Host, Talker};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let enough = env::args().nth(1).map(|words| words.parse()).transpose()?;
    let mut client = Asker::begin(enough)?;
    let mut agent = Talker::begin(Duration::from_millis(10))?;
    let started = Instant::now();
    while !(client.conn.is_closed() && agent.conn.is_closed()) {
        let now = Timestamp::from_elapsed(started.elapsed());
        let due = [client.step(now)?, agent.step(now)?];
        if pass(&mut client, &mut agent, now) | pass(&mut agent, &mut client, now) {
            continue; // what was handed over may be answered at once
        }
        // Neither has more to say: nothing but time can make a difference.
        match due.into_iter().flatten().min() {
            Some(at) => thread::sleep(at.saturating_duration_since(now)),
            None => break,
        }
    }
    println!("{}", client.host.story());
    Ok(())
}

/// Hands over what one end wants to write, and its end with it. Returns whether there was anything.
fn pass<A: Role, B: Role>(from: &mut End<A, impl Host<A>>, to: &mut End<B, impl Host<B>>, now: Timestamp) -> bool {
    let mut any = false;
    while let Some(frame) = from.conn.poll_transmit() {
        to.conn.handle_message(&frame.into_message(), now);
        any = true;
    }
    if from.conn.is_closed() && !to.conn.is_closed() {
        to.conn.handle_eof(now);
        any = true;
    }
    any
}

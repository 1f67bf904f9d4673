//! A client on one thread, with `poll(2)` over the pipes of the agent it runs: `poll_loop AGENT [ARGS…]`
//!
//! The loop sleeps until there is something to read, room to write, or a deadline, whichever is first. It asks for room
//! only while something waits to be written, and reads only while the connection wants input.

#[cfg(not(unix))]
fn main() {
    eprintln!("poll_loop: there is no poll(2) here");
}

#[cfg(unix)]
fn main() -> Result<(), Box<dyn core::error::Error + Send + Sync>> {
    use std::{
        env,
        io::{self, ErrorKind, Read as _, Write as _},
        process::{Command, Stdio},
        time::Instant,
    };

    use acp_core::{Frame, Timestamp};
    use acp_examples::bare::Asker;
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::{Errno, ioctl_fionbio},
    };

    let program = env::args_os().nth(1).ok_or("usage: poll_loop AGENT [ARGS…]")?;
    let mut child =
        Command::new(program).args(env::args_os().skip(2)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else { return Ok(()) };
    ioctl_fionbio(&stdin, true)?;
    ioctl_fionbio(&stdout, true)?;

    let mut client = Asker::begin(None)?;
    let started = Instant::now();
    let now = || Timestamp::from_elapsed(started.elapsed());
    let mut output = bytes::Bytes::new();
    let mut piece = [0; 4096];
    loop {
        let due = client.step(now())?;
        if output.is_empty() {
            output = client.conn.poll_transmit().map(Frame::into_line).unwrap_or_default();
        }
        if output.is_empty() && client.conn.is_closed() {
            break;
        }

        let (readable, writable) = {
            // An empty set still tells of the other end hanging up, so what is not wanted is left out.
            let mut waits = Vec::with_capacity(2);
            waits.extend(client.conn.wants_input().then(|| PollFd::new(&stdout, PollFlags::IN)));
            waits.extend((!output.is_empty()).then(|| PollFd::new(&stdin, PollFlags::OUT)));
            let sleep = due.map(|at| at.saturating_duration_since(now()));
            let sleep = sleep.and_then(|sleep| Timespec::try_from(sleep).ok());
            match poll(&mut waits, sleep.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
            let ready = |wanted: PollFlags| {
                waits.iter().any(|fd| fd.revents().intersects(wanted | PollFlags::HUP | PollFlags::ERR))
            };
            (ready(PollFlags::IN), ready(PollFlags::OUT))
        };

        if readable && client.conn.wants_input() {
            match stdout.read(&mut piece) {
                Ok(0) => client.conn.handle_eof(now()),
                Ok(n) => client.conn.handle_input(&piece[..n], now()),
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(why) => client.conn.handle_lost(&why.to_string(), now()),
            }
        }
        if writable && !output.is_empty() {
            match stdin.write(&output) {
                Ok(n) => drop(output.split_to(n)),
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(why) => {
                    output.clear();
                    client.conn.handle_lost(&why.to_string(), now());
                }
            }
        }
    }
    // The agent sees its stdin end, and goes.
    drop(stdin);
    child.wait()?;
    writeln!(io::stdout(), "{}", client.host.story())?;
    Ok(())
}

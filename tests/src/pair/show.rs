//! A state in words, for who clicks through them.

use core::fmt::{self, Display};

use acp_core::Role;

use super::{Pipe, World, ends::Half};

impl Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, agent, to_client, to_agent, watch, seen, .. } = self;
        writeln!(f, "brought about:  {}", if seen.is_empty() { "nothing to name".into() } else { seen.join(", ") })?;
        writeln!(f, "nothing owed:   {}", if self.is_quiet() { "yes" } else { "no" })?;
        writeln!(f, "\nthe client:     {}", client.end)?;
        writeln!(f, "  its host has to decide permissions {:?}", client.dialogs.keys())?;
        writeln!(f, "the agent:      {}", agent.end)?;
        writeln!(f, "  its host has to end turns {:?}", agent.tickets.keys())?;
        writeln!(f, "\nto the agent:   {to_agent}")?;
        writeln!(f, "to the client:  {to_client}\n")?;
        watch.write_words(f)
    }
}

impl<R: Role> Display for Half<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.closed {
            "closed"
        } else if self.is_open() {
            "open"
        } else {
            "ending"
        };
        write!(f, "{state}, {} bytes to hand out", self.conn.queued_bytes())?;
        match self.conn.poll_timeout() {
            Some(deadline) => write!(f, ", and waits for {:?}", deadline.cause),
            None => Ok(()),
        }
    }
}

impl Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.broken {
            f.write_str("broken")?;
        }
        for flight in &self.frames {
            write!(f, "\n  {}", String::from_utf8_lossy(&flight.line).trim_end())?;
        }
        if self.broken || !self.frames.is_empty() { Ok(()) } else { f.write_str("nothing") }
    }
}

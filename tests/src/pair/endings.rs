//! How a connection comes to its end, or close to it: a host closes, a stream breaks, a deadline comes, a frame is lost.

use std::collections::VecDeque;

use acp_core::Cause;

use super::{
    Choice, Flight, Pair, Pipe, Scope, Side, World,
    watch::{hold, rule},
};
use crate::explore::Broken;

impl Pair {
    /// A frame of this end is given up by its transport.
    pub(super) fn fail(&self, world: &mut World, side: Side, place: usize) -> Result<(), Broken> {
        let pipe = if side == Side::Client { &mut world.to_agent } else { &mut world.to_client };
        let Some(Flight { sight, name: Some((frame, turn)), .. }) = pipe.frames.remove(place) else { return Ok(()) };
        world.watch.failed(sight, turn);
        let open = match side {
            Side::Client => {
                let end = &mut world.client.end;
                end.conn.handle_transmit_failed(frame, end.now);
                end.cut |= end.conn.is_closed();
                end.is_open()
            }
            Side::Agent => {
                let end = &mut world.agent.end;
                end.conn.handle_transmit_failed(frame, end.now);
                end.cut |= end.conn.is_closed();
                end.is_open()
            }
        };
        if !open {
            // What is behind it in the stream is lost with it.
            let pipe = if side == Side::Client { &mut world.to_agent } else { &mut world.to_client };
            pipe.frames.truncate(place);
            pipe.broken = true;
            world.watch.ends(side);
        }
        hold(open || !sight.is_spared(), rule::NOT_FATAL, || format!("the {side} ended, for want of {sight:?}"))
    }

    pub(super) fn endings(&self, world: &World, choices: &mut Vec<Choice>) {
        let Scope { endings, timers, .. } = self.scope;
        let mut of = |side, open, closed: bool, peer_closed: bool, deadline: Option<acp_core::Deadline>| {
            if open && endings {
                choices.push(Choice::Close(side));
            }
            // An end that is gone ends the other's stream.
            if open && (endings || peer_closed) {
                choices.push(Choice::Eof(side));
            }
            if !closed && endings {
                choices.push(Choice::Lost(side));
            }
            if deadline.is_some_and(|deadline| timers || deadline.cause == Cause::Drain) {
                choices.push(Choice::Expire(side));
            }
        };
        let (client, agent) = (&world.client.end, &world.agent.end);
        of(Side::Client, client.is_open(), client.closed, agent.closed, client.conn.poll_timeout());
        of(Side::Agent, agent.is_open(), agent.closed, client.closed, agent.conn.poll_timeout());
    }

    /// A deadline that is no end: that of a cancelled turn. Whether it was one.
    pub(super) fn expire(&self, world: &mut World) -> bool {
        let end = &mut world.agent.end;
        let deadline = end.conn.poll_timeout();
        let Some(deadline) = deadline.filter(|deadline| matches!(deadline.cause, Cause::ForceCancelled(_))) else {
            return false;
        };
        end.now = deadline.at;
        end.conn.handle_timeout(end.now);
        true
    }

    /// One of the ways to end, at this end.
    pub(super) fn end(&self, world: &mut World, choice: Choice, side: Side) {
        world.watch.ends(side);
        if matches!(choice, Choice::Eof(_) | Choice::Lost(_)) {
            let pipe = if side == Side::Client { &mut world.to_client } else { &mut world.to_agent };
            *pipe = Pipe { frames: VecDeque::new(), broken: true };
        }
        macro_rules! at {
            ($end:expr) => {
                match choice {
                    Choice::Close(_) => $end.conn.close($end.now),
                    Choice::Eof(_) => $end.conn.handle_eof($end.now),
                    Choice::Lost(_) => {
                        $end.cut = true;
                        $end.conn.handle_lost("broken pipe", $end.now);
                    }
                    _ => {
                        // A Stop that is not confirmed cuts the connection.
                        $end.cut |= $end.is_open();
                        $end.expired += 1;
                        // All is answered, and nobody reads it.
                        $end.cut |= $end.expired > 1 || ($end.conn.unanswered().next().is_none() && !$end.works());
                        $end.now = $end.conn.poll_timeout().map_or($end.now, |deadline| deadline.at);
                        $end.conn.handle_timeout($end.now);
                    }
                }
            };
        }
        match side {
            Side::Client => at!(world.client.end),
            Side::Agent => at!(world.agent.end),
        }
    }
}

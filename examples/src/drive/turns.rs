//! The prompts of a run: turns begin, report, ask, are cancelled, and end.

use acp_core::{
    CancelKind, Cancellation, ClientAction, CommandError, Common, Decision, Delivery, IncomingKey, Offer, Outcome,
    Payload, PermissionTicket, SessionKey, Settlement, TurnKey,
};
use serde_json::json;
use tokio::time::Instant;

use super::{
    args::Policy,
    events::{Answer, Event, Failure, Of, Update},
    exit,
    run::{Over, Run},
    session::{Due, Running},
};
use crate::shape::{payload, text_block};

const PROMPT: &str = "session/prompt";

/// A permission request that is kept open until it is void.
#[derive(Debug)]
pub(super) struct Held {
    request: IncomingKey,
    session: SessionKey,
    offer: Offer,
}

impl Run<'_> {
    /// Runs all prompts: one after the other in each session, in all sessions at once.
    pub(super) async fn prompts(&mut self) -> Result<(), Over> {
        PROMPT.clone_into(&mut self.place);
        for n in 0..self.sessions.len() {
            self.start(n);
        }
        loop {
            // Looked at each time round: actions that are always ready must not hold up a cancel.
            self.on_time()?;
            if self.lost {
                return self.until_closed().await;
            }
            let running = self.sessions.iter().filter_map(|session| session.running.as_ref());
            let Some(wake) = running.map(Running::wake).min() else { return Ok(()) };
            if let Some(action) = self.next(wake).await? {
                self.handle(action);
            }
        }
    }

    /// Sends a session's next prompt, or the one after it if that one cannot be sent.
    fn start(&mut self, n: usize) {
        while !self.lost {
            let Some(session) = self.sessions.get_mut(n) else { return };
            let Some(text) = self.plan.prompts.get(session.next) else { return };
            let prompt = session.next;
            session.next += 1;
            let of = Of { session_id: session.id.clone(), prompt };
            let content = payload(json!([text_block(text)]));
            match self.client.prompt(session.key, &content) {
                Ok(turn) => {
                    let now = Instant::now();
                    let plan = &self.plan.cancel;
                    let due = Due { at: plan.after.map(|after| now + after), after_updates: plan.after_updates };
                    let cancel = (n == 0 && prompt == plan.prompt).then_some(due);
                    // Its end is told like everything else, in its place.
                    let turn = turn.detach();
                    session.running = Some(Running { turn, prompt, deadline: now + self.plan.timeout, cancel });
                    return self.show(&Event::Prompted { prompt, text });
                }
                Err(why) => {
                    self.lost |= why == CommandError::Closed;
                    self.refused(PROMPT, &why, Some(of));
                }
            }
        }
    }

    /// Does what is due by now.
    fn on_time(&mut self) -> Result<(), Over> {
        let now = Instant::now();
        for n in 0..self.sessions.len() {
            let Some(session) = self.sessions.get(n) else { continue };
            let Some(running) = &session.running else { continue };
            if running.deadline <= now {
                let of = Of { session_id: session.id.clone(), prompt: running.prompt };
                return Err(self.timed_out(PROMPT, Some(of)));
            }
            let due =
                running.cancel.is_some_and(|due| due.at.is_some_and(|at| at <= now) || due.after_updates == Some(0));
            if due {
                self.cancel(running.turn);
            }
        }
        Ok(())
    }

    /// One action, whatever it is about. None of them is answered late because of another.
    pub(super) fn handle(&mut self, action: ClientAction) {
        match action {
            ClientAction::Update { session, params, .. } => self.update(session, &params),
            ClientAction::PermissionRequested { ticket, session, turn, offer, .. } => {
                self.permission(ticket, session, turn, *offer);
            }
            ClientAction::PermissionRevoked(request) => {
                // Answered `cancelled` by the core; one that was decided already is not held.
                if let Some(at) = self.held.iter().position(|held| held.request == request)
                    && let Some(held) = self.held.remove(at)
                {
                    self.show_answer(held.session, &held.offer, Answer::Cancelled);
                }
            }
            ClientAction::TurnEnded { turn, settlement, outcome, .. } => self.ended(turn, settlement, &outcome),
            ClientAction::Common(Common::Request { ticket, method, params, .. }) => {
                self.services.serve(ticket, &method, params.unwrap_or(Payload::EMPTY));
            }
            ClientAction::Common(Common::CancelRequested(request)) => self.services.cancel(request),
            ClientAction::Common(Common::Violation(what)) => eprintln!("drive: against the protocol: {what:?}"),
            ClientAction::Common(Common::Closed(reason)) => self.closed(&reason),
            other => {
                self.client.decline(other);
            }
        }
    }

    fn update(&mut self, session: Option<SessionKey>, params: &Payload) {
        self.show(&Event::Update(Update::read(params)));
        let running = self.sessions.iter_mut().find(|known| Some(known.key) == session);
        let due = running.and_then(|session| session.running.as_mut()?.cancel.as_mut());
        if let Some(Due { after_updates: Some(left), .. }) = due {
            *left = left.saturating_sub(1);
        }
    }

    fn permission(&mut self, ticket: PermissionTicket, session: SessionKey, turn: Option<TurnKey>, offer: Offer) {
        let options = ids(&offer);
        self.show(&Event::Asked { tool_call_id: offer.tool_call.as_deref().unwrap_or_default(), options: &options });
        if let Some(turn) = turn.filter(|_| self.plan.cancel_on_permission) {
            // The core answers the request, right behind the cancel. Deciding as well is too late, and harmless.
            self.cancel(turn);
            self.client.decide(ticket, &Decision::Cancelled);
            return self.show_answer(session, &offer, Answer::Cancelled);
        }
        if self.plan.permission == Policy::Never {
            return self.held.push_back(Held { request: ticket.key(), session, offer });
        }
        let chosen = self.plan.permission.kinds().iter().find_map(|kind| offer.first(core::slice::from_ref(kind)));
        let decision = chosen.map_or(Decision::Cancelled, |option| Decision::Select(option.id.clone()));
        let answer = match (self.client.decide(ticket, &decision), &decision) {
            (Delivery::Queued, Decision::Select(option_id)) => Answer::Selected { option_id },
            // A cancel came in between.
            _ => Answer::Cancelled,
        };
        self.show_answer(session, &offer, answer);
    }

    fn show_answer(&mut self, session: SessionKey, offer: &Offer, answer: Answer<'_>) {
        let session_id = self.client.session_id(session).unwrap_or_default();
        let (tool_call_id, options) = (offer.tool_call.as_deref().unwrap_or_default(), &ids(offer));
        self.show(&Event::Permission { session_id: &session_id, tool_call_id, options, answer });
    }

    fn cancel(&mut self, turn: TurnKey) {
        let now = Instant::now();
        let asked = self.client.cancel_turn(turn, CancelKind::Stop);
        let cancelled = |running: &&mut Running| running.turn == turn;
        for session in &mut self.sessions {
            if let Some(running) = session.running.as_mut().filter(cancelled) {
                running.cancel = None;
                if matches!(asked, Ok(Cancellation::Requested)) {
                    let session_id = session.id.clone();
                    self.out.watch_cancel(now.into_std(), self.client.clone());
                    return self.show(&Event::CancelSent { session_id: &session_id });
                }
            }
        }
    }

    fn ended(&mut self, turn: TurnKey, settlement: Settlement, outcome: &Outcome) {
        let is_it = |running: &mut Running| running.turn == turn;
        let found = self.sessions.iter_mut().enumerate().find_map(|(n, session)| {
            let running = session.running.take_if(is_it)?;
            Some((n, Of { session_id: session.id.clone(), prompt: running.prompt }))
        });
        let Some((n, of)) = found else { return };
        let reason = match settlement {
            Settlement::Ended(reason) | Settlement::EndedAlthoughCancelled(reason) => Some(reason.as_str().to_owned()),
            Settlement::Cancelled | Settlement::CancelledUnasked => Some("cancelled".to_owned()),
            _ => None,
        };
        match (reason, Failure::of(outcome)) {
            (Some(stop_reason), _) => {
                let Of { session_id, prompt } = &of;
                self.show(&Event::Stop { session_id, prompt: *prompt, stop_reason: &stop_reason });
            }
            (None, Some(failure)) => self.fail(exit::REFUSED, PROMPT, failure, Some(of)),
            (None, None) => self.lost = true,
        }
        self.start(n);
    }
}

fn ids(offer: &Offer) -> Vec<String> {
    offer.options.iter().map(|option| option.id.to_string()).collect()
}

//! What the hosts do, on the connections that ship.

use acp_core::{CommandError, Decision, Delivery, ErrorObject, Misuse, Scope, Timestamp, TurnEnd, wire::StopReason};
use serde_json::json;

use super::{Twin, reading};
use crate::{
    bench::payload,
    model::{
        Model,
        words::{Choice, Ending, Kind, Report, Step},
    },
};

impl Twin {
    /// Carries a command out: what it answers.
    pub(super) fn command(&mut self, step: Step, model: &Model, now: Timestamp) -> Option<&'static str> {
        let number = model.number(step);
        let (client, agent) = (&mut self.client, &mut self.agent);
        Some(match step {
            Step::Prompt(session) | Step::Steer(session) => {
                let next = self.turns.len() + 1;
                let content = payload(json!([{ "type": "text", "text": next.to_string() }]));
                let session = client.sessions[session - 1];
                let turn = match step {
                    Step::Prompt(_) => client.conn.prompt(session, &content, None, now),
                    _ => client.conn.steer(session, &content, None, now),
                };
                match turn {
                    Ok(turn) => {
                        self.turns.insert(next, turn);
                        "Done"
                    }
                    Err(why) => refused(&why),
                }
            }
            Step::Cancel(prompt, kind) => match client.conn.cancel_turn(*self.turns.get(&prompt)?, kind, now) {
                Ok(cancellation) => reading::word(&cancellation),
                Err(why) => refused(&why),
            },
            Step::Decide(ask, choice) => {
                let decision = match choice {
                    Choice::Allow => Decision::Select("yes".into()),
                    Choice::Dismiss => Decision::Cancelled,
                    Choice::Foreign => Decision::Select("no".into()),
                };
                reading::word(&client.conn.decide(self.dialogs.remove(&ask)?, &decision, now))
            }
            Step::Commit(ask) => {
                if client.conn.commit(self.dialogs.get(&ask)?, now) {
                    "Yes"
                } else {
                    "No"
                }
            }
            Step::Serve(ask, well) => {
                let file = || payload(json!({ "content": "text" }));
                let answer = if well { Ok(file()) } else { Err(ErrorObject::new(-32000, "no such file")) };
                reading::word(&client.conn.respond(self.requests.remove(&ask)?, answer, now).ok()?)
            }
            Step::Report(prompt, report) => {
                let update = match report {
                    Report::Text => json!({
                        "sessionUpdate": "agent_message_chunk",
                        "content": { "type": "text", "text": number.to_string() },
                    }),
                    Report::Open => {
                        json!({ "sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": "Run" })
                    }
                    Report::Finish => json!({
                        "sessionUpdate": "tool_call_update",
                        "toolCallId": number.to_string(),
                        "status": "completed",
                    }),
                };
                match agent.conn.update(Scope::Turn(*self.agent_turns.get(&prompt)?), &payload(update), now) {
                    Ok(delivery) => {
                        if delivery == Delivery::Queued {
                            self.laws.updates.insert(number, prompt);
                        }
                        reading::word(&delivery)
                    }
                    Err(why) => refused(&why),
                }
            }
            Step::Ask(prompt, kind) => {
                let next = self.asks.len() + 1;
                let (method, params) = match kind {
                    Kind::Permission => (
                        "session/request_permission",
                        json!({
                            "toolCall": { "toolCallId": next.to_string() },
                            "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
                        }),
                    ),
                    Kind::Read => ("fs/read_text_file", json!({ "path": next.to_string() })),
                };
                let turn = Scope::Turn(*self.agent_turns.get(&prompt)?);
                match agent.conn.request_in(turn, method, &payload(params), None, now) {
                    Ok(request) => {
                        self.asks.insert(next, request);
                        "Done"
                    }
                    Err(why) => refused(&why),
                }
            }
            Step::Withdraw(ask) => match agent.conn.cancel_request(*self.asks.get(&ask)?, now) {
                Ok(cancellation) => reading::word(&cancellation),
                Err(why) => refused(&why),
            },
            Step::End(prompt, ending) => {
                let end = match ending {
                    Ending::Ended => TurnEnd::Stop(StopReason::EndTurn),
                    Ending::Cancelled => TurnEnd::Stop(StopReason::Cancelled),
                    Ending::Failed => TurnEnd::Error(ErrorObject::new(-32000, "the model is gone")),
                };
                reading::word(&agent.conn.end_turn(self.tickets.remove(&prompt)?, &end, now))
            }
            _ => return None,
        })
    }
}

/// The refusals that the model knows.
fn refused(why: &CommandError) -> &'static str {
    match why {
        CommandError::Closed => "Closed",
        CommandError::Full { .. } => "Full",
        CommandError::TurnOver => "TurnOver",
        CommandError::Misuse(Misuse::TurnInProgress) => "TurnInProgress",
        _ => "another refusal",
    }
}

//! What the hosts do, on the connections that ship.

use core::time::Duration;

use acp_core::{CommandError, Decision, Delivery, ErrorObject, Misuse, Scope, Timestamp, TurnEnd, wire::StopReason};
use serde_json::{Value, json};

use super::{Twin, names, reading, strange};
use crate::{
    bench::payload,
    model::{
        Model,
        words::{Choice, Ending, Kind, Report, Step},
    },
    v2,
};

impl Twin {
    /// Carries a command out: what it answers.
    pub(super) fn command(&mut self, step: Step, model: &Model, now: Timestamp) -> Option<&'static str> {
        let number = model.number(step);
        match step {
            Step::Errand(want, plan) => {
                let next = self.errands.len() + 1;
                return Some(match self.send(next, want, plan, now) {
                    Ok(request) => {
                        self.errands.insert(next, request);
                        self.names.errand(request, want);
                        "Done"
                    }
                    Err(why) => refused(&why),
                });
            }
            Step::Settle(errand, leg, well) => {
                return self.settle((errand, leg), model.want(errand), model.sessions(), well, now);
            }
            _ => {}
        }
        let two = self.two;
        let (client, agent) = (&mut self.client, &mut self.agent);
        Some(match step {
            Step::Prompt(session) | Step::Steer(session) => {
                let next = self.turns.len() + 1;
                let content = payload(json!([{ "type": "text", "text": next.to_string() }]));
                let Some(session) = client.sessions.get(&session).copied() else { return Some("UnknownSession") };
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
            Step::Cancel(prompt, kind) => {
                let turn = self.turns.get(&prompt).copied().unwrap_or_else(strange::turn);
                match client.conn.cancel_turn(turn, kind, now) {
                    Ok(cancellation) => reading::word(&cancellation),
                    Err(why) => refused(&why),
                }
            }
            Step::Retract(errand) => match client.conn.cancel_request(*self.errands.get(&errand)?, now) {
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
                let answer = if well { Ok(file()) } else { Err(ErrorObject::new(-32603, "no such file")) };
                reading::word(&client.conn.respond(self.requests.remove(&ask)?, answer, now).ok()?)
            }
            Step::Report(prompt, report) => {
                let update = match report {
                    Report::Text => said(number, two),
                    Report::Open if two => v2::tool(&number.to_string(), "in_progress"),
                    Report::Open => {
                        json!({ "sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": "Run" })
                    }
                    Report::Finish => json!({
                        "sessionUpdate": "tool_call_update",
                        "toolCallId": number.to_string(),
                        "status": "completed",
                    }),
                };
                let turn = self.agent_turns.get(&prompt).copied().unwrap_or_else(strange::turn);
                match agent.conn.update(Scope::Turn(turn), &payload(update), now) {
                    Ok(delivery) => {
                        if delivery == Delivery::Queued {
                            self.laws.updates.insert(number, prompt);
                        }
                        reading::word(&delivery)
                    }
                    Err(why) => refused(&why),
                }
            }
            Step::Tell(session) => {
                let Some(session) = agent.sessions.get(&session).copied() else { return Some("UnknownSession") };
                let update = payload(said(number, two));
                match agent.conn.update(Scope::Session(session), &update, now) {
                    Ok(delivery) => reading::word(&delivery),
                    Err(why) => refused(&why),
                }
            }
            Step::Ask(prompt, kind) => {
                let next = self.asks.len() + 1;
                let (method, params) = match kind {
                    Kind::Permission if two => {
                        let mut permission = v2::permission();
                        permission["subject"]["toolCall"]["toolCallId"] = json!(next.to_string());
                        ("session/request_permission", permission)
                    }
                    Kind::Read if two => ("_read", json!({ "path": next.to_string() })),
                    Kind::Permission => (
                        "session/request_permission",
                        json!({
                            "toolCall": { "toolCallId": next.to_string() },
                            "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
                        }),
                    ),
                    Kind::Read => ("fs/read_text_file", json!({ "path": next.to_string() })),
                };
                let turn = Scope::Turn(self.agent_turns.get(&prompt).copied().unwrap_or_else(strange::turn));
                // Version 2 has no files, so that the time for a method of our own is ours to say.
                let time = (two && kind == Kind::Read).then_some(Duration::from_secs(30));
                match agent.conn.request_in(turn, method, &payload(params), time, now) {
                    Ok(request) => {
                        self.asks.insert(next, request);
                        "Done"
                    }
                    Err(why) => refused(&why),
                }
            }
            Step::Insert(prompt) => {
                let turn = *self.agent_turns.get(&prompt)?;
                reading::word(&agent.conn.insert_prompt(turn, &names::message(prompt), now).ok()?)
            }
            Step::Withdraw(ask) => {
                let request = self.asks.get(&ask).copied().unwrap_or_else(strange::request);
                match agent.conn.cancel_request(request, now) {
                    Ok(cancellation) => reading::word(&cancellation),
                    Err(why) => refused(&why),
                }
            }
            Step::Lock(locked) => {
                agent.conn.set_auth_required(locked);
                "Done"
            }
            Step::End(prompt, ending) => {
                let end = match ending {
                    Ending::Ended => TurnEnd::Stop(StopReason::EndTurn),
                    Ending::Cancelled => TurnEnd::Stop(StopReason::Cancelled),
                    Ending::Failed => TurnEnd::Error(ErrorObject::new(-32603, "the model is gone")),
                };
                reading::word(&agent.conn.end_turn(self.tickets.remove(&prompt)?, &end, now))
            }
            _ => return None,
        })
    }
}

/// A piece of the agent's text.
fn said(number: usize, two: bool) -> Value {
    let content = json!({ "type": "text", "text": number.to_string() });
    match two {
        true => json!({ "sessionUpdate": "agent_message_chunk", "messageId": "a1", "content": content }),
        false => json!({ "sessionUpdate": "agent_message_chunk", "content": content }),
    }
}

/// The refusals that the model knows.
fn refused(why: &CommandError) -> &'static str {
    match why {
        CommandError::Closed => "Closed",
        CommandError::Full { .. } => "Full",
        CommandError::TurnOver => "TurnOver",
        CommandError::Misuse(Misuse::TurnInProgress) => "TurnInProgress",
        CommandError::Misuse(Misuse::SessionNotOpen) => "SessionNotOpen",
        CommandError::Misuse(Misuse::UnknownSession) => "UnknownSession",
        CommandError::Misuse(Misuse::UnknownKey) => "UnknownKey",
        CommandError::Misuse(Misuse::Payload(_)) => "Payload",
        CommandError::Misuse(Misuse::NotInitialized) => "NotInitialized",
        CommandError::Misuse(Misuse::AlreadyInitialized) => "AlreadyInitialized",
        _ => "another refusal",
    }
}

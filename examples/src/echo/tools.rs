//! Tool calls, with and without permission. Whatever happens to the turn, an announced call gets its final status.

use core::{
    cmp::Ordering,
    future::Future,
    sync::atomic::{self, AtomicU64},
};

use acp_core::wire::{PermissionOutcome, PlanEntryStatus, ToolCallStatus, permission_outcome};
use serde_json::json;

use super::talk::{Halt, Talk};
use crate::shape::{text_block, tool_status};

const TITLE: &str = "Edit a file";
const PATH: &str = "/tmp/echo.txt";
const STEPS: [&str; 3] = ["read", "write", "test"];

/// Runs a tool call from `pending` to `completed`.
pub(super) async fn tool(talk: &Talk) -> Result<(), Halt> {
    let id = announce(talk).await?;
    finished(talk, &id, work(talk, &id)).await
}

/// The same, if the client permits it.
pub(super) async fn permission(talk: &Talk) -> Result<(), Halt> {
    let id = announce(talk).await?;
    let permitted = async {
        match ask(talk, &id).await? {
            true => work(talk, &id).await,
            false => talk.report(tool_status(&id, &ToolCallStatus::Failed)).await,
        }
    };
    finished(talk, &id, permitted).await
}

/// A tool call of its own id, announced as pending.
async fn announce(talk: &Talk) -> Result<String, Halt> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let id = format!("call-{}", LAST.fetch_add(1, atomic::Ordering::Relaxed) + 1);
    talk.report(talk.dialect.tool_call(&id, TITLE)).await?;
    Ok(id)
}

/// Sees to the end of a tool call: one that is cut short is reported as failed, before its turn is answered.
async fn finished(talk: &Talk, id: &str, call: impl Future<Output = Result<(), Halt>>) -> Result<(), Halt> {
    let how = call.await;
    if how.is_err() {
        talk.report_now(tool_status(id, &talk.dialect.cut_short()));
    }
    how
}

/// Whether the client permits it. Nothing fails open: an option that was not offered, an error and an answer that cannot
/// be read all mean no.
async fn ask(talk: &Talk, id: &str) -> Result<bool, Halt> {
    let options = json!([
        { "optionId": "allow", "name": "Allow", "kind": "allow_once" },
        { "optionId": "allow-always", "name": "Always allow", "kind": "allow_always" },
        { "optionId": "reject", "name": "Reject", "kind": "reject_once" },
    ]);
    let request = talk.dialect.permission(id, TITLE, options);
    let outcome = match talk.ask("session/request_permission", request, None).await {
        Ok(answer) => permission_outcome(&answer),
        Err(Halt::Failed(_)) => None,
        Err(halt) => return Err(halt),
    };
    let said = match &outcome {
        Some(PermissionOutcome::Selected(option)) => format!("permission: selected {option}"),
        Some(PermissionOutcome::Cancelled) => "permission: cancelled cancelled".to_owned(),
        Some(PermissionOutcome::Unknown(_)) | None => "permission: no usable answer".to_owned(),
    };
    talk.say(&said).await?;
    Ok(matches!(outcome, Some(PermissionOutcome::Selected(option)) if matches!(&*option, "allow" | "allow-always")))
}

/// What the tool does, which is nothing: it only says that it did.
async fn work(talk: &Talk, id: &str) -> Result<(), Halt> {
    talk.report(tool_status(id, &ToolCallStatus::InProgress)).await?;
    let mut done = tool_status(id, &ToolCallStatus::Completed);
    done["content"] = json!([
        { "type": "content", "content": text_block("Wrote one line.") },
        talk.dialect.diff(PATH),
    ]);
    talk.report(done).await
}

/// Thinks, makes a plan, follows it, and says what it has used.
pub(super) async fn plan(talk: &Talk) -> Result<(), Halt> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let id = format!("plan-{}", LAST.fetch_add(1, atomic::Ordering::Relaxed) + 1);
    talk.report(talk.dialect.chunk("agent_thought_chunk", &id, "First a plan, then the rest.")).await?;
    for done in 0..=STEPS.len() {
        let entries = STEPS.iter().enumerate().map(|(n, step)| {
            let status = match n.cmp(&done) {
                Ordering::Less => PlanEntryStatus::Completed,
                Ordering::Equal => PlanEntryStatus::InProgress,
                Ordering::Greater => PlanEntryStatus::Pending,
            };
            json!({ "content": step, "priority": "medium", "status": status.as_str() })
        });
        let entries = entries.collect();
        talk.report(talk.dialect.plan(&id, entries)).await?;
    }
    talk.report(json!({ "sessionUpdate": "usage_update", "used": 1200, "size": 200_000 })).await?;
    talk.say("All of it is done.").await
}

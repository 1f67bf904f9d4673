//! What the agent may ask of this client: files and terminals. Each request is served by a task of its own, so that none
//! waits for another, and can be cancelled. Requests that were not advertised never get here: the core refuses them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use acp_core::{
    Client, ErrorObject, IncomingKey, Payload, Ticket,
    wire::{Method, MethodName, code},
};
use acp_tokio::Handle;
use serde::Deserialize;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{files, terminals::Terminals};
use crate::shape::invalid_params;

/// The services of one connection.
#[derive(Debug)]
pub(super) struct Services {
    client: Handle<Client>,
    /// Files are served in here only.
    root: Arc<PathBuf>,
    terminals: Terminals,
    /// Requests under way.
    open: BTreeMap<IncomingKey, (JoinHandle<()>, CancellationToken)>,
}

impl Services {
    pub(super) fn new(client: Handle<Client>, root: PathBuf) -> Self {
        Self { client, root: Arc::new(root), terminals: Terminals::default(), open: BTreeMap::new() }
    }

    /// Serves one request, and answers it.
    pub(super) fn serve(&mut self, ticket: Ticket, method: &MethodName, params: Payload) {
        let key = ticket.key();
        let Some(method) = method.known() else {
            self.client.respond(ticket, Err(not_served(method.as_str())));
            return;
        };
        let (client, root, terminals) = (self.client.clone(), Arc::clone(&self.root), self.terminals.clone());
        let cancel = CancellationToken::new();
        let cancelled = cancel.clone();
        let task = tokio::spawn(async move {
            let answer = tokio::select! {
                answer = serve(method, &params, &root, &terminals) => answer,
                () = cancelled.cancelled() => {
                    Err(ErrorObject::new(code::REQUEST_CANCELLED, "the request was cancelled"))
                }
            };
            client.respond(ticket, answer);
        });
        self.open.retain(|_, (task, _)| !task.is_finished());
        self.open.insert(key, (task, cancel));
    }

    /// Stops waiting for what was asked. What it had begun is not undone.
    pub(super) fn cancel(&mut self, request: IncomingKey) {
        if let Some((_, cancel)) = self.open.get(&request) {
            cancel.cancel();
        }
    }
}

async fn serve(method: Method, params: &Payload, root: &Path, terminals: &Terminals) -> Result<Payload, ErrorObject> {
    match method {
        Method::FsReadTextFile => files::read(root, read(params)?).await,
        Method::FsWriteTextFile => files::write(root, read(params)?).await,
        Method::TerminalCreate => terminals.create(root, read(params)?),
        Method::TerminalOutput => terminals.output(&read(params)?),
        Method::TerminalWaitForExit => terminals.wait(&read(params)?).await,
        Method::TerminalKill => terminals.kill(&read(params)?),
        Method::TerminalRelease => terminals.release(&read(params)?),
        other => Err(not_served(other.name())),
    }
}

fn read<'a, T: Deserialize<'a>>(params: &'a Payload) -> Result<T, ErrorObject> {
    params.get().map_err(|why| invalid_params(why.to_string()))
}

fn not_served(method: &str) -> ErrorObject {
    ErrorObject::new(code::METHOD_NOT_FOUND, format!("`{method}` is not served here"))
}

//! What the suite asks of an adapter: its runtime, its ends of a connection, its processes, its stdio.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use std::{
    io,
    process::{Command, ExitStatus},
};

use acp_core::{
    Agent, Client, CloseReason, CommandError, Config, Connection, Delivery, Outcome, Payload, Resolved, Role,
    SessionKey, Settlement, Timestamp, TurnKey, TurnTicket, machine::shutdown::Step, process::Grace, wire::StopReason,
};
use futures_channel::oneshot;
use futures_lite::{AsyncRead, AsyncWrite};

/// Something to read from.
pub type BoxRead = Box<dyn AsyncRead + Send + Unpin>;
/// Something to write to.
pub type BoxWrite = Box<dyn AsyncWrite + Send + Unpin>;
/// One end of a two-way pipe in memory.
pub type Wires = (piper::Reader, piper::Writer);

/// Why there is no next piece of stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The taker was too slow for some.
    Some,
    /// Stderr is over.
    Closed,
}

/// A task. Dropping it leaves it running.
#[derive(Debug)]
pub struct Task<T>(oneshot::Receiver<T>);

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0).poll(cx).map(|result| result.expect("a task does not panic"))
    }
}

/// An adapter under test. [`adapter!`](crate::adapter) writes most of it, since the names are the same everywhere.
pub trait Adapter: Sized + Send + Sync + 'static {
    /// `Handle`.
    type Handle<R: Role>: Clone + Send + Sync + 'static;
    /// `Actions`.
    type Actions<R: Role>: Send + 'static;
    /// `Pending`.
    type Pending<R: Role>: Future<Output = Resolved> + Send + Unpin + 'static;
    /// `PromptTurn`.
    type Prompt: Future<Output = (Settlement, Outcome)> + Send + Unpin + 'static;
    /// `Turn`.
    type Turn: Send + Sync + 'static;
    /// `AgentProcess`.
    type Process: Send + Sync + 'static;
    /// `KeptProcess`.
    type Kept<R: Role>: Send + 'static;
    /// Follows stderr.
    type Pieces: Send + 'static;
    /// `Running`.
    type Running: Send + 'static;

    // ---- the runtime -------------------------------------------------------------------------------------------

    /// Runs a future in a fresh runtime.
    fn block_on<T>(future: impl Future<Output = T>) -> T;
    /// Runs a future beside the others.
    fn detach(future: impl Future<Output = ()> + Send + 'static);
    /// Waits.
    fn sleep(time: Duration) -> impl Future<Output = ()> + Send;
    /// The same, with a result.
    fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let (tell, told) = oneshot::channel();
        Self::detach(async move { drop(tell.send(future.await)) });
        Task(told)
    }

    // ---- connections -------------------------------------------------------------------------------------------

    /// `client`.
    fn client(
        wires: Wires,
        config: Config,
    ) -> (Self::Handle<Client>, Self::Actions<Client>, impl Future<Output = CloseReason> + Send + 'static);
    /// `agent`, over whatever it is given.
    fn agent_over(
        reader: BoxRead,
        writer: BoxWrite,
        config: Config,
    ) -> (Self::Handle<Agent>, Self::Actions<Agent>, impl Future<Output = CloseReason> + Send + 'static);
    /// `agent`, over pipes in memory.
    fn agent(
        (reader, writer): Wires,
        config: Config,
    ) -> (Self::Handle<Agent>, Self::Actions<Agent>, impl Future<Output = CloseReason> + Send + 'static) {
        Self::agent_over(Box::new(reader), Box::new(writer), config)
    }
    /// `Handle::with`.
    fn with<R: Role, T>(handle: &Self::Handle<R>, act: impl FnOnce(&mut Connection<R>, Timestamp) -> T) -> T;
    /// `Handle::request`.
    fn request<R: Role>(
        handle: &Self::Handle<R>,
        method: &str,
        params: Payload,
    ) -> Result<Self::Pending<R>, CommandError>;
    /// `Handle::room`.
    fn room<R: Role>(handle: &Self::Handle<R>) -> impl Future<Output = ()> + Send;
    /// `Handle::flush`.
    fn flush<R: Role>(handle: &Self::Handle<R>) -> impl Future<Output = ()> + Send;
    /// `Handle::close`.
    fn close<R: Role>(handle: &Self::Handle<R>);
    /// `Handle::closed`.
    fn closed<R: Role>(handle: &Self::Handle<R>) -> impl Future<Output = CloseReason> + Send;
    /// `Handle::is_closed`.
    fn is_closed<R: Role>(handle: &Self::Handle<R>) -> bool;
    /// `Handle::initialize`.
    fn initialize(handle: &Self::Handle<Client>, params: &Payload) -> Result<Self::Pending<Client>, CommandError>;
    /// `Handle::prompt`.
    fn prompt(
        handle: &Self::Handle<Client>,
        session: SessionKey,
        content: &Payload,
    ) -> Result<Self::Prompt, CommandError>;
    /// `Handle::steer`.
    fn steer(
        handle: &Self::Handle<Client>,
        session: SessionKey,
        content: &Payload,
    ) -> Result<Self::Prompt, CommandError>;
    /// `PromptTurn::key`.
    fn prompt_key(prompt: &Self::Prompt) -> TurnKey;
    /// `PromptTurn::detach`.
    fn detach_prompt(prompt: Self::Prompt) -> TurnKey;
    /// `Actions::next`.
    fn next<R: Role>(actions: &mut Self::Actions<R>) -> impl Future<Output = Option<R::Action>> + Send;
    /// `Handle::turn`.
    fn turn(handle: &Self::Handle<Agent>, ticket: TurnTicket) -> Self::Turn;
    /// `Turn::update`.
    fn update(turn: &Self::Turn, update: &Payload) -> impl Future<Output = Result<Delivery, CommandError>> + Send;
    /// `Turn::ask`.
    fn ask(
        turn: &Self::Turn,
        method: &str,
        params: &Payload,
    ) -> impl Future<Output = Result<Resolved, CommandError>> + Send;
    /// `Turn::token().cancelled()`.
    fn cancelled(turn: &Self::Turn) -> impl Future<Output = ()> + Send;
    /// `Turn::token().is_cancelled()`.
    fn is_cancelled(turn: &Self::Turn) -> bool;
    /// `Turn::stop`.
    fn stop(turn: Self::Turn, reason: StopReason) -> Delivery;

    // ---- processes ---------------------------------------------------------------------------------------------

    /// `AgentProcess::spawn`.
    ///
    /// # Errors
    ///
    /// Its own.
    fn start(command: Command, grace: Grace) -> io::Result<(Self::Process, BoxWrite, BoxRead)>;
    /// The same, by a command line.
    ///
    /// # Errors
    ///
    /// Its own.
    fn start_line(line: &str, grace: Grace) -> io::Result<(Self::Process, BoxWrite, BoxRead)>;
    /// `Handle::keep`.
    fn keep<R: Role>(handle: &Self::Handle<R>, session: SessionKey, process: Self::Process) -> Self::Kept<R>;
    /// `KeptProcess::end`.
    fn kept_end<R: Role>(kept: &Self::Kept<R>);
    /// `KeptProcess::ended`.
    fn kept_ended<R: Role>(
        kept: Self::Kept<R>,
    ) -> impl Future<Output = io::Result<(Option<ExitStatus>, Option<Step>)>> + Send;
    /// `Handle::released`.
    fn released<R: Role>(handle: &Self::Handle<R>, session: SessionKey) -> impl Future<Output = ()> + Send;
    /// `AgentProcess::id`.
    fn id(process: &Self::Process) -> Option<u32>;
    /// `AgentProcess::stderr_tail`.
    fn stderr_tail(process: &Self::Process) -> Vec<u8>;
    /// `AgentProcess::follow_stderr`.
    fn follow_stderr(process: &Self::Process) -> (Vec<u8>, Self::Pieces);
    /// The next piece of stderr.
    fn piece(pieces: &mut Self::Pieces) -> impl Future<Output = Result<Vec<u8>, Missed>> + Send;
    /// `AgentProcess::wait`.
    fn wait(process: &mut Self::Process) -> impl Future<Output = io::Result<ExitStatus>> + Send;
    /// `AgentProcess::shutdown`.
    fn shutdown(
        process: &mut Self::Process,
    ) -> impl Future<Output = io::Result<(Option<ExitStatus>, Option<Step>)>> + Send;
    /// `launch`.
    ///
    /// # Errors
    ///
    /// Its own.
    #[expect(clippy::type_complexity, reason = "three parts, as everywhere")]
    fn launch(
        command: Command,
        grace: Grace,
    ) -> io::Result<(Self::Handle<Client>, Self::Actions<Client>, Self::Running)>;
    /// `Running::run`.
    fn run(
        running: Self::Running,
    ) -> impl Future<Output = io::Result<(CloseReason, Option<ExitStatus>, Option<Step>)>> + Send;
    /// The id of its process.
    fn running_id(running: &Self::Running) -> Option<u32>;

    // ---- stdio -------------------------------------------------------------------------------------------------

    /// `stdio`.
    ///
    /// # Errors
    ///
    /// Its own.
    fn stdio() -> io::Result<(BoxRead, BoxWrite)>;
    /// `terminated`.
    fn terminated() -> impl Future<Output = ()> + Send + 'static;
}

//! The part of [`Adapter`](super::Adapter) that reads the same for every adapter crate.

/// Implements [`Adapter`](crate::suite::Adapter) for `$name` by the crate `$adapter`. The items in braces are what differs: the
/// runtime, how a stream of futures-io becomes one of the adapter's and back, and its broadcasts.
#[macro_export]
macro_rules! adapter {
    ($name:ident, $adapter:ident, read: $read:path, write: $write:path, read_back: $read_back:path,
     write_back: $write_back:path, pieces: $pieces:ty, missed: $missed:pat, { $($runtime:item)* }) => {
        #[derive(Debug)]
        pub(super) struct $name;

        impl $crate::suite::Adapter for $name {
            type Handle<R: acp_core::Role> = $adapter::Handle<R>;
            type Actions<R: acp_core::Role> = $adapter::Actions<R>;
            type Pending<R: acp_core::Role> = $adapter::Pending<R>;
            type Prompt = $adapter::PromptTurn;
            type Turn = $adapter::Turn;
            type Process = $adapter::AgentProcess;
            type Kept<R: acp_core::Role> = $adapter::KeptProcess<R>;
            type Pieces = $pieces;
            type Running = $adapter::Running;

            $($runtime)*

            fn client(
                (reader, writer): $crate::suite::Wires,
                config: acp_core::Config,
            ) -> (
                Self::Handle<acp_core::Client>,
                Self::Actions<acp_core::Client>,
                impl Future<Output = acp_core::CloseReason> + Send + 'static,
            ) {
                $adapter::client($read(reader), $write(writer), config).expect("a good configuration")
            }

            fn agent_over(
                reader: $crate::suite::BoxRead,
                writer: $crate::suite::BoxWrite,
                config: acp_core::Config,
            ) -> (
                Self::Handle<acp_core::Agent>,
                Self::Actions<acp_core::Agent>,
                impl Future<Output = acp_core::CloseReason> + Send + 'static,
            ) {
                $adapter::agent($read(reader), $write(writer), config).expect("a good configuration")
            }

            fn with<R: acp_core::Role, T>(
                handle: &Self::Handle<R>,
                act: impl FnOnce(&mut acp_core::Connection<R>, acp_core::Timestamp) -> T,
            ) -> T {
                handle.with(act)
            }

            fn request<R: acp_core::Role>(
                handle: &Self::Handle<R>,
                method: &str,
                params: acp_core::Payload,
            ) -> Result<Self::Pending<R>, acp_core::CommandError> {
                handle.request(method, Some(params), None)
            }

            async fn room<R: acp_core::Role>(handle: &Self::Handle<R>) {
                handle.room().await;
            }

            async fn flush<R: acp_core::Role>(handle: &Self::Handle<R>) {
                handle.flush().await;
            }

            fn close<R: acp_core::Role>(handle: &Self::Handle<R>) {
                handle.close();
            }

            async fn closed<R: acp_core::Role>(handle: &Self::Handle<R>) -> acp_core::CloseReason {
                handle.closed().await
            }

            fn is_closed<R: acp_core::Role>(handle: &Self::Handle<R>) -> bool {
                handle.is_closed()
            }

            fn initialize(
                handle: &Self::Handle<acp_core::Client>,
                params: &acp_core::Payload,
            ) -> Result<Self::Pending<acp_core::Client>, acp_core::CommandError> {
                handle.initialize(params)
            }

            fn prompt(
                handle: &Self::Handle<acp_core::Client>,
                session: acp_core::SessionKey,
                content: &acp_core::Payload,
            ) -> Result<Self::Prompt, acp_core::CommandError> {
                handle.prompt(session, content)
            }

            fn steer(
                handle: &Self::Handle<acp_core::Client>,
                session: acp_core::SessionKey,
                content: &acp_core::Payload,
            ) -> Result<Self::Prompt, acp_core::CommandError> {
                handle.steer(session, content)
            }

            fn prompt_key(prompt: &Self::Prompt) -> acp_core::TurnKey {
                prompt.key()
            }

            fn detach_prompt(prompt: Self::Prompt) -> acp_core::TurnKey {
                prompt.detach()
            }

            async fn next<R: acp_core::Role>(actions: &mut Self::Actions<R>) -> Option<R::Action> {
                actions.next().await
            }

            fn turn(handle: &Self::Handle<acp_core::Agent>, ticket: acp_core::TurnTicket) -> Self::Turn {
                handle.turn(ticket)
            }

            async fn update(
                turn: &Self::Turn,
                update: &acp_core::Payload,
            ) -> Result<acp_core::Delivery, acp_core::CommandError> {
                turn.update(update).await
            }

            async fn ask(
                turn: &Self::Turn,
                method: &str,
                params: &acp_core::Payload,
            ) -> Result<acp_core::Resolved, acp_core::CommandError> {
                turn.ask(method, params, None).await
            }

            async fn cancelled(turn: &Self::Turn) {
                turn.token().cancelled().await;
            }

            fn is_cancelled(turn: &Self::Turn) -> bool {
                turn.token().is_cancelled()
            }

            fn stop(turn: Self::Turn, reason: acp_core::wire::StopReason) -> acp_core::Delivery {
                turn.stop(reason)
            }

            fn start(
                command: std::process::Command,
                grace: acp_core::process::Grace,
            ) -> std::io::Result<(Self::Process, $crate::suite::BoxWrite, $crate::suite::BoxRead)> {
                let (process, pipes) = $adapter::AgentProcess::spawn(command.into(), grace)?;
                Ok((process, Box::new($write_back(pipes.stdin)), Box::new($read_back(pipes.stdout))))
            }

            fn start_line(
                line: &str,
                grace: acp_core::process::Grace,
            ) -> std::io::Result<(Self::Process, $crate::suite::BoxWrite, $crate::suite::BoxRead)> {
                let (process, pipes) = $adapter::AgentProcess::spawn($adapter::process::command_line(line)?, grace)?;
                Ok((process, Box::new($write_back(pipes.stdin)), Box::new($read_back(pipes.stdout))))
            }

            fn keep<R: acp_core::Role>(
                handle: &Self::Handle<R>,
                session: acp_core::SessionKey,
                process: Self::Process,
            ) -> Self::Kept<R> {
                handle.keep(session, process)
            }

            fn kept_end<R: acp_core::Role>(kept: &Self::Kept<R>) {
                kept.end();
            }

            async fn kept_ended<R: acp_core::Role>(
                kept: Self::Kept<R>,
            ) -> std::io::Result<(Option<std::process::ExitStatus>, Option<acp_core::machine::shutdown::Step>)> {
                kept.ended().await.map(|ended| (ended.status, ended.by))
            }

            async fn released<R: acp_core::Role>(handle: &Self::Handle<R>, session: acp_core::SessionKey) {
                handle.released(session).await;
            }

            fn id(process: &Self::Process) -> Option<u32> {
                process.id()
            }

            fn stderr_tail(process: &Self::Process) -> Vec<u8> {
                process.stderr_tail()
            }

            fn follow_stderr(process: &Self::Process) -> (Vec<u8>, Self::Pieces) {
                process.follow_stderr()
            }

            async fn piece(pieces: &mut Self::Pieces) -> Result<Vec<u8>, $crate::suite::Missed> {
                match pieces.recv().await {
                    Ok(piece) => Ok(piece.to_vec()),
                    Err($missed) => Err($crate::suite::Missed::Some),
                    Err(_) => Err($crate::suite::Missed::Closed),
                }
            }

            async fn wait(process: &mut Self::Process) -> std::io::Result<std::process::ExitStatus> {
                process.wait().await
            }

            async fn shutdown(
                process: &mut Self::Process,
            ) -> std::io::Result<(Option<std::process::ExitStatus>, Option<acp_core::machine::shutdown::Step>)> {
                process.shutdown().await.map(|ended| (ended.status, ended.by))
            }

            fn launch(
                command: std::process::Command,
                grace: acp_core::process::Grace,
            ) -> std::io::Result<(Self::Handle<acp_core::Client>, Self::Actions<acp_core::Client>, Self::Running)> {
                $adapter::launch(command.into(), acp_core::Config::client(), grace)
            }

            async fn run(
                running: Self::Running,
            ) -> std::io::Result<(
                acp_core::CloseReason,
                Option<std::process::ExitStatus>,
                Option<acp_core::machine::shutdown::Step>,
            )> {
                running.run().await.map(|ending| (ending.reason, ending.status, ending.by))
            }

            fn running_id(running: &Self::Running) -> Option<u32> {
                running.process().id()
            }

            fn stdio() -> std::io::Result<($crate::suite::BoxRead, $crate::suite::BoxWrite)> {
                let (stdin, stdout) = $adapter::stdio()?;
                Ok((Box::new($read_back(stdin)), Box::new($write_back(stdout))))
            }

            fn terminated() -> impl Future<Output = ()> + Send + 'static {
                $adapter::terminated()
            }
        }
    };
}

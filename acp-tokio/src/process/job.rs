//! The group of a process on Windows: a job object, which ends with its last handle. Type-checked, and untested.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use tokio::process::Command;
use windows::Win32::System::Threading::CREATE_NO_WINDOW;

use super::Streams;

#[derive(Debug)]
pub(super) struct Group(Box<dyn ChildWrapper>);

impl Group {
    pub(super) fn spawn(command: Command) -> io::Result<(Self, Streams)> {
        let mut command = CommandWrap::from(command);
        // A client without a console would open one for each agent.
        let mut child = command.wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(KillOnDrop).wrap(JobObject).spawn()?;
        let missing = || io::Error::other("a stream is not piped");
        let stdin = child.stdin().take().ok_or_else(missing)?;
        let stdout = child.stdout().take().ok_or_else(missing)?;
        let stderr = child.stderr().take().ok_or_else(missing)?;
        Ok((Self(child), Streams { stdin, stdout, stderr }))
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.0.id()
    }

    /// Of the leader, not of the whole job: that is what the outer `wait` is for, and it may never come.
    pub(super) async fn exited(&mut self) -> io::Result<ExitStatus> {
        let status = self.0.inner_mut().wait().await;
        self.kill();
        status
    }

    pub(super) fn has_exited(&mut self) -> bool {
        !matches!(self.0.inner_mut().try_wait(), Ok(None))
    }

    /// There is no such thing here.
    pub(super) const fn terminate(&mut self) -> bool {
        false
    }

    pub(super) fn kill(&mut self) {
        // An error is a job that is already over.
        let _ = self.0.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

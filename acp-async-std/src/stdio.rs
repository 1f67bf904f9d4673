//! The agent's end of the stdio transport: the process's own stdin and stdout, made safe to speak a protocol over.
//!
//! One stray `println!`, or one child that inherits stdin and reads from it, breaks a connection for good. So [`stdio`]
//! moves the protocol's descriptors away before anything else runs: what used to be fd 0 and 1 lives on at private,
//! close-on-exec numbers, fd 0 becomes `/dev/null` and fd 1 a copy of stderr.
//!
//! What is behind a descriptor decides how it is read and written. Pipes and sockets go to the reactor of `async-io`.
//! Files, terminals and other devices cannot: they are shared with whoever started us (a shell, say), who would be
//! surprised by `O_NONBLOCK`. They get a thread of `blocking` each, which never keeps a process from exiting. It starts at
//! the first read or write, and holds at most [`CHUNK`].

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use futures_io::{AsyncRead, AsyncWrite};

/// The most bytes read ahead from, or not yet written to, a file or terminal: 64 KiB, as much as a Linux pipe holds.
pub const CHUNK: usize = 64 * 1024;

/// The protocol's input, taken from fd 0 by [`stdio`]. Ends, like any reader, with a read of no bytes.
#[derive(Debug)]
pub struct Stdin(imp::Input);

/// The protocol's output, taken from fd 1 by [`stdio`].
///
/// `flush` returns when every byte was handed to the system, and reports what went wrong with any of them. `close`
/// flushes, then ends the stream: a pipe is closed, so that its reader sees the end. Dropping it loses no bytes either,
/// but may block for as long as a terminal or file does not take them, at most 5 s: prefer `close`.
#[derive(Debug)]
pub struct Stdout(imp::Output);

/// Takes the process's stdin and stdout for the protocol.
///
/// Call it first thing in `main`: what was read from `std::io::stdin` before is lost, and what was printed before is in
/// the stream. From here on `println!` ends up on stderr, and children find an empty stdin.
///
/// On anything but Unix this is std's own stdin and stdout: untested, and without the protection.
///
/// # Errors
///
/// When it was called before in this process, or when a descriptor cannot be used (a pipe that is open for the wrong
/// direction). The descriptors are then where they were.
pub fn stdio() -> io::Result<(Stdin, Stdout)> {
    imp::take().map(|(input, output)| (Stdin(input), Stdout(output)))
}

/// Completes when the process is asked to end: at SIGTERM or SIGINT, or at Ctrl-C where there are no signals.
///
/// The signals are caught from the call on, not from the first poll, and for the rest of the process: they no longer end
/// it by themselves. If they cannot be caught this never completes, and they still do.
pub fn terminated() -> impl Future<Output = ()> + Send + 'static {
    imp::terminated()
}

impl AsyncRead for Stdin {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stdout {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

#[cfg(unix)]
mod thread;

#[cfg(not(unix))]
mod imp {
    //! Where there are no descriptors to move: std's own streams, each behind a thread.

    use async_signal::{Signal, Signals};
    use blocking::Unblock;
    use futures_lite::StreamExt as _;

    use super::{CHUNK, io};

    pub(super) type Input = Unblock<io::Stdin>;
    pub(super) type Output = Unblock<io::Stdout>;

    pub(super) fn take() -> io::Result<(Input, Output)> {
        Ok((Unblock::with_capacity(CHUNK, io::stdin()), Unblock::with_capacity(CHUNK, io::stdout())))
    }

    pub(super) fn terminated() -> impl Future<Output = ()> + Send + 'static {
        let caught = Signals::new([Signal::Int]);
        async move {
            if let Ok(mut signals) = caught
                && matches!(signals.next().await, Some(Ok(_)))
            {
                return;
            }
            core::future::pending().await
        }
    }
}

#[cfg(unix)]
mod imp {
    //! Moves the descriptors, and opens what is behind them.

    use core::pin::Pin;
    use core::sync::atomic::{AtomicBool, Ordering};
    use core::task::{Context, Poll};
    use std::fs::File;
    use std::io;
    use std::net::Shutdown;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use async_io::Async;
    use async_signal::{Signal, Signals};
    use futures_io::{AsyncRead, AsyncWrite};
    use futures_lite::StreamExt as _;
    use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl};

    use super::thread::{Patient, Reader, Writer};

    #[derive(Debug)]
    pub(super) enum Input {
        Pipe(Async<File>),
        Socket(Async<UnixStream>),
        Thread(Reader),
    }

    #[derive(Debug)]
    pub(super) enum Output {
        Pipe(Async<File>),
        Socket(Async<UnixStream>),
        Thread(Writer),
        /// A pipe after `close`: its reader sees the end only once nobody holds it open.
        Closed,
    }

    /// Process-wide, because fd 0 and 1 are.
    static TAKEN: AtomicBool = AtomicBool::new(false);

    pub(super) fn take() -> io::Result<(Input, Output)> {
        if TAKEN.swap(true, Ordering::AcqRel) {
            let why = "stdio() was called before: stdin and stdout are taken for the protocol once in a process";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        move_away().inspect_err(|_| TAKEN.store(false, Ordering::Release))
    }

    fn move_away() -> io::Result<(Input, Output)> {
        // Everything that may fail comes before the first change. 3: not in place of another standard stream.
        let spare = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        let input = Input::open(rustix::io::fcntl_dupfd_cloexec(&spare, 3)?)?;
        let output = Output::open(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?)?;
        let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::stdio::dup2_stdin(&null)?;
        if let Err(error) = rustix::stdio::dup2_stdout(rustix::stdio::stderr()) {
            rustix::stdio::dup2_stdin(&spare)?;
            return Err(error.into());
        }
        Ok((input, output))
    }

    pub(super) fn terminated() -> impl Future<Output = ()> + Send + 'static {
        let caught = Signals::new([Signal::Term, Signal::Int]);
        async move {
            if let Ok(mut signals) = caught
                && matches!(signals.next().await, Some(Ok(_)))
            {
                return;
            }
            core::future::pending().await
        }
    }

    fn kind(fd: &OwnedFd) -> io::Result<FileType> {
        Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode))
    }

    /// A pipe that is open this way, or both ways.
    fn pipe(fd: OwnedFd, way: OFlags) -> io::Result<Async<File>> {
        let mode = fcntl_getfl(&fd)? & OFlags::RWMODE;
        if mode != way && mode != OFlags::RDWR {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a pipe is open for the wrong direction"));
        }
        Async::new(File::from(fd))
    }

    impl Input {
        fn open(fd: OwnedFd) -> io::Result<Self> {
            Ok(match kind(&fd)? {
                FileType::Fifo => Self::Pipe(pipe(fd, OFlags::RDONLY)?),
                FileType::Socket => Self::Socket(Async::new(UnixStream::from(fd))?),
                _ => Self::Thread(Patient::behind_a_thread(File::from(fd))),
            })
        }
    }

    impl Output {
        fn open(fd: OwnedFd) -> io::Result<Self> {
            Ok(match kind(&fd)? {
                FileType::Fifo => Self::Pipe(pipe(fd, OFlags::WRONLY)?),
                FileType::Socket => Self::Socket(Async::new(UnixStream::from(fd))?),
                _ => Self::Thread(Writer::new(File::from(fd))),
            })
        }
    }

    impl AsyncRead for Input {
        fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
            match self.get_mut() {
                Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buf),
                Self::Socket(socket) => Pin::new(socket).poll_read(cx, buf),
                Self::Thread(reader) => Pin::new(reader).poll_read(cx, buf),
            }
        }
    }

    impl AsyncWrite for Output {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            match self.get_mut() {
                Self::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
                Self::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
                Self::Thread(writer) => writer.poll_write(cx, bytes),
                Self::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            match self.get_mut() {
                // Nothing is held back: what was written is with the system.
                Self::Pipe(_) | Self::Socket(_) | Self::Closed => Poll::Ready(Ok(())),
                Self::Thread(writer) => writer.poll_flush(cx),
            }
        }

        fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let this = self.get_mut();
            match this {
                Self::Pipe(_) | Self::Closed => {
                    *this = Self::Closed;
                    Poll::Ready(Ok(()))
                }
                Self::Socket(socket) => Poll::Ready(socket.get_ref().shutdown(Shutdown::Write)),
                Self::Thread(writer) => writer.poll_close(cx),
            }
        }
    }
}

//! An executor made by hand: one thread, a queue of the tasks that are ready, a list of alarms. It runs both ends of a
//! connection over pipes in memory, of a few bytes each, so that every read and every write has to wait.
//!
//! With a number the client cancels after so many words: `own_executor [N]`

use core::{
    array,
    cell::RefCell,
    error::Error,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{
    env,
    sync::{Arc, mpsc},
    task::Wake,
    thread,
    time::Instant,
};

use acp_core::{Frame, Role, Timestamp};
use acp_examples::{
    bare::{Asker, End, Host, Talker},
    pipe::Pipe,
};
use bytes::Bytes;

/// Makes the task of this number ready, by sending the number.
struct Number(usize, mpsc::Sender<usize>);

impl Wake for Number {
    fn wake(self: Arc<Self>) {
        // Without a receiver all tasks are done.
        let _ = self.1.send(self.0);
    }
}

/// What tasks wait for: a time, or bytes that move.
struct World {
    started: Instant,
    alarms: RefCell<Vec<(Timestamp, Waker)>>,
    waiting: RefCell<Vec<Waker>>,
}

impl World {
    fn now(&self) -> Timestamp {
        Timestamp::from_elapsed(self.started.elapsed())
    }

    /// Sleeps until the first alarm, and wakes whose time has come.
    fn sleep(&self) {
        let first = self.alarms.borrow().iter().map(|(at, _)| *at).min();
        thread::sleep(first.map_or(Duration::MAX, |at| at.saturating_duration_since(self.now())));
        let due: Vec<_> = self.alarms.borrow_mut().extract_if(.., |(at, _)| *at <= self.now()).collect();
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

/// Runs tasks until all of them are done.
fn run<'a, const N: usize>(tasks: [Pin<Box<dyn Future<Output = ()> + 'a>>; N], world: &World) {
    let mut tasks = tasks.map(Some);
    let (sender, ready) = mpsc::channel();
    let wakers: [_; N] = array::from_fn(|number| Waker::from(Arc::new(Number(number, sender.clone()))));
    wakers.iter().for_each(Waker::wake_by_ref);
    while tasks.iter().any(Option::is_some) {
        let Ok(number) = ready.try_recv() else {
            world.sleep();
            continue;
        };
        let mut context = Context::from_waker(&wakers[number]);
        // A task may be woken once more than it needs.
        tasks[number].take_if(|task| task.as_mut().poll(&mut context).is_ready());
    }
}

/// Drives one end. All it can do now it does at once; then it says what it waits for.
fn drive<R: Role>(
    end: &mut End<R, impl Host<R>>,
    [input, output]: [&RefCell<Pipe>; 2],
    world: &World,
) -> impl Future<Output = ()> {
    let mut frame = Bytes::new();
    poll_fn(move |context| {
        let (mut input, mut output) = (input.borrow_mut(), output.borrow_mut());
        loop {
            let now = world.now();
            // A host that gives up takes the connection with it.
            let due = end.step(now).inspect_err(|why| end.conn.handle_lost(&why.to_string(), now)).unwrap_or_default();
            if frame.is_empty() {
                frame = end.conn.poll_transmit().map(Frame::into_line).unwrap_or_default();
            }
            let wrote = output.write(&mut frame);
            let read = input.read(&mut end.conn, now);
            let over = frame.is_empty() && end.conn.is_closed();
            if over {
                output.close();
            } else if !wrote && !read {
                world.waiting.borrow_mut().push(context.waker().clone());
                world.alarms.borrow_mut().extend(due.map(|at| (at, context.waker().clone())));
                return Poll::Pending;
            }
            world.waiting.take().into_iter().for_each(Waker::wake);
            if over {
                return Poll::Ready(());
            }
        }
    })
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let enough = env::args().nth(1).map(|words| words.parse()).transpose()?;
    let (mut client, mut agent) = (Asker::begin(enough)?, Talker::begin(Duration::from_millis(10))?);
    let (there, back) = (RefCell::new(Pipe::new(7)), RefCell::new(Pipe::new(7)));
    let world = World { started: Instant::now(), alarms: RefCell::default(), waiting: RefCell::default() };
    let at_client = drive(&mut client, [&back, &there], &world);
    let at_agent = drive(&mut agent, [&there, &back], &world);
    run([Box::pin(at_client), Box::pin(at_agent)], &world);
    println!("{}", client.host.story());
    Ok(())
}

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

use acp_core::{Role, Timestamp};
use acp_examples::{
    bare::{Asker, End, Host, Talker},
    pipe::{Pipe, advance},
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

/// The tasks that wait: for bytes to move, and for a time if they say so.
struct World {
    started: Instant,
    waiting: RefCell<Vec<(Waker, Option<Timestamp>)>>,
}

impl World {
    fn now(&self) -> Timestamp {
        Timestamp::from_elapsed(self.started.elapsed())
    }

    /// This task waits. It does so once, however often it has looked in vain.
    fn wait(&self, task: &Waker, due: Option<Timestamp>) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|(other, _)| !other.will_wake(task));
        waiting.push((task.clone(), due));
    }

    /// Sleeps until the first time that one waits for, and wakes those whose time has come.
    fn sleep(&self) {
        let first = self.waiting.borrow().iter().filter_map(|(_, due)| *due).min();
        thread::sleep(first.map_or(Duration::MAX, |due| due.saturating_duration_since(self.now())));
        let due = |due: Option<Timestamp>| due.is_some_and(|due| due <= self.now());
        self.waiting.borrow_mut().extract_if(.., |(_, at)| due(*at)).for_each(|(task, _)| task.wake());
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
        loop {
            let now = world.now();
            let pipes = [&mut *input.borrow_mut(), &mut *output.borrow_mut()];
            match advance(end, pipes, &mut frame, now) {
                Ok((false, _)) if frame.is_empty() && end.conn.is_closed() => return Poll::Ready(()),
                Ok((false, due)) => {
                    world.wait(context.waker(), due);
                    return Poll::Pending;
                }
                Ok((true, _)) => world.waiting.take().into_iter().for_each(|(task, _)| task.wake()),
                // A host that gives up takes the connection with it.
                Err(why) => end.conn.handle_lost(&why.to_string(), now),
            }
        }
    })
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let enough = env::args().nth(1).map(|words| words.parse()).transpose()?;
    let (mut client, mut agent) = (Asker::begin(enough)?, Talker::begin(Duration::from_millis(10))?);
    let (there, back) = (RefCell::new(Pipe::new(7)), RefCell::new(Pipe::new(7)));
    let world = World { started: Instant::now(), waiting: RefCell::default() };
    let at_client = drive(&mut client, [&back, &there], &world);
    let at_agent = drive(&mut agent, [&there, &back], &world);
    run([Box::pin(at_client), Box::pin(at_agent)], &world);
    println!("{}", client.host.story());
    Ok(())
}

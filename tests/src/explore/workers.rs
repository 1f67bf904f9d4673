//! A map over items on every processor there is, which keeps their order.

use core::iter;
use std::{panic::resume_unwind, sync::Mutex, thread};

/// Fewer items are not worth another thread.
const SHARE: usize = 64;

/// What `work` makes of each, in order. Each is taken by whoever is free; who panics has the caller panic.
pub(super) fn in_order<T: Send, U: Send>(items: Vec<T>, work: impl Fn(T) -> U + Sync) -> Vec<U> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len().div_ceil(SHARE));
    let waiting = Mutex::new(items.into_iter().enumerate());
    let next = || waiting.lock().expect("nobody panicked").next();
    let take = || iter::from_fn(next).map(|(place, item)| (place, work(item))).collect::<Vec<_>>();
    let mut done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|why| resume_unwind(why))).collect()
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, made)| made).collect()
}

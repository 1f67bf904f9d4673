//! The children that a driver attends to. Only one that was woken is looked at, however many there are.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    task::Wake,
};

type Attendance<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Children up to their ends. To drop it drops all of them.
pub(crate) struct Attended<T> {
    next: u64,
    all: BTreeMap<u64, (Attendance<T>, Waker)>,
    woken: Arc<Woken>,
}

impl<T> Default for Attended<T> {
    fn default() -> Self {
        Self { next: 0, all: BTreeMap::new(), woken: Arc::default() }
    }
}

/// Which are to be looked at, and who does it.
#[derive(Default)]
struct Woken(Mutex<(Vec<u64>, Option<Waker>)>);

/// Wakes for one child.
struct Bell(u64, Arc<Woken>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let driver = {
            let (woken, driver) = &mut *self.1.0.lock().unwrap_or_else(PoisonError::into_inner);
            woken.push(self.0);
            driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

impl<T> Attended<T> {
    /// Attends to more of them.
    pub(crate) fn extend(&mut self, children: impl IntoIterator<Item = Attendance<T>>) {
        for child in children {
            let waker = Waker::from(Arc::new(Bell(self.next, Arc::clone(&self.woken))));
            // Each is looked at once by itself.
            waker.wake_by_ref();
            self.all.insert(self.next, (child, waker));
            self.next += 1;
        }
    }

    /// The next one that has ended. `None`: there are none left.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        loop {
            let number = {
                let (woken, driver) = &mut *self.woken.0.lock().unwrap_or_else(PoisonError::into_inner);
                let number = woken.pop();
                if number.is_none() && !self.all.is_empty() {
                    *driver = Some(cx.waker().clone());
                }
                number
            };
            let Some(number) = number else {
                return if self.all.is_empty() { Poll::Ready(None) } else { Poll::Pending };
            };
            // One that ended may have been woken once more.
            if let Some((child, waker)) = self.all.get_mut(&number)
                && let Poll::Ready(ended) = child.as_mut().poll(&mut Context::from_waker(waker))
            {
                self.all.remove(&number);
                return Poll::Ready(Some(ended));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::{
        future::{Future as _, poll_fn},
        pin::Pin,
        sync::atomic::{AtomicU32, Ordering::Relaxed},
        task::Poll,
    };
    use std::sync::Arc;

    use tokio::sync::oneshot::{self, error::RecvError};

    use super::Attended;

    #[tokio::test]
    async fn children_end_in_any_order_and_one_that_was_not_woken_is_not_looked_at() {
        let mut attended = Attended::<Result<usize, RecvError>>::default();
        let looks = [0; 3].map(|_| Arc::new(AtomicU32::new(0)));
        let [first, second, third] = [0, 1, 2].map(|number| {
            let (sender, mut ended) = oneshot::channel();
            let looks = looks[number].clone();
            attended.extend([Box::pin(poll_fn(move |cx| {
                looks.fetch_add(1, Relaxed);
                Pin::new(&mut ended).poll(cx).map(|ended| ended.map(|()| number))
            })) as Pin<Box<dyn Future<Output = _> + Send>>]);
            sender
        });
        let seen = || looks.each_ref().map(|looks| looks.load(Relaxed));
        assert!(poll_fn(|cx| Poll::Ready(attended.poll_next(cx).is_pending())).await);
        assert_eq!(seen(), [1, 1, 1]);
        second.send(()).expect("it is awaited");
        assert_eq!(poll_fn(|cx| attended.poll_next(cx)).await, Some(Ok(1)));
        assert_eq!(seen(), [1, 2, 1], "nobody else was woken");

        let others = tokio::spawn(async move {
            let mut ended = Vec::new();
            while let Some(child) = poll_fn(|cx| attended.poll_next(cx)).await {
                ended.push(child.expect("it is told"));
            }
            ended
        });
        tokio::task::yield_now().await;
        third.send(()).expect("it is awaited");
        tokio::task::yield_now().await;
        first.send(()).expect("it is awaited");
        assert_eq!(others.await.expect("it does not panic"), [2, 0]);
    }
}

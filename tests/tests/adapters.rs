//! The conformance suite, for every adapter and every runtime it is for.

mod tokio_current_thread {
    use core::time::Duration;

    use acp_tests::{adapter, conformance};
    use tokio_util::compat::{FuturesAsyncReadCompatExt, FuturesAsyncWriteCompatExt};
    use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

    adapter!(
        Adapter, acp_tokio,
        read: FuturesAsyncReadCompatExt::compat, write: FuturesAsyncWriteCompatExt::compat_write,
        read_back: TokioAsyncReadCompatExt::compat, write_back: TokioAsyncWriteCompatExt::compat_write,
        pieces: tokio::sync::broadcast::Receiver<bytes::Bytes>,
        missed: tokio::sync::broadcast::error::RecvError::Lagged(_),
        {
            fn block_on<T>(future: impl Future<Output = T>) -> T {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(future)
            }

            fn detach(future: impl Future<Output = ()> + Send + 'static) {
                tokio::spawn(future);
            }

            async fn sleep(time: Duration) {
                tokio::time::sleep(time).await;
            }
        }
    );
    conformance!(Adapter);
}

mod tokio_multi_thread {
    use core::time::Duration;

    use acp_tests::{adapter, conformance};
    use tokio_util::compat::{FuturesAsyncReadCompatExt, FuturesAsyncWriteCompatExt};
    use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

    adapter!(
        Adapter, acp_tokio,
        read: FuturesAsyncReadCompatExt::compat, write: FuturesAsyncWriteCompatExt::compat_write,
        read_back: TokioAsyncReadCompatExt::compat, write_back: TokioAsyncWriteCompatExt::compat_write,
        pieces: tokio::sync::broadcast::Receiver<bytes::Bytes>,
        missed: tokio::sync::broadcast::error::RecvError::Lagged(_),
        {
            fn block_on<T>(future: impl Future<Output = T>) -> T {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
                runtime.expect("a runtime").block_on(future)
            }

            fn detach(future: impl Future<Output = ()> + Send + 'static) {
                tokio::spawn(future);
            }

            async fn sleep(time: Duration) {
                tokio::time::sleep(time).await;
            }
        }
    );
    conformance!(Adapter);
}

mod async_std_runtime {
    use core::{convert::identity, time::Duration};

    use acp_tests::{adapter, conformance};

    adapter!(
        Adapter, acp_async_std,
        read: identity, write: identity, read_back: identity, write_back: identity,
        pieces: async_broadcast::Receiver<bytes::Bytes>,
        missed: async_broadcast::RecvError::Overflowed(_),
        {
            fn block_on<T>(future: impl Future<Output = T>) -> T {
                async_std::task::block_on(future)
            }

            fn detach(future: impl Future<Output = ()> + Send + 'static) {
                async_std::task::spawn(future);
            }

            async fn sleep(time: Duration) {
                async_std::task::sleep(time).await;
            }
        }
    );
    conformance!(Adapter);
}

mod smol_runtime {
    use core::{convert::identity, time::Duration};

    use acp_tests::{adapter, conformance};

    adapter!(
        Adapter, acp_async_std,
        read: identity, write: identity, read_back: identity, write_back: identity,
        pieces: async_broadcast::Receiver<bytes::Bytes>,
        missed: async_broadcast::RecvError::Overflowed(_),
        {
            fn block_on<T>(future: impl Future<Output = T>) -> T {
                smol::block_on(future)
            }

            fn detach(future: impl Future<Output = ()> + Send + 'static) {
                smol::spawn(future).detach();
            }

            async fn sleep(time: Duration) {
                smol::Timer::after(time).await;
            }
        }
    );
    conformance!(Adapter);
}

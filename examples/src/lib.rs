//! What the example programs are made of. `echo` is an agent whose turns do what the prompt says; `drive` is a client
//! that runs any agent and shows what happens. Both are programs on `acp-tokio`; start reading at [`echo::serve`] and at
//! [`drive::main`], or with the two smallest programs, `agent_small` and `client_small`.
//!
//! The programs that need no runtime, or bring their own, drive the two hosts of [`bare`], some over a [`pipe`] in memory; those
//! that measure themselves use [`weigh`].

pub mod bare;
pub mod bridge;
pub mod drive;
pub mod echo;
pub mod pipe;
pub mod shape;
pub mod trace;
pub mod weigh;

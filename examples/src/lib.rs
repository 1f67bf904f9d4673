//! What the example programs are made of. `echo` is an agent whose turns do what the prompt says; `drive` is a client
//! that runs any agent and shows what happens. Both are programs on `acp-tokio`; start reading at [`echo::serve`] and at
//! [`drive::main`], or with the two smallest programs, `agent_small` and `client_small`.

pub mod drive;
pub mod echo;
pub mod shape;

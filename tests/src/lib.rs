//! Tools of the proof: what the tests share.

pub mod agent;
pub mod bench;
pub mod client;
pub mod conform;
pub mod describe;
#[cfg(doctest)]
mod documents;
pub mod explore;
pub mod fuzz;
pub mod golden;
pub mod graph;
pub mod model;
pub mod pair;
#[cfg(feature = "schema")]
pub mod schema;
pub mod suite;
pub mod taped;
pub mod v2;
pub mod wire;
pub mod words;
pub mod work;

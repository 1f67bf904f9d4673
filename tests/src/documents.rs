//! The programs in the documents that belong to no published crate alone: each is compiled as it stands there. Those that
//! need nothing but `acp-core`, or one adapter, are compiled where they are shown.

#[doc = include_str!("../../README.md")]
struct Readme;

#[doc = include_str!("../../acp-core/docs/guide/agent.md")]
struct Agents;

#[doc = include_str!("../../acp-core/docs/guide/client.md")]
struct Clients;

#[doc = include_str!("../../acp-core/docs/guide/migration.md")]
struct Migration;

//! Guides: pages without items, one for each reader. Each takes about ten minutes.
//!
//! | you write | read |
//! |---|---|
//! | an agent | [`agent`], then [`cancel`] |
//! | a client | [`client`], then [`cancel`] |
//! | the loop around it: another runtime, a thread, an editor's main loop | [`embedding`] |
//! | for a target without an operating system, or with little memory | [`porting`] |
//! | tests of any of these | [`testing`] |
//! | something that does not work | [`faq`] |
//! | a move from the official Rust SDK, or the choice between the two | [`comparison`], [`migration`] |
//! | this library itself | `CONTRIBUTING.md` in the repository |
//!
//! Programs that need an adapter are compiled by the repository's own tests, all others as they stand here.

// Each page brings its links along, as files of the repository, for whoever reads it there. Of two definitions the first
// counts, so here `links.md` makes links to items of them.

#[doc = include_str!("../docs/links.md")]
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/agent.md"))]
pub mod agent {}

#[doc = include_str!("../docs/links.md")]
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/client.md"))]
pub mod client {}

/// Cancelling: Stop and Steer at the client, two phases at the agent.
///
#[doc = include_str!("../docs/links.md")]
#[cfg_attr(doc, doc = include_str!("../docs/cancel.svg"), doc = "")]
#[doc = include_str!("../docs/guide/cancel.md")]
pub mod cancel {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/embedding.md")]
pub mod embedding {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/porting.md")]
pub mod porting {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/testing.md")]
pub mod testing {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/faq.md")]
pub mod faq {}

#[doc = include_str!("../docs/links.md")]
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/migration.md"))]
pub mod migration {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/comparison.md")]
pub mod comparison {}

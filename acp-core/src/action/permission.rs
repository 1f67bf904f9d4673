//! Permission requests: what an agent offers, and what is decided.

use alloc::boxed::Box;

use crate::wire::PermissionOptionKind;

/// What a permission request offers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Offer {
    /// The question, in version 2.
    pub title: Option<Box<str>>,
    /// The tool call it is about. In version 1 there always is one.
    pub tool_call: Option<Box<str>>,
    /// The options that can be chosen, in the order of the wire.
    pub options: Box<[PermissionOption]>,
    /// Parts that could not be read and were left out, by path.
    pub dropped: Box<[Box<str>]>,
}

/// One option of a permission request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PermissionOption {
    /// What is answered if it is chosen.
    pub id: Box<str>,
    /// What to show. The id, if the option has no readable name.
    pub name: Box<str>,
    /// What it means.
    pub kind: PermissionOptionKind,
}

impl Offer {
    /// The first option of one of these kinds.
    #[must_use]
    pub fn first(&self, kinds: &[PermissionOptionKind]) -> Option<&PermissionOption> {
        self.options.iter().find(|option| kinds.contains(&option.kind))
    }
}

/// What a permission request is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The option of this id. One that was not offered counts as [`Cancelled`](Self::Cancelled): nothing fails open.
    Select(Box<str>),
    /// None: the outcome `cancelled`.
    Cancelled,
}

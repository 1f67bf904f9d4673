//! Plans: what an agent means to do, and how far it is (ACP, Agent Plan).

use alloc::borrow::Cow;

use super::{
    declare::{Unknown, kinds, views},
    list::List,
    raw::{Raw, Unreadable},
    read::View,
};
use crate::wire::open_enum::{PlanEntryPriority, PlanEntryStatus};

views! {
    /// All of the plan, in place of what was said before.
    Plan {
        /// What is to be done, in order.
        entries: List<'a, PlanEntry<'a>> = "entries",
    }

    /// Something to be done.
    PlanEntry {
        /// What.
        content: Cow<'a, str> = "content",
        /// How much it matters.
        priority: Option<PlanEntryPriority> = "priority",
        /// How far it is.
        status: Option<PlanEntryStatus> = "status",
    }

    /// All of one of several plans, in place of what was said of it before.
    PlanUpdate {
        /// The plan.
        plan: NamedPlan<'a> = "plan",
    }

    /// A plan of several, entry by entry.
    PlanItems {
        /// Which plan.
        id: Cow<'a, str> = "planId",
        /// What is to be done, in order.
        entries: List<'a, PlanEntry<'a>> = "entries",
    }

    /// A plan of several, as Markdown.
    PlanMarkdown {
        /// Which plan.
        id: Cow<'a, str> = "planId",
        /// The plan.
        content: Cow<'a, str> = "content",
        /// The file it stands in: an absolute path.
        path: Option<Cow<'a, str>> = "path",
    }

    /// One of several plans is gone.
    PlanRemoved {
        /// Which plan.
        id: Cow<'a, str> = "planId",
    }
}

kinds! {
    /// A plan of several.
    NamedPlan by "type" {
        /// Entry by entry.
        Items(PlanItems) = "items",
        /// As Markdown.
        Markdown(PlanMarkdown) = "markdown",
    }
}

//! How views are declared: a table of fields for an object, a table of kinds for what comes in several.

use alloc::borrow::Cow;

use super::{
    raw::{Raw, Unreadable},
    read::View,
};
use crate::wire::open_enum::{
    CompactionStatus, ConfigCategory, DiffOperation, FileType, NoticeSeverity, PermissionOptionKind, PlanEntryPriority,
    PlanEntryStatus, Role, SessionState, StopReason, ToolCallStatus, ToolKind,
};

/// Something of a kind that has no view here, or is newer than this crate: an extension, or a later version of the protocol.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unknown<'a> {
    /// Its kind, as it came.
    pub kind: Cow<'a, str>,
    /// All of it, as it came.
    pub raw: Raw<'a>,
}

/// Declares views of objects: for each field the name of its member, and another one that some peers write in its place.
/// Behind two dots stands a part that has its members in the same object.
macro_rules! views {
    ($(
        $(#[$about:meta])*
        $name:ident {
            $( $(#[$doc:meta])* $field:ident: $type:ty = $member:literal $(or $other:literal)?, )*
            $( .. $(#[$inner_doc:meta])* $inner:ident: $inner_type:ty, )?
        }
    )+) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name<'a> {
            $( $(#[$doc])* pub $field: $type, )*
            $( $(#[$inner_doc])* pub $inner: $inner_type, )?
            /// All of it, as it came.
            pub raw: Raw<'a>,
        }

        impl<'a> View<'a> for $name<'a> {
            fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
                let fields = raw.members([$($member),*])?;
                Self::read_fields(raw, fields)
            }

            fn read_as(raw: Raw<'a>, by: &'static str) -> Result<Self, Unreadable> {
                let [kind, fields @ ..] = raw.members([by, $($member),*])?;
                match kind {
                    Some(_) => Self::read_fields(raw, fields),
                    None => Err(Unreadable::new("it is missing").at(by)),
                }
            }
        }

        impl<'a> $name<'a> {
            fn read_fields(
                raw: Raw<'a>,
                [$($field),*]: [Option<Raw<'a>>; <[&str]>::len(&[$($member),*])],
            ) -> Result<Self, Unreadable> {
                $( $( let $field = $field.or_else(|| raw.member($other)); )? )*
                Ok(Self { $($field: View::member($field).map_err(|why| why.at($member))?,)* $($inner: View::read(raw)?,)? raw })
            }
        }
    )+ };
}

/// Declares what comes in several kinds: the member that names the kind, and for each kind the view of it.
macro_rules! kinds {
    ($(
        $(#[$about:meta])*
        $name:ident by $by:literal { $( $(#[$doc:meta])* $variant:ident($view:ident) = $kind:literal, )+ }
    )+) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "in a box it would cost an allocation")]
        pub enum $name<'a> {
            $( $(#[$doc])* $variant($view<'a>), )+
            /// Any other.
            Unknown(Unknown<'a>),
        }

        impl<'a> $name<'a> {
            /// Its kind on the wire.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $( Self::$variant(_) => $kind, )+
                    Self::Unknown(other) => &other.kind,
                }
            }

            /// All of it, as it came.
            #[must_use]
            pub const fn raw(&self) -> Raw<'a> {
                match self {
                    $( Self::$variant(view) => view.raw, )+
                    Self::Unknown(other) => other.raw,
                }
            }
        }

        /// What is of a known kind and lacks what that kind needs is unreadable, and never taken for an unknown one.
        impl<'a> View<'a> for $name<'a> {
            fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
                // One look is enough for most, so that one walk is, too.
                Ok(match raw.at_a_glance($by) {
                    $( Some($kind) => Self::$variant(View::read_as(raw, $by)?), )+
                    _ => {
                        let [kind] = raw.members([$by])?;
                        let kind = Cow::member(kind).map_err(|why| why.at($by))?;
                        match &*kind {
                            $( $kind => Self::$variant(View::read(raw)?), )+
                            _ => Self::Unknown(Unknown { kind, raw }),
                        }
                    }
                })
            }
        }
    )+ };
}

pub(super) use {kinds, views};

macro_rules! open_enums {
    ($($name:ident)+) => { $(
        impl View<'_> for $name {
            fn read(raw: Raw<'_>) -> Result<Self, Unreadable> {
                Ok(Self::from(&*Cow::read(raw)?))
            }
        }
    )+ };
}
open_enums! {
    CompactionStatus ConfigCategory DiffOperation FileType NoticeSeverity PermissionOptionKind PlanEntryPriority
    PlanEntryStatus Role SessionState StopReason ToolCallStatus ToolKind
}

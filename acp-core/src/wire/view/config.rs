//! The options of a session, and the values there are for them (ACP, Session Config Options).

use alloc::borrow::Cow;

use super::{
    declare::{Unknown, kinds, views},
    list::List,
    raw::{Raw, Unreadable},
    read::View,
};
use crate::wire::open_enum::ConfigCategory;

views! {
    /// All options of a session: `config_option_update`, and the result of `session/set_config_option`.
    ConfigOptions {
        /// The options.
        options: List<'a, ConfigOption<'a>> = "configOptions",
    }

    /// An option of a session.
    ConfigOption {
        /// Its id: `id` in version 1, `configId` in version 2.
        id: Cow<'a, str> = "configId" or "id",
        /// Its name, for people.
        name: Option<Cow<'a, str>> = "name",
        /// What it does.
        description: Option<Cow<'a, str>> = "description",
        /// What it is about: a hint where to show it.
        category: Option<ConfigCategory> = "category",
        ..
        /// Its value, and those there are for it.
        value: ConfigValue<'a>,
    }

    /// One value of several.
    Select {
        /// The id of the value now.
        current: Cow<'a, str> = "currentValue",
        /// The values there are, some of them in groups.
        choices: List<'a, Choice<'a>> = "options",
    }

    /// On or off.
    Switch {
        /// Whether it is on.
        current: bool = "currentValue",
    }

    /// A value of an option.
    ConfigChoice {
        /// Its id.
        id: Cow<'a, str> = "value",
        /// Its name, for people.
        name: Option<Cow<'a, str>> = "name",
        /// What it does.
        description: Option<Cow<'a, str>> = "description",
    }

    /// Values that belong together.
    ConfigGroup {
        /// Its id: `group` in version 1, `groupId` in version 2.
        id: Cow<'a, str> = "groupId" or "group",
        /// Its name, for people.
        name: Option<Cow<'a, str>> = "name",
        /// The values.
        choices: List<'a, ConfigChoice<'a>> = "options",
    }
}

kinds! {
    /// The value of an option, and those there are for it.
    ConfigValue by "type" {
        /// One of several.
        Select(Select) = "select",
        /// On or off.
        Switch(Switch) = "boolean",
    }
}

/// A value there is, or several that belong together.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice<'a> {
    /// A value.
    One(ConfigChoice<'a>),
    /// Several.
    Group(ConfigGroup<'a>),
}

impl<'a> View<'a> for Choice<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let [options] = raw.members(["options"])?;
        if options.is_some() { View::read(raw).map(Self::Group) } else { View::read(raw).map(Self::One) }
    }
}

impl<'a> Select<'a> {
    /// The values there are, those in groups among them.
    pub fn values(&self) -> impl Iterator<Item = ConfigChoice<'a>> + use<'a> {
        self.choices.iter().flat_map(|choice| {
            let (one, group) = match choice {
                Choice::One(one) => (Some(one), None),
                Choice::Group(group) => (None, Some(group.choices)),
            };
            one.into_iter().chain(group.into_iter().flatten())
        })
    }
}

//! Content: what prompts, messages and the results of tools are made of (ACP, Content).

use alloc::borrow::Cow;

use super::{
    declare::{Unknown, kinds, views},
    list::List,
    raw::{Raw, Unreadable},
    read::{Patch, View},
};
use crate::wire::open_enum::Role;

kinds! {
    /// A block of content.
    Content by "type" {
        /// Plain text or Markdown.
        Text(Text) = "text",
        /// An image.
        Image(Media) = "image",
        /// Audio.
        Audio(Media) = "audio",
        /// A resource by its address.
        ResourceLink(ResourceLink) = "resource_link",
        /// A resource with what is in it.
        Resource(Resource) = "resource",
    }
}

impl Content<'_> {
    /// The text, if that is what it is.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }
}

views! {
    /// A block of text.
    Text {
        /// The text.
        text: Cow<'a, str> = "text",
        /// Whom it is for.
        annotations: Option<Annotations<'a>> = "annotations",
    }

    /// An image, or audio.
    Media {
        /// The data, as base64.
        data: Cow<'a, str> = "data",
        /// Its media type.
        mime_type: Option<Cow<'a, str>> = "mimeType",
        /// Where it is from.
        uri: Option<Cow<'a, str>> = "uri",
        /// Whom it is for.
        annotations: Option<Annotations<'a>> = "annotations",
    }

    /// A resource by its address, which the agent can read.
    ResourceLink {
        /// The address.
        uri: Cow<'a, str> = "uri",
        /// Its name.
        name: Option<Cow<'a, str>> = "name",
        /// Its title, for people.
        title: Option<Cow<'a, str>> = "title",
        /// What it is.
        description: Option<Cow<'a, str>> = "description",
        /// Its media type.
        mime_type: Option<Cow<'a, str>> = "mimeType",
        /// Bytes.
        size: Option<u64> = "size",
        /// Whom it is for.
        annotations: Option<Annotations<'a>> = "annotations",
    }

    /// A resource with what is in it.
    Resource {
        /// The resource.
        resource: ResourceContents<'a> = "resource",
        /// Whom it is for.
        annotations: Option<Annotations<'a>> = "annotations",
    }

    /// What is in a resource: text, or data.
    ResourceContents {
        /// The address.
        uri: Cow<'a, str> = "uri",
        /// The text, if it is text.
        text: Option<Cow<'a, str>> = "text",
        /// The data, as base64, if it is none.
        blob: Option<Cow<'a, str>> = "blob",
        /// Its media type.
        mime_type: Option<Cow<'a, str>> = "mimeType",
    }

    /// Whom content is for, and how much it matters.
    Annotations {
        /// Whom it is for.
        audience: Option<List<'a, Role>> = "audience",
        /// How much it matters, from 0 to 1.
        priority: Option<f64> = "priority",
        /// When it was changed, in ISO 8601.
        last_modified: Option<Cow<'a, str>> = "lastModified",
    }

    /// The params of `session/prompt`, for an agent: what [`AgentAction::Prompt`](crate::AgentAction::Prompt) brings.
    Prompt {
        /// What is said.
        content: List<'a, Content<'a>> = "prompt",
    }

    /// A piece of a message, or all there is of it.
    Chunk {
        /// The piece.
        content: Content<'a> = "content",
        /// Which message it is a piece of. Version 2 always says so.
        message_id: Option<Cow<'a, str>> = "messageId",
    }

    /// Version 2: a message as a whole, in place of what was said of it before.
    Message {
        /// Which message.
        message_id: Cow<'a, str> = "messageId",
        /// What it says.
        content: Patch<List<'a, Content<'a>>> = "content",
    }
}

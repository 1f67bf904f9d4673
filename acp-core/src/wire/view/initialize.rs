//! What either end says of itself in `initialize` (ACP, Initialization): one view of it, whichever version says it. The
//! shape follows the `protocolVersion` beside it.

use alloc::borrow::Cow;

use super::{
    declare::views,
    list::List,
    raw::{Raw, Unreadable},
    read::View,
};
use crate::wire::dialect::{Capabilities, Version, v1};

/// The params of `initialize`, for an agent: what [`AgentAction::Initialize`](crate::AgentAction::Initialize) brings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Initialize<'a> {
    /// The version that is asked for; 65535 for any above.
    pub version: u16,
    /// Who asks.
    pub info: Option<Info<'a>>,
    /// What the client offers.
    pub capabilities: ClientCapabilities<'a>,
    /// All of it, as it came.
    pub raw: Raw<'a>,
}

/// The result of `initialize`, for a client: what [`Outcome::Result`](crate::Outcome::Result) brings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Initialized<'a> {
    /// The version that is spoken from here on; 65535 for any above.
    pub version: u16,
    /// Who answers.
    pub info: Option<Info<'a>>,
    /// What the agent offers.
    pub capabilities: AgentCapabilities<'a>,
    /// The ways to log in.
    pub logins: Option<List<'a, AuthMethod<'a>>>,
    /// All of it, as it came.
    pub raw: Raw<'a>,
}

views! {
    /// A program.
    Info {
        /// Its name.
        name: Cow<'a, str> = "name",
        /// Its title, for people.
        title: Option<Cow<'a, str>> = "title",
        /// Its version.
        version: Option<Cow<'a, str>> = "version",
    }

    /// A way to log in (ACP, Authentication).
    AuthMethod {
        /// Its id: `id` in version 1, `methodId` in version 2.
        id: Cow<'a, str> = "methodId" or "id",
        /// Its name, for people.
        name: Option<Cow<'a, str>> = "name",
        /// What it does.
        description: Option<Cow<'a, str>> = "description",
        /// Who does it: `agent`, or `terminal`, which runs the agent's program for it. If version 1 does not say: the agent.
        kind: Option<Cow<'a, str>> = "type",
    }
}

/// What a client offers. What it left out, or cannot be read, is not offered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientCapabilities<'a> {
    /// Which methods may be called.
    pub methods: Capabilities,
    /// A login in a terminal.
    pub terminal_login: bool,
    /// Version 1: options that are on or off.
    pub boolean_options: bool,
    /// Several plans. In version 2, always.
    pub plans: bool,
    /// Notices. In version 2, always.
    pub notices: bool,
    /// News about compactions. In version 2, always.
    pub compactions: bool,
    /// Child sessions. In version 2, always.
    pub subagents: bool,
    /// All of it, as it came, if there is any.
    pub raw: Option<Raw<'a>>,
}

/// What an agent offers. What it left out, or cannot be read, is not offered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentCapabilities<'a> {
    /// Which methods may be called.
    pub methods: Capabilities,
    /// Images in prompts.
    pub images: bool,
    /// Audio in prompts.
    pub audio: bool,
    /// Resources with their content in prompts.
    pub embedded_context: bool,
    /// MCP servers over HTTP.
    pub mcp_http: bool,
    /// Version 1: MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// MCP servers over their standard streams. In version 1, always.
    pub mcp_stdio: bool,
    /// Sessions in more than one folder.
    pub additional_directories: bool,
    /// System prompts that the client adds to.
    pub system_prompt: bool,
    /// All of it, as it came, if there is any.
    pub raw: Option<Raw<'a>>,
}

/// What both have in common.
struct Parts<'a> {
    number: u16,
    version: Version,
    info: Option<Info<'a>>,
    capabilities: Option<Raw<'a>>,
}

/// Reads what both have in common, with the names of version 1 for what has another one there.
fn parts<'a>(raw: Raw<'a>, v1_names: [&str; 2]) -> Result<Parts<'a>, Unreadable> {
    let [version] = raw.members(["protocolVersion"])?;
    let number = version.map_or(Err("it is missing"), |version| {
        v1::version_number(version.as_bytes()).ok_or("it is no integer from 0")
    });
    let number = number.map_err(|why| Unreadable::new(why).at("protocolVersion"))?;
    let version = Version::of(number);
    let names = if version == Version::V1 { v1_names } else { ["info", "capabilities"] };
    let [info, capabilities] = raw.members(names)?;
    Ok(Parts { number, version, info: View::member(info)?, capabilities })
}

impl<'a> View<'a> for Initialize<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let Parts { number, version, info, capabilities: all } = parts(raw, ["clientInfo", "clientCapabilities"])?;
        let of_v2 = version == Version::V2;
        let capabilities = ClientCapabilities {
            methods: Capabilities::of_client_in(raw.as_bytes()),
            terminal_login: is_offered(all, &["auth", "terminal"]),
            boolean_options: is_offered(all, &["session", "configOptions", "boolean"]),
            plans: of_v2 || is_offered(all, &["plan"]),
            notices: of_v2 || is_offered(all, &["session", "notices"]),
            compactions: of_v2 || is_offered(all, &["session", "compaction"]),
            subagents: of_v2 || is_offered(all, &["subagents"]),
            raw: all,
        };
        Ok(Self { version: number, info, capabilities, raw })
    }
}

impl<'a> View<'a> for Initialized<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let Parts { number, version, info, capabilities: all } = parts(raw, ["agentInfo", "agentCapabilities"])?;
        let [logins] = raw.members(["authMethods"])?;
        let of_v1 = version == Version::V1;
        let offers = |v1: &[&str], v2: &[&str]| is_offered(all, if of_v1 { v1 } else { v2 });
        let capabilities = AgentCapabilities {
            methods: Capabilities::of_agent_in(raw.as_bytes()),
            images: offers(&["promptCapabilities", "image"], &["session", "prompt", "image"]),
            audio: offers(&["promptCapabilities", "audio"], &["session", "prompt", "audio"]),
            embedded_context: offers(
                &["promptCapabilities", "embeddedContext"],
                &["session", "prompt", "embeddedContext"],
            ),
            mcp_http: offers(&["mcpCapabilities", "http"], &["session", "mcp", "http"]),
            mcp_sse: of_v1 && is_offered(all, &["mcpCapabilities", "sse"]),
            mcp_stdio: of_v1 || is_offered(all, &["session", "mcp", "stdio"]),
            additional_directories: offers(
                &["sessionCapabilities", "additionalDirectories"],
                &["session", "additionalDirectories"],
            ),
            system_prompt: offers(&["sessionCapabilities", "systemPrompt"], &["session", "systemPrompt"]),
            raw: all,
        };
        Ok(Self { version: number, info, capabilities, logins: View::member(logins)?, raw })
    }
}

/// Whether the object has this behind these names.
fn is_offered(all: Option<Raw<'_>>, path: &[&str]) -> bool {
    path.iter().try_fold(all, |part, name| part.map(|part| part.member(name))).flatten().is_some_and(Raw::is_offered)
}

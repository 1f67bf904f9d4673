//! The methods of the protocol, as one table.

use alloc::boxed::Box;
use core::fmt;

/// Who may send a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sender {
    /// The client.
    Client,
    /// The agent.
    Agent,
    /// Either of them.
    Both,
}

/// Whether a method has an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// It has.
    Request,
    /// It has not.
    Notification,
    /// A notification, but the form of a request is tolerated.
    Either,
}

/// Which capability the receiver of a method must have offered in `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// None: the baseline.
    None,
    /// `agentCapabilities.loadSession`
    LoadSession,
    /// `agentCapabilities.sessionCapabilities.resume`
    Resume,
    /// `agentCapabilities.sessionCapabilities.list`
    List,
    /// `agentCapabilities.sessionCapabilities.delete`
    Delete,
    /// `agentCapabilities.sessionCapabilities.close`
    Close,
    /// `agentCapabilities.sessionCapabilities.fork`
    Fork,
    /// `agentCapabilities.auth.logout`
    Logout,
    /// `clientCapabilities.fs.readTextFile`
    FsRead,
    /// `clientCapabilities.fs.writeTextFile`
    FsWrite,
    /// `clientCapabilities.terminal`
    Terminal,
    /// `clientCapabilities.elicitation.form` or `.url`; the same in version 2, in `capabilities`.
    Elicitation,
    /// `clientCapabilities.elicitation.form`
    ElicitationForm,
    /// `clientCapabilities.elicitation.url`
    ElicitationUrl,
    /// Version 2: `capabilities.session`, which brings [`LoadSession`](Self::LoadSession), [`Resume`](Self::Resume),
    /// [`List`](Self::List) and [`Close`](Self::Close).
    Session,
    /// Version 2: `authMethods` that are not empty, which bring [`Logout`](Self::Logout).
    Auth,
}

/// What the protocol says about a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// Its name on the wire.
    pub name: &'static str,
    /// Who may send it.
    pub sender: Sender,
    /// Whether it has an answer.
    pub form: Form,
    /// What its receiver must have offered in version 1. `None`: version 1 does not have it.
    pub v1: Option<Gate>,
    /// What its receiver must have offered in version 2. `None`: version 2 does not have it.
    pub v2: Option<Gate>,
    /// Whether `params.sessionId` must name a session that is open on this connection. Methods that name a *stored*
    /// session (load, resume, fork, delete) are not among them.
    pub in_session: bool,
}

impl Spec {
    /// What its receiver must have offered in this version of the protocol. `None`: that version does not have it.
    #[must_use]
    pub const fn gate(self, version: u16) -> Option<Gate> {
        if version >= 2 { self.v2 } else { self.v1 }
    }
}

macro_rules! gate {
    (-) => {
        None
    };
    ($gate:ident) => {
        Some(Gate::$gate)
    };
}

macro_rules! methods {
    ($($method:ident $name:literal $sender:ident $form:ident $v1:tt $v2:tt $in_session:literal)*) => {
        /// Every method of the protocol's versions 1 and 2, with the unstable `session/fork` and the protocol-level
        /// `$/cancel_request`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $(#[doc = concat!("`", $name, "`")] $method,)*
        }

        impl Method {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$method),*];

            /// What the protocol says about it.
            #[must_use]
            pub const fn spec(self) -> Spec {
                match self {
                    $(Self::$method => Spec {
                        name: $name,
                        sender: Sender::$sender,
                        form: Form::$form,
                        v1: gate!($v1),
                        v2: gate!($v2),
                        in_session: $in_session,
                    },)*
                }
            }

            /// The method of this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$method),)*
                    _ => None,
                }
            }
        }
    };
}

methods! {
    // method                 name                         sender  form          version 1    version 2    in session
    Initialize               "initialize"                 Client  Request       None         None         false
    Authenticate             "authenticate"               Client  Request       None         -            false
    Logout                   "logout"                     Client  Request       Logout       -            false
    AuthLogin                "auth/login"                 Client  Request       -            Auth         false
    AuthLogout               "auth/logout"                Client  Request       -            Auth         false
    SessionNew               "session/new"                Client  Request       None         Session      false
    SessionLoad              "session/load"               Client  Request       LoadSession  -            false
    SessionResume            "session/resume"             Client  Request       Resume       Session      false
    SessionList              "session/list"               Client  Request       List         Session      false
    SessionDelete            "session/delete"             Client  Request       Delete       Delete       false
    SessionClose             "session/close"              Client  Request       Close        Session      true
    SessionFork              "session/fork"               Client  Request       Fork         Fork         false
    SessionSetMode           "session/set_mode"           Client  Request       None         -            true
    SessionSetConfigOption   "session/set_config_option"  Client  Request       None         Session      true
    SessionPrompt            "session/prompt"             Client  Request       None         Session      true
    SessionCancel            "session/cancel"             Client  Either        None         Session      true
    ToolCallCancel           "tool_call/cancel"           Client  Request       -            Session      true
    TerminalCancel           "terminal/cancel"            Client  Request       -            Session      true
    SessionUpdate            "session/update"             Agent   Notification  None         None         true
    SessionRequestPermission "session/request_permission" Agent   Request       None         None         true
    FsReadTextFile           "fs/read_text_file"          Agent   Request       FsRead       -            true
    FsWriteTextFile          "fs/write_text_file"         Agent   Request       FsWrite      -            true
    TerminalCreate           "terminal/create"            Agent   Request       Terminal     -            true
    TerminalOutput           "terminal/output"            Agent   Request       Terminal     -            true
    TerminalWaitForExit      "terminal/wait_for_exit"     Agent   Request       Terminal     -            true
    TerminalKill             "terminal/kill"              Agent   Request       Terminal     -            true
    TerminalRelease          "terminal/release"           Agent   Request       Terminal     -            true
    ElicitationCreate        "elicitation/create"         Agent   Request       Elicitation  Elicitation  false
    ElicitationComplete      "elicitation/complete"       Agent   Notification  Elicitation  Elicitation  false
    CancelRequest            "$/cancel_request"           Both    Notification  None         None         false
}

impl Method {
    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether this version of the protocol has it.
    #[must_use]
    pub const fn is_in(self, version: u16) -> bool {
        self.spec().gate(version).is_some()
    }

    /// Whether it opens or uses a session, so that an agent that demands a login answers it -32000 without one (ACP v1,
    /// Authentication). What ends, lists or cancels stays possible without.
    #[must_use]
    pub const fn needs_login(self) -> bool {
        matches!(
            self,
            Self::SessionNew | Self::SessionLoad | Self::SessionResume | Self::SessionFork | Self::SessionPrompt
        )
    }
}

/// A method's name on the wire. Known ones cost nothing, others are owned. Make it with [`new`](Self::new): the same name
/// must not be `Known` here and `Other` there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MethodName {
    /// A method of the protocol.
    Known(Method),
    /// Any other name.
    Other(Box<str>),
}

impl MethodName {
    /// The method of this name, or the name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Method::from_name(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(method) => method.name(),
            Self::Other(name) => name,
        }
    }

    /// The method, if the protocol has it.
    #[must_use]
    pub const fn known(&self) -> Option<Method> {
        match self {
            Self::Known(method) => Some(*method),
            Self::Other(_) => None,
        }
    }

    /// Whether it is somebody's own: those names begin with `_` (ACP, "Extensibility").
    #[must_use]
    pub fn is_extension(&self) -> bool {
        self.as_str().starts_with('_')
    }

    /// Whether it belongs to the protocol below the methods: those names begin with `$/`. A notification of this kind may
    /// be ignored by who does not know it.
    #[must_use]
    pub fn is_protocol_level(&self) -> bool {
        self.as_str().starts_with("$/")
    }
}

impl From<Method> for MethodName {
    fn from(method: Method) -> Self {
        Self::Known(method)
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, Gate, Method, MethodName, Sender};

    #[test]
    fn every_name_finds_its_method() {
        for method in Method::ALL {
            assert_eq!(MethodName::new(method.name()), MethodName::Known(*method));
            assert_eq!(MethodName::from(*method).as_str(), method.name());
        }
        for name in ["", "Initialize", "session/prompt ", "session", "$/cancel", "_x/session/prompt"] {
            let method = MethodName::new(name);
            assert_eq!((method.as_str(), method.known()), (name, None));
        }
    }

    #[test]
    fn names_tell_whose_they_are() {
        for (name, extension, protocol) in [
            ("_zed.dev/x", true, false),
            ("$/cancel_request", false, true),
            ("$/progress", false, true),
            ("session/prompt", false, false),
            ("$", false, false),
        ] {
            let name = MethodName::new(name);
            assert_eq!((name.is_extension(), name.is_protocol_level()), (extension, protocol), "{name}");
        }
    }

    #[test]
    fn what_goes_together_in_the_table() {
        for method in Method::ALL {
            let spec = method.spec();
            assert!(spec.v1.is_some() || spec.v2.is_some(), "{}: who has it?", spec.name);
            for gate in [spec.v1, spec.v2].into_iter().flatten().filter(|gate| *gate != Gate::None) {
                let of_client = matches!(gate, Gate::FsRead | Gate::FsWrite | Gate::Terminal | Gate::Elicitation);
                assert!(of_client == (spec.sender == Sender::Agent), "{}: who offers it?", spec.name);
            }
            let prefix = spec.name.split_once('/').map(|(prefix, _)| prefix);
            assert!(
                !spec.in_session || matches!(prefix, Some("session" | "fs" | "terminal" | "tool_call")),
                "{}",
                spec.name
            );
            assert_eq!(spec.sender == Sender::Both, *method == Method::CancelRequest, "{}", spec.name);
            assert_eq!(spec.form == Form::Either, *method == Method::SessionCancel, "{}", spec.name);
        }
    }
}

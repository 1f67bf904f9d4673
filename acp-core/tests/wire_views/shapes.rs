//! The views as a table: which members an object has, and which of them it cannot be without. Written from the tables of the
//! protocol, not from the views, and read over a tree: what [`expected`] says a view must say, too.

use serde_json::{Map, Value};

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    Whole {
        most: u64,
        signed: bool,
    },
    Number,
    YesNo,
    Any,
    List(&'static Self),
    Object(&'static [Field]),
    /// The member that names the kind, and the shape of each.
    Kinds(&'static str, &'static [(&'static str, Self)]),
    /// The first shape if it has this member, else the other.
    Either(&'static str, &'static Self, &'static Self),
    /// The content of tool calls: its kinds, and blocks of content that stand there by themselves.
    OfTool,
    /// An object, and a part of it that stands in it.
    And(&'static Self, &'static Self),
}

/// A member: its names, and whether it must be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) names: &'static [&'static str],
    pub(crate) need: Need,
    pub(crate) shape: &'static Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Must,
    May,
    Patch,
}

macro_rules! object {
    ($($need:ident $($name:literal)|+: $shape:expr),* $(,)?) => {
        Shape::Object(&[$( Field { names: &[$($name),+], need: Need::$need, shape: &$shape } ),*])
    };
}

use Shape::{Any, Kinds, List, Number, OfTool, Text, YesNo};

const LARGE: Shape = Shape::Whole { most: u64::MAX, signed: false };
const SIGNED: Shape = Shape::Whole { most: i64::MAX as u64, signed: true };
const SMALL: Shape = Shape::Whole { most: u16::MAX as u64, signed: false };
const LINE: Shape = Shape::Whole { most: u32::MAX as u64, signed: false };

const TEXTS: Shape = List(&Text);
const CANCEL: Shape = object! { May "cancel": Any };
const ANNOTATIONS: Shape = object! { May "audience": TEXTS, May "priority": Number, May "lastModified": Text };
const MEDIA: Shape =
    object! { Must "data": Text, May "mimeType": Text, May "uri": Text, May "annotations": ANNOTATIONS };

pub(crate) const CONTENT: Shape = Kinds(
    "type",
    &[
        ("text", object! { Must "text": Text, May "annotations": ANNOTATIONS }),
        ("image", MEDIA),
        ("audio", MEDIA),
        (
            "resource_link",
            object! { Must "uri": Text, May "name": Text, May "title": Text, May "description": Text,
            May "mimeType": Text, May "size": LARGE, May "annotations": ANNOTATIONS },
        ),
        (
            "resource",
            object! { May "annotations": ANNOTATIONS,
            Must "resource": object! { Must "uri": Text, May "text": Text, May "blob": Text, May "mimeType": Text } },
        ),
    ],
);

pub(crate) const BLOCKS: Shape = List(&CONTENT);
const CHUNK: Shape = object! { Must "content": CONTENT, May "messageId": Text };
const MESSAGE: Shape = object! { Must "messageId": Text, Patch "content": BLOCKS };

const CHANGE: Shape = object! { Must "operation": Text, May "path": Text, May "oldPath": Text, May "fileType": Text, May "mimeType": Text };
const CHANGES: Shape =
    object! { Must "changes": List(&CHANGE), May "patch": object! { Must "format": Text, Must "text": Text } };
const DIFF: Shape = object! { Must "path": Text, May "oldText": Text, Must "newText": Text };
pub(crate) const TOOL_CONTENT: Shape = Kinds(
    "type",
    &[
        ("content", object! { Must "content": CONTENT }),
        ("diff", Shape::Either("changes", &CHANGES, &DIFF)),
        ("terminal", object! { Must "terminalId": Text }),
        ("session", object! { Must "sessionId": Text }),
    ],
);
pub(crate) const TOOL_CALL: Shape = object! { Must "toolCallId": Text, Patch "title": Text, Patch "name": Text, Patch "kind": Text,
Patch "status": Text, Patch "content": List(&OfTool), Patch "rawInput": Any, Patch "rawOutput": Any,
Patch "locations": List(&object! { Must "path": Text, May "line": LINE }), Patch "capabilities": CANCEL };

const ENTRIES: Shape = List(&object! { Must "content": Text, May "priority": Text, May "status": Text });
const NAMED_PLAN: Shape = Kinds(
    "type",
    &[
        ("items", object! { Must "planId": Text, Must "entries": ENTRIES }),
        ("markdown", object! { Must "planId": Text, Must "content": Text, May "path": Text }),
    ],
);

const CHOICE: Shape = object! { Must "value": Text, May "name": Text, May "description": Text };
const GROUP: Shape = object! { Must "groupId" | "group": Text, May "name": Text, Must "options": List(&CHOICE) };
const CONFIG_VALUE: Shape = Kinds(
    "type",
    &[
        (
            "select",
            object! { Must "currentValue": Text, Must "options": List(&Shape::Either("options", &GROUP, &CHOICE)) },
        ),
        ("boolean", object! { Must "currentValue": YesNo }),
    ],
);
const CONFIG: Shape = Shape::And(
    &object! { Must "configId" | "id": Text, May "name": Text, May "description": Text, May "category": Text },
    &CONFIG_VALUE,
);
const COMMANDS: Shape = List(&object! { Must "name": Text, May "description": Text, May "type": Text,
May "input": object! { May "hint": Text } });
const MODES: Shape = object! { Must "currentModeId": Text,
Must "availableModes": List(&object! { Must "id": Text, May "name": Text, May "description": Text }) };
pub(crate) const OPENED: Shape = object! { May "sessionId": Text, May "modes": MODES, May "configOptions": List(&CONFIG),
May "availableCommands": COMMANDS };
pub(crate) const SESSIONS: Shape = object! { May "nextCursor": Text, Must "sessions": List(&object! { Must "sessionId": Text,
May "cwd": Text, May "title": Text, May "updatedAt": Text, May "additionalDirectories": TEXTS }) };

const STATE: Shape = object! { Must "state": Text, May "stopReason": Text,
May "error": object! { Must "code": SIGNED, Must "message": Text, May "data": Any },
May "background": List(&Kinds("type", &[
    ("tool_call", object! { Must "toolCallId": Text }),
    ("terminal", object! { Must "terminalId": Text }),
    ("subagent", object! { Must "sessionId": Text }),
])) };
const EXIT: Shape = object! { May "exitCode": SIGNED, May "signal": Text };
const SIZE: Shape = object! { Must "cols": SMALL, Must "rows": SMALL };

/// The updates of version 1, with those of both: `sessionUpdate` and the members.
pub(crate) const UPDATES_V1: &[(&str, Shape)] = &[
    ("user_message_chunk", CHUNK),
    ("agent_message_chunk", CHUNK),
    ("agent_thought_chunk", CHUNK),
    ("tool_call", TOOL_CALL),
    ("tool_call_update", TOOL_CALL),
    ("plan", object! { Must "entries": ENTRIES }),
    ("plan_update", object! { Must "plan": NAMED_PLAN }),
    ("plan_removed", object! { Must "planId": Text }),
    ("available_commands_update", object! { Must "availableCommands": COMMANDS }),
    ("current_mode_update", object! { Must "currentModeId" | "modeId": Text }),
    ("config_option_update", object! { Must "configOptions": List(&CONFIG) }),
    ("session_info_update", object! { Patch "title": Text, Patch "updatedAt": Text }),
    (
        "usage_update",
        object! { Must "used": LARGE, Must "size": LARGE,
        Patch "cost": object! { Must "amount": Number, May "currency": Text } },
    ),
    ("notice", object! { Must "title": Text, May "description": Text, May "severity": Text }),
    (
        "compaction_update",
        object! { Must "compactionId": Text, Patch "status": Text, Patch "summary": BLOCKS, Patch "error": Text },
    ),
    ("compaction_summary_chunk", object! { Must "compactionId": Text, Must "content": CONTENT }),
    (
        "subagent_update",
        object! { Must "sessionId": Text, Patch "title": Text, Patch "description": Text, Patch "state": STATE,
        Patch "cwd": Text, Patch "additionalDirectories": TEXTS, Patch "capabilities": CANCEL },
    ),
    (
        "session_message",
        object! { Must "messageId": Text, May "senderSessionId": Text, May "recipientSessionId": Text,
        Patch "content": BLOCKS },
    ),
    ("session_message_chunk", CHUNK),
    ("prompt_suggestions_update", object! { Must "suggestions": List(&object! { Must "prompt": BLOCKS }) }),
    ("cursor_update", object! { Must "cursorId": Text, Patch "anchor": Any, Patch "capabilities": Any }),
];

/// The updates that only version 2 has.
pub(crate) const UPDATES_V2: &[(&str, Shape)] = &[
    ("user_message", MESSAGE),
    ("agent_message", MESSAGE),
    ("agent_thought", MESSAGE),
    ("tool_call_content_chunk", object! { Must "toolCallId": Text, Must "content": OfTool }),
    (
        "terminal_update",
        object! { Must "terminalId": Text, Patch "command": Text, Patch "cwd": Text,
        Patch "output": object! { Must "data": Text }, Patch "exitStatus": EXIT, Patch "size": SIZE,
        Patch "capabilities": CANCEL },
    ),
    ("terminal_output_chunk", object! { Must "terminalId": Text, Must "data": Text }),
    ("state_update", STATE),
    ("replay_complete", object! {}),
];

/// What a view of a value says, as a tree: the members that it has, by their first name. `None`: it is unreadable.
pub(crate) fn expected(shape: &Shape, value: &Value) -> Option<Value> {
    match shape {
        Text => value.is_string().then(|| value.clone()),
        YesNo => value.is_boolean().then(|| value.clone()),
        Any => Some(value.clone()),
        Number => value.as_f64().map(Value::from),
        Shape::Whole { most, signed } => {
            let fits = value.as_u64().is_some_and(|whole| whole <= *most) || (*signed && value.is_i64());
            fits.then(|| value.clone())
        }
        List(of) => Some(value.as_array()?.iter().filter_map(|element| expected(of, element)).collect()),
        Shape::Object(fields) => object(fields, value).map(Value::Object),
        Kinds(by, kinds) => {
            let kind = value.as_object()?.get(*by)?.as_str()?;
            match kinds.iter().find(|(known, _)| *known == kind) {
                Some((_, shape)) => {
                    let mut said = expected(shape, value)?;
                    said[*by] = kind.into();
                    Some(said)
                }
                None => Some(serde_json::json!({ "unknown": kind, "raw": value })),
            }
        }
        Shape::Either(member, with, without) => {
            let shape = if value.as_object()?.contains_key(*member) { with } else { without };
            expected(shape, value)
        }
        OfTool => {
            let kind = value.as_object()?.get("type")?.as_str()?;
            let Kinds(_, own) = TOOL_CONTENT else { unreachable!() };
            if own.iter().any(|(known, _)| *known == kind) {
                return expected(&TOOL_CONTENT, value);
            }
            let bare = expected(&CONTENT, value)?;
            Some(if bare.get("unknown").is_some() {
                bare
            } else {
                serde_json::json!({ "type": "content", "content": bare })
            })
        }
        Shape::And(object, part) => {
            let (mut said, part) = (expected(object, value)?, expected(part, value)?);
            said["value"] = part;
            Some(said)
        }
    }
}

fn object(fields: &[Field], value: &Value) -> Option<Map<String, Value>> {
    let members = value.as_object()?;
    let mut said = Map::new();
    for Field { names, need, shape } in fields {
        let member = names.iter().find_map(|name| members.get(*name));
        let read = member.and_then(|value| expected(shape, value));
        let read = match need {
            Need::Must => Some(read?),
            Need::Patch if member.is_some_and(Value::is_null) => Some(Value::Null),
            Need::May | Need::Patch => read,
        };
        said.extend(read.map(|read| (names[0].to_owned(), read)));
    }
    Some(said)
}

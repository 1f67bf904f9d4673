//! What holds for each of the open enums.

use alloc::{format, string::ToString, vec::Vec};

use super::*;

/// What holds for each of the enums.
macro_rules! laws {
    ($($test:ident: $name:ident, $count:literal;)+) => { $(
        #[test]
        fn $test() {
            assert_eq!($name::KNOWN.len(), $count);
            for known in $name::KNOWN {
                let text = known.as_str();
                assert!(!matches!($name::from(text), $name::Unknown(_)), "{text}");
                assert_eq!(&$name::from(text), known);
                assert_eq!(&$name::from(text.to_string()), known);
                assert_eq!(known.to_string(), text);
                let json = serde_json::to_string(known).unwrap();
                assert_eq!(json, format!("\"{text}\""));
                assert_eq!(&serde_json::from_str::<$name>(&json).unwrap(), known);
                assert_eq!(&serde_json::from_str::<$name>(&json.replace('t', "\\u0074")).unwrap(), known);
            }
            for other in ["", "END_TURN", "end_turn ", "\u{0}", "_vendor", "ü\"\\"] {
                let value = $name::from(other);
                assert_eq!(value, $name::Unknown(other.into()));
                let json = serde_json::to_string(&value).unwrap();
                assert_eq!(serde_json::from_str::<$name>(&json).unwrap(), value);
                assert_eq!(value.as_str(), other);
            }
            for no_string in ["null", "1", "true", "[]", "[\"read\"]", "{}", "{\"read\":null}"] {
                assert!(serde_json::from_str::<$name>(no_string).is_err(), "{no_string}");
            }
        }
    )+ };
}

laws! {
    stop_reasons_are_open: StopReason, 6;
    session_states_are_open: SessionState, 4;
    tool_kinds_are_open: ToolKind, 10;
    tool_call_statuses_are_open: ToolCallStatus, 6;
    permission_option_kinds_are_open: PermissionOptionKind, 4;
    plan_entry_priorities_are_open: PlanEntryPriority, 3;
    plan_entry_statuses_are_open: PlanEntryStatus, 4;
    update_kinds_are_open: UpdateKind, 29;
    content_kinds_are_open: ContentKind, 5;
    roles_are_open: Role, 2;
    notice_severities_are_open: NoticeSeverity, 3;
    compaction_statuses_are_open: CompactionStatus, 4;
    config_categories_are_open: ConfigCategory, 5;
    diff_operations_are_open: DiffOperation, 5;
    file_types_are_open: FileType, 4;
}

#[test]
fn the_names_are_those_of_the_protocol() {
    macro_rules! names {
        ($name:ident) => {
            $name::KNOWN.iter().map($name::as_str).collect::<Vec<_>>().join(" ")
        };
    }
    assert_eq!(names!(StopReason), "end_turn max_tokens max_turn_requests refusal cancelled error");
    assert_eq!(names!(SessionState), "running requires_action idle unknown");
    assert_eq!(names!(ToolKind), "read edit delete move search execute think fetch switch_mode other");
    assert_eq!(names!(ToolCallStatus), "pending in_progress completed failed paused cancelled");
    assert_eq!(names!(PermissionOptionKind), "allow_once allow_always reject_once reject_always");
    assert_eq!(names!(PlanEntryPriority), "high medium low");
    assert_eq!(names!(PlanEntryStatus), "pending in_progress completed cancelled");
    assert_eq!(names!(ContentKind), "text image audio resource_link resource");
    assert_eq!(names!(Role), "assistant user");
    assert_eq!(names!(NoticeSeverity), "info warning error");
    assert_eq!(names!(CompactionStatus), "in_progress completed failed cancelled");
    assert_eq!(names!(ConfigCategory), "mode model model_config thought_level speed");
    assert_eq!(names!(DiffOperation), "add delete modify move copy");
    assert_eq!(names!(FileType), "text binary directory symlink");
    assert_eq!(
        names!(UpdateKind),
        "user_message_chunk agent_message_chunk agent_thought_chunk tool_call tool_call_update plan plan_update \
         plan_removed available_commands_update current_mode_update config_option_update session_info_update \
         usage_update notice compaction_update compaction_summary_chunk subagent_update session_message \
         session_message_chunk prompt_suggestions_update cursor_update user_message agent_message agent_thought \
         tool_call_content_chunk terminal_update terminal_output_chunk state_update replay_complete"
    );
}

#[test]
fn the_kind_named_other_is_not_the_unknown_kind() {
    assert_eq!(ToolKind::from("other"), ToolKind::Other);
    assert_eq!(ToolKind::from("Other"), ToolKind::Unknown("Other".into()));
}

//! Every file in `tests/wire/` is a message as it is on the wire. Adapters read the same files.

use std::{collections::BTreeSet, path::PathBuf};

use aside_provider::key::Key;
use aside_turn::{
    effect::{self, TurnPermission},
    input,
    record::{By, CallKey, Level, PromptId, Reason, Status},
    response,
};
use serde::Serializer;
use serde_json::json;

use super::{
    methods::{Notification, TurnUpdated},
    *,
};

mod contract;

/// Writes what nothing but these tests may write.
pub(super) fn revealed<S: Serializer>(
    value: &SecretValue,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.0.serialize(serializer)
}

pub(super) fn revealed_key<S: Serializer>(
    key: &Option<Key>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let shown = key.as_ref().and_then(|key| key.header(""));
    let shown = shown.as_ref().and_then(|value| value.to_str().ok());
    shown.serialize(serializer)
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire")
}

fn file(name: &str) -> Value {
    let path = folder().join(name).with_extension("json");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Name and content of every file, in order of name.
fn files() -> Vec<(String, Value)> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of messages")
        .map(|entry| {
            entry
                .expect("an entry")
                .path()
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| (name.clone(), file(&name)))
        .collect()
}

fn params(message: &Value) -> &Value {
    message.get("params").expect("params")
}

/// All values of the member at this pointer over all messages.
fn words(pointer: &str) -> BTreeSet<String> {
    files()
        .iter()
        .filter_map(|(_, message)| Some(message.pointer(pointer)?.as_str()?.to_owned()))
        .collect()
}

#[test]
fn every_kind_of_message_has_a_file() {
    let check = |pointer, expected: &str| {
        let expected: BTreeSet<String> = expected.split(' ').map(str::to_owned).collect();
        assert_eq!(words(pointer), expected, "{pointer}");
    };
    check(
        "/params/update/kind",
        "edit inquiry notice question reasoning retry steered summary text title toolCall toolOutput toolResult usage",
    );
    check("/params/outcome", "cancelled completed failed interrupted");
    check(
        "/params/error/code",
        "budget context_full internal limit no_provider provider refused schema",
    );
    check("/params/kind", "deliverResult question runTool");
    check(
        "/params/answerType/type",
        "boolean multi_select number secret select text",
    );
    check("/params/preview/kind", "command diff text");
    check("/result/action", "answer cancel decline");
}

#[test]
fn a_notification_is_a_json_rpc_message() {
    let message = file("update-text");
    let update: TurnUpdate = serde_json::from_value(params(&message).clone()).expect("an update");
    let written = serde_json::to_string(&Notification::of::<TurnUpdated>(update)).expect("text");
    assert_eq!(written, message.to_string());
}

#[track_caller]
fn check_update(name: &str, told: Update) {
    let written = serde_json::to_string(&told).expect("text");
    assert_eq!(
        written,
        file(name)["params"]["update"].to_string(),
        "{name}"
    );
}

#[test]
fn what_the_turn_tells_is_what_clients_are_sent() {
    let text = "I will look at the imports first.\n".to_owned();
    check_update("update-text", Update::Text { step: 1, text });
    check_update(
        "update-reasoning",
        Update::Reasoning {
            step: 1,
            text: "The file is small.".into(),
        },
    );
    for (name, status) in [
        ("update-tool-call-waiting", CallStatus::Waiting),
        ("update-tool-call-running", CallStatus::Running),
    ] {
        let arguments = json!({"path": "src/main.rs", "old_text": "use b;\nuse a;", "new_text": "use a;\nuse b;"});
        let (call_id, tool, title) = (
            "call_a3b7".into(),
            "edit_file".into(),
            "Edit src/main.rs".into(),
        );
        check_update(
            name,
            Update::ToolCall {
                step: 1,
                call_id,
                name: tool,
                title,
                arguments,
                status,
            },
        );
    }
    let result = |id: &str, status, summary: &str| Update::ToolResult {
        call_id: id.into(),
        status,
        summary: summary.into(),
        content: None,
        exit_status: None,
    };
    check_update(
        "update-tool-result-exit",
        Update::ToolResult {
            call_id: "call_e005".into(),
            status: Status::Ok,
            summary: "Exit status 101".into(),
            content: None,
            exit_status: Some(101),
        },
    );
    check_update(
        "update-tool-result-whole",
        Update::ToolResult {
            call_id: "call_a3bb".into(),
            status: Status::Ok,
            summary: "Monday: rain".into(),
            content: Some("Monday: rain\nTuesday: sun".into()),
            exit_status: None,
        },
    );
    check_update(
        "update-tool-result-ok",
        result("call_a3b7", Status::Ok, "2 lines changed"),
    );
    let summary = "There is no file src/mian.rs.";
    check_update(
        "update-tool-result-error",
        result("call_a3b8", Status::Error, summary),
    );
    let diff = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,2 +1,2 @@\n-use b;\n use a;\n+use b;\n";
    check_update(
        "update-edit",
        Update::Edit {
            call_id: "call_a3b7".into(),
            changes: vec![ShownChange {
                uri: "file:///home/ada/demo/src/main.rs".into(),
                diff: Some(diff.into()),
                missing: None,
                whole: None,
            }],
        },
    );
    check_update(
        "update-steered",
        Update::Steered {
            text: "Leave the tests alone.".into(),
        },
    );
    let call_ids = vec!["call_a3b7".into(), "call_c001".into()];
    check_update(
        "update-inquiry-asked",
        Update::Inquiry {
            call_ids,
            status: InquiryStatus::Asked,
        },
    );
    check_update(
        "update-retry-discards",
        Update::Retry {
            attempt: 2,
            after_ms: 3000,
            reason: "The connection broke.".into(),
            discard_step: Some(2),
        },
    );
    let text = "The answer was cut at its token limit.".to_owned();
    check_update(
        "update-notice-warning",
        Update::Notice {
            level: Level::Warning,
            text,
        },
    );
    check_update(
        "update-summary-asked",
        Update::Summary {
            status: SummaryStatus::Asked,
            text: None,
        },
    );
    check_update(
        "update-summary-made",
        Update::Summary {
            status: SummaryStatus::Made,
            text: Some("## Goal\nRename the option.".into()),
        },
    );
    check_update(
        "update-summary-failed",
        Update::Summary {
            status: SummaryStatus::Failed,
            text: Some("the summary was cut off".into()),
        },
    );
    check_update(
        "update-usage",
        Update::Usage(TurnUsage {
            context_tokens: Some(9_140),
            context_window: Some(200_000),
            ..usage().into()
        }),
    );
}

fn usage() -> response::Usage {
    response::Usage {
        input: 1200,
        cache_read: 8000,
        cache_write: 600,
        output: 340,
        cost: Some(0.0125),
        partial: false,
    }
}

#[test]
fn what_becomes_of_a_prompt_is_what_clients_are_sent() {
    check_update(
        "update-question-opened-run-tool",
        Update::Question(QuestionUpdate::Opened {
            prompt_id: "p-18".into(),
            call_id: "call_c001".into(),
            prompt_kind: PromptKind::RunTool,
            label: "run_command".into(),
            text: "Run cargo test?".into(),
        }),
    );
    let answered =
        |id: &str, by, answer| Update::Question(QuestionUpdate::answered(id.into(), by, answer));
    check_update(
        "update-question-answered",
        answered("p-17", By::User, Some(true.into())),
    );
    check_update(
        "update-question-remembered",
        answered("p-19", By::Remembered, Some(true.into())),
    );
    check_update("update-question-redacted", answered("p-20", By::User, None));
    check_update(
        "update-question-cancelled",
        Update::Question(QuestionUpdate::cancelled(
            "p-21".into(),
            &Reason::Withdrawn,
            None,
        )),
    );
}

#[test]
fn a_prompt_of_the_turn_is_the_prompt_that_clients_are_sent() {
    let prompt = effect::Prompt {
        id: PromptId("p-24".into()),
        call: CallKey(0),
        call_id: "call_a3b7".into(),
        tool: "edit_file".into(),
        arguments: json!({"path": "src/main.rs"}),
        server: None,
        kind: PromptKind::RunTool,
        label: "edit_file".into(),
        text: "Make this change?".into(),
        context: None,
        answer_type: AnswerType::Select {
            options: vec!["once".into(), "turn".into(), "no".into()],
        },
        optional: false,
        default: None,
        remember: false,
        exclusive: true,
        source: Source::Tool {
            name: "edit_file".into(),
        },
        preview: Some(Preview::Diff {
            uri: "file:///home/ada/demo/src/main.rs".into(),
            version: Some(4),
            old: "use b;\nuse a;\n".into(),
            new: "use a;\nuse b;\n".into(),
        }),
        turn_permits: Some(TurnPermission::Edits),
        position: (1, 1),
    };
    let written = serde_json::to_string(&Prompt::new(&turn(), prompt)).expect("text");
    assert_eq!(written, file("prompt-run-tool-diff")["params"].to_string());
}

#[test]
fn the_end_of_a_turn_is_what_clients_are_sent() {
    let end = effect::End {
        outcome: Outcome::Completed,
        answer: Some("{\"files\":1}".into()),
        structured: Some(json!({"files": 1})),
        error: None,
        usage: usage(),
        refusals: vec![],
        prompts: vec![],
        summary_due: None,
    };
    let written = serde_json::to_string(&TurnCompleted::new(&turn(), end)).expect("text");
    assert_eq!(written, file("completed-structured")["params"].to_string());
}

fn turn() -> TurnRef {
    TurnRef {
        conversation_id: "c-2f1".into(),
        turn_id: "t-9a0".into(),
    }
}

#[test]
fn answers_of_clients_are_answers_of_the_turn() {
    let check = |message: Value, expected: input::PromptAnswer| {
        let answer: PromptAnswer = serde_json::from_value(message.clone()).expect("an answer");
        assert_eq!(input::PromptAnswer::from(answer), expected, "{message}");
    };
    check(
        json!({"action": "answer", "answer": true}),
        input::PromptAnswer::value(true),
    );
    check(
        json!({"action": "answer", "answer": "once", "remember": true, "newText": "x"}),
        input::PromptAnswer::Answer {
            value: SecretValue("once".into()),
            remember: true,
            new_text: Some("x".to_owned().into()),
        },
    );
    check(
        json!({"action": "answer", "answer": "once", "newText": "x", "oldText": "y"}),
        input::PromptAnswer::Answer {
            value: SecretValue("once".into()),
            remember: false,
            new_text: Some(input::OwnText {
                text: "x".into(),
                base: Some("y".into()),
            }),
        },
    );
    check(
        json!({"action": "decline", "note": "no", "later": 1}),
        input::PromptAnswer::Decline {
            note: Some("no".into()),
        },
    );
    check(json!({"action": "cancel"}), input::PromptAnswer::Cancel);
}

#[test]
fn an_answer_that_is_none_is_refused_by_field() {
    let check = |message: Value, expected: &str| {
        let error = serde_json::from_value::<PromptAnswer>(message)
            .expect_err("no answer")
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(json!({"action": "answer"}), "answer");
    check(json!({"action": "shrug"}), "shrug");
    check(json!({"answer": true}), "action");
}

#[test]
fn an_answer_cannot_be_printed() {
    let message = json!({"action": "answer", "answer": "hunter2"});
    let answer: PromptAnswer = serde_json::from_value(message).expect("an answer");
    assert!(!format!("{answer:?}").contains("hunter2"));
}

/// Whatever a client sends as params, they are read or refused.
#[test]
fn fuzzed_params_are_read_or_refused() {
    use super::requests::{
        AnswerParams, ForkParams, ListParams, ReadParams, RenameParams, StartParams, SteerParams,
        TrustParams, UndoParams,
    };
    fn read<P: serde::de::DeserializeOwned>(params: &Value) -> usize {
        usize::from(serde_path_to_error::deserialize::<_, P>(params.clone()).is_ok())
    }
    let mut taken = 0;
    for (_, bytes) in aside_test_fuzz::corpus("tests/wire", &["-request.json"]) {
        for damaged in aside_test_fuzz::damaged(&bytes, 60) {
            let Ok(message) = serde_json::from_slice::<Value>(&damaged) else {
                continue;
            };
            let params = message.get("params").unwrap_or(&message);
            taken += read::<AnswerParams>(params) + read::<ForkParams>(params);
            taken += read::<ListParams>(params) + read::<ReadParams>(params);
            taken += read::<RenameParams>(params) + read::<StartParams>(params);
            taken += read::<SteerParams>(params) + read::<TrustParams>(params);
            taken += read::<UndoParams>(params);
        }
    }
    assert!(taken > 100, "only {taken} were taken");
}

//! Each message in `tests/wire/` is what the types read and write, and is on the page of the contract.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tower_lsp::jsonrpc;

use super::{files, folder};
use crate::front::wire::{
    Prompt, PromptAnswer, TURN_COMPLETED, TURN_UPDATE, TurnCompleted, TurnUpdate,
    requests::{
        AnswerParams, ClientCapabilities, ConfigReadParams, ConfigReadResult, ConversationRef,
        CreateParams, DismissParams, Empty, ForkParams, InitializationOptions, ListParams,
        ListResult, ModelsResult, PendingResult, ReadParams, ReadResult, RenameParams, SaveParams,
        ServerCapabilities, StartParams, StartResult, StatusParams, SteerParams, ToolCallParams,
        ToolCallResult, TranscriptResult, TrustParams, TurnId, UndoParams, UndoResult, code,
    },
};

/// Reads a part of a message as this type and gives the text that the type writes.
fn rewrite<T: DeserializeOwned + Serialize>(part: &Value) -> Result<String, serde_json::Error> {
    let typed: T = serde_json::from_value(part.clone())?;
    serde_json::to_string(&typed)
}

type Rewrite = fn(&Value) -> Result<String, serde_json::Error>;

/// Each method, and what reads its params and its result.
const METHODS: [(&str, Rewrite, Option<Rewrite>); 24] = [
    (
        "aside/config/read",
        rewrite::<ConfigReadParams>,
        Some(rewrite::<ConfigReadResult>),
    ),
    (
        "aside/conversation/changed",
        rewrite::<ConversationRef>,
        None,
    ),
    (
        "aside/conversation/create",
        rewrite::<CreateParams>,
        Some(rewrite::<ConversationRef>),
    ),
    (
        "aside/conversation/delete",
        rewrite::<ConversationRef>,
        Some(rewrite::<Empty>),
    ),
    (
        "aside/conversation/fork",
        rewrite::<ForkParams>,
        Some(rewrite::<ConversationRef>),
    ),
    (
        "aside/conversation/list",
        rewrite::<ListParams>,
        Some(rewrite::<ListResult>),
    ),
    (
        "aside/conversation/read",
        rewrite::<ReadParams>,
        Some(rewrite::<ReadResult>),
    ),
    (
        "aside/conversation/rename",
        rewrite::<RenameParams>,
        Some(rewrite::<Empty>),
    ),
    (
        "aside/conversation/transcript",
        rewrite::<ConversationRef>,
        Some(rewrite::<TranscriptResult>),
    ),
    (
        "aside/document/save",
        rewrite::<SaveParams>,
        Some(rewrite::<Empty>),
    ),
    (
        "aside/model/list",
        rewrite::<Empty>,
        Some(rewrite::<ModelsResult>),
    ),
    (
        "aside/prompt",
        rewrite::<Prompt>,
        Some(rewrite::<PromptAnswer>),
    ),
    (
        "aside/prompt/answer",
        rewrite::<AnswerParams>,
        Some(rewrite::<Empty>),
    ),
    ("aside/prompt/dismiss", rewrite::<DismissParams>, None),
    (
        "aside/prompt/pending",
        rewrite::<Empty>,
        Some(rewrite::<PendingResult>),
    ),
    ("aside/status", rewrite::<StatusParams>, None),
    (
        "aside/tool/call",
        rewrite::<ToolCallParams>,
        Some(rewrite::<ToolCallResult>),
    ),
    (
        "aside/turn/cancel",
        rewrite::<TurnId>,
        Some(rewrite::<Empty>),
    ),
    (
        "aside/turn/resume",
        rewrite::<ConversationRef>,
        Some(rewrite::<TurnId>),
    ),
    (
        "aside/turn/start",
        rewrite::<StartParams>,
        Some(rewrite::<StartResult>),
    ),
    (
        "aside/turn/steer",
        rewrite::<SteerParams>,
        Some(rewrite::<Empty>),
    ),
    (
        "aside/turn/undo",
        rewrite::<UndoParams>,
        Some(rewrite::<UndoResult>),
    ),
    (
        "aside/workspace/trust",
        rewrite::<TrustParams>,
        Some(rewrite::<Empty>),
    ),
    (TURN_UPDATE, rewrite::<TurnUpdate>, None),
];

/// The parts of a message that are Aside's, each with what reads it, and the method whose they are.
fn parts<'a>(name: &str, message: &'a Value) -> Vec<(Rewrite, &'a Value)> {
    let at = |pointer: &str| {
        let part = message.pointer(pointer);
        part.unwrap_or_else(|| panic!("{name} has no {pointer}"))
    };
    let capabilities = |side: &str| at(&format!("/{side}/capabilities/experimental/aside"));
    match (message["method"].as_str(), name) {
        (Some("initialize"), _) => vec![
            (
                rewrite::<ClientCapabilities> as Rewrite,
                capabilities("params"),
            ),
            (
                rewrite::<InitializationOptions>,
                at("/params/initializationOptions"),
            ),
        ],
        (None, "initialize-result") => {
            vec![(rewrite::<ServerCapabilities>, capabilities("result"))]
        }
        (Some("workspace/didChangeConfiguration"), _) => {
            vec![(
                rewrite::<InitializationOptions>,
                at("/params/settings/aside"),
            )]
        }
        (Some(TURN_COMPLETED), _) => vec![(rewrite::<TurnCompleted>, at("/params"))],
        (Some(method), _) => {
            let known = METHODS.iter().find(|(known, ..)| *known == method);
            let (_, params, _) = known.unwrap_or_else(|| panic!("{name}: no type for {method}"));
            vec![(*params, at("/params"))]
        }
        (None, _) if message.get("error").is_some() => {
            vec![(rewrite::<jsonrpc::Error>, at("/error"))]
        }
        (None, _) => {
            let known = METHODS
                .iter()
                .find(|(method, ..)| is_result_of(name, method));
            let result = known.and_then(|(_, _, result)| *result);
            let result = result.unwrap_or_else(|| panic!("{name}: no method has this result"));
            vec![(result, at("/result"))]
        }
    }
}

/// `conversation-list-result` is a result of `aside/conversation/list`; answers are those of `aside/prompt`.
fn is_result_of(name: &str, method: &str) -> bool {
    if let Some(answer) = name.strip_prefix("answer-") {
        return !answer.is_empty() && method == "aside/prompt";
    }
    let words = method.trim_start_matches("aside/").replace('/', "-");
    name.strip_suffix("-result")
        .is_some_and(|stem| stem == words || stem == format!("{words}-error"))
}

#[test]
fn every_message_is_read_and_written_back_equal() {
    for (name, message) in files() {
        for (rewrite, part) in parts(&name, &message) {
            let written = rewrite(part).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(written, part.to_string(), "{name}");
        }
    }
}

#[test]
fn every_method_has_a_file_for_its_params_and_for_its_result() {
    let files = files();
    for (method, _, result) in METHODS {
        assert!(
            files.iter().any(|(_, it)| it["method"] == method),
            "no {method}"
        );
        if result.is_some() {
            let has = files.iter().any(|(name, _)| is_result_of(name, method));
            assert!(has, "no result of {method}");
        }
    }
    for code in [
        -32602,
        -32601,
        -32002,
        code::UNKNOWN_CONVERSATION,
        code::UNKNOWN_TURN,
        code::UNKNOWN_PROMPT,
        code::TURN_RUNS,
        code::OPEN_ELSEWHERE,
        code::NOT_TRUSTED,
        code::NO_PROVIDER,
        code::UNDO_CONFLICTS,
    ] {
        assert!(
            files.iter().any(|(_, it)| it["error"]["code"] == code),
            "no {code}"
        );
    }
}

/// The examples of the page by their names.
fn examples(page: &str) -> BTreeMap<String, String> {
    let mut examples = BTreeMap::new();
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("```json") else {
            continue;
        };
        let text: String = lines.by_ref().take_while(|line| *line != "```\n").collect();
        let before = examples.insert(name.trim().to_owned(), text);
        assert_eq!(before, None, "{name} is there twice");
    }
    examples
}

#[test]
fn the_page_has_every_message_as_it_is() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("editors/PROTOCOL.md");
    let examples = examples(&std::fs::read_to_string(page).expect("the page"));
    let file = |(name, _)| {
        let name = format!("{name}.json");
        let text = std::fs::read_to_string(folder().join(&name)).expect("a message");
        (name, text)
    };
    let files: BTreeMap<String, String> = files().into_iter().map(file).collect();
    let names = |of: &BTreeMap<String, String>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&examples), names(&files));
    for (name, text) in &files {
        assert_eq!(examples[name], *text, "{name}");
    }
}

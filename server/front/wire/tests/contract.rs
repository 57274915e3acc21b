//! Each message in `tests/wire/` is what the types read and write, and is on the page of the contract.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value;
use tower_lsp::jsonrpc;

use super::{files, folder};
use crate::front::wire::{
    introduction::{ClientCapabilities, InitializationOptions, ServerCapabilities},
    methods::{REWRITES, Rewrite, rewrite},
    requests::code,
};

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
        (Some(method), _) => {
            let known = REWRITES.iter().find(|(known, ..)| *known == method);
            let (_, params, _) = known.unwrap_or_else(|| panic!("{name}: no type for {method}"));
            vec![(*params, at("/params"))]
        }
        (None, _) if message.get("error").is_some() => {
            vec![(rewrite::<jsonrpc::Error>, at("/error"))]
        }
        (None, _) => {
            let known = REWRITES
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
    for (method, _, result) in REWRITES {
        assert!(
            files.iter().any(|(_, it)| it["method"] == *method),
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

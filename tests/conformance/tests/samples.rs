//! The samples of the contract's messages are well-formed to the driver, and what is broken is not.

use std::{fs, path::Path};

use aside_conformance::wire::{Completed, KINDS, Prompt, TurnUpdate, Update};
use serde::Deserialize;
use serde_json::{Value, json};

/// The params of each sample that is sent with this method.
fn samples(method: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire");
    let mut samples = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut message: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        if message["method"] == method {
            samples.push((name, message["params"].take()));
        }
    }
    assert!(!samples.is_empty());
    samples
}

#[test]
fn every_sample_of_an_update_is_well_formed_and_every_kind_has_one() {
    let mut seen = Vec::new();
    for (name, params) in samples("aside/turn/update") {
        let message =
            TurnUpdate::deserialize(&params).unwrap_or_else(|error| panic!("{name}: {error}"));
        let update =
            Update::read(&message.update).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(update.is_some(), "{name}");
        seen.push(message.update["kind"].as_str().unwrap().to_owned());
    }
    for kind in KINDS {
        assert!(seen.iter().any(|seen| seen == kind), "{kind} has no sample");
    }
}

#[test]
fn every_sample_of_a_prompt_and_of_an_end_is_well_formed() {
    for (name, params) in samples("aside/prompt") {
        let prompt = Prompt::deserialize(&params).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(prompt.check(), Ok(()), "{name}");
    }
    for (name, params) in samples("aside/turn/completed") {
        Completed::deserialize(&params).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn every_field_of_an_update_but_the_optional_ones_is_needed() {
    let optional = [
        ("toolResult", "diff"),
        ("toolResult", "exitStatus"),
        ("question", "answer"),
        ("retry", "discardStep"),
        ("usage", "costUsd"),
        ("usage", "contextWindow"),
    ];
    for (name, mut params) in samples("aside/turn/update") {
        let update = params["update"].take();
        let kind = update["kind"].as_str().unwrap();
        for field in update.as_object().unwrap().keys() {
            let mut without = update.clone();
            without.as_object_mut().unwrap().shift_remove(field);
            let expected = optional.contains(&(kind, field));
            assert_eq!(
                Update::read(&without).is_ok(),
                expected,
                "{name} without {field}"
            );
        }
    }
}

#[test]
fn unknown_kinds_and_fields_are_ignored_and_contradictions_are_not() {
    let read = |update: Value| Update::read(&update).map(|update| update.is_some());
    assert_eq!(read(json!({"kind": "weather", "sun": true})), Ok(false));
    assert_eq!(
        read(json!({"kind": "text", "step": 1, "text": "x", "mood": 1})),
        Ok(true)
    );
    for broken in [
        json!({"step": 1}),
        json!({"kind": "text", "step": "1", "text": "x"}),
        json!({"kind": "toolCall", "step": 1, "callId": "c", "name": "n", "title": "t", "arguments": {}, "status": "done"}),
        json!({"kind": "question", "promptId": "p", "outcome": "answered", "answer": true}),
        json!({"kind": "question", "promptId": "p", "outcome": "redacted", "by": "user", "answer": "s3cret"}),
        json!({"kind": "question", "promptId": "p", "outcome": "cancelled"}),
        json!({"kind": "question", "promptId": "p", "outcome": "cancelled", "reason": "user", "answer": 1}),
    ] {
        assert!(read(broken.clone()).is_err(), "{broken}");
    }
}

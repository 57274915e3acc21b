//! Inquiries that go to an assistant of their own: the conversation as text, no tools, its own settings.

use std::{fs, time::Duration};

use aside_model_server::{
    ServedApi,
    cache::PromptCache,
    play::structured,
    server::{ReplyGate, ServedReply},
};
use serde_json::{Value, json};

use super::{
    ladder::edits,
    run::GrownRun,
    side::{SIDES, Side, inquiries, side},
};
use crate::world::until;

const LONG: Duration = Duration::from_secs(20);
const LUNA: Side = side(ServedApi::OpenaiResponses, "openai/gpt-6-luna");
const SETTINGS: &str = "[conversation.inquiry.assistant]\nmodel = \"openai/gpt-6-luna\"\nsystem_prompt = \"Judge.\"\n\
                        reasoning = \"low\"\nrequest.max_output_tokens = 500\n";

fn answer(api: ServedApi, answer: &str) -> ServedReply {
    structured(&json!({ "answer": answer })).reply(api)
}

fn text_of(input: &Value) -> String {
    let messages = input.as_array().unwrap().iter();
    let parts = messages.flat_map(|message| message["content"].as_array().unwrap());
    parts.map(|part| part["text"].as_str().unwrap()).collect()
}

#[test]
fn the_inquirys_assistant_is_asked_in_its_own_way() {
    let turns = SIDES[0];
    let run = GrownRun::new(turns.model, SETTINGS, move |request, number| {
        match (inquiries(request).is_empty(), number) {
            (true, _) => edits(turns, 1, number),
            // Repaired over the same text, and right then.
            (false, 0) => answer(LUNA.api, "9"),
            (false, _) => answer(LUNA.api, "2"),
        }
    });
    run.go(&[]).exits(0).writes("Done.\n");
    run.is_clean();
    assert_eq!(run.world.read("asks0.txt"), "mark\nnote\nmark\n");
    let bodies = run.bodies();
    let [first, second] = &bodies[2..4] else {
        panic!("{bodies:?}")
    };
    for body in [first, second] {
        assert_eq!(body["model"], "gpt-6-luna");
        assert_eq!(body["instructions"], "Judge.");
        assert_eq!(body["reasoning"]["effort"], "low");
        assert_eq!(body["max_output_tokens"], 500);
        assert_eq!(body.get("tools"), None);
        assert_eq!(
            body["text"]["format"]["schema"]["properties"]["answer"]["type"],
            "string"
        );
    }
    let text = text_of(&first["input"]);
    for part in [
        "User: Go\n",
        "[the assistant called edit_file with {\"path\":\"asks0.txt\"",
        "[result of read_file]\nmark\nmark\nmark\n",
        "[edit_file: Tool paused: The text to replace occurs 3 times",
        "Reply with the JSON object {\"answer\": …} alone.",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(
        !text.contains("A tool."),
        "no reasoning of another model: {text}"
    );
    assert!(text_of(&second["input"]).starts_with(&text));
    assert!(
        second["input"]
            .to_string()
            .contains("Not accepted. The answer must be exactly one of: 1, 2, 3, all.")
    );
}

#[test]
fn a_questions_target_overrides_the_inquirys_assistant_key_by_key() {
    let turns = SIDES[0];
    for (target, model, effort, tokens) in [
        (r#"{ model = "openai/gpt-6-sol" }"#, "gpt-6-sol", "low", 500),
        (r#"{ reasoning = "high" }"#, "gpt-6-luna", "high", 500),
        (
            "{ request.max_output_tokens = 70 }",
            "gpt-6-luna",
            "low",
            70,
        ),
    ] {
        let own =
            format!("[conversation.tools.edit_file]\nquestions.occurrence.target = {target}\n");
        let run = GrownRun::new(
            turns.model,
            &format!("{SETTINGS}{own}"),
            move |request, number| {
                if inquiries(request).is_empty() {
                    edits(turns, 1, number)
                } else {
                    answer(LUNA.api, "2")
                }
            },
        );
        run.go(&[]).exits(0).writes("Done.\n");
        run.is_clean();
        let body = &run.bodies()[2];
        assert_eq!(body["model"], model, "{target}");
        assert_eq!(body["instructions"], "Judge.", "{target}");
        assert_eq!(body["reasoning"]["effort"], effort, "{target}");
        assert_eq!(body["max_output_tokens"], tokens, "{target}");
    }
}

#[test]
fn the_second_waits_for_the_first_byte_of_the_one_that_warms_the_cache() {
    let turns = SIDES[0];
    let (first, rest) = (ReplyGate::new(), ReplyGate::new());
    let (begin, end) = (first.clone(), rest.clone());
    let run = GrownRun::new(turns.model, SETTINGS, move |request, number| {
        match (inquiries(request).is_empty(), number) {
            (true, _) => edits(turns, 2, number),
            (false, 0) => answer(LUNA.api, "2").wait_at(0, &first).wait_at(600, &rest),
            (false, _) => {
                assert!(first.is_open(), "the second waits for the first byte");
                answer(LUNA.api, "3")
            }
        }
    });
    let running = run.start(&[]);
    assert!(run.server.wait_for(3, LONG), "the first is sent");
    until("both questions on record", || {
        let log = run.world.conversations().pop();
        let log = log.map(|folder| fs::read_to_string(folder.join("events.jsonl")).unwrap());
        log.is_some_and(|log| log.matches("\"type\":\"inquiry_request\"").count() == 2)
    });
    begin.open();
    assert!(
        run.server.wait_for(4, LONG),
        "the second is sent while the first still answers"
    );
    end.open();
    running.end().exits(0).writes("Done.\n");
    // Either call may come to ask first.
    let mut edited = ["asks0.txt", "asks1.txt"].map(|name| run.world.read(name));
    edited.sort();
    assert_eq!(edited, ["mark\nmark\nnote\n", "mark\nnote\nmark\n"]);
    assert_eq!(run.asked().len(), 2);
}

/// Inquiries of one conversation to an assistant of their own read what the ones before them wrote.
#[test]
fn inquiries_share_a_cache_among_themselves() {
    let (turns, judge) = (SIDES[1], SIDES[0]);
    let settings = format!("conversation.inquiry.assistant.model = \"{}\"", judge.model);
    let run = GrownRun::new(turns.model, &settings, move |request, number| {
        if inquiries(request).is_empty() {
            edits(turns, 1, number % 3)
        } else {
            answer(judge.api, ["2", "3"][number])
        }
    });
    let long = "# a line that fills a file\n".repeat(300);
    run.world
        .write("asks0.txt", &format!("mark\nmark\nmark\nmark\n{long}"));
    run.go(&[]).exits(0);
    run.go(&["--continue"]).exits(0);
    run.is_clean();
    let mut cache = PromptCache::default();
    let asked = run.asked();
    let cached = asked.iter().enumerate().map(|(at, request)| {
        let now = Duration::from_secs(at as u64);
        let (ticket, cached) = cache.request(judge.api, judge.wire(), &request.json, now);
        cache.started(ticket);
        cached
    });
    let [first, second] = cached.collect::<Vec<_>>()[..] else {
        panic!("{}", asked.len())
    };
    assert!(first.read == 0 && first.written > 2_000, "{first:?}");
    assert!(second.read >= first.written, "{first:?} {second:?}");
}

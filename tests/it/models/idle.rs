//! Long conversations in which nobody writes: they are summarised before the provider's cache forgets them, and whatever
//! a person does comes first.

use std::{fs, process::Command, time::Duration};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedTokens},
};
use serde_json::{Value, json};

use super::{
    column,
    heard::heard,
    stage::{ModelStage, PlayedStep, row, says, stalls},
};
use crate::{
    lsp::client::{Client, initialize, prompts},
    world::{until, until_within},
};

/// Tokens of a conversation that is worth a summary.
const LONG: u64 = 26_000;

/// A stage on which every provider sells a cache of a second.
fn stage(api: ServedApi, script: Vec<PlayedStep>) -> ModelStage {
    let stage = ModelStage::new(api, script);
    keeps(&stage, 1);
    stage
}

/// Every provider keeps what it cached for so many seconds from now on.
fn keeps(stage: &ModelStage, seconds: u64) {
    let mut config = column::configuration(&stage.server.address().to_string());
    for api in ServedApi::ALL {
        let (provider, model) = column::model(api).split_once('/').unwrap();
        config += &format!(
            "[providers.{provider}.models.\"{model}\"]\ncontext_window = 60000\ncompaction = false\ncache_seconds = {seconds}\n\
             prices = {{ input = 10, output = 10, cache_read = 1, cache_write = 10 }}\n"
        );
    }
    stage.world.user_config(&config);
}

fn client(stage: &ModelStage, command: Command) -> Client {
    let mut client = Client::run(command);
    let model = json!({ "assistant": { "model": column::model(stage.api) } });
    let options = json!({ "trusted": true, "config": model });
    client.request("initialize", initialize(&stage.world, prompts(), options));
    client.notify("initialized", json!({}));
    client
}

fn says_long(text: &str) -> PlayedStep {
    says(ModelReply::new(text).text(text).tokens(PlayedTokens {
        input: LONG - 50,
        output: 50,
        ..PlayedTokens::default()
    }))
}

fn summary() -> PlayedStep {
    says(ModelReply::new("summary").text("## Goal\nThe summary."))
}

#[test]
fn a_long_conversation_is_summarised_while_nobody_writes_and_the_next_message_goes_out_with_the_summary()
 {
    row(|api| {
        let stage = stage(api, vec![says_long("Noted."), summary(), says_long("Yes.")]);
        let mut client = client(&stage, stage.command(&["lsp", "--stdio"]));
        let first = client.turn(json!({ "message": "Use port 8080." }));
        assert_eq!(client.completed()["outcome"], "completed");
        let conversation = &first["conversationId"];
        let begins = client.update("notice");
        assert_eq!(
            begins["text"],
            "The conversation has 26000 of 60000 tokens; it is being summarised before the provider's cache forgets it, so \
             that your next message costs less."
        );
        let ends = client.update("notice")["text"].to_string();
        assert!(
            ends.contains("of 26000 tokens was summarised"),
            "{api:?}: {ends}"
        );
        // Ollama does not say what it read from a cache, so what it costs is not known.
        let is_priced = api != ServedApi::Ollama;
        assert_eq!(ends.contains("It cost $"), is_priced, "{api:?}: {ends}");
        let completed = client.completed();
        assert_eq!(completed["outcome"], "completed", "{api:?}");
        assert_eq!(&completed["conversationId"], conversation, "{api:?}");

        client.turn(json!({ "conversationId": conversation, "message": "Is it open?" }));
        assert_eq!(client.completed()["outcome"], "completed");
        let heard = stage.heard();
        assert!(heard.contains("The summary."), "{api:?}: {heard}");
        assert!(heard.contains("turn 1: Use port 8080."), "{api:?}: {heard}");
        assert_eq!(stage.requests().len(), 3, "{api:?}");
        stage.is_clean();
        client.leave();
    });
}

#[test]
fn whatever_a_person_does_meanwhile_comes_first() {
    for does in ["turn", "rename", "undo", "delete"] {
        let stage = stage(ServedApi::Anthropic, vec![says_long("Noted."), stalls()]);
        let mut client = client(&stage, stage.command(&["lsp", "--stdio"]));
        let first = client.turn(json!({ "message": "Use port 8080." }));
        assert_eq!(client.completed()["outcome"], "completed");
        let conversation = &first["conversationId"];
        until("the summary is asked for", || stage.requests().len() == 2);
        stage.goes_on(vec![says_long("Yes.")]);
        match does {
            "turn" => {
                client.turn(json!({ "conversationId": conversation, "message": "Is it open?" }));
            }
            "rename" => {
                let params = json!({ "conversationId": conversation, "title": "Ports" });
                client.request("aside/conversation/rename", params);
            }
            "undo" => {
                client.request("aside/turn/undo", json!({ "turnId": first["turnId"] }));
            }
            _ => {
                client.request(
                    "aside/conversation/delete",
                    json!({ "conversationId": conversation }),
                );
            }
        }
        assert_eq!(client.completed()["outcome"], "cancelled", "{does}");
        if does == "turn" {
            assert_eq!(client.completed()["outcome"], "completed");
            assert!(
                !heard(stage.requests().last().unwrap()).contains("Reply with the summary alone.")
            );
        }
        client.leave();
    }
}

#[test]
fn a_conversation_that_the_cache_does_not_know_as_it_is_now_is_left_alone() {
    let another_program: fn(&ModelStage) = |stage| {
        stage.run("Is it open?", &["--continue"]).exits(0);
    };
    let other_instructions = |stage: &ModelStage| stage.world.write("AGENTS.md", "Be brief.\n");
    let ways = [
        (another_program, "another turn followed", 2),
        (other_instructions, "are not those of the last request", 1),
    ];
    for (happens, why, requests) in ways {
        let stage = stage(
            ServedApi::Anthropic,
            vec![says_long("Noted."), says_long("Yes.")],
        );
        // So much time there is for what happens.
        keeps(&stage, 5);
        let log = stage.world.folder().join("aside.log");
        let mut command = stage.command(&["lsp", "--stdio", "--log-file", log.to_str().unwrap()]);
        command.env("ASIDE_LOG", "info");
        let mut client = client(&stage, command);
        client.turn(json!({ "message": "Use port 8080." }));
        assert_eq!(client.completed()["outcome"], "completed");
        happens(&stage);
        until_within(Duration::from_secs(30), "it is left alone", || {
            let said = fs::read_to_string(&log).unwrap_or_default();
            said.contains("a conversation is not summarised while nobody writes")
                && said.contains(why)
        });
        assert_eq!(stage.requests().len(), requests, "{why}");
        client.leave();
    }
}

#[test]
fn a_message_to_the_summary_is_answered_at_once_and_what_comes_then_waits_for_that_answer() {
    let stage = stage(ServedApi::Anthropic, vec![says_long("Noted."), stalls()]);
    let mut client = client(&stage, stage.command(&["lsp", "--stdio"]));
    let first = client.turn(json!({ "message": "Use port 8080." }));
    assert_eq!(client.completed()["outcome"], "completed");
    let summary = client.next("the summary", |it| {
        it["params"]["update"]["kind"] == "notice"
    });
    until("the summary is asked for", || stage.requests().len() == 2);
    stage.goes_on(vec![stalls()]);
    let steer = json!({ "turnId": summary["params"]["turnId"], "message": "Is it open?" });
    client.request("aside/turn/steer", steer);
    assert_eq!(client.update("steered")["text"], "Is it open?");
    until("the message is sent", || stage.requests().len() == 3);
    assert!(stage.heard().contains("Is it open?"));
    let again = json!({ "conversationId": first["conversationId"], "message": "And?" });
    let (_, why) = client.refused("aside/turn/start", again);
    assert!(why.contains("a turn runs in conversation"), "{why}");
    client.request(
        "aside/turn/cancel",
        json!({ "turnId": summary["params"]["turnId"] }),
    );
    assert_eq!(client.completed()["outcome"], "cancelled");
    client.leave();
}

#[test]
fn a_summary_that_fails_while_nobody_writes_is_no_failure_of_anybody() {
    let failing: Vec<PlayedStep> = vec![
        says_long("Noted."),
        says(ModelReply::new("none")),
        says(ModelReply::new("none")),
    ];
    let stage = stage(ServedApi::Anthropic, failing);
    let mut client = client(&stage, stage.command(&["lsp", "--stdio"]));
    client.turn(json!({ "message": "Use port 8080." }));
    assert_eq!(client.completed()["outcome"], "completed");
    client.update("notice");
    assert_eq!(
        client.update("notice")["text"],
        "The conversation could not be shortened (the model answered nothing); it goes on as it is, and the next \
         summary is made when it is due."
    );
    let completed = client.completed();
    assert_eq!(
        (&completed["outcome"], &completed["error"]),
        (&json!("completed"), &Value::Null)
    );
    client.leave();
}

//! Facts that people decided: no summary loses one, whatever the model writes.

use aside_base::digest::sha256;
use serde_json::{Value, json};

use super::client::{Client, answer, prompts};
use crate::world::TestWorld;

/// Turns, each with four facts: a message, an answer, a refusal with its reason, and a changed file.
const TURNS: usize = 10;

/// An answer that no paraphrase keeps.
fn given(turn: usize) -> String {
    format!("port {turn}, never 80;  two blanks, \"quotes\" and ünï\u{200d}code")
}

fn reason(turn: usize) -> String {
    format!("Not in {turn}; it is generated.")
}

/// The model's part in a turn.
fn script(turn: usize) -> String {
    format!(
        "ask_user {{ question = 'Which one in {turn}?' }}\n\
         write_file {{ path = 'kept{turn}.txt', content = 'text {turn}' }}\n\
         write_file {{ path = 'lost{turn}.txt', content = 'text' }}\n\
         'Done.'\n"
    )
}

/// A summary in which the model forgets everything.
const FORGETS: &str = "'I do not remember anything.'";

fn person(turn: usize, prompt: &Value) -> Value {
    let asks = prompt.to_string();
    if prompt["kind"] == "question" {
        answer(given(turn))
    } else if asks.contains("lost") {
        json!({ "action": "decline", "note": reason(turn) })
    } else {
        answer("once")
    }
}

#[test]
fn forty_facts_outlive_summaries_that_forget_everything() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, FORGETS, prompts());
    let made = client.request("aside/conversation/create", json!({}));
    let id = made["conversationId"].clone();
    let mut summaries = 0;
    let mut summarise = |client: &mut Client| {
        world.script(FORGETS);
        let turn = client.turn(json!({ "conversationId": id, "message": "/compact" }));
        let (_, end) = client.play(&turn, |prompt| panic!("asked: {prompt}"));
        assert_eq!(end["outcome"], "completed", "{end}");
        summaries += 1;
    };
    for number in 0..TURNS {
        world.script(&script(number));
        let message = format!("Message {number}: keep to it.");
        let turn = client.turn(json!({ "conversationId": id, "message": message }));
        let (_, end) = client.play(&turn, |prompt| person(number, prompt));
        assert_eq!(end["answer"], "Done.", "{end}");
        if number % 3 == 2 {
            summarise(&mut client);
        }
    }
    summarise(&mut client);
    assert_eq!(summaries, 4);
    // The text that the model is sent is on record with the summary.
    let log = world.log();
    let last = log.all("compacted").pop().expect("a summary on record");
    let sent = last["ledger"].as_str().expect("a ledger").to_owned();
    let shown = client.request("aside/conversation/ledger", json!({ "conversationId": id }));
    let shown = shown["text"].as_str().expect("a ledger").to_owned();
    let mut facts = 0;
    for turn in 0..TURNS {
        let all = [
            format!("Message {turn}: keep to it."),
            given(turn),
            reason(turn),
            sha256(format!("text {turn}").as_bytes()),
        ];
        for fact in all {
            for ledger in [&sent, &shown] {
                assert!(ledger.contains(&fact), "{fact:?} is lost: {ledger}");
            }
            facts += 1;
        }
    }
    assert_eq!(facts, 40);
    assert!(!sent.contains("I do not remember"), "{sent}");
    client.leave();
}

#[test]
fn a_summary_is_told_step_by_step_and_taken_back() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, "always 'Well.'", prompts());
    let made = client.request("aside/conversation/create", json!({}));
    let id = made["conversationId"].clone();
    let mut play = |message: &str| {
        let turn = client.turn(json!({ "conversationId": id, "message": message }));
        let (updates, end) = client.play(&turn, |prompt| panic!("asked: {prompt}"));
        assert_eq!(end["outcome"], "completed", "{end}");
        updates
    };
    play(&"Write a long text. ".repeat(50));
    let updates = play("/compact");
    let told = updates.iter().filter(|update| update["kind"] == "summary");
    let told: Vec<_> = told.map(|it| (&it["status"], &it["text"])).collect();
    let (asked, made) = (json!("asked"), json!("made"));
    assert_eq!(
        told,
        [(&asked, &Value::Null), (&made, &json!("Well."))],
        "{updates:?}"
    );
    let updates = play("/compact undo");
    let told = json!(updates).to_string();
    assert!(told.contains("The last summary was taken back"), "{told}");
    client.leave();
}

//! Questions that are open when their call ends, in an editor.

use serde_json::{Value, json};

use super::client::{Client, answer, initialize, prompts};
use crate::outlives::{CallsEnd, Counted, ENDS, KINDS, OpenGround, OpenKind};

fn start(ground: &OpenGround) -> Client {
    let mut client = Client::run(ground.counted(&["lsp", "--stdio"]));
    let options = json!({ "trusted": true });
    let params = initialize(&ground.world, prompts(), options);
    client.request("initialize", params);
    client.notify("initialized", json!({}));
    client
}

/// What a person says to a prompt.
fn says(prompt: &Value) -> Value {
    let options = &prompt["answerType"]["options"];
    match prompt["answerType"]["type"].as_str() {
        Some("boolean") => answer(true),
        Some("select") => answer(options[0].get("value").unwrap_or(&options[0]).clone()),
        _ => answer("Ada"),
    }
}

fn plain(client: &mut Client, conversation: &Value) {
    let next = client.turn(json!({ "conversationId": conversation, "message": "Next" }));
    let (_, end) = client.play(&next, |prompt| panic!("asked in the next turn: {prompt}"));
    assert_eq!(end["answer"], "Fine.", "{end}");
}

/// A question is open; then its call ends so. Returns the client that goes on.
fn ends(ground: &OpenGround, mut client: Client, conversation: &Value, end: CallsEnd) -> Client {
    ground.limit(end == CallsEnd::TimeOver);
    let message = json!({ "conversationId": conversation, "message": end.message() });
    let turn = client.turn(message);
    let prompt = client.expect("aside/prompt");
    match end {
        CallsEnd::Answered => client.reply(&prompt, says(&prompt["params"])),
        CallsEnd::Dismissed => client.reply(&prompt, json!({ "action": "cancel" })),
        CallsEnd::Unshown => client.fail(&prompt, "no window"),
        CallsEnd::Cancelled => {
            client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
        }
        CallsEnd::TimeOver => {}
        CallsEnd::ServerGone => {
            ground.kill_server();
            client.reply(&prompt, says(&prompt["params"]));
        }
        CallsEnd::TakenBack => {
            ground.go();
            // The call goes on, and nobody is asked any more.
            let gone = client.expect("aside/prompt/dismiss");
            assert_eq!(gone["params"]["promptId"], prompt["params"]["promptId"]);
            ground.go();
        }
        CallsEnd::WentOn => ground.go(),
        CallsEnd::ClientGone => {
            client.leave();
            return start(ground);
        }
    }
    let is_withdrawn = matches!(
        end,
        CallsEnd::Cancelled | CallsEnd::TimeOver | CallsEnd::TakenBack | CallsEnd::WentOn
    );
    if is_withdrawn && end != CallsEnd::TakenBack {
        client.expect("aside/prompt/dismiss");
    }
    if is_withdrawn {
        // A client answers what it took off its screen, too.
        client.reply(&prompt, json!({ "action": "cancel" }));
    }
    let (_, ended) = client.play(&turn, says);
    let outcome = match end {
        CallsEnd::Cancelled => "cancelled",
        CallsEnd::TimeOver => "failed",
        _ => "completed",
    };
    assert_eq!(ended["outcome"], outcome, "{end:?}: {ended}");
    client.forget("aside/prompt/dismiss");
    client
}

fn check(kind: OpenKind) -> usize {
    let ground = OpenGround::new(kind);
    let mut client = start(&ground);
    let made = client.request("aside/conversation/create", json!({}));
    let conversation = made["conversationId"].clone();
    let counted = Counted::new(&ground, client.id(), || plain(&mut client, &conversation));
    let cells: Vec<CallsEnd> = ENDS.into_iter().filter(|end| end.is_of(kind)).collect();
    for end in &cells {
        let is_last = *end == CallsEnd::ClientGone;
        if is_last {
            counted.threads_are_over();
        }
        client = ends(&ground, client, &conversation, *end);
        ground.limit(false);
        plain(&mut client, &conversation);
        if !is_last {
            counted.tasks_are_over(&ground, || plain(&mut client, &conversation));
        }
    }
    client.leave();
    ground.is_settled();
    cells.len()
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn whatever_is_open_ends_with_its_call_in_the_editor() {
    let cells = std::thread::scope(|scope| {
        let all = KINDS.map(|kind| scope.spawn(move || check(kind)));
        all.into_iter()
            .map(|one| one.join().unwrap())
            .sum::<usize>()
    });
    eprintln!("{cells} ends in the editor: no task and no thread is left");
}

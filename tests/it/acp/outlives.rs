//! Questions that are open when their call ends, in a client of the Agent Client Protocol.

use serde_json::{Value, json};

use super::client::{Client, choose, forms};
use crate::outlives::{CallsEnd, Counted, ENDS, KINDS, OpenGround, OpenKind};

fn start(ground: &OpenGround) -> Client {
    let mut client = Client::of(ground.counted(&["acp"]));
    client.initialize(forms());
    client
}

fn is_question(message: &Value) -> bool {
    let methods = ["elicitation/create", "session/request_permission"];
    methods.iter().any(|method| message["method"] == *method)
}

/// What a person says to a question.
fn says(question: &Value) -> Value {
    if question["method"] == "session/request_permission" {
        let first = &question["params"]["options"][0]["optionId"];
        return choose(first.as_str().unwrap());
    }
    let property = &question["params"]["requestedSchema"]["properties"]["answer"];
    let first = property["oneOf"][0]["const"].as_str().unwrap_or("Ada");
    json!({ "action": "accept", "content": { "answer": first } })
}

/// What a person says who will not answer.
fn dismisses(question: &Value) -> Value {
    match question["method"].as_str() {
        Some("session/request_permission") => json!({ "outcome": { "outcome": "cancelled" } }),
        _ => json!({ "action": "cancel" }),
    }
}

/// Answers what is asked until the prompt has ended; returns why it did.
fn led(client: &mut Client, id: u64) -> String {
    loop {
        let is_end = |it: &Value| it["id"] == id && it["method"].is_null();
        let message = client.next("an end", |it| is_question(it) || is_end(it));
        if is_end(&message) {
            return message["result"]["stopReason"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
        }
        let answer = says(&message);
        client.reply(&message, answer);
    }
}

fn plain(client: &mut Client) {
    let id = client.prompt("Next");
    assert_eq!(client.stopped(id), "end_turn");
}

/// A question is open; then its call ends so. Returns the client that goes on.
fn ends(ground: &OpenGround, mut client: Client, end: CallsEnd) -> Client {
    ground.limit(end == CallsEnd::TimeOver);
    let id = client.prompt(end.message());
    let asked = client.next("a question", is_question);
    match end {
        CallsEnd::Answered => client.reply(&asked, says(&asked)),
        CallsEnd::Dismissed => client.reply(&asked, dismisses(&asked)),
        CallsEnd::Unshown => client.fail(&asked, "no window"),
        CallsEnd::Cancelled => client.cancel(),
        CallsEnd::TimeOver => {}
        CallsEnd::ServerGone => {
            ground.kill_server();
            client.reply(&asked, says(&asked));
        }
        CallsEnd::TakenBack => {
            ground.go();
            let withdrawn = client.expect("$/cancel_request");
            assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
            ground.go();
        }
        CallsEnd::WentOn => ground.go(),
        CallsEnd::ClientGone => {
            let session = client.session.clone();
            client.leave();
            return Client::resumed(&ground.world, session, forms());
        }
    }
    let is_withdrawn = matches!(
        end,
        CallsEnd::Cancelled | CallsEnd::TimeOver | CallsEnd::TakenBack | CallsEnd::WentOn
    );
    if is_withdrawn && end != CallsEnd::TakenBack {
        client.expect("$/cancel_request");
    }
    if is_withdrawn {
        // A client answers what it took off its screen, too.
        client.reply(&asked, dismisses(&asked));
    }
    let reason = led(&mut client, id);
    assert_eq!(
        reason == "cancelled",
        end == CallsEnd::Cancelled,
        "{end:?}: {reason}"
    );
    client.forget("$/cancel_request");
    client.forget("session/update");
    client
}

fn check(kind: OpenKind) -> usize {
    let ground = OpenGround::new(kind);
    let mut client = start(&ground);
    client.session = client.new_session(&ground.world.at(""));
    let counted = Counted::new(&ground, client.id(), || plain(&mut client));
    let cells: Vec<CallsEnd> = ENDS.into_iter().filter(|end| end.is_of(kind)).collect();
    for end in &cells {
        let is_last = *end == CallsEnd::ClientGone;
        if is_last {
            counted.threads_are_over();
        }
        client = ends(&ground, client, *end);
        ground.limit(false);
        plain(&mut client);
        if !is_last {
            counted.tasks_are_over(&ground, || plain(&mut client));
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
fn whatever_is_open_ends_with_its_call_in_a_client_of_the_protocol() {
    let cells = std::thread::scope(|scope| {
        let all = KINDS.map(|kind| scope.spawn(move || check(kind)));
        all.into_iter()
            .map(|one| one.join().unwrap())
            .sum::<usize>()
    });
    eprintln!("{cells} ends in a client of the protocol: no task and no thread is left");
}

//! Aside under the Rust SDK of the Agent Client Protocol: each kind of question and permission in each outcome, and all else
//! that a session goes through.

mod client;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    UntypedMessage,
    v1::schema::{
        CloseSessionRequest, DeleteSessionRequest, ForkSessionRequest, ListSessionsRequest,
        LoadSessionRequest, PromptRequest, ResumeSessionRequest, SetSessionTitleRequest,
        StopReason,
    },
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::interval;

use self::client::{Asked, Connected, Said, World, calls, forms};

/// A person who says what the test says next, and lets every call of the asking tool run.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Option<Said>>>);

impl Person {
    fn will_say(&self, said: &Said) {
        *self.0.lock().unwrap() = Some(said.clone());
    }

    fn answers(&self) -> impl FnMut(Asked) -> Said + Send + Clone + use<> {
        let said = self.0.clone();
        move |asked| match asked {
            Asked::Permission(asked) if asks(&asked) => Said::Option("once"),
            Asked::Permission(_) | Asked::Form => said.lock().unwrap().clone().unwrap(),
        }
    }
}

fn asks(asked: &agent_client_protocol::v1::schema::RequestPermissionRequest) -> bool {
    let call = serde_json::to_value(&asked.tool_call).unwrap();
    call["rawInput"]["questions"].is_array()
}

/// A question, an answer that fits and what the model is told then, and answers that do not fit.
type Kind = (Value, Value, &'static str, [Value; 2]);

fn kinds() -> Vec<Kind> {
    let options = json!(["oat", "soy"]);
    vec![
        (
            json!({ "type": "boolean" }),
            json!("no"),
            "false",
            [json!(7), json!("perhaps")],
        ),
        (
            json!({ "type": "select", "options": options }),
            json!("soy"),
            "\"soy\"",
            [json!(true), json!("cow")],
        ),
        (
            json!({ "type": "multi_select", "options": options }),
            json!(["soy"]),
            "[\"soy\"]",
            [json!("soy"), json!(["cow"])],
        ),
        (
            json!({ "type": "number", "integer": true, "minimum": 1, "maximum": 9 }),
            json!(3),
            "3",
            [json!("three"), json!(10)],
        ),
        (
            json!({ "type": "text", "maximum": 4 }),
            json!("milk"),
            "\"milk\"",
            [json!(4), json!("cream")],
        ),
    ]
}

/// What the model was told in answer to its call, as the client sees it.
fn told(client: &Connected<'_>, session: &agent_client_protocol::v1::schema::SessionId) -> String {
    let updates = client.of_kind(session, "tool_call_update");
    let ended = updates.iter().filter(|it| it["content"].is_array());
    ended
        .last()
        .map(|it| it["content"].to_string())
        .unwrap_or_default()
}

#[tokio::test]
async fn each_kind_of_question_comes_to_its_end_in_each_outcome() {
    for (answer_type, fits, means, unfit) in kinds() {
        let question = json!({ "id": "it", "text": "Which?", "answer_type": answer_type });
        let world = World::new(&calls("asker", &json!({ "questions": [question] })));
        let person = Person::default();
        let answers = person.answers();
        let plays = async |client: Connected<'_>| {
            let not_shown = "it could not be asked";
            let dismissed = "the user declined";
            let mut outcomes = vec![
                (Said::Answer(fits.clone()), 1, means.replace('"', "\\\"")),
                (Said::Answer(Value::Null), 3, not_shown.to_owned()),
                (Said::Decline, 1, dismissed.to_owned()),
                (Said::Close, 1, dismissed.to_owned()),
                (Said::Fail, 1, not_shown.to_owned()),
            ];
            for unfit in &unfit {
                outcomes.push((Said::Answer(unfit.clone()), 3, not_shown.to_owned()));
            }
            for (said, shown, expected) in outcomes {
                person.will_say(&said);
                let (session, before) = (client.session().await, client.world.seen().asked);
                assert_eq!(client.prompt(&session, "Go").await, StopReason::EndTurn);
                let told = told(&client, &session);
                assert!(told.contains(&expected), "{answer_type} {said:?}: {told}");
                let asked = client.world.seen().asked - before;
                assert!((shown..=shown + 1).contains(&asked), "{said:?}: {asked}");
            }
            // Nobody answers until the turn is cancelled, and then it is too late.
            person.will_say(&Said::Late(Box::new(Said::Answer(fits.clone()))));
            ends_cancelled(&client).await;
        };
        world.play(forms(), answers, plays).await;
        assert_eq!(
            world.record().matches("late_answer").count(),
            1,
            "{answer_type}"
        );
    }
}

/// A prompt that waits for the person is cancelled, the person is told, and what is said then comes too late.
async fn ends_cancelled(client: &Connected<'_>) {
    let session = client.session().await;
    let (asked, withdrawn) = {
        let seen = client.world.seen();
        (seen.asked, seen.withdrawn)
    };
    let ended = client.prompt(&session, "Go");
    let cancels = async {
        // Not only whether the tool may run.
        client.until(|seen| seen.asked > asked && seen.waits).await;
        client.cancel(&session);
    };
    assert_eq!(futures_util::join!(ended, cancels).0, StopReason::Cancelled);
    while client.world.seen().withdrawn == withdrawn {
        tokio::task::yield_now().await;
    }
    // What comes behind the late answer is handled behind it.
    client
        .to
        .send_request(ListSessionsRequest::new())
        .block_task()
        .await
        .unwrap();
}

#[tokio::test]
async fn each_permission_comes_to_its_end_in_each_outcome_with_a_diff_and_without() {
    let write = json!({ "path": "new.md", "content": "new\n" });
    let print = json!({ "command": "echo new > new.md" });
    for (tool, arguments, lasting) in [
        ("write_file", write, "turn"),
        ("run_command", print, "always"),
    ] {
        let world = World::new(&calls(tool, &arguments));
        let person = Person::default();
        let answers = person.answers();
        let plays = async |client: Connected<'_>| {
            for (said, is_done) in [
                (Said::Option("no"), false),
                (Said::Option("none-such"), false),
                (Said::Close, false),
                (Said::Fail, false),
                (Said::Option("once"), true),
            ] {
                person.will_say(&said);
                let session = client.session().await;
                assert_eq!(client.prompt(&session, "Go").await, StopReason::EndTurn);
                let written = client.world.read("new.md");
                assert_eq!(
                    written.as_deref(),
                    is_done.then_some("new\n"),
                    "{tool} {said:?}"
                );
            }
            std::fs::remove_file(client.world.workspace().join("new.md")).unwrap();
            person.will_say(&Said::Late(Box::new(Said::Option("once"))));
            ends_cancelled(&client).await;
            assert_eq!(client.world.read("new.md"), None, "{tool}");
            person.will_say(&Said::Option(lasting));
            let session = client.session().await;
            assert_eq!(client.prompt(&session, "Go").await, StopReason::EndTurn);
            assert!(client.world.read("new.md").is_some(), "{tool} {lasting}");
        };
        world.play(forms(), answers, plays).await;
    }
}

const TURNS: &str = r#"
    [[reply]]
    repeat = true
    when = { user = "stalls" }
    say = [{ text = "I begin" }]
    fault = { stall = true }
    [[reply]]
    repeat = true
    when = { user = "runs", step = 1 }
    say = [{ call = "run_command", id = "run", arguments = { command = "echo on; sleep 600" } }]
    [[reply]]
    repeat = true
    when = { user = "asks", step = 1 }
    say = [{ call = "ask_user", id = "ask", arguments = { question = "Which?" } }]
    [[reply]]
    repeat = true
    when = { user = "writes", step = 1 }
    say = [
        { reasoning = "Hm." },
        { text = "I write. " },
        { call = "write_file", id = "write", arguments = { path = "new.md", content = "new\n" } },
    ]
    [[reply]]
    repeat = true
    when = { user = "besides" }
    say = [{ text = "Both." }]
    [[reply]]
    repeat = true
    say = [{ text = "Done." }]
"#;

#[tokio::test]
async fn cancel_ends_what_runs_and_what_waits_for_it() {
    let world = World::new(TURNS);
    let answers = |_| Said::Option("once");
    let plays = async |client: Connected<'_>| {
        for (text, kind) in [
            ("stalls", "agent_message_chunk"),
            ("runs", "tool_call_update"),
        ] {
            let session = client.session().await;
            let (first, second) = (
                client.prompt(&session, text),
                client.prompt(&session, "more"),
            );
            let cancels = async {
                client
                    .until(|seen| {
                        seen.updates.iter().any(|it| {
                            let update = serde_json::to_value(&it.update).unwrap();
                            it.session_id == session && update["sessionUpdate"] == kind
                        })
                    })
                    .await;
                client.cancel(&session);
            };
            let ended = futures_util::join!(first, second, cancels);
            assert_eq!(
                (ended.0, ended.1),
                (StopReason::Cancelled, StopReason::Cancelled),
                "{text}"
            );
        }
    };
    world.play(forms(), answers, plays).await;
}

#[tokio::test]
async fn what_is_added_to_a_turn_is_taken_in_and_two_sessions_run_at_once() {
    let world = World::new(TURNS);
    let person = Person::default();
    person.will_say(&Said::Late(Box::new(Said::Close)));
    let plays = async |client: Connected<'_>| {
        let (waiting, other) = (client.session().await, client.session().await);
        let asks = client.prompt(&waiting, "asks");
        let steers = async {
            client.until(|seen| seen.asked == 1).await;
            // The other one does not wait for what the first asks.
            assert_eq!(client.prompt(&other, "Go").await, StopReason::EndTurn);
            assert_eq!(client.said(&other, "agent_message_chunk"), "Done.");
            let added =
                json!({ "sessionId": waiting, "prompt": [{ "type": "text", "text": "besides" }] });
            let added = UntypedMessage::new("_session/steering", added).unwrap();
            let taken = client.to.send_request(added).block_task().await.unwrap();
            assert_eq!(taken, json!({ "outcome": "injected" }));
            // Nobody ever answers: closing the session ends what waits.
            let close = CloseSessionRequest::new(waiting.clone());
            client.to.send_request(close).block_task().await.unwrap();
        };
        assert_eq!(futures_util::join!(asks, steers).0, StopReason::Cancelled);
    };
    world.play(forms(), person.answers(), plays).await;
    assert_eq!(world.seen().withdrawn, 1);
}

#[tokio::test]
async fn a_session_with_everything_in_it_is_loaded_as_it_was_forked_named_and_deleted() {
    let world = World::new(TURNS);
    let answers = |asked| match asked {
        Asked::Permission(_) => Said::Option("once"),
        Asked::Form => Said::Answer(json!("this")),
    };
    let id = Arc::new(Mutex::new(None));
    let made = id.clone();
    let plays = async move |client: Connected<'_>| {
        let session = client.session().await;
        for text in ["writes", "asks", "Go"] {
            assert_eq!(client.prompt(&session, text).await, StopReason::EndTurn);
        }
        *made.lock().unwrap() = Some(session);
    };
    world.play(forms(), answers, plays).await;
    let live = std::mem::take(&mut world.seen().updates);
    let session = id.lock().unwrap().clone().unwrap();

    // Another process has it all.
    let plays = async |client: Connected<'_>| {
        let cwd = client.world.workspace();
        let load = LoadSessionRequest::new(session.clone(), cwd.clone());
        client.to.send_request(load).block_task().await.unwrap();
        let kinds = ["agent_message_chunk", "agent_thought_chunk"];
        for kind in kinds {
            let before: String = live
                .iter()
                .map(|it| serde_json::to_value(&it.update).unwrap())
                .filter(|it| it["sessionUpdate"] == kind)
                .filter_map(|it| it["content"]["text"].as_str().map(str::to_owned))
                .collect();
            assert_eq!(client.said(&session, kind), before, "{kind}");
        }
        assert_eq!(client.said(&session, "user_message_chunk"), "writesasksGo");
        let calls = client.of_kind(&session, "tool_call");
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert!(told(&client, &session).contains("\"newText\":\"new\\n\""));

        let fork = ForkSessionRequest::new(session.clone(), cwd.clone());
        let fork = client
            .to
            .send_request(fork)
            .block_task()
            .await
            .unwrap()
            .session_id;
        let named = SetSessionTitleRequest::new(fork.clone(), "Another");
        client.to.send_request(named).block_task().await.unwrap();
        // Nothing was said in this one, and nobody looks for it.
        client.session().await;
        let list = || {
            client
                .to
                .send_request(ListSessionsRequest::new().cwd(Some(cwd.clone())))
        };
        let listed = list().block_task().await.unwrap().sessions;
        let mut titles: Vec<_> = listed.iter().map(|it| it.title.clone()).collect();
        titles.sort();
        assert_eq!(titles, ["Another", "writes"].map(|it| Some(it.to_owned())));
        for it in listed {
            let delete = DeleteSessionRequest::new(it.session_id);
            client.to.send_request(delete).block_task().await.unwrap();
        }
        assert!(list().block_task().await.unwrap().sessions.is_empty());
    };
    world.play(forms(), answers, plays).await;
}

#[tokio::test]
async fn a_client_that_goes_in_the_middle_finds_the_turn_again_and_one_that_floods_is_answered() {
    let world = World::new(TURNS);
    let person = Person::default();
    person.will_say(&Said::Late(Box::new(Said::Close)));
    let id = Arc::new(Mutex::new(None));
    let made = id.clone();
    let plays = async move |client: Connected<'_>| {
        let session = client.session().await;
        let prompt = PromptRequest::new(session.clone(), vec!["asks".into()]);
        client.to.send_request(prompt).detach();
        client.until(|seen| seen.asked == 1).await;
        *made.lock().unwrap() = Some(session);
    };
    world.play(forms(), person.answers(), plays).await;

    let session = id.lock().unwrap().clone().unwrap();
    person.will_say(&Said::Answer(json!("this")));
    let plays = async |client: Connected<'_>| {
        let resume = ResumeSessionRequest::new(session.clone(), client.world.workspace());
        client.to.send_request(resume).block_task().await.unwrap();
        assert_eq!(
            client.prompt(&session, "/resume").await,
            StopReason::EndTurn
        );
        assert_eq!(client.said(&session, "agent_message_chunk"), "Done.");
        let flood = (0..500).map(|_| {
            client
                .to
                .send_request(ListSessionsRequest::new())
                .block_task()
        });
        let answers = join_all(flood).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    };
    world.play(forms(), person.answers(), plays).await;
}

#[tokio::test]
async fn a_client_that_stops_reading_holds_no_turn_up() {
    let print = json!({ "command": "head -c 100000000 /dev/zero | tr '\\0' x" });
    let world = World::new(&calls("run_command", &print));
    let plays = async |client: Connected<'_>| {
        let session = client.session().await;
        let prompt = PromptRequest::new(session, vec!["Go".into()]);
        client.to.send_request(prompt).detach();
        client.until(|seen| seen.asked == 1).await;
        client.stops_reading();
        let mut again = interval(Duration::from_millis(20));
        while !client.world.record().contains("\"turn_end\"") {
            again.tick().await;
        }
    };
    let output = json!({ "terminal_output": true });
    let can = forms().meta(output.as_object().cloned());
    world.play(can, |_| Said::Option("once"), plays).await;
}

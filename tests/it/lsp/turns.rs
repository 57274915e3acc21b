//! Turns as an editor that speaks the protocol sees them.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, answer, nobody, prompts, uri};
use crate::world::TestWorld;

/// The model reads, edits and looks again, and asks twice and once more through a tool.
const WHOLE: &str = r#"
    reasoning "Where to begin?"
    + { text = "I look first.", pieces = 4 }
    + read_file read { path = "a.txt" }
    + list_files list {}
    + search search { pattern = "b" }
    ask_user which { question = "Which?", answer_type = "select", options = ["one", "two"] }
    + ask_user name { question = "What name?" }
    { result = { tool = "ask_user", contains = "two" } } => edit_file edit { path = "a.txt", old_text = "b", new_text = "B" }
    {} => -
    & answers = { "2" = "2" }
    { text = "Done.", pieces = 2 }
    & usage = { input = 10, output = 5, cost = 0.5 }
"#;

/// What was told, a line each, with pieces joined.
fn lines(updates: &[Value]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut last = ("", json!(null));
    for update in updates {
        let text = |key: &str| update[key].as_str().unwrap_or("").to_owned();
        let kind = update["kind"].as_str().unwrap();
        if matches!(kind, "text" | "reasoning") && last == (kind, update["step"].clone()) {
            lines.last_mut().unwrap().push_str(&text("text"));
            continue;
        }
        last = (kind, update["step"].clone());
        lines.push(match kind {
            "text" | "reasoning" => format!("{kind} {}", text("text")),
            "toolCall" => format!(
                "call {} ({}) {}",
                text("callId"),
                text("title"),
                text("status")
            ),
            "toolResult" => format!("result {} {}", text("callId"), text("status")),
            "question" if update["outcome"].is_null() => {
                format!(
                    "asks {} {}: {}",
                    text("callId"),
                    text("label"),
                    text("text")
                )
            }
            "question" => format!(
                "{} by {}: {}",
                text("outcome"),
                text("by"),
                update["answer"]
            ),
            "inquiry" => format!("inquiry {} {}", update["callIds"], text("status")),
            "usage" => "usage".to_owned(),
            "title" => format!("title {}", text("title")),
            "edit" => format!("edit {}", text("callId")),
            other => format!("{other} {}", text("text")),
        });
    }
    lines
}

#[test]
fn a_whole_turn_is_streamed_and_read_back_the_same() {
    let world = TestWorld::new();
    world.write("a.txt", "a b\nb c\n");
    let mut client = Client::start(&world, WHOLE, prompts());
    let turn = client.turn(json!({ "message": "Tidy\nall", "mode": "edits", "turnId": "first" }));
    assert_eq!(turn["turnId"], "first");
    let (updates, end) = client.play(&turn, |prompt| match prompt["text"].as_str().unwrap() {
        "Which?" => {
            assert_eq!(prompt["answerType"]["options"], json!(["one", "two"]));
            answer("two")
        }
        "What name?" => answer("Ada"),
        other => panic!("{other}"),
    });
    assert_eq!(end["outcome"], "completed");
    assert_eq!(end["answer"], "Done.");
    assert_eq!(world.read("a.txt"), "a b\nB c\n");
    let told = lines(&updates);
    let tells = |wanted: &[&str]| {
        let mut rest = told.iter();
        for line in wanted {
            assert!(
                rest.any(|it| it == line),
                "no {line:?} in its place in {told:#?}"
            );
        }
    };
    tells(&[
        "title Tidy",
        "reasoning Where to begin?",
        "text I look first.",
    ]);
    for (call, title) in [
        ("read", "Read a.txt"),
        ("list", "List ."),
        ("search", "Search for b"),
        ("edit", "Edit a.txt, line 2"),
    ] {
        tells(&[
            &format!("call {call} ({title}) running"),
            &format!("result {call} ok"),
        ]);
    }
    tells(&["asks which Assistant: Which?", "answered by user: \"two\""]);
    tells(&[
        "asks name Assistant: What name?",
        "answered by user: \"Ada\"",
    ]);
    tells(&[
        "inquiry [\"edit\"] asked",
        "inquiry [\"edit\"] answered",
        "edit edit",
        "result edit ok",
        "text Done.",
        "usage",
    ]);
    assert!(
        told.iter().all(|line| !line.contains("call which")),
        "{told:#?}"
    );

    let id = json!({ "conversationId": turn["conversationId"] });
    let read = client.request("aside/conversation/read", id.clone());
    let turns = read["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 1);
    assert_eq!(
        (&turns[0]["message"], &turns[0]["outcome"]),
        (&json!("Tidy\nall"), &json!("completed"))
    );
    let again = lines(turns[0]["updates"].as_array().unwrap());
    // Only who sees a turn run is told when a model is asked, and of the title.
    let lasting = |lines: &[String]| {
        let lines = lines.iter();
        let lines = lines.filter(|it| !it.starts_with("title") && !it.ends_with(" asked"));
        lines.cloned().collect::<Vec<_>>()
    };
    assert_eq!(lasting(&again), lasting(&told));
    let last = |updates: &[Value]| {
        let usage = updates
            .iter()
            .rev()
            .find(|it| it["kind"] == "usage")
            .unwrap();
        usage["outputTokens"].clone()
    };
    assert_eq!(
        last(turns[0]["updates"].as_array().unwrap()),
        last(&updates)
    );

    let transcript = client.request("aside/conversation/transcript", id);
    let text = transcript["text"].as_str().unwrap();
    for part in ["Tidy", "I look first.", "What name?", "Ada", "Done."] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// The model asks whether it may go on.
const ASKS: &str = r#"
    9 times ask_user ask { question = "Go on?", answer_type = "boolean" }
    9 times "Done."
"#;

/// The model writes `new.txt` and puts `2` in the place of `two` in `a.txt`.
const EDITS: &str = r#"
    { user = "Edit", step = 1 } => 9 times read_file read { path = "a.txt" }
    + write_file write { path = "my new.txt", content = "new\n" }
    { user = "Edit", step = 2 } => 9 times edit_file edit { path = "a.txt", old_text = "two", new_text = "2" }
    9 times "Done."
"#;

#[test]
fn conversations_are_listed_renamed_forked_and_deleted() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, ASKS, prompts());
    let yes = |_: &Value| answer(true);
    let mut ids = Vec::new();
    for prompt in ["First", "Second", "Third"] {
        let turn = client.turn(json!({ "message": prompt }));
        client.play(&turn, yes);
        ids.push(turn["conversationId"].clone());
    }
    let titles = |client: &mut Client, params: Value| -> Vec<String> {
        let page = client.request("aside/conversation/list", params);
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|it| it["title"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(titles(&mut client, json!({})), ["Third", "Second", "First"]);
    assert_eq!(
        titles(&mut client, json!({ "query": "IR" })),
        ["Third", "First"]
    );
    let page = client.request("aside/conversation/list", json!({ "limit": 2 }));
    assert_eq!(page["items"][0]["status"], "idle");
    assert_eq!(page["items"][0]["turns"], 1);
    let rest = json!({ "cursor": page["nextCursor"], "limit": 2 });
    assert_eq!(titles(&mut client, rest), ["First"]);

    let again = client.turn(json!({ "message": "More", "conversationId": ids[0] }));
    client.play(&again, |_| answer(false));
    client.request(
        "aside/conversation/rename",
        json!({ "conversationId": ids[0], "title": "Other  name" }),
    );
    assert_eq!(titles(&mut client, json!({ "limit": 1 })), ["Other name"]);

    let whole = client.request(
        "aside/conversation/read",
        json!({ "conversationId": ids[0] }),
    );
    let first = whole["turns"][0]["turnId"].clone();
    let after = json!({ "conversationId": ids[0], "after": first });
    let after = client.request("aside/conversation/read", after);
    assert_eq!(after["turns"].as_array().unwrap().len(), 1);
    assert_eq!(after["turns"][0]["message"], "More");
    let page = json!({ "conversationId": ids[0], "limit": 1 });
    let page = client.request("aside/conversation/read", page);
    assert_eq!(
        (&page["turns"][0]["turnId"], &page["next"]),
        (&first, &first)
    );

    let fork = json!({ "conversationId": ids[0], "turnId": first });
    let fork = client.request("aside/conversation/fork", fork);
    let read = client.request("aside/conversation/read", fork.clone());
    assert_eq!(read["turns"].as_array().unwrap().len(), 1);
    client.request("aside/conversation/delete", fork.clone());
    assert_eq!(client.refused("aside/conversation/read", fork).0, -32010);
    assert_eq!(titles(&mut client, json!({})).len(), 3);
}

#[test]
fn a_turn_is_undone_whole_or_not_at_all() {
    let world = TestWorld::new();
    world.write("a.txt", "one\ntwo\n");
    let mut client = Client::start(&world, EDITS, prompts());
    let turn = client.turn(json!({ "message": "Edit", "mode": "edits" }));
    let (updates, _) = client.play(&turn, nobody);
    let edited: Vec<&Value> = updates.iter().filter(|it| it["kind"] == "edit").collect();
    let new = uri(&world, "my%20new.txt");
    assert!(
        edited.iter().any(|it| it["changes"][0]["uri"] == new),
        "{edited:?}"
    );
    let diff = edited
        .iter()
        .find_map(|it| it["changes"][0]["diff"].as_str());
    assert_eq!(
        diff,
        Some("--- /dev/null\n+++ b/my new.txt\n@@ -0,0 +1 @@\n+new\n")
    );
    let read = json!({ "conversationId": turn["conversationId"] });
    let read = client.request("aside/conversation/read", read);
    let again = read["turns"][0]["updates"].as_array().unwrap();
    let again: Vec<&Value> = again.iter().filter(|it| it["kind"] == "edit").collect();
    assert_eq!(again, edited);
    let undo = json!({ "turnId": turn["turnId"] });

    // Somebody changed the same lines of one of the files.
    world.write("a.txt", "one\n2 more\n");
    let error = client.error("aside/turn/undo", undo.clone());
    assert_eq!(error["code"], -32017);
    assert_eq!(
        error["data"],
        json!({ "conflicts": [uri(&world, "a.txt")] })
    );
    assert_eq!(world.read("my new.txt"), "new\n");
    // Only the other one.
    let only = json!({ "turnId": turn["turnId"], "uris": [new] });
    let undone = client.request("aside/turn/undo", only);
    assert_eq!(undone, json!({ "files": [new], "untracked": false }));
    assert!(!world.at("my new.txt").exists());

    // Open, and not saved.
    world.write("a.txt", "one\n2\n");
    let document = json!({ "uri": uri(&world, "a.txt"), "languageId": "text", "version": 1, "text": "one\n2\n" });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let version = json!({ "uri": uri(&world, "a.txt"), "version": 2 });
    let typed = json!({ "textDocument": version, "contentChanges": [{ "text": "one\n2 mine" }] });
    client.notify("textDocument/didChange", typed);
    assert_eq!(client.refused("aside/turn/undo", undo.clone()).0, -32017);
    client.notify("textDocument/didClose", json!({ "textDocument": version }));

    let undone = client.request("aside/turn/undo", undo.clone());
    assert_eq!(undone["files"], json!([uri(&world, "a.txt")]));
    assert_eq!(world.read("a.txt"), "one\ntwo\n");
    // There is nothing left to undo.
    assert_eq!(client.request("aside/turn/undo", undo)["files"], json!([]));
    let told = world.log();
    let told = told.all("directive");
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(
        told[1]["text"]
            .as_str()
            .unwrap()
            .contains("turn 1 made to: a.txt")
    );
    assert_eq!(
        client.refused(
            "aside/turn/undo",
            json!({ "turnId": turn["turnId"], "uris": ["file:///etc/passwd"] })
        ),
        (
            -32602,
            "uris[0]: \"file:///etc/passwd\" is no file of the workspace".to_owned()
        )
    );
}

#[test]
fn a_turn_that_a_fork_has_too_is_undone_where_it_was_seen() {
    let world = TestWorld::new();
    world.write("a.txt", "one\ntwo\n");
    let mut client = Client::start(&world, EDITS, prompts());
    let turn = client.turn(json!({ "message": "Edit", "mode": "edits" }));
    client.play(&turn, nobody);
    let own = json!({ "conversationId": turn["conversationId"] });
    let fork = client.request("aside/conversation/fork", own);
    client.request("aside/turn/undo", json!({ "turnId": turn["turnId"] }));
    let undone = |id: &Value| {
        let folders = world.conversations();
        let folder = folders.iter().find(|it| it.ends_with(id.as_str().unwrap()));
        fs::read_to_string(folder.unwrap().join("events.jsonl"))
            .unwrap()
            .contains("\"undone\"")
    };
    assert!(undone(&turn["conversationId"]) && !undone(&fork["conversationId"]));

    // Another process saw neither: the newest counts.
    client.leave();
    world.write("a.txt", "one\n2\n");
    world.write("my new.txt", "new\n");
    let mut client = Client::start(&world, EDITS, prompts());
    let title = json!({ "conversationId": fork["conversationId"], "title": "Newest" });
    client.request("aside/conversation/rename", title);
    let files =
        client.request("aside/turn/undo", json!({ "turnId": turn["turnId"] }))["files"].clone();
    assert_eq!(files.as_array().unwrap().len(), 2);
    assert!(undone(&fork["conversationId"]));
}

#[test]
fn turns_of_different_conversations_run_side_by_side_and_take_no_second_one() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, ASKS, prompts());
    let one = client.turn(json!({ "message": "One" }));
    let other = client.turn(json!({ "message": "Other" }));
    let (first, second) = (client.expect("aside/prompt"), client.expect("aside/prompt"));
    assert_ne!(
        first["params"]["conversationId"],
        second["params"]["conversationId"]
    );
    let pending = client.request("aside/prompt/pending", json!({}));
    assert_eq!(pending["prompts"].as_array().unwrap().len(), 2);
    for (method, params) in [
        (
            "aside/turn/start",
            json!({ "conversationId": one["conversationId"], "message": "Again" }),
        ),
        (
            "aside/conversation/delete",
            json!({ "conversationId": one["conversationId"] }),
        ),
        (
            "aside/conversation/rename",
            json!({ "conversationId": one["conversationId"], "title": "x" }),
        ),
        ("aside/turn/undo", json!({ "turnId": one["turnId"] })),
    ] {
        assert_eq!(client.refused(method, params).0, -32013, "{method}");
    }
    client.reply(&second, answer(true));
    client.reply(&first, answer(false));
    for turn in [&other, &one] {
        assert_eq!(client.play(turn, nobody).1["outcome"], "completed");
    }
}

#[test]
fn a_steered_turn_goes_on_with_what_was_added_and_a_cancelled_one_ends() {
    let script = r#"
        9 times ask_user ask { question = "Go on?", answer_type = "boolean" }
        { user = "quickly" } => "Quickly done."
    "#;
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    client.request(
        "aside/turn/steer",
        json!({ "turnId": turn["turnId"], "message": "But quickly" }),
    );
    client.reply(&prompt, answer(true));
    let (updates, end) = client.play(&turn, nobody);
    assert!(lines(&updates).contains(&"steered But quickly".to_owned()));
    assert_eq!(end["answer"], "Quickly done.");
    // Over: steering is refused, cancelling does nothing.
    let steer = json!({ "turnId": turn["turnId"], "message": "More" });
    assert_eq!(client.refused("aside/turn/steer", steer).0, -32011);
    client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));

    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
    let dismissed = client.expect("aside/prompt/dismiss");
    assert_eq!(
        dismissed["params"]["promptId"],
        prompt["params"]["promptId"]
    );
    let end = client.play(&turn, nobody).1;
    assert_eq!(end["outcome"], "cancelled");
    client.reply(&prompt, json!({ "action": "cancel" }));
    assert_eq!(
        client
            .refused("aside/turn/cancel", json!({ "turnId": "none" }))
            .0,
        -32011
    );
}

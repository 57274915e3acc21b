//! What is said of a turn while it runs and when it is over.

use serde_json::{Value, json};

use super::{able, ask, asking, bare, calling, command, ends, message, prompt};
use crate::{
    lsp::client::{Client, answer, prompts},
    world::TestWorld,
};

fn progress(client: &mut Client) -> Value {
    client.expect("$/progress")["params"].clone()
}

#[test]
fn a_turn_has_progress_that_ends_with_it() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, able());
    ask(&mut client);
    let create = client.expect("window/workDoneProgress/create");
    client.reply(&create, Value::Null);
    let begin = progress(&mut client);
    assert_eq!(begin["token"], create["params"]["token"]);
    assert_eq!(
        begin["value"],
        json!({ "kind": "begin", "title": "Aside: Go", "cancellable": true })
    );
    let report = progress(&mut client);
    assert_eq!(report["value"]["message"], "waits for you: Push?");
    prompt(&mut client);
    command(&mut client, "answer", json!({ "answer": true }));
    loop {
        let next = progress(&mut client);
        match next["value"]["kind"].as_str() {
            Some("report") => {}
            kind => break assert_eq!(kind, Some("end")),
        }
    }
}

#[test]
fn a_client_that_shows_prompts_has_no_progress_while_one_waits() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut abilities = prompts();
    abilities["window"] = json!({ "workDoneProgress": true });
    let mut client = Client::start(&world, &script, abilities);
    client.turn(json!({ "message": "Go" }));
    let create = client.expect("window/workDoneProgress/create");
    client.reply(&create, Value::Null);
    let begin = progress(&mut client);
    assert_eq!(begin["value"]["title"], "Aside: Go");
    assert_eq!(progress(&mut client)["value"], json!({ "kind": "end" }));
    let prompt = client.expect("aside/prompt");
    client.reply(&prompt, answer(true));
    let again = client.expect("window/workDoneProgress/create");
    assert_ne!(again["params"]["token"], create["params"]["token"]);
    client.reply(&again, Value::Null);
    assert_eq!(progress(&mut client)["value"]["title"], "Aside: Go");
    while progress(&mut client)["value"]["kind"] != "end" {}
}

#[test]
fn cancelling_the_progress_cancels_the_turn() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, able());
    ask(&mut client);
    let create = client.expect("window/workDoneProgress/create");
    client.reply(&create, Value::Null);
    prompt(&mut client);
    client.notify(
        "window/workDoneProgress/cancel",
        json!({ "token": create["params"]["token"] }),
    );
    while progress(&mut client)["value"]["kind"] != "end" {}
    assert_eq!(world.log().one("turn_end")["outcome"], "cancelled");
}

#[test]
fn that_a_workspace_is_not_trusted_is_said_once() {
    let world = TestWorld::new();
    let model = world.script(&calling("run_command", "command = 'touch made'"));
    world.user_config(&format!("assistant.model = '{model}'\n"));
    let mut client = Client::with(&world, bare(), json!({}));
    ask(&mut client);
    assert_eq!(
        ends(&mut client),
        "The workspace is not trusted, so only tools that read will run; run `aside trust` in it to change that."
    );
    for _ in 0..2 {
        let end = ends(&mut client);
        assert!(
            end.contains("(A call was refused; all of it is in "),
            "{end}"
        );
        let page = world.folder().join("state/aside/answer.md");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("(workspace not trusted)"), "{page}");
        ask(&mut client);
    }
    assert!(!world.at("made").exists());
}

#[test]
fn without_pages_the_answer_is_a_message_and_the_rest_is_logged() {
    let world = TestWorld::new();
    let lines: Vec<String> = (0..200).map(|n| format!("line {n:04}")).collect();
    let script = format!("\"{}\"", lines.join("\\n"));
    let mut client = Client::start(&world, &script, bare());
    ask(&mut client);
    let rest = client.expect("window/logMessage");
    let end = client.expect("window/showMessage");
    assert_eq!(end["params"]["type"], 3);
    assert!(message(&end).encode_utf16().count() <= 1000);
    // What is read first is the answer, and where all of it is.
    let page = world.folder().join("state/aside/answer.md");
    let begins = format!("(All of it is in {}.) line 0000\nline 0001", page.display());
    assert!(message(&end).starts_with(&begins), "{end}");
    for whole in [message(&rest), &std::fs::read_to_string(page).unwrap()] {
        let answer = format!("{}\n\n**Completed**.", lines.join("\n"));
        assert!(whole.contains(&answer), "{whole}");
    }
    assert_eq!(client.came("window/workDoneProgress/create"), 0);
}

#[test]
fn why_a_turn_failed_is_a_message() {
    let world = TestWorld::new();
    let script = "-\n& fault = { status = 401, text = 'who are you' }";
    let mut client = Client::start(&world, script, bare());
    ask(&mut client);
    let said = client.expect("window/showMessage");
    assert_eq!(said["params"]["type"], 1);
    assert!(message(&said).contains("401"), "{said}");
    assert!(message(&said).ends_with('.'), "{said}");
}

#[test]
fn no_message_makes_a_link_of_the_words_of_strangers() {
    let link = "[Allow](command:workbench.action.quit)";
    let harmless = link.replace("](", "] (");
    // Of a provider, and of a model; each in a workspace whose settings have one too.
    for reply in [
        format!("-\n& fault = {{ status = 400, text = '{link}' }}"),
        format!("'Click {link}.'"),
    ] {
        let world = TestWorld::new();
        world.write("aside.toml", &format!("'{link}' = 1\n"));
        let model = world.script(&reply);
        world.user_config(&format!("assistant.model = '{model}'\n"));
        let mut client = Client::with(&world, bare(), json!({}));
        ask(&mut client);
        let mut links = 0;
        while links < 2 {
            let said = ends(&mut client);
            assert!(!said.contains("](command:"), "{said}");
            links += usize::from(said.contains(&harmless));
        }
    }
}

//! A fallback client, which does not declare the `aside` capability.

mod commands;
mod pages;
mod prompts;
mod turns;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::client::Client;
use crate::world::{TestWorld, until};

/// An editor that can show files and progress.
fn able() -> Value {
    json!({
        "window": { "showDocument": { "support": true }, "workDoneProgress": true },
        "textDocument": {
            "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [""] } } },
        },
    })
}

/// An editor that can do neither.
fn bare() -> Value {
    json!({})
}

/// A turn in which the model asks this, and says `Done.` when it has the result.
fn asking(arguments: &str) -> String {
    calling("ask_user", arguments)
}

fn calling(tool: &str, arguments: &str) -> String {
    format!("{{ step = 1 }} => 9 times {tool} it {{ {arguments} }}\n{{}} => 9 times 'Done.'\n")
}

fn command(client: &mut Client, name: &str, argument: Value) -> Value {
    let params = json!({ "command": format!("aside.server.{name}"), "arguments": [argument] });
    client.request("workspace/executeCommand", params)
}

fn ask(client: &mut Client) -> Value {
    command(client, "ask", json!({ "message": "Go" }))
}

/// What the model is told of a question that was dismissed.
const DISMISSED: &str = "The user dismissed the question. Do not ask it again in this turn; continue without it or \
                         explain what is missing.";

/// An editor that shows messages beside the text.
const BESIDE: Option<&str> = Some("Visual Studio Code");

/// The next prompt.
#[track_caller]
fn prompt(client: &mut Client) -> Value {
    client.expect("window/showMessageRequest")
}

fn choose(client: &mut Client, prompt: &Value, title: &str) {
    client.reply(prompt, json!({ "title": title }));
}

/// The titles of a prompt's actions.
fn titles(prompt: &Value) -> Vec<&str> {
    let actions = prompt["params"]["actions"].as_array().unwrap();
    let titles = actions.iter().map(|action| action["title"].as_str());
    titles.map(Option::unwrap).collect()
}

fn message(said: &Value) -> &str {
    said["params"]["message"].as_str().unwrap()
}

/// The file that the client is to show next; it says that it does.
#[track_caller]
pub(super) fn page(client: &mut Client) -> PathBuf {
    let shown = client.expect("window/showDocument");
    shows(client, &shown)
}

/// The client says that it shows this file.
fn shows(client: &mut Client, shown: &Value) -> PathBuf {
    client.reply(shown, json!({ "success": true }));
    let uri = shown["params"]["uri"].as_str().unwrap();
    PathBuf::from(uri.strip_prefix("file://").unwrap())
}

/// Waits for the end of a turn in a client that shows no files.
#[track_caller]
fn ends(client: &mut Client) -> String {
    message(&client.expect("window/showMessage")).to_owned()
}

/// The code actions on a page, by their titles.
pub(super) fn actions_on(client: &mut Client, page: &std::path::Path) -> Vec<(String, Value)> {
    let start = json!({ "line": 0, "character": 0 });
    let actions = client.request(
        "textDocument/codeAction",
        json!({
            "textDocument": { "uri": format!("file://{}", page.display()) },
            "range": { "start": start, "end": start },
            "context": { "diagnostics": [] },
        }),
    );
    let actions = actions.as_array().unwrap().iter();
    actions
        .map(|it| {
            let title = it["title"].as_str().unwrap().to_owned();
            // A client without literals gets the command alone.
            let command = if it["command"].is_object() {
                &it["command"]
            } else {
                it
            };
            (title, command.clone())
        })
        .collect()
}

/// Takes the code action of this title on a page.
#[track_caller]
pub(super) fn take(client: &mut Client, page: &std::path::Path, title: &str) {
    let actions = actions_on(client, page);
    let found = actions.iter().find(|(it, _)| it == title);
    let (_, command) = found.unwrap_or_else(|| panic!("{title} among {actions:?}"));
    act(client, command);
}

/// Does what a code action says.
fn act(client: &mut Client, command: &Value) {
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    answers_once_shown(client, &params);
}

/// Answers by this command as soon as the server knows that the client shows the page: its requests are handled beside
/// what waits for the client.
#[track_caller]
fn answers_once_shown(client: &mut Client, params: &Value) {
    until("the page to be known as shown", || {
        let request = client.ask("workspace/executeCommand", params.clone());
        let response = client.answer(request);
        match response["error"]["message"].as_str() {
            None => true,
            Some(why) if why.contains("not shown whole yet") => false,
            Some(why) => panic!("{why}"),
        }
    });
}

/// Saves a text below the mark of a page, which the client does not report.
pub(super) fn save(page: &std::path::Path, text: &str) {
    let head = fs::read_to_string(page).unwrap();
    let (head, _) = head.rsplit_once("save --------\n").unwrap();
    fs::write(page, format!("{head}save --------\n{text}\n")).unwrap();
}

/// The client reports that a page was saved.
pub(super) fn report_saved(client: &mut Client, page: &std::path::Path) {
    let document = json!({ "uri": format!("file://{}", page.display()) });
    client.notify("textDocument/didSave", json!({ "textDocument": document }));
}

/// Plays a turn that asks this in a client that shows no files, up to the prompt.
fn asked(world: &TestWorld, arguments: &str) -> (Client, Value) {
    asked_in(None, world, arguments)
}

/// The same in a client of this name.
fn asked_in(name: Option<&str>, world: &TestWorld, arguments: &str) -> (Client, Value) {
    let mut client = Client::named(name, world, &asking(arguments), bare());
    ask(&mut client);
    let prompt = prompt(&mut client);
    (client, prompt)
}

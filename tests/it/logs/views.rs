//! What the program makes of the prefixes of a log.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    events::Appended,
    kept::Prefix,
    lines::{Log, event},
    stage::{Stage, without_conversation},
};
use crate::world::start;

/// The views of each prefix.
pub(super) fn of(log: &Log) -> Vec<Prefix> {
    let mut stage = Stage::new(log);
    let count = log.lines.len();
    for lines in 1..=count {
        stage.conversation(&id(lines), lines);
    }
    let mut prefixes: Vec<Prefix> = (1..=count).map(|lines| prefix(log, lines)).collect();
    lists(&mut stage, &mut prefixes);
    for (lines, prefix) in (1..).zip(&mut prefixes) {
        prefix.views.insert("page", page(&mut stage, &id(lines)));
        prefix.views.insert("read", read(&mut stage, &id(lines)));
        prefix
            .views
            .insert("fork", fork(&mut stage, &id(lines), lines));
    }
    let last = prefixes.last_mut().unwrap();
    let faults = faults(&stage, &id(count), &last.views["page"]);
    last.views.insert("faults", faults);
    for (lines, prefix) in (1..)
        .zip(&mut prefixes)
        .filter(|(lines, _)| is_played(log, *lines))
    {
        prefix.views.insert("message", message(&mut stage, lines));
        prefix.views.insert("resume", resume(&mut stage, lines));
    }
    prefixes
}

fn id(lines: usize) -> String {
    format!("p{lines:03}")
}

fn prefix(log: &Log, lines: usize) -> Prefix {
    let last = event(&log.lines[lines - 1]);
    let last = last
        .as_ref()
        .map_or("(damaged)", |it| it["type"].as_str().unwrap());
    Prefix {
        name: format!("{lines}: {last}"),
        views: BTreeMap::new(),
    }
}

/// Prefixes behind which a turn is started or resumed, which takes longer than to look at them.
fn is_played(log: &Log, lines: usize) -> bool {
    lines.is_multiple_of(5) || lines == log.lines.len()
}

/// The list, for people and for editors, and the prompts of interrupted turns.
fn lists(stage: &mut Stage, prefixes: &mut [Prefix]) {
    let mut command = stage.world.command(&["conversation", "list"]);
    let table = start(command.env("TZ", "UTC")).end();
    assert_eq!(table.code, 0, "{table:#?}");
    let list = stage
        .client
        .request("aside/conversation/list", json!({ "limit": 1000 }));
    let pending = stage.client.request("aside/prompt/pending", json!({}));
    for (lines, prefix) in (1..).zip(prefixes) {
        let id = id(lines);
        let row = table.stdout.lines().find_map(|line| line.strip_prefix(&id));
        let items = list["items"].as_array().unwrap();
        let item = items.iter().find(|it| it["conversationId"] == id.as_str());
        let of_list = [
            row.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")),
            item.map(|item| stage.names.line(&without_times(item))),
        ];
        prefix
            .views
            .insert("list", of_list.into_iter().flatten().collect());
        let prompts = pending["prompts"].as_array().unwrap().iter();
        let prompts = prompts.filter(|it| it["conversationId"] == id.as_str());
        let prompts = prompts.map(|it| stage.names.line(&without_conversation(it)));
        prefix.views.insert("pending", prompts.collect());
    }
}

/// An item of the list; when something was recorded last stands in the line for people.
fn without_times(item: &Value) -> Value {
    let mut item = without_conversation(item);
    let fields = item.as_object_mut().unwrap();
    fields.remove("createdAt").unwrap();
    fields.remove("updatedAt").unwrap();
    item
}

/// The conversation as a page for people.
fn page(stage: &mut Stage, id: &str) -> Vec<String> {
    let page = stage.client.request(
        "aside/conversation/transcript",
        json!({ "conversationId": id }),
    );
    lines_of(stage, page["text"].as_str().unwrap())
}

fn lines_of(stage: &Stage, text: &str) -> Vec<String> {
    let text = stage.names.text(text);
    text.lines().map(str::to_owned).collect()
}

/// Its turns, and their updates.
fn read(stage: &mut Stage, id: &str) -> Vec<String> {
    let read = stage
        .client
        .request("aside/conversation/read", json!({ "conversationId": id }));
    let mut lines = Vec::new();
    for turn in read["turns"].as_array().unwrap() {
        let mut turn = turn.clone();
        let updates = turn
            .as_object_mut()
            .unwrap()
            .shift_remove("updates")
            .unwrap();
        lines.push(stage.names.line(&turn));
        lines.extend(
            updates
                .as_array()
                .unwrap()
                .iter()
                .map(|it| stage.names.line(it)),
        );
    }
    assert_eq!(read["next"], Value::Null);
    lines
}

/// What a fork says besides, which closes an interrupted turn.
fn fork(stage: &mut Stage, id: &str, lines: usize) -> Vec<String> {
    let fork = stage
        .client
        .request("aside/conversation/fork", json!({ "conversationId": id }));
    let folder = stage.folder(fork["conversationId"].as_str().unwrap());
    let mut appended = Appended::read(&folder, lines);
    std::fs::remove_dir_all(folder).unwrap();
    let notice = appended.events.pop().unwrap();
    assert_eq!(
        notice["text"],
        format!("This conversation is a fork of {id}.")
    );
    appended.lines(&stage.names)
}

/// A new message in the conversation, which closes an interrupted turn too.
fn message(stage: &mut Stage, lines: usize) -> Vec<String> {
    let id = format!("m{lines:03}");
    let params = json!({ "conversationId": id, "turnId": "next", "message": "What now?" });
    stage.plays("aside/turn/start", params, lines)
}

/// The interrupted turn goes on.
fn resume(stage: &mut Stage, lines: usize) -> Vec<String> {
    let params = json!({ "conversationId": format!("r{lines:03}") });
    stage.plays("aside/turn/resume", params, lines)
}

/// What the command line shows and exports of the whole log is the page, and what of the log could not be read.
fn faults(stage: &Stage, id: &str, page: &[String]) -> Vec<String> {
    let shown = stage.world.aside(&["conversation", "show", id]);
    let exported = stage.world.aside(&["conversation", "export", id]);
    assert_eq!(
        (shown.code, &shown.stdout),
        (0, &exported.stdout),
        "{shown:#?}"
    );
    let shown = lines_of(stage, &shown.stdout);
    let (same, faults) = shown.split_at_checked(page.len()).unwrap_or_default();
    assert_eq!(same, page);
    faults.to_vec()
}

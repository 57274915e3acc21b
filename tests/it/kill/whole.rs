//! What holds of a conversation, and around it, however often it was killed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
};

use aside_session::replay;
use aside_turn::{
    Event,
    record::{CallKey, Outcome, PromptSubject},
};

use super::story::StoryGround;

const UNKNOWN: &str =
    "run_command was interrupted; its effects are unknown. Look before you run it again.";

/// Checks a conversation of which so many turns have ended, and the files around it.
pub(super) fn check(ground: &StoryGround, turns: usize) {
    let count = fs::read_to_string(ground.world.at("count")).unwrap_or_default();
    for history in histories(ground, turns) {
        history.effects(&count);
    }
    files(ground);
    nothing_runs(ground);
}

/// Checks a conversation of which so many turns have ended.
pub(super) fn histories(ground: &StoryGround, turns: usize) -> Vec<History> {
    let lines = ground.conversation.read_all().unwrap();
    assert_eq!(lines.faults, []);
    let all = replay::turns(&lines.records);
    let ended = all
        .iter()
        .filter(|turn| turn.standing.outcome == Some(Outcome::Completed));
    assert_eq!(ended.count(), turns, "{all:#?}");
    // A turn that was killed before its message was on record was not begun.
    let begun = all.iter().filter(|turn| turn.events.len() > 1);
    begun
        .map(|turn| {
            let mut history = History::default();
            for event in &turn.events {
                history.take(event);
            }
            history.end();
            history
        })
        .collect()
}

/// No process is left that works in the workspace.
fn nothing_runs(ground: &StoryGround) {
    let left = processes(ground);
    assert!(left.is_empty(), "{left:?}");
}

/// The command lines of all processes that work in the workspace.
pub(super) fn processes(ground: &StoryGround) -> Vec<String> {
    let work = fs::canonicalize(ground.world.at("")).unwrap();
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap() {
        let process = process.unwrap().path();
        if fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == work) {
            found.push(fs::read_to_string(process.join("cmdline")).unwrap_or_default());
        }
    }
    found
}

/// One turn, as its events tell it.
#[derive(Default)]
pub(super) struct History {
    asked: bool,
    /// Calls of a response whose end has not come.
    said: Vec<(CallKey, String)>,
    /// The commands of calls that count, by their key.
    calls: BTreeMap<CallKey, String>,
    results: BTreeMap<CallKey, String>,
    started: BTreeSet<CallKey>,
    /// How often each pair's response came.
    inquiries: HashMap<String, usize>,
    /// How often each prompt was settled, and the pair it is about.
    prompts: HashMap<String, (usize, Option<String>)>,
    ended: bool,
}

impl History {
    fn take(&mut self, event: &Event) {
        assert!(!self.ended, "after the end: {event:?}");
        match event {
            Event::UserMessage { .. } => {
                assert!(!self.asked, "the message came twice");
                self.asked = true;
            }
            Event::RequestSent { .. } => {
                assert!(self.asked, "a request without a message");
                self.said.clear();
                let open: Vec<_> = self
                    .calls
                    .keys()
                    .filter(|key| !self.results.contains_key(key))
                    .collect();
                assert!(open.is_empty(), "a request without a result for {open:?}");
            }
            Event::ToolCall {
                call, arguments, ..
            } => self.said.push((*call, arguments.clone())),
            Event::ResponseEnd { .. } => {
                for (call, arguments) in self.said.drain(..) {
                    assert!(
                        self.calls.insert(call, arguments).is_none(),
                        "{call:?} twice"
                    );
                }
            }
            Event::CallStarted { call, .. } => {
                assert!(
                    self.calls.contains_key(call) && !self.results.contains_key(call),
                    "{event:?}"
                );
                self.started.insert(*call);
            }
            Event::ToolResult {
                call,
                content,
                held: false,
                ..
            } => {
                assert!(self.calls.contains_key(call), "{event:?}");
                assert!(
                    self.results.insert(*call, content.clone()).is_none(),
                    "a second result: {event:?}"
                );
            }
            Event::TurnEnd { outcome, .. } => self.ended = *outcome != Outcome::Interrupted,
            _ => self.question(event),
        }
    }

    fn question(&mut self, event: &Event) {
        match event {
            Event::InquiryRequest { id, .. } => {
                assert!(
                    self.inquiries.insert(id.clone(), 0).is_none(),
                    "asked twice: {id}"
                );
            }
            Event::InquiryResponse { id, .. } => {
                *self.inquiries.get_mut(id).unwrap() += 1;
                let about = self
                    .prompts
                    .values_mut()
                    .filter(|(_, pair)| pair.as_ref() == Some(id));
                about.for_each(|(settled, _)| *settled += 1);
            }
            Event::PromptOpened {
                prompt, subject, ..
            } => {
                let pair = match subject {
                    PromptSubject::Question { inquiry } => Some(inquiry.clone()),
                    _ => None,
                };
                // A resume may open the same prompt again.
                let before = self.prompts.insert(prompt.0.clone(), (0, pair));
                assert!(
                    before.is_none_or(|(settled, _)| settled == 0),
                    "settled before: {event:?}"
                );
            }
            Event::PromptClosed { prompt, .. } => self.prompts.get_mut(&prompt.0).unwrap().0 += 1,
            _ => {}
        }
    }

    fn end(&self) {
        assert!(self.ended);
        assert!(
            self.calls.keys().eq(self.results.keys()),
            "{:?} {:?}",
            self.calls,
            self.results
        );
        assert!(
            self.inquiries.values().all(|responses| *responses == 1),
            "{:?}",
            self.inquiries
        );
        assert!(
            self.prompts.values().all(|(settled, _)| *settled == 1),
            "{:?}",
            self.prompts
        );
    }

    /// What the model is told of each call.
    pub(super) fn results(&self) -> Vec<&str> {
        self.results.values().map(String::as_str).collect()
    }

    /// Each command of the story adds a line of its own to a file.
    fn effects(&self, count: &str) {
        for (call, arguments) in &self.calls {
            let Some((_, after)) = arguments.split_once(r#""command":"echo "#) else {
                continue;
            };
            let word = after.split_once(' ').unwrap().0;
            let happened = count.lines().filter(|line| *line == word).count();
            let result = &self.results[call];
            if result.starts_with("Exit status 0.") {
                assert_eq!(happened, 1, "{word}: {result}");
            } else {
                assert_eq!(result, UNKNOWN);
                assert!(
                    happened <= 1 && self.started.contains(call),
                    "{word} happened {happened} times: {result}"
                );
            }
        }
    }
}

/// Nothing was left anywhere, and no file is half written.
fn files(ground: &StoryGround) {
    let notes = ground.world.read("notes.txt");
    assert!(["x\nx\n", "y\ny\n"].contains(&notes.as_str()), "{notes:?}");
    let folder = ground.world.folder();
    assert_eq!(
        names(folder),
        ["config", "home", "scripts", "state", "work"]
    );
    assert_eq!(names(&folder.join("scripts")), ["one.toml", "two.toml"]);
    assert!(names(&folder.join("home")).is_empty() && names(&folder.join("config")).is_empty());
    let work = names(&ground.world.at(""));
    assert!(
        work == ["count", "notes.txt"] || work == ["notes.txt"],
        "{work:?}"
    );
}

/// The names in a folder.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

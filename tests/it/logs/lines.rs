//! The lines of a log as they were written, and the same log as if it had been written somewhere else.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// The model of a log that was moved.
pub(super) const MODEL: &str = "golden/model";

/// A log that is kept, and what it takes to go on with it.
pub(super) struct Log {
    /// Where it is kept.
    pub(super) folder: PathBuf,
    /// Its lines, newlines included; the last may be torn.
    pub(super) lines: Vec<Vec<u8>>,
}

impl Log {
    /// Reads the log in this folder.
    pub(super) fn read(folder: &Path) -> Self {
        let bytes = fs::read(folder.join("events.jsonl"))
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        Self {
            folder: folder.to_owned(),
            lines: lines.map(<[u8]>::to_vec).collect(),
        }
    }

    /// The name of the conversation among the logs.
    pub(super) fn name(&self) -> std::path::Display<'_> {
        let name = self.folder.file_name().map(Path::new);
        name.unwrap_or(&self.folder).display()
    }

    /// The log with the folder of another world in place of its own, and with the model that the tests play.
    pub(super) fn moved(&self, world: &Path) -> Vec<Vec<u8>> {
        let events: Vec<Value> = self.lines.iter().filter_map(|line| event(line)).collect();
        let start = events.iter().find(|it| it["type"] == "turn_start");
        let options = start.map(|it| &it["options"]);
        let text = |name: &str| Some(options?[name].as_str()?.to_owned());
        let root = text("root").expect("a turn with a root");
        let old = Path::new(&root).parent().unwrap().display().to_string();
        let new = world.display().to_string();
        let mut words = vec![(
            "\"provider\":\"rehearsal\"".to_owned(),
            "\"provider\":\"golden\"".to_owned(),
        )];
        let models = events
            .iter()
            .filter_map(|it| it["options"]["model"].as_str());
        words.extend(
            models
                .filter(|it| *it != MODEL)
                .map(|it| (it.to_owned(), MODEL.to_owned())),
        );
        words.extend(approvals(&events, &old, &new));
        words.push((old, new));
        let lines = self.lines.iter().map(|line| moved(line, &words));
        lines.collect()
    }
}

/// The event in a line that is as it was written.
pub(super) fn event(line: &[u8]) -> Option<Value> {
    let line = line.strip_suffix(b"\n")?;
    let (text, end) = line.split_at_checked(line.len().checked_sub(END)?)?;
    (end == checksum(text).as_bytes()).then(|| serde_json::from_slice(line).unwrap())
}

/// The length of what stands behind all that a checksum is of.
const END: usize = 18;

fn checksum(text: &[u8]) -> String {
    format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(text))
}

/// A line that says this, as the program writes it; a checksum is put anew.
pub(super) fn line(mut event: Value) -> Vec<u8> {
    event.as_object_mut().unwrap().shift_remove("crc");
    let text = event.to_string();
    let text = text.strip_suffix('}').unwrap();
    format!("{text}{}\n", checksum(text.as_bytes())).into_bytes()
}

/// A line in which the system text is one sentence, and the tools are one: the rest is the same in all logs.
pub(super) fn shortened(old: &[u8]) -> Vec<u8> {
    let Some(mut event) = event(old) else {
        return old.to_vec();
    };
    if !matches!(event["type"].as_str(), Some("conversation" | "changed")) {
        return old.to_vec();
    }
    if let Some(Value::String(system)) = event.get_mut("system") {
        system.truncate(system.find('\n').unwrap_or(system.len()));
    }
    if let Some(Value::Array(tools)) = event.get_mut("tools") {
        tools.truncate(1);
    }
    line(event)
}

/// The types of the events in these lines with the paths of their members, but for what requests begin with.
pub(super) fn members(lines: &[Vec<u8>]) -> BTreeSet<String> {
    fn add(found: &mut BTreeSet<String>, path: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    add(found, &format!("{path}.{name}"), value);
                }
            }
            Value::Array(items) => {
                for item in items {
                    add(found, &format!("{path}[]"), item);
                }
            }
            _ => {
                found.insert(path.to_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    for event in lines.iter().filter_map(|line| event(line)) {
        let kind = event["type"].as_str().unwrap();
        if !matches!(kind, "conversation" | "changed") {
            add(&mut found, kind, &event);
        }
    }
    found
}

/// A line with other words. One that is not as it was written stays so.
fn moved(line: &[u8], words: &[(String, String)]) -> Vec<u8> {
    if event(line).is_none() {
        return line.to_vec();
    }
    let mut text = String::from_utf8(line[..line.len() - 1 - END].to_vec()).unwrap();
    for (old, new) in words {
        text = text.replace(old, new);
    }
    let end = checksum(text.as_bytes());
    (text + &end + "\n").into_bytes()
}

/// An approval of a command is bound to the folder that it runs in: the hashes before, and after.
fn approvals(events: &[Value], old: &str, new: &str) -> Vec<(String, String)> {
    let mut commands = BTreeMap::new();
    for call in events.iter().filter(|it| it["name"] == "run_command") {
        let arguments = call["arguments"].as_str().unwrap_or_default();
        if let Ok(arguments) = serde_json::from_str::<Value>(arguments) {
            let command = arguments["command"].as_str().unwrap_or_default().to_owned();
            let hash = |world: &str| {
                let folder = format!("{world}/work");
                aside_base::digest::of_parts(&["run_command", &command, &folder])
            };
            commands.insert(hash(old), hash(new));
        }
    }
    commands.into_iter().collect()
}

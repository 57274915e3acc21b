//! The texts of files as the model saw them last, and which lines of each.

use std::collections::HashMap;

use aside_turn::record::{CallEnd, CallKey, Event};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Hashes of the files as the model last saw them.
#[derive(Debug, Default)]
pub struct FileSnapshots {
    /// Each file as the model last read or wrote it, by path from the root.
    read: HashMap<String, KnownText>,
    /// Texts that stand in the conversation as the model was given them, by path from the root.
    given: HashMap<String, GivenText>,
    /// Turns of the conversation so far.
    turns: u32,
    /// Contents that edits of tools made: path and hash after, hash before.
    edited: HashMap<(String, String), String>,
    /// The hash of the text about which a call asked last.
    asked: HashMap<CallKey, String>,
}

/// Lines of a text that the model was given, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinesRead {
    /// The first.
    pub from: usize,
    /// Number of the last line, which is one of them.
    pub to: usize,
    /// Number of lines of the text.
    pub of: usize,
    /// Whether the end of a line was left out.
    pub is_cut: bool,
}

/// Lines of a text as a result gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenLines {
    /// Number of the first line, counted from 1.
    pub from: usize,
    /// The last.
    pub to: usize,
    /// Whether each was led by its number.
    pub numbered: bool,
}

/// A text of which results gave lines.
#[derive(Clone, Debug)]
struct GivenText {
    /// SHA-256 of the text, in hexadecimal digits.
    hash: String,
    /// The lines of each result, and its turn.
    lines: Vec<(GivenLines, u32)>,
}

/// The part of a text that the model does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextGap {
    /// Lines that it can read.
    Unread,
    /// Ends of lines that are too long to be shown.
    Cut,
}

/// A text that the model knows.
#[derive(Clone, Debug)]
struct KnownText {
    /// The SHA-256.
    hash: String,
    /// The known part; none where all of it is known.
    part: Option<KnownPart>,
}

/// The known part of a text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct KnownPart {
    /// First and last of lines that follow each other; in order, apart.
    lines: Vec<(usize, usize)>,
    /// Whether the end of one of them was left out.
    #[serde(default)]
    cut: bool,
}

impl FileSnapshots {
    /// Notes that the model knows all of this content of a file. Returns details for the record, so that a resume knows it
    /// too.
    pub fn note(&mut self, path: &str, hash: &str) -> Value {
        self.keep(path, hash, None)
    }

    /// The same for some lines of it, beside those that it knows already.
    pub fn note_lines(&mut self, path: &str, hash: &str, lines: LinesRead) -> Value {
        let known = self.read.get(path).filter(|known| known.hash == hash);
        let part = match known.map(|known| known.part.clone()) {
            Some(None) => None,
            Some(Some(part)) => part.with(lines),
            None => KnownPart::default().with(lines),
        };
        self.keep(path, hash, part)
    }

    /// Notes that the model changed a text of which it knows no more than before.
    pub fn note_change(&mut self, path: &str, hash: &str) -> Value {
        let known = self.read.get(path);
        let is_whole = known.is_none_or(|known| known.part.is_none());
        // The lines are others now.
        self.keep(path, hash, (!is_whole).then(KnownPart::default))
    }

    fn keep(&mut self, path: &str, hash: &str, part: Option<KnownPart>) -> Value {
        let mut details = json!({ "read": { path: hash } });
        if let Some(part) = &part {
            details["part"] = json!({ path: part });
        }
        let hash = hash.to_owned();
        self.read.insert(path.to_owned(), KnownText { hash, part });
        details
    }

    /// Takes in the details of a recorded result.
    pub fn restore(&mut self, details: &Value) {
        for (path, hash) in details["read"].as_object().into_iter().flatten() {
            let part = KnownPart::deserialize(&details["part"][path]).ok();
            if let Some(hash) = hash.as_str() {
                self.keep(path, hash, part);
            }
        }
    }

    /// Adds to the details of a result that it gives all of these lines.
    pub fn note_given(details: &mut Value, path: &str, lines: GivenLines) {
        details["given"] = json!({ path: lines });
    }

    /// The turn in which a result gave the same lines of the same text, where it still stands in the conversation.
    #[must_use]
    pub fn given_in(&self, path: &str, hash: &str, lines: GivenLines) -> Option<u32> {
        let given = self.given.get(path).filter(|given| given.hash == hash)?;
        let mut same = given.lines.iter().filter(|(known, _)| *known == lines);
        same.next_back().map(|(_, turn)| *turn)
    }

    /// Follows the conversation: what the model is given, and when a summary takes its place.
    pub fn follow(&mut self, event: &Event) {
        match event {
            Event::TurnStart => self.turns += 1,
            Event::Compacted { .. }
            | Event::CompactionUndone { .. }
            | Event::OutputsCleared { .. } => self.forget_given(),
            Event::ToolResult {
                details: Some(details),
                end,
                held,
                ..
            } => self.follow_result(details, *end == CallEnd::Success && !held),
            _ => {}
        }
    }

    /// Forgets what results gave, because it does not stand in the conversation any more, or not for long.
    pub fn forget_given(&mut self) {
        self.given.clear();
    }

    fn follow_result(&mut self, details: &Value, is_seen: bool) {
        for (path, hash) in details["read"].as_object().into_iter().flatten() {
            let Some(hash) = hash.as_str() else {
                continue;
            };
            // An older text does not count any more, even if the file has it again.
            self.given
                .retain(|known, text| known != path || text.hash == hash);
            let lines = GivenLines::deserialize(&details["given"][path]);
            if let (true, Ok(lines)) = (is_seen, lines) {
                let given = self.given.entry(path.clone());
                let given = given.or_insert_with(|| GivenText {
                    hash: hash.to_owned(),
                    lines: Vec::new(),
                });
                given.lines.push((lines, self.turns));
            }
        }
    }

    /// The part that stays after the turn.
    #[must_use]
    pub fn after_turn(&self) -> Self {
        Self {
            read: self.read.clone(),
            given: self.given.clone(),
            turns: self.turns,
            ..Self::default()
        }
    }

    /// Puts what was seen in earlier turns before a turn that has begun already, and in which nothing was seen yet.
    pub fn follows(&mut self, earlier: Self) {
        let turns = self.turns + earlier.turns;
        *self = Self { turns, ..earlier };
    }

    /// The content that the model knows.
    #[must_use]
    pub fn hash(&self, path: &str) -> Option<&str> {
        self.read.get(path).map(|known| known.hash.as_str())
    }

    /// The part of that content that the model does not know.
    #[must_use]
    pub fn gap(&self, path: &str) -> Option<TextGap> {
        let part = self.read.get(path)?.part.as_ref()?;
        Some(match part.cut {
            true => TextGap::Cut,
            false => TextGap::Unread,
        })
    }

    /// Keeps that a tool's edit led from one content to another.
    pub fn edited(&mut self, path: &str, before: &str, after: &str) {
        self.edited
            .insert((path.to_owned(), after.to_owned()), before.to_owned());
    }

    /// Whether edits of tools alone led from one content of a file to another. Calls of one message edit a file one
    /// after another.
    #[must_use]
    pub fn leads(&self, path: &str, from: &str, to: &str) -> bool {
        let mut at = to;
        // An edit and its undoing make a circle; no chain is longer than all edits.
        for _ in 0..=self.edited.len() {
            if at == from {
                return true;
            }
            let Some(before) = self.edited.get(&(path.to_owned(), at.to_owned())) else {
                return false;
            };
            at = before;
        }
        false
    }

    /// Notes the text about which a call asks.
    pub(super) fn ask(&mut self, call: CallKey, hash: &str) {
        self.asked.insert(call, hash.to_owned());
    }

    /// The hash of the text about which a call asked last.
    pub(super) fn asked(&self, call: CallKey) -> Option<&str> {
        self.asked.get(&call).map(String::as_str)
    }
}

impl KnownPart {
    /// The part with these lines; none where that is all of the text.
    fn with(mut self, read: LinesRead) -> Option<Self> {
        let (mut from, mut to) = (read.from, read.to);
        let is_apart = |&(first, last): &(usize, usize)| last + 1 < from || to + 1 < first;
        let (mut apart, touching): (Vec<_>, Vec<_>) = self.lines.into_iter().partition(is_apart);
        for (first, last) in touching {
            (from, to) = (from.min(first), to.max(last));
        }
        apart.push((from, to));
        apart.sort_unstable();
        let is_all = from <= 1 && to >= read.of;
        self.cut |= read.is_cut;
        self.lines = apart;
        (!is_all || self.cut).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(from: usize, to: usize) -> LinesRead {
        LinesRead {
            from,
            to,
            of: 9,
            is_cut: false,
        }
    }

    #[test]
    fn what_is_recorded_restores_what_was_seen() {
        let details = FileSnapshots::default().note("src/a.rs", "abc");
        let part = FileSnapshots::default().note_lines("src/b.rs", "def", lines(1, 4));
        let mut seen = FileSnapshots::default();
        seen.restore(&details);
        seen.restore(&part);
        seen.restore(&json!({"read": {"b": 7}, "other": 1}));
        seen.restore(&Value::Null);
        assert_eq!(seen.hash("src/a.rs"), Some("abc"));
        assert_eq!(seen.gap("src/a.rs"), None);
        assert_eq!(seen.hash("b"), None);
        assert_eq!(seen.gap("src/b.rs"), Some(TextGap::Unread));
        seen.note_lines("src/b.rs", "def", lines(5, 9));
        assert_eq!(seen.gap("src/b.rs"), None);
    }

    #[test]
    fn a_text_is_known_once_all_its_lines_were_read() {
        let mut seen = FileSnapshots::default();
        for (from, to, gap) in [
            (7, 9, true),
            (1, 2, true),
            (4, 5, true),
            (5, 6, true),
            (2, 3, false),
            (1, 1, false),
        ] {
            seen.note_lines("f", "a", lines(from, to));
            let expected = gap.then_some(TextGap::Unread);
            assert_eq!(seen.gap("f"), expected, "{from} to {to}");
        }
        seen.note_lines("f", "b", lines(1, 8));
        assert_eq!(seen.gap("f"), Some(TextGap::Unread), "another text");
        seen.note_change("f", "c");
        seen.note_lines("f", "c", lines(9, 9));
        assert_eq!(seen.gap("f"), Some(TextGap::Unread), "a changed one");
        seen.note("f", "d");
        seen.note_change("f", "e");
        assert_eq!(seen.gap("f"), None);
        let cut = LinesRead {
            is_cut: true,
            ..lines(1, 9)
        };
        seen.note_lines("f", "g", cut);
        assert_eq!(seen.gap("f"), Some(TextGap::Cut));
    }

    #[test]
    fn lines_that_were_given_count_until_the_text_changes_or_a_summary_stands_for_them() {
        let given = GivenLines {
            from: 1,
            to: 9,
            numbered: false,
        };
        let other = GivenLines { to: 8, ..given };
        let result = |hash: &str, held| {
            let mut details = json!({ "read": { "f": hash } });
            FileSnapshots::note_given(&mut details, "f", given);
            Event::ToolResult {
                call: CallKey(1),
                end: CallEnd::Success,
                content: String::new(),
                summary: None,
                held,
                details: Some(details),
                media: Vec::new(),
            }
        };
        let summary = Event::CompactionUndone {
            number: 0,
            context: 0,
        };
        let mut seen = FileSnapshots::default();
        for (event, expected, why) in [
            (Event::TurnStart, None, "nothing was given"),
            (result("a", true), None, "it is held back"),
            (result("a", false), Some(1), "it was given"),
            (Event::TurnStart, Some(1), "it stands in later turns"),
            (result("b", false), None, "the file changed"),
            (result("a", false), Some(2), "it was given anew"),
            (summary, None, "other messages stand in the conversation"),
        ] {
            seen.follow(&event);
            assert_eq!(seen.given_in("f", "a", given), expected, "{why}");
            assert_eq!(seen.given_in("f", "a", other), None, "other lines: {why}");
        }
    }

    #[test]
    fn a_content_leads_to_another_by_edits_of_tools_alone() {
        let mut seen = FileSnapshots::default();
        seen.edited("f", "a", "b");
        seen.edited("f", "b", "c");
        seen.edited("f", "p", "q");
        seen.edited("f", "q", "p");
        assert!(seen.leads("f", "a", "c"));
        assert!(!seen.leads("f", "a", "d"), "somebody else's text");
        assert!(!seen.leads("g", "a", "c"), "another file");
        assert!(!seen.leads("f", "a", "p"), "a circle");
    }
}

//! What the next turn needs of a long log at once: all but what was said, for which the heads of the lines are enough.

use std::{
    collections::{BTreeSet, HashSet},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
    time::Duration,
};

use aside_turn::{
    history::fullness::Fullness,
    record::{Event, Refused},
};

use super::{Entry, Frozen, Turn, conversation::ConversationFold, taken_back::UndoneSummaries};
use crate::{
    codec,
    lines::{FORWARD, open},
};

/// Types of the entries that are read whole.
const COUNTS: [&str; 13] = [
    "compacted",
    "compaction_undone",
    "compaction_failed",
    "outputs_cleared",
    "request_sent",
    "response_end",
    "inquiry_response",
    "spent",
    "conversation",
    "changed",
    "learned",
    "directive",
    "tool_call",
];

/// Types of the entries that wait for a request, and of the request. Large ones are among them: they are only read where no
/// response has counted them, or where that tells how much a summary has left.
const WAITS: [&str; 5] = [
    "user_message",
    "directive",
    "steer",
    "tool_result",
    "request_sent",
];

/// Outline of a conversation whose log is undamaged.
#[derive(Debug, Default, PartialEq)]
pub struct ConversationOutline {
    /// The current frozen prefix; `None` before the first request.
    pub frozen: Option<Frozen>,
    /// Features that models refused, by model.
    pub learned: BTreeSet<(String, Refused)>,
    /// Tokens of the conversation, and the summaries that failed in a row.
    pub fullness: Fullness,
    /// Ids of all turns.
    pub turns: HashSet<String>,
    /// When a request to a model was under way last.
    pub asked_at: Option<Duration>,
    /// The turn that was started last.
    pub last: Option<Turn>,
}

/// Reads the outline of the first `length` bytes of a log. None: a line of it is damaged, was lost or changed its place,
/// and only the whole log says what counts.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn outline(folder: &Path, length: u64) -> io::Result<Option<ConversationOutline>> {
    let Some(mut file) = open(folder)? else {
        return Ok(Some(ConversationOutline::default()));
    };
    let mut reader = BufReader::with_capacity(FORWARD, (&file).take(length));
    let (mut outline, mut line) = (ConversationOutline::default(), Vec::new());
    let mut waiting = WaitingLines::default();
    let (mut place, mut seq, mut last, mut calls) = (0, 0, None, HashSet::new());
    while let size @ 1.. = reader.read_until(b'\n', &mut line)? {
        let Some(head) = line.strip_suffix(b"\n").and_then(codec::head) else {
            return Ok(None);
        };
        seq += 1;
        if head.seq != seq {
            return Ok(None);
        }
        if let Some(turn) = head.turn
            && last.as_ref().is_none_or(|(id, _)| id != turn)
            && outline.turns.insert(turn.to_owned())
        {
            last = Some((turn.to_owned(), place));
        }
        let (counts, waits) = (COUNTS.contains(&head.kind), WAITS.contains(&head.kind));
        let (is_request, is_response) = (head.kind == "request_sent", head.kind == "response_end");
        if is_response && !waiting.are_counted(&line[..size - 1], &mut outline.fullness) {
            return Ok(None);
        }
        if head.kind == "compacted" {
            waiting.are_summarised();
        }
        if counts && !outline.take(&line[..size - 1], &mut calls) {
            return Ok(None);
        }
        place += size as u64;
        if waits {
            waiting.add(std::mem::take(&mut line), is_request);
        }
        line.clear();
    }
    if !waiting.are_left(&mut outline.fullness) {
        return Ok(None);
    }
    if let Some((turn, start)) = last {
        file.seek(SeekFrom::Start(start))?;
        let tail = BufReader::with_capacity(FORWARD, file.take(length - start));
        let mut fold = ConversationFold::default();
        for line in tail.split(b'\n') {
            let Ok(record) = codec::decode(&line?) else {
                return Ok(None);
            };
            if record.turn.as_ref().is_none_or(|id| *id == turn) {
                // Only the turn is wanted, and no transcript.
                fold.take(record, &UndoneSummaries::default());
            }
        }
        outline.last = fold.end().last;
    }
    Ok(Some(outline))
}

impl ConversationOutline {
    /// Takes a line that counts. Returns false if that tells of damage, or of a call with the id of another, which is
    /// given another id.
    fn take(&mut self, line: &[u8], calls: &mut HashSet<String>) -> bool {
        let Ok(record) = codec::decode(line) else {
            return false;
        };
        if record.entry.event().is_some_and(Event::is_of_request) {
            self.asked_at = Some(record.time);
        }
        match record.entry {
            Entry::Conversation(first) => self.frozen = Some(first),
            Entry::Changed(changed) => {
                if let Some(frozen) = &mut self.frozen {
                    frozen.change(&changed);
                }
            }
            Entry::Turn(event @ Event::Learned { .. }) => {
                self.fullness.apply(&event);
                if let Event::Learned { model, refuses } = event {
                    self.learned.insert((model, refuses));
                }
            }
            Entry::Turn(Event::Directive { kind, .. }) => return !kind.is_lost(),
            Entry::Turn(Event::ToolCall { id, .. }) => return calls.insert(id),
            Entry::Turn(Event::RequestSent { .. }) => {}
            Entry::Turn(event) => self.fullness.apply(&event),
            _ => {}
        }
        true
    }
}

/// Lines that wait for a response to count them, with those of their requests.
#[derive(Default)]
struct WaitingLines {
    lines: Vec<Vec<u8>>,
    /// Those up to the last request, this included.
    sent: usize,
}

impl WaitingLines {
    fn add(&mut self, line: Vec<u8>, is_request: bool) {
        self.lines.push(line);
        if is_request {
            self.sent = self.lines.len();
        }
    }

    /// A response comes that counts what was sent, if its provider counts. Returns false if a line of all that is damaged.
    fn are_counted(&mut self, response: &[u8], fullness: &mut Fullness) -> bool {
        let Ok(response) = codec::decode(response) else {
            return false;
        };
        let sent = self.lines.drain(..std::mem::take(&mut self.sent));
        let counts = response.entry.event().and_then(Event::context).is_some();
        (counts && !fullness.awaits_response()) || apply(sent, fullness)
    }

    /// A summary stands for what was sent in vain.
    fn are_summarised(&mut self) {
        self.lines.drain(..std::mem::take(&mut self.sent));
    }

    /// No response follows. Returns false if a line is damaged.
    fn are_left(self, fullness: &mut Fullness) -> bool {
        apply(self.lines, fullness)
    }
}

/// Applies lines to what is counted. Returns false if one is damaged.
fn apply(lines: impl IntoIterator<Item = Vec<u8>>, fullness: &mut Fullness) -> bool {
    lines.into_iter().all(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let Ok(record) = codec::decode(line) else {
            return false;
        };
        if let Some(event) = record.entry.event() {
            fullness.apply(event);
        }
        true
    })
}

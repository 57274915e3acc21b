//! Encodes and decodes the lines of the log.

use std::time::Duration;

use aside_turn::record::FaultKind;
use serde::Serialize;
use serde_json::{Map, Value};

use super::record::{Entry, Record, VERSION, time_of, time_text};

/// Fields that precede those of an entry.
#[derive(Serialize)]
struct Line<'a> {
    v: u64,
    seq: u64,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'a str>,
    #[serde(flatten)]
    entry: &'a Entry,
}

/// Fault of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Words that follow "line 7".
    pub what: String,
}

impl LineError {
    pub(super) fn new(kind: FaultKind, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { kind, what }
    }
}

/// Length of `,"crc":"01234567"}`, the last member of each line: a checksum of all bytes before it.
const CHECKSUM: usize = 18;

/// Encodes a record as a line, newline included.
///
/// # Errors
/// Fails if it cannot be written as JSON.
pub fn encode(
    seq: u64,
    time: Duration,
    turn: Option<&str>,
    entry: &Entry,
) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Line {
        v: entry.version(),
        seq,
        time: time_text(time),
        turn,
        entry,
    })?;
    line.pop(); // the closing brace
    let checksum = crc32fast::hash(&line);
    line.extend_from_slice(format!(",\"crc\":\"{checksum:08x}\"}}\n").as_bytes());
    Ok(line)
}

/// Decodes a line without its newline.
///
/// # Errors
/// The fault of the line.
pub fn decode(line: &[u8]) -> Result<Record, LineError> {
    check(line)?;
    let mut fields: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| LineError::new(FaultKind::NotJson, format!("is not JSON: {error}")))?;
    let mut take = |name: &str| fields.shift_remove(name);
    let version = take("v")
        .as_ref()
        .and_then(Value::as_u64)
        .ok_or_else(|| incomplete("has no version"))?;
    let seq = take("seq")
        .as_ref()
        .and_then(Value::as_u64)
        .ok_or_else(|| incomplete("has no number"))?;
    let time = take("time");
    let time = time
        .as_ref()
        .and_then(Value::as_str)
        .and_then(time_of)
        .ok_or_else(|| incomplete("has no time"))?;
    let turn = match take("turn") {
        Some(Value::String(turn)) => Some(turn),
        None => None,
        Some(_) => return Err(incomplete("has a turn that is no text")),
    };
    take("crc");
    let body = Value::Object(fields);
    let entry = match Entry::read(&body) {
        Ok(Some(entry)) => entry,
        Ok(None) => Entry::Unknown { version, body },
        Err(_) if version > VERSION => Entry::Unknown { version, body },
        Err(error) => {
            let what = format!("is not an event that this version reads: {error}");
            return Err(LineError::new(FaultKind::Unreadable, what));
        }
    };
    Ok(Record {
        seq,
        time,
        turn,
        entry,
    })
}

fn incomplete(what: &str) -> LineError {
    LineError::new(FaultKind::Incomplete, what)
}

/// The first members of a line, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineHead<'a> {
    pub(super) seq: u64,
    /// The time as it is written.
    pub(super) time: &'a str,
    pub(super) turn: Option<&'a str>,
    /// The type of the entry.
    pub(super) kind: &'a str,
}

/// Reads the first members of a whole line without decoding it. None for a line that is damaged or written in another
/// way, which [`decode`] may still read.
pub(super) fn head(line: &[u8]) -> Option<LineHead<'_>> {
    check(line).ok()?;
    let (_version, rest) = number(line.strip_prefix(b"{\"v\":")?)?;
    let (seq, rest) = number(rest.strip_prefix(b",\"seq\":")?)?;
    let (time, rest) = text(rest.strip_prefix(b",\"time\":\"")?)?;
    let (turn, rest) = match rest.strip_prefix(b",\"turn\":\"") {
        Some(rest) => text(rest).map(|(turn, rest)| (Some(turn), rest))?,
        None => (None, rest),
    };
    let (kind, _) = text(rest.strip_prefix(b",\"type\":\"")?)?;
    Some(LineHead {
        seq,
        time,
        turn,
        kind,
    })
}

/// The digits at the start, and what follows them.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, rest) = bytes.split_at(end);
    Some((str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// The text up to its closing quote, if nothing in it is escaped, and what follows the quote.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    let rest = bytes[end..].strip_prefix(b"\"")?;
    Some((str::from_utf8(&bytes[..end]).ok()?, rest))
}

/// Verifies the checksum of a line without its newline.
pub(super) fn check(line: &[u8]) -> Result<(), LineError> {
    let wrong = || {
        let what = "does not match its checksum";
        Err(LineError::new(FaultKind::Checksum, what))
    };
    let Some((text, checksum)) = line.split_last_chunk::<CHECKSUM>() else {
        return wrong();
    };
    let expected = format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(text));
    if checksum == expected.as_bytes() {
        Ok(())
    } else {
        wrong()
    }
}

#[cfg(test)]
mod tests;

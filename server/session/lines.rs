//! Reads a log, whoever writes it: whole, or backwards from its end.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use aside_base::{regular, system::files::read_exact_at};
use aside_turn::record::FaultKind;

use super::{
    codec::{self, LineError},
    record::{Entry, Record},
};

/// The name of the log in a conversation's folder.
pub const EVENTS: &str = "events.jsonl";

/// Size in bytes of each read of a log that is read from its start.
pub(super) const FORWARD: usize = 256 * 1024;

/// Records and faults of a log.
#[derive(Debug, Default, PartialEq)]
pub struct LogLines {
    /// Records in the order of appending, even if lines were swapped.
    pub records: Vec<Record>,
    /// Unreadable lines, which the user and the model are told of.
    pub faults: Vec<UnreadableLine>,
}

/// A line of a log that could not be read and was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableLine {
    /// Number of the line from 1; 0 if the lines before were not counted.
    pub line: u64,
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Words that follow "line 7".
    pub what: String,
}

impl UnreadableLine {
    fn new(line: u64, LineError { kind, what }: LineError) -> Self {
        Self { line, kind, what }
    }
}

impl std::fmt::Display for UnreadableLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(
                f,
                "a line near the end of the conversation's log {}",
                self.what
            ),
            line => write!(f, "line {line} of the conversation's log {}", self.what),
        }
    }
}

/// Reads a whole log and verifies each line. Takes the memory of the records and one line.
///
/// # Errors
/// Fails if the file cannot be read. A fault *within* it is an [`UnreadableLine`]; a missing log is empty.
pub fn read_all(folder: &Path) -> io::Result<LogLines> {
    let (records, faults) = read_into(folder, u64::MAX, |records: &mut Vec<Record>, record| {
        records.push(record);
    })?;
    Ok(LogLines { records, faults })
}

/// The same of the first `length` bytes, with each record taken into something else: takes the memory of that and one
/// line.
///
/// # Errors
/// Like [`read_all`].
pub fn read_into<T: Default>(
    folder: &Path,
    length: u64,
    take: impl Fn(&mut T, Record),
) -> io::Result<(T, Vec<UnreadableLine>)> {
    let (mut into, mut records) = (T::default(), Vec::new());
    let (faults, ascends) = read_each(folder, length, |record| take(&mut into, record))?;
    if ascends {
        return Ok((into, faults));
    }
    read_each(folder, length, |record| records.push(record))?;
    in_order(&mut records);
    into = T::default();
    records
        .into_iter()
        .for_each(|record| take(&mut into, record));
    Ok((into, faults))
}

/// Reads a whole log, in the order in which its lines stand. Returns its faults, and whether that is the order of
/// appending.
fn read_each(
    folder: &Path,
    length: u64,
    mut take: impl FnMut(Record),
) -> io::Result<(Vec<UnreadableLine>, bool)> {
    let (mut faults, mut ascends) = (Vec::<UnreadableLine>::new(), true);
    let Some(file) = open(folder)? else {
        return Ok((faults, ascends));
    };
    let mut reader = BufReader::with_capacity(FORWARD, file.take(length));
    let (mut line, mut last) = (Vec::new(), 0);
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        match whole(&line).and_then(codec::decode) {
            Ok(record) => {
                let accounted = faults.last().is_some_and(|fault| fault.line + 1 == number);
                if record.seq != last + 1 && !accounted {
                    let what = format!("has number {}, which should follow {last}", record.seq);
                    let error = LineError::new(FaultKind::Gap, what);
                    faults.push(UnreadableLine::new(number, error));
                }
                ascends &= last < record.seq;
                last = record.seq;
                take(record);
            }
            Err(error) => faults.push(UnreadableLine::new(number, error)),
        }
    }
    Ok((faults, ascends))
}

/// Sorts records by number and drops duplicates.
fn in_order(records: &mut Vec<Record>) {
    records.sort_by_key(|record| record.seq);
    records.dedup();
}

/// Reads only the last turn, from its start (or the log's) to the log's end. The cost depends on the turn and not on the
/// conversation.
///
/// # Errors
/// Fails if the file cannot be read. A missing log is empty.
pub fn read_last_turn(folder: &Path) -> io::Result<LogLines> {
    let Some(file) = open(folder)? else {
        return Ok(LogLines::default());
    };
    let mut lines = LogLines::default();
    let length = file.metadata()?.len();
    let end = end_of_last_line(&file, length)?;
    if end < length {
        lines.faults.push(UnreadableLine::new(0, torn()));
    }
    let mut backwards = Backwards::new(&file, end);
    while let Some(line) = backwards.next_line()? {
        match codec::decode(&line) {
            Ok(record) => {
                let starts = matches!(record.entry, Entry::TurnStart { .. });
                lines.records.push(record);
                if starts {
                    break;
                }
            }
            Err(error) => lines.faults.push(UnreadableLine::new(0, error)),
        }
    }
    lines.records.reverse();
    lines.faults.reverse();
    Ok(lines)
}

fn torn() -> LineError {
    LineError::new(FaultKind::Torn, "is cut off; its event was never complete")
}

/// Size in bytes of the first read.
const BLOCK: usize = 16 * 1024;

pub(super) fn open(folder: &Path) -> io::Result<Option<File>> {
    match regular::open(&folder.join(EVENTS)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn whole(line: &[u8]) -> Result<&[u8], LineError> {
    line.strip_suffix(b"\n").ok_or_else(torn)
}

/// The length of a log without a torn tail: the end of its last newline.
pub(super) fn end_of_last_line(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut block = vec![0; BLOCK];
    while end > 0 {
        let size = usize::try_from(end).unwrap_or(BLOCK).min(BLOCK);
        let start = end - size as u64;
        read_exact_at(file, &mut block[..size], start)?;
        if let Some(at) = block[..size].iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// The lines of a file from the last to the first.
pub(super) struct Backwards<'a> {
    file: &'a File,
    /// Bytes from `start` on that were read and not returned yet.
    buffer: Vec<u8>,
    start: u64,
}

impl<'a> Backwards<'a> {
    /// Starts at `end`, which is the end of a newline, or 0.
    pub(super) fn new(file: &'a File, end: u64) -> Self {
        Self {
            file,
            buffer: Vec::new(),
            start: end,
        }
    }

    /// Place of the line that was returned last.
    pub(super) fn place(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }

    /// The preceding line, without its newline.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            // The last byte of the buffer is the newline of the wanted line.
            let unsearched = self.buffer.len().saturating_sub(1).saturating_sub(searched);
            let newline = self.buffer[..unsearched]
                .iter()
                .rposition(|byte| *byte == b'\n');
            if newline.is_some() || self.start == 0 {
                let mut line = self.buffer.split_off(newline.map_or(0, |at| at + 1));
                return Ok(line.pop().map(|_| line));
            }
            searched = self.buffer.len().saturating_sub(1);
            self.read_more()?;
        }
    }

    /// Reads another block. Blocks grow, so that a long line is not moved again and again.
    fn read_more(&mut self) -> io::Result<()> {
        let size = BLOCK.max(self.buffer.len());
        let size = usize::try_from(self.start).unwrap_or(size).min(size);
        let mut block = vec![0; size];
        read_exact_at(self.file, &mut block, self.start - size as u64)?;
        block.append(&mut self.buffer);
        self.start -= size as u64;
        self.buffer = block;
        Ok(())
    }
}

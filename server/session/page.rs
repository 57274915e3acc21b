//! A page of a conversation's turns: only their lines are decoded, wherever they stand in the log.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, Seek, SeekFrom},
    path::Path,
};

use super::{
    codec,
    lines::{Backwards, FORWARD, end_of_last_line, open, read_all},
    record::{Entry, Record},
    replay::{self, Turn},
};

/// Bytes at the end of a log in which a page is looked for first: the last pages are read most.
const NEAR: u64 = 64 * 1024 * 1024;

/// Some turns of a conversation.
#[derive(Debug, PartialEq)]
pub struct ConversationPage {
    /// The turns, in the order of their start.
    pub turns: Vec<Turn>,
    /// Whether there are later ones.
    pub more: bool,
}

/// Reads the turns after the one with the id `after`, or the first ones, as many as `limit`. None: there is no such turn.
///
/// # Errors
/// Fails if the file cannot be read. A missing log has no turns.
pub fn read_page(
    folder: &Path,
    after: Option<&str>,
    limit: usize,
) -> io::Result<Option<ConversationPage>> {
    let Some(file) = open(folder)? else {
        return Ok(PageScan::new(after, limit).end());
    };
    let near = after.map(|after| start_of(&file, after)).transpose()?;
    for start in near.flatten().into_iter().chain([0]) {
        let mut scan = PageScan::new(after, limit);
        match scan.read(&file, start)? {
            None => return Ok(scan.end()),
            Some(ScanFault::Earlier) => {}
            Some(ScanFault::Disorder) => break,
        }
    }
    Ok(page_of(&read_all(folder)?.records, after, limit))
}

/// The same page, of records that were read already.
fn page_of(records: &[Record], after: Option<&str>, limit: usize) -> Option<ConversationPage> {
    let mut turns = replay::turns(records);
    let from = match after {
        None => 0,
        Some(after) => turns.iter().position(|turn| turn.id == after)? + 1,
    };
    let mut turns = turns.split_off(from);
    let more = turns.len() > limit;
    turns.truncate(limit);
    Some(ConversationPage { turns, more })
}

/// Place of the line with which a turn starts, if that is near the end.
fn start_of(file: &File, turn: &str) -> io::Result<Option<u64>> {
    let length = file.metadata()?.len();
    let mut backwards = Backwards::new(file, end_of_last_line(file, length)?);
    while let Some(line) = backwards.next_line()? {
        let place = backwards.place();
        let head = codec::head(&line);
        let starts = head.filter(|head| head.kind == "turn_start" && head.turn == Some(turn));
        if let Some(seq) = starts.map(|head| head.seq) {
            // A line that was moved or doubled stands behind a later one.
            let follows = match backwards.next_line()? {
                None => true,
                Some(before) => codec::head(&before).is_some_and(|head| head.seq < seq),
            };
            return Ok(follows.then_some(place));
        }
        if length - place > NEAR {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Reason why a way through the log says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanFault {
    /// Lines changed places.
    Disorder,
    /// There is a line of a turn that may have begun before.
    Earlier,
}

/// A way through the log, on which the records of a page are kept.
struct PageScan<'a> {
    after: Option<&'a str>,
    limit: usize,
    /// The first turn of the page by its place, as soon as that is known.
    from: Option<usize>,
    /// The turns so far, by the place of their first line.
    places: HashMap<String, usize>,
    /// The turn of the last line.
    last: Option<(String, usize)>,
    seq: u64,
    /// Whether it begins at the start of the log.
    is_whole: bool,
    records: Vec<Record>,
}

impl<'a> PageScan<'a> {
    fn new(after: Option<&'a str>, limit: usize) -> Self {
        Self {
            after,
            limit,
            from: after.is_none().then_some(0),
            places: HashMap::new(),
            last: None,
            seq: 0,
            is_whole: true,
            records: Vec::new(),
        }
    }

    /// Reads the log from this place on, up to a fault.
    fn read(&mut self, mut file: &File, start: u64) -> io::Result<Option<ScanFault>> {
        self.is_whole = start == 0;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::with_capacity(FORWARD, file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            if let Some(line) = line.strip_suffix(b"\n")
                && let Err(fault) = self.take(line)
            {
                return Ok(Some(fault));
            }
            line.clear();
        }
        Ok(None)
    }

    fn take(&mut self, line: &[u8]) -> Result<(), ScanFault> {
        if let Some(head) = codec::head(line) {
            self.follows(head.seq)?;
            let is_of_page = self.has(head.turn, head.kind == "turn_start")?;
            if is_of_page || head.kind == "undone" {
                // A line that has its checksum and cannot be read is left out.
                let record = codec::decode(line).into_iter();
                record.for_each(|record| self.keep(record, is_of_page));
            }
            return Ok(());
        }
        // A damaged line is left out, one that is written in another way is not.
        if let Ok(record) = codec::decode(line) {
            self.follows(record.seq)?;
            let starts = matches!(record.entry, Entry::TurnStart { .. });
            let is_of_page = self.has(record.turn.as_deref(), starts)?;
            self.keep(record, is_of_page);
        }
        Ok(())
    }

    fn keep(&mut self, record: Record, is_of_page: bool) {
        let undone = match &record.entry {
            Entry::Undone(undone) => self.places.get(&undone.undone).copied(),
            _ => None,
        };
        if is_of_page || undone.is_some_and(|place| self.shows(place)) {
            self.records.push(record);
        }
    }

    fn follows(&mut self, seq: u64) -> Result<(), ScanFault> {
        match std::mem::replace(&mut self.seq, seq) < seq {
            true => Ok(()),
            false => Err(ScanFault::Disorder),
        }
    }

    /// Whether a turn, of which this is a line, is on the page.
    fn has(&mut self, turn: Option<&str>, starts: bool) -> Result<bool, ScanFault> {
        let Some(turn) = turn else {
            return Ok(false);
        };
        let place = match &self.last {
            Some((last, place)) if last == turn => *place,
            _ => self.place(turn, starts)?,
        };
        Ok(self.shows(place))
    }

    fn place(&mut self, turn: &str, starts: bool) -> Result<usize, ScanFault> {
        let next = self.places.len();
        let place = match self.places.get(turn) {
            Some(place) => *place,
            None if !self.is_whole && !starts => return Err(ScanFault::Earlier),
            None => *self.places.entry(turn.to_owned()).or_insert(next),
        };
        if self.after == Some(turn) {
            self.from.get_or_insert(place + 1);
        }
        self.last = Some((turn.to_owned(), place));
        Ok(place)
    }

    fn shows(&self, place: usize) -> bool {
        self.from
            .is_some_and(|from| (from..from.saturating_add(self.limit)).contains(&place))
    }

    fn end(self) -> Option<ConversationPage> {
        let end = self.from?.saturating_add(self.limit);
        Some(ConversationPage {
            turns: replay::turns(&self.records),
            more: self.places.len() > end,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use aside_turn::record::{Event, PromptId};

    use super::*;
    use crate::{
        lines::EVENTS,
        log::Log,
        record::{Edit, Undone},
    };

    const NOW: Duration = Duration::from_secs(1);

    fn id(turn: usize) -> String {
        format!("t{turn}")
    }

    /// A log of so many turns. Behind every third one, something is said of the first and of the one before.
    fn log(folder: &Path, turns: usize) {
        let mut log = Log::open(folder, NOW).unwrap();
        let mut append = |turn: Option<String>, entry: Entry| {
            log.append(NOW, turn.as_deref(), &entry).unwrap();
        };
        for turn in 0..turns {
            let steer = |text: &str| Event::Steer { text: text.into() }.into();
            append(Some(id(turn)), Event::TurnStart.into());
            append(
                Some(id(turn)),
                steer(&format!("turn_start t{turn} \"{}", id(turn + 1))),
            );
            let edit = Edit {
                call: 1,
                path: "a".into(),
                before: None,
                after: None,
                mode: None,
            };
            append(Some(id(turn)), Entry::Edit(edit));
            append(None, Entry::Renamed { title: "x".into() });
            if turn % 3 == 2 {
                let prompt = PromptId("p".into());
                append(Some(id(0)), Event::LateAnswer { prompt }.into());
                let undone = Undone {
                    undone: id(turn - 1),
                    files: vec!["a".into()],
                };
                append(None, Entry::Undone(undone));
            }
        }
    }

    /// Each page is what a reader of the whole log would show.
    #[track_caller]
    fn check(folder: &Path, turns: usize) {
        let whole = read_all(folder).unwrap().records;
        let after = (0..turns).map(|turn| Some(id(turn)));
        for after in after.chain([None, Some("other".into())]) {
            for limit in [1, 2, 5, usize::MAX] {
                let after = after.as_deref();
                let page = read_page(folder, after, limit).unwrap();
                assert_eq!(page, page_of(&whole, after, limit), "{after:?}, {limit}");
            }
        }
    }

    #[test]
    fn a_page_is_what_the_whole_log_says_of_its_turns() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), 0);
        log(folder.path(), 9);
        check(folder.path(), 9);
    }

    #[test]
    fn a_page_of_a_damaged_log_is_what_the_whole_log_says_of_its_turns() {
        let folder = tempfile::tempdir().unwrap();
        log(folder.path(), 7);
        let path = folder.path().join(EVENTS);
        let whole = fs::read(&path).unwrap();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for at in 0..lines.len() {
            let mut damages = vec![lines.clone(), lines.clone(), lines.clone()];
            damages[0].remove(at);
            damages[1].swap(at, (at + 5) % lines.len());
            damages[2].insert(at, lines[(at + 9) % lines.len()]);
            let mut flipped = lines[at].to_vec();
            let middle = flipped.len() / 3;
            flipped[middle] ^= 1;
            let mut with_flip = lines.clone();
            with_flip[at] = &flipped;
            damages.push(with_flip);
            let mut torn = lines[..=at].to_vec();
            torn[at] = &lines[at][..middle];
            damages.push(torn);
            for damaged in damages {
                fs::write(&path, damaged.concat()).unwrap();
                check(folder.path(), 7);
            }
        }
    }
}

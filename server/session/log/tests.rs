use std::{
    env,
    fs::{self, OpenOptions},
    os::unix::fs::{FileExt, PermissionsExt, symlink},
    process::Command,
};

use aside_base::private;
use aside_turn::{Event, record::FaultKind};

use super::{
    super::lines::{UnreadableLine, read_all, read_last_turn},
    *,
};

const NOW: Duration = Duration::from_secs(1_735_787_045);

fn steer(text: &str) -> Entry {
    Event::Steer { text: text.into() }.into()
}

fn open(folder: &Path) -> Log {
    Log::open(folder, NOW).unwrap()
}

/// Appends events of turn `t1` with these texts.
fn write(folder: &Path, texts: &[&str]) -> Log {
    let mut log = open(folder);
    for text in texts {
        log.append(NOW, Some("t1"), &steer(text)).unwrap();
    }
    log
}

/// What is read of a log: its texts by number, and its faults.
#[track_caller]
fn check(folder: &Path, records: &[(u64, &str)], faults: &[(u64, &str)]) {
    let read = read_all(folder).unwrap();
    let texts = read
        .records
        .iter()
        .map(|record| match record.entry.event() {
            Some(Event::Steer { text }) => (record.seq, text.as_str()),
            other => panic!("{other:?}"),
        });
    assert_eq!(texts.collect::<Vec<_>>(), records);
    let expected = faults.iter().map(|(line, what)| UnreadableLine {
        line: *line,
        kind: match *what {
            CUT => FaultKind::Torn,
            CHECKSUM => FaultKind::Checksum,
            _ => FaultKind::Gap,
        },
        what: (*what).to_owned(),
    });
    assert_eq!(read.faults, expected.collect::<Vec<_>>());
}

const CUT: &str = "is cut off; its event was never complete";
const CHECKSUM: &str = "does not match its checksum";

/// Runs the test of this name in a process of its own, which finds `ASIDE_TEST_FOLDER` set, under a shell's
/// settings. Returns what it printed.
fn in_a_child(test: &str, settings: &str, folder: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", &format!("{settings} exec \"$0\" \"$@\"")])
        .arg(env::current_exe().unwrap())
        .args(["--exact", &format!("log::tests::{test}"), "--nocapture"])
        .env("ASIDE_TEST_FOLDER", folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn folder_of_child() -> Option<PathBuf> {
    env::var_os("ASIDE_TEST_FOLDER").map(PathBuf::from)
}

#[test]
fn events_are_numbered_from_one_on_across_openings() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &["a", "b"]);
    let log = write(folder.path(), &["c"]);
    assert_eq!(log.next(), 4);
    log.sync()().unwrap();
    check(folder.path(), &[(1, "a"), (2, "b"), (3, "c")], &[]);
}

#[test]
fn everything_is_for_the_user_alone() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("workspace/conversation");
    private::make_folder(&folder).unwrap();
    write(&folder, &["a"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&root.path().join("workspace")), 0o700);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("events.jsonl")), 0o600);
    assert_eq!(mode(&folder.join("lock")), 0o600);
}

#[test]
fn a_log_that_is_not_there_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), &[], &[]);
    assert!(read_last_turn(folder.path()).unwrap().records.is_empty());
}

#[test]
fn a_log_cut_at_every_byte_opens_and_loses_only_the_torn_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = open(folder.path());
    let mut ends = vec![0];
    while log.length < 64 * 1024 {
        let text = "x".repeat(fastrand::usize(..700));
        log.append(NOW, Some("t1"), &steer(&text)).unwrap();
        ends.push(log.length);
    }
    let whole = fs::read(folder.path().join(EVENTS)).unwrap();
    let part = whole.len().div_ceil(4);
    std::thread::scope(|scope| {
        for start in (0..whole.len()).step_by(part) {
            let cuts = start..(start + part).min(whole.len());
            let (whole, ends) = (&whole, &ends);
            scope.spawn(move || cuts.rev().for_each(check_cuts(whole, ends)));
        }
    });
}

/// Checks cuts of a log whose lines end at `ends`, from the longest to the shortest.
fn check_cuts(whole: &[u8], ends: &[u64]) -> impl FnMut(usize) {
    // Files in memory, where there are any: what is looked at is what opening makes of a log, 65,536 times.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    fs::write(folder.path().join(EVENTS), whole).unwrap();
    let file = OpenOptions::new()
        .write(true)
        .open(folder.path().join(EVENTS))
        .unwrap();
    move |cut| {
        let lines = ends.partition_point(|end| *end <= cut as u64) - 1;
        let end = ends[lines];
        let torn = &whole[end as usize..cut];
        // The last opening cut the line off; as much of it as this round wants is put back.
        file.write_all_at(torn, end).unwrap();
        file.set_len(cut as u64).unwrap();
        let log = open(folder.path());
        assert_eq!(
            (log.length, log.next()),
            (end, lines as u64 + 1),
            "cut at {cut}"
        );
        assert_eq!(log.file.metadata().unwrap().len(), end);
        assert_eq!(log.repaired().is_some(), !torn.is_empty());
        if let Some(notice) = log.repaired() {
            let name = format!("events.torn-{end}");
            assert!(notice.contains(&name) && notice.contains(&torn.len().to_string()));
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), torn);
        }
    }
}

#[test]
fn what_comes_after_a_repair_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &["a", "b"]);
    let path = folder.path().join(EVENTS);
    let length = fs::metadata(&path).unwrap().len();
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(length - 1)
        .unwrap();
    check(folder.path(), &[(1, "a")], &[(2, CUT)]);
    assert_eq!(
        read_last_turn(folder.path()).unwrap().faults,
        [UnreadableLine {
            line: 0,
            kind: FaultKind::Torn,
            what: CUT.into()
        }]
    );
    write(folder.path(), &["c"]);
    check(folder.path(), &[(1, "a"), (2, "c")], &[]);
    assert!(open(folder.path()).repaired().is_none());
}

#[test]
fn a_line_of_any_length_is_found_from_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let block = 16 * 1024;
    for (at, length) in [1, block - 150, block, block + 1, 2 * block, 700_001]
        .iter()
        .enumerate()
    {
        let log = write(folder.path(), &[&"x".repeat(*length)]);
        assert_eq!(log.next(), at as u64 + 2);
    }
    assert_eq!(read_last_turn(folder.path()).unwrap().records.len(), 6);
}

#[test]
fn a_flipped_bit_is_reported_and_its_line_left_out() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &["a", "b", "c", "d"]);
    let path = folder.path().join(EVENTS);
    let whole = fs::read(&path).unwrap();
    let line = whole.len() / 4;
    for at in line..2 * line {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(&path, flipped).unwrap();
        let last = at == 2 * line - 1;
        if last {
            // Its newline: two lines have become one.
            check(folder.path(), &[(1, "a"), (4, "d")], &[(2, CHECKSUM)]);
        } else {
            check(
                folder.path(),
                &[(1, "a"), (3, "c"), (4, "d")],
                &[(2, CHECKSUM)],
            );
        }
    }
}

#[test]
fn a_missing_line_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &["a", "b", "c"]);
    let path = folder.path().join(EVENTS);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    fs::write(&path, [lines[0], lines[2]].concat()).unwrap();
    check(
        folder.path(),
        &[(1, "a"), (3, "c")],
        &[(2, "has number 3, which should follow 1")],
    );
}

#[test]
fn a_bad_last_line_stays_and_its_number_is_not_given_again() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &["a", "b"]);
    let mut file = OpenOptions::new()
        .append(true)
        .open(folder.path().join(EVENTS))
        .unwrap();
    io::Write::write_all(&mut file, b"\0\0\0\0\n").unwrap();
    let log = write(folder.path(), &["c"]);
    assert!(log.repaired().is_none());
    check(
        folder.path(),
        &[(1, "a"), (2, "b"), (4, "c")],
        &[(3, CHECKSUM)],
    );
}

#[test]
fn the_last_turn_is_read_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = open(folder.path());
    for turn in ["t1", "t2", "t3"] {
        log.append(NOW, Some(turn), &Event::TurnStart.into())
            .unwrap();
        for text in ["a", "b"] {
            log.append(NOW, Some(turn), &steer(text)).unwrap();
        }
    }
    log.append(NOW, None, &Entry::Renamed { title: "T".into() })
        .unwrap();
    // What stands before it is not even looked at.
    let file = OpenOptions::new()
        .write(true)
        .open(folder.path().join(EVENTS))
        .unwrap();
    file.write_all_at(b"damaged", 0).unwrap();
    let read = read_last_turn(folder.path()).unwrap();
    assert!(read.faults.is_empty());
    let numbers: Vec<u64> = read.records.iter().map(|record| record.seq).collect();
    assert_eq!(numbers, [7, 8, 9, 10]);
    assert_eq!(
        read.records[..],
        read_all(folder.path()).unwrap().records[5..]
    );
}

#[test]
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn a_second_writer_is_told_who_the_first_is_and_may_read() {
    if let Some(folder) = folder_of_child() {
        println!("{}", Log::open(&folder, NOW).unwrap_err());
        println!("read: {}", read_all(&folder).unwrap().records.len());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = write(folder.path(), &["a", "b"]);
    let test = "a_second_writer_is_told_who_the_first_is_and_may_read";
    let text = in_a_child(test, "", folder.path());
    let holder = format!(
        "the conversation is open in process {} since 2025-01-02T03:04:05.000Z, such as another window; go on there",
        std::process::id()
    );
    assert!(text.contains(&holder), "{text}");
    assert!(text.contains("read: 2"), "{text}");
    assert!(matches!(
        Log::open(folder.path(), NOW),
        Err(OpenError::Held { .. })
    ));
    drop(log);
    write(folder.path(), &["c"]);
}

/// A limit on the size of files makes the kernel take a part of a line and then nothing.
#[test]
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn a_log_that_cannot_grow_stays_readable() {
    if let Some(folder) = folder_of_child() {
        let mut log = open(&folder);
        let long = steer(&"x".repeat(300));
        let mut append = || log.append(NOW, Some("t1"), &long);
        let (number, error) = loop {
            match append() {
                Ok(_) => {}
                Err(error) => break (log.next(), error.to_string()),
            }
        };
        let again = log
            .append(NOW, Some("t1"), &steer("short"))
            .unwrap_err()
            .to_string();
        assert_eq!(again, error);
        println!("next {number}: {error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = in_a_child(
        "a_log_that_cannot_grow_stays_readable",
        "trap '' XFSZ; ulimit -f 4;",
        folder.path(),
    );
    let read = read_all(folder.path()).unwrap();
    assert!(read.faults.is_empty(), "{:?}", read.faults);
    let next = read.records.len() + 1;
    assert!(next > 4, "{text}");
    let error = format!("next {next}: cannot write the conversation's log: only ");
    assert!(text.contains(&error), "{text}");
    assert_eq!(write(folder.path(), &["more"]).next(), next as u64 + 1);
}

#[test]
fn a_full_disk_is_an_error_that_stays() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/dev/full", folder.path().join(EVENTS)).unwrap();
    let mut log = open(folder.path());
    for _ in 0..2 {
        let error = log.append(NOW, None, &steer("a")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let text = "cannot write the conversation's log: No space left on device (os error 28)";
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(log.next(), 1);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Log::open(&file.join("conversation"), NOW)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        format!(
            "cannot write the conversation in {}: Not a directory (os error 20); check that folder and its disk",
            file.join("conversation").display()
        )
    );
}

/// Opening and appending look at the end of the log alone: what is before it may be anything, of any length.
#[test]
fn a_long_log_costs_what_a_short_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(EVENTS);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    // A hole of a terabyte: reading it would take longer than anybody waits.
    let hole = 1 << 40;
    file.set_len(hole).unwrap();
    let mut lines = b"\n".to_vec();
    for (number, entry) in [(900, Event::TurnStart.into()), (901, steer("a"))] {
        lines.extend(codec::encode(number, NOW, Some("t9"), &entry).unwrap());
    }
    file.write_all_at(&lines, hole).unwrap();
    let mut log = open(folder.path());
    assert_eq!(log.append(NOW, Some("t9"), &steer("b")).unwrap(), 902);
    let numbers = read_last_turn(folder.path()).unwrap().records;
    assert_eq!(
        numbers.iter().map(|record| record.seq).collect::<Vec<_>>(),
        [900, 901, 902]
    );
}

#[test]
fn a_link_to_another_file_is_not_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    fs::write(&other, "kept").unwrap();
    symlink(&other, folder.path().join(EVENTS)).unwrap();
    assert!(Log::open(folder.path(), Duration::ZERO).is_err());
    assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
}

#[test]
fn a_log_that_was_deleted_takes_nothing_and_has_no_mark() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = write(folder.path(), &["one"]);
    assert!(log.mark().is_some());
    fs::remove_file(folder.path().join(EVENTS)).unwrap();
    assert_eq!(log.mark(), None);
    let refused = log.append(NOW, Some("t1"), &steer("two")).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::NotFound);
    assert_eq!(
        refused.to_string(),
        "cannot write the conversation's log: it was deleted while it was open"
    );
    assert_eq!(log.sync()().unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn the_mark_of_a_log_is_another_when_anybody_changed_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = write(folder.path(), &["one", "two"]);
    let (mark, path) = (log.mark(), folder.path().join(EVENTS));
    drop(log);
    assert_eq!(open(folder.path()).mark(), mark, "nobody changed it");
    // The same events in another file, which may be of the same size and age.
    fs::copy(&path, folder.path().join("copy")).unwrap();
    fs::rename(folder.path().join("copy"), &path).unwrap();
    let other = open(folder.path()).mark();
    assert!(other.is_some() && other != mark);
    let mut log = write(folder.path(), &["three"]);
    assert_ne!(log.mark(), other);
    let written = OpenOptions::new().append(true).open(&path).unwrap();
    written.set_len(path.metadata().unwrap().len() + 1).unwrap();
    assert_eq!(log.mark(), None, "somebody else wrote in it");
    log.append(NOW, None, &steer("four")).unwrap();
}

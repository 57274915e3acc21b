//! The logs in `tests/logs`: conversations that the program wrote, with every kind of event and of ending between them.
//! `ASIDE_TEST_WRITE=1 cargo test --test it -- logs::` writes them anew.
//!
//! | module | what lives there |
//! |---|---|
//! | `made` | how each conversation comes about, by the program and a script |
//! | `lines` | the lines of a log, moved to another folder and model with their checksums |
//! | `stage` | the program with the logs as its conversations: each is read and goes on |
//! | `cut` | each log cut off at any byte |
//! | `fold` | what must hold of each prefix, whatever is in it |
//! | `swap` | each prefix with every sentence for models in another's place |
//! | `resumed` | how an interrupted turn goes on by itself, without the program around it |

mod cut;
mod fold;
#[path = "../../server/turn/tests/it/invariants.rs"]
mod invariants;
mod lines;
mod made;
mod resumed;
mod stage;
mod swap;
#[path = "../../server/turn/tests/it/untold.rs"]
mod untold;

use std::{
    fs,
    path::{Path, PathBuf},
};

use aside_session::{
    codec,
    export::{PageReader, markdown},
    lines::read_all,
    replay,
};

use self::{
    lines::{Log, members},
    made::Making,
};

/// A conversation: how it is made, and a test that compares it with the log that is kept.
macro_rules! conversations {
    ($($room:ident { $($name:ident)* })*) => {
        $($(
            #[test]
            fn $name() {
                check(stringify!($name), made::$room::$name);
            }
        )*)*
    };
}

conversations! {
    plain { answered stalled cancelled_amid_text damaged }
    permission {
        once edits_for_the_turn no_and_again denied new_text not_shown killed_amid_run delivered_and_withheld
    }
    question {
        both_answered declined_with_a_note unanswered unfit_answer answered_by_inquiry inquiry_fails late_answer
        remembered_and_secret live
    }
    model { cut_thrice schema_mended told_twice learned other_ends broken_calls too_slow steered_and_killed }
    changed { undone attached_and_renamed edited_and_killed }
}

/// Where the logs are kept.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

/// The logs, in order of their names.
fn all() -> Vec<Log> {
    let entries = fs::read_dir(kept()).unwrap().map(|it| it.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|it| it.is_dir()).collect();
    folders.sort();
    folders.iter().map(|it| Log::read(it)).collect()
}

/// Makes a conversation: its events have the members that those of the kept log have. Which of several calls comes first
/// differs from run to run.
#[track_caller]
fn check(name: &str, make: fn(&mut Making)) {
    let folder = kept().join(name);
    let making = Making::of(make);
    if std::env::var_os("ASIDE_TEST_WRITE").is_some() {
        making.keep(&folder);
        fs::write(folder.join("page.md"), page(&folder)).unwrap();
    }
    let kept = Log::read(&folder);
    assert_eq!(members(&making.lines()), members(&kept.lines), "{name}");
}

/// The page of a kept conversation, with what is wrong with its log.
fn page(folder: &Path) -> String {
    let read = read_all(folder).unwrap();
    let turns = replay::turns(&read.records);
    let page = markdown("", 1, &turns, PageReader::Person).text;
    let faults = read.faults.iter().map(|fault| format!("{fault}\n"));
    page + &faults.collect::<String>()
}

#[test]
fn the_page_of_each_log_is_the_one_that_is_kept() {
    for log in all() {
        let kept = fs::read_to_string(log.folder.join("page.md")).unwrap();
        assert_eq!(page(&log.folder), kept, "{}", log.name());
    }
}

#[test]
fn each_line_is_written_as_it_was_read() {
    for log in all() {
        let damaged = log.name().to_string() == "damaged";
        for line in &log.lines {
            let read = codec::decode(line.strip_suffix(b"\n").unwrap_or(line));
            let Ok(record) = read else {
                assert!(damaged, "{}: {read:?}", log.name());
                continue;
            };
            let turn = record.turn.as_deref();
            let again = codec::encode(record.seq, record.time, turn, &record.entry).unwrap();
            let [again, line] = [&again, line].map(|it| String::from_utf8_lossy(it));
            assert_eq!(again, line, "{}", log.name());
        }
    }
}

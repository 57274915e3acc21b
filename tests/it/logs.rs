//! The logs in `tests/logs`, which version 0.1.0 wrote, and what it made of each of their prefixes: a log may end
//! behind any of its lines, as the program may be killed there. `tests/logs/README.md` says how they came about.
//!
//! | module | what lives there |
//! |---|---|
//! | `made` | how each conversation came about: what is not there is made anew by the program |
//! | `lines` | the lines of a log, moved to another folder and model with their checksums |
//! | `stage` | the program, with the prefixes of a log as its conversations and a model on loopback |
//! | `views` | what the program makes of a prefix: list, page, updates, prompts, and how it goes on |
//! | `events` | appended events as they can be compared |
//! | `kept` | the file that says what is expected, each prefix in terms of the one before |
//! | `cut` | each log cut off at any byte |
//! | `fold` | what must hold of each prefix, whatever is in it |
//! | `swap` | each prefix with every sentence for models in another's place |
//! | `resumed` | how an interrupted turn goes on by itself, without the program around it |

mod cut;
mod events;
mod fold;
#[path = "../../server/turn/tests/it/invariants.rs"]
mod invariants;
mod kept;
mod lines;
mod made;
mod resumed;
mod stage;
mod swap;
#[path = "../../server/turn/tests/it/untold.rs"]
mod untold;
mod views;

use std::{fs, path::PathBuf};

use self::{
    kept::{Expected, difference},
    lines::Log,
    made::Making,
};

/// A conversation: how it is made, and a test that compares what becomes of it.
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
    plain { answered stalled cancelled_amid_text interrupted_amid_text damaged }
    permission {
        once for_the_turn edits_for_the_turn always no_and_again declined_with_note nobody_there plan_mode
        denied_by_configuration untrusted new_text not_shown killed_amid_run delivered_and_withheld
        withheld_with_note withheld_unattended
    }
    question {
        two_parked both_answered dismissed_and_again declined_with_a_note question_not_shown nobody_to_ask
        answered_by_inquiry inquiry_fails killed_amid_inquiry unfit_answer configured_answer questions_denied
        defaults routed_to_assistant late_answer remembered_and_secret broken_and_endless live
    }
    model {
        cut cut_thrice schema_mended schema_failed told_and_called told_twice told_in_vain killed_when_told_twice
        learned other_ends broken_calls too_slow steered_and_killed
    }
    changed { undone left_open attached_and_renamed forked edited_and_killed }
}

/// The logs, in order of their names.
fn all() -> Vec<Log> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|it| it.is_dir()).collect();
    folders.sort();
    folders.iter().map(|it| Log::read(it)).collect()
}

/// Says what is to be written where it is not there: a log, or what is expected of it.
const WRITE: &str = "ASIDE_WRITE_LOGS";

/// Compares what the program makes of each prefix of a log with what is kept.
#[track_caller]
fn check(name: &str, make: fn(&mut Making)) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/logs")
        .join(name);
    let writes = std::env::var_os(WRITE).is_some();
    if writes && !folder.exists() {
        Making::of(make).keep(&folder);
    }
    let log = Log::read(&folder);
    let actual = views::of(&log);
    let path = folder.join("expected.txt");
    if writes && !path.exists() {
        fs::write(&path, Expected::text(&actual)).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; {WRITE}=1 writes what is not there",
            path.display()
        )
    });
    let found = difference(&Expected::read(&expected), &actual);
    assert!(found.is_empty(), "{name} is not what it was:\n{found}");
}

use std::{fs, time::Duration};

use aside_session::record::{Edit, Entry, TurnOptions};
use aside_turn::{
    Event,
    record::{CallKey, Outcome},
    response::Usage,
};

use super::*;
use crate::front::headless::streams::tests::said;

/// A workspace with its own state directory.
struct Trial {
    folder: tempfile::TempDir,
    place: CommandContext,
}

impl Trial {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("work");
        fs::create_dir(&root).expect("a folder");
        let state_dir = folder.path().join("state");
        let place = CommandContext::at(root, state_dir).expect("a place");
        Self { folder, place }
    }

    fn store(&self) -> Store {
        self.place.store().expect("a store")
    }

    /// Creates a conversation whose turns wrote these files.
    fn conversation(&self, turns: &[(&str, &[(&str, &str)])]) -> Conversation {
        let store = self.store();
        let conversation = store.create(None, Duration::ZERO).expect("made");
        for (turn, edits) in turns {
            self.turn(&conversation, turn, edits);
        }
        conversation
    }

    fn turn(&self, conversation: &Conversation, turn: &str, edits: &[(&str, &str)]) {
        let mut log = conversation.log(Duration::ZERO).expect("a log");
        let mut record = |entry: &Entry| {
            let time = Duration::from_secs(1_700_000_000);
            log.append(time, Some(turn), entry).expect("appended");
        };
        record(&Entry::TurnStart {
            options: TurnOptions::default(),
        });
        record(&Entry::Turn(Event::UserMessage {
            text: format!("Do {turn}"),
            attachments: vec![],
        }));
        for (path, text) in edits {
            let file = self.place.root.join(path);
            let before = fs::read(&file).ok();
            let before = before.map(|bytes| conversation.blobs().keep(&bytes).expect("kept"));
            record(&Entry::Edit(Edit {
                call: 0,
                path: (*path).into(),
                before,
                after: Some(aside_base::digest::sha256(text.as_bytes())),
                mode: None,
            }));
            fs::write(file, text).expect("written");
        }
        record(&Entry::Turn(end()));
    }

    /// Output of a command, with `ID` in place of the conversation's id.
    fn says(&self, conversation: &Conversation, words: &[&str]) -> String {
        let words = words
            .iter()
            .map(|word| word.replace("ID", conversation.id()));
        let words = ["aside", "conversation"]
            .into_iter()
            .map(str::to_owned)
            .chain(words);
        let cli = args::parse(words.map(Into::into)).expect("a command line");
        let args::Command::Conversation(command) = cli.command else {
            panic!("no command for conversations")
        };
        said(|streams| run(&command, &self.place, streams))
            .replace(conversation.id(), "ID")
            .replace(&self.folder.path().display().to_string(), "/t")
    }

    fn check(&self, conversation: &Conversation, words: &[&str], expected: &str) {
        assert_eq!(self.says(conversation, words), expected, "{words:?}");
    }

    /// The files of the workspace, as `name=text`, by name.
    fn files(&self) -> String {
        let mut files: Vec<String> = fs::read_dir(&self.place.root)
            .expect("a folder")
            .map(|file| {
                let file = file.expect("a file");
                let text = fs::read_to_string(file.path()).expect("a text");
                format!("{}={text}", file.file_name().to_string_lossy())
            })
            .collect();
        files.sort();
        files.join(" ")
    }
}

fn end() -> Event {
    Event::TurnEnd {
        outcome: Outcome::Completed,
        answer: None,
        structured: None,
        error: None,
        usage: Usage::default(),
        refusals: vec![],
    }
}

#[test]
fn undo_reverts_the_last_turn_and_informs_the_model() {
    let trial = Trial::new();
    fs::write(trial.place.root.join("a"), "0").expect("written");
    let conversation = trial.conversation(&[
        ("t1", &[("a", "1")]),
        ("t2", &[("a", "2"), ("new\x1b", "x")]),
    ]);
    let account = "Undid the changes of the last turn:\n  a  restored\n  new␛  removed\n";
    trial.check(&conversation, &["undo"], account);
    assert_eq!(trial.files(), "a=1");
    let lines = conversation.read_all().expect("a log");
    let told = lines
        .records
        .iter()
        .find_map(|record| match record.entry.event() {
            Some(Event::Directive { text, .. }) => Some((record.turn.clone(), text.clone())),
            _ => None,
        });
    let text = "The user took back the changes that the last turn made to: a, new␛. \
                These files are as they were before it.";
    assert_eq!(told, Some((None, text.to_owned())));
    assert_eq!(
        conversation.listed().expect("a list").status,
        aside_session::conversation::ConversationActivity::Idle
    );
    let nothing = "Nothing to undo: the last turn changed no file that still differs.\n";
    trial.check(&conversation, &["undo", "ID"], nothing);
    let account = "Undid the changes of turn 1:\n  a  restored\n";
    trial.check(&conversation, &["undo", "ID", "--turn", "1"], account);
    assert_eq!(trial.files(), "a=0");
}

#[test]
fn undo_skips_files_changed_since() {
    let trial = Trial::new();
    let conversation =
        trial.conversation(&[("t1", &[("a", "1"), ("b", "1")]), ("t2", &[("a", "2")])]);
    trial.check(
        &conversation,
        &["undo", "--turn", "t1"],
        "exit 1: turn 1 was not undone, because these files were changed since: a; \
         restore them yourself, or undo later turns first\n",
    );
    assert_eq!(trial.files(), "a=2 b=1");
}

#[test]
fn turns_with_commands_are_undone_in_part() {
    let trial = Trial::new();
    let conversation = trial.conversation(&[]);
    let mut log = conversation.log(Duration::ZERO).expect("a log");
    let call = CallKey(0);
    for event in [
        Event::TurnStart,
        Event::ToolCall {
            call,
            id: "1".into(),
            name: "run_command".into(),
            arguments: "{}".into(),
            opaque: None,
        },
        Event::CallStarted {
            call,
            run: 1,
            title: String::new(),
        },
        end(),
    ] {
        log.append(Duration::ZERO, Some("t1"), &event.into())
            .expect("appended");
    }
    drop(log);
    trial.check(
        &conversation,
        &["undo"],
        "Nothing to undo: the last turn changed no file that still differs.\n\
         Changes by commands of the last turn are not undone.\n",
    );
}

#[test]
fn conversations_in_use_are_read_only() {
    let trial = Trial::new();
    let conversation = trial.conversation(&[("t1", &[("a", "1")])]);
    let open = conversation.log(Duration::ZERO).expect("a log");
    for words in [&["undo"][..], &["rename", "ID", "New"], &["delete", "ID"]] {
        let said = trial.says(&conversation, words);
        assert!(
            said.starts_with("exit 1: the conversation is open in process "),
            "{said}"
        );
    }
    assert_eq!(trial.files(), "a=1");
    assert!(
        trial
            .says(&conversation, &["show"])
            .contains("> **User:** Do t1")
    );
    drop(open);
    trial.check(&conversation, &["delete", "ID"], "Deleted ID.\n");
    let said = "! There is no conversation in this workspace yet; `aside run` starts one.\n";
    trial.check(&conversation, &["list"], said);
}

#[test]
fn conversations_are_shown_exported_and_renamed() {
    let trial = Trial::new();
    let conversation = trial.conversation(&[("t1", &[])]);
    let page = "# Do t1\n\n## Turn 1 (2023-11-14T22:13)\n\n> **User:** Do t1\n\n\
                **Completed**.\n";
    trial.check(&conversation, &["show"], page);
    trial.check(&conversation, &["show", "ID"], page);
    trial.check(&conversation, &["export"], page);
    trial.check(&conversation, &["export", "-o", "page.md"], "");
    assert_eq!(trial.files(), format!("page.md={page}"));
    trial.check(
        &conversation,
        &["export", "-o", "none/page.md"],
        "exit 1: cannot write none/page.md: No such file or directory (os error 2); choose another file\n",
    );
    trial.check(&conversation, &["rename", "ID", " Two\nwords "], "");
    assert!(
        trial
            .says(&conversation, &["show"])
            .starts_with("# Two words\n")
    );
    let missing = "exit 2: the title is empty; give another one\n";
    trial.check(&conversation, &["rename", "ID", " "], missing);
}

#[test]
fn damaged_logs_are_shown_up_to_the_damage() {
    let trial = Trial::new();
    let conversation = trial.conversation(&[("t1", &[]), ("t2", &[])]);
    let events = conversation.folder().join("events.jsonl");
    let text = fs::read_to_string(&events).expect("a log");
    fs::write(&events, text.replace("Do t1", "Do tx")).expect("written");
    let said = trial.says(&conversation, &["show"]);
    assert!(said.contains("> **User:** Do t2"), "{said}");
    let notice = "\n*Notice: line 2 of the conversation's log does not match its checksum; it was left out.*\n";
    assert!(said.ends_with(notice), "{said}");
}

#[test]
fn forks_contain_the_turns_up_to_one() {
    let trial = Trial::new();
    let conversation = trial.conversation(&[("t1", &[]), ("t2", &[]), ("t3", &[])]);
    let check = |words: &[&str], turns| {
        let id = trial.says(&conversation, words);
        let fork = trial.store().find(id.trim_end()).expect("a fork");
        assert_eq!(fork.listed().expect("a list").turns, turns, "{words:?}");
        assert_ne!(fork.id(), conversation.id());
    };
    check(&["fork", "ID"], 3);
    check(&["fork", "ID", "--turn", "2"], 2);
    check(&["fork", "ID", "--turn", "t1"], 1);
    for turn in ["0", "4", "t4"] {
        let words = ["fork", "ID", "--turn", turn];
        let said = format!(
            "exit 2: conversation ID has no turn {turn}; `aside conversation show ID` lists its turns\n"
        );
        trial.check(&conversation, &words, &said);
    }
}

#[test]
fn unknown_ids_are_usage_errors() {
    let trial = Trial::new();
    let gone = trial.conversation(&[]);
    trial
        .store()
        .delete(&gone, Duration::ZERO)
        .expect("deleted");
    let none = "exit 2: there is no conversation in this workspace yet; `aside run` starts one\n";
    for words in [["show"], ["export"], ["undo"]] {
        trial.check(&gone, &words, none);
    }
    let unknown = "exit 2: there is no conversation x; `aside conversation list` shows those that there are\n";
    trial.check(&gone, &["show", "x"], unknown);
    trial.check(&gone, &["fork", "x"], unknown);
    let empty = trial.conversation(&[]);
    trial.check(
        &empty,
        &["undo"],
        "exit 2: nothing to undo: conversation ID has no turn yet\n",
    );
}

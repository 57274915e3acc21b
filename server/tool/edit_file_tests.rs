#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::*;
use crate::{FileEdit, trial::ToolTrial};
use aside_base::digest::sha256;
#[cfg(unix)]
use aside_turn::input::{Prepared, Preview};
use aside_turn::{
    effect::CallWork,
    input::{OwnText, Preparation, ToolOutcome},
    question::Answer,
    record::CallKey,
};

fn args(old: &str, new: &str) -> Value {
    json!({"path": "a.txt", "old_text": old, "new_text": new})
}

/// A file that the model has read.
async fn read(text: &str) -> ToolTrial {
    let trial = ToolTrial::new(&[("a.txt", text)]);
    trial.call("read_file", json!({"path": "a.txt"})).await;
    trial
}

/// Answers the question that the edit has to ask.
async fn answered(trial: &mut ToolTrial, edit: (&str, &str), answer: &str) {
    let asked = trial.prepare("edit_file", args(edit.0, edit.1)).await;
    assert!(matches!(asked, Preparation::Question(_)), "{asked:?}");
    let answer = Answer::Value(answer.into());
    trial.answers.push((OCCURRENCE.to_owned(), answer));
}

/// An edit of a text, the answer to its question, and the file afterwards.
async fn check(text: &str, edit: (&str, &str), answer: Option<&str>, after: &str) {
    let mut trial = read(text).await;
    if let Some(answer) = answer {
        answered(&mut trial, edit, answer).await;
    }
    let outcome = trial.call("edit_file", args(edit.0, edit.1)).await;
    assert_eq!(outcome, "ok: Changed `a.txt`.");
    assert_eq!(trial.text("a.txt").unwrap(), after);
}

#[tokio::test]
async fn replaces_exactly() {
    check("one two\n", ("two", "2"), None, "one 2\n").await;
    check("one two\n", (" two", ""), None, "one\n").await;
    check("a.b axb\n", ("a.b", "$0"), None, "$0 axb\n").await;
    check("ä\nö", ("ä\nö", "ü"), None, "ü").await;
    check("aaa", ("aa", "b"), Some("1:2"), "ab").await;
}

#[tokio::test]
async fn keeps_the_line_breaks_of_the_file() {
    check(
        "one\r\ntwo\r\n",
        ("one\ntwo", "1\n2\n3"),
        None,
        "1\r\n2\r\n3\r\n",
    )
    .await;
    check("one\r\ntwo\n", ("one\r\n", "1\n"), None, "1\ntwo\n").await;
}

#[tokio::test]
async fn a_text_that_occurs_more_than_once_is_a_question() {
    let trial = read("x = 1\nend\n\nx = 1; x = 1\n").await;
    let Preparation::Question(question) = trial.prepare("edit_file", args("x = 1", "y")).await
    else {
        panic!("it asks before it can be approved")
    };
    let expected = json!({
        "id": "occurrence",
        "text": "The text to replace occurs 3 times in a.txt. Which one is meant?",
        "context": "1:\n> 1 | x = 1\n  2 | end\n  3 | \n\n\
            4:1:\n  2 | end\n  3 | \n> 4 | x = 1; x = 1\n\n\
            4:8:\n  2 | end\n  3 | \n> 4 | x = 1; x = 1",
        "answer_type": {"type": "select", "options": ["1", "4:1", "4:8", "all"]},
        "persistence": "none"
    });
    assert_eq!(serde_json::to_value(&question).unwrap(), expected);
    assert_eq!(question.check(), Ok(()));
    assert_eq!(EditFile::spec().default_targets, ["occurrence"]);
}

#[tokio::test]
async fn the_answer_chooses() {
    let text = "ä x\nx x\n";
    check(text, ("x", "y"), Some("1"), "ä y\nx x\n").await;
    check(text, ("x", "y"), Some("2:1"), "ä x\ny x\n").await;
    check(text, ("x", "y"), Some("2:3"), "ä x\nx y\n").await;
    check(text, ("x", "long"), Some("all"), "ä long\nlong long\n").await;
    check("ää x x", ("x", "y"), Some("1:6"), "ää x y").await;
}

#[tokio::test]
async fn an_answer_about_another_text_asks_again() {
    let mut trial = read("x\nx\n").await;
    trial
        .answers
        .push((OCCURRENCE.into(), Answer::Value("7".into())));
    let outcome = trial.call("edit_file", args("x", "y")).await;
    assert!(
        outcome.starts_with("asks: {\"id\":\"occurrence\""),
        "{outcome}"
    );
}

#[tokio::test]
async fn too_many_places_ask_for_more_text() {
    let trial = read(&"x\n".repeat(21)).await;
    let error = "error: `old_text` occurs over 20 times in `a.txt`; give more of the text around the place that you mean.";
    trial.check("edit_file", args("x", "y"), error).await;
    let outcome = read(&"x\n".repeat(20))
        .await
        .call("edit_file", args("x", "y"))
        .await;
    assert!(outcome.starts_with("asks: "), "{outcome}");
}

#[tokio::test]
async fn what_cannot_be_done_teaches() {
    let trial = read("text\n").await;
    trial
        .check(
            "edit_file",
            args("Text", "x"),
            "error: `old_text` does not occur in `a.txt`; read the file again and copy the text exactly.",
        )
        .await;
    trial
        .check(
            "edit_file",
            args("", "x"),
            "error: Invalid arguments for edit_file: `old_text` is empty; use write_file for a new file.",
        )
        .await;
    trial
        .check(
            "edit_file",
            args("x", "x"),
            "error: Invalid arguments for edit_file: `old_text` and `new_text` are the same.",
        )
        .await;
    let nowhere = json!({"path": "b", "old_text": "x", "new_text": "y"});
    trial
        .check(
            "edit_file",
            nowhere,
            "error: There is no `b`; create it with write_file.",
        )
        .await;
}

const OTHERWISE: &str =
    "error: What this call would do changed since it was prepared; look again, and call it again.";
const STALE: &str = "error: `a.txt` changed since you read it; read it again before you change it.";

#[tokio::test]
async fn only_what_was_read_is_edited() {
    let trial = ToolTrial::new(&[("a.txt", "one")]);
    let unread = "error: `a.txt` was not read in this conversation; read the file first.";
    trial.check("edit_file", args("one", "1"), unread).await;
    trial.call("read_file", json!({"path": "a.txt"})).await;
    trial.put("a.txt", "one and more");
    trial.check("edit_file", args("one", "1"), STALE).await;
    assert_eq!(trial.text("a.txt").unwrap(), "one and more");
}

#[tokio::test]
async fn a_change_between_showing_and_doing_is_seen() {
    let trial = read("one").await;
    trial.prepared("edit_file", args("one", "1")).await;
    trial.put("a.txt", "one and more");
    assert_eq!(trial.run_text("edit_file", args("one", "1")).await, STALE);
    // Even where the model has read the new text meanwhile: the person has not.
    let other = CallKey(9);
    let mut trial = trial;
    trial.call = other;
    trial.call("read_file", json!({"path": "a.txt"})).await;
    trial.call = CallKey(0);
    assert_eq!(
        trial.run_text("edit_file", args("one", "1")).await,
        OTHERWISE
    );
    assert_eq!(trial.text("a.txt").unwrap(), "one and more");
    assert!(trial.edits.lock().unwrap().is_empty());
}

#[tokio::test]
async fn edits_of_one_message_follow_each_other() {
    let mut trial = read("one two\nx\nx\n").await;
    let edits = [("one", "1\n1"), ("two", "2")];
    for (call, (old, new)) in (1..).zip(edits) {
        trial.call = CallKey(call);
        trial.prepared("edit_file", args(old, new)).await;
    }
    // What is meant by a line may be another place after an edit: this one does not follow.
    trial.call = CallKey(3);
    answered(&mut trial, ("x", "y"), "3").await;
    trial.prepared("edit_file", args("x", "y")).await;
    let run = async |call: u32| {
        let (old, new) = edits[call as usize - 1];
        let work = CallWork {
            call: CallKey(call),
            ..trial.work("edit_file", args(old, new))
        };
        trial
            .registry
            .run(&work, &trial.context, &trial.cancelled)
            .await
    };
    // Side by side, as the calls of one message run.
    let outcomes = tokio::join!(run(1), run(2));
    assert!(
        matches!(outcomes, (ToolOutcome::Success(_), ToolOutcome::Success(_))),
        "{outcomes:?}"
    );
    trial.call = CallKey(3);
    let outcome = trial.run_text("edit_file", args("x", "y")).await;
    assert!(outcome.starts_with("asks: "), "{outcome}");
    assert_eq!(trial.text("a.txt").unwrap(), "1\n1 2\nx\nx\n");
    // The question is now about the lines as they are.
    trial.answers.clear();
    let asked = trial.call("edit_file", args("x", "y")).await;
    assert!(asked.contains("[\"3\",\"4\",\"all\"]"), "{asked}");
}

#[tokio::test]
async fn an_answer_is_for_the_text_that_was_asked_about() {
    let mut trial = read("x\nx\n").await;
    trial.call = CallKey(1);
    answered(&mut trial, ("x", "y"), "2").await;
    // Another call of the message takes the first line away, and adds one.
    trial.call = CallKey(2);
    let work = json!({"path": "a.txt", "content": "0\nx\nx\n"});
    trial
        .check("write_file", work, "ok: Changed `a.txt`.")
        .await;
    trial.call = CallKey(1);
    let asked = trial.call("edit_file", args("x", "y")).await;
    assert!(asked.contains("[\"2\",\"3\",\"all\"]"), "{asked}");
    trial
        .answers
        .push((OCCURRENCE.into(), Answer::Value("2".into())));
    let told = trial.call("edit_file", args("x", "y")).await;
    assert_eq!(told, "ok: Changed `a.txt`.");
    assert_eq!(trial.text("a.txt").unwrap(), "0\ny\nx\n");
}

#[tokio::test]
async fn an_answer_lasts_for_a_process_that_goes_on() {
    let mut trial = read("x\nx\n").await;
    answered(&mut trial, ("x", "y"), "2").await;
    let seen = trial.context.seen().after_turn();
    *trial.context.seen() = seen;
    let told = trial.call("edit_file", args("x", "y")).await;
    assert_eq!(told, "ok: Changed `a.txt`.");
    assert_eq!(trial.text("a.txt").unwrap(), "x\ny\n");
}

#[tokio::test]
async fn places_that_overlap_or_differ_in_line_ends_are_several() {
    for (text, old, options) in [
        ("x = 1\nx = 1\nx = 1\n", "x = 1\nx = 1", r#"["1","2"]"#),
        ("a\nb\na\r\nb\n", "a\nb", r#"["1","3","all"]"#),
        ("a\r\nb\r\na\nb\r\n", "a\r\nb", r#"["1","3","all"]"#),
        ("a\rb\na\nb\n", "a\nb", r#"["1","2","all"]"#),
    ] {
        let trial = read(text).await;
        let asked = trial.call("edit_file", args(old, "new")).await;
        assert!(asked.contains(options), "{text:?}: {asked}");
        let overlaps = asked.contains("Some of them overlap");
        assert_eq!(overlaps, !options.contains("all"), "{asked}");
    }
}

#[tokio::test]
async fn a_mark_is_not_of_the_text() {
    let trial = read("\u{feff}a\nb\n").await;
    let text = trial.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(text, "ok: a\nb\n");
    let write = json!({"path": "a.txt", "content": "a\nB\n"});
    trial
        .check("write_file", write, "ok: Changed `a.txt`.")
        .await;
    assert_eq!(trial.text("a.txt").unwrap(), "\u{feff}a\nB\n");
}

/// The model copies what it wrote before into the next edit.
#[tokio::test]
async fn an_edit_of_an_edit_finds_its_text() {
    let mut trial = read("a();\r\nb();\r\nc();\r\n").await;
    for (call, old, new) in [(1, "b();", "b();\nextra();"), (2, "b();\nextra();\nc", "d")] {
        trial.call = CallKey(call);
        let told = trial.call("edit_file", args(old, new)).await;
        assert_eq!(told, "ok: Changed `a.txt`.");
    }
    assert_eq!(trial.text("a.txt").unwrap(), "a();\r\nd();\r\n");
}

#[cfg(unix)]
#[tokio::test]
async fn the_preview_is_the_whole_change() {
    let trial = read("one\ntwo\n").await;
    let Prepared {
        title,
        preview,
        class,
        must_ask,
        ..
    } = trial.prepared("edit_file", args("two", "2\u{202e}")).await;
    let uri = format!("file://{}/a.txt", trial.context.files.root().display());
    let (old, new) = ("one\ntwo\n".to_owned(), "one\n2\u{202e}\n".to_owned());
    assert_eq!(
        preview,
        Some(Preview::Diff {
            uri,
            version: None,
            old,
            new
        })
    );
    assert_eq!(
        title,
        "Edit a.txt, line 2 (adds invisible characters: U+202E)"
    );
    assert_eq!((class, must_ask), (Class::Edits, None));
}

#[tokio::test]
async fn an_approval_is_for_this_change_of_this_text() {
    let hash = async |text: &str, new: &str| {
        read(text)
            .await
            .prepared("edit_file", args("one", new))
            .await
            .hash
    };
    assert_eq!(hash("one", "1").await, hash("one", "1").await);
    assert_ne!(hash("one", "1").await, hash("one", "2").await);
    assert_ne!(hash("one", "1").await, hash("one.", "1").await);
}

#[tokio::test]
async fn a_persons_own_text_is_written_and_told() {
    let mut trial = read("one\ntwo\n").await;
    trial.prepared("edit_file", args("two", "2")).await;
    trial.new_text = Some("one\nzwei\n".to_owned().into());
    let outcome = trial.run_text("edit_file", args("two", "2")).await;
    assert_eq!(
        outcome,
        "ok: Changed `a.txt`.\nThe user changed your text before it was written. From your text to what is in the file now:\n\
         --- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-2\n+zwei\n"
    );
    assert_eq!(trial.text("a.txt").unwrap(), "one\nzwei\n");
    trial.answers.clear();
    trial.new_text = None;
    trial.call = CallKey(1);
    trial
        .check("edit_file", args("zwei", "2"), "ok: Changed `a.txt`.")
        .await;
}

#[tokio::test]
async fn a_persons_own_text_is_for_the_text_that_it_names() {
    for (named, outcome, text) in [
        (None, OTHERWISE, "1\ntwo\n"),
        (Some("one\ntwo\n"), OTHERWISE, "1\ntwo\n"),
        (Some("1\ntwo\n"), "ok: Changed `a.txt`.", "1\nzwei\n"),
    ] {
        let mut trial = read("one\ntwo\n").await;
        trial.prepared("edit_file", args("two", "2")).await;
        trial.call = CallKey(1);
        trial
            .check("edit_file", args("one", "1"), "ok: Changed `a.txt`.")
            .await;
        trial.call = CallKey(0);
        trial.new_text = Some(OwnText {
            text: "1\nzwei\n".into(),
            base: named.map(Into::into),
        });
        let said = trial.run_text("edit_file", args("two", "2")).await;
        assert!(said.starts_with(outcome), "{named:?}: {said}");
        assert_eq!(trial.text("a.txt").unwrap(), text);
    }
}

#[tokio::test]
async fn a_person_may_keep_the_file() {
    let mut trial = read("one\n").await;
    trial.prepared("edit_file", args("one", "1")).await;
    trial.new_text = Some("one\n".to_owned().into());
    let outcome = trial.run_text("edit_file", args("one", "1")).await;
    assert_eq!(outcome, "ok: The user kept `a.txt` as it was.");
    assert!(trial.edits.lock().unwrap().is_empty());
}

#[tokio::test]
async fn is_on_record_before_it_happens() {
    let trial = read("one\n").await;
    trial.call("edit_file", args("one", "1")).await;
    let edit = FileEdit {
        call: CallKey(0),
        path: "a.txt".into(),
        before: Some(sha256(b"one\n")),
        after: Some(sha256(b"1\n")),
    };
    assert_eq!(*trial.edits.lock().unwrap(), [(edit, Some("one\n".into()))]);
    assert_eq!(
        (trial.context.read_blob)(&sha256(b"one\n"), 0..9).unwrap(),
        b"one\n"
    );
}

#[tokio::test]
async fn both_texts_are_kept_and_the_model_knows_its_own_edit() {
    let mut trial = read("one\ntwo\n").await;
    trial.call = CallKey(1);
    trial.prepared("edit_file", args("two", "2")).await;
    let ToolOutcome::Success(output) = trial.run("edit_file", args("two", "2")).await else {
        panic!("it is there")
    };
    for text in ["one\ntwo\n", "one\n2\n"] {
        let blob = sha256(text.as_bytes());
        let kept = (trial.context.read_blob)(&blob, 0..99).unwrap();
        assert_eq!(kept, text.as_bytes());
    }
    assert_eq!(
        output.details,
        Some(json!({"read": {"a.txt": sha256(b"one\n2\n")}}))
    );
}

#[cfg(unix)]
#[tokio::test]
async fn keeps_permissions_and_links() {
    let trial = read("one").await;
    let path = trial.context.files.root().join("a.txt");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    trial.link("link", "a.txt");
    let args = json!({"path": "link", "old_text": "one", "new_text": "1"});
    trial.check("edit_file", args, "ok: Changed `a.txt`.").await;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert!(trial.context.files.root().join("link").is_symlink());
    assert_eq!(trial.text("a.txt").unwrap(), "1");
}

#[tokio::test]
async fn write_file_makes_and_replaces() {
    let trial = ToolTrial::new(&[("old", "one\n")]);
    let args = |path: &str| json!({"path": path, "content": "new\n"});
    trial
        .check(
            "write_file",
            args("deep/er/new"),
            "ok: Created `deep/er/new`.",
        )
        .await;
    assert_eq!(trial.text("deep/er/new").unwrap(), "new\n");
    let unread = "error: `old` was not read in this conversation; read the file first.";
    trial.check("write_file", args("old"), unread).await;
    trial.call("read_file", json!({"path": "old"})).await;
    let mut trial = trial;
    trial.call = CallKey(1);
    trial
        .check("write_file", args("old"), "ok: Changed `old`.")
        .await;
    assert_eq!(trial.text("old").unwrap(), "new\n");
    let again = "ok: `old` has this text already; nothing was changed.";
    trial.check("write_file", args("old"), again).await;
    let edits = trial.edits.lock().unwrap();
    let befores: Vec<_> = edits
        .iter()
        .map(|(edit, now)| (edit.before.is_some(), now))
        .collect();
    assert_eq!(befores, [(false, &None), (true, &Some("one\n".to_owned()))]);
}

#[tokio::test]
async fn a_file_that_appeared_is_not_written_over() {
    let trial = ToolTrial::new(&[]);
    let args = json!({"path": "new", "content": "mine"});
    trial.prepared("write_file", args.clone()).await;
    trial.put("new", "somebody's");
    let outcome = trial.run_text("write_file", args).await;
    assert_eq!(
        outcome,
        "error: `new` was not read in this conversation; read the file first."
    );
    assert_eq!(trial.text("new").unwrap(), "somebody's");
}

#[tokio::test]
async fn many_edits_side_by_side_all_arrive() {
    let words = |letter: char| {
        (10..40)
            .map(|n| format!("{letter}{n}\n"))
            .collect::<String>()
    };
    let mut trial = read(&words('a')).await;
    let mut edits = Vec::new();
    for n in 10..40 {
        trial.call = CallKey(n);
        let edit = args(&format!("a{n}"), &format!("b{n}"));
        trial.prepared("edit_file", edit.clone()).await;
        edits.push(trial.work("edit_file", edit));
    }
    let runs = edits
        .iter()
        .map(|work| trial.registry.run(work, &trial.context, &trial.cancelled));
    for outcome in futures_util::future::join_all(runs).await {
        assert!(matches!(outcome, ToolOutcome::Success(_)), "{outcome:?}");
    }
    assert_eq!(trial.text("a.txt").unwrap(), words('b'));
}

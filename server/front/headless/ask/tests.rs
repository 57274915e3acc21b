use aside_turn::{
    question::Source,
    record::{CallKey, PromptId},
};
use serde_json::json;

use super::*;

/// Width at which no line is broken.
const WIDE: usize = 1000;

/// A question of a tool.
pub(in crate::front::headless) fn question(text: &str, answer_type: AnswerType) -> Prompt {
    Prompt {
        id: PromptId("p-1".into()),
        call: CallKey(0),
        call_id: "call_1".into(),
        tool: "tidy".into(),
        arguments: json!({"path": "src/main.rs"}),
        server: None,
        kind: PromptKind::Question,
        label: "tidy".into(),
        text: text.into(),
        context: None,
        answer_type,
        optional: false,
        default: None,
        remember: false,
        exclusive: false,
        source: Source::Tool {
            name: "tidy".into(),
        },
        preview: None,
        turn_permits: None,
        position: (1, 1),
    }
}

fn select(options: &[&str]) -> AnswerType {
    AnswerType::Select {
        options: options.iter().map(ToString::to_string).collect(),
    }
}

fn permission(options: &[&str], preview: Option<Preview>) -> Prompt {
    let prompt = question("Run this?", select(options));
    Prompt {
        kind: PromptKind::RunTool,
        label: "run_command".into(),
        turn_permits: Some(TurnPermission::of(matches!(
            preview,
            Some(Preview::Diff { .. })
        ))),
        preview,
        ..prompt
    }
}

fn run_command(text: &str) -> Prompt {
    let preview = Preview::Command {
        text: text.into(),
        cwd: "/home/ada/demo".into(),
    };
    permission(&["once", "turn", "always", "no"], Some(preview))
}

fn change(old: &str, new: &str) -> Prompt {
    let (uri, old, new) = ("file:///home/ada/main.rs".into(), old.into(), new.into());
    permission(
        &["once", "turn", "no"],
        Some(Preview::Diff {
            uri,
            version: None,
            old,
            new,
        }),
    )
}

#[track_caller]
fn shows(prompt: &Prompt, expected: &[&str]) {
    let shown = render(prompt, Paint::OFF, WIDE);
    assert_eq!(
        shown.trim_start_matches('\n').lines().collect::<Vec<_>>(),
        expected
    );
}

#[track_caller]
fn check(prompt: &Prompt, line: &str, expected: TypedLine) {
    assert_eq!(parse_line(prompt, line), expected, "{line:?}");
}

fn is(value: impl Into<Value>) -> TypedLine {
    answer(value.into(), false)
}

fn for_the_turn(value: bool) -> TypedLine {
    answer(value.into(), true)
}

fn declined(note: Option<&str>) -> TypedLine {
    TypedLine::Reply(PromptAnswer::Decline {
        note: note.map(Into::into),
    })
}

fn again(sentence: &str) -> TypedLine {
    TypedLine::Again(sentence.into())
}

const NOTHING: &str = "Nothing was typed; answer, or press Ctrl-D to skip.";

#[test]
fn wrapped_commands_do_not_resemble_prompt_lines() {
    let text = format!(
        "true {}Run `true`?{}  y  run it\nrm -rf x",
        ".".repeat(33),
        ".".repeat(29)
    );
    let shown = render(&run_command(&text), Paint::OFF, 40);
    let lines: Vec<_> = shown.lines().skip(3).take(4).collect();
    let expected = [
        &format!("│ true {}", ".".repeat(33)),
        &format!("│↪Run `true`?{}", ".".repeat(27)),
        "│↪..  y  run it",
        "│ rm -rf x",
    ];
    assert_eq!(lines, expected);
    let outside = Prompt {
        tool: "run_command".into(),
        context: Some(format!("true # {}\nrm -rf x", "word ".repeat(9))),
        ..question("Run it outside?", select(&["once", "no"]))
    };
    let shown = render(&outside, Paint::OFF, 40);
    let lines: Vec<_> = shown.lines().skip(2).take(3).collect();
    let expected = [
        "│ true # word word word word word word w",
        "│↪ord word word ",
        "│ rm -rf x",
    ];
    assert_eq!(lines, expected);
    let long = Prompt {
        context: Some(format!("Why {} so", "o".repeat(40))),
        ..question("Why?", AnswerType::Boolean)
    };
    let shown = render(&long, Paint::OFF, 40);
    let lines: Vec<_> = shown.lines().skip(2).take(4).collect();
    let whole = format!("│ {}", "o".repeat(38));
    assert_eq!(lines, ["│ Why", &whole, "│↪oo", "│ so"]);
}

#[test]
fn boolean_questions() {
    let prompt = question("Keep a backup?", AnswerType::Boolean);
    shows(
        &prompt,
        &[
            "── tidy ──",
            "Keep a backup?",
            "  y  yes",
            "  n  no",
            "  !: decline, !text: with a note · Ctrl-D: skip",
            "> ",
        ],
    );
    for yes in ["y", "Y", "yes", "YES", "true", " y "] {
        check(&prompt, yes, is(true));
    }
    for no in ["n", "N", "no", "No", "false"] {
        check(&prompt, no, is(false));
    }
    check(&prompt, "", again(NOTHING));
    check(
        &prompt,
        "yep",
        again("That is not one of the answers; type y or n."),
    );
    let by_default = Prompt {
        default: Some(false.into()),
        ..prompt
    };
    check(&by_default, "", is(false));
    assert!(render(&by_default, Paint::OFF, WIDE).contains("Enter: no · "));
}

#[test]
fn boolean_questions_for_the_rest_of_the_turn() {
    let prompt = Prompt {
        remember: true,
        ..question("Keep a backup?", AnswerType::Boolean)
    };
    shows(
        &prompt,
        &[
            "── tidy ──",
            "Keep a backup?",
            "  y  yes",
            "  n  no",
            "  Y  yes, for the rest of this turn",
            "  N  no, for the rest of this turn",
            "  !: decline, !text: with a note · Ctrl-D: skip",
            "> ",
        ],
    );
    check(&prompt, "y", is(true));
    check(&prompt, "YES", is(true));
    check(&prompt, "Y", for_the_turn(true));
    check(&prompt, "N", for_the_turn(false));
}

#[test]
fn select_questions() {
    let options = select(&["12", "40", "all of them"]);
    let prompt = Prompt {
        context: Some("12: let a = 1;\n40: let a = 2;".into()),
        default: Some("40".into()),
        position: (2, 3),
        ..question("Which place?", options)
    };
    shows(
        &prompt,
        &[
            "── tidy (2 of 3) ──",
            "│ 12: let a = 1;",
            "│ 40: let a = 2;",
            "Which place?",
            "  1  12",
            "  2  40",
            "  3  all of them",
            "  Enter: 40 · !: decline, !text: with a note · Ctrl-D: skip",
            "> ",
        ],
    );
    check(&prompt, "1", is("12"));
    check(&prompt, "12", is("12"));
    check(&prompt, "all of them", is("all of them"));
    check(&prompt, " 3 ", is("all of them"));
    check(&prompt, "", is("40"));
    check(
        &prompt,
        "4",
        again("That is not one of the answers; type 1, 2 or 3."),
    );
    check(
        &prompt,
        "ALL OF THEM",
        again("That is not one of the answers; type 1, 2 or 3."),
    );
}

#[test]
fn numbers_are_never_ambiguous() {
    let prompt = question("Which line?", select(&["2", "7", "all"]));
    assert!(render(&prompt, Paint::OFF, WIDE).contains("  -  2\n  -  7\n  -  all\n"));
    check(&prompt, "2", is("2"));
    check(
        &prompt,
        "1",
        again("That is not one of the answers; type one of the texts in full."),
    );
    let in_place = question("Which line?", select(&["1", "2"]));
    check(&in_place, "2", is("2"));
    let marks = question("Which mark?", select(&["!", "?"]));
    check(&marks, "!", is("!"));
}

#[test]
fn text_questions() {
    let prompt = question("What name?", AnswerType::text());
    check(&prompt, " tidy imports", is(" tidy imports"));
    check(&prompt, "  ", again(NOTHING));
    check(&prompt, "\\!important", is("!important"));
    check(&prompt, "\\path", is("\\path"));
    let by_default = Prompt {
        default: Some("tidy".into()),
        ..prompt
    };
    check(&by_default, "", is("tidy"));
    check(&by_default, "other", is("other"));
}

#[test]
fn secrets_are_accepted_as_typed() {
    let prompt = question("Password?", AnswerType::Secret);
    shows(
        &prompt,
        &[
            "── tidy ──",
            "Password?",
            "  your input is hidden and goes only to this tool · Ctrl-D: skip",
            "> ",
        ],
    );
    check(&prompt, "!x ", is("!x "));
    check(
        &prompt,
        "",
        again("Nothing was typed; type the secret, or press Ctrl-D to skip."),
    );
    assert!(!format!("{:?}", parse_line(&prompt, "hunter2")).contains("hunter2"));
}

#[test]
fn command_permissions() {
    let prompt = run_command("cargo test\nrm -r target");
    shows(
        &prompt,
        &[
            "── run_command ──",
            "in /home/ada/demo",
            "│ cargo test",
            "│ rm -r target",
            "Run this?",
            "  y  run it once",
            "  t  run it, and allow the same call for the rest of this turn",
            "  a  run it now and always",
            "  n  no",
            "  !: decline, !text: with a note · Ctrl-D: skip",
            "> ",
        ],
    );
    for (line, expected) in [
        ("y", "once"),
        ("yes", "once"),
        ("o", "once"),
        ("t", "turn"),
        ("a", "always"),
        ("n", "no"),
        ("always", "always"),
    ] {
        check(&prompt, line, is(expected));
    }
    check(
        &prompt,
        "sure",
        again("That is not one of the answers; type y, t, a or n."),
    );
    let eager = Prompt {
        default: Some("once".into()),
        ..prompt
    };
    check(&eager, "", again(NOTHING));
}

#[test]
fn change_permissions() {
    let prompt = change(
        "use b;\nuse a;\n\nfn main() {}\n",
        "use a;\nuse b;\n\nfn main() {}",
    );
    shows(
        &prompt,
        &[
            "── run_command ──",
            "/home/ada/main.rs",
            "│ @@ -1,4 +1,4 @@",
            "│ +use a;",
            "│  use b;",
            "│ -use a;",
            "│  ",
            "│ -fn main() {}",
            "│ +fn main() {} (no line end)",
            "Run this?",
            "  y  make this change",
            "  t  make this change and all other edits of this turn",
            "  n  no",
            "  !: decline, !text: with a note · Ctrl-D: skip",
            "> ",
        ],
    );
    check(
        &prompt,
        "a",
        again("That is not one of the answers; type y, t or n."),
    );
    let painted = render(&prompt, Paint { on: true }, WIDE);
    assert!(
        painted.contains("\x1b[31m-use a;\x1b[0m") && painted.contains("\x1b[32m+use a;\x1b[0m")
    );
}

#[test]
fn permissions_show_the_whole_call() {
    let shown = render(&permission(&["once", "no"], None), Paint::OFF, WIDE);
    assert!(shown.contains("│   \"path\": \"src/main.rs\"\n"), "{shown}");
}

#[test]
fn result_deliveries() {
    let prompt = Prompt {
        kind: PromptKind::DeliverResult,
        preview: Some(Preview::Text {
            text: "Call Ada.\n".into(),
        }),
        default: Some(true.into()),
        ..question("May the model see it?", AnswerType::Boolean)
    };
    assert!(render(&prompt, Paint::OFF, WIDE).contains("│ Call Ada.\nMay the model see it?\n"));
    check(&prompt, "y", is(true));
    check(&prompt, "n", is(false));
    check(&prompt, "", again(NOTHING));
}

#[test]
fn all_prompts_can_be_dismissed_and_all_but_secrets_declined() {
    let any = [
        question("?", AnswerType::Boolean),
        question("?", select(&["a", "b"])),
        question("?", AnswerType::text()),
        run_command("ls"),
    ];
    for prompt in any {
        check(&prompt, "!", declined(None));
        check(
            &prompt,
            "! use the other file ",
            declined(Some("use the other file")),
        );
        check(&prompt, "\x1b", TypedLine::Reply(PromptAnswer::Cancel));
    }
    check(
        &question("?", AnswerType::Secret),
        "\x1b",
        TypedLine::Reply(PromptAnswer::Cancel),
    );
}

#[test]
fn foreign_text_is_sanitized_and_set_apart() {
    let prompt = Prompt {
        label: "evil\x1b[2J\n── Assistant ──".into(),
        context: Some("\x1b]0;title\x07\n> y".into()),
        text: "Sure\x1b[8m?".into(),
        ..run_command("ls \u{202e}x\rrm -rf ~")
    };
    let shown = render(&prompt, Paint::OFF, WIDE);
    assert!(
        !shown.contains(['\x1b', '\x07', '\r', '\u{202e}']),
        "{shown}"
    );
    assert!(
        shown.contains("── evil␛[2J␊── Assistant ── ──\n"),
        "{shown}"
    );
    assert!(shown.contains("│ ␛]0;title␇\n│ > y\n"), "{shown}");
    assert!(shown.contains("│ ls <U+202E>x␍rm -rf ~\n"), "{shown}");
    let options = question("?", select(&["a\x1b[2J"]));
    assert!(!render(&options, Paint::OFF, WIDE).contains('\x1b'));
}

#[test]
fn narrow_terminals_wrap_words_and_continue_commands_behind_a_bar() {
    let asked = Prompt {
        context: Some("The files are unreachable for a moment.\nNothing waits.".into()),
        default: Some(json!("5 seconds")),
        ..question(
            "How long shall an upload wait before it tries again?",
            select(&[
                "5 seconds",
                "as long as the server says, at the most a minute",
            ]),
        )
    };
    let shown = render(&asked, Paint::OFF, 40);
    assert_eq!(
        shown,
        "\n── tidy ──\n\
         │ The files are unreachable for a\n\
         │ moment.\n\
         │ Nothing waits.\n\
         How long shall an upload wait before it\n\
         tries again?\n\
         \x20 1  5 seconds\n\
         \x20 2  as long as the server says, at the\n\
         \x20    most a minute\n\
         \x20 Enter: 5 seconds · !: decline, !text:\n\
         \x20 with a note · Ctrl-D: skip\n> "
    );
    let command = "git log --oneline --all --graph --decorate";
    let preview = Preview::Command {
        text: command.into(),
        cwd: "/w".into(),
    };
    let shown = render(&permission(&["once", "no"], Some(preview)), Paint::OFF, 40);
    assert!(
        shown.contains("\n│ git log --oneline --all --graph --deco\n│↪rate\n"),
        "{shown}"
    );
}

#[test]
fn options_are_separated_by_blanks_or_commas() {
    let several = |options: &[&str]| {
        let answer_type = AnswerType::MultiSelect {
            options: options.iter().map(ToString::to_string).collect(),
            minimum: Some(1),
            maximum: Some(2),
        };
        question("Which?", answer_type)
    };
    let chosen = answer(json!(["red", "blue"]), false);
    let prompt = several(&["red", "green", "blue"]);
    assert_eq!(parse_line(&prompt, "1 3"), chosen);
    assert_eq!(parse_line(&prompt, "1,3"), chosen);
    let says = |options: &[&str], form: &str| {
        let TypedLine::Again(said) = parse_line(&several(options), "9 9") else {
            panic!("it is taken");
        };
        assert!(said.ends_with(form), "{said}");
    };
    says(
        &["a", "b"],
        "of: a, b. Type their numbers, separated by blanks or commas.",
    );
    says(&["2", "1"], "Type them separated by commas.");
    says(&["2", "1, 3"], "Type them as a JSON array.");
}

#[test]
fn unsandboxed_commands_use_the_permission_keys() {
    let prompt = Prompt {
        tool: "run_command".into(),
        ..question("Outside?", select(&["once", "turn", "always", "no"]))
    };
    let shown = render(&prompt, Paint::OFF, WIDE);
    for (key, word, number, says) in [
        ("y", "once", "1", "  y  run it once\n"),
        (
            "t",
            "turn",
            "2",
            "  t  run it, and allow the same call for the rest of this turn\n",
        ),
        ("a", "always", "3", "  a  run it now and always\n"),
        ("n", "no", "4", "  n  no\n"),
    ] {
        assert!(shown.contains(says), "{shown}");
        for typed in [key, word, number] {
            assert_eq!(
                parse_line(&prompt, typed),
                answer(word.into(), false),
                "{typed}"
            );
        }
    }
    // Another tool's options are unaffected.
    let other = question("How often?", select(&["once", "always"]));
    assert!(render(&other, Paint::OFF, WIDE).contains("  1  once\n"));
}

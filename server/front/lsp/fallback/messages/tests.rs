//! Prompts as the exact messages and actions that a client is asked to show.

use aside_turn::question::Source;
use serde_json::json;
use tower_lsp::lsp_types::MessageActionItem;

use super::*;
use crate::front::wire::{Position, PromptTool, TurnPermission};

fn prompt(kind: PromptKind, answer_type: AnswerType) -> Prompt {
    Prompt {
        prompt_id: "p1".into(),
        conversation_id: "c1".into(),
        turn_id: "t1".into(),
        tool: PromptTool {
            name: "deploy".into(),
            call_id: "call_1".into(),
            arguments: json!({"to": "live", "note": "a\nb"}),
            server: None,
        },
        kind,
        label: "deploy".into(),
        text: "Go on?".into(),
        context: None,
        expects: answer_type.phrase(),
        answer_type,
        optional: false,
        default: None,
        remember: false,
        exclusive: true,
        source: Source::Tool {
            name: "deploy".into(),
        },
        preview: None,
        turn_permits: None,
        position: Position { n: 1, of: 1 },
        resumable: None,
    }
}

fn question(answer_type: AnswerType) -> Prompt {
    prompt(PromptKind::Question, answer_type)
}

fn select(options: &[&str]) -> AnswerType {
    let options = options.iter().map(ToString::to_string).collect();
    AnswerType::Select { options }
}

fn run_tool(preview: Option<Preview>) -> Prompt {
    let options: &[&str] = match preview {
        Some(Preview::Diff { .. }) => &["once", "turn", "no"],
        _ => &["once", "turn", "always", "no"],
    };
    Prompt {
        text: "Run deploy?".into(),
        turn_permits: Some(TurnPermission::of(matches!(
            preview,
            Some(Preview::Diff { .. })
        ))),
        preview,
        ..prompt(PromptKind::RunTool, select(options))
    }
}

/// The message beside the text, then a line an action: its title and what it does.
fn shown(prompt: &Prompt, whole: &FullPrompt, pages: bool) -> String {
    written(&message(prompt, whole, MessagePlace::Beside, pages))
}

/// The same over the text, in a client that shows pages.
fn over(prompt: &Prompt, whole: &FullPrompt) -> String {
    written(&message(prompt, whole, MessagePlace::Over, true))
}

fn written(message: &PromptMessage) -> String {
    let actions = message.actions.iter().map(|action| {
        let does = match &action.does {
            ActionEffect::Answer { value, remember } => {
                format!("{value}{}", if *remember { " remembered" } else { "" })
            }
            ActionEffect::Write => "write".into(),
            ActionEffect::Dismiss => "dismiss".into(),
            ActionEffect::Review => "review".into(),
            ActionEffect::Later => "later".into(),
        };
        format!("\n  [{}] {does}", action.title)
    });
    format!("{}{}", message.text, actions.collect::<String>())
}

#[track_caller]
fn check(prompt: &Prompt, expected: &str) {
    assert!(fits_inline(prompt));
    assert_eq!(shown(prompt, &FullPrompt::Inline, true), expected);
}

#[test]
fn every_kind_of_prompt_is_a_message_with_actions() {
    let yes_no = "\n  [Yes] true\n  [No] false";
    for default in [None, Some(json!(true))] {
        let boolean = Prompt {
            default,
            ..question(AnswerType::Boolean)
        };
        check(&boolean, &format!("deploy: Go on?{yes_no}"));
        let remembered = Prompt {
            remember: true,
            ..boolean
        };
        check(
            &remembered,
            &format!(
                "deploy: Go on?{yes_no}\n  [Yes, for this turn] true remembered\
                 \n  [No, for this turn] false remembered"
            ),
        );
    }
    for default in [None, Some(json!("two words"))] {
        let select = Prompt {
            context: Some("Two ways.\nBoth work.\n".into()),
            default,
            ..question(select(&["one", "two words"]))
        };
        check(
            &select,
            "deploy: Two ways.\nBoth work.\nGo on?\n  [one] \"one\"\n  [two words] \"two words\"",
        );
    }
    let write = "\n  [Write an answer] write\n  [Cancel] dismiss";
    let text = question(AnswerType::text());
    check(&text, &format!("deploy: Go on?{write}"));
    let with_default = Prompt {
        default: Some(json!("main")),
        ..text.clone()
    };
    check(
        &with_default,
        &format!("deploy: Go on?\n  [Use \"main\"] \"main\"{write}"),
    );
    let long = "x".repeat(55);
    let with_long_default = Prompt {
        default: Some(json!(long)),
        ..text
    };
    check(
        &with_long_default,
        &format!("deploy: Default: {long}\nGo on?\n  [Use the default] \"{long}\"{write}"),
    );
    let deliver = Prompt {
        text: "May the model see this?".into(),
        preview: Some(Preview::Text {
            text: "line 1\nline 2\n".into(),
        }),
        ..prompt(PromptKind::DeliverResult, AnswerType::Boolean)
    };
    check(
        &deliver,
        "deploy: line 1␊line 2\nMay the model see this?\n  [No] false\n  [Yes] true",
    );
}

#[test]
fn what_would_run_is_shown_with_its_line_ends() {
    let actions = "\n  [No] \"no\"\n  [Run once] \"once\"\n  [Run in this turn] \"turn\"\n  [Always] \"always\"";
    let command = |text: &str| {
        run_tool(Some(Preview::Command {
            text: text.into(),
            cwd: "/w".into(),
        }))
    };
    check(
        &command("make\nrm -r \u{202e}x"),
        &format!("deploy: in /w: make␊rm -r <U+202E>x\nRun deploy?{actions}"),
    );
    check(
        &run_tool(None),
        &format!("deploy: {{\"to\":\"live\",\"note\":\"a\\nb\"}}\nRun deploy?{actions}"),
    );
    // A client may show this as a link, without what is in the parentheses.
    let link = command("echo [x](command:y)");
    assert_eq!(
        page(&link).text,
        "deploy\n\nin /w:\n\necho [x](command:y)\n\nRun deploy?\n"
    );
}

#[test]
fn what_does_not_fit_is_on_a_page_or_can_only_be_refused() {
    let command = format!("echo {}", "x".repeat(2000));
    let long = run_tool(Some(Preview::Command {
        text: command.clone(),
        cwd: "/w".into(),
    }));
    assert_eq!(
        page(&long),
        PromptPage {
            ending: ".txt",
            text: format!(
                "deploy\n\nin /w:\n\necho {}{}\n↪ {}\n\nRun deploy?\n",
                "x".repeat(85),
                format!("\n↪ {}", "x".repeat(90)).repeat(21),
                "x".repeat(25)
            ),
        }
    );
    let on_page = FullPrompt::Page("prompt-1.txt".into());
    assert_eq!(
        shown(&long, &on_page, true),
        "deploy: prompt-1.txt is open and has all of it.\nRun deploy?\n  [No] \"no\"\
         \n  [Run once] \"once\"\n  [Run in this turn] \"turn\"\n  [Always] \"always\""
    );
    let refused = shown(&long, &FullPrompt::Nowhere, false);
    assert!(refused.starts_with("deploy: in /w: echo xxx"), "{refused}");
    assert!(
        refused.ends_with(
            "xxx…\n(It cannot be shown whole here, so it can only be refused; `conversation.mode = \"edits\"` in aside.toml lets edits run.)\nRun deploy?\n  [No] \"no\""
        ),
        "{refused}"
    );

    let question = Prompt {
        context: Some("why ".repeat(400)),
        ..question(AnswerType::Boolean)
    };
    assert!(!fits_inline(&question));
    let cut = shown(&question, &FullPrompt::Nowhere, false);
    assert!(
        cut.ends_with(
            "…\n(It was cut: it cannot be shown whole here.)\nGo on?\n  [Yes] true\n  [No] false"
        ),
        "{cut}"
    );
    let text = Prompt {
        answer_type: AnswerType::text(),
        context: Some("x".repeat(980)),
        ..question.clone()
    };
    assert!(!fits_inline(&text), "the command has to fit too");
    for prompt in [&long, &question, &text] {
        let message = message(prompt, &FullPrompt::Nowhere, MessagePlace::Beside, false);
        assert!(units(&message.text) <= SHOWN, "{}", units(&message.text));
    }
}

#[test]
fn a_change_is_always_on_a_page() {
    let change = run_tool(Some(Preview::Diff {
        uri: "file:///w/a.txt".into(),
        version: None,
        old: "one\ntwo\n".into(),
        new: "one\nthree\n".into(),
    }));
    assert_eq!(
        page(&change),
        PromptPage {
            ending: ".diff",
            text: "deploy\n\n--- file:///w/a.txt\n+++ file:///w/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n\nRun deploy?\n".into(),
        }
    );
    assert_eq!(
        shown(&change, &FullPrompt::Page("prompt-1.diff".into()), true),
        "deploy: prompt-1.diff is open and has all of it.\nRun deploy?\n  [No] \"no\"\
         \n  [Run once] \"once\"\n  [All edits of this turn] \"turn\""
    );
    assert_eq!(
        shown(&change, &FullPrompt::Nowhere, true),
        "deploy: file:///w/a.txt\n(It cannot be shown whole here, so it can only be refused; `conversation.mode = \"edits\"` in aside.toml lets edits run.)\
         \nRun deploy?\n  [No] \"no\""
    );
}

#[test]
fn why_it_asks_is_said_beside_a_page_too() {
    let on_page = FullPrompt::Page("prompt-1.txt".into());
    let long = "Because ".repeat(100);
    for (context, said) in [
        (
            "a.rs has changes.\n\nSave [it](x).\n",
            "a.rs has changes. Save [it] (x).",
        ),
        (&long, &format!("{}…", &long[..199])),
    ] {
        let change = Prompt {
            context: Some(context.into()),
            ..run_tool(None)
        };
        assert_eq!(
            message(&change, &on_page, MessagePlace::Beside, true).text,
            format!("deploy: {said}\nprompt-1.txt is open and has all of it.\nRun deploy?")
        );
    }
}

#[test]
fn options_to_write_are_in_the_message_where_all_fit() {
    let months: Vec<String> = (1..=9).map(|n| format!("Month {n}")).collect();
    let months: Vec<&str> = months.iter().map(String::as_str).collect();
    let write = "\n  [Write an answer] write\n  [Cancel] dismiss";
    check(
        &question(select(&months)),
        &format!("deploy: One of: {}\nGo on?{write}", months.join(" | ")),
    );
    check(
        &Prompt {
            context: Some("Two ways.".into()),
            ..question(select(&["a\nb", "[c](d)"]))
        },
        &format!("deploy: Two ways.\nOne of: a␊b | [c] (d)\nGo on?{write}"),
    );
    // `deploy: `, `One of: `, ` | `, a line's end and the text are 26 units, and the command has to fit too.
    let most = room(&question(AnswerType::text())) - 26;
    for (units, fits) in [(most, true), (most + 1, false)] {
        let options = ["x".repeat(500), "y".repeat(units - 500)];
        let prompt = question(select(&[&options[0], &options[1]]));
        let shown = message(&prompt, &FullPrompt::Inline, MessagePlace::Beside, true).text;
        assert!(fits_inline(&prompt));
        assert_eq!(shown.contains("One of"), fits, "{units}");
        if !fits {
            assert_eq!(shown, "deploy: Go on?");
        }
    }
}

#[test]
fn options_that_are_no_titles_are_written() {
    let nine = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    for (options, written) in [
        (&nine[..8], false),
        (&nine, true),
        (&["a", &"x".repeat(60)], false),
        (&["a", &"x".repeat(61)], true),
        (&["a", " a"], true),
        (&["a", "two\nlines"], true),
        (&["a", ""], true),
        (&["Later", "Cancel"], false),
        (&["Go on", "Dismiss the question"], true),
    ] {
        let prompt = question(select(options));
        assert_eq!(needs_writing(&prompt), written, "{options:?}");
    }
    let default = Prompt {
        default: Some(json!("9")),
        ..question(select(&nine))
    };
    assert_eq!(
        shown(&default, &FullPrompt::Inline, false),
        "deploy: One of: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9\nGo on?\nAnswer it with the command aside.server.answer \
         {\"promptId\":\"p1\",\"answer\":\"…\"}.\n  [Use \"9\"] \"9\"\
         \n  [Write an answer] write\n  [Cancel] dismiss"
    );
}

#[test]
fn only_a_title_that_was_offered_answers() {
    let question = Prompt {
        remember: true,
        ..question(AnswerType::Boolean)
    };
    let message = message(&question, &FullPrompt::Inline, MessagePlace::Beside, true);
    let says = |reply| match meaning(&message, reply) {
        ReplyMeaning::Write => "write".to_owned(),
        ReplyMeaning::Review | ReplyMeaning::Later => "open".to_owned(),
        ReplyMeaning::Settles(PromptAnswer::Answer {
            value, remember, ..
        }) => format!("{} {remember}", value.0),
        ReplyMeaning::Settles(other) => format!("{other:?}"),
    };
    let item = |title: &str| {
        Ok(Some(MessageActionItem {
            title: title.into(),
            properties: std::collections::HashMap::new(),
        }))
    };
    assert_eq!(says(item("Yes")), "true false");
    assert_eq!(says(item("No, for this turn")), "false true");
    assert_eq!(says(Ok(None)), "Cancel");
    for unknown in ["yes", "Yes ", "true", "", "Run once"] {
        assert_eq!(
            says(item(unknown)),
            "null false",
            "{unknown:?}: fits nothing"
        );
    }
    assert_eq!(
        says(Err("no such method".into())),
        "Failed(\"no such method\")"
    );
}

#[test]
fn no_text_becomes_a_link() {
    let link = Prompt {
        context: Some("see [this](command:evil)".into()),
        text: "[Go](command:on)?".into(),
        label: "[a](b)".into(),
        ..question(AnswerType::Boolean)
    };
    check(
        &link,
        "[a] (b): see [this] (command:evil)\n[Go] (command:on)?\n  [Yes] true\n  [No] false",
    );
}

#[test]
fn over_the_text_no_action_lets_anything_run_or_answers_a_question() {
    let review = "\n  [Review…] review\n  [No]";
    let command = run_tool(Some(Preview::Command {
        text: "make".into(),
        cwd: "/w".into(),
    }));
    assert_eq!(
        over(&command, &FullPrompt::OnReview),
        format!("deploy: in /w: make\nRun deploy?{review} \"no\"")
    );
    let change = run_tool(Some(Preview::Diff {
        uri: "a.txt".into(),
        version: None,
        old: "one\n".into(),
        new: "two\n".into(),
    }));
    assert_eq!(
        over(&change, &FullPrompt::OnReview),
        format!("deploy: a.txt\n(Review… shows all of it.)\nRun deploy?{review} \"no\"")
    );
    let deliver = prompt(PromptKind::DeliverResult, AnswerType::Boolean);
    assert_eq!(
        over(&deliver, &FullPrompt::OnReview),
        format!("deploy: Go on?{review} false")
    );
    // Without pages the message has all of it, or there is nothing but a no.
    for (whole, actions) in [
        (FullPrompt::Inline, format!("{review} \"no\"")),
        (FullPrompt::Nowhere, "\n  [No] \"no\"".to_owned()),
    ] {
        let message = message(&command, &whole, MessagePlace::Over, false);
        let shown = written(&message);
        assert!(shown.ends_with(&format!("Run deploy?{actions}")), "{shown}");
    }
    for (asks, does) in [
        (question(AnswerType::Boolean), "review"),
        (question(select(&["one", "two"])), "review"),
        (question(AnswerType::text()), "write"),
    ] {
        let actions = format!("\n  [Later] later\n  [Answer…] {does}");
        assert_eq!(
            over(&asks, &FullPrompt::OnReview),
            format!("deploy: Go on?{actions}")
        );
        // Nor without pages.
        for whole in [FullPrompt::Inline, FullPrompt::Nowhere] {
            let message = message(&asks, &whole, MessagePlace::Over, false);
            let shown = written(&message);
            assert!(shown.ends_with(&format!("Go on?{actions}")), "{shown}");
        }
    }
    let long = Prompt {
        context: Some("why ".repeat(400)),
        ..question(AnswerType::Boolean)
    };
    let shown = over(&long, &FullPrompt::OnReview);
    assert!(
        shown.contains("…\n(Answer… shows all of it.)\nGo on?"),
        "{shown}"
    );
}

#[test]
fn the_page_of_a_question_has_all_of_it_and_every_answer() {
    let boolean = Prompt {
        context: Some("Tests pass.\nNobody looked.".into()),
        default: Some(json!(false)),
        remember: true,
        optional: true,
        ..question(AnswerType::Boolean)
    };
    assert_eq!(
        review_page(&boolean).text,
        "deploy\n\nTests pass.\nNobody looked.\n\nGo on?\n\n\
         Answer with a code action on this page, or with one of these commands:\n\n\
         \x20 Yes: aside.server.answer {\"promptId\":\"p1\",\"answer\":true}\n\
         \x20 No (default): aside.server.answer {\"promptId\":\"p1\",\"answer\":false}\n\
         \x20 Yes, for this turn: aside.server.answer {\"promptId\":\"p1\",\"answer\":true,\"remember\":true}\n\
         \x20 No, for this turn: aside.server.answer {\"promptId\":\"p1\",\"answer\":false,\"remember\":true}\n\
         \x20 Leave it out: aside.server.answer {\"promptId\":\"p1\",\"answer\":\"\"}\n\
         \x20 Dismiss the question: aside.server.answer {\"promptId\":\"p1\",\"dismiss\":true}\n"
    );
    let text = Prompt {
        default: Some(json!("main")),
        ..question(AnswerType::text())
    };
    assert_eq!(
        how_to_answer(&text),
        "Answer “Go on?” with one of these commands.\n\
         Your answer: aside.server.answer {\"promptId\":\"p1\",\"answer\":\"…\"}\n\
         Use \"main\" (default): aside.server.answer {\"promptId\":\"p1\",\"answer\":\"main\"}\n\
         Dismiss the question: aside.server.answer {\"promptId\":\"p1\",\"dismiss\":true}"
    );
}

#[test]
fn a_message_over_the_text_that_is_sent_away_answers_nothing() {
    for (prompt, whole) in [
        (question(AnswerType::Boolean), FullPrompt::Inline),
        (run_tool(None), FullPrompt::OnReview),
    ] {
        let message = message(&prompt, &whole, MessagePlace::Over, true);
        let meaning = meaning(&message, Ok(None));
        assert!(matches!(meaning, ReplyMeaning::Later), "{message:?}");
    }
}

#[test]
fn the_page_to_review_has_all_of_it_and_every_answer() {
    let command = run_tool(Some(Preview::Command {
        text: "make\nmake install".into(),
        cwd: "/w".into(),
    }));
    assert_eq!(
        review_page(&command).text,
        "deploy\n\nin /w:\n\nmake\nmake install\n\nRun deploy?\n\n\
         Answer with a code action on this page, or with one of these commands:\n\n\
         \x20 No: aside.server.answer {\"promptId\":\"p1\",\"answer\":\"no\"}\n\
         \x20 Run once: aside.server.answer {\"promptId\":\"p1\",\"answer\":\"once\"}\n\
         \x20 Run in this turn: aside.server.answer {\"promptId\":\"p1\",\"answer\":\"turn\"}\n\
         \x20 Always: aside.server.answer {\"promptId\":\"p1\",\"answer\":\"always\"}\n"
    );
    assert_eq!(
        how_to_answer(&prompt(PromptKind::DeliverResult, AnswerType::Boolean)),
        "Answer “Go on?” with one of these commands.\n\
         No: aside.server.answer {\"promptId\":\"p1\",\"answer\":false}\n\
         Yes: aside.server.answer {\"promptId\":\"p1\",\"answer\":true}"
    );
}

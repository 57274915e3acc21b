use std::time::Duration;

use aside_test_table::rows;

use super::{
    super::{
        record::{Entry, Record},
        replay,
    },
    text::WIDTH,
    *,
};

mod order;

/// The page of a turn with these lines in its log, which have neither number nor checksum.
fn render(log: &str) -> String {
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let record = |line: &str| Record {
        seq: 1,
        time: Duration::from_secs(1_735_787_045),
        turn: Some("t1".into()),
        entry: Entry::read(&serde_json::from_str(line).expect(line))
            .expect(line)
            .expect(line),
    };
    let records: Vec<Record> = lines.map(record).collect();
    let page = markdown("Tidy\nup", 1, &replay::turns(&records), PageReader::Viewer);
    let lines: Vec<&str> = page.text.lines().collect();
    let heads = page.turn_lines.iter().map(|line| lines[*line]);
    assert!(heads.eq(["## Turn 1 (2025-01-02T03:04)"]), "{lines:?}");
    page.text
}

/// The log as markdown, after the headings.
#[track_caller]
fn check(log: &str, expected: &str) {
    let page = render(log);
    let body = page
        .strip_prefix("# Tidy up\n\n## Turn 1 (2025-01-02T03:04)\n")
        .expect(&page);
    assert_eq!(body.trim(), expected.trim(), "\n{page}");
}

/// A table of fields of a line, and of what the page says, whose line breaks are `\n`.
fn table(rows_of: &str) -> impl Iterator<Item = (&str, String)> {
    let rows = rows::<2>(rows_of).into_iter();
    rows.map(|[fields, page]| (fields, page.replace("\\n", "\n")))
}

#[test]
fn a_whole_turn() {
    check(
        include_str!("whole_turn.jsonl"),
        include_str!("whole_turn.md"),
    );
}

const SURE: &str = r#"
    {"type":"inquiry_request","id":"i","call":0,"source":{"type":"assistant"},"question":{"id":"q","text":"Sure?","answer_type":{"type":"boolean"}}}"#;
const YES: &str = r#"
    {"type":"inquiry_response","id":"i","call":0,"outcome":"answered","answer":true,"by":"user"}"#;

#[test]
fn who_answered_and_who_did_not() {
    let answers = table(
        r#"
        "outcome":"answered","answer":"two\nlines","by":"user"          | > **The user answered:**\n>\n> two\n> lines
        "outcome":"answered","answer":true,"by":"user","remember":true  | > **The user answered:** (for the rest of the turn) true
        "outcome":"answered","answer":false,"by":"assistant"            | > **The model answered:** false
        "outcome":"answered","answer":true,"by":"config"                | > **The configuration answered:** true
        "outcome":"answered","answer":true,"by":"remembered"            | > **Remembered answer of the user:** true
        "outcome":"answered","answer":true,"by":"default"               | > **The default answered:** true
        "outcome":"redacted"                                            | > **The user answered** with a secret, which is not on record.
        "outcome":"cancelled","reason":"user","note":"ask Ann"          | > **Not answered:** the user declined. “ask Ann”
        "outcome":"cancelled","reason":"no_prompt_backend"              | > **Not answered:** only a person may answer, and nobody was there.
        "outcome":"cancelled","reason":"backend_error","why":"timed out" | > **Not answered:** it could not be asked. “timed out”
        "outcome":"cancelled","reason":"eclipse"                        | > **Not answered:** eclipse.
        "#,
    );
    for (fields, expected) in answers {
        check(
            &format!("{SURE}\n{{\"type\":\"inquiry_response\",\"id\":\"i\",\"call\":0,{fields}}}"),
            &format!("**The assistant asks:** Sure?\n\n{expected}\n\n**Interrupted.**"),
        );
    }
}

const SH: &str = r#"
    {"type":"tool_call","call":0,"id":"","name":"sh","arguments":"{}"}"#;
const GO: &str = r#"
    {"type":"user_message","text":"go"}"#;
const DELIVER: &str = r#"
    {"type":"prompt_opened","prompt":"p1","call":0,"kind":"deliverResult"}"#;
const USAGE: &str =
    r#""usage":{"input":10,"cache_read":90,"cache_write":5,"output":7,"cost":0.0123}"#;

#[test]
fn permissions_refusals_and_ends() {
    let ends = table(
        r#"
        "outcome":"declined"                  | > **The user said no.**
        "outcome":"declined","note":"not now" | > **The user said no:** “not now”
        "outcome":"withdrawn"                 | > **Withdrawn.**
        "outcome":"failed","why":"gone"       | > **It could not be shown:** gone
        "#,
    );
    for (fields, expected) in ends {
        check(
            &format!("{SH}{DELIVER}\n{{\"type\":\"prompt_closed\",\"prompt\":\"p1\",{fields}}}"),
            &format!(
                "**sh** `{{}}`\n\n*Let the model see the result of sh?*\n\n{expected}\n\n**Interrupted.**"
            ),
        );
    }
    let refusal = r#"{"tool":"sh","arguments":{},"reason":"needs_approval","text":"No."}"#;
    for sentence in [
        "100 steps are over; raise the limit.",
        "100 steps are over; raise the limit",
    ] {
        let error = format!(r#"{{"code":"limit","message":"{sentence}"}}"#);
        check(
            &format!(
                r#"{GO}
                {{"type":"turn_end","outcome":"failed","error":{error},{USAGE},"refusals":[{refusal}]}}"#
            ),
            "> **User:** go\n\n*Refused: sh, nobody was there to approve it.*\n\n\
             **Failed**: 100 steps are over; raise the limit. Tokens: 105 in (90 from cache), 7 out, $0.0123.",
        );
    }
    check(
        &format!(
            r#"{GO}{DELIVER}
            {{"type":"turn_end","outcome":"interrupted",{USAGE}}}"#
        ),
        "> **User:** go\n\n*Let the model see the result of a tool?*\n\n\
         **Interrupted**. Tokens: 105 in (90 from cache), 7 out, $0.0123.\n\nStill open: `p1`.",
    );
}

#[test]
fn a_question_of_the_assistant_is_shown_once() {
    let call = r#"{"type":"tool_call","call":0,"id":"","name":"ask_user","arguments":"{\"question\": \"Sure?\"}"}"#;
    let ok = r#"{"type":"tool_result","call":0,"status":"ok","content":"true"}"#;
    let error = r#"{"type":"tool_result","call":0,"status":"error","content":"no"}"#;
    let pair = |who| format!("**{who} asks:** Sure?\n\n> **The user answered:** true");
    let raw = |word, content| {
        format!(
            "<details><summary>ask_user: {word}</summary>\n\n```text\n{content}\n```\n\n</details>"
        )
    };
    check(
        &format!("{call}{SURE}{YES}\n{ok}"),
        &format!("{}\n\n**Interrupted.**", pair("The assistant")),
    );
    check(
        &format!("{call}{SURE}{YES}\n{error}"),
        &format!(
            "{}\n\n{}\n\n**Interrupted.**",
            pair("The assistant"),
            raw("error", "no")
        ),
    );
    let by_tool = SURE.replace(
        r#"{"type":"assistant"}"#,
        r#"{"type":"tool","name":"ask_user"}"#,
    );
    check(
        &format!("{call}{by_tool}{YES}\n{ok}"),
        &format!(
            "**ask_user** `{{\"question\": \"Sure?\"}}`\n\n{}\n\n{}\n\n**Interrupted.**",
            pair("ask_user"),
            raw("result", "true")
        ),
    );
}

#[test]
fn what_took_no_tokens_says_nothing_of_them() {
    check(
        &format!("{GO}\n{}", r#"{"type":"turn_end","outcome":"cancelled"}"#),
        "> **User:** go\n\n**Cancelled**.",
    );
}

#[test]
fn what_may_run_is_asked_as_it_was() {
    for (title, expected) in [("Run `echo hi`", "*Run `echo hi`?*"), ("", "*Run sh?*")] {
        check(
            &format!(
                r#"{SH}
                {{"type":"prompt_opened","prompt":"p1","call":0,"kind":"runTool","hash":"h","title":"{title}"}}"#
            ),
            &format!("**sh** `{{}}`\n\n{expected}\n\n**Interrupted.**\n\nStill open: `p1`."),
        );
    }
}

#[test]
fn long_output_is_cut() {
    let lines: String = (1..=50)
        .map(|line| format!("{line} {}\n", "x".repeat(300)))
        .collect();
    let content = serde_json::to_string(&lines).unwrap();
    let page = render(&format!(
        r#"{{"type":"tool_result","call":0,"status":"error","content":{content}}}"#
    ));
    assert!(page.contains("<details><summary>a tool: error</summary>"));
    assert!(page.contains("\n… 30 more lines\n"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= WIDTH + 1));
}

#[test]
fn terminal_escapes_are_stripped_and_other_hidden_characters_shown() {
    for (text, expected) in [
        ("plain ü\ttext\n", "plain ü\ttext\n"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}after", "after"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}Pq\u{1b}x\u{1b}\\after", "after"),
        ("a\u{1b}", "a"),
        ("\u{1b}[", ""),
        ("\u{1b}]never ends", ""),
        ("a\rb\u{8}\u{0}\u{9b}c", "a␍b␈␀<U+009B>c"),
        ("\u{1b}c\u{1b}7after", "after"),
    ] {
        assert_eq!(plain(text), expected, "{text:?}");
    }
}

#[test]
fn nobody_s_words_pass_for_the_user_s() {
    check(
        &format!(
            "{GO}\n{}",
            r###"{"type":"text","text":"Done.\n\n> **User:** deploy it\n\n## Turn 2 (2025-01-02T03:05)"}"###
        ),
        "> **User:** go\n\nDone.\n\n\\> **User:** deploy it\n\n#### Turn 2 (2025-01-02T03:05)\n\n**Interrupted.**",
    );
    check(
        &format!(
            "{GO}\n{}",
            r#"{"type":"text","text":"pay \u202eeb\u2066 me"}"#
        ),
        "> **User:** go\n\npay <U+202E>eb<U+2066> me\n\n**Interrupted.**",
    );
}

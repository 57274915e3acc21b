mod broken;
mod demo;
mod said;
mod stage;

use self::stage::RehearsalStage;
use super::Rehearsal;
use crate::Provider;

/// Plays a script through a conversation and compares the response of each request.
///
/// Lines of the conversation: `user: …` begins a turn; `user a.txt b.png: …` attaches these files. `steer: …` and
/// `directive: …` add messages, and `result <id>: …` adds the result of a call. `send` and `forced` send the turn's
/// request. `ask in_band: <tool> <id>: <question>` (several joined by ` + `), `ask boolean: …` and `ask text: …` (by
/// schema) make an inquiry.
#[track_caller]
fn check(script: &str, conversation: &str, expected: &str) {
    let rehearsal = Rehearsal::parse("test.toml", script).unwrap();
    let mut stage = RehearsalStage::new(rehearsal);
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect()
    };
    for line in lines(conversation) {
        stage.line(&line);
    }
    assert_eq!(lines(&stage.seen).join("\n"), lines(expected).join("\n"));
}

#[test]
fn replies_play_once_in_order() {
    check(
        r#"
        [[reply]]
        say = [{ text = "One." }]
        [[reply]]
        times = 2
        say = [{ text = "Two." }]
        [[reply]]
        say = [{ text = "Three." }]
        "#,
        "user: count
         send
         send
         send
         send
         send",
        r#"
        says|One.| (2/1) Stop
        says|Two.| (1/1) Stop
        says|Two.| (1/1) Stop
        says|Three.| (1/2) Stop
        Other: the script test.toml has no reply left for this request (turn 1, step 5, last user message: "count"); add a [[reply]] that matches it
        "#,
    );
}

#[test]
fn a_reply_may_repeat() {
    check(
        r#"
        [[reply]]
        repeat = true
        say = [{ text = "Again." }]
        "#,
        "user: count
         send
         send",
        "says|Again.| (2/2) Stop
         says|Again.| (2/2) Stop",
    );
}

#[test]
fn items_are_split_into_pieces() {
    check(
        r#"
        [[reply]]
        say = [
            { reasoning = "hmm", pieces = 9 },
            { text = "añb漢c", pieces = 2 },
            { split = ["x", "", "yz"] },
            { call = "t", arguments = { n = 1 }, split = ['{"n"', ':1}'] },
        ]
        "#,
        "user: go
         send",
        r#"thinks|h|m|m| says|añ|b漢c| says|x||yz| call_1 t|{"n"|:1}| (1/5) ToolUse"#,
    );
}

#[test]
fn parallel_calls_have_distinct_ids() {
    check(
        r#"
        [[reply]]
        say = [
            { call = "read_file", arguments = { path = "a", lines = [1, 2.5], when = 2024-01-02 } },
            { call = "read_file", id = "mine", raw_arguments = '{"path' },
            { call = "list_files" },
        ]
        [[reply]]
        say = [{ call = "list_files" }]
        "#,
        "user: go
         send
         result call_1: x
         send",
        r#"
        call_1 read_file|{"lines":[1,2.5],"path":"a","when":"2024-01-02"}| mine read_file|{"path| call_2 list_files|{}| (1/14) ToolUse
        call_4 list_files|{}| (1/1) ToolUse
        "#,
    );
}

#[test]
fn replies_match_turn_and_step() {
    check(
        r#"
        [[reply]]
        when = { turn = 2, step = 2 }
        say = [{ text = "second of the second" }]
        [[reply]]
        when = { turn = 2 }
        say = [{ text = "first of the second" }]
        [[reply]]
        repeat = true
        say = [{ text = "other" }]
        "#,
        "user: a
         send
         send
         user: b
         send
         send",
        "says|other| (1/2) Stop
         says|other| (2/2) Stop
         says|first of the second| (1/5) Stop
         says|second of the second| (5/5) Stop",
    );
}

#[test]
fn replies_match_the_last_results() {
    check(
        r#"
        [[reply]]
        when = { step = 1 }
        say = [{ call = "a" }, { call = "b" }]
        [[reply]]
        when = { result = { tool = "a", contains = "good" } }
        say = [{ text = "not this one: a was bad" }]
        [[reply]]
        when = { result = { tool = "b", contains = "good" } }
        say = [{ call = "c" }]
        [[reply]]
        when = { result = { tool = "b" } }
        say = [{ text = "not this one: b is over" }]
        [[reply]]
        when = { result = { contains = "/^f.ne$/" } }
        say = [{ text = "ends" }]
        "#,
        "user: go
         send
         result call_1: bad
         result call_2: good
         send
         result call_3: fine
         send",
        "call_1 a|{}| call_2 b|{}| (1/1) ToolUse
         call_3 c|{}| (2/1) ToolUse
         says|ends| (1/1) Stop",
    );
}

#[test]
fn replies_match_forced_tools_and_directives() {
    check(
        r#"
        [[reply]]
        when = { forced = true }
        fault = { status = 400, text = "tool_choice is not supported" }
        [[reply]]
        when = { directive = "must call" }
        say = [{ call = "t" }]
        [[reply]]
        when = { forced = false }
        say = [{ text = "no" }]
        "#,
        "user: go
         forced
         send
         directive: You must call t.
         send",
        "Refused(ForcedTool): rehearsal/test.toml answered with status 400: tool_choice is not supported
         says|no| (1/1) Stop
         call_1 t|{}| (4/1) ToolUse",
    );
}

#[test]
fn inquiries_are_answered_by_question() {
    check(
        r#"
        [[reply]]
        say = [{ text = "not for inquiries" }]
        [[reply]]
        answers = { "Which line" = 12, "Which line of b" = 13, overwrite = true }
        [[reply]]
        answer = "all"
        "#,
        "ask in_band: edit_file tool_call.edit_file.c1.occurrence.1 Which line? + edit_file tool_call.edit_file.c2.occurrence.1 Which line of b? + write_file tool_call.write_file.c3.overwrite.1 Sure? + other id Unknown?
         ask in_band: edit_file id Which line?
         ask in_band: edit_file id Which line?",
        r#"
        answer_1 answer_inquiry|{"inquiry_id":"tool_call.edit_file.c1.occurrence.1","answer":"12"}| answer_2 answer_inquiry|{"inquiry_id":"tool_call.edit_file.c2.occurrence.1","answer":"13"}| answer_3 answer_inquiry|{"inquiry_id":"tool_call.write_file.c3.overwrite.1","answer":"true"}| (104/50) ToolUse
        answer_4 answer_inquiry|{"inquiry_id":"id","answer":"all"}| (21/9) ToolUse
        Other: the script test.toml has no reply left for this request (turn 0, step 1, inquiry id, last user message: ""); add a [[reply]] that matches it
        "#,
    );
}

#[test]
fn schema_inquiries_are_answered_with_json() {
    check(
        r"
        [[reply]]
        repeat = true
        answer = true
        ",
        "ask boolean: t id Sure?
         ask text: t id Sure?",
        r#"
        says|{"answer":true}| (17/4) Stop
        says|{"answer":"true"}| (17/5) Stop
        "#,
    );
}

#[test]
fn inquiries_can_be_answered_invalidly() {
    check(
        r#"
        [[reply]]
        when = { inquiry = "Sure?" }
        say = [{ text = "I would rather not." }]
        [[reply]]
        when = { inquiry = true }
        say = [{ call = "other_tool" }]
        "#,
        "ask in_band: t id Where?
         ask in_band: t id Sure?",
        "call_1 other_tool|{}| (17/1) ToolUse
         says|I would rather not.| (17/5) Stop",
    );
}

#[test]
fn statuses_become_classified_failures() {
    let statuses = [
        401, 403, 404, 402, 429, 503, 529, 408, 500, 502, 504, 400, 418,
    ];
    let script: String = statuses
        .iter()
        .map(|status| format!("[[reply]]\nfault.status = {status}\n"))
        .collect();
    check(
        &script,
        &format!("user: go\n{}", "send\n".repeat(statuses.len())),
        "Auth: rehearsal/test.toml answered with status 401: the key or the model is rejected; choose another with --model
         Auth: rehearsal/test.toml answered with status 403: the key or the model is rejected; choose another with --model
         Auth: rehearsal/test.toml answered with status 404: the key or the model is rejected; choose another with --model
         Money: rehearsal/test.toml answered with status 402: there is no credit left; add some
         Rate: rehearsal/test.toml answered with status 429: too many requests; wait a little
         Overload: rehearsal/test.toml answered with status 503: it is overloaded; try again later
         Overload: rehearsal/test.toml answered with status 529: it is overloaded; try again later
         Transient: rehearsal/test.toml answered with status 408: the server failed; try again
         Transient: rehearsal/test.toml answered with status 500: the server failed; try again
         Transient: rehearsal/test.toml answered with status 502: the server failed; try again
         Transient: rehearsal/test.toml answered with status 504: the server failed; try again
         Other: rehearsal/test.toml answered with status 400: the request is not accepted; change it
         Other: rehearsal/test.toml answered with status 418: the request is not accepted; change it",
    );
}

#[test]
fn retry_after_is_read() {
    check(
        r#"
        [[reply]]
        fault = { status = 429, retry_after = 2.5, text = "slow down" }
        "#,
        "user: go
         send",
        "Rate after 2.5s: rehearsal/test.toml answered with status 429: slow down",
    );
}

#[test]
fn streams_can_break_or_stall() {
    check(
        r#"
        [[reply]]
        say = [{ text = "abc", pieces = 3 }]
        fault.cut_after = 3
        [[reply]]
        say = [{ text = "abc" }]
        fault.cut_after = 99
        [[reply]]
        say = [{ text = "abc" }]
        fault.stall = true
        [[reply]]
        say = [{ text = "abc", pieces = 3 }]
        fault = { stall = true, cut_after = 2 }
        "#,
        "user: go
         send
         send
         send
         send",
        "says|a|bTransient: the connection to rehearsal/test.toml broke; try again
         says|abc| Transient: the connection to rehearsal/test.toml broke; try again
         says|abc| waits
         says|awaits",
    );
}

#[test]
fn delays_apply_to_the_response_or_each_piece() {
    check(
        r#"
        [[reply]]
        delay_ms = 3_600_000
        say = [{ text = "abc" }]
        [[reply]]
        piece_delay_ms = 3_600_000
        say = [{ text = "abc" }]
        "#,
        "user: go
         send
         send",
        "waits
         waits",
    );
}

#[test]
fn finish_follows_the_script() {
    check(
        r#"
        [[reply]]
        finish = "refusal"
        [[reply]]
        say = [{ text = "a" }, { call = "t", raw_arguments = '{"pa' }]
        truncate_last = true
        [[reply]]
        say = [{ text = "a" }]
        truncate_last = true
        finish = "content_filter"
        usage = { input = 7, output = 9 }
        "#,
        "user: go
         send
         send
         send",
        r#"
        (1/0) Refusal
        says|a| call_1 t|{"pa… (1/2) MaxTokens
        says|a… (7/9) ContentFilter
        "#,
    );
}

#[test]
fn abilities_follow_the_script() {
    let model = |script| Rehearsal::parse("x", script).unwrap().model().clone();
    let script = "[model]\nforces_tools = false\nforces_while_reasoning = false\nreasoning = true\n\
                  reasoning_switches = false\nimages = false\ndocuments = false\ncontext_window = 8000\n[[reply]]";
    let told = model(script);
    assert_eq!(
        (
            told.id.as_str(),
            told.forces_tools,
            told.forces_while_reasoning,
            told.reasoning
        ),
        ("rehearsal/x", false, false, true)
    );
    assert_eq!(
        (told.reasoning_switches, told.context_window),
        (false, Some(8000))
    );
    assert_eq!((told.images, told.documents), (false, false));
    let usual = aside_turn::rules::Model {
        id: "rehearsal/x".into(),
        ..Default::default()
    };
    assert_eq!(model("[[reply]]"), usual);
}

#[cfg(unix)]
#[test]
fn missing_script_is_named() {
    let error = Rehearsal::open("no/such.toml").unwrap_err();
    assert_eq!(
        error,
        "the rehearsal script no/such.toml cannot be read (No such file or directory (os error 2)); give the \
         path of a script, or one of rehearsal/demo and rehearsal/hello"
    );
}

#[test]
fn scripts_are_read_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    std::fs::write(&path, "[[reply]]").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        Rehearsal::open(path).unwrap().model().id,
        format!("rehearsal/{path}")
    );
    std::fs::write(path, [0xff]).unwrap();
    assert!(Rehearsal::open(path).unwrap_err().contains("valid UTF-8"));
}

#[test]
fn readme_example_plays() {
    let readme = include_str!("README.md");
    let example = readme
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    check(
        example,
        "user: Tidy the notes
         send
         result call_1: milk
         result call_2: bread
         send
         send
         ask in_band: edit_file tool_call.edit_file.call_3.occurrence.1 Which place?
         result call_3: changed
         send",
        r#"
        says|I re|ad b|oth.| call_1 read_file|{"path":"notes.md"}| call_2 read_file|{"path":"todo.md"}| (4/13) ToolUse
        Rate after 100ms: rehearsal/test.toml answered with status 429: too many requests; wait a little
        call_3 edit_file|{"new_text":"- oat milk","old_text":"- milk","path":"todo.md"}| (3/16) ToolUse
        answer_1 answer_inquiry|{"inquiry_id":"tool_call.edit_file.call_3.occurrence.1","answer":"2"}| (46/18) ToolUse
        says|Done.| (2/2) Stop
        "#,
    );
}

#[test]
fn models_are_named_after_their_script() {
    let rehearsal = Rehearsal::open("demo").unwrap();
    assert_eq!(rehearsal.model().id, "rehearsal/demo");
}

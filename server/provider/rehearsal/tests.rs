use std::{fmt::Write, sync::Arc};

use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::{DEMO_PROMPT, Rehearsal, demo_files};
use crate::{
    provider::{Head, Provider, Request},
    turn::{
        Event,
        event::{CallKey, Status},
        inquiry::{Message, Strategy},
        response::{Failure, Kind, Piece, Response, Usage},
        rules::ToolChoice,
        transcript::Transcript,
    },
};

/// Plays a script through a conversation and compares what came of each request.
///
/// Lines of the conversation: `user: …` begins a turn; `steer: …` and `directive: …` add to it; `result <id>: …` is
/// what came of a call; `send` and `forced` send the turn's request; `ask in_band: <tool> <id>: <question>` (several
/// with ` + `) and `ask boolean: …`, `ask text: …` (by schema) make an inquiry.
#[track_caller]
fn check(script: &str, conversation: &str, expected: &str) {
    let rehearsal = Rehearsal::parse("test.toml", script).unwrap();
    let mut stage = Stage::new(rehearsal);
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

/// What is wrong with a script.
#[track_caller]
fn check_broken(script: &str, expected: &str) {
    let error = Rehearsal::parse("test.toml", script).unwrap_err();
    assert_eq!(
        error,
        format!("the rehearsal script cannot be played: test.toml:{expected}")
    );
}

/// A conversation around a rehearsal: keeps its transcript, and writes down what comes.
struct Stage {
    rehearsal: Rehearsal,
    transcript: Transcript,
    calls: Vec<(String, CallKey)>,
    cycle: u32,
    seen: String,
    runtime: tokio::runtime::Runtime,
}

impl Stage {
    fn new(rehearsal: Rehearsal) -> Self {
        Self {
            rehearsal,
            transcript: Transcript::default(),
            calls: Vec::new(),
            cycle: 0,
            seen: String::new(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap(),
        }
    }

    fn line(&mut self, line: &str) {
        let (what, text) = line.split_once(": ").unwrap_or((line, ""));
        let text = text.to_owned();
        match what.split_once(' ').unwrap_or((what, "")) {
            ("user", _) => {
                self.calls.clear();
                self.transcript.push(&Event::TurnStart);
                self.transcript.push(&Event::UserMessage {
                    text,
                    attachments: vec![],
                });
            }
            ("steer", _) => self.transcript.push(&Event::Steer { text }),
            ("directive", _) => self.transcript.push(&Event::Directive { text }),
            ("result", id) => self.result(id, text),
            ("send", _) => self.request(ToolChoice::Auto),
            ("forced", _) => self.request(ToolChoice::Required),
            ("ask", how) => self.ask(how, &text),
            _ => panic!("no such line: {line}"),
        }
    }

    fn result(&mut self, id: &str, content: String) {
        let call = self
            .calls
            .iter()
            .rev()
            .find(|(known, _)| known == id)
            .unwrap()
            .1;
        let status = Status::Ok;
        let result = Event::ToolResult {
            call,
            status,
            content,
            held: false,
            details: None,
        };
        self.transcript.push(&result);
    }

    fn request(&mut self, tool_choice: ToolChoice) {
        self.cycle += 1;
        self.transcript
            .push(&Event::RequestSent { cycle: self.cycle });
        let request = self.make(tool_choice, None, vec![], None);
        let response = self.play(request);
        for item in response.items {
            let opaque = None;
            self.transcript.push(&match item.kind {
                Kind::Reasoning => Event::Reasoning {
                    text: item.text,
                    opaque,
                },
                Kind::ToolCall { id, name } => {
                    let call = CallKey(u32::try_from(self.calls.len()).unwrap());
                    self.calls.push((id.clone(), call));
                    Event::ToolCall {
                        call,
                        id,
                        name,
                        arguments: item.text,
                        opaque,
                    }
                }
                _ => Event::Text {
                    text: item.text,
                    opaque,
                },
            });
        }
        self.transcript.push(&Event::ResponseEnd {
            finish: None,
            usage: Usage::default(),
        });
    }

    fn ask(&mut self, how: &str, questions: &str) {
        let mut text = String::new();
        for question in questions.split(" + ") {
            let mut words = question.splitn(3, ' ');
            let (tool, id, rest) = (
                words.next().unwrap(),
                words.next().unwrap(),
                words.next().unwrap(),
            );
            let _ = write!(
                text,
                "The tool `{tool}` needs an answer before it can go on.\nInquiry {id}\n{rest}\n"
            );
        }
        let schema =
            |of: &str| Some(json!({"type": "object", "properties": {"answer": {"type": of}}}));
        let (strategy, schema) = match how {
            "in_band" => (Strategy::InBand, None),
            "boolean" => (Strategy::Structured, schema("boolean")),
            _ => (Strategy::Structured, schema("string")),
        };
        let messages = vec![Message::User {
            results: vec![],
            text,
        }];
        let request = self.make(ToolChoice::Auto, Some(strategy), messages, schema);
        self.play(request);
    }

    fn make(
        &self,
        tool_choice: ToolChoice,
        inquiry: Option<Strategy>,
        messages: Vec<Message>,
        schema: Option<Value>,
    ) -> Request {
        Request {
            head: Arc::new(Head::default()),
            transcript: self.transcript.fork(),
            messages,
            inquiry,
            tool_choice,
            reasoning: false,
            schema,
        }
    }

    /// Writes a line: fragments apart by `|`, `…` where an item is cut, `waits` where nothing more comes by itself.
    fn play(&mut self, request: Request) -> Response {
        let _guard = self.runtime.enter();
        let mut response = Response::default();
        let line = match self.rehearsal.send(request).now_or_never() {
            None => "waits".to_owned(),
            Some(Err(failure)) => failed(&failure),
            Some(Ok(mut pieces)) => {
                let mut line = String::new();
                loop {
                    match pieces.next().now_or_never() {
                        None => break line + "waits",
                        Some(None) => break line,
                        Some(Some(Err(failure))) => break line + &failed(&failure),
                        Some(Some(Ok(piece))) => {
                            show(&mut line, &piece);
                            response.add(piece);
                        }
                    }
                }
            }
        };
        self.seen += &format!("{}\n", line.trim_end());
        response
    }
}

fn failed(failure: &Failure) -> String {
    let wait = failure
        .retry_after
        .map(|wait| format!(" after {wait:?}"))
        .unwrap_or_default();
    format!("{:?}{wait}: {}", failure.class, failure.text)
}

fn show(line: &mut String, piece: &Piece) {
    let _ = match piece {
        Piece::Open {
            kind: Kind::Text, ..
        } => write!(line, "says"),
        Piece::Open {
            kind: Kind::Reasoning,
            ..
        } => write!(line, "thinks"),
        Piece::Open {
            kind: Kind::ToolCall { id, name },
            ..
        } => write!(line, "{id} {name}"),
        Piece::Delta { text, .. } => write!(line, "|{text}"),
        Piece::Close { complete: true, .. } => write!(line, "| "),
        Piece::Close {
            complete: false, ..
        } => write!(line, "… "),
        Piece::Usage(usage) => write!(line, "({}/{}) ", usage.input, usage.output),
        Piece::Finish(finish) => write!(line, "{finish:?}"),
        other => write!(line, "{other:?}"),
    };
}

#[test]
fn replies_play_in_their_order_and_once() {
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
        Other: no reply of test.toml is left for this request (turn 1, step 5, the user said last: "count"); add a [[reply]] that fits it
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
fn an_item_comes_in_pieces() {
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
fn calls_come_side_by_side_with_ids_of_their_own() {
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
fn a_reply_waits_for_its_turn_and_step() {
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
fn a_reply_may_depend_on_what_the_user_said_last() {
    check(
        r#"
        [[reply]]
        repeat = true
        when = { user = "/(?i)^tidy/" }
        say = [{ text = "tidies" }]
        [[reply]]
        repeat = true
        when = { user = "tests" }
        say = [{ text = "tests" }]
        [[reply]]
        repeat = true
        say = [{ text = "else" }]
        "#,
        "user: Tidy up
         send
         steer: and the tests
         send
         user: thanks
         send",
        "says|tidies| (2/2) Stop
         says|tests| (4/2) Stop
         says|else| (2/1) Stop",
    );
}

#[test]
fn a_reply_may_depend_on_the_last_results() {
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
fn a_reply_may_depend_on_a_forced_tool_and_a_directive() {
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
        "ForcedTool: rehearsal/test.toml answered with status 400: tool_choice is not supported
         says|no| (1/1) Stop
         call_1 t|{}| (4/1) ToolUse",
    );
}

#[test]
fn an_inquiry_is_answered_question_by_question() {
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
        Other: no reply of test.toml is left for this request (turn 0, step 1, inquiry id, the user said last: ""); add a [[reply]] that fits it
        "#,
    );
}

#[test]
fn an_inquiry_by_schema_is_answered_with_json() {
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
fn an_inquiry_may_be_answered_badly() {
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
fn a_status_is_a_failure_of_its_class() {
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
         Transient: rehearsal/test.toml answered with status 408: the server broke; try again
         Transient: rehearsal/test.toml answered with status 500: the server broke; try again
         Transient: rehearsal/test.toml answered with status 502: the server broke; try again
         Transient: rehearsal/test.toml answered with status 504: the server broke; try again
         Other: rehearsal/test.toml answered with status 400: it does not take this request; change it
         Other: rehearsal/test.toml answered with status 418: it does not take this request; change it",
    );
}

#[test]
fn a_server_says_when_to_come_back() {
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
fn a_stream_may_break_or_fall_silent() {
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
fn a_delay_holds_the_response_or_each_piece_up() {
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
fn a_response_ends_as_the_script_says() {
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
fn a_script_says_what_its_model_can_do() {
    let model = |script| Rehearsal::parse("x", script).unwrap().model().clone();
    let script = "[model]\nforces_tools = false\nforces_while_reasoning = false\nreasoning = true\n\
                  reasoning_switches = false\ncontext_window = 8000\n[[reply]]";
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
    let usual = crate::turn::rules::Model {
        id: "rehearsal/x".into(),
        ..Default::default()
    };
    assert_eq!(model("[[reply]]"), usual);
}

#[test]
fn a_broken_script_says_where_and_what() {
    check_broken("", "1: it has no [[reply]]; write at least one");
    check_broken("[[reply]]\nsay = [", "2: unclosed array, expected `]`");
    check_broken(
        "\n[[reply]]\nsya = []",
        "3: unknown key `sya`; did you mean `say`?",
    );
    check_broken(
        "[[reply]]\nsay = [\n  { txt = \"a\" },\n]",
        "3: unknown key `txt`; did you mean `text`?",
    );
    check_broken(
        "[[reply]]\nfinish = \"pausing\"",
        "2: unknown value `pausing`; did you mean `pause`?",
    );
    check_broken(
        "[[reply]]\ntimes = \"2\"",
        "2: invalid type: string \"2\", expected u32",
    );
    check_broken(
        "[[reply]]\n[[reply]]\nonce = true\nrepeat = true",
        "2: `once` and `repeat` contradict each other",
    );
    check_broken("[[reply]]\ntimes = 0", "1: `times` is 0; it is at least 1");
    check_broken(
        "[[reply]]\nsay = [\n  { text = \"a\" },\n  { text = \"a\", call = \"t\" },\n]",
        "4: an item of `say` has one of `text`, `reasoning` and `call`",
    );
    check_broken(
        "[[reply]]\nsay = [{ text = \"ab\", split = [\"a\"] }]",
        "2: the parts of `split` do not add up to the text",
    );
    check_broken(
        "[[reply]]\nwhen.user = \"/(/\"",
        "1: `/(/` is not a regular expression that can be used",
    );
    check_broken(
        "[[reply]]\n\nanswer = [1]",
        "3: an answer is a text, a bool or a whole number",
    );
    check_broken(
        "[[reply]]\nanswer = 1\nwhen.inquiry = false",
        "1: `answer` and `answers` are for inquiries; take `inquiry = false` away",
    );
    check_broken(
        "[[reply]]\nfault.status = 200",
        "1: `fault.status` is 200; it is 400 to 599",
    );
    check_broken(
        "[[reply]]\nfault.text = \"a\"",
        "1: `fault.retry_after` and `fault.text` need a `fault.status`",
    );
    check_broken(
        "[[reply]]\ndelay_ms = 3_600_001",
        "1: `delay_ms` is over an hour (3600000)",
    );
}

#[test]
fn a_script_that_is_not_there_is_named() {
    let error = Rehearsal::open("no/such.toml").unwrap_err();
    assert_eq!(
        error,
        "the rehearsal script no/such.toml cannot be read (No such file or directory (os error 2)); give the \
         path of a script, or one of rehearsal/demo and rehearsal/hello"
    );
}

#[test]
fn a_script_is_read_from_its_file() {
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
fn the_example_of_the_readme_plays() {
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
fn hello_greets_every_time() {
    let mut stage = Stage::new(Rehearsal::open("hello").unwrap());
    for line in ["user: hi", "send", "user: hi", "send"] {
        stage.line(line);
    }
    assert_eq!(stage.seen.matches("says|Hello!").count(), 2);
}

/// Plays the demo with these results of `edit_file` and `ask_user`; the last words.
fn demo(edited: &str, answered: &str) -> String {
    let mut stage = Stage::new(Rehearsal::open("demo").unwrap());
    // The pauses are for people who watch.
    for reply in &mut stage.rehearsal.replies {
        reply.piece_delay = std::time::Duration::ZERO;
    }
    let answered = format!("result call_6: {answered}");
    let edited = format!("result call_5: {edited}");
    let lines = [
        &format!("user: {DEMO_PROMPT}"),
        "send",
        "result call_1: transfer.py",
        "result call_2: transfer.py:13",
        "send",
        "result call_3: attempts = 3",
        "result call_4: wait_seconds = 0",
        "send",
        &edited,
        "send",
    ];
    lines.iter().for_each(|line| stage.line(line));
    for (line, call) in [
        (answered.as_str(), "call_6"),
        ("result call_7: changed", "call_7"),
    ] {
        if stage.calls.iter().any(|(id, _)| id == call) {
            stage.line(line);
            stage.line("send");
        }
    }
    let last = stage.seen.lines().last().unwrap().replace('|', "");
    last.rsplit_once(" (").unwrap().0.to_owned()
}

#[test]
fn the_demo_ends_well_whatever_the_user_does() {
    let chose = |option: &str| format!(r#"{{"answer_type":"select","answer":"{option}"}}"#);
    let nobody = "ask_user cannot run because no interactive client is attached. Do not retry";
    let refused = "edit_file needs approval and no interactive client is attached. Do not retry";
    for (edited, answered, expected) in [
        (
            "changed",
            chose("1 second").as_str(),
            "and wait in between as you said",
        ),
        (
            "changed",
            &chose("5 seconds"),
            "and wait in between as you said",
        ),
        (
            "changed",
            &chose("do not wait"),
            "As you chose, nothing waits",
        ),
        ("changed", nobody, "Nobody was there"),
        (
            "changed",
            "The user dismissed the question.",
            "I left the pause",
        ),
        (refused, "", "I could not change `transfer.py`"),
    ] {
        let words = demo(edited, answered);
        assert!(words.contains(expected), "{edited}, {answered}: {words}");
    }
}

#[test]
fn the_demo_knows_its_files() {
    let file = |name| {
        demo_files()
            .iter()
            .find(|(path, _)| *path == name)
            .unwrap()
            .1
    };
    let lines: Vec<usize> = (1..)
        .zip(file("transfer.py").lines())
        .filter(|(_, line)| line.contains("attempts = 3"))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(lines, [13, 18]);
    assert_eq!(file("settings.toml").matches("wait_seconds = 0").count(), 1);

    let mut stage = Stage::new(Rehearsal::open("demo").unwrap());
    stage.line("ask in_band: edit_file tool_call.edit_file.call_5.occurrence.1 Which one?");
    let answer = r#"{"inquiry_id":"tool_call.edit_file.call_5.occurrence.1","answer":"18"}"#;
    assert!(stage.seen.contains(answer), "{}", stage.seen);
}

#[test]
fn a_model_is_opened_by_its_name() {
    let model = |name| crate::provider::open(name).map(|provider| provider.model().id.clone());
    assert_eq!(model("rehearsal/demo").unwrap(), "rehearsal/demo");
    for name in ["demo", "rehearsal/", "other/model"] {
        assert_eq!(
            model(name).unwrap_err(),
            format!(
                "there is no model \"{name}\": this version has only rehearsal/<script>; give the path of a \
                 script, or rehearsal/demo"
            )
        );
    }
}

//! Conversations that no longer fit the model: they are summarised, and what people answered stays.

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedTokens},
    server::Received,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    column,
    heard::heard,
    live::{LONG, Live},
    refusals::full,
    shown::shown,
    stage::{AUTO, ModelStage, PlayedStep, row, says, stalls},
};
use crate::world::ProgramResult;

/// Tokens that each model may hold here. A quarter is left for an answer, and some more for safety.
const WINDOW: u64 = 40_000;
/// Tokens of a conversation that has to be summarised before the next request.
const FULL: u64 = 30_000;
/// Tokens of a conversation that has room.
const ROOM: u64 = 5_000;
/// An answer that no summary would keep as it is.
const ANSWER: &str = "Port 8080, never 80;  \u{200d}two blanks, \"quotes\" and ünïcode";

fn stage(api: ServedApi, script: Vec<PlayedStep>, more: &str) -> ModelStage {
    let stage = ModelStage::new(api, script);
    let mut config = more.to_owned();
    config += &column::configuration(&stage.server.address().to_string());
    for api in ServedApi::ALL {
        let (provider, model) = column::model(api).split_once('/').unwrap();
        config += &format!(
            "[providers.{provider}.models.\"{model}\"]\ncontext_window = {WINDOW}\ncompaction = false\n"
        );
    }
    stage.world.user_config(&config);
    stage.world.write("a.txt", "A\n");
    stage
}

/// A reply after which the conversation has so many tokens.
fn holding(reply: ModelReply, tokens: u64) -> PlayedStep {
    says(reply.tokens(PlayedTokens {
        input: tokens - 50,
        output: 50,
        ..PlayedTokens::default()
    }))
}

fn reads(number: usize) -> ModelReply {
    let id = format!("call_{number}");
    ModelReply::new(&id)
        .reasoning("I look.")
        .call(&id, "read_file", r#"{"path":"a.txt"}"#)
}

fn asks() -> ModelReply {
    let question = json!({"question": "Which port?"});
    ModelReply::new("ask").call("call_ask", "ask_user", question.to_string())
}

fn summary(number: usize) -> PlayedStep {
    says(ModelReply::new("summary").text(format!("## Goal\nSummary {number}.")))
}

fn asks_for_summary(received: &Received) -> bool {
    heard(received).contains("Reply with the summary alone.")
}

/// Tokens that the conversation has, as each update of a run tells it.
fn contexts(done: &ProgramResult) -> Vec<u64> {
    let lines = done.lines();
    let tokens = |line: &Value| line["params"]["update"]["contextTokens"].as_u64();
    lines.iter().filter_map(tokens).collect()
}

#[test]
fn fifty_summaries_in_one_turn_keep_every_answer_as_it_was_given() {
    row(|api| {
        let mut script = vec![holding(asks(), ROOM)];
        for pass in 0..50 {
            script.extend([
                holding(reads(2 * pass), FULL),
                summary(pass),
                holding(reads(2 * pass + 1), ROOM),
            ]);
        }
        script.push(holding(ModelReply::new("end").text("Done."), ROOM));
        let stage = stage(api, script, "[conversation.limits]\nsteps = 200\n");
        let answer = format!("ask_user.answer={ANSWER}");
        let args = [AUTO.as_slice(), &["--answer", &answer]].concat();
        let done = stage.run("Start the server.", &args).exits(0);
        stage.is_clean();
        let told = shown(&done);
        assert_eq!(told.matches("was summarised").count(), 50, "{told}");

        let requests = stage.requests();
        let mut passes = 0;
        for pair in requests.windows(2) {
            if !asks_for_summary(&pair[0]) {
                continue;
            }
            let after = heard(&pair[1]);
            assert!(
                after.contains(&format!("Summary {passes}.")),
                "{api:?}: {after}"
            );
            assert_eq!(after.matches("Summary ").count(), 1, "{api:?}: {after}");
            assert!(
                after.contains("turn 1: Start the server."),
                "{api:?}: {after}"
            );
            assert!(after.contains(ANSWER), "{api:?}: {after}");
            // The last call and its result are kept as text, and nothing before them.
            assert_eq!(
                after.matches("call read_file").count(),
                1,
                "{api:?}: {after}"
            );
            passes += 1;
        }
        assert_eq!(passes, 50, "{api:?}");
    });
}

#[test]
fn a_new_message_to_a_full_conversation_goes_out_after_the_summary_and_the_ledger() {
    row(|api| {
        let first = vec![holding(ModelReply::new("first").text("Noted."), FULL)];
        let stage = stage(api, first, "");
        stage.run("Use port 8080.", &AUTO).exits(0);
        stage.goes_on(vec![
            summary(1),
            holding(ModelReply::new("second").text("It runs."), ROOM),
        ]);
        let done = stage.run("Now start it.", &["--continue"]).exits(0);
        stage.is_clean();
        let expected = "\
notice The conversation has 30000 of 40000 tokens; it is being summarised.
notice The conversation of 30000 tokens was summarised in about 6; the ledger of what you said, answered and decided goes along, and the log keeps all.
text It runs.
completed It runs.
";
        let told = shown(&done);
        let without_cost = told
            .lines()
            .map(|line| line.split_once(" It cost $").map_or(line, |(line, _)| line));
        assert_eq!(
            without_cost.collect::<Vec<_>>().join("\n") + "\n",
            expected,
            "{api:?}"
        );
        let heard = stage.heard();
        let summary = heard.find("Summary 1.").expect("the summary");
        let ledger = heard.find("- turn 1: Use port 8080.").expect("the ledger");
        assert!(summary < ledger, "{api:?}: {heard}");
        assert!(
            heard.trim_end().ends_with("\nNow start it.")
                || heard.ends_with("user Now start it.\n"),
            "{api:?}: {heard}"
        );
        assert!(!heard.contains("assistant Noted."), "{api:?}: {heard}");
    });
}

#[test]
fn a_person_asks_for_a_summary_and_says_what_it_keeps() {
    row(|api| {
        let first = vec![holding(ModelReply::new("first").text("Noted."), ROOM)];
        let stage = stage(api, first, "");
        stage.run("Use port 8080.", &AUTO).exits(0);
        stage.goes_on(vec![
            summary(1),
            holding(ModelReply::new("second").text("It runs."), ROOM),
        ]);
        let words = "/compact Keep the port.";
        let done = stage.run(words, &["--continue"]).exits(0);
        let told = shown(&done);
        let begin = "notice The conversation has 5000 of 40000 tokens; it is being summarised. You asked it to keep: Keep \
                     the port.\nnotice The conversation of 5000 tokens was summarised in about 6;";
        assert!(told.starts_with(begin), "{api:?}: {told}");
        // Nobody has counted what is left.
        assert_eq!(contexts(&done), [0], "{api:?}: {}", done.stdout);
        let asked = stage.heard();
        assert!(asked.contains("Use port 8080."), "{api:?}: {asked}");
        let words = "The user asks of this summary: Keep the port.";
        assert!(asked.contains(words), "{api:?}: {asked}");

        let done = stage.run("Now start it.", &["--continue"]).exits(0);
        stage.is_clean();
        assert_eq!(contexts(&done), [ROOM], "{api:?}: {}", done.stdout);
        let heard = stage.heard();
        assert!(heard.contains("Summary 1."), "{api:?}: {heard}");
        let message = "- turn 1: Use port 8080.";
        assert!(heard.contains(message), "{api:?}: {heard}");
        // The message that goes out with this request is not told twice.
        assert_eq!(
            heard.matches("Now start it.").count(),
            1,
            "{api:?}: {heard}"
        );
        assert!(!heard.contains("assistant Noted."), "{api:?}: {heard}");
        assert!(!heard.contains("/compact"), "{api:?}: {heard}");
    });
}

#[test]
fn a_summary_that_is_taken_back_leaves_the_next_request_as_it_was_without_it() {
    row(|api| {
        let said = |number: usize| {
            let text = format!("Answer {number}.");
            holding(ModelReply::new(&format!("said_{number}")).text(text), ROOM)
        };
        let run = |undoes: bool| {
            let stage = stage(api, vec![holding(reads(1), ROOM), said(1)], "");
            stage.run("Use port 8080.", &AUTO).exits(0);
            if undoes {
                stage.goes_on(vec![summary(1)]);
                stage.run("/compact", &["--continue"]).exits(0);
                let done = stage.run("/compact undo", &["--continue"]).exits(0);
                let told = shown(&done);
                let expected = "notice The last summary was taken back: the conversation goes on as if it had not been \
                                made. It has about 5000 tokens.\ncompleted";
                assert!(told.starts_with(expected), "{api:?}: {told}");
                assert_eq!(contexts(&done), [ROOM], "{api:?}: {}", done.stdout);
            }
            stage.goes_on(vec![said(2)]);
            stage.run("Now start it.", &["--continue"]).exits(0);
            stage.is_clean();
            stage.heard()
        };
        assert_eq!(run(true), run(false), "{api:?}");
    });
}

#[test]
fn a_summary_is_taken_back_with_what_was_said_since() {
    row(|api| {
        let first = vec![holding(ModelReply::new("first").text("Noted."), ROOM)];
        let stage = stage(api, first, "");
        stage.run("Use port 8080.", &AUTO).exits(0);
        stage.goes_on(vec![
            summary(1),
            holding(reads(1), 1_000),
            holding(ModelReply::new("second").text("It runs."), 1_100),
        ]);
        stage.run("/compact", &["--continue"]).exits(0);
        stage.run("Start it.", &["--continue"]).exits(0);
        let done = stage.run("/compact undo", &["--continue"]).exits(0);
        assert_eq!(contexts(&done), [ROOM + 100], "{api:?}: {}", done.stdout);
        let again = stage.run("/compact undo", &["--continue"]).exits(2);
        let why = "there is no summary to take back; `/compact` makes one";
        assert!(again.stderr.contains(why), "{api:?}: {}", again.stderr);
        stage.goes_on(vec![holding(
            ModelReply::new("third").text("It still runs."),
            ROOM,
        )]);
        stage.run("And now?", &["--continue"]).exits(0);
        stage.is_clean();
        let heard = stage.heard();
        assert!(!heard.contains("Summary 1."), "{api:?}: {heard}");
        let mut rest = heard.as_str();
        for said in [
            "Use port 8080.",
            "Noted.",
            "Start it.",
            "It runs.",
            "And now?",
        ] {
            let at = rest.find(said);
            rest = &rest[at.unwrap_or_else(|| panic!("{api:?}: {said}: {heard}"))..];
        }
    });
}

#[test]
fn an_empty_conversation_has_nothing_to_summarise() {
    let stage = stage(ServedApi::Anthropic, Vec::new(), "");
    let done = stage.run("/compact", &AUTO).exits(2);
    let why = "there is nothing to summarise yet; send a message first";
    assert!(done.stderr.contains(why), "{}", done.stderr);
    let done = stage.run("/compact undo", &AUTO).exits(2);
    let why = "there is no summary to take back; `/compact` makes one";
    assert!(done.stderr.contains(why), "{}", done.stderr);
    stage.is_clean();
}

#[test]
fn what_a_summary_forgot_is_looked_up_in_the_log() {
    row(|api| {
        let looks = json!({"words": "needle", "file": "a.txt"});
        let script = vec![
            holding(reads(1), ROOM),
            holding(reads(2), FULL),
            summary(1),
            holding(
                ModelReply::new("look").call("call_look", "recall", looks.to_string()),
                ROOM,
            ),
            holding(ModelReply::new("end").text("Done."), ROOM),
        ];
        let stage = stage(api, script, "");
        stage.world.write("a.txt", "The needle is 4711.\n");
        stage.run("Look.", &AUTO).exits(0);
        stage.is_clean();
        let heard = stage.heard();
        let found = heard.find("call recall").expect("the call");
        let passages = &heard[found..];
        for part in ["## turn 1, ", "result of read_file", "The needle is 4711."] {
            assert!(passages.contains(part), "{api:?}: {part}: {passages}");
        }
    });
}

#[test]
fn a_kill_amid_the_summary_means_that_nothing_was_summarised() {
    row(|api| {
        let script = vec![holding(reads(1), FULL), stalls()];
        let stage = stage(api, script, "");
        let run = stage.start("Look.", &AUTO);
        assert!(stage.server.wait_for(2, LONG));
        run.signal(Signal::KILL);
        run.end().exits(-1);
        stage.goes_on(vec![
            summary(1),
            holding(ModelReply::new("end").text("Done."), ROOM),
        ]);
        let args = ["run", "--resume", "--output", "jsonl", "--trust"];
        let resumed = stage.command(&[args.as_slice(), &AUTO].concat());
        Live::start(resumed).end().exits(0);
        stage.is_clean();
        let requests = stage.requests();
        assert_eq!(requests.len(), 4, "{api:?}");
        assert_eq!(requests[1].body, requests[2].body, "{api:?}");
    });
}

#[test]
fn another_provider_goes_on_from_the_summary() {
    for (from, to) in [
        (ServedApi::Anthropic, ServedApi::OpenaiResponses),
        (ServedApi::Gemini, ServedApi::Anthropic),
        (ServedApi::Ollama, ServedApi::Gemini),
    ] {
        let script = vec![
            holding(reads(1), FULL),
            summary(1),
            holding(ModelReply::new("end").text("Done."), ROOM),
            holding(ModelReply::new("other").text("Hello."), ROOM),
        ];
        let stage = stage(from, script, "");
        stage.run("Look.", &AUTO).exits(0);
        stage
            .run("And you?", &["--continue", "-m", column::model(to)])
            .exits(0);
        stage.is_clean();
        let heard = stage.heard();
        assert!(heard.contains("Summary 1."), "{from:?} to {to:?}: {heard}");
        assert!(
            heard.contains("- turn 1: Look."),
            "{from:?} to {to:?}: {heard}"
        );
    }
}

#[test]
fn the_first_turn_asks_a_server_of_ones_own_how_much_its_model_takes() {
    let list = json!({"data": [{"id": "qwen3.5:local", "meta": {"n_ctx": WINDOW}}]});
    let script = vec![
        holding(reads(1), FULL),
        summary(1),
        holding(ModelReply::new("end").text("Done."), ROOM),
    ];
    let stage = ModelStage::new(ServedApi::OpenaiChat, script);
    stage.lists(list);
    stage.world.write("a.txt", "A\n");
    let told = shown(&stage.run("Look.", &AUTO).exits(0));
    assert!(told.contains("was summarised"), "{told}");
    stage.is_clean();
    // What it said is kept: the next turn does not ask again.
    let asked = stage.server.received().len();
    stage.goes_on(vec![says(ModelReply::new("more").text("Yes."))]);
    stage.run("And?", &["--continue"]).exits(0);
    assert_eq!(stage.server.received().len(), asked + 1);
}

#[test]
fn a_file_that_is_read_again_unchanged_costs_a_line_until_a_summary_stands_for_it() {
    row(|api| {
        let lines = (1..=200).map(|line| format!("line {line} of it\n"));
        let text: String = lines.collect();
        let script = vec![
            holding(reads(1), ROOM),
            holding(reads(2), ROOM),
            // What is read before a summary stands behind it.
            holding(reads(3), FULL),
            summary(1),
            holding(reads(4), ROOM),
            holding(ModelReply::new("end").text("Done."), ROOM),
        ];
        let stage = stage(api, script, "");
        stage.world.write("a.txt", &text);
        stage.run("Look.", &AUTO).exits(0);
        let times = |text: &str| -> Vec<usize> {
            let requests = stage.requests();
            let heard = requests.iter().map(|request| heard(request));
            heard.map(|heard| heard.matches(text).count()).collect()
        };
        let line = "[`a.txt` is as you read it in turn 1: the result of that call of read_file has lines 1 to 200 of \
                    200; where a summary stands for it now, read it again]";
        assert_eq!(times("line 200 of it"), [0, 1, 1, 1, 1, 2], "{api:?}");
        assert_eq!(times(line), [0, 0, 1, 1, 0, 0], "{api:?}");
        stage
            .world
            .write("a.txt", &text.replace("line 1 ", "line one "));
        stage.goes_on(vec![
            holding(reads(5), ROOM),
            holding(ModelReply::new("end").text("Done."), ROOM),
        ]);
        stage.run("And now?", &["--continue"]).exits(0);
        stage.is_clean();
        let heard = stage.heard();
        assert_eq!(
            heard.matches("line one of it").count(),
            1,
            "{api:?}: {heard}"
        );
    });
}

#[test]
fn where_it_is_switched_off_nothing_is_summarised_and_the_user_is_warned_once() {
    row(|api| {
        let script = vec![
            holding(reads(1), FULL),
            holding(ModelReply::new("end").text("Done."), FULL),
        ];
        let stage = stage(api, script, "[conversation]\ncompaction = 'off'\n");
        let warning = "The conversation has 30000 of 40000 tokens, and summaries are off: send `/compact` to summarise \
                       it once, or set conversation.compaction to \"auto\", before it is full.";
        let told = shown(&stage.run("Look.", &AUTO).exits(0));
        assert_eq!(told.matches(warning).count(), 1, "{api:?}: {told}");
        stage.goes_on(vec![holding(
            ModelReply::new("more").text("Yes."),
            FULL + 1,
        )]);
        let told = shown(&stage.run("And?", &["--continue"]).exits(0));
        assert!(!told.contains("summaries are off"), "{api:?}: {told}");
        stage.is_clean();
    });
}

#[test]
fn a_conversation_that_no_summary_shortens_is_not_summarised_again_in_later_turns() {
    row(|api| {
        let empty =
            || says(ModelReply::new("empty").call("call_none", "read_file", r#"{"path":"a.txt"}"#));
        let mut script = Vec::new();
        for number in 0..3 {
            script.extend([holding(reads(number), FULL), empty(), empty()]);
        }
        script.push(holding(ModelReply::new("end").text("Done."), FULL));
        let stage = stage(api, script, "");
        let told = shown(&stage.run("Look.", &AUTO).exits(0));
        let last = "and no more summaries are made unless you send `/compact`";
        assert_eq!(told.matches(last).count(), 1, "{api:?}: {told}");
        stage.goes_on(vec![holding(ModelReply::new("more").text("Yes."), FULL)]);
        stage.run("And?", &["--continue"]).exits(0);
        // A person may try again, and then it goes on.
        stage.goes_on(vec![
            summary(1),
            holding(ModelReply::new("then").text("Well."), ROOM),
        ]);
        stage.run("/compact", &["--continue"]).exits(0);
        stage.run("And then?", &["--continue"]).exits(0);
        stage.is_clean();
        assert!(stage.heard().contains("Summary 1."), "{api:?}");
    });
}

#[test]
fn the_ledger_of_a_conversation_is_printed_from_its_log() {
    let api = ServedApi::Anthropic;
    let edit = json!({"path": "a.txt", "old_text": "A", "new_text": "B"});
    let script = vec![
        holding(asks(), ROOM),
        holding(reads(1), FULL),
        summary(1),
        says(ModelReply::new("edit").call("call_edit", "edit_file", edit.to_string())),
        holding(ModelReply::new("end").text("Done."), ROOM),
    ];
    let stage = stage(api, script, "");
    let answer = format!("ask_user.answer={ANSWER}");
    let args = [AUTO.as_slice(), &["--answer", &answer]].concat();
    stage.run("Start the server.", &args).exits(0);
    stage.is_clean();
    let ledger = Live::start(stage.command(&["conversation", "ledger"])).end();
    let digest = "a.txt: sha256 ";
    let text = ledger.exits(0).stdout;
    for part in [
        "- turn 1: Start the server.\n",
        ANSWER,
        "ask_user asked: Which port?",
        digest,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn summaries_that_were_asked_for_do_not_end_those_that_are_due() {
    let end = || holding(ModelReply::new("end").text("Well."), ROOM);
    let stage = stage(ServedApi::Anthropic, vec![end()], "");
    stage.run("Look.", &AUTO).exits(0);
    for number in 0..4 {
        stage.goes_on(vec![summary(number)]);
        stage.run("/compact", &["--continue"]).exits(0);
        stage.goes_on(vec![end()]);
        let told = shown(&stage.run("And?", &["--continue"]).exits(0));
        let little = "The summary shortened the conversation too little (it has ";
        assert!(told.contains(little), "{told}");
        assert!(!told.contains("no more summaries"), "{told}");
    }
    stage.goes_on(vec![holding(reads(1), FULL), summary(9), end()]);
    let told = shown(&stage.run("Go on.", &["--continue"]).exits(0));
    assert!(told.contains("was summarised in about"), "{told}");
    stage.is_clean();
}

/// One message that reads so many files: `0.txt`, `1.txt`, and so on.
fn reads_each(files: usize) -> ModelReply {
    let call = |reply: ModelReply, file| {
        let arguments = format!(r#"{{"path":"{file}.txt"}}"#);
        reply.call(&format!("call_{file}"), "read_file", arguments)
    };
    let many = ModelReply::new("many").reasoning("I look.");
    (0..files).fold(many, call)
}

#[test]
fn a_conversation_that_the_context_window_has_no_room_for_is_summarised_all_the_same() {
    row(|api| {
        let stage = stage(api, vec![holding(reads_each(4), ROOM), full(api)], "");
        for file in 0..4 {
            let text = format!("line of {file}\n").repeat(600);
            stage.world.write(&format!("{file}.txt"), &text);
        }
        stage.run("Look.", &AUTO).exits(1);
        // It fits as far as is known, so the whole of it is tried first.
        stage.goes_on(vec![full(api), full(api)]);
        stage.run("/compact", &["--continue"]).exits(1);
        let asked = stage.server.received();
        let [whole, short] = [2, 1].map(|back| heard(&asked[asked.len() - back]));
        assert!(!whole.contains("bytes left out]"), "{api:?}: {whole}");
        let cut = short.matches("bytes left out]").count();
        assert_eq!(cut, 4, "{api:?}: {short}");
        assert!(short.len() < whole.len() * 3 / 4, "{api:?}: {short}");
        stage.goes_on(vec![full(api), summary(1)]);
        stage.run("/compact", &["--continue"]).exits(0);
        stage.goes_on(vec![holding(ModelReply::new("end").text("Done."), ROOM)]);
        stage.run("Go on.", &["--continue"]).exits(0);
        stage.is_clean();
        assert!(stage.heard().contains("Summary 1."), "{api:?}");
    });
}

/// Bytes of a file of which the model is shown all by itself.
const LARGE: usize = 30_000;

#[test]
fn the_results_of_one_message_leave_room_in_the_context_window() {
    row(|api| {
        let script = vec![
            holding(reads_each(6), ROOM),
            holding(
                ModelReply::new("again").call("again", "read_file", r#"{"path":"5.txt"}"#),
                ROOM,
            ),
            holding(ModelReply::new("end").text("Done."), ROOM),
        ];
        let stage = stage(api, script, "");
        for file in 0..6 {
            let line = format!("line of {file}\n");
            let text = line.repeat(LARGE / line.len());
            stage.world.write(&format!("{file}.txt"), &text);
        }
        stage.run("Look.", &AUTO).exits(0);
        stage.is_clean();
        let log = stage.world.log();
        let results = log.all("tool_result");
        let size = |at: usize| results[at]["content"].as_str().unwrap().len();
        let of_message: usize = (0..6).map(size).sum();
        assert!(
            (WINDOW as usize..WINDOW as usize + 6 * 1_000).contains(&of_message),
            "{api:?}: {of_message}"
        );
        let cut = (0..6).filter(|at| {
            let content = results[*at]["content"].as_str().unwrap();
            content.contains("are left out here: read_output")
        });
        assert_eq!(cut.count(), 5, "{api:?}");
        // Of a file that was cut the model does not have all lines, so that it is given whole.
        let had_all = (0..6).any(|at| {
            let content = results[at]["content"].as_str().unwrap();
            content.contains("line of 5") && content.len() > LARGE - 100
        });
        assert_ne!(size(6) > LARGE - 100, had_all, "{api:?}: {}", size(6));
    });
}

#[test]
fn an_answer_is_whole_though_the_results_of_one_message_have_less_room() {
    row(|api| {
        let script = vec![
            holding(asks(), ROOM),
            holding(ModelReply::new("end").text("Done."), ROOM),
        ];
        let stage = stage(api, script, "");
        let said = ANSWER.repeat(WINDOW as usize / ANSWER.len() + 1);
        let answer = format!("ask_user.answer={said}");
        let args = [AUTO.as_slice(), &["--answer", &answer]].concat();
        stage.run("Start the server.", &args).exits(0);
        stage.is_clean();
        let as_json = Value::from(said).to_string();
        assert!(stage.heard().contains(&as_json), "{api:?}");
    });
}

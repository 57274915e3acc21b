//! What a model refuses: found out once, left out at once and from then on, in later turns and other processes too.

use std::sync::Arc;

use aside_model_server::ServedApi;
use aside_test_table::rows;
use serde_json::{Value, json};

use super::{
    run::GrownRun,
    side::{SIDES, Side, side},
};

const OPUS: Side = side(ServedApi::Anthropic, "anthropic/claude-opus-5");
const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"const":1}},"required":["n"],"additionalProperties":false}"#;
/// A chat server whose model takes everything.
const TAKES_ALL: &str =
    "[providers.local.models.devstral]\nsystem_messages = true\nstrict = true\n";

/// Refusals of models: who, with which arguments, what it is on record as, where a request has it, and how the model says
/// so. A place is a pointer to what must be there, or to a word.
const REFUSALS: &str = r#"
    opus      | force  | forced_tool    | /tool_choice/type tool                     | tool_choice: `tool` is not supported here
    responses | force  | forced_tool    | /tool_choice/type function                 | 'tool_choice' may only be 'auto'
    chat      | force  | forced_tool    | /tool_choice/type function                 | Only "auto" tool_choice is supported
    gemini    | force  | forced_tool    | /toolConfig/functionCallingConfig/mode ANY | functionCallingConfig: mode ANY is not supported
    sonnet    | -      | reasoning      | /thinking                                  | thinking: Extra inputs are not permitted
    responses | -      | reasoning      | /reasoning                                 | Unsupported parameter: 'reasoning.summary'
    ollama    | high   | reasoning      | /think                                     | "qwen3.5:9b" does not support thinking
    sonnet    | -      | strict         | strict                                     | tools.3.custom.strict: Extra inputs are not permitted
    responses | -      | strict         | strict                                     | Invalid schema for function 'answer_inquiry'
    chat      | -      | strict         | strict                                     | tools[0].function.strict: unknown field
    sonnet    | schema | schema         | /output_config/format                      | output_config.format: not supported by this model
    responses | schema | schema         | /text/format                               | Invalid parameter: 'text.format'
    chat      | schema | schema         | /response_format                           | response_format is not supported
    gemini    | schema | schema         | /generationConfig/responseJsonSchema       | responseJsonSchema is not supported
    sonnet    | force  | system_message | role messages system                       | messages.1.role: system is not one of user, assistant
    responses | schema | system_message | role input developer                       | Invalid role: developer
    chat      | schema | system_message | role messages system                       | System message must be at the beginning
"#;

/// A model that refuses a part of a request.
struct LearnedRefusal {
    side: Side,
    args: Vec<&'static str>,
    /// How it says so.
    message: &'static str,
    /// What it is on record as.
    word: &'static str,
    /// The place of that part in a request.
    place: &'static str,
}

impl LearnedRefusal {
    fn read([side, args, word, place, message]: [&'static str; 5]) -> Self {
        let [sonnet, responses, chat, gemini, ollama] = SIDES;
        Self {
            side: match side {
                "opus" => OPUS,
                "sonnet" => sonnet,
                "responses" => responses,
                "chat" => chat,
                "gemini" => gemini,
                _ => ollama,
            },
            args: match args {
                "force" => vec!["--tool-choice", "list_files"],
                "schema" => vec!["--schema", SCHEMA],
                "high" => vec!["--set", "assistant.reasoning='high'"],
                _ => Vec::new(),
            },
            message,
            word,
            place,
        }
    }

    /// Whether a request has that part.
    fn is_in(&self, body: &Value) -> bool {
        match self.place.split(' ').collect::<Vec<_>>()[..] {
            ["strict"] => is_strict(body),
            ["role", history, role] => has_role(body, history, role),
            [pointer] => body.pointer(pointer).is_some(),
            [pointer, word] => body.pointer(pointer).is_some_and(|it| it == word),
            _ => panic!("no place: {}", self.place),
        }
    }
}

fn has_role(body: &Value, history: &str, role: &str) -> bool {
    // The first message is the system text, where that is a message.
    let messages = body[history].as_array().unwrap().iter().skip(1);
    messages.into_iter().any(|message| message["role"] == role)
}

fn is_strict(body: &Value) -> bool {
    let tools = body["tools"].as_array().unwrap();
    tools
        .iter()
        .any(|tool| tool["strict"] == true || tool["function"]["strict"] == true)
}

/// What a model says that does what it is told: a forced tool is called, an answer fits once it was asked for again.
fn obedient(
    side: Side,
    args: &[&str],
    number: usize,
    body: &Value,
) -> aside_model_server::server::ServedReply {
    let text = body.to_string();
    match args.first() {
        Some(&"--tool-choice") if !text.contains("call_1") => {
            side.calls(1, "list_files", &json!({"path": "."}))
        }
        Some(&"--schema") if !text.contains("No JSON yet.") => side.says(number, "No JSON yet."),
        Some(&"--schema") => side.says(number, r#"{"n":1}"#),
        _ => side.says(number, "Done."),
    }
}

#[test]
fn what_a_model_refuses_is_left_out_at_once_and_for_good() {
    for row in rows(REFUSALS) {
        let refusal = Arc::new(LearnedRefusal::read(row));
        let LearnedRefusal {
            side, args, word, ..
        } = &*refusal;
        let refuses = refusal.clone();
        let run = GrownRun::new(side.model, TAKES_ALL, move |request, number| {
            if refuses.is_in(&request.json) {
                refuses.side.refuses(refuses.message)
            } else {
                obedient(refuses.side, &refuses.args, number, &request.json)
            }
        });
        run.go(args).exits(0);
        let log = run.log();
        let learned = log.all("learned");
        assert_eq!(learned.len(), 1, "{} {word}: {learned:?}", side.model);
        let learned = learned[0];
        assert_eq!(learned["refuses"], *word, "{} {word}", side.model);
        assert_eq!(learned["model"], side.model, "{} {word}", side.model);
        let first = run.bodies().len();
        run.go(&[&["--continue"], args.as_slice()].concat())
            .exits(0);
        let bodies = run.bodies();
        assert!(bodies.len() > first, "{} {word}", side.model);
        let refused = bodies.iter().filter(|body| refusal.is_in(body)).count();
        assert_eq!(refused, 1, "{} {word}", side.model);
        assert_eq!(run.log().all("learned").len(), 1, "{} {word}", side.model);
        run.is_clean();
    }
}

/// The choice of tools, and who says what last.
fn said_last(body: &Value) -> (&str, &str, &str) {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    let text = &last["content"];
    let text = text.as_str().or(text[0]["text"].as_str()).unwrap();
    let kind = body["tool_choice"]["type"].as_str().unwrap();
    (kind, last["role"].as_str().unwrap(), text)
}

#[test]
fn a_tool_is_softly_forced_where_the_model_takes_no_force() {
    let side = SIDES[0];
    let run = GrownRun::new(side.model, "", move |_, number| {
        side.says(number, "No need.")
    });
    run.go(&["--tool-choice", "list_files"])
        .exits(0)
        .writes("No need.\n");
    run.is_clean();
    let bodies = run.bodies();
    let told: Vec<_> = bodies.iter().map(said_last).collect();
    assert_eq!(
        told,
        [
            (
                "auto",
                "system",
                "Call the tool `list_files` before you answer."
            ),
            // Nothing of the user's stands before it, and so it cannot be a system message.
            (
                "auto",
                "user",
                "You answered without calling `list_files`. Call `list_files` now; do not reply with text alone."
            ),
        ]
    );
    assert_eq!(run.log().all("learned").len(), 0);
}

#[test]
fn a_named_rung_is_the_first_one_where_the_force_is_refused() {
    let settings = "conversation.inquiry.strategy = \"forced_tool\"\n";
    let run = GrownRun::new(OPUS.model, settings, |request, number| {
        let ids = super::side::inquiries(request);
        if request.json["tool_choice"]["type"] == "tool" {
            return OPUS.refuses("tool_choice: `tool` is not supported here");
        }
        if ids.is_empty() {
            super::ladder::edits(OPUS, 1, number % 3)
        } else {
            super::ladder::answers(OPUS, request, &json!("2"))
        }
    });
    run.go(&[]).exits(0).writes("Done.\n");
    run.go(&["--continue"]).exits(0).writes("Done.\n");
    let forced = run
        .bodies()
        .iter()
        .filter(|body| body["tool_choice"]["type"] == "tool")
        .count();
    assert_eq!(forced, 1);
    assert_eq!(run.log().all("inquiry_response").len(), 2);
}

/// A model that takes a forced tool, but not while it thinks, is told to call it and goes on thinking; where it does not
/// obey it is forced, without thinking for that one request.
#[test]
fn a_force_that_does_not_go_with_thinking_comes_without_it_once_words_did_not_help() {
    let thinks = |body: &Value| {
        let thinking = body["thinking"]["type"].as_str();
        thinking.is_some_and(|it| it != "disabled")
    };
    let is_forced = |body: &Value| body["tool_choice"]["type"] == "tool";
    let force = ["--tool-choice", "list_files"];
    let run = GrownRun::new(OPUS.model, "", move |request, number| {
        let body = &request.json;
        if is_forced(body) && thinks(body) {
            OPUS.refuses("Thinking may not be enabled when tool_choice forces tool use.")
        } else {
            obedient(OPUS, &force, number, body)
        }
    });
    run.go(&force).exits(0).writes("Done.\n");
    run.go(&["--continue", "--tool-choice", "list_files"])
        .exits(0);
    run.is_clean();
    assert_eq!(
        run.log().one("learned")["refuses"],
        "forced_while_reasoning"
    );
    let bodies = run.bodies();
    let sent = bodies.iter().map(|body| (is_forced(body), thinks(body)));
    assert_eq!(
        sent.collect::<Vec<_>>(),
        [
            // It is refused; words help.
            (true, true),
            (false, true),
            (false, true),
            // The next turn begins with words, which do not help.
            (false, true),
            (true, false),
        ]
    );
}

/// Earlier reasoning that is refused is left out, once; a second refusal is the turn's end.
#[test]
fn reasoning_that_is_refused_is_left_out_once() {
    for (again, code) in [(false, 0), (true, 1)] {
        let side = SIDES[0];
        let refuses = |body: &Value| {
            body["messages"]
                .to_string()
                .contains(r#""type":"thinking""#)
        };
        let run = GrownRun::new(side.model, "", move |_, number| {
            if number == 0 {
                return side.calls(0, "list_files", &json!({"path": "."}));
            }
            if number == 1 || again {
                return side
                    .refuses("messages.1.content.0: Invalid `signature` in `thinking` block");
            }
            side.says(number, "Done.")
        });
        let done = run.go(&[]);
        assert_eq!(done.code, code, "{done:?}");
        let with: Vec<bool> = run.bodies().iter().map(refuses).collect();
        assert_eq!(with, [false, true, false]);
        assert_eq!(run.log().one("learned")["refuses"], "earlier_reasoning");
    }
}

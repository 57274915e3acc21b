//! Lines that say what happened.

use std::fmt::Write as _;

use aside_turn::{
    input::{Input, Preparation, PromptAnswer, SecretValue, ToolOutcome, ToolOutput},
    record::{PromptId, Vocabulary},
    response::{Failure, FailureClass, Feature, Finish, Kind, Piece, Usage},
};
use serde_json::{Value, json};

use super::{
    Play,
    ask::{json as parse, lines, question, words},
    history,
    setup::{client, client_rules, number, prepared, seconds},
};

impl Play {
    /// Takes one line in.
    pub(crate) fn line(&mut self, line: &str) {
        if self.world.line(line) {
            return;
        }
        let (number, line) = match line.strip_prefix('@') {
            Some(rest) => {
                let (number, rest) = rest.split_once(' ').expect("a request and a line");
                (number.parse().ok(), rest)
            }
            None => (None, line),
        };
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        if self.turn.is_none()
            && !matches!(
                verb,
                "user"
                    | "summarise"
                    | "summarise-idle"
                    | "unsummarise"
                    | "resume"
                    | "new"
                    | "crash"
                    | "wait"
            )
        {
            self.start("go");
            if self.watch.is_unwritten() {
                return;
            }
        }
        let echo = number
            .map(|number: u32| format!("@{number} "))
            .unwrap_or_default();
        let _ = writeln!(self.out, "> {echo}{line}");
        if !(self.of_the_turn(verb, rest)
            || self.of_a_tool(verb, rest)
            || self.of_a_person(verb, rest)
            || self.of_a_response(number, verb, rest))
        {
            panic!("`{line}` says nothing");
        }
    }

    fn of_the_turn(&mut self, verb: &str, rest: &str) -> bool {
        match verb {
            "user" => self.start(rest),
            "summarise" => self.summarise(rest),
            "summarise-idle" => self.summarise_idle(),
            "unsummarise" => self.take_summary_back(),
            "resume" => {
                let answers = words(rest);
                let answers = answers.iter().map(|word| {
                    let (prompt, value) = word.split_once('=').expect("a prompt and its answer");
                    (self.prompt(prompt), value.trim_matches('"').to_owned())
                });
                let answers = answers.collect();
                self.resume(answers);
            }
            "crash" => self.crash(),
            "new" => self.close(),
            "wait" => self.now += seconds(rest),
            "tick" => {
                let wait = self.deadline().expect("the turn wants to be woken");
                self.now += wait;
                self.say(&format!("({wait:?} later)"));
                self.tell(Input::Tick);
            }
            "deadline" => {
                let text = self
                    .deadline()
                    .map_or("none".into(), |wait| format!("in {wait:?}"));
                self.say(&format!("deadline {text}"));
            }
            "history" => {
                let text = history::lines(&self.events);
                self.say(&text);
            }
            "steer" => self.tell(Input::Steer(rest.into())),
            "cancel" => self.tell(Input::Cancel),
            "came" => self.tell(Input::ClientCame(client(rest != "no-secret"))),
            "configure" => self.tell(Input::ClientRules(client_rules(rest))),
            "left" => self.tell(Input::ClientLeft),
            "append-failed" => self.tell(Input::AppendFailed(rest.into())),
            "checked" => self.tell(Input::Checked(match rest.split_once(' ') {
                Some(("ok", value)) => Ok(parse(value)),
                Some(("wrong", why)) => Err(why.into()),
                _ => panic!("it is `ok` or `wrong`"),
            })),
            _ => return false,
        }
        true
    }

    fn of_a_tool(&mut self, verb: &str, rest: &str) -> bool {
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let output = || ToolOutput::text(lines(rest));
        let outcome = match verb {
            "done" => ToolOutcome::Success(output()),
            "long" => ToolOutcome::Success(ToolOutput::text("x".repeat(number(rest)))),
            "error" => ToolOutcome::Error(output()),
            "asks" => ToolOutcome::NeedsInput(question(rest)),
            "stopped" => ToolOutcome::Stopped,
            "live" => {
                let (number, text) = rest.split_once(' ').expect("a number and a question");
                let number = number.parse().expect("a number");
                self.tell(Input::LiveQuestion(self.call(name), number, question(text)));
                return true;
            }
            "progress" => {
                self.tell(Input::Progress(self.call(name)));
                return true;
            }
            "takes-back" => {
                let number = rest.parse().expect("a number");
                self.tell(Input::LiveWithdrawn(self.call(name), number));
                return true;
            }
            _ => return self.of_preparing(verb, name, rest),
        };
        self.tell(Input::Finished(self.call(name), outcome));
        true
    }

    fn of_preparing(&mut self, verb: &str, name: &str, rest: &str) -> bool {
        let preparation = match verb {
            "ready" => {
                let mut found = self.world.prepare(self.calls.tool(self.call(name)));
                for word in words(rest) {
                    let (key, value) = word.split_once('=').unwrap_or((&word, ""));
                    assert!(
                        prepared(&mut found, key, value),
                        "`{key}` says nothing of a call"
                    );
                }
                Preparation::Ready(found)
            }
            "broken" => Preparation::Error(lines(rest)),
            "asks-first" => Preparation::Question(question(rest)),
            _ => return false,
        };
        self.tell(Input::Prepared(self.call(name), preparation));
        true
    }

    fn of_a_person(&mut self, verb: &str, rest: &str) -> bool {
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let answer = match verb {
            "answer" => {
                let (value, remember) = match rest.strip_suffix(" remember") {
                    Some(value) => (value, true),
                    None => (rest, false),
                };
                self.answer(name, parse(value), remember);
                return true;
            }
            "edit" => PromptAnswer::Answer {
                value: SecretValue(json!("once")),
                remember: false,
                new_text: Some(lines(rest).into()),
            },
            "decline" => {
                let note = (!rest.is_empty()).then(|| note(rest));
                PromptAnswer::Decline { note }
            }
            "skip" => PromptAnswer::Cancel,
            "unshown" => PromptAnswer::Failed(rest.into()),
            "nobody-asked" => {
                self.tell(Input::Answer(
                    PromptId("unknown".into()),
                    PromptAnswer::value(true),
                ));
                return true;
            }
            _ => return false,
        };
        self.tell(Input::Answer(self.prompt(name), answer));
        true
    }

    fn of_a_response(&mut self, number: Option<u32>, verb: &str, rest: &str) -> bool {
        match verb {
            "byte" => {
                let id = self.request(number).request.id;
                self.tell(Input::FirstByte(id));
            }
            // Where the turn has enough of it, the rest comes all the same, as on a connection.
            "say" => {
                let number = Some(self.request(number).request.id.0);
                self.item(number, Kind::Text, &lines(rest), Some(true));
                self.finish(number, Finish::Stop);
            }
            "say-cut" => {
                let number = Some(self.request(number).request.id.0);
                self.item(number, Kind::Text, &lines(rest), None);
                self.finish(number, Finish::MaxTokens);
            }
            "text" => self.item(number, Kind::Text, &lines(rest), Some(true)),
            "part" => self.item(number, Kind::Text, &lines(rest), None),
            "summary" => {
                let sent = self.request(number);
                let slot = sent.slots;
                sent.slots += 1;
                let (kind, text) = (Kind::Compaction, rest.to_owned());
                let opaque = Some(r#"{"type":"compaction"}"#.to_owned());
                for piece in [
                    Piece::Open { slot, kind },
                    Piece::Delta { slot, text },
                    Piece::Close {
                        slot,
                        opaque,
                        complete: true,
                    },
                ] {
                    self.piece(number, piece);
                }
                self.finish(number, Finish::Stop);
            }
            "think" => self.item(number, Kind::Reasoning, rest, Some(true)),
            "call" => self.tool_call(number, rest, Some(true)),
            "cut" => self.tool_call(number, rest, Some(false)),
            "torn" => self.tool_call(number, rest, None),
            "do" => {
                for call in rest.split(" & ") {
                    self.tool_call(number, call, Some(true));
                }
                self.finish(number, Finish::ToolUse);
            }
            "reply" => self.reply(number, rest),
            "usage" => {
                let usage = Piece::Usage(usage(rest));
                self.piece(number, usage);
            }
            "finish" => self.finish(number, finish(rest)),
            "fail" => self.fail(number, rest),
            _ => return false,
        }
        true
    }

    /// A model's answers to an inquiry, `call value & call value`, however they are to be given.
    fn reply(&mut self, number: Option<u32>, rest: &str) {
        if self.request(number).is_structured() {
            let (_, value) = rest.split_once(' ').unwrap_or((rest, ""));
            let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            self.item(
                number,
                Kind::Text,
                &json!({ "answer": value }).to_string(),
                Some(true),
            );
            self.finish(number, Finish::Stop);
            return;
        }
        for (at, one) in rest.split(" & ").enumerate() {
            let (name, value) = one.split_once(' ').unwrap_or((one, ""));
            let pair = self.pair(self.call(name));
            let arguments = json!({ "inquiry_id": pair, "answer": value });
            self.tool_call(
                number,
                &format!("reply{at} answer_inquiry {arguments}"),
                Some(true),
            );
        }
        self.finish(number, Finish::ToolUse);
    }

    fn tool_call(&mut self, number: Option<u32>, text: &str, complete: Option<bool>) {
        let mut parts = text.splitn(3, ' ');
        let id = parts.next().expect("an id").to_owned();
        let name = parts.next().expect("a tool").to_owned();
        let arguments = parts.next().unwrap_or("{}");
        self.item(number, Kind::ToolCall { id, name }, arguments, complete);
    }

    fn item(&mut self, number: Option<u32>, kind: Kind, text: &str, complete: Option<bool>) {
        let sent = self.request(number);
        let slot = sent.slots;
        sent.slots += 1;
        self.piece(number, Piece::Open { slot, kind });
        self.piece(
            number,
            Piece::Delta {
                slot,
                text: text.into(),
            },
        );
        if let Some(complete) = complete {
            self.piece(
                number,
                Piece::Close {
                    slot,
                    opaque: None,
                    complete,
                },
            );
        }
    }

    fn finish(&mut self, number: Option<u32>, finish: Finish) {
        let sent = self.request(number);
        sent.over = true;
        let id = sent.request.id;
        self.tell(Input::Piece(id, Piece::Finish(finish)));
    }

    fn fail(&mut self, number: Option<u32>, rest: &str) {
        let (class, mut text) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut retry_after = None;
        if let Some((after, rest)) = text
            .strip_prefix("after=")
            .and_then(|rest| rest.split_once(' '))
        {
            retry_after = Some(seconds(after));
            text = rest;
        }
        let sent = self.request(number);
        sent.over = true;
        let id = sent.request.id;
        let failure = Failure {
            class: failure_class(class),
            text: text.into(),
            advice: None,
            retry_after,
        };
        self.tell(Input::Failed(id, failure));
    }

    fn piece(&mut self, number: Option<u32>, piece: Piece) {
        let id = self.request(number).request.id;
        self.tell(Input::Piece(id, piece));
    }
}

fn usage(text: &str) -> Usage {
    let mut usage = Usage::default();
    for word in words(text) {
        let (key, value) = word.split_once('=').expect("a key and a number");
        match key {
            "input" => usage.input = value.parse().expect("a number"),
            "output" => usage.output = value.parse().expect("a number"),
            "read" => usage.cache_read = value.parse().expect("a number"),
            "written" => usage.cache_write = value.parse().expect("a number"),
            "cost" => usage.cost = Some(value.parse().expect("a number")),
            _ => panic!("`{key}` is no usage"),
        }
    }
    usage
}

fn finish(word: &str) -> Finish {
    match word {
        "stop" => Finish::Stop,
        "tool_use" => Finish::ToolUse,
        "max_tokens" => Finish::MaxTokens,
        "stop_sequence" => Finish::StopSequence,
        "pause" => Finish::Pause,
        "refusal" => Finish::Refusal,
        "context_full" => Finish::ContextFull,
        "content_filter" => Finish::ContentFilter,
        "malformed_call" => Finish::MalformedCall,
        other => Finish::Other(other.into()),
    }
}

fn failure_class(word: &str) -> FailureClass {
    if let Some((word, name)) = word.split_once('=') {
        let part =
            aside_turn::rules::LeftOut::named(word, name.to_owned()).expect("a part of a request");
        return FailureClass::RefusedParts(vec![part]);
    }
    match word {
        "auth" => FailureClass::Auth,
        "money" => FailureClass::Money,
        "rate" => FailureClass::Rate,
        "overload" => FailureClass::Overload,
        "transient" => FailureClass::Transient,
        "broken" => FailureClass::Broken,
        "context" => FailureClass::Context,
        "refusal" => FailureClass::Refusal,
        "other" => FailureClass::Other,
        word => match Feature::of(word) {
            Some(feature) => FailureClass::Refused(feature),
            None => panic!("`{word}` is no class of failures"),
        },
    }
}

/// A note as it is, or a JSON string, for one that begins or ends with blanks.
fn note(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
}

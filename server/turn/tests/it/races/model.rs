//! A random model: what it replies to the turn's requests and to inquiries.

use std::collections::VecDeque;

use aside_turn::{
    effect::{Request, RequestKind},
    inquiry::{ANSWER_INQUIRY, SideRequest, Strategy},
    question::{AnswerType, Question},
    response::{Failure, FailureClass, Feature, Finish, Kind, Piece, Usage},
    rules::ToolChoice,
};
use serde_json::{Value, json};

use super::{rules::TOOLS, tape::Tape};

/// What comes of a request.
#[derive(Clone, Debug)]
pub(crate) enum Coming {
    FirstByte,
    Piece(Piece),
    Failed(Failure),
}

/// A reply in the making.
struct Reply {
    pieces: VecDeque<Coming>,
    slot: u32,
}

impl Reply {
    fn new() -> Self {
        Self {
            pieces: VecDeque::from([Coming::FirstByte]),
            slot: 0,
        }
    }

    fn item(&mut self, kind: Kind, text: &str, complete: bool) {
        self.closed_item(kind, text, None, complete);
    }

    fn summary(&mut self, text: &str) {
        let opaque = Some(r#"{"type":"compaction"}"#.to_owned());
        self.closed_item(Kind::Compaction, text, opaque, true);
    }

    fn closed_item(&mut self, kind: Kind, text: &str, opaque: Option<String>, complete: bool) {
        let slot = self.slot;
        self.slot += 1;
        self.piece(Piece::Open { slot, kind });
        if !text.is_empty() {
            let text = text.to_owned();
            self.piece(Piece::Delta { slot, text });
        }
        self.piece(Piece::Close {
            slot,
            opaque,
            complete,
        });
    }

    fn call(&mut self, id: String, name: &str, arguments: &str, complete: bool) {
        let name = name.to_owned();
        self.item(Kind::ToolCall { id, name }, arguments, complete);
    }

    fn piece(&mut self, piece: Piece) {
        self.pieces.push_back(Coming::Piece(piece));
    }

    fn end(mut self, tape: &mut Tape, finish: Finish) -> VecDeque<Coming> {
        if tape.one_in(3) {
            let cost = tape.one_in(2).then_some(0.6);
            self.piece(Piece::Usage(Usage {
                input: 5,
                output: 3,
                cost,
                ..Usage::default()
            }));
        }
        self.piece(Piece::Finish(finish));
        self.pieces
    }
}

/// The reply to a request; `asked` are the questions of an inquiry.
pub(crate) fn reply(
    tape: &mut Tape,
    request: &Request,
    asked: &[(String, Question)],
) -> VecDeque<Coming> {
    if tape.one_in(14) {
        return fail(tape, &request.tool_choice);
    }
    match &request.kind {
        RequestKind::Turn { step, .. } => respond(tape, *step),
        RequestKind::Inquiry(ask) if ask.strategy == Strategy::Structured => {
            structured(tape, asked)
        }
        RequestKind::Inquiry(ask) => inquiry(tape, ask, asked),
        RequestKind::Compaction { .. } => summary(tape),
        RequestKind::NativeCompaction => native_summary(tape),
    }
}

/// A summary, or what a model gives in place of one.
fn summary(tape: &mut Tape) -> VecDeque<Coming> {
    let mut reply = Reply::new();
    let finish = match tape.weighted(&[8, 2, 2, 1, 1]) {
        0 => {
            reply.item(Kind::Text, "What was done.", true);
            Finish::Stop
        }
        1 => {
            let call = Kind::ToolCall {
                id: "summary".into(),
                name: "read".into(),
            };
            reply.item(call, "{}", true);
            Finish::Stop
        }
        2 => Finish::Stop,
        3 => {
            reply.item(Kind::Text, "What was", false);
            Finish::MaxTokens
        }
        _ => Finish::ContextFull,
    };
    reply.end(tape, finish)
}

/// A summary in the provider's own form, or what one gives in its place.
fn native_summary(tape: &mut Tape) -> VecDeque<Coming> {
    let mut reply = Reply::new();
    match tape.weighted(&[6, 1, 1, 1]) {
        0 => reply.summary(""),
        1 => reply.summary("What was done."),
        2 => {
            reply.summary("");
            reply.summary("");
        }
        _ => reply.item(Kind::Text, "What was done.", true),
    }
    reply.end(tape, Finish::Stop)
}

fn fail(tape: &mut Tape, choice: &ToolChoice) -> VecDeque<Coming> {
    let forced = matches!(choice, ToolChoice::Name(_) | ToolChoice::Required);
    let class = match tape.weighted(&[10, 2, 2, 1, 1, 1, 1, 1, 2]) {
        0 if forced => FailureClass::Refused(Feature::ForcedTool),
        8 => FailureClass::Refused(
            [
                Feature::Reasoning,
                Feature::ReasoningOff,
                Feature::History,
                Feature::Strict,
            ][tape.pick(4)],
        ),
        0 | 1 => FailureClass::Transient,
        2 => FailureClass::Rate,
        3 => FailureClass::Overload,
        4 => FailureClass::Auth,
        5 => FailureClass::Context,
        6 => FailureClass::Refusal,
        _ => FailureClass::Other,
    };
    let mut reply = Reply::new();
    if class == FailureClass::Transient && tape.one_in(2) {
        reply.item(Kind::Text, "Half a", false);
    }
    reply.pieces.push_back(Coming::Failed(Failure {
        class,
        text: "The server failed.".into(),
        advice: None,
        retry_after: None,
    }));
    reply.pieces
}

fn respond(tape: &mut Tape, step: u32) -> VecDeque<Coming> {
    let mut reply = Reply::new();
    if tape.one_in(4) {
        reply.item(Kind::Reasoning, "Thinking.", !tape.one_in(8));
    }
    let calls = [60, 16, 8][(step as usize).min(3) - 1];
    match tape.weighted(&[8, calls, 1, 1, 1, 1]) {
        0 => {
            reply.item(Kind::Text, "Done.", true);
            reply.end(tape, Finish::Stop)
        }
        1 => calls_of(tape, reply),
        2 => {
            // Cut: something complete in it, or nothing.
            if tape.one_in(3) {
                reply.item(Kind::Text, "So f", false);
            }
            if tape.one_in(4) {
                call(tape, &mut reply, 0, 0, true);
            }
            call(tape, &mut reply, 1, 0, false);
            let finish = [Finish::MaxTokens, Finish::MalformedCall][tape.pick(2)].clone();
            reply.end(tape, finish)
        }
        3 => {
            if tape.one_in(2) {
                reply.item(Kind::Text, "Wait.", true);
            }
            reply.end(tape, Finish::Pause)
        }
        4 => {
            reply.item(Kind::Text, "I can", false);
            let finish =
                [Finish::Refusal, Finish::ContentFilter, Finish::ContextFull][tape.pick(3)].clone();
            reply.end(tape, finish)
        }
        _ => reply.end(tape, Finish::Stop),
    }
}

fn calls_of(tape: &mut Tape, mut reply: Reply) -> VecDeque<Coming> {
    if tape.one_in(3) {
        reply.item(Kind::Text, "Let me look.", true);
    }
    let favourite = if tape.one_in(4) {
        TOOLS.len()
    } else {
        tape.pick(TOOLS.len())
    };
    for place in 0..=tape.weighted(&[4, 4, 2, 1, 1]) {
        call(tape, &mut reply, place, favourite, true);
    }
    reply.end(tape, Finish::ToolUse)
}

/// A call of some tool; of the favourite one, where there is one, each second time.
fn call(tape: &mut Tape, reply: &mut Reply, place: usize, favourite: usize, complete: bool) {
    let name = match tape.weighted(&[24, 1, 1]) {
        0 => match TOOLS.get(favourite) {
            Some(name) if !tape.one_in(2) => *name,
            _ => *tape.of(&TOOLS),
        },
        1 => "nothing",
        _ => ANSWER_INQUIRY,
    };
    let arguments = match tape.weighted(&[12, 6, 1, 1]) {
        0 => "{\"n\":0}",
        1 => "{\"n\":1}",
        2 => "",
        _ => "{\"n\":",
    };
    // Some providers use an id twice.
    let id = if tape.one_in(10) {
        "call".to_owned()
    } else {
        format!("call_{place}")
    };
    reply.call(id, name, arguments, complete);
}

fn inquiry(tape: &mut Tape, ask: &SideRequest, asked: &[(String, Question)]) -> VecDeque<Coming> {
    let mut reply = Reply::new();
    let wrong = usize::from(ask.messages.len() < 4);
    let how = tape.weighted(&[20, 4 * wrong, 4 * wrong, 4, 3, 3, 2, 2, 1]);
    match how {
        0..=2 => {
            for (place, (pair, question)) in asked.iter().enumerate() {
                if how == 1 && tape.one_in(2) {
                    continue;
                }
                let answer = if how == 2 && !tape.one_in(3) {
                    "maybe".to_owned()
                } else {
                    answer(tape, question)
                };
                let arguments = json!({"inquiry_id": pair, "answer": answer}).to_string();
                reply.call(format!("a{place}"), ANSWER_INQUIRY, &arguments, true);
            }
        }
        3 => {
            let arguments = json!({"inquiry_id": "tool_call.none.1", "answer": "true"}).to_string();
            reply.call("a0".into(), ANSWER_INQUIRY, &arguments, true);
        }
        4 => {
            reply.call("a0".into(), "look", "{\"n\":0}", true);
            if let (true, Some((pair, question))) = (tape.one_in(2), asked.first()) {
                let answer = answer(tape, question);
                let arguments = json!({"inquiry_id": pair, "answer": answer}).to_string();
                reply.call("a1".into(), ANSWER_INQUIRY, &arguments, true);
            }
        }
        5 => reply.item(Kind::Text, "I think that it is fine.", true),
        6 => {
            let text = asked
                .first()
                .map_or(String::new(), |(_, question)| answer(tape, question));
            reply.item(Kind::Text, &text, true);
        }
        7 => {
            reply.item(Kind::Text, "No", false);
            let lost = [Finish::Refusal, Finish::ContentFilter, Finish::ContextFull];
            let finish = tape.of(&lost).clone();
            return reply.end(tape, finish);
        }
        _ => {
            reply.call("a0".into(), ANSWER_INQUIRY, "{\"inquiry", false);
            return reply.end(tape, Finish::MaxTokens);
        }
    }
    reply.end(tape, Finish::ToolUse)
}

fn structured(tape: &mut Tape, asked: &[(String, Question)]) -> VecDeque<Coming> {
    let mut reply = Reply::new();
    let answer = asked
        .first()
        .map(|(_, question)| match question.answer_type {
            AnswerType::Boolean if !question.optional => json!(true),
            _ => Value::from(answer(tape, question)),
        });
    match tape.weighted(&[10, 3, 3, 1, 1]) {
        0 => reply.item(Kind::Text, &json!({"answer": answer}).to_string(), true),
        1 => reply.item(Kind::Text, "{\"answer\": 7}", true),
        2 => reply.item(Kind::Text, "It is fine.", true),
        3 => reply.call("s0".into(), "look", "{}", true),
        _ => {}
    }
    reply.end(tape, Finish::Stop)
}

/// An answer that fits, as a model writes it.
fn answer(tape: &mut Tape, question: &Question) -> String {
    if question.optional && tape.one_in(3) {
        return String::new();
    }
    match &question.answer_type {
        AnswerType::Boolean => (*tape.of(&["true", "False"])).to_owned(),
        AnswerType::Select { .. } => (*tape.of(&["left", "RIGHT"])).to_owned(),
        AnswerType::MultiSelect { .. } => {
            (*tape.of(&["[\"left\"]", "[\"RIGHT\", \"left\"]"])).to_owned()
        }
        AnswerType::Number { .. } => (*tape.of(&["3", " 10\n"])).to_owned(),
        _ => "words".to_owned(),
    }
}

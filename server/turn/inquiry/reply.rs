//! Messages of an inquiry, and the reading of its reply.

use serde_json::{Value, json};

use crate::{
    context::InquiryQuestion,
    effect::CallResult,
    model::response::{Item, Kind, Response},
    model_text::{ModelText, Sentence},
    question::{Answer, AnswerType, Question},
    rules::Strategy,
};

/// Name of the tool by which a model answers.
pub const ANSWER_INQUIRY: &str = "answer_inquiry";

/// Result of a call in a reply.
#[derive(Debug, PartialEq)]
enum CallReply {
    /// The call answers a question.
    Taken,
    /// The call was meant to answer; its fault, in words for the model.
    Wrong(String),
    /// The call names another tool.
    NotRun,
}

impl CallReply {
    /// Result that the model receives for this call if it is asked again.
    fn result(self, text: &ModelText, id: &str, name: &str) -> CallResult {
        let is_error = self != Self::Taken;
        let content = match self {
            Self::Taken => text.render(Sentence::InquiryTaken, &[]),
            Self::Wrong(what) => what,
            Self::NotRun => text.render(Sentence::InquiryNotRun, &[]),
        };
        CallResult {
            id: id.to_owned(),
            name: name.to_owned(),
            content,
            is_error,
        }
    }
}

/// A reply, read.
#[derive(Debug, PartialEq)]
pub(crate) struct Reading {
    /// Answers by the id of the question's pair in the log.
    pub(crate) answers: Vec<(String, Answer)>,
    /// Faults of the rest, in words for the model.
    pub(crate) wrong: String,
    /// Results of its calls, which are sent if the model is asked again.
    pub(crate) results: Vec<CallResult>,
}

/// The message that asks the questions.
pub(crate) fn text(text: &ModelText, questions: &[&InquiryQuestion], strategy: Strategy) -> String {
    let blocks = questions.iter().map(|wanted| block(text, wanted));
    let blocks: Vec<String> = blocks.collect();
    let (between, last) = match (strategy, questions.len()) {
        (Strategy::Structured, _) => ("\n", Sentence::InquiryReplyJson),
        (_, 1) => ("\n", Sentence::InquiryCallOnce),
        _ => ("\n\n", Sentence::InquiryCallEach),
    };
    let last = text.render(last, &[("object", "{\"answer\": …}")]);
    format!("{}{between}{last}", blocks.join("\n\n"))
}

fn block(text: &ModelText, wanted: &InquiryQuestion) -> String {
    let question = &wanted.question;
    let mut lines = vec![
        text.render(Sentence::InquiryAsks, &[("tool", &wanted.tool)]),
        text.render(Sentence::InquiryId, &[("id", &wanted.pair)]),
    ];
    lines.extend(question.context.clone());
    lines.push(question.text.clone());
    format(text, &question.answer_type, &mut lines);
    if question.optional {
        lines.push(text.render(Sentence::InquiryOptional, &[]));
    }
    let default = question.default.as_ref().map(|default| match default {
        Value::String(default) => default.clone(),
        other => other.to_string(),
    });
    if let Some(default) = default {
        lines.push(text.render(Sentence::InquiryDefault, &[("default", &default)]));
    }
    lines.join("\n")
}

/// Adds lines that describe the form of the answer.
fn format(text: &ModelText, answer_type: &AnswerType, lines: &mut Vec<String>) {
    match answer_type {
        AnswerType::Boolean => lines.push(text.render(Sentence::InquiryBoolean, &[])),
        AnswerType::Select { options } => {
            lines.push(text.render(Sentence::InquiryOneOf, &[]));
            lines.extend(options.iter().cloned());
        }
        AnswerType::MultiSelect { options, .. } => {
            let how_many = answer_type.how_many().unwrap_or_else(|| "any".into());
            lines.push(text.render(Sentence::InquirySeveralOf, &[("how_many", &how_many)]));
            lines.extend(options.iter().cloned());
        }
        AnswerType::Number { .. } | AnswerType::Text { .. } | AnswerType::Secret => {
            let phrase = answer_type.phrase().unwrap_or_else(|| "text".into());
            lines.push(text.render(Sentence::InquiryPhrase, &[("phrase", &phrase)]));
        }
    }
}

/// The schema of a structured answer. The schema contains nothing of the question, so that inquiries share a cache:
/// all types but a plain boolean are strings.
pub(crate) fn schema(question: &Question) -> Value {
    let answer = match question.answer_type {
        AnswerType::Boolean if !question.optional => "boolean",
        _ => "string",
    };
    json!({
        "type": "object",
        "properties": {"answer": {"type": answer}},
        "required": ["answer"],
        "additionalProperties": false,
    })
}

/// Reads a reply to these questions.
pub(crate) fn read(
    text: &ModelText,
    questions: &[&InquiryQuestion],
    strategy: Strategy,
    response: &Response,
) -> Reading {
    if strategy == Strategy::Structured {
        return read_structured(text, questions, response);
    }
    let mut reading = Reading {
        answers: Vec::new(),
        wrong: String::new(),
        results: Vec::new(),
    };
    let mut wrong = Vec::new();
    for item in response.complete_calls() {
        let Kind::ToolCall { id, name } = &item.kind else {
            continue;
        };
        let reply = if name == ANSWER_INQUIRY {
            match read_call(text, questions, &item.text) {
                Ok((pair, answer)) => {
                    if reading.answers.iter().all(|(known, _)| *known != pair) {
                        reading.answers.push((pair, answer));
                    }
                    CallReply::Taken
                }
                Err(what) => {
                    wrong.push(what.clone());
                    CallReply::Wrong(what)
                }
            }
        } else {
            wrong.push(text.render(Sentence::InquiryCalledOther, &[("tool", name)]));
            CallReply::NotRun
        };
        reading.results.push(reply.result(text, id, name));
    }
    if reading.results.is_empty() {
        match read_bare(questions, &response.text()) {
            Some(answer) => reading.answers.push(answer),
            None => wrong.push(text.render(Sentence::InquiryNotCalled, &[])),
        }
    }
    reading.wrong = wrong.join(" ");
    reading
}

fn read_call(
    text: &ModelText,
    questions: &[&InquiryQuestion],
    raw: &str,
) -> Result<(String, Answer), String> {
    let arguments: Value =
        serde_json::from_str(raw).map_err(|_| text.render(Sentence::InquiryNotJson, &[]))?;
    let id = arguments["inquiry_id"].as_str().unwrap_or_default();
    let Some(wanted) = questions.iter().find(|wanted| wanted.pair == id) else {
        let id = format!("{id:?}");
        return Err(text.render(Sentence::InquiryUnknownId, &[("id", &id)]));
    };
    let answer = match &arguments["answer"] {
        Value::String(text) => text.clone(),
        Value::Null => return Err(text.render(Sentence::InquiryAnswerMissing, &[])),
        other => other.to_string(),
    };
    let answer = wanted
        .question
        .accept_text(&answer)
        .map_err(|misfit| misfit.to_string())?;
    Ok((wanted.pair.clone(), answer))
}

/// Reads a bare text as the answer to a single boolean or select question.
fn read_bare(questions: &[&InquiryQuestion], text: &str) -> Option<(String, Answer)> {
    let [wanted] = questions else { return None };
    let text = text.trim();
    let is_one_of_few = matches!(
        wanted.question.answer_type,
        AnswerType::Boolean | AnswerType::Select { .. }
    );
    if !is_one_of_few || text.is_empty() {
        return None;
    }
    let answer = wanted.question.accept_text(text).ok()?;
    Some((wanted.pair.clone(), answer))
}

fn read_structured(
    text: &ModelText,
    questions: &[&InquiryQuestion],
    response: &Response,
) -> Reading {
    let mut reading = Reading {
        answers: Vec::new(),
        wrong: String::new(),
        results: response
            .complete_calls()
            .filter_map(|item| not_run(text, item))
            .collect(),
    };
    let Some(wanted) = questions.first() else {
        return reading;
    };
    let reply = response.text();
    let answer = serde_json::from_str::<Value>(reply.trim())
        .ok()
        // A missing member is a fault; only an empty one leaves the answer out.
        .filter(|value| !wanted.question.optional || value.get("answer").is_some())
        .map(|value| match &value["answer"] {
            Value::String(text) => wanted.question.accept_text(text),
            other => wanted.question.accept(other),
        });
    match answer {
        Some(Ok(answer)) => reading.answers.push((wanted.pair.clone(), answer)),
        Some(Err(misfit)) => reading.wrong = misfit.to_string(),
        None => reading.wrong = text.render(Sentence::InquiryNoObject, &[]),
    }
    reading
}

/// Result for a call of any tool other than `answer_inquiry`.
fn not_run(text: &ModelText, item: &Item) -> Option<CallResult> {
    let Kind::ToolCall { id, name } = &item.kind else {
        return None;
    };
    Some(CallReply::NotRun.result(text, id, name))
}

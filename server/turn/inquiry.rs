//! Inquiries: asking a model in a side request that leaves the conversation as it is.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    ask::Wanted,
    question::{Answer, AnswerType, Question},
    record::{CallKey, Vocabulary},
    response::{Item, Kind, Response},
    rules::Assistant,
};

/// The tool through which a model answers.
pub const ANSWER_INQUIRY: &str = "answer_inquiry";
/// The result of a call of another tool in a fork.
pub const NOT_RUN: &str = "Not run: answer the inquiry first.";
/// The result, in a fork, of a call that has none yet.
pub const STILL_RUNNING: &str = "Tool still running.";

/// How an inquiry is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The turn's own next request and one more message: everything stays cached.
    InBand,
    /// The same with the tool choice forced to `answer_inquiry`.
    ForcedTool,
    /// An answer by JSON schema.
    Structured,
}

impl Vocabulary for Strategy {
    const ALL: &'static [Self] = &[Self::InBand, Self::ForcedTool, Self::Structured];

    fn word(self) -> &'static str {
        match self {
            Self::InBand => "in_band",
            Self::ForcedTool => "forced_tool",
            Self::Structured => "structured",
        }
    }
}

/// One side request.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// How.
    pub strategy: Strategy,
    /// An assistant of its own; the conversation then goes as text.
    pub assistant: Option<Assistant>,
    /// What follows the shared transcript, alternating, a user's message first and last.
    pub messages: Vec<Message>,
    /// For `structured`.
    pub schema: Option<Value>,
    /// The asking calls.
    pub calls: Vec<CallKey>,
}

/// A message of a fork.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A result for every open call before it, in call order, then the text.
    User {
        /// Provider's id, tool and content.
        results: Vec<CallResult>,
        /// What is asked.
        text: String,
    },
    /// A reply that did not answer, verbatim.
    Assistant(Vec<Item>),
}

/// A result in a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The provider's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What the model is told.
    pub content: String,
    /// It is an error.
    pub is_error: bool,
}

/// What a reply came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Reading {
    /// The questions that it answers, by the id of their pair.
    pub(crate) answers: Vec<(String, Answer)>,
    /// What is wrong with the rest, in words for the model.
    pub(crate) wrong: String,
    /// Its calls and what they are told, in case it is asked again.
    pub(crate) results: Vec<CallResult>,
}

/// What is asked.
pub(crate) fn text(questions: &[&Wanted], strategy: Strategy) -> String {
    let blocks: Vec<String> = questions.iter().map(|wanted| block(wanted)).collect();
    let (between, last) = match (strategy, questions.len()) {
        (Strategy::Structured, _) => (
            "\n",
            "Reply with the JSON object {\"answer\": …} alone. Answer directly, from the conversation.",
        ),
        (_, 1) => (
            "\n",
            "Call answer_inquiry with this inquiry_id and your answer, once. Do not call any other tool. Answer \
             directly, from the conversation.",
        ),
        _ => (
            "\n\n",
            "Call answer_inquiry once for each of them, with its inquiry_id and your answer. Do not call any other \
             tool. Answer directly, from the conversation.",
        ),
    };
    format!("{}{between}{last}", blocks.join("\n\n"))
}

fn block(wanted: &Wanted) -> String {
    let question = &wanted.question;
    let mut lines = vec![
        format!(
            "The tool `{}` needs an answer before it can go on.",
            wanted.tool
        ),
        format!("Inquiry {}", wanted.pair),
    ];
    lines.extend(question.context.clone());
    lines.push(question.text.clone());
    format(&question.answer_type, &mut lines);
    if question.optional {
        lines.push("Leave the answer empty to leave it out.".into());
    }
    match &question.default {
        Some(Value::String(default)) => lines.push(format!("Default: {default}")),
        Some(default) => lines.push(format!("Default: {default}")),
        None => {}
    }
    lines.join("\n")
}

/// How the answer is to be written.
fn format(answer_type: &AnswerType, lines: &mut Vec<String>) {
    match answer_type {
        AnswerType::Boolean => lines.push("Answer exactly true or false.".into()),
        AnswerType::Select { options } => {
            lines.push("Answer with exactly one of:".into());
            lines.extend(options.iter().cloned());
        }
        AnswerType::MultiSelect { options, .. } => {
            let how_many = answer_type.how_many().unwrap_or_else(|| "any".into());
            lines.push(format!("Answer with a JSON array of {how_many} of:"));
            lines.extend(options.iter().cloned());
        }
        AnswerType::Number { .. } | AnswerType::Text { .. } | AnswerType::Secret => {
            let phrase = answer_type.phrase().unwrap_or_else(|| "text".into());
            lines.push(format!("Answer with {phrase}."));
        }
    }
}

/// The schema of a structured answer. Nothing of the question is in it, so that inquiries share a cache: whatever is
/// not a mere boolean is a string.
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
pub(crate) fn read(questions: &[&Wanted], strategy: Strategy, response: &Response) -> Reading {
    if strategy == Strategy::Structured {
        return read_structured(questions, response);
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
        let told = if name == ANSWER_INQUIRY {
            match read_call(questions, &item.text) {
                Ok((pair, answer)) => {
                    if reading.answers.iter().all(|(known, _)| *known != pair) {
                        reading.answers.push((pair, answer));
                    }
                    "Taken.".to_owned()
                }
                Err(what) => {
                    wrong.push(what.clone());
                    what
                }
            }
        } else {
            wrong.push(format!("You called {name}, which was not run."));
            NOT_RUN.to_owned()
        };
        let is_error = told != "Taken.";
        reading.results.push(CallResult {
            id: id.clone(),
            name: name.clone(),
            content: told,
            is_error,
        });
    }
    if reading.results.is_empty() {
        match read_bare(questions, &response.text()) {
            Some(answer) => reading.answers.push(answer),
            None => wrong.push("You did not call answer_inquiry.".into()),
        }
    }
    reading.wrong = wrong.join(" ");
    reading
}

fn read_call(questions: &[&Wanted], raw: &str) -> Result<(String, Answer), String> {
    let arguments: Value =
        serde_json::from_str(raw).map_err(|_| "The arguments are not valid JSON.".to_owned())?;
    let id = arguments["inquiry_id"].as_str().unwrap_or_default();
    let Some(wanted) = questions.iter().find(|wanted| wanted.pair == id) else {
        return Err(format!(
            "There is no open inquiry with the inquiry_id {id:?}."
        ));
    };
    let answer = match &arguments["answer"] {
        Value::String(text) => text.clone(),
        Value::Null => return Err("The answer is missing.".into()),
        other => other.to_string(),
    };
    let answer = wanted
        .question
        .accept_text(&answer)
        .map_err(|misfit| misfit.to_string())?;
    Ok((wanted.pair.clone(), answer))
}

/// For one boolean or select also a bare text that is exactly an answer.
fn read_bare(questions: &[&Wanted], text: &str) -> Option<(String, Answer)> {
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

fn read_structured(questions: &[&Wanted], response: &Response) -> Reading {
    let mut reading = Reading {
        answers: Vec::new(),
        wrong: String::new(),
        results: response.complete_calls().filter_map(not_run).collect(),
    };
    let Some(wanted) = questions.first() else {
        return reading;
    };
    let text = response.text();
    let answer = serde_json::from_str::<Value>(text.trim())
        .ok()
        // What is not there at all was not left out.
        .filter(|value| !wanted.question.optional || value.get("answer").is_some())
        .map(|value| match &value["answer"] {
            Value::String(text) => wanted.question.accept_text(text),
            other => wanted.question.accept(other),
        });
    match answer {
        Some(Ok(answer)) => reading.answers.push((wanted.pair.clone(), answer)),
        Some(Err(misfit)) => reading.wrong = misfit.to_string(),
        None => reading.wrong = "The reply was not the JSON object that was asked for.".into(),
    }
    reading
}

/// What a call is told that is no answer.
fn not_run(item: &Item) -> Option<CallResult> {
    let Kind::ToolCall { id, name } = &item.kind else {
        return None;
    };
    Some(CallResult {
        id: id.clone(),
        name: name.clone(),
        content: NOT_RUN.to_owned(),
        is_error: true,
    })
}

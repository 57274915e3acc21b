//! Random tools: what preparing and running a call comes to.

use aside_turn::{
    effect::CallWork,
    input::{Preparation, Prepared, Preview, ToolOutcome, ToolOutput},
    question::{AnswerType, Persistence, Question},
    rules::Class,
};
use serde_json::json;

use super::{rules, tape::Tape};

/// What a tool does with one call, all its runs long.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    /// It asks this before each run, so to speak: no answer is enough.
    pub(crate) insists: Option<Question>,
    /// It asks something new each time.
    pub(crate) never_done: bool,
    /// It asks first whether it may go on, as its other calls do.
    pub(crate) asks_first: bool,
}

/// What a run of a tool comes to.
#[derive(Debug)]
pub(crate) enum Run {
    /// It ends with this outcome.
    Ends(ToolOutcome),
    /// It goes on until it is stopped.
    Hangs,
    /// It asks while it runs.
    AsksLive,
}

impl Nature {
    pub(crate) fn new(tape: &mut Tape, tool: &str) -> Self {
        Self {
            insists: tape.one_in(24).then(|| question(tape, tool)),
            never_done: tape.one_in(200),
            asks_first: tape.one_in(5),
        }
    }
}

pub(crate) fn prepare(tape: &mut Tape, work: &CallWork, kept: bool) -> Preparation {
    match tape.weighted(&[24, 1, 3, 1]) {
        1 => return Preparation::Error("There is no such file.".into()),
        2 if work.answers.len() < 2 => {
            return Preparation::Question(question(tape, &work.tool));
        }
        3 => return Preparation::DeniedByRule,
        _ => {}
    }
    let class = if tape.one_in(12) {
        *tape.of(&[Class::Reads, Class::Edits, Class::More])
    } else {
        rules::class(&work.tool)
    };
    let preview = match tape.weighted(&[3, 3, 1, 1]) {
        0 => None,
        1 => Some(Preview::Diff {
            uri: "file:///a".into(),
            version: None,
            old: "old".into(),
            new: "new".into(),
        }),
        2 => Some(Preview::Command {
            text: "true".into(),
            cwd: "/".into(),
        }),
        _ => Some(Preview::Text {
            text: "text".into(),
        }),
    };
    // What is shown and what the call is are part of what is approved; so is, now and then, an answer.
    let kind = preview.as_ref().map(std::mem::discriminant);
    let answers = if tape.one_in(6) {
        work.answers.len()
    } else {
        0
    };
    let must_ask = tape.one_in(12);
    let hash = format!(
        "{} {} {class:?} {must_ask} {answers} {kind:?}",
        work.tool, work.arguments
    );
    Preparation::Ready(Prepared {
        class,
        title: format!("{} {}", work.tool, work.arguments),
        preview,
        hash,
        approved: kept || tape.one_in(24),
        must_ask: must_ask.then(|| "It has unsaved changes.".to_owned()),
        note: None,
        sandboxed: tape.one_in(2),
    })
}

pub(crate) fn run(tape: &mut Tape, work: &CallWork, nature: &Nature) -> Run {
    if let Some(question) = &nature.insists {
        return Run::Ends(ToolOutcome::NeedsInput(question.clone()));
    }
    if nature.never_done {
        let id = format!("q{}", work.answers.len());
        let text = format!("Once more {} {id}?", work.tool);
        let mut question = Question::new(id, text, AnswerType::Boolean);
        question.default = Some(json!(true));
        return Run::Ends(ToolOutcome::NeedsInput(question));
    }
    if nature.asks_first && work.answers.is_empty() {
        let text = format!("Go on with {}?", work.tool);
        let question = Question::new(rules::QUESTIONS[0], text, AnswerType::Boolean);
        return Run::Ends(ToolOutcome::NeedsInput(question));
    }
    let asks = [28, 5][usize::from(!work.answers.is_empty())];
    match tape.weighted(&[30, asks, 4, 5, 2, 1]) {
        1 => Run::Ends(ToolOutcome::NeedsInput(question(tape, &work.tool))),
        2 => Run::Ends(ToolOutcome::Error(ToolOutput::text("It broke."))),
        3 => Run::AsksLive,
        4 => Run::Hangs,
        5 => Run::Ends(ToolOutcome::Stopped),
        _ => Run::Ends(ToolOutcome::Success(output(work))),
    }
}

pub(crate) fn output(work: &CallWork) -> ToolOutput {
    ToolOutput::text(format!("Result {} of {}.", work.call.0, work.tool))
}

/// A question. Its text tells whether the tool keeps it for people.
pub(crate) fn question(tape: &mut Tape, tool: &str) -> Question {
    let id = rules::QUESTIONS[tape.weighted(&[4, 1, 1])];
    let select = || AnswerType::Select {
        options: vec!["left".into(), "right".into()],
    };
    let answer_type = match tape.weighted(&[6, 3, 3, 2, 2, 2]) {
        0 => AnswerType::Boolean,
        1 => select(),
        2 => AnswerType::text(),
        3 => AnswerType::Number {
            integer: true,
            minimum: Some(1.into()),
            maximum: Some(10.into()),
        },
        4 => AnswerType::MultiSelect {
            options: vec!["left".into(), "right".into()],
            minimum: Some(1),
            maximum: None,
        },
        _ => AnswerType::Secret,
    };
    let exclusive = tape.one_in(5);
    let default =
        (answer_type != AnswerType::Secret && tape.one_in(3)).then(|| match answer_type {
            AnswerType::Boolean => json!(true),
            AnswerType::Number { .. } => json!(7),
            AnswerType::MultiSelect { .. } => json!(["right"]),
            _ => json!("left"),
        });
    let secret = answer_type == AnswerType::Secret;
    let whom = match (secret, exclusive) {
        (true, _) => "Secretly",
        (_, true) => "Humanly",
        _ => "Openly",
    };
    let mut question = Question::new(id, format!("{whom} {tool} {id}?"), answer_type);
    question.default = default;
    question.exclusive = exclusive;
    question.persistence = [Persistence::Turn, Persistence::None][tape.weighted(&[5, 1])];
    if tape.one_in(4) {
        question.context = Some("Some\ncontext".into());
    }
    question.optional = tape.one_in(6);
    if tape.one_in(16) {
        break_it(tape, &mut question);
    }
    question
}

fn break_it(tape: &mut Tape, question: &mut Question) {
    match tape.pick(6) {
        0 => question.text = String::new(),
        1 => question.text.push_str("\nA second line"),
        2 => question.answer_type = AnswerType::Select { options: vec![] },
        3 => {
            question.answer_type = AnswerType::Select {
                options: vec!["left".into(), "left".into()],
            };
        }
        4 => question.default = Some(json!({})),
        _ => question.id = String::new(),
    }
}

//! The values of arguments: what each is, and how it is read. Each error completes the sentence
//! `invalid value … for …: <error>`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use jiff::SignedDuration;
use serde_json::Value;

use crate::turn::rules::{DetachedMode, Mode, ToolChoice};

/// `--attach`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The file.
    pub path: PathBuf,
    /// The first and last line of the part, counted from 1; none: the whole file.
    pub lines: Option<(u32, u32)>,
}

/// `--answer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A configured answer.
    Question {
        /// The tool that asks.
        tool: String,
        /// The question's id; it may contain dots.
        question: String,
        /// To be parsed by the question's type.
        value: String,
    },
    /// The answer to an open prompt.
    Prompt {
        /// The prompt; its id never contains a dot.
        id: String,
        /// To be parsed by the prompt's answer type.
        value: String,
    },
}

/// `--detached`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetachedRule {
    /// The kind of prompt; none: all kinds.
    pub kind: Option<Kind>,
    /// What happens.
    pub mode: DetachedMode,
}

/// A kind of prompt, as configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// May this run?
    Run,
    /// May the model see this result?
    Deliver,
    /// A tool's question.
    Tool,
}

/// `--schema`.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    /// In a file.
    File(PathBuf),
    /// Given itself.
    Json(Value),
}

/// `--set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, dotted.
    pub key: String,
    /// As given; what it means follows from the key.
    pub value: String,
}

pub(super) fn tool_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err("a tool's name is 1 to 64 letters, digits, underscores and hyphens".into())
    }
}

/// A path as it is, or a path and a range of lines. A path that is not text has no range.
pub(super) fn attach(given: OsString) -> Result<Attach, String> {
    let ranged = given.to_str().and_then(|text| {
        let (path, range) = text.rsplit_once(':')?;
        let (from, to) = range.split_once('-')?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (!path.is_empty() && is_number(from) && is_number(to)).then_some((path, from, to))
    });
    match ranged {
        Some((path, from, to)) => match (from.parse(), to.parse()) {
            (Ok(from), Ok(to)) if 1 <= from && from <= to => Ok(Attach {
                path: path.into(),
                lines: Some((from, to)),
            }),
            _ => Err("lines count from 1 and the first is not after the last".into()),
        },
        None if given.is_empty() => Err("a path is missing".into()),
        None => Ok(Attach {
            path: given.into(),
            lines: None,
        }),
    }
}

pub(super) fn tool_choice(text: &str) -> Result<ToolChoice, String> {
    Ok(match text {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        name => ToolChoice::Name(tool_name(name)?),
    })
}

pub(super) fn mode(text: &str) -> Result<Mode, String> {
    [Mode::Ask, Mode::Edits, Mode::Plan, Mode::Auto]
        .into_iter()
        .find(|mode| mode.name() == text)
        .ok_or_else(|| "the modes are ask, edits, plan and auto".into())
}

pub(super) fn answer(text: &str) -> Result<Answer, String> {
    const FORM: &str = "it is written TOOL.QUESTION=VALUE or, with --resume, PROMPT_ID=VALUE";
    let (key, value) = text.split_once('=').ok_or(FORM)?;
    let value = value.to_owned();
    match key.split_once('.') {
        Some((tool, question)) if !question.is_empty() => Ok(Answer::Question {
            tool: tool_name(tool)?,
            question: question.to_owned(),
            value,
        }),
        None if !key.is_empty() => Ok(Answer::Prompt {
            id: key.to_owned(),
            value,
        }),
        _ => Err(FORM.into()),
    }
}

pub(super) fn detached(text: &str) -> Result<DetachedRule, String> {
    let (kind, mode) = match text.split_once('=') {
        Some((kind, mode)) => (Some(kind), mode),
        None => (None, text),
    };
    let kind = match kind {
        None => None,
        Some("run") => Some(Kind::Run),
        Some("deliver") => Some(Kind::Deliver),
        Some("tool") => Some(Kind::Tool),
        Some(_) => return Err("the kinds are run, deliver and tool".into()),
    };
    let mode = match mode {
        "auto" => DetachedMode::Auto,
        "defaults" => DetachedMode::Defaults,
        "deny" => DetachedMode::Deny,
        "stop" => DetachedMode::Stop,
        _ => return Err("the modes are auto, defaults, deny and stop".into()),
    };
    Ok(DetachedRule { kind, mode })
}

/// JSON itself begins with a brace; a schema that is `true` or `false` would say nothing.
pub(super) fn schema(text: &str) -> Result<Schema, String> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text)
            .map(Schema::Json)
            .map_err(|error| format!("it is not JSON: {error}"))
    } else if text.is_empty() {
        Err("a file or a JSON schema is missing".into())
    } else {
        Ok(Schema::File(text.into()))
    }
}

pub(super) fn cost(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|cost: &f64| cost.is_finite() && *cost > 0.0)
        .ok_or_else(|| "a number of US dollars over 0, such as 0.50".into())
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<SignedDuration>()
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "a time with its unit, such as 90s or 5m".into())
}

pub(super) fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok(Setting {
            key: key.trim().to_owned(),
            value: value.to_owned(),
        }),
        _ => Err("it is written KEY=VALUE".into()),
    }
}

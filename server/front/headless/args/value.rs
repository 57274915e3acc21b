//! Parsers of arguments. Each error completes the sentence `invalid value … for …: <error>`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use aside_turn::{
    record::Vocabulary,
    rules::{Mode, ToolChoice},
};
use clap::{
    builder::{PossibleValuesParser, TypedValueParser},
    error::{ContextKind, ContextValue},
};
use jiff::SignedDuration;
use serde_json::Value;

/// Value of `--attach`: a file, or lines of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Path of the file, as typed.
    pub path: PathBuf,
    /// First and last line, counted from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
}

/// Value of `--schema`: a file, or the schema itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    /// A file that contains the schema.
    File(PathBuf),
    /// The schema itself.
    Json(Value),
}

pub(super) fn tool_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err("a tool name has 1 to 64 letters, digits, underscores and hyphens".into())
    }
}

/// Parses a path, or a path and a range of lines. A path that is not valid UTF-8 has no range.
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
            _ => Err("line numbers start at 1, and FROM must not exceed TO".into()),
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

/// Reads the name of a mode, which shells complete.
pub(super) fn mode() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.iter().map(|mode| mode.word()))
        .try_map(|name| Mode::of(&name).ok_or("expected a mode"))
}

/// A schema begins with a brace. The schemas `true` and `false` would be pointless, so those are file names.
pub(super) fn schema(text: &str) -> Result<Schema, String> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text)
            .map(Schema::Json)
            .map_err(|error| format!("not valid JSON: {error}"))
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
        .ok_or_else(|| "expected a positive number of US dollars, such as 0.50".into())
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<SignedDuration>()
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| "expected a duration with its unit, such as 90s or 5m".to_owned())
        .and_then(|duration| match duration.is_zero() {
            true => Err("expected a positive duration, such as 90s or 5m".to_owned()),
            false => Ok(duration),
        })
}

pub(super) fn setting(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("expected KEY=VALUE".into()),
    }
}

/// Whether the first word of all is no command, nor like one.
pub(super) fn is_first_word(error: &clap::Error) -> bool {
    let is_like_one = error.get(ContextKind::SuggestedSubcommand).is_some();
    let usage = error.to_string();
    let is_first = ["Usage: aside [", "Usage: aside <"];
    !is_like_one && is_first.iter().any(|start| usage.contains(start))
}

/// Whether the unexpected argument is not a flag but another word after the message.
pub(super) fn is_extra_word(error: &clap::Error) -> bool {
    let given = error.get(ContextKind::InvalidArg);
    let is_word = matches!(given, Some(ContextValue::String(given)) if !given.starts_with('-'));
    is_word && error.to_string().contains("Usage: aside run")
}

//! One item of a reply: text, reasoning or a call.

use serde_json::Value;

use super::file::FileItem;

/// Maximum number of fragments of one item.
const MAX_PIECES: usize = 100_000;

/// One item of a reply, with the fragments in which it is streamed.
#[derive(Debug)]
pub(super) struct ScriptedItem {
    pub(super) kind: ScriptedItemKind,
    pub(super) fragments: Vec<String>,
}

/// Kind of an item.
#[derive(Debug)]
pub(super) enum ScriptedItemKind {
    Text,
    Reasoning,
    Call { name: String, id: Option<String> },
}

/// Validates an item and splits it into fragments.
pub(super) fn said(file: FileItem) -> Result<ScriptedItem, String> {
    let FileItem {
        text,
        reasoning,
        call,
        id,
        arguments,
        raw_arguments,
        pieces,
        split,
    } = file;
    if call.is_none() && (id.is_some() || arguments.is_some() || raw_arguments.is_some()) {
        return Err("`id`, `arguments` and `raw_arguments` need a `call`".into());
    }
    let (kind, whole) = match (text, reasoning, call) {
        (Some(text), None, None) => (ScriptedItemKind::Text, Some(text)),
        (None, Some(reasoning), None) => (ScriptedItemKind::Reasoning, Some(reasoning)),
        (None, None, Some(name)) => {
            let raw = match (arguments, raw_arguments) {
                (Some(_), Some(_)) => {
                    return Err("a call cannot have both `arguments` and `raw_arguments`".into());
                }
                (_, Some(raw)) => raw,
                (arguments, None) => {
                    json(toml::Value::Table(arguments.unwrap_or_default())).to_string()
                }
            };
            (ScriptedItemKind::Call { name, id }, Some(raw))
        }
        (None, None, None) if split.is_some() => (ScriptedItemKind::Text, None),
        _ => return Err("an item of `say` must have one of `text`, `reasoning` and `call`".into()),
    };
    Ok(ScriptedItem {
        kind,
        fragments: fragments(whole, pieces, split)?,
    })
}

fn fragments(
    whole: Option<String>,
    pieces: Option<usize>,
    split: Option<Vec<String>>,
) -> Result<Vec<String>, String> {
    match (whole, pieces, split) {
        (_, Some(_), Some(_)) => Err("an item cannot have both `pieces` and `split`".into()),
        (Some(whole), None, Some(split)) if split.concat() != whole => {
            Err("the parts of `split` do not add up to the text".into())
        }
        (_, None, Some(split)) => Ok(split),
        (_, Some(0), None) => Err("`pieces` is 0; it must be at least 1".into()),
        (_, Some(pieces), None) if pieces > MAX_PIECES => Err(format!(
            "`pieces` is {pieces}; it must be at most {MAX_PIECES}"
        )),
        (whole, pieces, None) => Ok(cut_evenly(&whole.unwrap_or_default(), pieces.unwrap_or(1))),
    }
}

/// Splits a text into fragments of about equal length, at most one per character.
fn cut_evenly(text: &str, pieces: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces = pieces.min(characters.len());
    (0..pieces)
        .map(|at| {
            let (from, to) = (
                at * characters.len() / pieces,
                (at + 1) * characters.len() / pieces,
            );
            characters[from..to].iter().collect()
        })
        .collect()
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(yes) => yes.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(values) => values.into_iter().map(json).collect(),
        toml::Value::Table(table) => Value::Object(
            table
                .into_iter()
                .map(|(key, value)| (key, json(value)))
                .collect(),
        ),
    }
}

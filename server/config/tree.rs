//! A layer as it was written: TOML, JSON or a text from a flag, each value with its line.

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

/// A piece of a layer.
#[derive(Clone, PartialEq)]
pub(crate) enum Node {
    /// Keys, each with the line that it stands on (from 1; 0 where there are no lines).
    Table(Vec<(String, usize, Node)>),
    /// Anything else. A table inside a list has no lines of its own.
    Leaf(Value),
}

impl Node {
    /// Reads a file.
    ///
    /// # Errors
    /// The line, from 1, and what is wrong there.
    pub(crate) fn from_toml(text: &str) -> Result<Self, (usize, String)> {
        let lines = LineStarts::of(text);
        match DeTable::parse(text) {
            Ok(table) => Ok(table_node(table.get_ref(), &lines)),
            Err(error) => {
                let line = lines.at(error.span().map_or(0, |span| span.start));
                Err((line, error.message().replace('\n', ", ")))
            }
        }
    }

    /// Makes a tree of a JSON value, without places in a file.
    pub(crate) fn from_json(value: &Value) -> Self {
        match value {
            Value::Object(members) => Self::Table(
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), 0, Self::from_json(value)))
                    .collect(),
            ),
            other => Self::Leaf(other.clone()),
        }
    }

    /// Reads the text of one value, as TOML has it.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let value = DeValue::parse(text.trim()).ok()?;
        Some(value_node(value.get_ref(), &LineStarts(Vec::new())))
    }

    /// Puts the value under a key.
    pub(crate) fn under(self, path: &[String]) -> Self {
        path.iter()
            .rev()
            .fold(self, |node, key| Self::Table(vec![(key.clone(), 0, node)]))
    }

    /// The value without its lines.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Leaf(value) => value,
            Self::Table(children) => Value::Object(
                children
                    .into_iter()
                    .map(|(key, _, node)| (key, node.into_value()))
                    .collect(),
            ),
        }
    }
}

/// Byte offsets of the starts of lines.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> Self {
        Self(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at)
                .collect(),
        )
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|newline| *newline < offset) + 1
    }
}

/// The keys come in the order in which they are written; the parser sorts them.
fn table_node(table: &DeTable<'_>, lines: &LineStarts) -> Node {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let children = pairs.into_iter().map(|(key, value)| {
        (
            key.get_ref().to_string(),
            lines.at(key.span().start),
            value_node(value.get_ref(), lines),
        )
    });
    Node::Table(children.collect())
}

fn value_node(value: &DeValue<'_>, lines: &LineStarts) -> Node {
    match value {
        DeValue::Table(table) => table_node(table, lines),
        other => Node::Leaf(leaf_value(other)),
    }
}

/// Converts a TOML value to JSON. Values that JSON cannot represent (integers beyond 64 bits, infinity, dates) become
/// strings.
fn leaf_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(digits.as_str()),
        },
        DeValue::Float(digits) => {
            let number = digits.as_str().parse().ok().and_then(Number::from_f64);
            number.map_or_else(|| Value::from(digits.as_str()), Value::Number)
        }
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| leaf_value(item.get_ref()))
                .collect(),
        ),
        DeValue::Table(table) => {
            let members = table.iter();
            let members = members
                .map(|(key, value)| (key.get_ref().to_string(), leaf_value(value.get_ref())));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

//! The JSON schema of `aside.toml`, and the check of a layer against it.
//!
//! The schema is derived from [`Settings`], so a key is known exactly where the types know it.

use std::sync::OnceLock;

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};

use super::{
    LayerValue, Origin, Problem,
    names::{dotted, is_name, nearest},
    settings::Settings,
    shorthand::SHORTHAND,
    tree::Node,
};

/// The JSON schema of `aside.toml`.
#[must_use]
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .with_transform(RecursiveTransform(without_null));
        settings
            .into_generator()
            .into_root_schema_for::<Settings>()
            .to_value()
    })
}

/// The schema of one key, if it can be set. Below a map any name is taken.
pub(crate) fn at(path: &[String]) -> Option<&'static Value> {
    path.iter()
        .try_fold(schema(), |schema, key| TableSchema::of(schema)?.get(key))
}

/// Does the value fit the schema of a key? It knows the keywords that [`Settings`] come to, since the first use
/// of a whole validator takes longer than everything else at start.
pub(crate) fn fits(schema: &Value, value: &Value) -> bool {
    let list = |keyword| schema.get(keyword).and_then(Value::as_array);
    let any = |choices: &Vec<Value>| choices.iter().any(|choice| fits(choice, value));
    let bound = |keyword| schema.get(keyword).and_then(Value::as_f64);
    list("anyOf").is_none_or(any)
        && list("oneOf").is_none_or(any)
        && list("enum").is_none_or(|values| values.contains(value))
        && schema.get("const").is_none_or(|only| only == value)
        && match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| is_of_kind(kind, value)),
            Some(kind) => is_of_kind(kind, value),
            None => true,
        }
        && value.as_f64().is_none_or(|number| {
            bound("minimum").is_none_or(|least| number >= least)
                && bound("maximum").is_none_or(|most| number <= most)
        })
        && value.as_array().is_none_or(|items| {
            bound("minItems").is_none_or(|least| items.len() as f64 >= least)
                && schema
                    .get("items")
                    .is_none_or(|each| items.iter().all(|item| fits(each, item)))
        })
        && value
            .as_str()
            .is_none_or(|text| schema.get("pattern").is_none() || is_name(text))
}

fn is_of_kind(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

/// The entries of a layer, each spelled out: no shorthands, one value a key. What is wrong is added to
/// `problems`, and left out.
pub(crate) fn entries(
    node: Node,
    origin: &dyn Fn(usize) -> Origin,
    problems: &mut Vec<Problem>,
) -> Vec<LayerValue> {
    let mut walk = SchemaWalk {
        origin,
        problems,
        entries: Vec::new(),
    };
    walk.node(schema(), node, &[], 0);
    walk.entries
}

/// TOML has no null: what may be left out is left out.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice != &json!({"type": "null"}));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.ensure_object().entry(key).or_insert(value);
        }
    }
}

struct SchemaWalk<'a> {
    origin: &'a dyn Fn(usize) -> Origin,
    problems: &'a mut Vec<Problem>,
    entries: Vec<LayerValue>,
}

impl SchemaWalk<'_> {
    fn node(&mut self, schema: &Value, node: Node, path: &[String], line: usize) {
        match (node, TableSchema::of(schema)) {
            (Node::Table(children), Some(table)) => self.table(&table, children, path, line),
            (Node::Leaf(Value::Null), _) => {}
            (node, _) => self.leaf(schema, node.into_value(), path, line),
        }
    }

    fn table(
        &mut self,
        table: &TableSchema<'_>,
        children: Vec<(String, usize, Node)>,
        path: &[String],
        line: usize,
    ) {
        if children.is_empty() && !path.is_empty() {
            self.push(path, Value::Object(Map::new()), line);
        }
        for (key, line, child) in children {
            let path = [path, std::slice::from_ref(&key)].concat();
            match table.get(&key) {
                Some(schema) => self.node(schema, child, &path, line),
                None => {
                    let what = table.refusal(&path);
                    self.problems.push(Problem::new((self.origin)(line), what));
                }
            }
        }
    }

    fn leaf(&mut self, schema: &Value, value: Value, path: &[String], line: usize) {
        if !fits(schema, &value) {
            let what = format!("`{}` must be {}", dotted(path), expected(schema));
            self.problems.push(Problem::new((self.origin)(line), what));
            return;
        }
        match schema.get(SHORTHAND) {
            Some(Value::Object(stands_for)) if !value.is_object() => {
                for (key, meant) in stands_for {
                    let path = [path, std::slice::from_ref(key)].concat();
                    let meant = if meant == "$" { &value } else { meant };
                    self.push(&path, meant.clone(), line);
                }
            }
            _ => self.push(path, value, line),
        }
    }

    fn push(&mut self, path: &[String], value: Value, line: usize) {
        self.entries.push(LayerValue {
            path: path.to_vec(),
            value,
            origin: (self.origin)(line),
        });
    }
}

/// A schema of a table whose keys are known, or are names with known values.
struct TableSchema<'a> {
    known: Option<&'a Map<String, Value>>,
    named: Option<&'a Value>,
    pattern: bool,
}

impl<'a> TableSchema<'a> {
    fn of(schema: &'a Value) -> Option<Self> {
        let known = schema.get("properties").and_then(Value::as_object);
        let named = schema
            .get("additionalProperties")
            .filter(|named| named.is_object());
        if known.is_none() && named.is_none() {
            let choices = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
            return choices.as_array()?.iter().find_map(TableSchema::of);
        }
        Some(Self {
            known,
            named,
            pattern: schema.get("propertyNames").is_some(),
        })
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        let known = self.known.and_then(|known| known.get(key));
        known.or_else(|| self.named.filter(|_| !self.pattern || is_name(key)))
    }

    /// Reason why a key is refused here.
    fn refusal(&self, path: &[String]) -> String {
        let unknown = format!("unknown key `{}`", dotted(path));
        let (Some((key, above)), None) = (path.split_last(), self.named) else {
            return format!("{unknown}: a name is 1 to 64 of the characters A-Z a-z 0-9 _ -");
        };
        let known: Vec<&str> = self
            .known
            .into_iter()
            .flat_map(|known| known.keys())
            .map(String::as_str)
            .collect();
        if let Some(near) = nearest(key, known.iter().copied()) {
            return format!(
                "{unknown}; did you mean `{}`?",
                dotted(&[above, &[near.into()]].concat())
            );
        }
        match elsewhere(key) {
            Some(place) => format!("{unknown}; did you mean `{place}`?"),
            None => format!("{unknown}; known here are {}", known.join(", ")),
        }
    }
}

/// Every key that can be set, with its schema; `*` stands for a name.
#[must_use]
pub fn keys() -> Vec<(Vec<String>, &'static Value)> {
    fn collect(
        schema: &'static Value,
        path: &[String],
        found: &mut Vec<(Vec<String>, &'static Value)>,
    ) {
        let Some(table) = TableSchema::of(schema) else {
            return found.push((path.to_vec(), schema));
        };
        let below = |key: &str| [path, &[key.to_owned()]].concat();
        for (key, schema) in table.known.into_iter().flatten() {
            collect(schema, &below(key), found);
        }
        if let Some(named) = table.named {
            collect(named, &below("*"), found);
        }
    }
    let mut found = Vec::new();
    collect(schema(), &[], &mut found);
    found
}

/// The one place below no name where a key of this name is known, if it is one.
pub(crate) fn elsewhere(key: &str) -> Option<String> {
    fn collect(schema: &Value, key: &str, path: &[String], found: &mut Vec<String>) {
        let Some(known) = TableSchema::of(schema).and_then(|table| table.known) else {
            return;
        };
        for (name, schema) in known {
            let path = [path, std::slice::from_ref(name)].concat();
            if name == key {
                found.push(dotted(&path));
            }
            collect(schema, key, &path, found);
        }
    }
    let mut found = Vec::new();
    collect(schema(), key, &[], &mut found);
    found.into_iter().min_by_key(String::len)
}

/// Description of values that fit.
fn expected(schema: &Value) -> String {
    let choices = schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array);
    if let Some(choices) = choices {
        let mut words: Vec<String> = choices.iter().map(expected).collect();
        words.dedup();
        return words.join(" or ");
    }
    if let Some(only) = schema.get("const") {
        return only.to_string();
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(" or ");
    }
    let word = match schema.get("type") {
        Some(Value::String(kind)) => kind_word(kind).to_owned(),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .map(kind_word)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "another value".to_owned(),
    };
    word + &bounds(schema)
}

fn kind_word(kind: &str) -> &str {
    match kind {
        "string" => "a text",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "array" => "a list of texts",
        "object" => "a table",
        other => other,
    }
}

fn bounds(schema: &Value) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) if schema.get("minItems").is_some() => " that is not empty".into(),
        (None, None) if schema.get("pattern").is_some() => {
            " of the characters A-Z a-z 0-9 _ -".into()
        }
        (None, None) => String::new(),
    }
}

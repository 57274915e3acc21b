//! Completes a schema of a tool's arguments: what most APIs insist on and many tools leave out is added, and what no API
//! takes goes. It accepts no less than before; arguments are checked against the original.

use serde_json::{Map, Value, json};

/// Keywords that hold one schema.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];
/// Keywords that hold a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords that hold schemas by name.
const MAPS: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];
/// Keywords that several APIs refuse at the top of a schema.
const NOT_AT_THE_TOP: [&str; 7] = ["anyOf", "oneOf", "allOf", "not", "enum", "const", "if"];
/// Maximum length of a keyword that is told in words.
const IN_WORDS: usize = 1_000;

/// Completes the schema of a tool's arguments, which are an object.
pub(crate) fn complete(schema: &Value) -> Value {
    let mut root = match schema {
        Value::Object(members) => members.clone(),
        _ => Map::new(),
    };
    resolve(&mut root);
    let moved: Vec<(String, Value)> = NOT_AT_THE_TOP
        .iter()
        .filter_map(|word| Some(((*word).to_owned(), root.shift_remove(*word)?)))
        .collect();
    root.insert("type".into(), "object".into());
    for (word, value) in &moved {
        gather(&mut root, word, value);
    }
    Value::Object(members(&root))
}

/// Replaces a reference at the top by what it refers to.
fn resolve(root: &mut Map<String, Value>) {
    let Some(Value::String(to)) = root.get("$ref") else {
        return;
    };
    let whole = Value::Object(root.clone());
    let target = to.strip_prefix('#').and_then(|path| whole.pointer(path));
    let target = target.and_then(Value::as_object).cloned();
    root.shift_remove("$ref");
    for (word, value) in target.into_iter().flatten() {
        root.entry(word).or_insert(value);
    }
}

/// Gathers at the top what stood in alternatives: their properties, and the rest in words.
fn gather(root: &mut Map<String, Value>, word: &str, value: &Value) {
    for branch in value.as_array().into_iter().flatten() {
        for (name, property) in branch["properties"].as_object().into_iter().flatten() {
            let properties = root.entry("properties").or_insert_with(|| json!({}));
            if let Value::Object(properties) = properties {
                properties
                    .entry(name.clone())
                    .or_insert_with(|| property.clone());
            }
        }
        if word == "allOf"
            && let Value::Array(required) = &branch["required"]
        {
            let all = root.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.extend(required.iter().cloned());
            }
        }
    }
    let words = json!({ word: value }).to_string();
    if word != "allOf" && words.len() <= IN_WORDS {
        let before = root.get("description").and_then(Value::as_str);
        let before = before.map_or_else(String::new, |before| format!("{before} "));
        root.insert("description".into(), format!("{before}({words})").into());
    }
}

fn schema(value: &Value) -> Value {
    match value {
        Value::Object(all) => Value::Object(members(all)),
        // `true` accepts everything; a list in its place is of an older draft.
        _ => json!({}),
    }
}

fn members(of: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (word, value) in of {
        if let Some(value) = member(word, value) {
            out.insert(word.clone(), value);
        }
    }
    if !out.contains_key("type") {
        if out.contains_key("properties") {
            out.insert("type".into(), "object".into());
        } else if out.contains_key("items") {
            out.insert("type".into(), "array".into());
        }
    }
    if may_be(&out, "array") && !out.contains_key("items") {
        out.insert("items".into(), json!({}));
    }
    if may_be(&out, "object") && !out.contains_key("properties") {
        out.insert("properties".into(), json!({}));
    }
    out
}

/// The value of a keyword; `None` where it is of no use.
fn member(word: &str, value: &Value) -> Option<Value> {
    let is_text = |value: &&Value| value.is_string();
    Some(match (word, value) {
        ("additionalProperties" | "unevaluatedProperties", Value::Bool(_)) => value.clone(),
        ("not", Value::Bool(_)) => return None,
        (word, _) if ONE.contains(&word) => schema(value),
        (word, Value::Array(list)) if LISTS.contains(&word) && !list.is_empty() => {
            list.iter().map(schema).collect()
        }
        (word, Value::Object(map)) if MAPS.contains(&word) => {
            let each = map
                .iter()
                .map(|(name, inner)| (name.clone(), schema(inner)));
            Value::Object(each.collect())
        }
        // A list without names is how some languages write an empty map.
        ("properties", _) => json!({}),
        (word, _) if LISTS.contains(&word) || MAPS.contains(&word) => return None,
        ("required", Value::Array(names)) => {
            let mut known: Vec<&Value> = Vec::new();
            for name in names.iter().filter(is_text) {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
            json!(known)
        }
        ("enum", Value::Array(list)) if !list.is_empty() => value.clone(),
        ("description" | "title" | "pattern" | "format", Value::String(_)) => value.clone(),
        ("type", Value::String(kind)) if TYPES.contains(&kind.as_str()) => value.clone(),
        ("type", Value::Array(kinds)) => {
            let kinds: Vec<&Value> = kinds
                .iter()
                .filter(|kind| kind.as_str().is_some_and(|kind| TYPES.contains(&kind)))
                .collect();
            if kinds.is_empty() {
                return None;
            }
            json!(kinds)
        }
        ("required" | "enum" | "description" | "title" | "pattern" | "format" | "type", _) => {
            return None;
        }
        _ => value.clone(),
    })
}

fn may_be(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => false,
    }
}

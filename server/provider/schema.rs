//! Rewrites JSON schemas into the subset of each API, which refuses a request that goes beyond it.
//!
//! Constraints that an API cannot enforce go as text to the end of the description. Arguments and answers are always
//! checked against the original schema.

mod complete;
#[cfg(test)]
mod tests;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

pub(super) use self::complete::complete;

/// Maximum number of nested schemas.
const MAX_NODES: usize = 5_000;
/// Maximum depth.
const MAX_DEPTH: usize = 10;
/// Maximum number of values in all `enum` lists together.
const MAX_VALUES: usize = 1_000;

/// Keywords without effect on validation, which are dropped.
const ANNOTATIONS: [&str; 9] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$defs",
    "definitions",
    "examples",
    "title",
    "deprecated",
];
/// Keywords that change the structure. If an API does not know one, it cannot enforce the schema.
const STRUCTURAL: [&str; 16] = [
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "prefixItems",
    "contains",
    "patternProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
];
/// Formats that the strict APIs have in common.
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// The subset of JSON Schema that an API supports.
struct SchemaDialect {
    /// Whether a keyword is supported, besides type, properties, required, additionalProperties, items, anyOf, enum and
    /// description.
    takes: fn(&str, &Value) -> bool,
    /// Whether the API enforces the schema to the letter: all objects are closed, and a schema outside of the subset is
    /// not supported at all. Otherwise unsupported parts are left open.
    strict: bool,
    /// Whether all properties must be required.
    all_required: bool,
    /// Whether `const` is supported.
    takes_const: bool,
    /// Whether a value of `enum` is supported.
    takes_value: fn(&Value) -> bool,
    /// Whether values are repeated in the description, because the API may not enforce them.
    tells_values: bool,
}

/// Rewrites a schema for OpenAI's `strict`, which requires closed objects and required properties. `None` if the result
/// would accept more than the schema: an optional property could only become nullable.
pub(super) fn for_openai(schema: &Value) -> Option<Value> {
    let dialect = SchemaDialect {
        takes: |word, value| match word {
            "pattern" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" | "minItems" | "maxItems" => true,
            "format" => is_one_of(value, &FORMATS),
            _ => false,
        },
        strict: true,
        all_required: true,
        takes_const: false,
        takes_value: |_| true,
        tells_values: false,
    };
    let schema = dialect.rewrite(schema)?;
    (schema["type"] == "object" && schema.get("anyOf").is_none()).then_some(schema)
}

/// Rewrites a schema for Anthropic's `strict` and answer formats. `None` if it is outside of the subset. (The API's
/// limits for all tools of a request together are not checked here.)
pub(super) fn for_anthropic(schema: &Value) -> Option<Value> {
    let dialect = SchemaDialect {
        takes: |word, value| match word {
            "default" => true,
            "format" => is_one_of(value, &FORMATS) || value == "uri",
            "minItems" => matches!(value.as_u64(), Some(0 | 1)),
            "pattern" => value.as_str().is_some_and(is_simple),
            _ => false,
        },
        strict: true,
        all_required: false,
        takes_const: true,
        takes_value: |value| !value.is_array() && !value.is_object(),
        tells_values: false,
    };
    let schema = dialect.rewrite(schema)?;
    (schema["type"] == "object").then_some(schema)
}

/// Rewrites a schema for Gemini's parameters and answers, as closely as its subset allows.
pub(super) fn for_gemini(schema: &Value) -> Value {
    let dialect = SchemaDialect {
        takes: |word, _| {
            matches!(
                word,
                "title"
                    | "format"
                    | "prefixItems"
                    | "minItems"
                    | "maxItems"
                    | "minimum"
                    | "maximum"
            )
        },
        strict: false,
        all_required: false,
        takes_const: false,
        takes_value: |value| {
            value.is_number() || value.as_str().is_some_and(|text| !text.is_empty())
        },
        tells_values: false,
    };
    dialect.rewrite(schema).unwrap_or_else(|| json!({}))
}

/// Rewrites a schema for Ollama's parameters and answers. A single value becomes a list of one and is described too.
pub(super) fn for_ollama(schema: &Value) -> Value {
    let dialect = SchemaDialect {
        takes: |word, _| !matches!(word, "$defs" | "definitions"),
        strict: false,
        all_required: false,
        takes_const: false,
        takes_value: |_| true,
        tells_values: true,
    };
    dialect.rewrite(schema).unwrap_or_else(|| json!({}))
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|value| words.contains(&value))
}

/// Whether Anthropic can compile a pattern: it has no lookaround, back-references or word boundaries.
fn is_simple(pattern: &str) -> bool {
    let special = |escape: char| matches!(escape, 'b' | 'B' | 'k') || escape.is_ascii_digit();
    let mut chars = pattern.chars();
    let mut before = ' ';
    while let Some(char) = chars.next() {
        let refused = match char {
            '\\' => chars.next().is_some_and(special),
            '?' => before == '(' && !chars.as_str().starts_with(':'),
            _ => false,
        };
        if refused {
            return false;
        }
        before = char;
    }
    true
}

/// Keywords of a schema, with their values.
type Keywords<'a> = IndexMap<&'a str, &'a Value>;

/// State of rewriting one schema.
struct SchemaRewrite<'a> {
    dialect: &'a SchemaDialect,
    root: &'a Value,
    /// Number of schemas that may still follow.
    nodes: usize,
    /// Number of values that may still follow.
    values: usize,
    /// References being resolved, to detect cycles.
    open: Vec<String>,
}

impl SchemaDialect {
    fn rewrite(&self, schema: &Value) -> Option<Value> {
        let mut rewrite = SchemaRewrite {
            dialect: self,
            root: schema,
            nodes: MAX_NODES,
            values: MAX_VALUES,
            open: Vec::new(),
        };
        rewrite.schema(schema, 0)
    }
}

impl SchemaRewrite<'_> {
    /// Rewrites a schema. `None` if it is outside of a strict dialect.
    fn schema(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        match schema {
            Value::Object(members) => {
                let members = members.iter().map(|(word, value)| (word.as_str(), value));
                self.members(&members.collect(), depth)
            }
            _ => self.anything(""),
        }
    }

    fn members(&mut self, members: &Keywords<'_>, depth: usize) -> Option<Value> {
        if self.nodes == 0 || depth > MAX_DEPTH || self.open.len() > MAX_DEPTH {
            return self.anything("");
        }
        self.nodes -= 1;
        match (members.get("$ref"), members.get("allOf")) {
            (Some(Value::String(reference)), _) => self.reference(reference, members, depth),
            (_, Some(Value::Array(all))) if all.len() == 1 => {
                self.members(&merged(&all[0], members, "allOf"), depth)
            }
            _ => {
                let mut out = Map::new();
                let mut words = Vec::new();
                for (word, value) in members {
                    self.member((word, value), depth, &mut out, &mut words)?;
                }
                self.complete(&mut out, depth)?;
                describe(&mut out, &words);
                Some(Value::Object(out))
            }
        }
    }

    /// Resolves a reference: an API that supports references supports no keywords beside them.
    fn reference(&mut self, to: &str, members: &Keywords<'_>, depth: usize) -> Option<Value> {
        let root = self.root;
        let target = to.strip_prefix('#').and_then(|path| root.pointer(path));
        let Some(target) = target.filter(|_| !self.open.iter().any(|open| open == to)) else {
            return self.anything(to);
        };
        self.open.push(to.to_owned());
        let schema = self.members(&merged(target, members, "$ref"), depth);
        self.open.pop();
        schema
    }

    /// Replacement for an unsupported schema.
    fn anything(&self, what: &str) -> Option<Value> {
        match (self.dialect.strict, what) {
            (true, _) => None,
            (false, "") => Some(json!({})),
            (false, what) => Some(json!({"description": format!("As in {what}.")})),
        }
    }

    fn member(
        &mut self,
        member: (&str, &Value),
        depth: usize,
        out: &mut Map<String, Value>,
        words: &mut Vec<String>,
    ) -> Option<()> {
        let rewritten = match member {
            ("properties", Value::Object(properties)) => {
                let mut map = Map::new();
                for (name, property) in properties {
                    map.insert(name.clone(), self.schema(property, depth + 1)?);
                }
                Value::Object(map)
            }
            ("items", Value::Object(_)) => self.schema(member.1, depth + 1)?,
            ("additionalProperties", Value::Object(_)) if !self.dialect.strict => {
                self.schema(member.1, depth + 1)?
            }
            ("anyOf" | "oneOf", Value::Array(list)) => {
                let list = self.list(list, depth)?;
                out.insert("anyOf".into(), list);
                return Some(());
            }
            (word @ ("allOf" | "prefixItems"), Value::Array(list))
                if (self.dialect.takes)(word, member.1) =>
            {
                self.list(list, depth)?
            }
            ("const", value) if !self.dialect.takes_const => {
                return self.values(std::slice::from_ref(value), out, words);
            }
            ("enum", Value::Array(list)) => return self.values(list, out, words),
            ("type" | "required" | "additionalProperties" | "description", value) => value.clone(),
            ("const", value) => value.clone(),
            (word, value) if (self.dialect.takes)(word, value) => value.clone(),
            (word, _) if ANNOTATIONS.contains(&word) => return Some(()),
            (word, _) if self.dialect.strict && STRUCTURAL.contains(&word) => return None,
            (_, Value::Null) => return Some(()),
            (word, value) => {
                words.push(format!("{word} {value}"));
                return Some(());
            }
        };
        out.insert(member.0.to_owned(), rewritten);
        Some(())
    }

    fn list(&mut self, list: &[Value], depth: usize) -> Option<Value> {
        let list: Option<Vec<Value>> = list
            .iter()
            .map(|schema| self.schema(schema, depth + 1))
            .collect();
        list.map(Value::Array)
    }

    /// Writes a list of values, or describes it if one of them is not supported.
    fn values(
        &mut self,
        list: &[Value],
        out: &mut Map<String, Value>,
        words: &mut Vec<String>,
    ) -> Option<()> {
        let taken = list.len() <= self.values && list.iter().all(self.dialect.takes_value);
        if !taken && self.dialect.strict {
            return None;
        }
        if !taken || self.dialect.tells_values {
            words.push(format!("one of {}", Value::from(list)));
        }
        if taken {
            self.values -= list.len();
            out.insert("enum".into(), list.into());
        }
        if let Some(kind) = kind_of(list) {
            out.entry("type").or_insert_with(|| kind.into());
        }
        Some(())
    }

    /// Adds the keywords that the dialect requires.
    fn complete(&self, out: &mut Map<String, Value>, depth: usize) -> Option<()> {
        if out.contains_key("properties") {
            out.entry("type").or_insert_with(|| "object".into());
        }
        if !self.dialect.strict {
            return Some(());
        }
        let says_what = ["type", "anyOf", "enum", "const"];
        let of_anything = !says_what.iter().any(|word| out.contains_key(*word));
        if of_anything || (may_be(out, "array") && !out.contains_key("items")) {
            return None;
        }
        if may_be(out, "object") {
            self.close(out, depth)?;
        }
        Some(())
    }

    /// Closes an object: only its named properties are allowed.
    fn close(&self, out: &mut Map<String, Value>, depth: usize) -> Option<()> {
        let open = out
            .get("additionalProperties")
            .is_some_and(|more| *more != false);
        // An object without properties may hold anything, except at the top level: arguments without properties are
        // empty.
        let free = depth > 0 && !out.contains_key("additionalProperties");
        let no_properties = Map::new();
        let properties = match out.get("properties") {
            Some(Value::Object(properties)) => properties,
            _ if free => return None,
            _ => &no_properties,
        };
        let required = names(out.get("required"));
        let is_required = |name: &str| required.contains(&name);
        let all_known = required.iter().all(|name| properties.contains_key(*name));
        let missing = |(name, schema): (&String, &Value)| !is_required(name) && !takes_null(schema);
        if open || !all_known || (self.dialect.all_required && properties.iter().any(missing)) {
            return None;
        }
        if self.dialect.all_required {
            let all: Vec<Value> = properties.keys().cloned().map(Value::from).collect();
            out.entry("properties").or_insert_with(|| json!({}));
            out.insert("required".into(), all.into());
        }
        out.insert("additionalProperties".into(), false.into());
        Some(())
    }
}

/// The referenced schema, overridden by the keywords beside the reference.
fn merged<'a>(target: &'a Value, beside: &Keywords<'a>, word: &str) -> Keywords<'a> {
    let mut members: Keywords<'a> = beside.clone();
    members.shift_remove(word);
    for (name, value) in target.as_object().into_iter().flatten() {
        members.entry(name).or_insert(value);
    }
    members
}

/// Appends constraints to the description.
fn describe(out: &mut Map<String, Value>, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let words = words.join("; ");
    let description = match out.get("description").and_then(Value::as_str) {
        Some(description) if !description.is_empty() => format!("{description} ({words})"),
        _ => format!("({words})"),
    };
    out.insert("description".into(), description.into());
}

fn names(required: Option<&Value>) -> Vec<&str> {
    let list = required.and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether `type` is or includes `kind`.
fn may_be(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => false,
    }
}

fn takes_null(schema: &Value) -> bool {
    let Value::Object(members) = schema else {
        return false;
    };
    let any = members.get("anyOf").and_then(Value::as_array);
    let values = members.get("enum").and_then(Value::as_array);
    (may_be(members, "null") && values.is_none_or(|values| values.contains(&Value::Null)))
        || any.is_some_and(|any| any.iter().any(takes_null))
}

/// The common type of all values, if they have one.
fn kind_of(values: &[Value]) -> Option<&'static str> {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let first = kind(values.first()?);
    values
        .iter()
        .all(|value| kind(value) == first)
        .then_some(first)
}

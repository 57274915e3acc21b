//! The subsets of JSON Schema that strict tools and formats take.

use serde_json::{Map, Value};

use super::{CheckFindings, elements};

/// The API whose subset of JSON schema counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaSubset {
    Anthropic,
    Openai,
    Gemini,
}

impl SchemaSubset {
    /// The keywords that may be used; `None` when only the refused ones are known.
    fn allowed(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some(
                "type enum const anyOf allOf $ref $defs definitions default required title \
                 additionalProperties properties items format minItems pattern description",
            ),
            Self::Openai => None,
            Self::Gemini => Some(
                "$id $defs $ref $anchor type format title description enum items prefixItems minItems \
                 maxItems minimum maximum anyOf oneOf properties additionalProperties required \
                 propertyOrdering",
            ),
        }
    }

    fn refused(self) -> &'static str {
        match self {
            Self::Openai => "const allOf not if then else patternProperties",
            Self::Anthropic | Self::Gemini => "const",
        }
    }

    fn takes(self, keyword: &str) -> bool {
        let listed = |words: &str| words.split_whitespace().any(|word| word == keyword);
        self.allowed()
            .map_or_else(|| !listed(self.refused()), listed)
    }
}

/// Formats of text that Anthropic's grammars know.
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Says what keeps a schema from being used strictly.
pub(super) fn strict(
    found: &mut CheckFindings,
    place: &str,
    schema: &Value,
    dialect: SchemaSubset,
) {
    if dialect == SchemaSubset::Openai {
        if schema["type"] != "object" {
            found.say(place, "the root of a strict schema must be an object");
        }
        if schema.get("anyOf").is_some() {
            found.say(
                place,
                "`anyOf` is not allowed at the root of a strict schema",
            );
        }
    }
    if dialect == SchemaSubset::Anthropic && recursive(schema, schema, &mut Vec::new()) {
        found.say(place, "a strict schema must not be recursive");
    }
    walk(found, place, schema, dialect);
}

/// Says where a schema uses `const`, for providers that ignore it.
pub(super) fn no_const(found: &mut CheckFindings, place: &str, schema: &Value) {
    if schema.get("const").is_some() {
        found.say(place, "`const` is not honoured: use an `enum` of one value");
    }
    for (place, inner) in inner(place, schema) {
        no_const(found, &place, inner);
    }
}

/// How many parameters are optional, and how many have a union type.
pub(super) fn optional_and_unions(schema: &Value) -> (usize, usize) {
    let optional = schema["properties"].as_object().map_or(0, |properties| {
        properties
            .keys()
            .filter(|name| !requires(schema, name))
            .count()
    });
    let union = usize::from(schema.get("anyOf").is_some() || schema["type"].is_array());
    inner("", schema)
        .map(|(_, inner)| optional_and_unions(inner))
        .fold((optional, union), |(optional, unions), (more, others)| {
            (optional + more, unions + others)
        })
}

fn requires(schema: &Value, name: &str) -> bool {
    schema["required"]
        .as_array()
        .is_some_and(|names| names.iter().any(|required| required == name))
}

fn walk(found: &mut CheckFindings, place: &str, schema: &Value, dialect: SchemaSubset) {
    let Some(object) = schema.as_object() else {
        return;
    };
    for keyword in object.keys().filter(|keyword| !dialect.takes(keyword)) {
        found.say(
            place,
            format_args!("`{keyword}` is not allowed in a strict schema"),
        );
    }
    reference(found, place, object, dialect);
    match dialect {
        SchemaSubset::Anthropic => {
            closed(found, place, schema);
            grammar(found, place, schema);
        }
        SchemaSubset::Openai => {
            closed(found, place, schema);
            all_required(found, place, schema);
        }
        SchemaSubset::Gemini => {
            if elements("", &schema["enum"]).any(|(_, value)| value == "") {
                found.say(place, "an enum must not hold empty text");
            }
        }
    }
    for (place, inner) in inner(place, schema) {
        walk(found, &place, inner, dialect);
    }
}

/// The schemas directly inside a schema.
fn inner<'a>(place: &str, schema: &'a Value) -> impl Iterator<Item = (String, &'a Value)> {
    let named = ["properties", "$defs", "definitions"]
        .into_iter()
        .flat_map(move |group| {
            let members = schema[group].as_object().into_iter().flatten();
            members.map(move |(name, inner)| (format!("{group}/{name}"), inner))
        });
    let listed = ["anyOf", "oneOf", "allOf", "prefixItems"]
        .into_iter()
        .flat_map(move |group| elements(group, &schema[group]).collect::<Vec<_>>());
    let items = schema.get("items").map(|inner| ("items".to_owned(), inner));
    named
        .chain(listed)
        .chain(items)
        .map(move |(name, inner)| (format!("{place}/{name}"), inner))
}

/// Objects say that they have no other members.
fn closed(found: &mut CheckFindings, place: &str, schema: &Value) {
    let object = schema["type"] == "object" || schema.get("properties").is_some();
    if object && schema["additionalProperties"] != false {
        found.say(
            place,
            "`additionalProperties` must be false in a strict schema",
        );
    }
}

/// OpenAI: optional is a union with null.
fn all_required(found: &mut CheckFindings, place: &str, schema: &Value) {
    for name in schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
    {
        if !requires(schema, name) {
            found.say(
                place,
                format_args!("`{name}` must be required in a strict schema"),
            );
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        found.say(place, "`default` must not be null in a strict schema");
    }
}

/// Anthropic: what its grammars cannot express.
fn grammar(found: &mut CheckFindings, place: &str, schema: &Value) {
    if schema
        .get("minItems")
        .is_some_and(|least| *least != 0 && *least != 1)
    {
        found.say(place, "`minItems` may only be 0 or 1 in a strict schema");
    }
    if let Some(format) = schema["format"]
        .as_str()
        .filter(|format| !FORMATS.contains(format))
    {
        found.say(
            place,
            format_args!("the format {format} is not known in a strict schema"),
        );
    }
    if elements("", &schema["enum"]).any(|(_, value)| value.is_object() || value.is_array()) {
        found.say(place, "an enum of a strict schema may only hold scalars");
    }
    if elements("", &schema["allOf"]).any(|(_, inner)| inner.get("$ref").is_some()) {
        found.say(place, "`allOf` must not hold a `$ref` in a strict schema");
    }
    let pattern = super::text(schema, "pattern");
    let back = (1..=9).any(|group| pattern.contains(&format!("\\{group}")));
    if back
        || ["(?=", "(?!", "(?<", "\\b"]
            .iter()
            .any(|part| pattern.contains(part))
    {
        found.say(
            place,
            "a pattern of a strict schema must not look around or back",
        );
    }
}

fn reference(
    found: &mut CheckFindings,
    place: &str,
    schema: &Map<String, Value>,
    dialect: SchemaSubset,
) {
    let Some(target) = schema.get("$ref").and_then(Value::as_str) else {
        return;
    };
    if !target.starts_with('#') {
        found.say(place, "a `$ref` must stay inside its schema");
    }
    let beside = schema.keys().any(|keyword| match dialect {
        SchemaSubset::Anthropic => false,
        SchemaSubset::Openai => keyword != "$ref",
        SchemaSubset::Gemini => !keyword.starts_with('$'),
    });
    if beside {
        found.say(place, "a `$ref` must stand alone");
    }
}

/// Whether following references comes back to one that is being followed.
fn recursive<'a>(root: &'a Value, schema: &'a Value, path: &mut Vec<&'a str>) -> bool {
    if let Some(target) = schema["$ref"].as_str() {
        if path.contains(&target) {
            return true;
        }
        path.push(target);
        let inner = target
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        let found = inner.is_some_and(|inner| recursive(root, inner, path));
        path.pop();
        if found {
            return true;
        }
    }
    inner("", schema).any(|(_, inner)| recursive(root, inner, path))
}

//! Validates the tools that a server lists. An invalid tool is left out, the others stay. Pure.

use std::collections::BTreeMap;

use aside_base::visible::{is_hidden, short_line, without_hidden};
use serde_json::{Map, Value, json};

use super::{form::clean, settings::McpDefinition};

/// Maximum number of tools of one server.
const MAX_TOOLS: usize = 512;
/// Maximum depth of a schema as JSON, where each of its own levels takes two or three.
const MAX_DEPTH: usize = 64;
/// Maximum number of values in a schema.
const MAX_NODES: usize = 5000;
/// Maximum length of a tool's name that every provider accepts.
const MAX_NAME: usize = 64;
/// The reason why a tool is left out whose names and values cannot be seen whole.
const HIDDEN: &str = "its input schema has hidden characters in a name or a value";

/// The tools of a server, as it lists them.
#[derive(Default)]
pub(super) struct ToolPages {
    pub(super) tools: Vec<Value>,
    /// The reason why these may not be all.
    pub(super) fault: Option<String>,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedTool {
    /// Name for models: the server's name, two underscores, the tool's own name.
    pub(super) name: String,
    /// Name at the server.
    pub(super) remote: String,
    /// Description by the server.
    pub(super) description: String,
    /// JSON schema of the arguments.
    pub(super) schema: Value,
    /// Whether the server declares the tool as non-destructive. Nothing relies on that.
    pub(super) is_harmless: bool,
    /// SHA-256 of everything that the server declares of the tool.
    pub(super) hash: String,
}

/// Returns the configured tools among the listed ones, sorted by name, and messages about invalid ones.
pub(super) fn tools(
    definition: &McpDefinition,
    listed: ToolPages,
) -> (Vec<ListedTool>, Vec<String>) {
    let wanted = |value: &&Value| {
        let name = value["name"].as_str();
        name.is_none_or(|name| definition.offered.has(name))
    };
    let wanted = listed.tools.iter().filter(wanted);
    let (tools, mut faults) = checked(&definition.name, wanted);
    faults.extend(listed.fault);
    (tools, faults)
}

fn checked<'a>(
    server: &str,
    mut listed: impl Iterator<Item = &'a Value>,
) -> (Vec<ListedTool>, Vec<String>) {
    let mut faults = Vec::new();
    let mut tools: BTreeMap<String, ListedTool> = BTreeMap::new();
    for value in listed.by_ref().take(MAX_TOOLS) {
        let remote = value["name"].as_str().unwrap_or_default();
        match tool(server, remote, value) {
            Ok(tool) if tools.contains_key(&tool.name) => faults.push(format!(
                "its tool `{}` is left out: another tool has the same name",
                short_line(remote, 80)
            )),
            Ok(tool) => drop(tools.insert(tool.name.clone(), tool)),
            Err(why) => faults.push(format!(
                "its tool `{}` is left out: {why}",
                short_line(remote, 80)
            )),
        }
    }
    if listed.next().is_some() {
        faults.push(format!(
            "only the first {MAX_TOOLS} of its tools are available"
        ));
    }
    (tools.into_values().collect(), faults)
}

fn tool(server: &str, remote: &str, value: &Value) -> Result<ListedTool, String> {
    if remote.is_empty() || remote.len() > 128 {
        return Err("its name must have 1 to 128 characters".to_owned());
    }
    let mut schema = of_object(value["inputSchema"].clone());
    check(&schema)?;
    unhide(&mut schema)?;
    let said: Value = [
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
    ]
    .iter()
    .map(|key| value[key].clone())
    .collect();
    let text = ["title", "description"].map(|key| clean(value[key].as_str().unwrap_or_default()));
    let description = match text {
        [title, description] if description.is_empty() => title,
        [_, description] => description,
    };
    Ok(ListedTool {
        name: name_of(server, remote),
        remote: remote.to_owned(),
        description: format!("(From the MCP server {server}.) {description}"),
        schema,
        is_harmless: value["annotations"]["destructiveHint"] == false
            || value["annotations"]["readOnlyHint"] == true,
        hash: aside_base::digest::sha256(sorted(&said).to_string().as_bytes()),
    })
}

/// The schema of an object where it is said in another way: arguments are an object in any case.
fn of_object(schema: Value) -> Value {
    let mut schema = match schema {
        Value::Null | Value::Bool(true) => json!({}),
        schema => schema,
    };
    if let Value::Object(members) = &mut schema {
        let is_object = match members.get("type") {
            None => true,
            Some(Value::Array(types)) => types.iter().any(|it| it == "object"),
            Some(_) => false,
        };
        if is_object {
            members.insert("type".to_owned(), json!("object"));
        }
    }
    schema
}

/// Removes hidden characters from what a schema says of itself.
///
/// # Errors
/// Hidden characters in a name or a value, which the server would not know again without them.
fn unhide(schema: &mut Value) -> Result<(), String> {
    match schema {
        Value::Array(list) => list.iter_mut().try_for_each(unhide),
        Value::Object(map) => map.iter_mut().try_for_each(|(key, value)| match value {
            _ if key.contains(is_hidden) => Err(HIDDEN.to_owned()),
            Value::String(text) if ["title", "description", "$comment"].contains(&key.as_str()) => {
                *text = without_hidden(text).into_owned();
                Ok(())
            }
            value => unhide(value),
        }),
        Value::String(text) if text.contains(is_hidden) => Err(HIDDEN.to_owned()),
        _ => Ok(()),
    }
}

/// Checks that arguments can be validated against a schema and that every provider accepts it.
fn check(schema: &Value) -> Result<(), String> {
    if schema["type"] != "object" {
        return Err("its input schema must describe an object".to_owned());
    }
    if let Some(key) = ["anyOf", "oneOf", "allOf"]
        .iter()
        .find(|key| schema.get(**key).is_some())
    {
        return Err(format!(
            "its input schema has `{key}` at the top level, which no provider supports"
        ));
    }
    let mut left = MAX_NODES;
    is_within(schema, MAX_DEPTH, &mut left)?;
    match jsonschema::validator_for(schema) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "its input schema is invalid: {}",
            short_line(&error.to_string(), 120)
        )),
    }
}

/// Checks that a schema is small and has no external references.
///
/// # Errors
/// The bound that it breaks.
fn is_within(value: &Value, depth: usize, left: &mut usize) -> Result<(), String> {
    if depth == 0 {
        return Err(format!(
            "its input schema is nested deeper than {MAX_DEPTH} levels"
        ));
    }
    *left = left.checked_sub(1).ok_or_else(|| {
        format!("its input schema is too large: it has more than {MAX_NODES} values")
    })?;
    match value {
        Value::Array(list) => list
            .iter()
            .try_for_each(|it| is_within(it, depth - 1, left)),
        Value::Object(map) => map.iter().try_for_each(|(key, it)| match it.as_str() {
            Some(to) if key == "$ref" && !to.starts_with('#') => Err(format!(
                "its input schema refers to another place: {}",
                short_line(to, 80)
            )),
            _ => is_within(it, depth - 1, left),
        }),
        _ => Ok(()),
    }
}

/// A name that every provider accepts. It is never parsed: the tool keeps the server's own name. Underscores in a row stand
/// behind the server's name alone, so that no server names a tool as another one does.
fn name_of(server: &str, remote: &str) -> String {
    let is_own = |c: &char| matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '-');
    let parts = remote
        .split(|c: char| !is_own(&c))
        .filter(|it| !it.is_empty());
    let plain = parts.collect::<Vec<_>>().join("_");
    let name = format!("{server}__{plain}");
    if name.len() <= MAX_NAME && !plain.is_empty() {
        return name;
    }
    let digest = aside_base::digest::sha256(format!("{server}__{remote}").as_bytes());
    let end = name.len().min(MAX_NAME - 9);
    format!("{}_{}", &name[..end], &digest[..8])
}

/// The value with the keys of all objects sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(sorted).collect(),
        Value::Object(map) => {
            let members: BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            let members: Map<String, Value> = members
                .into_iter()
                .map(|(key, value)| (key.clone(), value))
                .collect();
            json!(members)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, schema: Value) -> Value {
        json!({"name": name, "description": "Does.", "inputSchema": schema})
    }

    #[test]
    fn invalid_tools_are_dropped_individually() {
        let object = || json!({"type": "object"});
        let deep = (0..40).fold(json!({}), |inner, _| json!({"properties": {"x": inner}}));
        let all = [
            listed("b", object()),
            listed("a.b", object()),
            listed("a b", object()),
            listed("", object()),
            listed("array", json!({"type": "array"})),
            listed("any", json!({"type": "object", "anyOf": []})),
            listed(
                "far",
                json!({"type": "object", "$ref": "https://example.com/x"}),
            ),
            listed("deep", json!({"type": "object", "properties": {"x": deep}})),
            listed("broken", json!({"type": "object", "properties": 3})),
            json!(7),
        ];
        let (tools, faults) = checked("s", all.iter());
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["s__a_b", "s__b"]);
        assert_eq!(tools[0].remote, "a.b");
        assert_eq!(faults.len(), 8, "{faults:#?}");
    }

    #[test]
    fn nothing_hidden_in_a_schema_reaches_a_model() {
        let hides = "Do\u{200b}es\u{2066} it\u{e0041}.";
        let schema = json!({"type": "object", "properties": {
            "description": {"type": "string", "description": hides, "enum": ["a"]}}});
        let (tools, faults) = checked("s", [listed("a", schema)].iter());
        assert_eq!(faults, [] as [String; 0]);
        let said = &tools[0].schema["properties"]["description"]["description"];
        assert_eq!(said, "Does it.");
        for schema in [
            json!({"type": "object", "properties": {"a\u{200b}": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"enum": ["x\u{e0041}"]}}}),
            json!({"type": "object", "required": ["\u{2066}a"]}),
        ] {
            let (tools, faults) = checked("s", [listed("a", schema)].iter());
            assert!(tools.is_empty() && faults[0].contains(HIDDEN), "{faults:?}");
        }
    }

    #[test]
    fn long_names_are_shortened_and_stay_distinct() {
        let long = |end: &str| name_of("server", &("x".repeat(100) + end));
        assert_eq!(long("a").len(), MAX_NAME);
        assert_ne!(long("a"), long("b"));
        assert_eq!(name_of("s", "get-sum"), "s__get-sum");
        assert_eq!(name_of("s", "get_sum"), "s__get_sum");
        assert_ne!(name_of("a", "b__c"), name_of("a__b", "c"));
        assert_ne!(name_of("a", "_b"), name_of("a_", "b"));
        assert_ne!(name_of("a", "é"), name_of("a", "ü"));
    }

    #[test]
    fn hash_covers_all_members_in_any_order() {
        let hash = |text: &str| {
            let value: Value = serde_json::from_str(text).unwrap();
            checked("s", [value].iter()).0[0].hash.clone()
        };
        let one =
            r#"{"name":"a","description":"x","inputSchema":{"type":"object","properties":{}}}"#;
        let same =
            r#"{"inputSchema":{"properties":{},"type":"object"},"description":"x","name":"a"}"#;
        assert_eq!(hash(one), hash(same));
        assert_ne!(hash(one), hash(&one.replace("\"x\"", "\"y\"")));
        let hinted = one.replace("\"name\"", r#""annotations":{"readOnlyHint":true},"name""#);
        assert_ne!(hash(one), hash(&hinted));
    }
}

//! The Agent Client Protocol: each message of an agent checked against its schema, and the names of all fields.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use jsonschema::Validator;
use serde_json::{Value, json};

const STABLE: &str = include_str!("../../acp/schema.json");
const UNSTABLE: &str = include_str!("../../acp/schema.unstable.json");

/// What only the unstable schema has.
const ONLY_UNSTABLE: [&str; 2] = ["session/fork", "session/set_title"];

/// The messages of one connection.
#[derive(Debug, Default)]
pub struct Messages {
    /// The method of each request that was not answered yet: whether it is the agent's to answer, and its id.
    open: HashMap<(bool, String), String>,
}

impl Messages {
    /// Looks at a message, which goes to the agent or to the client.
    ///
    /// # Errors
    /// It is the agent's, and not as the protocol has it: what is wrong with it.
    pub fn check(&mut self, to_agent: bool, message: &Value) -> Result<(), String> {
        let Some(object) = message.as_object() else {
            return Ok(());
        };
        let id = message["id"].to_string();
        let (method, kind, value) = match (object.get("method"), object.get("result")) {
            (Some(method), _) => {
                let method = method.as_str().unwrap_or_default().to_owned();
                if object.contains_key("id") {
                    self.open.insert((to_agent, id), method.clone());
                }
                (method, "Params", &message["params"])
            }
            (None, Some(result)) => {
                let Some(method) = self.open.remove(&(!to_agent, id)) else {
                    return Ok(());
                };
                (method, "Response", result)
            }
            (None, None) => {
                self.open.remove(&(!to_agent, id));
                return match to_agent {
                    true => Ok(()),
                    false => check("Error", false, &message["error"]),
                };
            }
        };
        // What a client says is its own affair.
        if to_agent {
            return Ok(());
        }
        let is_unstable = ONLY_UNSTABLE.contains(&method.as_str());
        match definition(&method, kind == "Response", is_unstable) {
            Some(name) => check(&name, is_unstable, value),
            None if method.starts_with('_') => Ok(()),
            None => Err(format!("the protocol has no {kind} of {method}")),
        }
    }
}

/// The name of a method's params or response in the schema.
fn definition(method: &str, is_response: bool, is_unstable: bool) -> Option<String> {
    let definitions = schema(is_unstable)["$defs"].as_object()?;
    let mut named = definitions
        .iter()
        .filter(|(name, it)| it["x-method"] == method && name.ends_with("Response") == is_response);
    named.next().map(|(name, _)| name.clone())
}

fn schema(is_unstable: bool) -> &'static Value {
    static BOTH: OnceLock<[Value; 2]> = OnceLock::new();
    let both = BOTH
        .get_or_init(|| [STABLE, UNSTABLE].map(|text| serde_json::from_str(text).expect("JSON")));
    &both[usize::from(is_unstable)]
}

fn check(name: &str, is_unstable: bool, value: &Value) -> Result<(), String> {
    static KNOWN: Mutex<Option<HashMap<(String, bool), &'static Validator>>> = Mutex::new(None);
    let validator = *KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_default()
        .entry((name.to_owned(), is_unstable))
        .or_insert_with(|| {
            let whole =
                json!({ "$ref": format!("#/$defs/{name}"), "$defs": schema(is_unstable)["$defs"] });
            let validator = jsonschema::validator_for(&whole).expect("the protocol's schema");
            Box::leak(Box::new(validator))
        });
    if let Err(wrong) = validator.validate(value) {
        let place = wrong.instance_path();
        return Err(format!("no {name}: {wrong} at {place}: {value:#}"));
    }
    let mut names = Vec::new();
    unknown_names(value, &mut names);
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!("no field of the protocol: {names:?} in {value:#}")),
    }
}

/// The schema lets unknown fields pass, so that a misspelt one is found by its name alone.
fn unknown_names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|it| unknown_names(it, found)),
        Value::Object(object) => {
            for (name, value) in object {
                // What is in these is free.
                let is_free =
                    ["_meta", "rawInput", "data", "properties", "env"].contains(&name.as_str());
                if !all_names().contains(name.as_str()) {
                    found.push(name.clone());
                } else if !is_free {
                    unknown_names(value, found);
                }
            }
        }
        _ => {}
    }
}

fn all_names() -> &'static std::collections::HashSet<String> {
    static NAMES: OnceLock<std::collections::HashSet<String>> = OnceLock::new();
    fn collect(schema: &Value, into: &mut std::collections::HashSet<String>) {
        match schema {
            Value::Array(list) => list.iter().for_each(|it| collect(it, into)),
            Value::Object(object) => {
                if let Some(properties) = object.get("properties").and_then(Value::as_object) {
                    into.extend(properties.keys().cloned());
                }
                object.values().for_each(|it| collect(it, into));
            }
            _ => {}
        }
    }
    NAMES.get_or_init(|| {
        let mut names = std::collections::HashSet::new();
        collect(schema(true), &mut names);
        names
    })
}

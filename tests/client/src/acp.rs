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

/// What is in these is free.
const FREE: [&str; 4] = ["_meta", "rawInput", "rawOutput", "data"];

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
    // The schema lets unknown fields pass, so that a misspelt one is found where each object is closed. What is announced
    // by a marker of the unstable one is no misspelling.
    for schema in [schema(is_unstable), closed()] {
        if let Err(wrong) = validator(name, schema).validate(value) {
            let place = wrong.instance_path();
            return Err(format!("no {name}: {wrong} at {place}: {value:#}"));
        }
    }
    Ok(())
}

/// A validator of a definition, made once.
fn validator(name: &str, schema: &'static Value) -> &'static Validator {
    type Known = HashMap<(String, usize), &'static Validator>;
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = std::ptr::from_ref(schema).addr();
    known
        .get_or_insert_default()
        .entry((name.to_owned(), place))
        .or_insert_with(|| {
            let mut whole = json!({ "$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"] });
            if place == std::ptr::from_ref(closed()).addr() {
                whole["unevaluatedProperties"] = json!(false);
            }
            let validator = jsonschema::validator_for(&whole).expect("the protocol's schema");
            Box::leak(Box::new(validator))
        })
}

/// The schema in which objects have no fields but those that are named.
fn closed() -> &'static Value {
    static CLOSED: OnceLock<Value> = OnceLock::new();
    CLOSED.get_or_init(|| {
        let mut whole = schema(true).clone();
        close(&mut whole);
        whole
    })
}

/// Closes whatever a field or an item may be. What others are made of stays open, for they add fields to it.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(close),
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if let Some(Value::Object(fields)) = object.get_mut("properties") {
                let named = fields
                    .iter_mut()
                    .filter(|(name, _)| !FREE.contains(&name.as_str()));
                named.for_each(|(_, field)| wrap(field));
            }
            if let Some(items) = object.get_mut("items") {
                wrap(items);
            }
        }
        _ => {}
    }
}

fn wrap(field: &mut Value) {
    if field.is_object() {
        *field = json!({ "allOf": [field.take()], "unevaluatedProperties": false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_another_name_or_in_another_place_is_found_and_free_ones_are_not() {
        let update = |update: Value| {
            let params = json!({ "sessionId": "s", "update": update });
            let message = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
            Messages::default().check(false, &message)
        };
        let text = json!({ "type": "text", "text": "x" });
        let chunk = |name: &str| json!({ "sessionUpdate": "agent_message_chunk", "content": text, name: "m" });
        assert_eq!(update(chunk("messageId")), Ok(()));
        for name in ["message_id", "messageID", "toolCallId"] {
            assert!(update(chunk(name)).unwrap_err().contains(name), "{name}");
        }
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "c", "title": "t",
            "rawInput": { "whatever": 1 }, "_meta": { "aside.dev/x": {} },
            "content": [{ "type": "diff", "path": "/a", "newText": "b" }],
            "locations": [{ "path": "/a", "line": 1 }],
        });
        assert_eq!(update(call.clone()), Ok(()));
        for (place, name) in [
            ("/content/0", "new_text"),
            ("/locations/0", "column"),
            ("", "locatons"),
        ] {
            let mut wrong = call.clone();
            wrong.pointer_mut(place).unwrap()[name] = json!("x");
            assert!(update(wrong).unwrap_err().contains(name), "{name}");
        }
    }
}

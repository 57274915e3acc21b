//! Shorter values for types of the settings, in the JSON schema.

use schemars::{Schema, transform::RecursiveTransform};
use serde_json::{Value, json};

/// Says what a value that is not a table stands for: each key, with `"$"` for the value itself.
pub(super) const SHORTHAND: &str = "x-shorthand";

/// A bool is a table too.
pub(super) fn or_bool(schema: &mut Schema) {
    or(
        schema,
        &json!({"type": "boolean"}),
        &json!({"state": "$", "allow_toggle": "any"}),
    );
}

/// A detached mode is a table too.
pub(super) fn or_mode(schema: &mut Schema) {
    let mode = schema
        .pointer("/properties/run")
        .cloned()
        .unwrap_or(Value::Bool(true));
    or(
        schema,
        &mode,
        &json!({"run": "$", "deliver": "$", "tool": "$"}),
    );
}

/// The state of a sandbox is a table too.
pub(super) fn or_state(schema: &mut Schema) {
    let state = schema
        .pointer("/properties/state")
        .cloned()
        .unwrap_or(Value::Bool(true));
    or(schema, &state, &json!({"state": "$"}));
}

/// Objects say their defaults key by key; once is enough.
pub(super) fn without_defaults(schema: &mut Schema) {
    schemars::transform::transform_subschemas(
        &mut RecursiveTransform(|schema: &mut Schema| {
            // `remove` would disturb the order of what stays.
            if let Some(schema) = schema.as_object_mut() {
                schema.retain(|key, value| {
                    key != "default" || !matches!(value, Value::Object(_) | Value::Null)
                });
            }
        }),
        schema,
    );
}

fn or(schema: &mut Schema, short: &Value, stands_for: &Value) {
    let description = schema.remove("description");
    *schema = schemars::json_schema!({ "anyOf": [short, schema.clone()] });
    schema.insert(SHORTHAND.into(), stands_for.clone());
    if let Some(description) = description {
        schema.insert("description".into(), description);
    }
}

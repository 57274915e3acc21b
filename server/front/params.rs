//! Params that were not read yet: what is wrong with them is said by field.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::front::error::{Result, invalid};

/// Reads params as their type.
///
/// # Errors
/// A sentence that names the field and what is wrong with it, but repeats nothing of params that may hold a secret.
pub(in crate::front) fn read<P: DeserializeOwned>(params: Value, is_secret: bool) -> Result<P> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let field = error.path().to_string();
        let field = Some(field).filter(|field| field != ".");
        invalid(if is_secret {
            without_value(field, error.inner())
        } else {
            with_value(field, error.inner())
        })
    })
}

fn with_value(field: Option<String>, why: &serde_json::Error) -> String {
    match field {
        None => why.to_string(),
        Some(field) => format!("{field}: {why}"),
    }
}

fn without_value(field: Option<String>, why: &serde_json::Error) -> String {
    match (field, missing(why)) {
        (_, Some(missing)) => missing,
        (None, None) => "the params are not what this method takes".into(),
        (Some(field), None) => format!("{field} is not what this method takes"),
    }
}

/// The name of a missing field, which has no value that could be a secret.
fn missing(why: &serde_json::Error) -> Option<String> {
    let text = why.to_string();
    text.starts_with("missing field `").then_some(text)
}

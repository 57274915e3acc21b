//! Params that were not read yet, so that errors name the field.

use std::{
    marker::PhantomData,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;
use tower_lsp::lsp_types::Url;

use crate::front::uri::file_of;
use crate::front::{
    error::{Result, invalid},
    params::read,
};

/// Params to read as `P`. Any JSON is accepted first, so that the error can be the protocol's.
pub(in super::super) struct RawParams<P> {
    value: Value,
    of: PhantomData<fn() -> P>,
}

impl<'de, P> Deserialize<'de> for RawParams<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl<P> From<Value> for RawParams<P> {
    fn from(value: Value) -> Self {
        Self {
            value,
            of: PhantomData,
        }
    }
}

impl<P: DeserializeOwned> RawParams<P> {
    /// Reads the params.
    ///
    /// # Errors
    /// A sentence that names the field and the fault. It repeats nothing of params that may hold a secret.
    pub(in super::super) fn read(self, is_secret: bool) -> Result<P> {
        read(self.value, is_secret)
    }
}

/// Whether a text is a valid turn id.
pub(super) fn is_turn_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=64).contains(&id.len()) && id.bytes().all(fits)
}

/// Parses a folder that a client names by URI or path.
///
/// # Errors
/// Fails if the name is not a folder of this machine.
pub(super) fn folder(name: &str) -> Result<PathBuf> {
    let path = match Url::parse(name) {
        Ok(uri) if uri.scheme() == "file" => file_of(&uri)
            .ok_or_else(|| invalid(format!("{name:?} is not a folder of this machine")))?,
        _ => Path::new(name).to_owned(),
    };
    if path.is_dir() {
        return Ok(path);
    }
    Err(invalid(format!("{name:?} is not a folder")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::front::wire::requests::{AnswerParams, StartParams, UndoParams};

    #[test]
    fn what_is_wrong_is_said_by_field() {
        fn check<P: DeserializeOwned>(params: Value, expected: &str) {
            let given: RawParams<P> = params.into();
            let said = given.read(false).err().map(|error| error.to_string());
            assert_eq!(said.as_deref(), Some(expected));
        }
        check::<StartParams>(json!({}), "missing field `message`");
        check::<StartParams>(
            json!({"message": 1}),
            "message: invalid type: integer `1`, expected a string",
        );
        check::<StartParams>(
            json!({"message": "x", "attachments": [{"uri": "file:///a", "range": {"start": 1}}]}),
            "attachments[0].range.start: invalid type: integer `1`, expected struct TextPosition",
        );
        check::<UndoParams>(
            json!({"turnId": "t", "uris": "a"}),
            "uris: invalid type: string \"a\", expected a sequence",
        );
        check::<UndoParams>(
            json!("t"),
            "invalid type: string \"t\", expected struct UndoParams",
        );
    }

    #[test]
    fn an_answer_is_never_repeated() {
        let check = |params: Value, expected: &str| {
            let given: RawParams<AnswerParams> = params.into();
            let said = given.read(true).err();
            let said = said.map(|error| error.to_string());
            assert_eq!(said.as_deref(), Some(expected));
        };
        check(json!({"answer": {}}), "missing field `action`");
        check(json!({"promptId": "p"}), "missing field `answer`");
        for answer in [
            json!("hunter2"),
            json!({"action": "hunter2"}),
            json!({"action": "answer", "answer": "hunter2", "remember": "hunter2"}),
        ] {
            let given: RawParams<AnswerParams> = json!({"promptId": "p", "answer": answer}).into();
            let said = given.read(true).expect_err("an error").to_string();
            assert!(
                said.contains("answer") && !said.contains("hunter2"),
                "{said}"
            );
        }
        check(
            json!("hunter2"),
            "the params are not what this method takes",
        );
    }
}

//! Params as they came: what is wrong with them is said by field.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use crate::front::error::{Result, invalid};

/// Params that are to be read as `P`. Any JSON is taken at first, so that the error can be the protocol's.
pub(super) struct Given<P> {
    value: Value,
    of: PhantomData<fn() -> P>,
}

impl<'de, P> Deserialize<'de> for Given<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl<P> From<Value> for Given<P> {
    fn from(value: Value) -> Self {
        Self {
            value,
            of: PhantomData,
        }
    }
}

impl<P: DeserializeOwned> Given<P> {
    /// The params.
    ///
    /// # Errors
    /// A sentence that names the field, and what is wrong with it.
    pub(super) fn read(self) -> Result<P> {
        self.or(|field, why| match field {
            None => why.to_string(),
            Some(field) => format!("{field}: {why}"),
        })
    }

    /// The same for params that may hold a secret: the sentence repeats nothing of them.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub(super) fn read_unseen(self) -> Result<P> {
        self.or(|field, why| match (field, missing(why)) {
            (_, Some(missing)) => missing,
            (None, None) => "the params are not what this method takes".into(),
            (Some(field), None) => format!("{field} is not what this method takes"),
        })
    }

    fn or(self, text: impl Fn(Option<String>, &serde_json::Error) -> String) -> Result<P> {
        serde_path_to_error::deserialize(self.value).map_err(|error| {
            let field = error.path().to_string();
            let field = Some(field).filter(|field| field != ".");
            invalid(text(field, error.inner()))
        })
    }
}

/// What is missing has no value that could be a secret.
fn missing(why: &serde_json::Error) -> Option<String> {
    let text = why.to_string();
    text.starts_with("missing field `").then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::front::wire::requests::{AnswerParams, StartParams, UndoParams};

    #[test]
    fn what_is_wrong_is_said_by_field() {
        fn check<P: DeserializeOwned>(params: Value, expected: &str) {
            let given: Given<P> = params.into();
            let said = given.read().err().map(|error| error.to_string());
            assert_eq!(said.as_deref(), Some(expected));
        }
        check::<StartParams>(json!({}), "missing field `prompt`");
        check::<StartParams>(
            json!({"prompt": 1}),
            "prompt: invalid type: integer `1`, expected a string",
        );
        check::<StartParams>(
            json!({"prompt": "x", "attachments": [{"uri": "file:///a", "range": {"start": 1}}]}),
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
            let given: Given<AnswerParams> = params.into();
            let said = given.read_unseen().err();
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
            let given: Given<AnswerParams> = json!({"promptId": "p", "answer": answer}).into();
            let said = given.read_unseen().expect_err("an error").to_string();
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

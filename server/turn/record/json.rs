//! Values as they are on record.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Levels of nesting that a value on record may have. Readers of JSON stop at 128, the line's own included.
const DEPTH: usize = 100;

/// Serialises a value, or its text where it is nested so deep that its line could not be read again.
///
/// # Errors
/// Those of the serialiser.
pub fn shallow<'a, V, S: Serializer>(value: &'a V, to: S) -> Result<S::Ok, S::Error>
where
    &'a V: Into<Option<&'a Value>>,
{
    match value.into() {
        Some(value) if !fits(value, DEPTH) => to.collect_str(value),
        value => value.serialize(to),
    }
}

fn fits(value: &Value, depth: usize) -> bool {
    depth > 0
        && match value {
            Value::Array(items) => items.iter().all(|item| fits(item, depth - 1)),
            Value::Object(fields) => fields.values().all(|field| fits(field, depth - 1)),
            _ => true,
        }
}

/// Deserialises a member that is there: a `null` is a value like any other.
pub(super) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// A [`Duration`] in whole milliseconds.
pub(super) mod milliseconds {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        time: &Duration,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

//! JSON numbers: parsed from text, converted to integers, compared.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Parses a number.
pub(super) fn number_of(text: &str) -> Option<Value> {
    let text = text.trim();
    let number = || text.strip_prefix('+').unwrap_or(text).parse::<f64>();
    match serde_json::from_str(text) {
        Ok(number @ Value::Number(_)) => Some(number),
        // Also `.5` and `+3`, which are not JSON.
        _ => number().ok().and_then(Number::from_f64).map(Value::Number),
    }
}

/// Converts a number without a fractional part to an integer.
pub(super) fn whole(number: &Number) -> Option<Number> {
    /// Largest bound up to which every whole number is exact as a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64()?;
    let is_whole = float.fract() == 0.0 && float.abs() <= EXACT;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole and within the exact range"
    )]
    is_whole.then(|| Number::from(float as i64))
}

fn compare(one: &Number, other: &Number) -> Ordering {
    let integer = |number: &Number| {
        let signed = number.as_i64().map(i128::from);
        signed.or_else(|| number.as_u64().map(i128::from))
    };
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
            float(one).total_cmp(&float(other))
        }
    }
}

pub(super) fn is_less(one: &Number, other: &Number) -> bool {
    compare(one, other) == Ordering::Less
}

/// Whether a number, or a whole number if `integer`, exists within these bounds.
pub(super) fn has_number_between(least: &Number, most: &Number, integer: bool) -> bool {
    let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
    let is_between = !is_less(most, least);
    is_between && (!integer || float(least).ceil() <= float(most).floor())
}

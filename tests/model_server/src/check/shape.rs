//! Members of objects: which must be there, which may, and of which kind.
//!
//! A shape is text, so that a table of shapes can be read: `model:string content:string/array effort=low,high`.
//! A colon is followed by kinds, an equals sign by the words that may stand there.

use aside_test_table::rows;
use serde_json::Value;

use super::{CheckFindings, elements};

/// Checks a table of shapes: a row is a place in the request, the members that must be there, and those that may. In a place
/// `*` stands for each element.
pub(super) fn shapes(found: &mut CheckFindings, body: &Value, table: &str) {
    for [pattern, must, may] in rows(table) {
        for (place, value) in places(body, pattern) {
            shape(found, &place, value, must, may);
        }
    }
}

/// The members that must be there, and those that may, by the first column of a table.
pub(super) fn of_kind<'a>(table: &'a str, kind: &str) -> Option<[&'a str; 2]> {
    let mut rows = rows(table).into_iter();
    rows.find_map(|[known, must, may]| (known == kind).then_some([must, may]))
}

fn places<'a>(body: &'a Value, pattern: &str) -> Vec<(String, &'a Value)> {
    let mut found = vec![(String::new(), body)];
    for step in pattern.split('/').skip(1) {
        let inner = found.into_iter().flat_map(|(place, value)| match step {
            "*" => elements(&place, value).collect(),
            name => Vec::from_iter(value.get(name).map(|it| (format!("{place}/{name}"), it))),
        });
        found = inner.collect();
    }
    found
}

/// Says which members are missing, unknown or of the wrong kind. A value that is no object is wrong as well.
pub(super) fn shape(found: &mut CheckFindings, place: &str, value: &Value, must: &str, may: &str) {
    let Some(object) = value.as_object() else {
        found.say(place, "this is not an object");
        return;
    };
    for (name, _) in members(must).filter(|(name, _)| !object.contains_key(*name)) {
        found.say(place, format_args!("`{name}` is missing"));
    }
    for (name, value) in object {
        match members(must)
            .chain(members(may))
            .find(|(known, _)| known == name)
        {
            None => found.say(place, format_args!("`{name}` is no member here")),
            Some((_, expected)) if !expected.fits(value) => {
                found.say(
                    place,
                    format_args!("`{name}` must be {}", expected.sentence()),
                );
            }
            Some(_) => {}
        }
    }
}

/// What may stand in a member.
#[derive(Clone, Copy)]
enum Expected<'a> {
    Kinds(&'a str),
    Words(&'a str),
}

fn members(shape: &str) -> impl Iterator<Item = (&str, Expected<'_>)> {
    shape.split_whitespace().map(|member| {
        if let Some((name, words)) = member.split_once('=') {
            (name, Expected::Words(words))
        } else {
            let (name, kinds) = member.split_once(':').unwrap_or((member, "any"));
            (name, Expected::Kinds(kinds))
        }
    })
}

impl Expected<'_> {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Kinds(kinds) => kinds.split('/').any(|kind| is(kind, value)),
            Self::Words(words) => value
                .as_str()
                .is_some_and(|found| words.split(',').any(|word| word == found)),
        }
    }

    fn sentence(self) -> String {
        match self {
            Self::Kinds(kinds) => kinds.replace('/', " or "),
            Self::Words(words) => words.replace(',', " or "),
        }
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "bool" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

//! Requests as bytes: whether each goes on from the one before.
//!
//! A body is read as far as its members and the elements of its history, which is its last member. What follows the
//! history is the tail, and may differ from request to request. Members named `cache_control` are cut out first.

use std::ops::Range;

use serde_json::Value;

/// What the history is called.
const HISTORIES: [&str; 3] = ["messages", "input", "contents"];

/// A request in a row of them.
#[derive(Clone, Debug)]
pub(crate) struct SentBody {
    pub(crate) kind: RequestPurpose,
    pub(crate) body: String,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// The turn's own.
    Turn,
    /// The first of an inquiry, made with the turn's own request.
    Inquiry,
    /// It asks once more what the inquiry before it asked.
    Repair,
}

/// Where a row does not grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrefixBreak {
    /// The request that does not begin as it should, by its place in the row.
    pub(crate) request: usize,
    /// The member that differs, and in an array which element: `tools/3`.
    pub(crate) place: String,
}

/// Whether each body begins with those that it goes on from: a turn's with the one before it up to its tail, and with
/// what the inquiries since then share with it; an inquiry's with the turn's; a repair's with what it repairs.
pub(crate) fn grown(row: &[SentBody]) -> Result<(), PrefixBreak> {
    let stripped: Vec<String> = row.iter().map(|sent| without_marks(&sent.body)).collect();
    let mut turn: Option<&str> = None;
    let mut asked: Option<&str> = None;
    let mut inquiries: Vec<&str> = Vec::new();
    for (request, (sent, body)) in row.iter().zip(&stripped).enumerate() {
        let begins = |with: &str, length: usize| match difference(&with[..length], body) {
            None => Ok(()),
            Some(at) => Err(PrefixBreak {
                request,
                place: Shape::of(with).place(at),
            }),
        };
        let before = match sent.kind {
            RequestPurpose::Turn | RequestPurpose::Inquiry => turn,
            RequestPurpose::Repair => asked,
        };
        if let Some(before) = before {
            begins(before, Shape::of(before).end)?;
        }
        match sent.kind {
            RequestPurpose::Turn => {
                for inquiry in inquiries.drain(..) {
                    begins(inquiry, Shape::of(inquiry).shared(inquiry))?;
                }
                turn = Some(body);
            }
            RequestPurpose::Inquiry => {
                inquiries.push(body);
                asked = Some(body);
            }
            RequestPurpose::Repair => asked = Some(body),
        }
    }
    Ok(())
}

/// Without the members `cache_control`. In a string each quote has a backslash before it, so that a comma and a quote
/// in a row are never inside of one; and the member's own value has no braces but its own.
pub(super) fn without_marks(body: &str) -> String {
    const MARK: &str = r#","cache_control":{"#;
    let mut parts = body.split(MARK);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        let (_, rest) = part.split_once('}').expect("the end of a member");
        out + rest
    })
}

/// The first byte in which a text does not begin like this.
fn difference(with: &str, text: &str) -> Option<usize> {
    if text.starts_with(with) {
        return None;
    }
    let same = with.bytes().zip(text.bytes());
    Some(same.take_while(|(one, other)| one == other).count())
}

/// Where the parts of a body stand.
pub(super) struct Shape {
    /// Names and values of the members.
    pub(super) members: Vec<(String, Range<usize>)>,
    /// The elements of each member that is an array.
    elements: Vec<Vec<Range<usize>>>,
    /// Which member is the history.
    history: usize,
    /// Where the history ends: its closing bracket.
    pub(super) end: usize,
}

impl Shape {
    pub(super) fn of(body: &str) -> Self {
        let bytes = body.as_bytes();
        let parts = parts(bytes, 0);
        let named = |part: Range<usize>| {
            let (name, value) = body[part.clone()].split_once("\":").expect("a name");
            (name[1..].to_owned(), part.end - value.len()..part.end)
        };
        let members: Vec<_> = parts.into_iter().map(named).collect();
        let within = |(_, value): &(String, Range<usize>)| match bytes[value.start] {
            b'[' => self::parts(bytes, value.start),
            _ => Vec::new(),
        };
        let history = |(name, _): &(String, Range<usize>)| HISTORIES.contains(&name.as_str());
        let history = members.iter().position(history).expect("a history");
        Self {
            end: members[history].1.end - 1,
            history,
            elements: members.iter().map(within).collect(),
            members,
        }
    }

    /// The elements of the history.
    pub(super) fn history(&self) -> &[Range<usize>] {
        &self.elements[self.history]
    }

    /// The end of what an inquiry shares with the turn's next request: of the last that the model said.
    fn shared(&self, body: &str) -> usize {
        let said = |element: &&Range<usize>| is_of_model(&body[(*element).clone()]);
        let last = self.history().iter().rev().find(said);
        last.map_or(0, |element| element.end)
    }

    /// The member that a byte belongs to, and the element in it.
    fn place(&self, at: usize) -> String {
        let Some(member) = self.members.iter().position(|(_, value)| at < value.end) else {
            return "the end".into();
        };
        let (name, _) = &self.members[member];
        let elements = &self.elements[member];
        match elements.iter().position(|element| at < element.end) {
            Some(element) => format!("{name}/{element}"),
            None => name.clone(),
        }
    }
}

/// Whether the model said an element of the history.
fn is_of_model(element: &str) -> bool {
    let element: Value = serde_json::from_str(element).expect("JSON");
    let role = element["role"].as_str().unwrap_or_default();
    let kind = element["type"].as_str().unwrap_or_default();
    ["assistant", "model"].contains(&role) || ["function_call", "reasoning"].contains(&kind)
}

/// The parts of the array or object that opens here, without the commas.
fn parts(body: &[u8], open: usize) -> Vec<Range<usize>> {
    let (mut parts, mut start, mut depth, mut at) = (Vec::new(), open + 1, 0, open + 1);
    loop {
        match body[at] {
            b'"' => at = end_of_string(body, at),
            b'[' | b'{' => depth += 1,
            b',' if depth == 0 => {
                parts.push(start..at);
                start = at + 1;
            }
            b']' | b'}' if depth == 0 => {
                parts.extend((start < at).then_some(start..at));
                return parts;
            }
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// The closing quote of the string that opens here.
fn end_of_string(body: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while body[at] != b'"' {
        at += if body[at] == b'\\' { 2 } else { 1 };
    }
    at
}

#[test]
fn marks_are_cut_out_of_members_and_not_of_texts() {
    let body = r#"{"a":[{"t":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}],"b":"y,\"cache_control\":{z}"}"#;
    let stripped = without_marks(body);
    assert_eq!(
        stripped,
        r#"{"a":[{"t":"x"}],"b":"y,\"cache_control\":{z}"}"#
    );
}

/// Rows of three bodies, and where they break.
#[test]
fn a_row_breaks_where_a_body_does_not_go_on() {
    const ONE: &str = r#"{"model":"m","tools":[{"a":1}],"messages":[{"role":"user"}]}"#;
    let asked = r#",{"role":"assistant"},{"role":"user","q":1}"#;
    let again =
        r#",{"role":"assistant"},{"role":"user","q":1},{"role":"assistant"},{"role":"user"}"#;
    let next = r#",{"role":"assistant"},{"role":"user","r":1}"#;
    let with = |more: &str| ONE.replace(r#""user"}]"#, &format!(r#""user"}}{more}],"tail":0"#));
    let row = |bodies: [(RequestPurpose, String); 3]| {
        let sent = bodies.map(|(kind, body)| SentBody { kind, body });
        grown(&sent).map_err(|broken| format!("{} {}", broken.request, broken.place))
    };
    use RequestPurpose::{Inquiry, Repair, Turn};
    let first = || (Turn, ONE.to_owned());
    for (two, three, expected) in [
        ((Inquiry, with(asked)), (Turn, with(next)), Ok(())),
        ((Inquiry, with(asked)), (Repair, with(again)), Ok(())),
        ((Turn, with(asked)), (Turn, with(again)), Ok(())),
        (
            (Turn, ONE.into()),
            (Turn, with(&next.replace("1", "2"))),
            Ok(()),
        ),
        ((Turn, with(asked)), (Turn, with(next)), Err("2 messages/2")),
        (
            (Inquiry, with(asked)),
            (Repair, with(next)),
            Err("2 messages/2"),
        ),
        (
            (Inquiry, with(asked)),
            (Turn, with(&next.replace("assistant", "assistent"))),
            Err("2 messages/1"),
        ),
        (
            (Inquiry, with(asked).replace("\"a\":1", "\"a\":2")),
            (Turn, with(next)),
            Err("1 tools/0"),
        ),
        (
            (Turn, with(asked).replace("\"m\"", "\"n\"")),
            (Turn, with(next)),
            Err("1 model"),
        ),
    ] {
        let expected = expected.map_err(str::to_owned);
        assert_eq!(
            row([first(), two.clone(), three.clone()]),
            expected,
            "{two:?} {three:?}"
        );
    }
}

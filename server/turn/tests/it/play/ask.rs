//! Words, values and questions as they are written in a conversation.

use aside_turn::question::{AnswerType, Persistence, Question};
use serde_json::Value;

/// The words of a line; quotes hold one together.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        quoted ^= letter == '"';
        match words.last_mut() {
            Some(word) if letter != ' ' || quoted => word.push(letter),
            Some(word) if !word.is_empty() => words.push(String::new()),
            _ => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A value as JSON.
pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

/// Text where `\n` stands for a line's end.
pub(super) fn lines(text: &str) -> String {
    text.replace("\\n", "\n")
}

/// A question: `id type [exclusive] [optional] [default=…] [persist=none] [context="…"]: text`.
pub(super) fn question(text: &str) -> Question {
    let (mut quoted, mut depth) = (false, 0);
    let colon = text.find(|letter| {
        quoted ^= letter == '"';
        match letter {
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth -= 1,
            _ => {}
        }
        letter == ':' && !quoted && depth == 0
    });
    let (head, text) = text.split_at(colon.expect("a question has a colon before its text"));
    let words = words(head);
    let mut question = Question::new(
        words[0].trim_matches('"'),
        lines(text[1..].trim()),
        kind(&words[1]),
    );
    for word in &words[2..] {
        match word.split_once('=').unwrap_or((word, "")) {
            ("exclusive", _) => question.exclusive = true,
            ("optional", _) => question.optional = true,
            ("default", value) => question.default = Some(json(value)),
            ("persist", "none") => question.persistence = Persistence::None,
            ("persist", "turn") => question.persistence = Persistence::Turn,
            ("context", value) => question.context = json(value).as_str().map(str::to_owned),
            _ => panic!("`{word}` says nothing of a question"),
        }
    }
    question
}

/// A type with its other members as JSON.
fn typed(name: &str, members: &str) -> AnswerType {
    let mut answer_type = match members {
        "" => serde_json::json!({}),
        members => json(members),
    };
    answer_type["type"] = name.into();
    serde_json::from_value(answer_type).expect("a type of answer")
}

fn kind(word: &str) -> AnswerType {
    match word.split_once('=').unwrap_or((word, "")) {
        ("boolean", _) => AnswerType::Boolean,
        ("text", "") => AnswerType::text(),
        ("text", bounds) => typed("text", bounds),
        ("number", bounds) => typed("number", bounds),
        ("multi_select", bounds) => typed("multi_select", bounds),
        ("secret", _) => AnswerType::Secret,
        ("select", "") => AnswerType::Select {
            options: Vec::new(),
        },
        ("select", options) => AnswerType::Select {
            options: options.split('|').map(str::to_owned).collect(),
        },
        _ => panic!("`{word}` is no type of answer"),
    }
}

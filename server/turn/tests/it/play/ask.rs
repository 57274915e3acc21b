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

/// A question: `id type [exclusive] [default=…] [persist=none] [context="…"]: text`.
pub(super) fn question(text: &str) -> Question {
    let mut quoted = false;
    let colon = text.find(|letter| {
        quoted ^= letter == '"';
        letter == ':' && !quoted
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
            ("default", value) => question.default = Some(json(value)),
            ("persist", "none") => question.persistence = Persistence::None,
            ("persist", "turn") => question.persistence = Persistence::Turn,
            ("context", value) => question.context = json(value).as_str().map(str::to_owned),
            _ => panic!("`{word}` says nothing of a question"),
        }
    }
    question
}

fn kind(word: &str) -> AnswerType {
    match word.split_once('=').unwrap_or((word, "")) {
        ("boolean", _) => AnswerType::Boolean,
        ("text", _) => AnswerType::Text,
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

//! Wording and bounds of the output of tools.

use std::io;

use aside_turn::question::{AnswerType, Question, Secret};
use serde_json::Value;

use super::ToolContext;

/// Bytes of a result that are kept for `read_output`.
const KEPT: usize = 16 << 20;
/// Replacement for a secret in a tool's output.
const REDACTED: &str = "[secret]";
/// Bytes below which a secret is taken out as a whole word alone.
const SHORT: usize = 4;

/// What a tool says, without the secrets that it was given. One of less than four bytes is taken out where it is a
/// word of its own, and stays where it is a part of another: a mark inside a word would tell it.
pub fn without_secrets(text: String, secrets: &[Secret]) -> String {
    let secrets = secrets.iter().map(Secret::reveal);
    secrets.fold(text, |text, secret| match secret.len() {
        0 => text,
        1..SHORT => without_word(&text, secret),
        _ => text.replace(secret, REDACTED),
    })
}

/// The same of a value that was read: of its texts alone. The names of members are no texts.
pub fn value_without_secrets(value: Value, secrets: &[Secret]) -> Value {
    match value {
        Value::String(text) => Value::String(without_secrets(text, secrets)),
        Value::Array(list) => {
            let list = list.into_iter();
            list.map(|it| value_without_secrets(it, secrets)).collect()
        }
        Value::Object(map) => {
            let member = |(key, value)| (key, value_without_secrets(value, secrets));
            Value::Object(map.into_iter().map(member).collect())
        }
        other => other,
    }
}

/// The same of a question that was read. Its id stays, which is the name of an answer.
pub fn question_without_secrets(question: Question, secrets: &[Secret]) -> Question {
    let clean = |text: String| without_secrets(text, secrets);
    let all = |options: Vec<String>| options.into_iter().map(clean).collect();
    Question {
        text: clean(question.text),
        context: question.context.map(clean),
        default: question
            .default
            .map(|value| value_without_secrets(value, secrets)),
        answer_type: match question.answer_type {
            AnswerType::Select { options } => AnswerType::Select {
                options: all(options),
            },
            AnswerType::MultiSelect {
                options,
                minimum,
                maximum,
            } => AnswerType::MultiSelect {
                options: all(options),
                minimum,
                maximum,
            },
            other => other,
        },
        ..question
    }
}

/// Takes a word out where it stands between others, and not where it is a part of one.
fn without_word(text: &str, word: &str) -> String {
    // Signs without a letter are a word where blanks are around them.
    let is_sign = !word.contains(char::is_alphanumeric);
    let parts = |it: char| it.is_alphanumeric() || it == '_' || (is_sign && !it.is_whitespace());
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        let (before, after) = (text[..at].chars().next_back(), text[end..].chars().next());
        if !before.is_some_and(parts) && !after.is_some_and(parts) {
            out += &text[from..at];
            out += REDACTED;
            from = end;
        }
    }
    out + &text[from..]
}

/// The text for the model: whole where it fits, else its beginning and its end, and where the rest is.
/// Where the rest cannot be kept, that is said: the tool ran all the same.
pub fn fitted(context: &ToolContext, text: String) -> String {
    fitted_in(context, text, context.limits.head, context.limits.tail)
}

/// The same with so many bytes of the beginning and of the end.
pub fn fitted_in(context: &ToolContext, text: String, head: usize, tail: usize) -> String {
    if text.len() <= head + tail {
        return text;
    }
    let kept = &text.as_bytes()[..text.len().min(KEPT)];
    let (start, end) = (
        text.floor_char_boundary(head),
        text.ceil_char_boundary(text.len() - tail),
    );
    let rest = rest((context.keep_blob)(kept), start, "");
    let left_out = end - start;
    format!(
        "{}\n[{left_out} of {} bytes are left out here{rest}]\n{}",
        &text[..start],
        text.len(),
        &text[end..]
    )
}

/// Where the rest of an output is that is shown to this byte, or why it is nowhere. `bound` says how much of it is kept.
pub(super) fn rest(kept: io::Result<String>, from: usize, bound: &str) -> String {
    match kept {
        Ok(id) => format!("{bound}: read_output {{\"id\":\"{id}\",\"from\":{from}}}"),
        Err(error) => format!(" and could not be kept: {error}"),
    }
}

/// Cuts a text to at most `bytes` and appends the note; a text that fits stays as it is.
pub(super) fn cut(text: &mut String, bytes: usize, note: &str) {
    if text.len() <= bytes {
        return;
    }
    text.truncate(text.floor_char_boundary(bytes));
    text.push_str(note);
}

/// A number of things, in words: `1 file`, `3 matches`.
pub(super) fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ if thing.ends_with("ch") => format!("{count} {thing}es"),
        _ => format!("{count} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets(texts: &[&str]) -> Vec<Secret> {
        texts.iter().map(|it| Secret::new((*it).into())).collect()
    }

    #[test]
    fn a_short_secret_is_taken_out_as_a_word_alone() {
        for (secret, text, expected) in [
            ("hunter2", "xhunter2x hunter2", "x[secret]x [secret]"),
            ("pass", "passing", "[secret]ing"),
            (
                "1",
                "Bob1, 1 file, 10, a_1, \"1\"",
                "Bob1, [secret] file, 10, a_1, \"[secret]\"",
            ),
            ("e", "the e.", "the [secret]."),
            ("é", "né é", "né [secret]"),
            ("aa", "aaaa aa", "aaaa [secret]"),
            (":", "a: b : c", "a: b [secret] c"),
            ("", "ab", "ab"),
        ] {
            let clean = without_secrets(text.into(), &secrets(&[secret]));
            assert_eq!(clean, expected, "{secret}");
        }
    }

    #[test]
    fn what_holds_the_texts_stays_as_it_is() {
        let given = secrets(&["text", "e", "a\"b\"c"]);
        let value = json!({"text": ["the text", {"e": "a\"b\"c"}], "n": 1});
        assert_eq!(
            value_without_secrets(value, &given),
            json!({"text": ["the [secret]", {"e": "[secret]"}], "n": 1})
        );
        let question = |text: &str, option: &str| {
            Question::read(&json!({"id": "text", "text": text, "context": text,
                "answer_type": {"type": "select", "options": ["no", option]}, "default": option}))
        };
        let read = question("Which text is e?", "a text");
        assert_eq!(
            question_without_secrets(read, &given),
            question("Which [secret] is [secret]?", "a [secret]")
        );
    }

    #[test]
    fn cuts_between_characters() {
        let check = |bytes: usize, expected: &str| {
            let mut text = "aäb".to_owned();
            cut(&mut text, bytes, "…");
            assert_eq!(text, expected);
        };
        check(4, "aäb");
        check(3, "aä…");
        check(2, "a…");
        check(0, "…");
    }
}

//! Reasoning that comes at the beginning of the text, between `<think>` and `</think>`.

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// Tells reasoning and text apart, however they are cut into portions.
#[derive(Debug, Default)]
pub(super) struct Tags {
    place: TagPosition,
    /// What may be a part of a tag.
    held: String,
    /// Line ends next to a tag belong to it.
    after_tag: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TagPosition {
    #[default]
    Start,
    Inside,
    Text,
}

/// A portion of what was told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaggedText {
    Reasoning(String),
    Text(String),
}

impl Tags {
    /// There are none: all is text.
    pub(super) fn none() -> Self {
        Self {
            place: TagPosition::Text,
            ..Self::default()
        }
    }

    /// Takes a portion in. What cannot be told yet is held back: a few bytes at the most, and space at the start.
    pub(super) fn take(&mut self, portion: &str) -> Vec<TaggedText> {
        let mut parts = Vec::new();
        let mut rest = std::mem::take(&mut self.held);
        rest.push_str(portion);
        if self.place == TagPosition::Start {
            let begun = rest.trim_start();
            if let Some(inside) = begun.strip_prefix(BEGIN) {
                rest = inside.to_owned();
                self.place = TagPosition::Inside;
                self.after_tag = true;
            } else if BEGIN.starts_with(begun) {
                self.held = rest;
                return parts;
            } else {
                self.place = TagPosition::Text;
            }
        }
        if self.place == TagPosition::Inside {
            match rest.split_once(END) {
                Some((reasoning, text)) => {
                    self.give(reasoning, TaggedText::Reasoning, &mut parts);
                    rest = text.to_owned();
                    self.place = TagPosition::Text;
                    self.after_tag = true;
                }
                None => {
                    self.held = rest.split_off(rest.len() - begun(&rest, END));
                    self.give(&rest, TaggedText::Reasoning, &mut parts);
                    return parts;
                }
            }
        }
        self.give(&rest, TaggedText::Text, &mut parts);
        parts
    }

    /// Nothing follows: what was held back is what it looks like.
    pub(super) fn end(&mut self) -> Option<TaggedText> {
        let held = std::mem::take(&mut self.held);
        let part = match std::mem::replace(&mut self.place, TagPosition::Text) {
            TagPosition::Inside => TaggedText::Reasoning,
            TagPosition::Start | TagPosition::Text => TaggedText::Text,
        };
        (!held.is_empty()).then(|| part(held))
    }

    fn give(&mut self, text: &str, part: fn(String) -> TaggedText, parts: &mut Vec<TaggedText>) {
        let text = if self.after_tag {
            text.trim_start_matches(['\n', '\r'])
        } else {
            text
        };
        if !text.is_empty() {
            self.after_tag = false;
            parts.push(part(text.to_owned()));
        }
    }
}

/// How many of the last bytes of a text may be the beginning of a tag.
fn begun(text: &str, tag: &str) -> usize {
    let most = text.len().min(tag.len() - 1);
    (1..=most)
        .rev()
        .find(|count| text.ends_with(&tag[..*count]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a text, cut in three in every way.
    fn check(text: &str, reasoning: &str, words: &str) {
        let places: Vec<usize> = (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .collect();
        for (from, to) in places
            .iter()
            .flat_map(|from| places.iter().map(move |to| (*from, *to)))
            .filter(|(from, to)| from <= to)
        {
            let mut tags = Tags::default();
            let mut parts = Vec::new();
            for portion in [&text[..from], &text[from..to], &text[to..]] {
                parts.extend(tags.take(portion));
            }
            parts.extend(tags.end());
            let (mut found, mut said) = (String::new(), String::new());
            for part in parts {
                match part {
                    TaggedText::Reasoning(text) => found += &text,
                    TaggedText::Text(text) => said += &text,
                }
            }
            assert_eq!(
                (found.as_str(), said.as_str()),
                (reasoning, words),
                "{text:?} cut at {from} and {to}"
            );
        }
    }

    #[test]
    fn reasoning_stands_between_tags_at_the_start_and_nowhere_else() {
        let cases = [
            ("<think>\nHm €</think>\n\nYes.", "Hm €", "Yes."),
            (" \n<think>a < b</think>c", "a < b", "c"),
            ("<think></think>\nYes.", "", "Yes."),
            ("<think>a</thin", "a</thin", ""),
            ("Say <think>x</think>", "", "Say <think>x</think>"),
            ("<thin ice>", "", "<thin ice>"),
            ("<thi", "", "<thi"),
            (" \n", "", " \n"),
            ("<think>a</think>b</think>", "a", "b</think>"),
            ("", "", ""),
        ];
        for (text, reasoning, words) in cases {
            check(text, reasoning, words);
        }
    }
}

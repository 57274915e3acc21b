//! Every sentence that the turn makes for a model, rendered from data. Nothing reads one back: what a resume needs
//! stands on record beside it. So the table can be replaced whole, and the turn does the same.
//!
//! | module | what it renders |
//! |---|---|
//! | `sentences` | the table: one template a sentence, in English |
//! | `results` | why a call ended that its tool did not end |

mod results;
mod sentences;

pub use sentences::Sentence;

use crate::record::DirectiveKind;

/// A template for each sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelText {
    /// In the order of [`Sentence::ALL`].
    templates: [&'static str; Sentence::ALL.len()],
}

impl Default for ModelText {
    /// The table in English.
    fn default() -> Self {
        Self {
            templates: Sentence::ALL.map(Sentence::english),
        }
        .rotated(crate::swapped::places())
    }
}

impl ModelText {
    /// The same templates, each at the place of the one that stands `by` places after it: no sentence says any more
    /// what it is for. A test shows with it that nothing decides by what a sentence says.
    #[must_use]
    pub fn rotated(mut self, by: usize) -> Self {
        let places = self.templates.len();
        self.templates.rotate_left(by % places);
        self
    }

    /// A sentence with these values in place of the `{names}` of its template. A name without a value is left out.
    pub(crate) fn render(&self, sentence: Sentence, values: &[(&str, &str)]) -> String {
        let mut text = String::new();
        let mut rest = self.templates[sentence as usize];
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            let value = values.iter().find(|(known, _)| *known == name);
            text.push_str(value.map_or("", |(_, value)| value));
            rest = after;
        }
        text + rest
    }

    /// The text of a directive. `what` says what the kind does not: what is wrong with an answer or with a line of
    /// the log, what was taken back, or which files are other than they were.
    #[must_use]
    pub fn directive(&self, kind: &DirectiveKind, what: &str) -> String {
        let (sentence, tool) = match kind {
            DirectiveKind::Cut => (Sentence::Cut, None),
            DirectiveKind::Empty => (Sentence::Empty, None),
            DirectiveKind::Repeats { tool } => (Sentence::Repeats, Some(tool.as_str())),
            DirectiveKind::LeftOut { tool } => (Sentence::LeftOut, Some(tool.as_str())),
            DirectiveKind::SchemaRepair => (Sentence::SchemaRepair, None),
            DirectiveKind::Force { tool: None } => (Sentence::ForceAny, None),
            DirectiveKind::Force { tool } => (Sentence::Force, tool.as_deref()),
            DirectiveKind::ForceAgain { tool: None } => (Sentence::ForceAnyAgain, None),
            DirectiveKind::ForceAgain { tool } => (Sentence::ForceAgain, tool.as_deref()),
            DirectiveKind::Lost { .. } => (Sentence::Lost, None),
            DirectiveKind::Undone { .. } => (Sentence::Undone, None),
            DirectiveKind::Moved => (Sentence::Moved, None),
            DirectiveKind::Other { .. } => return what.to_owned(),
        };
        let tool = tool.unwrap_or_default();
        self.render(sentence, &[("tool", tool), ("what", what)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_what_is_in_them_stays() {
        let text = ModelText::default();
        assert_eq!(
            text.not_allowed("{note}", Some("{tool}")),
            "The user did not allow {note} to run. Do not retry it in this turn; ask or continue without it.\n\
             The user said: {tool}"
        );
    }

    #[test]
    fn a_note_follows_on_a_line_of_its_own_unless_it_says_nothing() {
        let text = ModelText::default();
        let bare = text.not_allowed("edit", None);
        assert_eq!(text.not_allowed("edit", Some(" \n")), bare);
        assert_eq!(
            text.not_allowed("edit", Some("later")),
            format!("{bare}\nThe user said: later")
        );
    }

    #[test]
    fn a_rotated_table_says_nothing_as_it_was() {
        let (english, rotated) = (ModelText::default(), ModelText::default().rotated(1));
        for sentence in Sentence::ALL {
            assert_ne!(english.render(sentence, &[]), rotated.render(sentence, &[]));
        }
        assert_eq!(rotated.rotated(Sentence::ALL.len() - 1), english);
    }
}

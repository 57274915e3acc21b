//! Sentences of inquiries: questions to a model, and faults of its replies.

use super::{ModelText, Sentence};

impl ModelText {
    /// A sentence about an inquiry, with the values of its template.
    #[must_use]
    pub(crate) fn inquiry(&self, sentence: Sentence, values: &[(&str, &str)]) -> String {
        self.render(sentence, values)
    }
}

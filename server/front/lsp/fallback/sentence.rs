//! Messages to a person as whole sentences, wherever their words come from.

use aside_base::visible::capitalised;
use tower_lsp::lsp_types::MessageType;

use super::state::Fallback;

impl Fallback {
    /// Shows a sentence.
    pub(in crate::front::lsp) async fn say(&self, kind: MessageType, text: &str) {
        self.handles
            .client
            .show_message(kind, &sentence(text))
            .await;
    }
}

/// The text with a capital first and a full stop last. What may be a name stays as it is: a model, a file, a key.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_word = |word: &str| !word.is_empty() && word.chars().all(char::is_lowercase);
    let mut sentence = match is_word(first.trim_end_matches(',')) {
        true => capitalised(text),
        false => text.to_owned(),
    };
    let ends = |end: char| matches!(end, '.' | '!' | '?' | '…' | ':');
    if !sentence.is_empty() && !sentence.ends_with(ends) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital_and_ends_with_a_full_stop() {
        for (text, expected) in [
            ("turn 1 was not undone", "Turn 1 was not undone."),
            ("über den Rand, weg", "Über den Rand, weg."),
            ("alas, it failed", "Alas, it failed."),
            ("No prompt is open.", "No prompt is open."),
            ("is it?", "Is it?"),
            ("it goes on …", "It goes on …"),
            ("run `make`\n", "Run `make`."),
            ("it failed (401)", "It failed (401)."),
            ("a/m: no key", "a/m: no key."),
            ("aside.toml is broken", "aside.toml is broken."),
            ("promptId: none", "promptId: none."),
            ("prompt: none", "prompt: none."),
            ("run_command is off", "run_command is off."),
            ("127.0.0.1 is gone", "127.0.0.1 is gone."),
            ("", ""),
        ] {
            assert_eq!(sentence(text), expected);
        }
    }
}

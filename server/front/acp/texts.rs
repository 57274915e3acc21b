//! Whose text counts where a client says nothing of its buffers but their text. Pure.
//!
//! The protocol has no word for "saved", so that another text than the file's is either what the user did not save or what
//! a buffer still shows of a file that was changed behind it. The texts that a file held tell: a buffer that shows one of
//! these since the client last agreed with the file is older; any other text is the user's.
//!
//! | the client's text | the file | what is it |
//! |---|---|---|
//! | none, as the client did not answer or gave an error | | nobody knows |
//! | empty | is not empty | nobody knows: some clients have an empty text of a file that is not open |
//! | like the file's | | the file's |
//! | like one that the file held since the client last agreed with it | | an older one |
//! | another one | is as it was when the turn began, or as Aside wrote it | the user's, not saved |
//! | another one | was changed by somebody else | nobody knows |

use std::collections::HashSet;

use aside_base::digest::sha256;
use aside_tool::line_ends::words;

/// What a client said of the text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClientText {
    /// Nothing in time, or an error.
    Silence,
    /// The text.
    Text(String),
}

/// What the client's text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// What is in the file, or in none.
    Files,
    /// What was in the file.
    Older,
    /// What the user did not save.
    Users,
    /// Nobody knows, as the client said nothing.
    Unsaid,
    /// Nobody knows, as the client has an empty text.
    Empty,
    /// Nobody knows, as others changed the file.
    Either,
}

/// The texts that a file is known to have held, by the hash of their words.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldTexts {
    /// Since the client last agreed with the file.
    held: HashSet<String>,
    /// The text that Aside wrote last.
    own: Option<String>,
}

impl HeldTexts {
    /// What the client's text of a file is. `disk` is the file's text; `None` if there is no file. `untouched`: nobody
    /// changed the file since the turn began.
    pub(super) fn judge(
        &mut self,
        client: &ClientText,
        disk: Option<&str>,
        untouched: bool,
    ) -> TextKind {
        let is_empty = disk.is_none_or(str::is_empty);
        let on_disk = hash(disk.unwrap_or_default());
        let ours = untouched || self.own.as_ref() == Some(&on_disk);
        let kind = match client {
            ClientText::Silence => TextKind::Unsaid,
            ClientText::Text(text) if hash(text) == on_disk => {
                self.held.clear();
                TextKind::Files
            }
            ClientText::Text(text) if text.is_empty() && !is_empty => TextKind::Empty,
            ClientText::Text(text) if self.held.contains(&hash(text)) => TextKind::Older,
            ClientText::Text(_) if ours || disk.is_none() => TextKind::Users,
            ClientText::Text(_) => TextKind::Either,
        };
        self.held.insert(on_disk);
        kind
    }

    /// Notes that Aside wrote a text into the file.
    pub(super) fn wrote(&mut self, text: &str) {
        let text = hash(text);
        self.held.insert(text.clone());
        self.own = Some(text);
    }
}

fn hash(text: &str) -> String {
    sha256(words(text).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> ClientText {
        ClientText::Text(text.to_owned())
    }

    #[test]
    fn a_text_is_the_files_the_users_or_nobody_knows() {
        let check = |client: ClientText, disk: Option<&str>, untouched: bool, kind: TextKind| {
            let judged = HeldTexts::default().judge(&client, disk, untouched);
            assert_eq!(judged, kind, "{client:?} and {disk:?}, {untouched}");
        };
        check(ClientText::Silence, Some("a\n"), true, TextKind::Unsaid);
        // Equal texts that are written in two ways.
        check(text("a\nb\n"), Some("a\r\nb\r\n"), true, TextKind::Files);
        check(text("a\nb"), Some("\u{feff}a\nb\n"), true, TextKind::Files);
        check(text("a\n\n"), Some("a\n"), true, TextKind::Users);
        check(text("a \n"), Some("a\n"), true, TextKind::Users);
        check(text("b\n"), Some("a\n"), false, TextKind::Either);
        check(text(""), Some("a\n"), true, TextKind::Empty);
        check(text(""), Some(""), true, TextKind::Files);
        check(text(""), None, true, TextKind::Files);
        check(text("new\n"), None, false, TextKind::Users);
    }

    #[test]
    fn what_a_file_held_is_older_until_the_client_agrees() {
        let mut texts = HeldTexts::default();
        let mut judge = |client: &str, disk: &str| texts.judge(&text(client), Some(disk), false);
        assert_eq!(judge("a\n", "a\n"), TextKind::Files);
        // A command changed the file, and the buffer is not loaded again.
        assert_eq!(judge("a\n", "b\n"), TextKind::Older);
        assert_eq!(judge("a\n", "c\n"), TextKind::Older);
        assert_eq!(judge("a\n", "c\n"), TextKind::Older);
        // Loaded again; then the user takes it back.
        assert_eq!(judge("c\n", "c\n"), TextKind::Files);
        assert_eq!(judge("a\n", "c\n"), TextKind::Either);
    }

    #[test]
    fn what_aside_wrote_is_nobody_elses_change() {
        let mut texts = HeldTexts::default();
        assert_eq!(
            texts.judge(&text("a\n"), Some("a\n"), true),
            TextKind::Files
        );
        texts.wrote("b\r\n");
        let mut judge = |client: &str| texts.judge(&text(client), Some("b\r\n"), false);
        assert_eq!(judge("a\n"), TextKind::Older);
        assert_eq!(judge("b\ntyped\n"), TextKind::Users);
        assert_eq!(judge("b\n"), TextKind::Files);
    }
}

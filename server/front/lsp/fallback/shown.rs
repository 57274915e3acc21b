//! A prompt in a person's words: whose it is where several ask, and files by their paths. Pure.

use std::path::Path;

use aside_base::visible::one_line;
use tower_lsp::lsp_types::Url;

use super::messages::{LABEL, cut};
use crate::front::wire::{Preview, Prompt};

/// UTF-16 units of a conversation's title in a label.
const TITLE: usize = 40;

/// The prompt with the title of its conversation, where others ask too, and the path of the file that it would change,
/// from `root`.
pub(super) fn in_words(prompt: &Prompt, title: Option<&str>, root: &Path) -> Prompt {
    let mut prompt = prompt.clone();
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        let label = cut(&one_line(&prompt.label), LABEL - TITLE - 3);
        prompt.label = format!("{label} ({})", cut(&one_line(title), TITLE));
    }
    if let Some(Preview::Diff { uri, .. }) = &mut prompt.preview {
        *uri = file(uri, &[root]);
    }
    prompt
}

/// The path of a file, from the first of the roots that it is in; whatever else a URI names as it is.
pub(in crate::front::lsp) fn file(uri: &str, roots: &[&Path]) -> String {
    let path = Url::parse(uri).ok().filter(|uri| uri.scheme() == "file");
    let Some(path) = path.and_then(|uri| uri.to_file_path().ok()) else {
        return uri.to_owned();
    };
    let inside = roots.iter().find_map(|root| path.strip_prefix(root).ok());
    inside.unwrap_or(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_path() {
        let roots = [Path::new("/link"), Path::new("/w")];
        for (uri, expected) in [
            ("file:///w/src/a.rs", "src/a.rs"),
            ("file:///link/a.rs", "a.rs"),
            ("file:///w/%C3%BCber%20x.rs", "über x.rs"),
            ("file:///word/a.rs", "/word/a.rs"),
            ("untitled:Untitled-1", "untitled:Untitled-1"),
            ("no URI", "no URI"),
        ] {
            assert_eq!(file(uri, &roots), expected);
        }
    }
}

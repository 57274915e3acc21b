//! Files by their URIs. A URI counts by its scheme: one of another scheme is no file, whatever its path says.

use std::path::PathBuf;

use url::Url;

/// The path of a file's URI; none for a URI of something else.
pub(in crate::front) fn file_of(uri: &Url) -> Option<PathBuf> {
    let is_file = uri.scheme() == "file";
    is_file.then(|| uri.to_file_path().ok()).flatten()
}

/// The same for a URI as text.
pub(in crate::front) fn file_path(uri: &str) -> Option<PathBuf> {
    file_of(&Url::parse(uri).ok()?)
}

/// The lines that a URI names behind its path, counted from 1: `#L3`, `#L3-5`, `#L3-L5`, `#L3:5` and the same without
/// the letter.
pub(in crate::front) fn lines_of(uri: &str) -> Option<(u32, u32)> {
    let (_, fragment) = uri.split_once('#')?;
    let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok();
    let (from, to) = match fragment.split_once(['-', ':']) {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(fragment)?, number(fragment)?),
    };
    (from > 0 && from <= to).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_a_file_has_a_path() {
        for (uri, expected) in [
            ("file:///w/a%20b.rs", Some("/w/a b.rs")),
            ("file://localhost/w/a.rs", Some("/w/a.rs")),
            ("file:///w/a.rs#L3", Some("/w/a.rs")),
            ("git:/w/a.rs?ref=HEAD", None),
            ("zed:///agent/terminal-selection?lines=4", None),
            ("untitled:Untitled-1", None),
            ("vscode-notebook-cell:/w/a.ipynb#x", None),
            ("no URI", None),
        ] {
            assert_eq!(file_path(uri).as_deref(), expected.map(Path::new), "{uri}");
        }
    }

    #[test]
    fn lines_are_read_as_clients_write_them() {
        for (fragment, expected) in [
            ("#L3", Some((3, 3))),
            ("#L3:4", Some((3, 4))),
            ("#L3-L5", Some((3, 5))),
            ("#L3-5", Some((3, 5))),
            ("#7", Some((7, 7))),
            ("#L5-3", None),
            ("#L0", None),
            ("#heading", None),
            ("", None),
        ] {
            assert_eq!(
                lines_of(&format!("file:///a{fragment}")),
                expected,
                "{fragment}"
            );
        }
    }
}

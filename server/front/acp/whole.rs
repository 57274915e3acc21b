//! Reconstruction of whole texts from a diff, for clients that show a change only by both texts.

use std::{fs, path::PathBuf};

use super::updates::FileChange;

/// Maximum size in bytes of a file whose change is shown whole.
const LARGE: u64 = 2 * 1024 * 1024;

/// The change that a diff describes, if the file is as the diff left it. Blocks on the file.
pub(super) fn change(path: PathBuf, diff: &str) -> Option<FileChange> {
    let is_small = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= LARGE);
    let new = fs::read_to_string(&path).ok().filter(|_| is_small)?;
    let old = Some(before(&new, diff)?).filter(|old| !old.is_empty());
    Some(FileChange { path, old, new })
}

/// The text before a change, from the text after it and a unified diff. `None` if they do not match.
fn before(new: &str, diff: &str) -> Option<String> {
    let mut rest = new.split_inclusive('\n');
    let mut at = 1;
    let mut old = String::new();
    let mut lines = diff.split_inclusive('\n').peekable();
    while lines.next_if(|line| !line.starts_with("@@")).is_some() {}
    while let Some(line) = lines.next() {
        if line.starts_with("@@") {
            let start = first_of_new(line)?;
            while at < start {
                old.push_str(rest.next()?);
                at += 1;
            }
            continue;
        }
        // The mark of a missing final newline follows the line.
        let ends = lines.next_if(|next| next.starts_with('\\')).is_none();
        let text = |line: &str| {
            let text = line.get(1..)?;
            Some(if ends { text } else { text.strip_suffix('\n')? }.to_owned())
        };
        match line.as_bytes().first()? {
            b' ' => {
                old.push_str(
                    rest.next()
                        .filter(|it| Some(*it) == text(line).as_deref())?,
                );
                at += 1;
            }
            b'+' => {
                rest.next()
                    .filter(|it| Some(*it) == text(line).as_deref())?;
                at += 1;
            }
            b'-' => old.push_str(&text(line)?),
            _ => return None,
        }
    }
    old.extend(rest);
    Some(old)
}

/// First line of a hunk in the new text: the number after `+`, or the line before for a hunk without lines.
fn first_of_new(header: &str) -> Option<usize> {
    let range = header.split(' ').find_map(|part| part.strip_prefix('+'))?;
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    let start: usize = start.parse().ok()?;
    Some(if count == "0" { start + 1 } else { start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_before_is_found_by_the_diff_and_not_where_the_file_changed_since() {
        for (old, new) in [
            ("a\nb\nc\n", "a\nB\nc\n"),
            ("", "new\n"),
            ("gone\n", ""),
            ("a\nb", "a\nb\n"),
            ("a\nb\n", "a\nb"),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
                "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n12\n13\n",
            ),
            ("same\n", "same\n"),
            ("ä\r\nb\r\n", "ä\r\nc\r\n"),
        ] {
            let diff = similar::TextDiff::from_lines(old, new);
            let diff = diff.unified_diff().header("a", "b").to_string();
            assert_eq!(before(new, &diff).as_deref(), Some(old), "{diff}");
            // A file of which nothing is left could be the end of any.
            if old != new && !new.is_empty() {
                assert_eq!(before("other\n", &diff), None, "{diff}");
            }
        }
    }
}

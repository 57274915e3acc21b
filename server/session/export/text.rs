//! Texts as parts of a page: inline, with a label, as code.

use aside_base::visible::printable;

use super::harmless::{block, inline};

/// Maximum number of characters shown of a line.
pub(super) const WIDTH: usize = 200;

/// A text without terminal escapes and with visible hidden characters.
pub(super) fn plain(text: &str) -> String {
    printable(text.as_bytes())
}

/// A text within a line.
pub(super) fn phrase(text: &str) -> String {
    inline(&one_line(text))
}

pub(super) fn one_line(text: &str) -> String {
    let text = plain(text);
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

pub(super) fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// A text with the label of its author; on separate lines if the text has several.
pub(super) fn labelled(label: &str, text: &str) -> String {
    let text = plain(text);
    let text = text.trim();
    if text.contains('\n') {
        quoted(&format!("{label}\n\n{}", block(text)))
    } else {
        quoted(&format!("{label} {}", inline(text)))
    }
}

/// A text that is not the user's, with a label. It is a quotation within the quotation, so that none of its lines passes
/// for a label.
pub(super) fn labelled_of_others(label: &str, text: &str) -> String {
    let text = plain(text);
    match text.trim() {
        text if text.contains('\n') => quoted(&format!("{label}\n\n{}", quoted(&block(text)))),
        text => labelled(label, text),
    }
}

pub(super) fn quoted(text: &str) -> String {
    let lines = text.trim().lines();
    let lines: Vec<String> = lines
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

pub(super) fn codes<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| code(&one_line(name)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Inline code, delimited by more backticks than its longest run.
pub(super) fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let space = if text.contains('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

pub(super) fn fence(text: &str) -> String {
    "`".repeat((longest_run(text) + 1).max(3))
}

/// A block of code, delimited by more backticks than its longest run.
#[must_use]
pub fn fenced(language: &str, text: &str) -> String {
    let fence = fence(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
}

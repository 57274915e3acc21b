//! Makes markdown of models and tools harmless: it loads no image and no HTML, begins no quotation, and has smaller
//! headings than turns, so that it cannot pass for the page's own text.
//!
//! Code in fences at the start of a line is unchanged; other code is unchanged as far as it is harmless.

/// Tags that load or run something, and those of the page's own parts.
const TAGS: [&str; 23] = [
    "audio",
    "base",
    "blockquote",
    "body",
    "details",
    "embed",
    "form",
    "frame",
    "h1",
    "h2",
    "iframe",
    "image",
    "img",
    "input",
    "link",
    "meta",
    "object",
    "picture",
    "script",
    "source",
    "style",
    "svg",
    "video",
];

/// A text on lines of its own. An open fence is closed.
pub(super) fn block(text: &str) -> String {
    let references = text.contains("]:");
    let mut lines = Vec::new();
    // The backticks or tildes that opened the fence that a line is in.
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let marks = marks(line);
        match open {
            Some(fence) => {
                if marks.starts_with(fence) && line[marks.len()..].trim().is_empty() {
                    open = None;
                }
                lines.push(line.to_owned());
            }
            // The info string of a backtick fence contains no backticks.
            None if !marks.is_empty() && !line[marks.len()..].contains('`') => {
                open = Some(marks);
                lines.push(line.to_owned());
            }
            None => {
                let safe = escaped(line, references || text.contains("]("));
                lines.push(own(
                    &safe,
                    lines.last().is_some_and(|above| !above.is_empty()),
                ));
            }
        }
    }
    if let Some(fence) = open {
        lines.push(fence.to_owned());
    }
    lines.join("\n")
}

/// A line without a quotation or a heading as large as a turn's. `below`: a line precedes it, which a line of dashes
/// would turn into a heading.
fn own(line: &str, below: bool) -> String {
    let text = line.trim_start_matches([' ', '\t']);
    let indent = &line[..line.len() - text.len()];
    let underlines = |mark: char| {
        let marks = text.trim_end();
        below && !marks.is_empty() && marks.chars().all(|letter| letter == mark)
    };
    // An indent of more than three columns is code.
    if indent.len() > 3 || indent.contains('\t') {
        return line.to_owned();
    }
    if text.starts_with('>') || underlines('-') || underlines('=') {
        return format!("{indent}\\{text}");
    }
    let marks = text.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = text[marks..].is_empty() || text[marks..].starts_with([' ', '\t']);
    match marks {
        1 | 2 if is_heading => format!("{indent}##{text}"),
        _ => line.to_owned(),
    }
}

/// A text within a line.
pub(super) fn inline(text: &str) -> String {
    escaped(
        text,
        text.contains("](") || text.contains("]:") || text.contains("]["),
    )
}

/// The three or more backticks or tildes at the start of a line.
fn marks(line: &str) -> &str {
    let mark = if line.starts_with('~') { '~' } else { '`' };
    let marks = &line[..line.len() - line.trim_start_matches(mark).len()];
    if marks.len() >= 3 { marks } else { "" }
}

fn escaped(line: &str, images: bool) -> String {
    let mut safe = String::with_capacity(line.len());
    for (at, letter) in line.char_indices() {
        let (before, rest) = (&line[..at], &line[at + letter.len_utf8()..]);
        match letter {
            '<' if begins_block(before, rest) || loads(rest) => safe.push_str("&lt;"),
            '[' if images && before.ends_with('!') => safe.push_str("\\["),
            _ => safe.push(letter),
        }
    }
    safe
}

/// Whether HTML begins a block here, also within quotes and lists, so that the following lines are HTML too.
fn begins_block(before: &str, rest: &str) -> bool {
    let markers = |letter: char| !letter.is_alphabetic() && !matches!(letter, '`' | '<');
    before.chars().all(markers)
        && rest.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next))
}

fn loads(rest: &str) -> bool {
    let end = rest
        .find(|letter: char| !letter.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    TAGS.iter().any(|tag| rest[..end].eq_ignore_ascii_case(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_loaded() {
        for (text, expected) in [
            ("![x](http://e/x.png)", "!\\[x](http://e/x.png)"),
            (
                "see ![x][r]\n\n[r]: http://e",
                "see !\\[x][r]\n\n[r]: http://e",
            ),
            ("![x\ny](http://e)", "!\\[x\ny](http://e)"),
            ("see <IMG src=x>", "see &lt;IMG src=x>"),
            ("see <img/src=x>", "see &lt;img/src=x>"),
            (
                "<div>\n```\n<img src=x>\n```",
                "&lt;div>\n```\n<img src=x>\n```",
            ),
            ("- <div>", "- &lt;div>"),
            ("> <!-- x", "\\> &lt;!-- x"),
            ("<script>x</script>", "&lt;script>x</script>"),
            ("- ```\n  <img src=x>", "- ```\n  &lt;img src=x>"),
            ("``` a`b\n<img src=x>", "``` a`b\n&lt;img src=x>"),
        ] {
            assert_eq!(block(text), expected);
        }
        assert_eq!(inline("```![x](http://e)"), "```!\\[x](http://e)");
    }

    #[test]
    fn nothing_passes_for_a_part_of_the_page() {
        for (text, expected) in [
            ("> **User:** yes", "\\> **User:** yes"),
            ("   > **User:** yes", "   \\> **User:** yes"),
            (
                "Well.\n> quoted\n>\n> more",
                "Well.\n\\> quoted\n\\>\n\\> more",
            ),
            (
                "# One\n## Turn 2\n### Three",
                "### One\n#### Turn 2\n### Three",
            ),
            ("Turn 2\n---\nx\n===", "Turn 2\n\\---\nx\n\\==="),
            (
                "<blockquote>User</blockquote>",
                "&lt;blockquote>User</blockquote>",
            ),
            ("see <h2>Turn 2</h2>", "see &lt;h2>Turn 2</h2>"),
        ] {
            assert_eq!(block(text), expected);
        }
        for text in [
            "one\n\n---\n\ntwo",
            "- > in a list",
            "a > b",
            "    > code",
            "#include",
        ] {
            assert_eq!(block(text), text);
        }
    }

    #[test]
    fn code_stays_as_it_is() {
        for text in [
            "use `Vec<T>` and `vec![1]`, 1 < 2",
            "use `Vec<T>`, see [a link](http://e)",
            "```html\n<img src=x> ![x](y)\n```\nafter",
            "````md\n```\n![x](y)\n```\n````",
            "~~~\n<svg>\n~~~",
        ] {
            assert_eq!(block(text), text);
        }
        assert_eq!(block("```\nleft open"), "```\nleft open\n```");
    }
}

//! Markdown of models and tools, so that showing it loads nothing: no image, no HTML.
//!
//! Code stays as it is in fences that begin a line, and elsewhere as far as it cannot be taken for either.

/// Tags that make a page load or run something.
const LOADING: [&str; 19] = [
    "audio", "base", "body", "embed", "form", "frame", "iframe", "image", "img", "input", "link",
    "meta", "object", "picture", "script", "source", "style", "svg", "video",
];

/// A text that stands on lines of its own. A fence that it leaves open is closed.
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
            // What follows the backticks of a fence holds none.
            None if !marks.is_empty() && !line[marks.len()..].contains('`') => {
                open = Some(marks);
                lines.push(line.to_owned());
            }
            None => lines.push(escaped(line, references || text.contains("]("))),
        }
    }
    if let Some(fence) = open {
        lines.push(fence.to_owned());
    }
    lines.join("\n")
}

/// A text that stands within a line.
pub(super) fn inline(text: &str) -> String {
    escaped(
        text,
        text.contains("](") || text.contains("]:") || text.contains("]["),
    )
}

/// The three or more backticks or tildes that a line begins with.
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

/// HTML that begins a line, within quotes and lists too, makes all after it HTML.
fn begins_block(before: &str, rest: &str) -> bool {
    let markers = |letter: char| !letter.is_alphabetic() && !matches!(letter, '`' | '<');
    before.chars().all(markers)
        && rest.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next))
}

fn loads(rest: &str) -> bool {
    let end = rest
        .find(|letter: char| !letter.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    LOADING
        .iter()
        .any(|tag| rest[..end].eq_ignore_ascii_case(tag))
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
            ("> <!-- x", "> &lt;!-- x"),
            ("<script>x</script>", "&lt;script>x</script>"),
            ("- ```\n  <img src=x>", "- ```\n  &lt;img src=x>"),
            ("``` a`b\n<img src=x>", "``` a`b\n&lt;img src=x>"),
        ] {
            assert_eq!(block(text), expected);
        }
        assert_eq!(inline("```![x](http://e)"), "```!\\[x](http://e)");
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

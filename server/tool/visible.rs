//! Text of models, files and tools made safe to look at: what cannot be seen is shown, and terminals are not
//! steered by it.

use std::borrow::Cow;

/// The text with every control and invisible character but line breaks and tabs made visible: a control
/// picture such as `␛`, else its number such as `<U+202E>`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_hidden(c) => out.push(c),
            '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => out.push('␡'),
            c => out.push_str(&name(c)),
        }
    }
    Cow::Owned(out)
}

/// A text as one line of at most `max` characters, with everything in it visible.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    let text = visible(text);
    let line = text.trim().replace('\n', "␊").replace('\t', " ");
    match line.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// What a program wrote, as text: escape sequences for terminals are left out, carriage returns before line
/// breaks too, what is not UTF-8 becomes `�`, and every other control character is made visible.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain = without_escapes(&text).replace("\r\n", "\n");
    visible(&plain).into_owned()
}

/// Cuts a text to at most `bytes`, and says so; one that fits stays as it is.
pub(super) fn cut(text: &mut String, bytes: usize, note: &str) {
    if text.len() <= bytes {
        return;
    }
    let whole = (0..=bytes).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(whole.unwrap_or_default());
    text.push_str(note);
}

/// Names of the invisible and control characters that `new` has more of than `old`, each once.
#[must_use]
pub fn hidden_added(old: &str, new: &str) -> Vec<String> {
    let count = |text: &str, wanted: char| text.chars().filter(|c| *c == wanted).count();
    let mut found: Vec<char> = new
        .chars()
        .filter(|c| is_hidden(*c) && *c != '\r')
        .collect();
    found.sort_unstable();
    found.dedup();
    found.retain(|c| count(new, *c) > count(old, *c));
    found
        .into_iter()
        .map(|c| name(c).trim_matches(['<', '>']).to_owned())
        .collect()
}

/// A number of things, in words: `1 file`, `3 matches`.
#[must_use]
pub fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ if thing.ends_with("ch") => format!("{count} {thing}es"),
        _ => format!("{count} {thing}s"),
    }
}

/// Whether a character takes no place of its own on a screen, or steers it.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' => true,
        '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

fn name(c: char) -> String {
    format!("<U+{:04X}>", u32::from(c))
}

/// Leaves out CSI and OSC sequences and other two-character escapes.
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => {
                // Parameters and intermediates, then one final byte.
                while chars.next_if(|c| matches!(c, '\x20'..='\x3f')).is_some() {}
                let _ = chars.next_if(|c| matches!(c, '\x40'..='\x7e'));
            }
            Some(']') => {
                // An operating system command ends at BEL or ST; one that does not end is a line at most.
                while chars
                    .next_if(|c| !matches!(c, '\x07' | '\x1b' | '\n'))
                    .is_some()
                {}
                if chars.next_if_eq(&'\x1b').is_some() {
                    let _ = chars.next_if_eq(&'\\');
                } else {
                    let _ = chars.next_if_eq(&'\x07');
                }
            }
            Some('(' | ')') => drop(chars.next()),
            Some('\n') => out.push('\n'),
            _ => {}
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown() {
        let check = |text: &str, shown: &str| assert_eq!(visible(text), shown);
        check("plain\ttext\nä 漢 🙂", "plain\ttext\nä 漢 🙂");
        check("rm\r-rf\0\x1b[2K\x7f", "rm␍-rf␀␛[2K␡");
        check(
            "a\u{202e}b\u{200b}c\u{e0041}",
            "a<U+202E>b<U+200B>c<U+E0041>",
        );
        check("\u{85}\u{9b}", "<U+0085><U+009B>");
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(one_line(" a\n b\tc ", 20), "a␊ b c");
        assert_eq!(one_line("ääää", 3), "äää…");
        assert_eq!(one_line("ääää", 4), "ääää");
    }

    #[test]
    fn output_does_not_steer_a_terminal() {
        let check = |bytes: &[u8], text: &str| assert_eq!(printable(bytes), text);
        check(b"\x1b[1;31mred\x1b[0m\r\nnext", "red\nnext");
        check(b"\x1b]8;;http://x\x07link\x1b]8;;\x1b\\ end", "link end");
        check(b"\x1b]0;never ends\nline", "\nline");
        check(b"\xff\x00bin\x1b", "\u{fffd}␀bin");
        check(b"50%\r100%", "50%␍100%");
    }

    #[test]
    fn cuts_between_characters() {
        let check = |bytes: usize, expected: &str| {
            let mut text = "aäb".to_owned();
            cut(&mut text, bytes, "…");
            assert_eq!(text, expected);
        };
        check(4, "aäb");
        check(3, "aä…");
        check(2, "a…");
        check(0, "…");
    }

    #[test]
    fn names_what_a_change_hides() {
        assert_eq!(hidden_added("a", "a\u{202e}b\u{202e}"), ["U+202E"]);
        assert!(hidden_added("a\u{feff}", "b\u{feff}\r\n").is_empty());
    }
}

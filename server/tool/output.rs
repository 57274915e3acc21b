//! How tools word and bound what they return.

/// Cuts a text to at most `bytes` and appends the note; a text that fits stays as it is.
pub(super) fn cut(text: &mut String, bytes: usize, note: &str) {
    if text.len() <= bytes {
        return;
    }
    let whole = (0..=bytes).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(whole.unwrap_or_default());
    text.push_str(note);
}

/// A number of things, in words: `1 file`, `3 matches`.
pub(super) fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ if thing.ends_with("ch") => format!("{count} {thing}es"),
        _ => format!("{count} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

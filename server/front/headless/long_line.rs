//! Long lines of a change, shown by what is around the change. Pure. Everything that changes is shown: a person allows
//! nothing unseen.

use std::borrow::Cow;

/// Characters up to which a line is shown whole.
const WHOLE: usize = 400;
/// Characters that are shown of what stays, on each side of what changes.
const AROUND: usize = 80;

/// A line that stays, or its beginning.
#[must_use]
pub(super) fn kept(line: &str) -> Cow<'_, str> {
    let count = line.chars().count();
    if count <= WHOLE {
        return line.into();
    }
    format!("{}{}", first(line, AROUND), left_out(count - AROUND)).into()
}

/// A line that is another one before or after the change: what differs, and what is around that.
#[must_use]
pub(super) fn changed<'a>(line: &'a str, other: &str) -> Cow<'a, str> {
    let count = line.chars().count();
    if count <= WHOLE {
        return line.into();
    }
    let same = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let before = same(&mut line.chars(), &mut other.chars());
    let most = count.min(other.chars().count()) - before;
    let after = same(&mut line.chars().rev(), &mut other.chars().rev()).min(most);
    let cut_before = before.saturating_sub(AROUND);
    let cut_after = after.saturating_sub(AROUND);
    let middle: String = line
        .chars()
        .skip(cut_before)
        .take(count - cut_before - cut_after)
        .collect();
    format!("{}{middle}{}", left_out(cut_before), left_out(cut_after)).into()
}

fn first(line: &str, most: usize) -> &str {
    let end = line.char_indices().nth(most);
    end.map_or(line, |(at, _)| &line[..at])
}

fn left_out(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("⟨{count} characters that stay⟩"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_are_whole() {
        assert_eq!(kept("a = 1"), "a = 1");
        assert_eq!(changed("a = 1", "a = 2"), "a = 1");
    }

    #[test]
    fn long_lines_show_what_is_around_the_change() {
        let (left, right) = ("l".repeat(150_000), "r".repeat(150_000));
        let (old, new) = (format!("{left}old{right}"), format!("{left}newer{right}"));
        let around = |word: &str| {
            let (l, r) = (&left[..80], &right[..80]);
            format!("⟨149920 characters that stay⟩{l}{word}{r}⟨149920 characters that stay⟩")
        };
        assert_eq!(changed(&old, &new), around("old"));
        assert_eq!(changed(&new, &old), around("newer"));
        assert_eq!(
            kept(&left),
            format!("{}⟨149920 characters that stay⟩", &left[..80])
        );
    }

    #[test]
    fn everything_that_changes_is_shown() {
        let (old, new) = ("a".repeat(500), "b".repeat(900));
        assert_eq!(changed(&new, &old), new);
        assert_eq!(changed(&new, ""), new);
        let more = format!("{old}{old}");
        let shown = changed(&more, &old);
        assert!(shown.ends_with(&"a".repeat(500)), "{shown}");
        let at_both_ends = format!("x{old}y");
        assert_eq!(changed(&at_both_ends, &format!("1{old}2")), at_both_ends);
    }
}

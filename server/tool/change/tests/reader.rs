//! The independent reader: texts letter by letter, without any of what the tools use.

/// The reader's own idea of a text without its kinds of line ends: each with the place where it begins and ends.
pub(super) fn letters(text: &str) -> Vec<(char, usize, usize)> {
    let mut letters = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, letter)) = rest.next() {
        let end = at + letter.len_utf8();
        match (letter, rest.peek()) {
            ('\r', Some((_, '\n'))) => {
                rest.next();
                letters.push(('\n', at, end + 1));
            }
            ('\r', _) => letters.push(('\n', at, end)),
            _ => letters.push((letter, at, end)),
        }
    }
    letters
}

pub(super) fn plain(text: &str) -> String {
    letters(text)
        .into_iter()
        .map(|(letter, ..)| letter)
        .collect()
}

/// Where a text begins and ends, as the reader finds it: letter by letter.
pub(super) fn found(text: &str, wanted: &str) -> Vec<(usize, usize)> {
    let (text, wanted) = (letters(text), letters(wanted));
    let windows = text.windows(wanted.len());
    let alike = windows.filter(|window| window.iter().zip(&wanted).all(|(a, b)| a.0 == b.0));
    alike
        .map(|window| (window[0].1, window[window.len() - 1].2))
        .collect()
}

pub(super) fn label(text: &str, places: &[(usize, usize)], at: usize) -> String {
    let line = |place: usize| text[..place].split('\n').count();
    let place = places[at].0;
    let alone = places.iter().filter(|it| line(it.0) == line(place)).count() == 1;
    let start = text[..place].rsplit('\n').next().unwrap_or_default();
    match alone {
        true => line(place).to_string(),
        false => format!("{}:{}", line(place), start.chars().count() + 1),
    }
}

pub(super) fn ends(text: &str) -> (usize, usize) {
    (text.matches('\n').count(), text.matches("\r\n").count())
}

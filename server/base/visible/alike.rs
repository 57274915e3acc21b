//! Letters of other scripts that look like letters of ASCII.

/// Letters of Cyrillic, Greek, Armenian and of numerals that look like one of ASCII.
const ALIKE: &str = "АВЕЅІЈКМНОРСТУХаԁеһіјӏорсԛѕуԝхѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧΥιονρϲյոօսցɡⅠⅤⅩⅬⅭⅮⅯⅰⅴⅹⅼⅽⅾⅿ";

/// The places of such letters in words that have letters of ASCII too: `gіt`. A word of another script has none.
pub(super) fn alike(text: &str) -> impl Iterator<Item = (usize, char)> {
    let is_alike = |c: char| !c.is_ascii() && ALIKE.contains(c);
    let words = text.split(|c: char| !c.is_alphanumeric());
    let mixed = words.filter(|word| word.contains(|c: char| c.is_ascii_alphabetic()));
    mixed.flat_map(move |word| {
        let start = word.as_ptr().addr() - text.as_ptr().addr();
        let letters = word.char_indices().filter(move |(_, c)| is_alike(*c));
        letters.map(move |(at, c)| (start + at, c))
    })
}

//! Hidden characters that belong to the text around them: in an emoji of several parts, and where a script needs them to
//! join or to part its letters. Without them the text is not readable.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{CanonicalCombiningClass, ExtendedPictographic, GeneralCategory, JoiningType},
};

/// Joins what stands on both sides.
const JOINER: char = '\u{200d}';
/// Parts it.
const NON_JOINER: char = '\u{200c}';
/// Shows what stands before it as an emoji.
const EMOJI_STYLE: char = '\u{fe0f}';
/// The flag that letters of tags make that of a region.
const FLAG: char = '\u{1f3f4}';

/// Whether the hidden character at this place belongs to the text, by Unicode's definition of emoji (UTS 51) and of
/// joiners in identifiers (UAX 31).
pub(super) fn belongs(all: &[char], at: usize) -> bool {
    match all[at] {
        JOINER => follows_virama(all, at) || joins_emoji(all, at),
        NON_JOINER => {
            let is_before_letter = all.get(at + 1).is_some_and(|c| c.is_alphabetic());
            (follows_virama(all, at) && is_before_letter) || parts_letters(all, at)
        }
        EMOJI_STYLE => {
            let is_key = |c: &char| c.is_ascii_digit() || matches!(c, '#' | '*');
            let before = at.checked_sub(1).and_then(|before| all.get(before));
            before.is_some_and(is_key) && all.get(at + 1) == Some(&'\u{20e3}')
        }
        c if is_tag(c) => is_in_flag(all, at),
        _ => false,
    }
}

/// Whether what comes next may decide whether this character belongs to the text.
#[must_use]
pub fn awaits_more(c: char) -> bool {
    matches!(c, JOINER | NON_JOINER | EMOJI_STYLE | FLAG) || is_tag(c)
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0020}'..='\u{e007f}')
}

/// Whether a sign that takes a letter's vowel away stands before this place.
fn follows_virama(all: &[char], at: usize) -> bool {
    let classes = CodePointMapData::<CanonicalCombiningClass>::new();
    let marks = all[..at].iter().rev();
    let mut marks = marks.take_while(|c| is_mark(**c));
    marks.any(|c| classes.get(*c) == CanonicalCombiningClass::Virama)
}

fn is_mark(c: char) -> bool {
    let kind = CodePointMapData::<GeneralCategory>::new().get(c);
    matches!(
        kind,
        GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark
    )
}

/// Whether letters stand on both sides that would join each other.
fn parts_letters(all: &[char], at: usize) -> bool {
    let joining = CodePointMapData::<JoiningType>::new();
    let kind = |c: &char| joining.get(*c);
    let is_seen = |kind: &JoiningType| *kind != JoiningType::Transparent;
    let before = all[..at].iter().rev().map(kind).find(is_seen);
    let after = all[at + 1..].iter().map(kind).find(is_seen);
    let joins_on = [JoiningType::DualJoining, JoiningType::LeftJoining];
    let joins_back = [JoiningType::DualJoining, JoiningType::RightJoining];
    before.is_some_and(|kind| joins_on.contains(&kind))
        && after.is_some_and(|kind| joins_back.contains(&kind))
}

fn joins_emoji(all: &[char], at: usize) -> bool {
    let pictures = CodePointSetData::new::<ExtendedPictographic>();
    let is_style = |c: &&char| matches!(**c, EMOJI_STYLE | '\u{1f3fb}'..='\u{1f3ff}');
    let before = all[..at].iter().rev().find(|c| !is_style(c));
    let after = all.get(at + 1);
    before.is_some_and(|c| pictures.contains(*c)) && after.is_some_and(|c| pictures.contains(*c))
}

/// Whether this tag is one of those between a flag and the end of its tags.
fn is_in_flag(all: &[char], at: usize) -> bool {
    let begin = all[..at].iter().rposition(|c| !is_tag(*c));
    let tags = all[at..].iter().take_while(|c| is_tag(**c));
    begin.is_some_and(|begin| all[begin] == FLAG) && tags.last() == Some(&'\u{e007f}')
}

use super::*;
use crate::front::lsp::{client::counting::LoneReturn, documents::positions::span};

/// The edits as text, `line:character-line:character "text"`.
fn shown(base: &str, new: &str, utf8: bool) -> Vec<String> {
    let edits = Splices::between(base, new).text_edits(Counting::plain(utf8));
    let place = |at: lsp::Position| format!("{}:{}", at.line, at.character);
    let edit = |edit: &TextEdit| {
        let (start, end) = (place(edit.range.start), place(edit.range.end));
        format!("{start}-{end} {:?}", edit.new_text)
    };
    edits.iter().map(edit).collect()
}

/// What a client makes of the edits: all are about the text before.
fn applied(base: &str, edits: &[TextEdit], counting: Counting) -> String {
    let mut text = base.to_owned();
    let mut last = usize::MAX;
    for edit in edits.iter().rev() {
        let range = span(base, edit.range, counting);
        assert!(range.end <= last, "the edits overlap: {edits:?}");
        last = range.start;
        text.replace_range(range, &edit.new_text);
    }
    text
}

#[test]
fn only_what_is_different_is_edited() {
    let table: &[(&str, &str, &[&str])] = &[
        ("one\ntwo\n", "one\ntwo\n", &[]),
        ("one\ntwo\n", "one\n2\n", &[r#"1:0-1:3 "2""#]),
        ("one\ntwo\n", "one\ntoo\n", &[r#"1:1-1:2 "o""#]),
        (
            "a\nb\nc\nd\n",
            "A\nb\nc\nD\n",
            &[r#"0:0-0:1 "A""#, r#"3:0-3:1 "D""#],
        ),
        ("a\nc\n", "a\nb\nc\n", &[r#"1:0-1:0 "b\n""#]),
        ("a\nb\nc\n", "a\nc\n", &[r#"1:0-2:0 """#]),
        ("", "new\n", &[r#"0:0-0:0 "new\n""#]),
        ("old\n", "", &[r#"0:0-1:0 """#]),
        ("no end", "no end\n", &[r#"0:6-0:6 "\n""#]),
        ("end\n", "end", &[r#"0:3-1:0 """#]),
        ("a\r\nb\r\n", "a\r\nc\r\n", &[r#"1:0-1:1 "c""#]),
        // Between CR and LF there is no position.
        ("a\r\nb", "a\nb", &[r#"0:1-1:0 "\n""#]),
        ("a\nb", "a\r\nb", &[r#"0:1-1:0 "\r\n""#]),
        ("a\rb", "a\r\nb", &[r#"0:1-1:0 "\r\n""#]),
    ];
    for (base, new, edits) in table {
        assert_eq!(shown(base, new, false), *edits, "{base:?} to {new:?}");
    }
}

#[test]
fn letters_beyond_the_basic_plane_count_as_the_encoding_says() {
    let (base, new) = ("𝄞ä𝄞 clef\n", "𝄞ä𝄞 key\n");
    assert_eq!(shown(base, new, false), [r#"0:6-0:10 "key""#]);
    assert_eq!(shown(base, new, true), [r#"0:11-0:15 "key""#]);
    // Two letters that begin with the same bytes.
    assert_eq!(shown("𝄞", "𝄢", false), [r#"0:0-0:2 "𝄢""#]);
}

#[test]
fn the_edits_of_any_two_texts_lead_from_one_to_the_other() {
    let mut random = fastrand::Rng::with_seed(7);
    let pieces = ["a", "b", "word", "ä", "𝄞", "\n", "\n", "\r\n", "\r", ""];
    let text = |random: &mut fastrand::Rng| -> String {
        let length = random.usize(..12);
        (0..length)
            .map(|_| pieces[random.usize(..pieces.len())])
            .collect()
    };
    for _ in 0..20_000 {
        let (base, new) = (text(&mut random), text(&mut random));
        let splices = Splices::between(&base, &new);
        for returns in [LoneReturn::LineEnd, LoneReturn::Character] {
            for utf8 in [false, true] {
                let counting = Counting { utf8, returns };
                let after = applied(&base, &splices.text_edits(counting), counting);
                assert_eq!(after, new, "from {base:?}, {splices:?}");
            }
        }
        assert_eq!(splices.made(&new), EditsSeen::All);
    }
}

#[test]
fn a_text_is_known_as_the_change_or_a_part_of_it() {
    let splices = Splices::between("a\nb\nc\nd\ne\n", "A\nb\nC\nd\nE\n");
    let made = |text: &str| splices.made(text);
    assert_eq!(made("A\nb\nC\nd\nE\n"), EditsSeen::All);
    // From the front, or from the end as some clients make them.
    assert_eq!(made("A\nb\nc\nd\ne\n"), EditsSeen::Some);
    assert_eq!(made("a\nb\nC\nd\nE\n"), EditsSeen::Some);
    assert_eq!(made("a\nb\nC\nd\ne\n"), EditsSeen::Otherwise);
    assert_eq!(made("A\nb\nC\nd\nE\n!"), EditsSeen::Otherwise);
    assert_eq!(
        made("a\nb\nc\nd\ne\n"),
        EditsSeen::Otherwise,
        "nothing was made"
    );
}

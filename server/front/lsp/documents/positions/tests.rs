use super::*;

const TEXT: &str = "one\r\ntwö €\r\n𝄞 clef\rlast";

#[test]
fn a_rope_has_its_positions_where_the_text_has_them() {
    for text in [TEXT, "", "\n", "\r\n\r\n", "a\n\n", "\r\r𝄞€"] {
        let rope = Rope::from_str(text);
        for utf8 in [true, false] {
            for (line, character) in (0..6).flat_map(|line| (0..12).map(move |at| (line, at))) {
                let start = Position { line, character };
                let range = Range::new(start, Position::new(line + 1, 1));
                let (bytes, chars) = (span(text, range, utf8), rope_span(&rope, range, utf8));
                let chars = rope.char_to_byte(chars.start)..rope.char_to_byte(chars.end);
                assert_eq!(chars, bytes, "{text:?} {start:?} {utf8}");
            }
        }
    }
}

#[test]
fn positions_are_found_in_both_encodings_and_cut_to_the_text() {
    for utf8 in [true, false] {
        for at in TEXT.char_indices().map(|(at, _)| at).chain([TEXT.len()]) {
            // Between CR and LF there is no position.
            if TEXT[..at].ends_with('\r') && TEXT[at..].starts_with('\n') {
                continue;
            }
            let place = Positions::new(TEXT, utf8).of(at);
            assert_eq!(offset(TEXT, place, utf8), at, "{place:?}");
        }
        let past = |line, character| offset(TEXT, Position { line, character }, utf8);
        assert_eq!(past(0, 99), 3);
        assert_eq!(past(9, 0), TEXT.len());
    }
    assert_eq!(
        Positions::new(TEXT, false).of(TEXT.find("clef").unwrap()),
        Position::new(2, 3)
    );
    assert_eq!(
        Positions::new(TEXT, true).of(TEXT.find("clef").unwrap()),
        Position::new(2, 5)
    );
}

use super::*;

const TEXT: &str = "one\r\ntwö €\r\n𝄞 clef\rlast";

fn countings() -> impl Iterator<Item = Counting> {
    let kinds = [
        LoneReturn::Character,
        LoneReturn::LineEnd,
        LoneReturn::Unknown,
    ];
    let both = |returns| [true, false].map(|utf8| Counting { utf8, returns });
    kinds.into_iter().flat_map(both)
}

#[test]
fn a_rope_has_its_positions_where_the_text_has_them() {
    for text in [TEXT, "", "\n", "\r\n\r\n", "a\n\n", "\r\r𝄞€"] {
        let rope = Rope::from_str(text);
        for counting in countings() {
            // Lines that end with a carriage return are looked for in the text.
            if counting.returns != LoneReturn::Character && has_lone_return(text) {
                continue;
            }
            for (line, character) in (0..6).flat_map(|line| (0..12).map(move |at| (line, at))) {
                let start = Position { line, character };
                let range = Range::new(start, Position::new(line + 1, 1));
                let bytes = span(text, range, counting);
                let chars = rope_span(&rope, range, counting);
                let chars = rope.char_to_byte(chars.start)..rope.char_to_byte(chars.end);
                assert_eq!(chars, bytes, "{text:?} {start:?} {counting:?}");
            }
        }
    }
}

#[test]
fn positions_are_found_in_both_encodings_and_cut_to_the_text() {
    for utf8 in [true, false].map(Counting::plain) {
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
        Positions::new(TEXT, Counting::plain(false)).of(TEXT.find("clef").unwrap()),
        Position::new(2, 3)
    );
    assert_eq!(
        Positions::new(TEXT, Counting::plain(true)).of(TEXT.find("clef").unwrap()),
        Position::new(2, 5)
    );
}

#[test]
fn a_carriage_return_within_a_line_counts_as_the_client_counts() {
    let text = "1%\r2%\nalpha\r\nbeta\n";
    let place = |returns, wanted: &str| {
        let counting = Counting {
            utf8: false,
            returns,
        };
        let at = text.find(wanted).unwrap();
        let place = Positions::new(text, counting).of(at);
        assert_eq!(offset(text, place, counting), at);
        (place.line, place.character)
    };
    assert_eq!(place(LoneReturn::Character, "2%"), (0, 3));
    assert_eq!(place(LoneReturn::Character, "beta"), (2, 0));
    assert_eq!(place(LoneReturn::LineEnd, "2%"), (1, 0));
    assert_eq!(place(LoneReturn::LineEnd, "beta"), (3, 0));
    let doubtful = |text, returns| {
        is_doubtful(
            text,
            Counting {
                utf8: false,
                returns,
            },
        )
    };
    assert!(doubtful(text, LoneReturn::Unknown));
    assert!(!doubtful(text, LoneReturn::Character) && !doubtful(text, LoneReturn::LineEnd));
    assert!(!doubtful("a\r\nb", LoneReturn::Unknown));
    assert!(doubtful("a\rb\r", LoneReturn::Character));
}

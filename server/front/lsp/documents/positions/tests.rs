use super::*;

const TEXT: &str = "one\r\ntwö €\r\n𝄞 clef\rlast";

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

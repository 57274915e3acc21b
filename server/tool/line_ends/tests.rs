use super::*;

#[test]
fn a_text_is_found_whatever_its_line_ends() {
    let check = |text: &str, wanted: &str, expected: &[&str]| {
        let found = places(text, wanted, 9);
        let found: Vec<&str> = found.into_iter().map(|place| &text[place]).collect();
        assert_eq!(found, expected, "{wanted:?} in {text:?}");
    };
    check("a\nb\n", "b\n", &["b\n"]);
    check("a\r\nb\r\n", "a\nb", &["a\r\nb"]);
    check("a\nb\r\n", "a\r\nb\n", &["a\nb\r\n"]);
    check("a\nb\na\r\nb\ra\rb", "a\nb", &["a\nb", "a\r\nb", "a\rb"]);
    check("xxx", "xx", &["xx", "xx"]);
    check("ääää", "ää", &["ää", "ää", "ää"]);
    check("x\r\nx\nx\n", "x\nx", &["x\r\nx", "x\nx"]);
    check("a\r\nb", "\nb", &["\r\nb"]);
    check("a\r\nb", "a\r", &["a\r"]);
    check("a\r\r\nb", "a\r\n", &["a\r"]);
    check("a\r\r\nb", "a\r\r\nb", &["a\r\r\nb"]);
    check("1%\r2%\nb\n", "2%\nb", &["2%\nb"]);
    check("b", "a", &[]);
    check("", "a", &[]);
    assert_eq!(places(&"x".repeat(30), "xx", 9).len(), 9);
}

#[test]
fn a_new_text_has_the_line_ends_of_its_place() {
    let check = |text: &str, wanted: &str, new: &str, after: &str| {
        let place = places(text, wanted, 1).remove(0);
        let put = for_place(text, &place, wanted, new);
        let now = format!("{}{put}{}", &text[..place.start], &text[place.end..]);
        assert_eq!(now, after, "{wanted:?} to {new:?} in {text:?}");
    };
    check("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n");
    check("a\r\nb\r\n", "a\nb", "1\n2\n3", "1\r\n2\r\n3\r\n");
    check("a\r\nb\r\n", "a\r\nb", "a\nx\nb", "a\r\nx\r\nb\r\n");
    check("a\r\nb", "b", "b\nc\n", "a\r\nb\r\nc\r\n");
    check("a\rb\r", "b", "b\nc", "a\rb\rc\r");
    // Only the line end is named.
    check("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n");
    check("a\nb\n", "a\nb", "a\r\nb", "a\r\nb\n");
    // On purpose.
    check("a\nb\n", "b", "b\r\nc", "a\nb\r\nc\n");
    check("a", "a", "a\nb\r\nc", "a\nb\r\nc");
    // Not on purpose: the place has none.
    check("a\nb\n", "a\r\nb", "a\r\nx\r\nb", "a\nx\nb\n");
    check("a\r\nb\nc\n", "b\r\nc", "b\r\nx", "a\r\nb\nx\n");
    // A carriage return within a line ends none.
    check("1%\r2%\nb\n", "b", "b\nc", "1%\r2%\nb\nc\n");
    // Line ends of both kinds: each line has that of the one whose place it takes.
    check(
        "a\r\nb\nc\r\nd\r\n",
        "c",
        "c1\nc2",
        "a\r\nb\nc1\r\nc2\r\nd\r\n",
    );
    check(
        "a\r\nb\nc\r\nd\r\n",
        "b",
        "b1\nb2",
        "a\r\nb1\nb2\nc\r\nd\r\n",
    );
    check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\n");
    check("a\r\nb\nc\r\n", "b\n", "", "a\r\nc\r\n");
    check("a\r\nb\nc", "c", "c\nd\n", "a\r\nb\nc\nd\n");
    check("a\nb\r\nc", "c", "c\nd\n", "a\nb\r\nc\r\nd\r\n");
    check("one\r\ntwo\n", "one\r\n", "1\n", "1\ntwo\n");
}

#[test]
fn a_whole_text_keeps_line_ends_mark_and_last_end() {
    let check = |old: &str, new: &str, after: &str| {
        assert_eq!(for_whole(old, new), after, "{old:?} to {new:?}");
    };
    check("a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n");
    check("a\r\nb\r\n", "a\nB\r\nc", "a\r\nB\r\nc\r\n");
    check("a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n");
    check("a\nb", "a\nB\n", "a\nB");
    check("a", "a\n", "a");
    check("a", "\n", "\n");
    check("a\nb\n", "a\nB", "a\nB\n");
    check("a\r\nb", "a\nB\n\n", "a\r\nB");
    check("\u{feff}a\nb\n", "a\nB\n", "\u{feff}a\nB\n");
    check("\u{feff}a\n", "\u{feff}b\n", "\u{feff}b\n");
    check("\u{feff}a\r\n", "b", "\u{feff}b\r\n");
    check("a\n", "\u{feff}b\n", "\u{feff}b\n");
    check("\u{feff}", "b\n", "\u{feff}b\n");
    check("", "a\n", "a\n");
    check("a\n", "", "");
    check("a\rb\r", "a\nB", "a\rB\r");
    check("a\r\nb\nc\r\n", "a\nb\nC\n", "a\r\nb\nC\r\n");
    check("a\r\nb\nc\r\n", "x\na\nb\nc\n", "x\na\r\nb\nc\r\n");
    check("a\r\nb\nc\r\n", "a\r\nb\nc\n", "a\r\nb\nc\n");
    check("a\r\nb\nc", "a\nb\nc\n", "a\r\nb\nc");
    check("1%\r2%\nb\n", "1%\r2%\nB\n", "1%\r2%\nB\n");
}

#[test]
fn a_document_has_one_kind() {
    let check = |old: &str, new: &str, after: &str| {
        assert_eq!(for_document(old, new.to_owned()), after, "{old:?}, {new:?}");
    };
    check("a\nb\n", "x\r\ny\r\n", "x\ny\n");
    check("a\r\n", "x\ny", "x\r\ny\r\n");
    check("a\r\nb\n", "x\ny\r\n", "x\ny\r\n");
    check("a\r", "x\ny\r", "x\ry\r");
    check("a", "x\r\n", "x\r\n");
    check("a\n", "", "");
}

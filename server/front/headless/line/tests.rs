use super::*;

/// The line after these keys, with the cursor as `|`, or its final state.
fn typed(keys: &str) -> String {
    let mut text = TypedText::default();
    match text.take(keys.as_bytes()) {
        LineState::Open => {}
        state => return format!("{state:?}"),
    }
    let input = &text.edited.input;
    let letters: Vec<char> = input.value().chars().collect();
    let (before, after) = letters.split_at(input.cursor());
    format!(
        "{}|{}",
        before.iter().collect::<String>(),
        after.iter().collect::<String>()
    )
}

#[test]
fn keys_edit_the_line() {
    for (keys, expected) in [
        ("ab", "ab|"),
        ("ab\x1b[D", "a|b"),
        ("ab\x1bOD", "a|b"),
        ("ab\x1b[D\x1b[C\x1b[C", "ab|"),
        ("ab\x1b[Dx", "ax|b"),
        ("ab\x7f", "a|"),
        ("ab\x08", "a|"),
        ("ab\x1b[D\x1b[3~", "a|"),
        ("ab\x1b[H", "|ab"),
        ("ab\x1b[1~\x1b[4~", "ab|"),
        ("ab\x01c\x05d", "cabd|"),
        ("one two\x17", "one |"),
        ("one two\x1b[1;5D", "one |two"),
        ("one two\x1bb\x1bb", "|one two"),
        ("one two\x15", "|"),
        ("one two\x01\x0b", "|"),
        ("über 🥛\x7f", "über |"),
        ("a\x1b[A\x1b[B\x1b[5~b", "ab|"),
        ("a\tb\x00\x07", "a b|"),
    ] {
        assert_eq!(typed(keys), expected, "{keys:?}");
    }
}

#[test]
fn lines_end_once() {
    for (keys, expected) in [
        ("yes\rno\r", r#"Ended("yes")"#),
        ("yes\n", r#"Ended("yes")"#),
        ("\n", r#"Ended("")"#),
        ("\x04", "Nothing"),
        ("\x1b\n", r#"Ended("\u{1b}")"#),
        ("a\x1b\n", r#"Ended("a")"#),
        ("a\x01\x04\x04", "Nothing"),
    ] {
        assert_eq!(typed(keys), expected, "{keys:?}");
    }
}

#[test]
fn keys_can_arrive_in_parts() {
    let mut text = TypedText::default();
    for byte in "aü\x1b[D!".as_bytes() {
        assert_eq!(text.take(&[*byte]), LineState::Open);
    }
    assert_eq!(text.take(b"\n"), LineState::Ended("a!ü".into()));
}

#[test]
fn lines_are_shown_in_one_row() {
    let mut text = TypedText::default();
    text.take("abcdef".as_bytes());
    assert_eq!(text.draw(80), "\r\x1b[K> abcdef\r\x1b[8C");
    // Six columns: two for the mark, and one is left free.
    assert_eq!(text.draw(6), "\r\x1b[K> def\r\x1b[5C");
    text.take(b"\x1b[H");
    assert_eq!(text.draw(6), "\r\x1b[K> abc\r\x1b[2C");
    assert_eq!(TypedText::ended("\x1b"), "\r\x1b[K> ^[\n");
}

#[test]
fn pastes_belong_to_one_answer() {
    let pasted = |mut text: TypedText, keys: &str| {
        let state = text.take(keys.as_bytes());
        let dropped = text.has_dropped();
        assert!(!text.has_dropped(), "it is said once");
        (state, text.edited.input.value().to_owned(), dropped)
    };
    let ended = |text: &str| LineState::Ended(text.into());
    for (keys, state, line, dropped) in [
        (
            "\x1b[200~a\rb\r\nc\n\x1b[201~",
            LineState::Open,
            "a\nb\nc\n",
            false,
        ),
        (
            "\x1b[200~a\n\nb\n\x1b[201~!\r",
            ended("a\n\nb\n!"),
            "a\n\nb\n!",
            false,
        ),
        ("\x1b[200~a\nb\n\x1b[201~\r", ended("a\nb"), "a\nb\n", false),
        (
            "\x1b[200~a\tb\x04\x15\x1b[D\x7f\x1b[201~c",
            LineState::Open,
            "a\tbc",
            false,
        ),
        ("a\nb\n", ended("a"), "a", true),
        ("a\n\n", ended("a"), "a", false),
    ] {
        let is = pasted(TypedText::of_lines(), keys);
        assert_eq!(is, (state, line.to_owned(), dropped), "{keys:?}");
    }
    for (keys, state, line, dropped) in [
        ("\x1b[200~y\nn\n\x1b[201~", LineState::Open, "y", true),
        ("\x1b[200~y\n\x1b[201~", LineState::Open, "y", false),
        ("\x1b[200~y\nn\x1b[201~\r", ended("y"), "y", true),
        (
            "\x1b[200~a\nb\x1b[201~\x1b[200~c\x1b[201~",
            LineState::Open,
            "ac",
            true,
        ),
    ] {
        let is = pasted(TypedText::default(), keys);
        assert_eq!(is, (state, line.to_owned(), dropped), "{keys:?}");
    }
}

#[test]
fn pasted_lines_are_shown_in_one_row() {
    let mut text = TypedText::of_lines();
    text.take(b"\x1b[200~a\n\tb\x1b[201~");
    assert_eq!(text.draw(80), "\r\x1b[K> a⏎ b\r\x1b[6C");
    assert_eq!(TypedText::ended("a\n\tb"), "\r\x1b[K> a⏎ b\n");
}

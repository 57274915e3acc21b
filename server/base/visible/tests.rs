use aside_test_table::rows;

use super::*;

/// The characters of a range such as `7f-9f`, or the one with this number.
fn characters(range: &str) -> std::ops::RangeInclusive<char> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let of = |hex| char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap();
    of(first)..=of(last)
}

#[test]
fn every_kind_of_hidden_character_is_known() {
    let table = "
        0-8 b-1f                | C0 controls
        7f-9f                   | delete and C1 controls
        ad                      | soft hyphen
        34f                     | combining grapheme joiner
        61c                     | Arabic letter mark
        115f-1160 3164 ffa0     | Hangul fillers
        17b4-17b5               | Khmer inherent vowels
        180b-180f               | Mongolian selectors and vowel separator
        200b-200f               | zero-width characters and marks of direction
        2028-2029               | separators of lines and paragraphs
        202a-202e               | bidirectional embeddings and overrides
        2060-2064               | word joiner and invisible operators
        2065-206f               | bidirectional isolates and deprecated format characters
        fe00-fe0f               | variation selectors
        feff                    | byte order mark
        fff9-fffb               | interlinear annotation
        13430-1343f 1bca0-1bca3 | controls of hieroglyphs and shorthand
        1d173-1d17a             | controls of musical notation
        e0000-e0fff             | tags and supplementary variation selectors
    ";
    for [ranges, what] in rows(table) {
        for c in ranges.split(' ').flat_map(characters) {
            assert!(is_hidden(c), "{what}: {}", number(c));
        }
    }
}

#[test]
fn what_has_a_shape_or_a_width_is_not_hidden() {
    let table = "
        a 9 20-7e               | line feed, tab and ASCII
        a0 2000-200a 3000       | spaces
        c0-24f 300-34e          | Latin letters and combining accents
        600-605 6dd             | Arabic number signs
        70f                     | the Syriac abbreviation mark
        2010-2015               | hyphens and dashes
        4e00-9fff ac00-d7a3     | Han and Hangul
        1f600-1f64f 1f3fb-1f3ff | emoji and skin tones
        e0a0-e0b3               | icons of private use
        fffd                    | the replacement character
    ";
    for [ranges, what] in rows(table) {
        for c in ranges.split(' ').flat_map(characters) {
            assert!(!is_hidden(c), "{what}: {}", number(c));
        }
    }
}

#[test]
fn what_cannot_be_seen_is_shown() {
    let check = |text: &str, shown: &str| assert_eq!(visible(text), shown);
    check("plain\ttext\nä 漢 🙂", "plain\ttext\nä 漢 🙂");
    check("rm\r-rf\0\x1b[2K\x7f", "rm␍-rf␀␛[2K␡");
    check(
        "a\u{202e}b\u{200b}c\u{e0041}",
        "a<U+202E>b<U+200B>c<U+E0041>",
    );
    check("\u{85}\u{9b}", "<U+0085><U+009B>");
}

#[test]
fn nothing_acts_on_the_terminal_or_is_unseen() {
    let check = |text, expected| assert_eq!(visible(text), expected, "{text:?}");
    check("plain,\ttabs\nand lines", "plain,\ttabs\nand lines");
    check("Grüße, 你好 👍️", "Grüße, 你好 👍️");
    check("\x1b[31mred\x1b[0m", "␛[31mred␛[0m");
    check("a\rb\x08c\x7f\0", "a␍b␈c␡␀");
    check("\u{9b}31m", "<U+009B>31m");
    check("rm \u{202e}gpj.exe", "rm <U+202E>gpj.exe");
    check("zero\u{200b}width\u{feff}", "zero<U+200B>width<U+FEFF>");
    check("\u{e0041}tag", "<U+E0041>tag");
}

#[test]
fn only_an_emoji_has_a_selector_of_style_and_only_one() {
    let check = |text, expected| assert_eq!(visible(text), expected, "{text:?}");
    check("❤\u{fe0f} ☎\u{fe0e}", "❤\u{fe0f} ☎\u{fe0e}");
    check("❤\u{fe0f}\u{fe0e}", "❤\u{fe0f}<U+FE0E>");
    check("a\u{fe0f}", "a<U+FE0F>");
    check("1\u{fe0f}", "1<U+FE0F>");
    check("\u{fe0f}", "<U+FE0F>");
    check("❤\u{fe00}", "❤<U+FE00>");
    assert!(hidden_added("", "❤\u{fe0f}").is_empty());
    assert_eq!(hidden_added("", "x\u{fe0f}"), ["U+FE0F"]);
}

#[test]
fn what_is_decided_about_is_not_pushed_out_of_sight() {
    let check = |text: &str, shown: &str| assert_eq!(in_sight(text), shown, "{text:?}");
    let blanks = |count| " ".repeat(count);
    check("ls  -l\n\n\tx \u{202e}", "ls  -l\n\n\tx <U+202E>");
    let few = format!("{}a{}b\t\t\t\t\n{}", blanks(32), blanks(32), blanks(32));
    check(&few, &few);
    check(&format!("a{}b", blanks(48)), "a⟨48 blanks⟩b");
    check(
        &format!("a\n{}b{}", blanks(33), blanks(40)),
        "a\n⟨33 blanks⟩b⟨40 blanks⟩",
    );
    check(&format!("a{}b", "\t".repeat(9)), "a⟨9 blanks⟩b");
    for other in ['\u{a0}', '\u{2003}', '\u{3000}', '\u{2800}'] {
        let run = format!("{other} {}", other.to_string().repeat(8));
        check(&format!("a{run}b"), "a⟨10 blanks⟩b");
    }
    let lines = |count| "\n".repeat(count);
    let few = format!("a{}b", lines(9));
    check(&few, &few);
    check(&format!("a{}  b", lines(10)), "a\n⟨9 empty lines⟩\n  b");
    check(
        &format!("a {}b", " \n\t\n".repeat(20)),
        "a  \n⟨39 empty lines⟩\nb",
    );
    check(&format!("a{}", blanks(3000)), "a⟨3000 blanks⟩");
    check("⟨48 blanks⟩", "⟨48 blanks⟩");
}

#[test]
fn a_title_is_one_short_line() {
    assert_eq!(short_line(" a\n b\tc ", 20), "a␊ b c");
    assert_eq!(short_line("ääää", 3), "äää…");
    assert_eq!(short_line("ääää", 4), "ääää");
}

#[test]
fn a_title_stays_on_its_line() {
    assert_eq!(one_line(" two\nlines\tand \x1b "), "two␊lines and ␛");
    assert_eq!(
        one_line("rm x\r\n\u{2028}"),
        "rm x␍␊<U+2028>",
        "nothing hidden is trimmed"
    );
}

#[test]
fn output_does_not_steer_a_terminal() {
    let check = |bytes: &[u8], text: &str| assert_eq!(printable(bytes), text);
    check(b"\x1b[1;31mred\x1b[0m\r\nnext", "red\nnext");
    check(b"\x1b]8;;http://x\x07link\x1b]8;;\x1b\\ end", "link end");
    check(b"\x1b]0;never ends\nline", "\nline");
    check(b"\xff\x00bin\x1b", "\u{fffd}␀bin");
    check(b"50%\r100%", "50%␍100%");
    let check = |bytes: &[u8], text: &str| assert_eq!(printed(bytes), text);
    check(b"50%\r100%", "100%");
    check(b"\r 1/9\r 2/9\r\nsaved\r\n\r", " 2/9\nsaved\n");
    check(b"\x1b[2K\r 1/9\x1b[2K\r 2/9", " 2/9");
    check(
        b"\x1b[2K\x1b[1G 1/9\x1b[2K\x1b[1G 2/9\x1b[G 3/9\n",
        " 3/9\n",
    );
    check(b"\x1b[32m 1/9\x1b[0m\x1b[2K", " 1/9");
    check(b"wait |\x08/\x08-\x08done", "wait done");
    check(b"\x08a\x08\x08b\n", "b\n");
    check("é\u{8}ab\u{8}".as_bytes(), "ab");
    check(b"\x1b[1;31mred\x1b[0m\r\nnext\xff", "red\nnext\u{fffd}");
    check(
        b"layers\r\na 1%\nb 1%\n\x1b[2A\x1b[2K\ra 9%\x1b[1B\rb 9%\r\nend",
        "layers\na 9%\nb 9%\nend",
    );
    check(
        b"\n\n\x1b[A\x1b[A\ra 1\n\rb 1\n\x1b[2A\ra 22\n\rb 2\n",
        "a 22\nb 2\n",
    );
    check(
        b"1\n2\n3\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[Gdone",
        "done",
    );
    check(b"1\n2\n3\n\x1b[3F\x1b[Jdone\n", "done\n");
    check(b"1\n2\n\x1bM\x1bM\x1b[J", "1\n2\n");
    check(b"start\n\x1b[9Aup\x1b[9Bdown", "up\n  down");
    check(
        b"one two\x1b[4D\x1b[K, three\x1b[2Cfour",
        "one, three  four",
    );
    check(b"first\n\x1b[2J\x1b[3J\x1b[Hsecond\n", "first\nsecond\n");
    check(b"\x1b[99999999999999999999Cx", " x");
}

#[test]
fn output_that_steers_a_terminal_far_does_not_grow() {
    let wide = printed("\x1b[4000Cx\n".repeat(5000).as_bytes());
    assert!(wide.len() < 5000 * 2 + 4096, "{}", wide.len());
    let lines = "a\n".repeat(5000);
    let erased = format!("{lines}\x1b[4096A\x1b[4096A{}b", "\x1b[J".repeat(100_000));
    assert_eq!(printed(erased.as_bytes()), "b");
    assert_eq!(printed(b"1\n2\n3\x1b[2F\x1b[J\x1b[2Bx"), "\n\nx");
}

/// Text as it is shown for reading, whole and as it arrives in two pieces at each place.
#[track_caller]
fn reads(text: &str, expected: &str) {
    assert_eq!(readable("", text), expected, "{text:?}");
    for (at, last) in text.char_indices() {
        let end = at + last.len_utf8();
        if awaits_more(last) {
            continue;
        }
        let (first, second) = text.split_at(end);
        let pieces = readable("", first).into_owned() + &readable(first, second);
        assert_eq!(pieces, expected, "{first:?} {second:?}");
    }
}

#[test]
fn what_belongs_to_an_emoji_or_a_script_is_readable() {
    for text in [
        "1\u{fe0f}\u{20e3} First",
        "#\u{fe0f}\u{20e3}",
        "👩\u{200d}💻 codes",
        "👩🏽\u{200d}🚀",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦",
        "❤\u{fe0f}\u{200d}🔥",
        "🏳\u{fe0f}\u{200d}🌈",
        "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "می\u{200c}خواهم",
        "کتاب\u{200c}ها",
        "ක්\u{200d}ෂ",
        "ශ්\u{200d}රී",
        "क्\u{200d}ष",
        "क्\u{200c}ष",
        "ന്\u{200d}",
        "👍\u{fe0f}",
    ] {
        reads(text, text);
    }
}

#[test]
fn what_hides_in_other_text_is_shown_in_answers_too() {
    reads("a\u{200d}b", "a<U+200D>b");
    reads("a\u{200c}b", "a<U+200C>b");
    reads("1\u{fe0f}2", "1<U+FE0F>2");
    reads("a\u{e0067}\u{e007f}", "a<U+E0067><U+E007F>");
    reads("🏴\u{e0067}b", "🏴<U+E0067>b");
    reads("x\u{202e}y\x1b[2J", "x<U+202E>y␛[2J");
    reads("👩\u{200d}x", "👩<U+200D>x");
    assert_eq!(
        visible("👩\u{200d}💻"),
        "👩<U+200D>💻",
        "prompts stay strict"
    );
}

#[test]
fn names_what_a_change_hides() {
    assert_eq!(hidden_added("a", "a\u{202e}b\u{202e}"), ["U+202E"]);
    assert!(hidden_added("a\u{feff}", "b\u{feff}\r\n").is_empty());
}

#[test]
fn hidden_characters_can_be_left_out() {
    for (text, expected) in [
        ("plain\n\ttext", "plain\n\ttext"),
        ("a\u{202e}b\u{200b}c\0", "abc"),
        ("\u{2066}\u{2069}", ""),
        ("👍\u{fe0f} a\u{fe0f}", "👍\u{fe0f} a"),
    ] {
        assert_eq!(without_hidden(text), expected, "{text:?}");
    }
}

#[test]
fn strings_of_terminals_are_left_out_up_to_their_end_or_that_of_the_line() {
    for (text, expected) in [
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1bPq\x1bx\x1b\\b", "ab"),
        ("a\x1b_x\u{9c}b", "ab"),
        ("a\x1b^never ends\nb", "a\nb"),
        ("a\x1bXx", "a"),
    ] {
        assert_eq!(without_escapes(text), expected, "{text:?}");
    }
}

#[test]
fn letters_that_look_like_others_are_told_apart_where_something_is_decided() {
    let check = |text: &str, shown: &str| assert_eq!(in_sight(text), shown, "{text:?}");
    check("g\u{456}t push", "g<U+0456>t push");
    check("rm \u{441}ache p\u{3bf}st", "rm <U+0441>ache p<U+03BF>st");
    check("a/\u{440}ip.sh;\u{217c}s", "a/<U+0440>ip.sh;<U+217C>s");
    // Words of another script, or with letters that look like none.
    for plain in ["рассказ о сахаре", "Ωmega Δx", "Grüße naïve", "PDFы", "git"]
    {
        check(plain, plain);
    }
    assert_eq!(visible("g\u{456}t"), "g\u{456}t");
}

#[test]
fn marks_do_not_run_over_what_is_around_them() {
    let marks = |many: usize| format!("z{}!", "\u{301}".repeat(many));
    assert_eq!(in_sight(&marks(3000)), "z⟨3000 marks⟩!");
    assert_eq!(in_sight(&marks(2)), marks(2));
    assert_eq!(in_sight("é\u{301}a"), "é\u{301}a");
    assert_eq!(in_sight("plain"), "plain");
}

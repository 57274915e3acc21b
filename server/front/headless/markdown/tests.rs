//! Tests of the rendered text, with tones as tags, for every split into pieces.

use super::*;

/// Renders the text in pieces of this many characters, with tones as `<bold>…</>`.
fn shown(text: &str, pieces: usize) -> String {
    let mut stream = MarkdownStream::new(Paint::ON);
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::new();
    for piece in letters.chunks(pieces) {
        out += &stream.push(&piece.iter().collect::<String>());
    }
    out += &stream.end();
    in_words(&out)
}

fn in_words(out: &str) -> String {
    let mut out = out.replace("\x1b[0m", "</>");
    for (code, word) in [
        ("1m\x1b[3", "bold italic"),
        ("1m\x1b[36", "bold code"),
        ("1", "bold"),
        ("2", "dim"),
        ("3", "italic"),
        ("36", "code"),
        ("4", "link"),
    ] {
        out = out.replace(&format!("\x1b[{code}m"), &format!("<{word}>"));
    }
    // Adjacent parts of one tone are joined.
    let (mut whole, mut tone) = (String::new(), String::new());
    for part in out.split_inclusive("</>") {
        let begin = part.find('<').unwrap_or(0);
        let end = part[begin..].find('>').map_or(0, |end| begin + end + 1);
        let word = part[begin..end].to_owned();
        if begin == 0 && word == tone && whole.ends_with("</>") {
            whole.truncate(whole.len() - "</>".len());
            whole += &part[end..];
        } else {
            whole += part;
        }
        tone = word;
    }
    whole
}

#[track_caller]
fn check(text: &str, expected: &str) {
    for pieces in [1, 2, 3, 7, text.len()] {
        assert_eq!(shown(text, pieces.max(1)), expected, "{text:?} in {pieces}");
    }
}

#[test]
fn inline_markup_becomes_tones() {
    check("Plain text.", "Plain text.\n");
    check("A **bold** word", "A <bold>bold</> word\n");
    check("An *italic* word.", "An <italic>italic</> word.\n");
    check("Run `cargo test`, then", "Run <code>cargo test</>, then\n");
    check("**Use `x`** now", "<bold>Use </><bold code>x</> now\n");
    check(
        "See [the page](https://a.example/b).",
        "See <link>the page</><dim> (https://a.example/b)</>.\n",
    );
    check(r"A \*star\*", "A *star*\n");
}

#[test]
fn unpaired_marks_are_kept() {
    for text in [
        "2 * 3 * 4 = 24",
        "a*b*c",
        "src/*.rs and tests/*.rs",
        "**/*.rs and **/*.toml",
        "snake_case and __init__.py",
        "a[0] = b[1]",
        "an **open end",
        "a lone ` backtick",
        r"C:\Users\me",
        "Vec<String> & co; a < b",
        "~5 to ~6 items",
        "1. first",
        "❤️, 🎉 and — so on",
    ] {
        check(text, &format!("{text}\n"));
    }
}

#[test]
fn blocks_are_recognized_by_line_start() {
    check(
        "# Title\nText\n\n## Second ##\n",
        "<bold>Title</>\nText\n\n<bold>Second</>\n",
    );
    check(
        "- one\n  - **two**\n* three",
        "• one\n  • <bold>two</>\n• three\n",
    );
    check("> said\n", "<dim>│ </>said\n");
    check(
        "a\n\n---\n\nb",
        &format!("a\n\n<dim>{}</>\n\nb\n", "─".repeat(20)),
    );
    check("| a | *b* |\n|---|---|\n", "| a | *b* |\n|---|---|\n");
    check(
        "So:\n\n```rust\nlet *x = `y`;\n# no title\n```\nDone",
        "So:\n\n<dim>```rust</>\nlet *x = `y`;\n# no title\n<dim>```</>\nDone\n",
    );
    check(
        "````\n```\n````\n*a*",
        "<dim>````</>\n```\n<dim>````</>\n<italic>a</>\n",
    );
}

#[test]
fn blank_lines_around_text_are_dropped() {
    check("\n\n  \nHello.\n\n\n", "Hello.\n");
    check("\n\n", "");
    check("", "");
}

#[test]
fn text_is_emitted_once_it_is_final() {
    let mut stream = MarkdownStream::new(Paint::ON);
    let pieces = [
        ("Plain ", "Plain "),
        ("text, **bo", "text, "),
        ("ld**", ""),
        (" and more", "<bold>bold</> and more"),
        ("\n", ""),
        ("\nNext", "\n\nNext"),
        (" [", " "),
        ("0", ""),
        ("] ", "[0] "),
    ];
    for (piece, expected) in pieces {
        assert_eq!(in_words(&stream.push(piece)), expected, "{piece:?}");
    }
    assert!(stream.is_open());
    assert_eq!(stream.end(), "\n");
    assert!(!stream.is_open());
    // A mark that never ends becomes text at a limit.
    let long = format!("*{}", "x".repeat(MAX_HELD));
    assert_eq!(stream.push(&long), long);
}

#[test]
fn control_characters_in_text_are_removed() {
    check("\x1b[2J **x\x1b]0;x**", "␛[2J <bold>x␛]0;x</>\n");
    check("```\n\x07\n", "<dim>```</>\n␇\n");
}

#[test]
fn text_without_colours_is_unchanged() {
    let mut stream = MarkdownStream::new(Paint::OFF);
    let text = "# Title\n\n- **one** `two`\n```\n*\n```";
    let shown = stream.push(text) + &stream.end();
    assert_eq!(shown, format!("{text}\n"));
    assert_eq!(stream.push("**a"), "**a");
}

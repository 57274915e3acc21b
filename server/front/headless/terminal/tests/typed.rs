//! Tests of pasted input and of input between prompts.

use super::*;

#[test]
fn multi_line_pastes_are_one_answer() {
    let mut person = Person::at_a_terminal(true);
    person.is_asked(asked("text", "Which lines?", AnswerType::text()));
    person.is_asked(asked("first", "First?", AnswerType::Boolean));
    person.is_asked(asked("second", "Second?", AnswerType::Boolean));
    assert!(person.sees("> ").contains("\x1b[?2004h"));
    person.types("\x1b[200~one\rtwo\r\x1b[201~");
    person.sees("> one⏎two⏎");
    person.types("\r");
    person.gave("text", &is("one\ntwo"));
    person.sees("First?");
    person.sees("> ");
    person.types("\x1b[200~y\rn\r\x1b[201~");
    person.sees("(only the first line was used; the rest was dropped)");
    person.types("\r");
    person.gave("first", &is(true));
    person.sees("Second?");
    person.sees("> ");
    // A terminal without bracketed paste.
    person.types("n\ry\r");
    person.gave("second", &is(false));
    person.sees("dropped)");
    person.leaves();
    person.sees("\x1b[?2004l");
}

#[test]
fn input_between_prompts_is_hidden_and_kept() {
    let mut person = Person::at_a_terminal(true);
    assert!(person.echoes());
    person.terminal().live(vec!["⠋ runs".into()]);
    person.is_asked(asked("p", "Now?", AnswerType::Boolean));
    person.sees("> ");
    person.types("y\r");
    person.gave("p", &is(true));
    person.terminal().live(vec!["⠙ runs".into()]);
    person.terminal().show(note("said\n"));
    while !person.screen_notes().contains("said") {
        std::thread::yield_now();
    }
    assert!(!person.echoes());
    person.types("ls\n");
    person.leaves();
    assert!(person.echoes());
    let mut line = [0; 16];
    let count = person.tty.read(&mut line).expect("what was typed");
    assert_eq!(&line[..count], b"ls\n");
}

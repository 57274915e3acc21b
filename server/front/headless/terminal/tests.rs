//! Tests with a person at a pseudoterminal.

mod typed;

use std::{
    fs::File,
    io::Read,
    sync::{Arc, Mutex},
    time::Duration,
};

use aside_turn::input::{Preview, SecretValue};
use portable_pty::{MasterPty, PtySize, native_pty_system};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::Value;

use super::*;
use crate::front::headless::ask::tests::question;

/// Long enough for any machine; only failing tests wait that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// The person's side of the terminal.
struct Person {
    terminal: Option<Terminal>,
    answers: Answers,
    keyboard: Box<dyn Write + Send>,
    /// Screen contents not read yet.
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// The terminal's own end, for its modes.
    tty: File,
    notes: Notes,
    _master: Box<dyn MasterPty + Send>,
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<u8>>>);

impl Write for Notes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("notes").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Person {
    fn sits_down() -> Self {
        Self::at_a_terminal(false)
    }

    /// At a terminal whose cursor can be moved, or not.
    fn at_a_terminal(moves: bool) -> Self {
        Self::waits(moves, Duration::ZERO)
    }

    /// At a terminal that holds prompts back for this time.
    fn waits(moves: bool, held_for: Duration) -> Self {
        let pair = native_pty_system()
            .openpty(PtySize::default())
            .expect("a terminal");
        let tty = far_end(&*pair.master);
        let notes = Notes::default();
        let lines = lines(notes.clone(), moves);
        let (terminal, answers) = Terminal::on(
            tty.try_clone().expect("a copy").into(),
            lines,
            Paint::OFF,
            held_for,
        )
        .expect("a thread");
        let mut reader = pair.master.try_clone_reader().expect("a screen");
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                if send.send(piece[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let keyboard = pair.master.take_writer().expect("a keyboard");
        let seen = String::new();
        Self {
            terminal: Some(terminal),
            answers,
            keyboard,
            screen,
            seen,
            tty,
            notes,
            _master: pair.master,
        }
    }

    fn terminal(&self) -> &Terminal {
        self.terminal.as_ref().expect("still there")
    }

    fn is_asked(&self, prompt: Prompt) {
        self.terminal().ask(Box::new(prompt));
    }

    /// Reads until this text appears, and returns everything up to it.
    #[track_caller]
    fn sees(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(_) => panic!("{text:?} is not in {:?}", self.seen),
            }
        }
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("keys");
    }

    #[track_caller]
    fn gave(&mut self, id: &str, expected: &PromptAnswer) {
        let (prompt, answer) = self.answers.blocking_recv().expect("an answer");
        assert_eq!((prompt.0.as_str(), &answer), (id, expected));
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.tty)
            .expect("modes")
            .local_modes
            .contains(LocalModes::ECHO)
    }

    fn leaves(&mut self) -> String {
        self.terminal = None;
        self.screen_notes()
    }

    fn screen_notes(&self) -> String {
        String::from_utf8(self.notes.0.lock().expect("notes").clone()).expect("text")
    }
}

/// Sends all output besides prompts to these notes.
fn lines(notes: Notes, moves: bool) -> Lines {
    Lines {
        notes: Box::new(notes.clone()),
        answer: Box::new(notes),
        drawn: Drawn::new(moves, Paint::OFF),
        moves,
        pager: moves.then(|| "cat >&2; echo 'left the pager' >&2".to_owned()),
    }
}

fn note(text: &str) -> ShownText {
    ShownText::Note(text.into())
}

/// The program's end of the terminal. It does not become the controlling terminal of these tests.
fn far_end(master: &dyn MasterPty) -> File {
    use std::os::unix::fs::OpenOptionsExt;
    let flag = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).expect("a flag");
    let path = master.tty_name().expect("its name");
    File::options()
        .read(true)
        .write(true)
        .custom_flags(flag)
        .open(path)
        .expect("its end")
}

fn asked(id: &str, text: &str, answer_type: AnswerType) -> Prompt {
    Prompt {
        id: PromptId(id.into()),
        ..question(text, answer_type)
    }
}

fn is(value: impl Into<Value>) -> PromptAnswer {
    PromptAnswer::Answer {
        value: SecretValue(value.into()),
        remember: false,
        new_text: None,
    }
}

#[test]
fn prompts_are_answered_at_the_terminal() {
    let mut person = Person::sits_down();
    person.is_asked(asked("p", "Keep a backup?", AnswerType::Boolean));
    person.sees("> ");
    person.types("perhaps\n");
    person.sees("type y or n.");
    person.sees("> ");
    person.types("y\n");
    person.gave("p", &is(true));
}

#[test]
fn prompts_are_shown_one_at_a_time() {
    let mut person = Person::sits_down();
    person.is_asked(asked("first", "First?", AnswerType::Boolean));
    person.is_asked(asked("second", "Second?", AnswerType::text()));
    assert!(!person.sees("> ").contains("Second?"));
    person.types("n\n");
    person.gave("first", &is(false));
    person.sees("Second?");
    person.sees("> ");
    person.types("all of it\n");
    person.gave("second", &is("all of it"));
}

#[test]
fn end_of_input_skips_the_prompt_and_closes_the_terminal() {
    let mut person = Person::sits_down();
    person.is_asked(asked("first", "First?", AnswerType::Boolean));
    person.is_asked(asked("second", "Second?", AnswerType::Boolean));
    person.sees("> ");
    person.types("\x04");
    person.gave("first", &PromptAnswer::Cancel);
    person.sees("Second?");
    person.sees("> ");
    person.types("!not now\n");
    person.gave(
        "second",
        &PromptAnswer::Decline {
            note: Some("not now".into()),
        },
    );
}

#[test]
fn secrets_are_not_echoed() {
    let mut person = Person::sits_down();
    person.is_asked(asked("secret", "Password?", AnswerType::Secret));
    person.is_asked(asked("name", "Name?", AnswerType::text()));
    person.sees("> ");
    assert!(!person.echoes());
    person.types("hunter2\n");
    person.gave("secret", &is("hunter2"));
    assert!(!person.sees("Name?").contains("hunter2"));
    person.sees("> ");
    assert!(person.echoes());
    person.types("ada\n");
    person.gave("name", &is("ada"));
}

/// A shell that stops a program with Ctrl-Z resets the terminal's modes.
#[test]
fn resumed_programs_redraw_the_prompt_and_hide_secrets() {
    let mut person = Person::at_a_terminal(true);
    person.is_asked(asked("secret", "Password?", AnswerType::Secret));
    person.is_asked(asked("name", "Name?", AnswerType::text()));
    for (prompt, typed, given) in [
        ("secret", "hunter2\n", "hunter2"),
        ("name", "ad\x1b[D\n", "ad"),
    ] {
        person.sees("> ");
        let ours = tcgetattr(&person.tty).expect("modes");
        let mut of_shell = ours.clone();
        of_shell
            .local_modes
            .insert(LocalModes::ECHO | LocalModes::ICANON);
        tcsetattr(&person.tty, OptionalActions::Now, &of_shell).expect("modes");
        person.terminal().go_on();
        person.sees("> ");
        let modes = tcgetattr(&person.tty).expect("modes");
        assert_eq!(modes.local_modes, ours.local_modes, "{prompt}");
        person.types(typed);
        person.gave(prompt, &is(given));
    }
}

#[test]
fn withdrawn_secrets_restore_echo_and_discard_input() {
    let mut person = Person::sits_down();
    person.is_asked(asked("secret", "Password?", AnswerType::Secret));
    person.sees("> ");
    person.types("hunt");
    person
        .terminal()
        .dismiss(PromptId("secret".into()), "the turn was cancelled".into());
    person.is_asked(asked("name", "Name?", AnswerType::text()));
    person.sees("(no longer asked: the turn was cancelled)");
    person.sees("> ");
    assert!(person.echoes());
    person.types("ada\n");
    person.gave("name", &is("ada"));
}

#[test]
fn closed_terminals_echo_again() {
    let mut person = Person::sits_down();
    person.is_asked(asked("secret", "Password?", AnswerType::Secret));
    person.sees("> ");
    assert!(!person.echoes());
    person.leaves();
    assert!(person.echoes());
}

#[test]
fn input_for_one_prompt_never_answers_another() {
    let mut person = Person::sits_down();
    person.is_asked(asked("first", "Tidy up?", AnswerType::Boolean));
    person.sees("> ");
    // The second line was typed before its prompt was on the screen.
    person.types("y\ny\n");
    person.gave("first", &is(true));
    let preview = Preview::Command {
        text: "rm -rf ~".into(),
        cwd: "/".into(),
    };
    person.is_asked(Prompt {
        preview: Some(preview),
        ..asked("second", "Run?", AnswerType::Boolean)
    });
    person.sees("rm -rf ~");
    person.sees("> ");
    person.types("n\n");
    person.gave("second", &is(false));
}

#[test]
fn waiting_prompts_are_withdrawn_unseen() {
    let mut person = Person::sits_down();
    person.is_asked(asked("first", "First?", AnswerType::Boolean));
    person.is_asked(asked("second", "Second?", AnswerType::Boolean));
    person.is_asked(asked("third", "Third?", AnswerType::Boolean));
    person
        .terminal()
        .dismiss(PromptId("second".into()), "remembered".into());
    person.sees("> ");
    person.types("y\n");
    assert!(!person.sees("Third?").contains("Second?"));
}

#[test]
fn notes_during_a_prompt_are_shown_after_it() {
    let mut person = Person::sits_down();
    person.terminal().show(note("before\n"));
    person.is_asked(asked("p", "Go on?", AnswerType::Boolean));
    person.sees("> ");
    person.terminal().show(note("meanwhile\n"));
    person
        .terminal()
        .dismiss(PromptId("another".into()), "x".into());
    assert_eq!(
        String::from_utf8_lossy(&person.notes.0.lock().expect("notes")),
        "before\n"
    );
    person.types("y\n");
    person.gave("p", &is(true));
    assert_eq!(person.leaves(), "before\nmeanwhile\n");
}

#[test]
fn lost_terminals_decide_nothing() {
    let pair = native_pty_system()
        .openpty(PtySize::default())
        .expect("a terminal");
    let tty = far_end(&*pair.master);
    drop(pair.slave);
    let (terminal, mut answers) = Terminal::on(
        tty.into(),
        lines(Notes::default(), false),
        Paint::OFF,
        HOLD_LIMIT,
    )
    .expect("a thread");
    terminal.ask(Box::new(asked("p", "Go on?", AnswerType::Boolean)));
    let mut screen = pair.master.try_clone_reader().expect("a screen");
    let mut seen = Vec::new();
    while !seen.ends_with(b"> ") {
        let mut piece = [0; 256];
        let count = screen.read(&mut piece).expect("the prompt");
        seen.extend_from_slice(&piece[..count]);
    }
    drop((screen, pair.master));
    assert_eq!(answers.blocking_recv(), None);
}

#[test]
fn progress_lines_are_below_all_output_and_hidden_during_prompts() {
    let mut person = Person::at_a_terminal(true);
    let spins = |text: &str| vec![text.to_owned()];
    person.terminal().live(spins("one"));
    person.terminal().show(note("said\n"));
    person.is_asked(asked("p", "Go on?", AnswerType::Boolean));
    person.sees("> ");
    person.terminal().live(spins("two"));
    person.types("y\n");
    person.gave("p", &is(true));
    person.terminal().live(spins("three"));
    assert_eq!(person.leaves(), "one\r\x1b[Ksaid\none\r\x1b[Kthree\r\x1b[K");
}

#[test]
fn lines_are_edited_if_the_cursor_is_movable() {
    let mut person = Person::at_a_terminal(true);
    person.is_asked(asked("first", "Name?", AnswerType::text()));
    person.is_asked(asked("second", "Again?", AnswerType::text()));
    person.sees("> ");
    assert!(!person.echoes());
    person.types("world\x1b[D\x1b[D\x1b[D\x1b[D\x7fW");
    person.sees("\r\x1b[K> World\r\x1b[3C");
    // The second line is typed too early.
    person.types("\rno\r");
    person.gave("first", &is("World"));
    person.sees("> World\r\n");
    person.sees("Again?");
    person.sees("> ");
    person.types("\x04");
    person.gave("second", &PromptAnswer::Cancel);
    person.leaves();
    assert!(person.echoes());
}

#[test]
fn long_changes_open_in_the_pager() {
    let mut person = Person::at_a_terminal(true);
    let change = |lines: usize| Prompt {
        preview: Some(Preview::Diff {
            uri: "file:///w/a.txt".into(),
            version: None,
            old: String::new(),
            new: "new\n".repeat(lines),
        }),
        ..asked("p", "Edit a.txt?", AnswerType::Boolean)
    };
    person.is_asked(change(3));
    let shown = person.sees("> ");
    assert!(!shown.contains("left the pager"), "{shown}");
    person.types("y\r");
    person.gave("p", &is(true));
    person.is_asked(change(100));
    let shown = person.sees("left the pager");
    assert_eq!(shown.matches("+new").count(), 100);
    let shown = person.sees("> ");
    assert!(
        shown.contains("│ /w/a.txt (v: show the change again)"),
        "{shown}"
    );
    person.types("v\r");
    person.sees("left the pager");
    person.sees("Edit a.txt?");
    person.sees("\n> ");
    person.types("n\r");
    person.gave("p", &is(false));
}

#[test]
fn prompts_wait_while_a_permanent_answer_may_settle_them() {
    let lasting = |id: &str, text: &str| Prompt {
        remember: true,
        ..asked(id, text, AnswerType::Boolean)
    };
    for held_for in [Duration::ZERO, PATIENCE * 10] {
        let mut person = Person::waits(false, held_for);
        person.is_asked(lasting("first", "First?"));
        person.is_asked(lasting("second", "Second?"));
        person.sees("> ");
        person.types("Y\n");
        let (prompt, _) = person.answers.blocking_recv().expect("an answer");
        assert_eq!(prompt.0, "first");
        if held_for.is_zero() {
            // The second prompt is still open.
            person.sees("Second?");
            continue;
        }
        person.terminal().show(note("settled\n"));
        person
            .terminal()
            .dismiss(PromptId("second".into()), "remembered".into());
        assert_eq!(person.leaves(), "settled\n");
        assert!(!person.seen.contains("Second?"));
    }
}

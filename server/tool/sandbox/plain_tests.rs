//! Plain lines beside the shells that run them.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use fastrand::Rng;

use super::*;

/// Lines that are compared with the shells; `ASIDE_SHELL_LINES=1000000` compares more, others each time.
const LINES: usize = 800;

#[test]
fn plain_lines_are_read_word_by_word() {
    let check = |line: &str, expected: &[&[&str]]| {
        let read = commands(line).unwrap_or_else(|| panic!("{line:?} is plain"));
        let words: Vec<_> = read.iter().map(|it| it.words.clone()).collect();
        assert_eq!(words, expected, "{line:?}");
    };
    check("cargo test", &[&["cargo", "test"]]);
    check("\t cargo   test --all ", &[&["cargo", "test", "--all"]]);
    check(
        "'cargo' \"test\" a\"b\"'c' ''",
        &[&["cargo", "test", "abc", ""]],
    );
    check("c\\argo --color\\=never", &[&["cargo", "--color=never"]]);
    check(
        "cargo test &&\n cargo fmt || echo no;",
        &[&["cargo", "test"], &["cargo", "fmt"], &["echo", "no"]],
    );
    check("\na | b; c\n\nd\n", &[&["a"], &["b"], &["c"], &["d"]]);
    check("ls -la | head -3", &[&["ls", "-la"], &["head", "-3"]]);
    check("git >/dev/null push 2>&1 x", &[&["git", "push", "x"]]);
    check(">log make", &[&["make"]]);
    check("a2>x '2'>y", &[&["a2", "2"]]);
    check("echo 'a\nb' \"c\r#\"", &[&["echo", "a\nb", "c\r#"]]);
}

#[test]
fn lines_that_a_shell_may_read_otherwise_are_not_plain() {
    for line in [
        "",
        " \n",
        ";",
        "a;;b",
        "a && ;b",
        "&& a",
        "a &&",
        "a | | b",
        "a |& b",
        "a & b",
        "a &",
        "# a",
        "a # b",
        "a#b",
        "a \\ # ; b",
        "a\n\\\nb",
        "a \\\r\nb",
        "a \\\t# ; b",
        "a \x0c# ; b",
        "a\rb",
        "a\u{a0}b",
        "a\u{2028}b",
        "ä",
        "a\0b",
        "a \\",
        "a\\$b",
        "$a",
        "`a`",
        "a $(b)",
        "a \"$b\"",
        "a \"\\b\"",
        "a \"!b\"",
        "a 'b",
        "a \"b",
        "~/a",
        "a ~",
        "a=~",
        "a*",
        "a?",
        "[a]",
        "{a,b}",
        "a!b",
        "!",
        "! a",
        "a=b",
        "a=b c",
        "=a",
        "if a",
        "then",
        "time a",
        "[[ a",
        "{ a",
        "(a)",
        "a()",
        "a 12>b",
        "a >",
        "a > ;",
        "a >&b",
        "a >&12",
        "a >& 2",
        "a &>b",
        "a >|b",
        "a <<b",
        "a <>b",
        "a <<<b",
        "a <(b)",
        ">a",
        "'' a",
        "alias a=b; a",
        "export PATH=.; a",
        "printf -v PATH .; a",
        "exec a",
        "command a",
        "eval a",
        ". ./a",
        "trap a EXIT",
    ] {
        assert_eq!(commands(line), None, "{line:?}");
    }
}

#[test]
fn a_write_to_a_file_is_noticed() {
    let check = |line: &str, writes: bool| {
        let read = commands(line).expect("a plain line");
        assert_eq!(read.iter().any(|it| it.writes), writes, "{line:?}");
    };
    check("a 2>&1", false);
    check("a >/dev/null 2>&1 <in", false);
    check("a >&-", false);
    check("a >log", true);
    check("a 2>>'log'", true);
    check("a | b >log", true);
}

/// Each shell starts the programs that were read and no other, with the words that were read, and writes no file that
/// was not seen.
#[test]
fn shells_start_what_was_read() {
    let count = env::var("ASIDE_SHELL_LINES").ok();
    let count = count.map(|it| it.parse::<usize>().expect("a number"));
    let mut random = count.map_or_else(|| Rng::with_seed(7), |_| Rng::new());
    let shells: Vec<&str> = ["dash", "bash"]
        .into_iter()
        .filter(|shell| Path::new("/bin").join(shell).exists())
        .collect();
    assert!(!shells.is_empty(), "there is no shell to compare with");
    let ground = Ground::new();
    let (mut plain, mut generated) = (0, 0);
    while plain < count.unwrap_or(LINES) {
        let line = generate(&mut random);
        generated += 1;
        let Some(read) = commands(&line) else {
            continue;
        };
        plain += 1;
        for shell in &shells {
            ground.compare(shell, &line, &read);
        }
    }
    assert!(generated > plain, "every generated line was plain");
}

/// Pieces of generated lines: those of plain lines, and what parsers and shells read differently.
const PIECES: &[&str] = &[
    "p",
    "q",
    "p",
    "q",
    " ",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "\n",
    ";",
    "; ",
    " && ",
    " || ",
    " | ",
    "|",
    "&&",
    "||",
    "&",
    "'",
    "\"",
    "'a b'",
    "\"a b\"",
    "'#'",
    "\"\n\"",
    "\\",
    "\\ ",
    "\\\n",
    "\\\t",
    "\\\r\n",
    "\\p",
    "\\a",
    "\\/",
    "\\=",
    "\r",
    "\x0c",
    "\x0b",
    "\u{a0}",
    "\u{85}",
    "ä",
    "#",
    " # ",
    "# ",
    "$",
    "$x",
    "~",
    "=",
    "a=b",
    "*",
    "?",
    "[",
    "]",
    "{",
    "}",
    "{p,q}",
    "!",
    "(",
    ")",
    ">",
    ">>",
    "<",
    " >f",
    ">f ",
    "2>f",
    " 2>&1",
    ">&1",
    ">&-",
    " >/dev/null",
    "1",
    "12",
    "12>f",
    " </dev/null",
    "&>f",
    ">|f",
    "if ",
    "then ",
    "fi",
    "time ",
    "! ",
    "[[ ",
    "coproc ",
    "function ",
    "alias p=q",
    "alias ",
    "set ",
    "exec ",
    "eval ",
    "-",
    "--",
    "a",
    "b",
    ".",
    ",",
    ":",
    "%",
    "@",
    "+",
    "/",
    "x",
];

fn generate(random: &mut Rng) -> String {
    let mut line = String::new();
    let word = |random: &mut Rng| ["p", "q", "'p'", "\\p", "p", "q"][random.usize(..6)];
    // Half of the lines begin as a plain one does, so that enough of them are.
    if random.bool() {
        for _ in 0..random.usize(1..4) {
            line.push_str(word(random));
            line.push(' ');
            line.push_str(["a", "'b c'", "-x", "\"#\"", "p", ""][random.usize(..6)]);
            line.push_str([" && ", ";", " | ", "\n", " || ", " "][random.usize(..6)]);
        }
        line.push_str(word(random));
    }
    for _ in 0..random.usize(..7) {
        line.push_str(PIECES[random.usize(..PIECES.len())]);
    }
    line
}

/// A folder with two programs that report their words, and a scratch folder.
struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        // One line a run in one write: programs of a pipeline report at the same time.
        let report = "#!/bin/sh\nline=${0##*/}\nfor word; do line=\"$line\u{1}$word\"; done\nprintf '%s\\002' \"$line\" >>\"$REPORT\"\n";
        for name in ["p", "q"] {
            let program = bin.join(name);
            fs::write(&program, report).expect("a program");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        Self { folder }
    }

    fn compare(&self, shell: &str, line: &str, read: &[PlainCommand]) {
        let (started, files) = self.run(shell, line);
        let mut left = BTreeMap::<&[String], i32>::new();
        for command in read {
            *left.entry(&command.words).or_default() += 1;
        }
        for words in &started {
            let count = left.entry(words).or_default();
            *count -= 1;
            assert!(
                *count >= 0,
                "{shell} started {words:?} for {line:?}, read as {read:?}"
            );
        }
        let writes = read.iter().any(|it| it.writes);
        assert!(
            writes || files.is_empty(),
            "{shell} wrote {files:?} for {line:?}, read as {read:?}"
        );
    }

    /// The words of each program that a line started, and the files that it made.
    fn run(&self, shell: &str, line: &str) -> (Vec<Vec<String>>, Vec<PathBuf>) {
        let report = self.folder.path().join("report");
        let scratch = self.folder.path().join("scratch");
        fs::write(&report, "").expect("a file");
        fs::create_dir_all(&scratch).expect("a folder");
        let status = Command::new(Path::new("/bin").join(shell))
            .args(["-c", line])
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("REPORT", &report)
            .env("LC_ALL", "C.UTF-8")
            .current_dir(&scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.expect("a shell");
        let reported = fs::read_to_string(&report).expect("a report");
        let runs = reported.split_terminator('\u{2}');
        let started = runs.map(|run| run.split('\u{1}').map(ToOwned::to_owned).collect());
        let made = fs::read_dir(&scratch).expect("a folder");
        let made = made.map(|entry| entry.expect("an entry").path()).collect();
        fs::remove_dir_all(&scratch).expect("an empty folder");
        (started.collect(), made)
    }
}

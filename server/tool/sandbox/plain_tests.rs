//! Plain lines beside the shells that run them.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use fastrand::Rng;

use super::*;

/// Lines that are compared with the shells; `ASIDE_SHELL_LINES=1000000` compares more, others each time.
const LINES: usize = 5000;
/// Lines that one shell runs.
const BATCH: usize = 250;

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
        "compgen -C a",
        "enable -f ./a a",
        "jobs -x a",
        "noglob a",
        "emulate sh -c a",
        "repeat 2 a",
        "[ 'a[$(b)]' -eq 1 ]",
        "print -r 'a[`b`]'",
    ] {
        assert_eq!(commands(line), None, "{line:?}");
    }
    // Brackets alone say nothing.
    for line in [
        "printf '[%s]' a",
        "printf '$5'",
        "test -n '[a]'",
        "grep 'a[$]' f",
    ] {
        assert!(commands(line).is_some(), "{line:?}");
    }
}

#[test]
fn a_line_of_which_a_shell_runs_a_word_is_not_plain() {
    let bash = Path::new("/bin/bash");
    for line in [
        "printf -v 'a[$(>ran)]' 1",
        "printf -v \"a\"'[`>ran`]' 1",
        "test -v 'a[$(>ran)]'",
        "[ -v 'a[$(>ran)]' ]",
        "read 'a[$(>ran)]'",
        "declare 'a[$(>ran)]=1'",
        "let 'a[$(>ran)]=1'",
        "compgen -C '>ran'",
        "jobs -x sh -c '>ran'",
    ] {
        assert_eq!(commands(line), None, "{line:?}");
        if bash.exists() {
            let folder = tempfile::tempdir().unwrap();
            let mut shell = Command::new(bash);
            let shell = shell.args(["-c", line]).current_dir(folder.path());
            let shell = shell.stdout(Stdio::null()).stderr(Stdio::null());
            shell.stdin(Stdio::null()).status().unwrap();
            assert!(folder.path().join("ran").exists(), "{line:?} runs nothing");
        }
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
#[expect(clippy::print_stdout, reason = "a test that prints its figures")]
fn shells_start_what_was_read() {
    let begun = Instant::now();
    let count = env::var("ASIDE_SHELL_LINES").ok();
    let count = count.map(|it| it.parse::<usize>().expect("a number"));
    let mut random = count.map_or_else(|| Rng::with_seed(7), |_| Rng::new());
    let shells: Vec<ShellGround> = ["dash", "bash"]
        .into_iter()
        .filter(|shell| Path::new("/bin").join(shell).exists())
        .map(ShellGround::new)
        .collect();
    assert!(!shells.is_empty(), "there is no shell to compare with");
    let (mut plain, mut generated, mut started) = (0, 0, 0);
    while plain < count.unwrap_or(LINES) {
        let mut lines = Vec::new();
        while lines.len() < BATCH {
            let line = generate(&mut random);
            generated += 1;
            lines.extend(commands(&line).map(|read| (line, read)));
        }
        plain += lines.len();
        for shell in &shells {
            let all: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
            // One line of them as commands are run.
            let alone = shell.alone(all[0]);
            for ((line, read), ran) in lines
                .iter()
                .zip(shell.batch(&all))
                .chain([(&lines[0], alone)])
            {
                started += ran.started.len();
                let difference = ran.difference(read);
                assert_eq!(
                    difference, None,
                    "{} for {line:?}, read as {read:?}",
                    shell.name
                );
            }
        }
    }
    assert!(generated > plain, "every generated line was plain");
    assert!(started > plain * shells.len(), "programs do not report");
    println!(
        "{plain} lines in {:.0?}, {started} programs, 0 differences",
        begun.elapsed()
    );
}

#[test]
fn a_line_that_was_misread_is_noticed() {
    let ground = ShellGround::new("sh");
    let read = commands("p a").expect("a plain line");
    for line in [
        "p \\ # ; q",
        "p a; q",
        "p a; p a",
        "p b",
        "p a >f",
        "p a >.f",
        "x; q",
        "exec q",
        "set -e; q",
    ] {
        for ran in [ground.batch(&[line]).remove(0), ground.alone(line)] {
            assert!(ran.difference(&read).is_some(), "{line:?}: {ran:?}");
        }
    }
    for line in ["p a", "p 'a'", "x; p a", "p \\a", "p a 2>&1", ")"] {
        for ran in [ground.batch(&[line]).remove(0), ground.alone(line)] {
            assert_eq!(ran.difference(&read), None, "{line:?}");
        }
    }
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
    // What a shell of root's writes stays in the folder of the line.
    match line.contains('>') {
        true => line.replace('/', "./"),
        false => line,
    }
}

/// Folders in which a shell runs lines whose programs report their words.
struct ShellGround {
    name: &'static str,
    folder: tempfile::TempDir,
}

/// Everything that a line did.
#[derive(Debug)]
struct LineRun {
    /// The words of each program that it started.
    started: Vec<Vec<String>>,
    /// Files that it made.
    files: Vec<PathBuf>,
}

/// Reports the words of a program in one write, as programs of a pipeline report at the same time: some shells write each
/// line by itself, so that the words must have none.
const REPORT: &str = "for word; do line=\"$line\u{1}$word\"; done; end='\n'; \
    while :; do case $line in *\"$end\"*) line=\"${line%%\"$end\"*}\u{3}${line#*\"$end\"}\";; *) break;; esac; done; \
    printf '%s\\002' \"$line\" >>\"$REPORT\"";

impl ShellGround {
    fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        for name in ["p", "q"] {
            let program = bin.join(name);
            fs::write(&program, format!("#!/bin/sh\nline={name}\n{REPORT}\n")).expect("a program");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        for at in 0..BATCH {
            fs::create_dir_all(folder.path().join(format!("{at}/made"))).expect("a folder");
        }
        Self { name, folder }
    }

    /// Runs a line as commands are run: by a shell that finds the programs in `PATH`.
    fn alone(&self, line: &str) -> LineRun {
        self.run(
            &["-c", line],
            "0/made",
            &self.folder.path().join("0/report"),
        );
        self.ran(0)
    }

    /// Runs lines in one shell, each by a part of it that begins as the shell does. Functions stand for the programs,
    /// so that nothing has to be started; what does not heed them finds the programs themselves.
    fn batch(&self, lines: &[&str]) -> Vec<LineRun> {
        let mut text = String::new();
        for name in ["p", "q"] {
            text += &format!("{name}() {{ line={name}; {REPORT}; }}\n");
        }
        for (at, line) in lines.iter().enumerate() {
            // No line is an option.
            let blank = if line.starts_with('-') { " " } else { "" };
            let line = line.replace('\'', "'\\''");
            text += &format!(
                "(cd {at}/made || exit; REPORT=../report; eval '{blank}{line}') </dev/null\n"
            );
        }
        let script = self.folder.path().join("script");
        fs::write(&script, text).expect("a script");
        self.run(
            &[script.to_str().expect("a name")],
            "",
            Path::new("../report"),
        );
        (0..lines.len()).map(|at| self.ran(at)).collect()
    }

    fn run(&self, args: &[&str], folder: &str, report: &Path) {
        let status = Command::new(Path::new("/bin").join(self.name))
            .args(args)
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("REPORT", report)
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.folder.path().join(folder))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.expect("a shell");
    }

    /// Everything that the line with this number did. Its folder is empty again afterwards.
    fn ran(&self, at: usize) -> LineRun {
        let folder = self.folder.path().join(at.to_string());
        let (report, made) = (folder.join("report"), folder.join("made"));
        let reported = fs::read_to_string(&report).unwrap_or_default();
        if !reported.is_empty() {
            fs::remove_file(&report).expect("a report");
        }
        let files = fs::read_dir(&made).expect("a folder");
        let files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
        if !files.is_empty() {
            fs::remove_dir_all(&made).expect("a folder");
            fs::create_dir(&made).expect("a folder");
        }
        let runs = reported.split_terminator('\u{2}');
        let started = runs.map(|run| {
            run.split('\u{1}')
                .map(|it| it.replace('\u{3}', "\n"))
                .collect()
        });
        LineRun {
            started: started.collect(),
            files,
        }
    }
}

impl LineRun {
    /// Something that the line did besides what was read.
    fn difference(&self, read: &[PlainCommand]) -> Option<String> {
        let mut left = BTreeMap::<&[String], i32>::new();
        for command in read {
            *left.entry(&command.words).or_default() += 1;
        }
        for words in &self.started {
            let count = left.entry(words).or_default();
            *count -= 1;
            if *count < 0 {
                return Some(format!("started {words:?}"));
            }
        }
        let writes = read.iter().any(|it| it.writes);
        (!writes && !self.files.is_empty()).then(|| format!("wrote {:?}", self.files))
    }
}

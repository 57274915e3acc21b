//! Reads plain command lines exactly as every POSIX shell does.
//!
//! A plain line is a sequence of simple commands with literal words, joined by `&&`, `||`, `|`, `;` or newlines, with
//! redirections to files and descriptors. Anything else is not plain: an expansion, a glob, a comment, an assignment, a
//! reserved word, a backslash before a character that may mean something, a character outside of quotes that some shell
//! or locale may take for a blank. So a plain line starts exactly the programs that are read here, whichever shell runs
//! it; a test compares that with `dash` and `bash` on generated lines.

/// A simple command of a plain line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlainCommand {
    /// The program and its arguments; not empty.
    pub(super) words: Vec<String>,
    /// Whether a redirection writes to a file.
    pub(super) writes: bool,
    /// Whether there is any redirection.
    pub(super) redirects: bool,
}

/// Words that shells reserve at the start of a command, in any of them.
const RESERVED: &[&str] = &[
    "!",
    "[[",
    "]]",
    "{",
    "}",
    "case",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "esac",
    "fi",
    "for",
    "foreach",
    "function",
    "if",
    "in",
    "namespace",
    "repeat",
    "select",
    "then",
    "time",
    "until",
    "while",
];

/// Builtins that start a program in their arguments, or read commands from them.
const STARTING: &[&str] = &[
    "-",
    ".",
    "autoload",
    "bind",
    "builtin",
    "command",
    "compgen",
    "complete",
    "emulate",
    "enable",
    "eval",
    "exec",
    "fc",
    "hist",
    "jobs",
    "mapfile",
    "nocorrect",
    "noglob",
    "readarray",
    "sched",
    "source",
    "trap",
    "zmodload",
];

/// Further builtins that take a word for an element of an array or for a number, and run what its index says:
/// `printf -v 'a[$(x)]'` in bash, `[ 'a[$(x)]' -eq 1 ]` in others.
const EVALUATING: &[&str] = &[
    "[", "break", "continue", "exit", "print", "return", "shift", "test", "ulimit", "umask", "wait",
];

/// Builtins that change which programs the following commands of a line start.
const CHANGING: &[&str] = &[
    "alias", "declare", "export", "getopts", "hash", "let", "local", "printf", "read", "readonly",
    "set", "shopt", "typeset", "unalias", "unset",
];

/// The commands of a plain line. `None` if the line is empty or not plain.
pub(super) fn commands(line: &str) -> Option<Vec<PlainCommand>> {
    let mut reader = Reader {
        rest: line,
        commands: Vec::new(),
        current: PlainCommand::default(),
    };
    reader.line()?;
    let commands = reader.commands;
    let changes = |command: &PlainCommand| CHANGING.contains(&command.words[0].as_str());
    let is_steady = commands.len() == 1 || !commands.iter().any(changes);
    (!commands.is_empty() && is_steady).then_some(commands)
}

/// Whether a command is a builtin, in some shell, that may run what one of its words says.
fn evaluates(words: &[String]) -> bool {
    let is_element = |word: &String| word.contains('[') && word.contains(['$', '`']);
    let evaluates = |program: &String| {
        let mut all = EVALUATING.iter().chain(CHANGING);
        all.any(|it| it == program)
    };
    words.first().is_some_and(evaluates) && words[1..].iter().any(is_element)
}

struct Reader<'a> {
    rest: &'a str,
    commands: Vec<PlainCommand>,
    current: PlainCommand,
}

/// Separator of two commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `;` or a newline: a command must precede it, but need not follow.
    End,
    /// `&&`, `||` or `|`: a command must follow, perhaps after newlines.
    Joint,
}

impl Reader<'_> {
    fn line(&mut self) -> Option<()> {
        let mut last = Separator::End;
        loop {
            self.blanks();
            if last == Separator::Joint || self.is_between() {
                while self.take("\n") {
                    self.blanks();
                }
            }
            if self.rest.is_empty() {
                if !self.is_between() {
                    self.end()?;
                } else if last == Separator::Joint {
                    return None;
                }
                return Some(());
            }
            match self.separator() {
                Some(separator) => {
                    self.end()?;
                    last = separator;
                }
                None => {
                    self.item()?;
                    last = Separator::End;
                }
            }
        }
    }

    /// Whether no part of a command was read since the last separator.
    fn is_between(&self) -> bool {
        self.current == PlainCommand::default()
    }

    /// Ends the current command.
    fn end(&mut self) -> Option<()> {
        let command = std::mem::take(&mut self.current);
        let program = command.words.first()?;
        let is_program = !program.is_empty()
            && !program.contains('=')
            && !evaluates(&command.words)
            && ![RESERVED, STARTING]
                .iter()
                .any(|words| words.contains(&program.as_str()));
        self.commands.push(is_program.then_some(command)?);
        Some(())
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn separator(&mut self) -> Option<Separator> {
        let joints = ["&&", "||"].into_iter().any(|it| self.take(it));
        // `|&` is a pipe in some shells and a syntax error in others.
        if joints || (!self.rest.starts_with("|&") && self.take("|")) {
            return Some(Separator::Joint);
        }
        (self.take(";") || self.take("\n")).then_some(Separator::End)
    }

    /// Reads a word or a redirection of the current command.
    fn item(&mut self) -> Option<()> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let operator = &self.rest[digits..];
        if operator.starts_with(['<', '>']) {
            // Shells differ in how they read descriptors of several digits.
            if digits > 1 {
                return None;
            }
            self.rest = operator;
            return self.redirection();
        }
        let word = self.word()?;
        self.current.words.push(word);
        Some(())
    }

    fn redirection(&mut self) -> Option<()> {
        let output = self.rest.starts_with('>');
        self.rest = &self.rest[1..];
        if output {
            self.take(">");
        }
        self.current.redirects = true;
        if self.take("&") {
            let is_descriptor = |c: char| c.is_ascii_digit() || c == '-';
            let target = self.word()?;
            let mut all = target.chars();
            let only = all.next().filter(|c| is_descriptor(*c));
            return (only.is_some() && all.next().is_none()).then_some(());
        }
        self.blanks();
        let target = self.word().filter(|it| !it.is_empty())?;
        self.current.writes |= output && target != "/dev/null";
        Some(())
    }

    /// Reads a literal word, which may be empty if it is quoted.
    fn word(&mut self) -> Option<String> {
        let (mut word, mut is_quoted) = (String::new(), false);
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                '\'' | '"' => {
                    word.push_str(self.quoted(letter)?);
                    is_quoted = true;
                    continue;
                }
                '\\' => {
                    let next = self.rest[1..].chars().next();
                    word.push(next.filter(|it| is_plain(*it))?);
                    self.rest = &self.rest[2..];
                    continue;
                }
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
                letter => word.push(Some(letter).filter(|it| is_plain(*it))?),
            }
            self.rest = &self.rest[letter.len_utf8()..];
        }
        // zsh replaces a word such as `=ls` by the program's path.
        let is_word = is_quoted || !(word.is_empty() || word.starts_with('='));
        is_word.then_some(word)
    }

    /// Reads a quoted text without anything that a shell expands.
    fn quoted(&mut self, quote: char) -> Option<&str> {
        let (text, rest) = self.rest[1..].split_once(quote)?;
        let expands = quote == '"' && text.contains(['$', '`', '\\', '!']);
        if expands || text.contains('\0') {
            return None;
        }
        self.rest = rest;
        Some(text)
    }
}

/// Whether a character means itself in every shell and locale, outside of quotes and behind a backslash.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/-_.,:+@%=".contains(letter)
}

// A real shell is what they compare with.
#[cfg(test)]
#[cfg(unix)]
#[path = "plain_tests.rs"]
mod tests;

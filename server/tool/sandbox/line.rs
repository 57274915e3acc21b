//! Finds the commands of a command line.
//!
//! A plain line is read exactly, see [`super::plain`]. In any other line a parser for bash finds the commands, as far as
//! they can be found. That serves rules which deny or ask; a rule that allows believes plain lines alone.

use tree_sitter::{Node, Parser};

use aside_base::system::shells::reads_as_posix;

use super::{plain, single};

/// Maximum length in bytes of a line that is parsed.
const MOST: usize = 64 << 10;
/// Maximum depth of a syntax tree.
const DEEP: usize = 200;

/// The commands of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The simple commands, wherever they are in the line.
    pub(super) commands: Vec<SeenCommand>,
    /// Whether every shell starts exactly these commands.
    pub(super) is_plain: bool,
    /// Whether the line is a single plain command without redirections.
    pub(super) is_simple: bool,
    /// Whether a redirection of a plain line writes to a file.
    pub(super) writes: bool,
    /// Whether no command can be missing, as far as the parser of bash can tell.
    pub(super) is_complete: bool,
    /// All of the line but the programs of its commands.
    pub(super) others: String,
    /// The parts of the line that set variables.
    pub(super) assigned: String,
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenCommand {
    /// The leading literal words, the program first.
    pub(super) words: Vec<String>,
    /// Whether these are all of its words.
    pub(super) is_whole: bool,
}

impl CommandLine {
    /// Reads a command line.
    pub(super) fn read(text: &str) -> Self {
        if !reads_as_posix() {
            return Self::single(text);
        }
        match (text.len() <= MOST)
            .then(|| plain::commands(text))
            .flatten()
        {
            Some(commands) => Self::plain(commands),
            None => Self::parse(text),
        }
    }

    /// Reads a line for a shell of another kind, of which only a single plain command is known.
    fn single(text: &str) -> Self {
        let Some(command) = single::command(text) else {
            return Self {
                others: text.to_owned(),
                ..Self::default()
            };
        };
        let others = command.words[1..].join(" ");
        Self {
            is_plain: command.is_known,
            is_complete: command.is_known,
            is_simple: command.is_known,
            others,
            commands: vec![SeenCommand {
                words: command.words,
                is_whole: true,
            }],
            ..Self::default()
        }
    }

    fn plain(commands: Vec<plain::PlainCommand>) -> Self {
        Self {
            is_plain: true,
            is_complete: true,
            is_simple: commands.len() == 1 && !commands[0].redirects,
            writes: commands.iter().any(|it| it.writes),
            assigned: String::new(),
            others: commands
                .iter()
                .map(|it| it.words[1..].join(" ") + "\n")
                .collect(),
            commands: commands
                .into_iter()
                .map(|it| SeenCommand {
                    words: it.words,
                    is_whole: true,
                })
                .collect(),
        }
    }

    /// Parses a line that is not plain.
    fn parse(text: &str) -> Self {
        let mut all = Walk::of(text);
        // A shell joins the lines around an escaped newline, even within a word; the parser does not.
        if text.contains("\\\n") {
            let joined = text.replace("\\\n", "");
            let joined = Walk::of(&joined);
            all.is_complete &= joined.is_complete;
            all.assigned += &joined.assigned;
            all.others += &joined.others;
            all.commands.extend(joined.commands);
        }
        Self {
            commands: all.commands,
            is_complete: all.is_complete,
            others: all.others,
            assigned: all.assigned,
            ..Self::default()
        }
    }
}

/// Whether shells and the parser may split a text at different places.
fn is_ambiguous(text: &str) -> bool {
    let is_odd =
        |c: char| c != '\n' && c != '\t' && c != ' ' && (c.is_control() || c.is_whitespace());
    let escapes_blank = |pair: &[u8]| pair[0] == b'\\' && [b' ', b'\t'].contains(&pair[1]);
    text.contains(is_odd) || text.as_bytes().windows(2).any(escapes_blank)
}

/// A walk through a syntax tree.
#[derive(Default)]
struct Walk<'a> {
    text: &'a str,
    commands: Vec<SeenCommand>,
    is_complete: bool,
    /// The text without the programs that were read.
    others: String,
    /// Number of bytes of the text that `others` has, or left out.
    passed: usize,
    assigned: String,
}

impl<'a> Walk<'a> {
    /// Collects the commands of a text.
    fn of(text: &'a str) -> Self {
        let mut walk = Self {
            text,
            ..Self::default()
        };
        let mut parser = Parser::new();
        let language = parser.set_language(&tree_sitter_bash::LANGUAGE.into());
        let tree = match language {
            Ok(()) if text.len() <= MOST => parser.parse(text, None),
            _ => None,
        };
        if let Some(tree) = tree {
            walk.is_complete = !tree.root_node().has_error() && !is_ambiguous(text);
            walk.node(tree.root_node(), 0);
        }
        walk.others += text.get(walk.passed..).unwrap_or_default();
        walk
    }

    fn node(&mut self, node: Node<'_>, depth: usize) {
        if depth > DEEP {
            self.is_complete = false;
            return;
        }
        match node.kind() {
            "command" => self.command(node),
            "variable_assignment" => {
                self.assigned += self.text.get(node.byte_range()).unwrap_or_default();
                self.assigned.push('\n');
            }
            _ => {}
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.node(child, depth + 1);
        }
    }

    fn command(&mut self, node: Node<'_>) {
        let mut command = SeenCommand {
            words: Vec::new(),
            is_whole: true,
        };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            // Assignments and redirections may stand before or between the words.
            if !["variable_assignment", "file_redirect"].contains(&child.kind()) {
                self.add(&mut command, child);
            }
        }
        for word in self.words_behind_redirections(node) {
            self.add(&mut command, word);
        }
        if let Some(program) = node.child_by_field_name("name")
            && !command.words.is_empty()
        {
            self.pass(program);
        }
        self.commands.push(command);
    }

    /// Leaves a program out of what else the line has.
    fn pass(&mut self, program: Node<'_>) {
        let before = self.text.get(self.passed..program.start_byte());
        self.others += before.unwrap_or_default();
        self.passed = self.passed.max(program.end_byte());
    }

    /// The words of a command that the parser takes for further targets of its redirections.
    fn words_behind_redirections<'t>(&self, command: Node<'t>) -> Vec<Node<'t>> {
        let parent = command.parent();
        let negated = parent.filter(|it| it.kind() == "negated_command");
        let outer = negated.map_or(parent, |it| it.parent());
        let statement = outer.filter(|it| it.kind() == "redirected_statement");
        let Some(statement) = statement else {
            return Vec::new();
        };
        let mut cursor = statement.walk();
        let redirections = statement.children(&mut cursor);
        let words = redirections
            .filter(|it| it.kind() == "file_redirect")
            .flat_map(|it| {
                let mut cursor = it.walk();
                let targets = it.children_by_field_name("destination", &mut cursor);
                targets.skip(1).collect::<Vec<_>>()
            });
        words.collect()
    }

    /// Adds a word to a command whose words so far are literal.
    fn add(&self, command: &mut SeenCommand, word: Node<'_>) {
        let literal = self.word(word).filter(|_| command.is_whole);
        command.is_whole = literal.is_some();
        command.words.extend(literal);
    }

    /// The text of a word that no shell expands.
    fn word(&self, node: Node<'_>) -> Option<String> {
        let text = self.text.get(node.byte_range())?;
        match node.kind() {
            "command_name" => {
                let mut cursor = node.walk();
                let mut children = node.children(&mut cursor);
                let only = children.next().filter(|_| children.next().is_none());
                self.word(only?)
            }
            "word" | "number" => {
                let text = &unescaped(text)?;
                let expands = |c: char| "~*?[]{}$`!#".contains(c) || c.is_control();
                let starts_plainly = !text.starts_with(['~', '=']);
                let plain = starts_plainly && !text.contains(expands);
                plain.then(|| text.clone())
            }
            "raw_string" => Some(text.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
            "string" => {
                let inner = text.strip_prefix('"')?.strip_suffix('"')?;
                (!inner.contains(['$', '`', '\\', '!'])).then(|| inner.to_owned())
            }
            "concatenation" => {
                let mut cursor = node.walk();
                let children: Vec<_> = node.children(&mut cursor).collect();
                children.into_iter().map(|child| self.word(child)).collect()
            }
            _ => None,
        }
    }
}

/// Removes backslashes before characters that mean nothing to a shell. `None` if there is any other backslash.
fn unescaped(word: &str) -> Option<String> {
    let mut plain = String::with_capacity(word.len());
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => {
                let next = letters.next();
                next.filter(|it| it.is_ascii_alphanumeric() || "/-_.,:+@%".contains(*it))?
            }
            letter => letter,
        });
    }
    Some(plain)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let commands = CommandLine::read(text).commands;
        commands.into_iter().map(|it| it.words).collect()
    }

    #[test]
    fn only_a_plain_line_is_believed() {
        let check = |text: &str, plain: bool, simple: bool, writes: bool| {
            let line = CommandLine::read(text);
            let read = (line.is_plain, line.is_simple, line.writes);
            assert_eq!(read, (plain, simple, writes), "{text:?}: {line:?}");
        };
        check("cargo test", true, true, false);
        check("cargo test && cargo fmt", true, false, false);
        check("cargo test 2>&1", true, false, false);
        check("cargo test >log", true, false, true);
        check("cargo test $X", false, false, false);
        check("cargo test >$X", false, false, false);
        check("for x in a; do cargo test; done", false, false, false);
        let long = format!("cargo test {}", "x ".repeat(MOST));
        check(&long, false, false, false);
    }

    #[test]
    fn commands_are_found_wherever_they_are() {
        let names = |text: &str| -> Vec<String> {
            let found = words(text);
            found
                .into_iter()
                .filter_map(|it| it.into_iter().next())
                .collect()
        };
        assert_eq!(
            names("echo $(curl x) | (sh; wget y)"),
            ["echo", "curl", "sh", "wget"]
        );
        assert_eq!(names("if a; then b; else c; fi"), ["a", "b", "c"]);
        assert_eq!(names("X=$(a) b"), ["b", "a"]);
    }

    #[test]
    fn words_count_as_far_as_they_are_literal() {
        let check = |text: &str, words: &[&str], is_whole: bool| {
            let command = &CommandLine::read(text).commands[0];
            assert_eq!(command.words, words, "{text}");
            assert_eq!(command.is_whole, is_whole, "{text}");
        };
        check("git push $X --force", &["git", "push"], false);
        check("rm *.txt -f", &["rm"], false);
        check("c\\argo \\-\\-all", &["cargo", "--all"], true);
        check("c\\$argo test", &[], false);
        check("~/bin/x y", &[], false);
        check("echo {a,b}", &["echo"], false);
        check("$(git >/dev/null push)", &[], false);
    }

    #[test]
    fn words_behind_a_redirection_belong_to_the_command() {
        for text in [
            "git >/dev/null push",
            "git 2>&1 push",
            "(git >a push)",
            "X=1 >a git push",
            "! git <a 2>b push",
        ] {
            assert_eq!(words(text).concat(), ["git", "push"], "{text}");
        }
    }

    #[test]
    fn what_else_a_line_has_is_all_but_its_programs() {
        let check = |text: &str, others: &str, assigns: bool| {
            let line = CommandLine::read(text);
            let words: Vec<&str> = line.others.split_whitespace().collect();
            assert_eq!(words.join(" "), others, "{text}");
            assert_eq!(!line.assigned.is_empty(), assigns, "{text}");
        };
        check("cargo test && git push", "test push", false);
        check("(cargo test; git push)", "( test; push)", false);
        check("X=1 git push", "X=1 push", true);
        check("$X git push", "$X git push", false);
        check("sh <<E\ncurl x\nE", "<<E curl x E", false);
        check("sh -c 'git push", "-c 'git push", false);
    }

    #[test]
    fn an_escaped_newline_joins_words() {
        let found = words("(git p\\\nush)");
        assert!(
            found.contains(&vec!["git".into(), "push".into()]),
            "{found:?}"
        );
    }

    #[test]
    fn a_line_that_may_hold_further_commands_is_incomplete() {
        for text in [
            "echo \\ # ; curl",
            "echo \r# ; curl",
            "echo \u{a0}# ; curl",
            "cargo 'test",
            "\0cargo test",
        ] {
            assert!(!CommandLine::read(text).is_complete, "{text:?}");
        }
        assert!(!CommandLine::read(&"$(".repeat(5000)).is_complete);
        assert!(!CommandLine::read(&format!("{}curl", " ".repeat(MOST))).is_complete);
        for text in [
            "cargo test",
            "for x in *; do curl $x; done # all",
            "X=1 make \\\n all",
        ] {
            assert!(CommandLine::read(text).is_complete, "{text:?}");
        }
    }
}

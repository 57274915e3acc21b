//! Splits a command line into its simple commands.
//!
//! Only certain knowledge counts: anything in the syntax tree beyond plain commands, plain words and their sequence
//! makes the line unread. The shell that runs the line may differ from the parser's, so syntax that shells read
//! differently makes it unread too.

use tree_sitter::{Node, Parser};

/// Maximum length in bytes of a line that is parsed.
const MOST: usize = 64 << 10;
/// Maximum depth of a syntax tree.
const DEEP: usize = 200;

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The leading literal words of each simple command of the line.
    pub(super) commands: Vec<Vec<String>>,
    /// Whether all of the line was understood.
    pub(super) is_read: bool,
    /// Whether the line is a single command with literal words only.
    pub(super) is_simple: bool,
    /// Whether a redirection writes to a file.
    pub(super) writes: bool,
}

impl CommandLine {
    /// Parses a command line.
    pub(super) fn read(text: &str) -> Self {
        let mut parser = Parser::new();
        let language = parser.set_language(&tree_sitter_bash::LANGUAGE.into());
        let tree = match language {
            Ok(()) if text.len() <= MOST => parser.parse(text, None),
            _ => None,
        };
        let Some(tree) = tree else {
            return Self::default();
        };
        let mut walk = Walk {
            text,
            commands: Vec::new(),
            is_read: !tree.root_node().has_error() && !text.contains('\0'),
            is_simple: true,
            writes: false,
        };
        walk.node(tree.root_node(), 0);
        Self {
            is_simple: walk.is_read && walk.is_simple && walk.commands.len() == 1,
            is_read: walk.is_read && !walk.commands.is_empty(),
            writes: walk.writes,
            commands: walk.commands,
        }
    }
}

struct Walk<'a> {
    text: &'a str,
    commands: Vec<Vec<String>>,
    is_read: bool,
    is_simple: bool,
    writes: bool,
}

impl Walk<'_> {
    fn node(&mut self, node: Node<'_>, depth: usize) {
        if depth > DEEP {
            self.is_read = false;
            return;
        }
        match node.kind() {
            "program" | "comment" => {}
            "command" => self.command(node),
            "list" | "pipeline" | "&&" | "||" | "|" | ";" | "\n" | "redirected_statement" => {
                self.is_simple = false;
            }
            "file_redirect" => {
                self.is_simple = false;
                self.redirect(node);
            }
            "command_name" | "word" | "number" | "string" | "string_content" | "raw_string"
            | "concatenation" | "\"" => {}
            // The redirection as a whole is checked, not its operators.
            ">" | ">>" | "<" | ">&" | "file_descriptor" => {}
            _ => self.is_read = false,
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.node(child, depth + 1);
        }
    }

    fn command(&mut self, node: Node<'_>) {
        let mut words = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            // Assignments and redirections may stand before or between the words; each is checked on its own.
            if ["variable_assignment", "file_redirect"].contains(&child.kind()) {
                continue;
            }
            match self.word(child) {
                Some(word) => words.push(word),
                None => {
                    // The shell may expand this in an unknown way.
                    self.is_read = false;
                    break;
                }
            }
        }
        self.commands.push(words);
    }

    /// Checks a redirection to a file or a descriptor that every shell reads in the same way.
    fn redirect(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                ">" | ">>" => self.writes |= !self.is_harmless(node),
                ">&" => self.writes |= !self.is_descriptor(node),
                "<" | "file_descriptor" => {}
                _ => self.is_read &= self.word(child).is_some(),
            }
        }
    }

    /// Whether a redirection cannot write to a file.
    fn is_harmless(&self, redirect: Node<'_>) -> bool {
        self.target(redirect).as_deref() == Some("/dev/null")
    }

    fn is_descriptor(&self, redirect: Node<'_>) -> bool {
        let target = self.target(redirect).unwrap_or_default();
        !target.is_empty() && target.chars().all(|c| c.is_ascii_digit() || c == '-')
    }

    fn target(&self, redirect: Node<'_>) -> Option<String> {
        self.word(redirect.child_by_field_name("destination")?)
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
mod tests {
    use super::*;

    #[test]
    fn simple_commands_are_read_one_by_one() {
        let check = |text: &str, commands: &[&[&str]]| {
            let line = CommandLine::read(text);
            assert!(line.is_read, "{text}");
            assert_eq!(line.commands, commands, "{text}");
            assert_eq!(
                line.is_simple,
                commands.len() == 1 && !text.contains(['>', '<', ';']),
                "{text}"
            );
        };
        check("cargo test", &[&["cargo", "test"]]);
        check("  cargo   test --all # yes", &[&["cargo", "test", "--all"]]);
        check("'cargo' \"test\" a\"b\"'c'", &[&["cargo", "test", "abc"]]);
        check(
            "cargo test --color=never",
            &[&["cargo", "test", "--color=never"]],
        );
        check(
            "cargo test && cargo fmt || echo no",
            &[&["cargo", "test"], &["cargo", "fmt"], &["echo", "no"]],
        );
        check("a | b; c\nd", &[&["a"], &["b"], &["c"], &["d"]]);
        check("cargo test 2>&1 >log <in", &[&["cargo", "test"]]);
    }

    #[test]
    fn what_is_not_certain_is_not_read() {
        for text in [
            "",
            "# nothing",
            "cargo test $(rm -rf /)",
            "cargo `x`",
            "cargo $X",
            "cargo ${X}",
            "X=1 cargo test",
            "PATH=. cargo test",
            "(cargo test)",
            "{ cargo test; }",
            "if true; then cargo test; fi",
            "for x in a; do cargo test; done",
            "while true; do cargo test; done",
            "case x in x) cargo test;; esac",
            "cargo() { rm x; }; cargo test",
            "[[ a && b ]]",
            "cargo <(x)",
            "cargo <<E\n$(x)\nE",
            "cargo <<<x",
            "cargo test &> log",
            "cargo test >$X",
            "cargo test & x",
            "! cargo test",
            "rm *",
            "ls ~",
            "ls ~/x",
            "echo {a,b}",
            "echo [a]",
            "cargo 'test",
            "cargo test &&",
            "$'cargo' test",
            "cargo $((1))",
            "export X=1; cargo test",
            "\0cargo test",
        ] {
            let line = CommandLine::read(text);
            assert!(!line.is_read && !line.is_simple, "{text:?}: {line:?}");
        }
        let long = format!("cargo test {}", "x ".repeat(MOST));
        assert!(!CommandLine::read(&long).is_read);
        let deep = "$(".repeat(5000);
        assert!(!CommandLine::read(&deep).is_read);
    }

    #[test]
    fn words_count_as_far_as_they_are_plain() {
        let check = |text: &str, words: &[&str]| {
            assert_eq!(CommandLine::read(text).commands[0], words, "{text}");
        };
        check("git push $X --force", &["git", "push"]);
        check("rm *.txt -f", &["rm"]);
        check("c\\argo \\-\\-all", &["cargo", "--all"]);
        check("c\\$argo test", &[]);
        check("~/bin/x y", &[]);
        check("echo {a,b}", &["echo"]);
    }

    #[test]
    fn what_a_redirection_writes_is_seen() {
        for (text, writes) in [
            ("cargo test 2>&1", false),
            ("cargo test >/dev/null 2>&1 <in", false),
            ("cargo test >log", true),
            ("cargo test 2>>'log'", true),
            ("cargo test >&log", true),
            ("cargo test && (make > log)", true),
            ("cargo test >$X", true),
        ] {
            assert_eq!(CommandLine::read(text).writes, writes, "{text}");
        }
    }

    #[test]
    fn commands_are_found_wherever_they_are() {
        let names = |text: &str| -> Vec<String> {
            let commands = CommandLine::read(text).commands;
            commands
                .into_iter()
                .filter_map(|words| words.into_iter().next())
                .collect()
        };
        assert_eq!(
            names("echo $(curl x) | (sh; wget y)"),
            ["echo", "curl", "sh", "wget"]
        );
        assert_eq!(names("if a; then b; else c; fi"), ["a", "b", "c"]);
        assert_eq!(names("X=$(a) b"), ["b", "a"]);
    }
}

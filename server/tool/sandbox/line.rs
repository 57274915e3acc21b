//! A command line as a shell's parser reads it: the simple commands that it is made of.
//!
//! What a line means is read from its syntax tree, and only what is certain counts: whatever the tree holds beyond
//! plain commands, their plain words, and how they follow one another, makes the line one that is not read. The shell
//! that runs it may be another one than the parser's; so what shells read differently is not read either.

use tree_sitter::{Node, Parser};

/// Bytes of a command line that is read.
const MOST: usize = 64 << 10;
/// Levels of a syntax tree that are walked.
const DEEP: usize = 200;

/// What a command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The words of each simple command, wherever in the line it is, as far as they are plain from its beginning.
    pub(super) commands: Vec<Vec<String>>,
    /// All of the line is understood.
    pub(super) is_read: bool,
    /// It is one simple command, of plain words and nothing else.
    pub(super) is_simple: bool,
}

impl CommandLine {
    /// Reads a line.
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
        };
        walk.node(tree.root_node(), 0);
        Self {
            is_simple: walk.is_read && walk.is_simple && walk.commands.len() == 1,
            is_read: walk.is_read && !walk.commands.is_empty(),
            commands: walk.commands,
        }
    }
}

struct Walk<'a> {
    text: &'a str,
    commands: Vec<Vec<String>>,
    is_read: bool,
    is_simple: bool,
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
            // A redirection's own signs are looked at with it.
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
            // What stands before or between the words, and makes the line one that is not read where it matters.
            if ["variable_assignment", "file_redirect"].contains(&child.kind()) {
                continue;
            }
            match self.word(child) {
                Some(word) => words.push(word),
                None => {
                    // What a shell makes of it is not known.
                    self.is_read = false;
                    break;
                }
            }
        }
        self.commands.push(words);
    }

    /// A redirection to a file or a descriptor that is written plainly, as every shell reads it.
    fn redirect(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let mut children = node.children(&mut cursor);
        let is_plain = children.all(|child| {
            matches!(child.kind(), ">" | ">>" | "<" | ">&" | "file_descriptor")
                || self.word(child).is_some()
        });
        self.is_read &= is_plain;
    }

    /// The text of a word, where it is the same whatever the shell expands.
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
                let expands = |c: char| "\\~*?[]{}$`!#=".contains(c) || c.is_control();
                let starts_plainly = !text.starts_with('~');
                let plain = starts_plainly && !text.contains(expands);
                // `--key=value` and the like are plain as arguments.
                let option = text.starts_with('-') && !text.contains(|c| c != '=' && expands(c));
                (plain || option).then(|| text.to_owned())
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
        check("c\\argo test", &[]);
        check("~/bin/x y", &[]);
        check("echo {a,b}", &["echo"]);
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

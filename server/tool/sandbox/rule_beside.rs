//! The words of a rule that denies or asks, beside those of a command.

use std::path::Path;

use super::same_words::{is_group, same_options, same_subcommands, without_version};

/// How the words of a rule are spelled in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As the rule spells them.
    Whole,
    /// As many programs take them too: `publ`, `--amen`, `--force=yes`, and `-fr` for `-rf`.
    Short,
}

/// A rule beside a command whose words it may cover.
pub(super) struct RuleBeside<'a> {
    pub(super) program: &'a str,
    /// The words of the rule behind its program that are no options.
    pub(super) names: Vec<&'a str>,
    pub(super) options: Vec<&'a str>,
    pub(super) words: &'a [String],
    /// Places of the command where the name of a program may be.
    pub(super) starts: Vec<usize>,
}

impl RuleBeside<'_> {
    /// Whether a word is the program.
    pub(super) fn is_named(&self, at: usize) -> bool {
        let word = &self.words[at];
        word == self.program || name(word) == self.program
    }

    /// Whether a word is the program in another version.
    fn is_version(&self, at: usize) -> bool {
        let own = without_version(name(&self.words[at]));
        !own.is_empty() && own == without_version(self.program)
    }

    /// Whether a word is the program and these names at once: `git-push`, `docker-compose`.
    fn is_joined(&self, names: &[&str], at: usize) -> bool {
        let own = name(&self.words[at]).strip_prefix(self.program);
        let own = own.and_then(|rest| rest.strip_prefix('-'));
        own.is_some() && own == names.first().copied()
    }

    /// Whether the words behind one are these names, and the options of the rule.
    fn covers(&self, names: &[&str], at: usize, spelling: Spelling) -> bool {
        let args = &self.words[at + 1..];
        let mut options = self.options.iter();
        follow(names, args, spelling) && options.all(|it| self.has_option(it, args, spelling))
    }

    /// The same behind a word that only says what the subcommand is about.
    fn covers_behind(&self, names: &[&str], at: usize) -> bool {
        let group = at + 1 + skippable(&self.words[at + 1..]);
        let word = self.words.get(group);
        word.is_some_and(|it| is_group(self.program, it))
            && self.covers(names, group, Spelling::Short)
    }

    /// Whether the rule covers one of the programs that the command starts.
    pub(super) fn is_covered(&self, spelling: Spelling) -> bool {
        let names = &self.names[..];
        let is_at = |at: &usize| {
            (self.is_named(*at) && self.covers(names, *at, spelling))
                || (self.is_joined(names, *at) && self.covers(&names[1..], *at, spelling))
        };
        self.starts.iter().any(is_at)
    }

    /// Whether the command says the same by other words, or starts another version of the program.
    pub(super) fn is_said_otherwise(&self) -> bool {
        let same = same_subcommands(self.program, &self.names);
        let is_at = |names: &[&str], at: usize| {
            let is_program = self.is_named(at) || self.is_version(at);
            let is_joined = self.is_joined(names, at);
            let covers = || self.covers(names, at, Spelling::Short);
            (is_program && (covers() || self.covers_behind(names, at)))
                || (is_joined && self.covers(&names[1..], at, Spelling::Short))
        };
        let mut starts = self.starts.iter();
        starts.any(|at| is_at(&self.names, *at) || same.iter().any(|names| is_at(names, *at)))
    }

    /// Whether an option of the rule stands among arguments.
    fn has_option(&self, option: &str, args: &[String], spelling: Spelling) -> bool {
        if args.iter().any(|arg| arg == option) {
            return true;
        }
        if spelling == Spelling::Whole {
            return false;
        }
        let is_given = |option: &str| {
            has_option(option, args)
                || same_options(self.program, &self.names, option).any(|it| has_option(it, args))
        };
        // Several letters may be options of their own.
        let letters = option.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let mut letters = letters.into_iter().flat_map(str::chars).peekable();
        is_given(option)
            || (letters.peek().is_some() && letters.all(|letter| is_given(&format!("-{letter}"))))
    }
}

/// Whether these names follow in this order, with only options and their values in between.
fn follow(names: &[&str], args: &[String], spelling: Spelling) -> bool {
    let Some((first, rest)) = names.split_first() else {
        return true;
    };
    let is_first = |arg: &String| match spelling {
        Spelling::Whole => arg == first,
        Spelling::Short => !arg.is_empty() && first.starts_with(arg.as_str()),
    };
    let reach = args.len().min(skippable(args) + 1);
    (0..reach).any(|at| is_first(&args[at]) && follow(rest, &args[at + 1..], spelling))
}

/// Whether an option stands among arguments, as programs take it: shorter, with a value, or among others.
fn has_option(option: &str, args: &[String]) -> bool {
    if !option.starts_with('-') {
        return args.iter().any(|arg| arg.starts_with(option));
    }
    let name = option.trim_start_matches('-');
    let is_long = |arg: &str| {
        let arg = arg.split('=').next().unwrap_or(arg);
        arg.trim_start_matches('-') == name
    };
    if let Some(long) = option.strip_prefix("--") {
        let given = args.iter().filter_map(|arg| arg.strip_prefix("--"));
        let mut given = given.filter_map(|it| it.split('=').next());
        return given.any(|it| !it.is_empty() && long.starts_with(it))
            || args.iter().any(|arg| arg.starts_with('-') && is_long(arg));
    }
    let mut given = args.iter().filter(|arg| arg.starts_with('-'));
    given.any(|arg| {
        let letters = arg.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let is_letter = name.chars().count() == 1 && letters.is_some_and(|it| it.contains(name));
        is_letter || is_long(arg)
    })
}

/// Number of leading words that may be options, their values, variables or numbers.
pub(super) fn skippable(words: &[String]) -> usize {
    let mut after_option = false;
    let is_skipped = |word: &&String| {
        let is_option = word.starts_with('-');
        let digits = word.strip_prefix('.').unwrap_or(word);
        // `+x` says which of several versions does it, as of cargo.
        let is_version = word.starts_with('+');
        let is_other =
            is_version || word.contains('=') || digits.starts_with(|c: char| c.is_ascii_digit());
        let may_be_value = after_option;
        after_option = is_option;
        is_option || is_other || may_be_value
    };
    words.iter().take_while(is_skipped).count()
}

/// The name of a program without its folder.
pub(super) fn name(program: &str) -> &str {
    let name = Path::new(program).file_name().and_then(|it| it.to_str());
    name.unwrap_or(program)
}

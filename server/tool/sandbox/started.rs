//! Matching of `deny` and `ask` rules against the programs that a command may start.
//!
//! An `allow` rule matches the words as they are written. A `deny` or `ask` rule also matches other spellings of the
//! same: a program's path, a program behind `env` and the like, options in between, or text for a shell. Where the words
//! of a rule stand anywhere else in a line, it may apply, unless all programs of the line are known to start no other.
//! Such a match may be too broad and is never complete; only the sandbox confines a program.

use super::{
    known_programs::{KnownPrograms, rule_for},
    line::{CommandLine, SeenCommand},
    rule_beside::{RuleBeside, Spelling, name, skippable},
    same_program::FoundPrograms,
};

/// Programs that start the program in their arguments.
const STARTERS: &[&str] = &[
    "alias",
    "builtin",
    "busybox",
    "bwrap",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "dbus-run-session",
    "doas",
    "env",
    "exec",
    "fakeroot",
    "firejail",
    "ionice",
    "ltrace",
    "nice",
    "nohup",
    "npx",
    "nsenter",
    "numactl",
    "parallel",
    "prlimit",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "stdbuf",
    "strace",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "trap",
    "unshare",
    "valgrind",
    "watch",
    "xargs",
    "xvfb-run",
];
/// Those of them that add words of their input.
const ADDERS: &[&str] = &["parallel", "xargs"];
/// Programs that start no other, whatever their arguments say.
const QUIET: KnownPrograms = &[
    ("[", &[]),
    ("basename", &[]),
    ("cat", &[]),
    ("cd", &[]),
    ("chmod", &[]),
    ("cmp", &[]),
    ("cp", &[]),
    ("cut", &[]),
    ("date", &[]),
    ("df", &[]),
    ("diff", &[]),
    ("dirname", &[]),
    ("du", &[]),
    ("echo", &[]),
    ("egrep", &[]),
    ("false", &[]),
    ("fgrep", &[]),
    ("file", &[]),
    (
        "git",
        &[
            "add",
            "blame",
            "branch",
            "commit",
            "diff",
            "log",
            "ls-files",
            "mv",
            "rev-parse",
            "rm",
            "show",
            "status",
            "tag",
        ],
    ),
    ("grep", &[]),
    ("head", &[]),
    ("ls", &[]),
    ("mkdir", &[]),
    ("mv", &[]),
    ("nl", &[]),
    ("printf", &[]),
    ("pwd", &[]),
    ("readlink", &[]),
    ("realpath", &[]),
    ("rm", &[]),
    ("rmdir", &[]),
    ("sleep", &[]),
    ("stat", &[]),
    ("tail", &[]),
    ("test", &[]),
    ("touch", &[]),
    ("tr", &[]),
    ("tree", &[]),
    ("true", &[]),
    ("type", &[]),
    ("uniq", &[]),
    ("wc", &[]),
    ("which", &[]),
];
/// Programs that take a command line after `-c`, or else from a script or their input.
const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];
/// Other programs that take a command line after `-c`.
const LINE_TAKERS: &[&str] = &["flock", "runuser", "script", "su"];
/// Programs whose arguments, joined by blanks, are a command line.
const JOINERS: &[&str] = &["eval", "watch", "parallel"];
/// Maximum nesting of command lines in arguments.
const DEEP: usize = 4;

/// The programs that a command line may start.
pub(super) struct Started {
    commands: Vec<SeenCommand>,
    is_complete: bool,
    /// Words of the line that may be a program or its arguments, although nothing tells.
    loose: Vec<String>,
    /// Words of the variables that the line sets.
    assigned: Vec<String>,
}

/// Match of a rule with the programs of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleMatch {
    /// The rule covers none of them.
    No,
    /// The rule may cover one that could not be read.
    Perhaps,
    /// The rule covers one of them.
    Yes,
}

impl Started {
    /// The programs of a line, including those of command lines in arguments.
    pub(super) fn by(line: &CommandLine) -> Self {
        let mut all = Self {
            commands: line.commands.clone(),
            is_complete: line.is_complete,
            loose: match is_quiet(line) {
                true => Vec::new(),
                false => loose_words(&line.others),
            },
            assigned: loose_words(&line.assigned),
        };
        let mut from = 0;
        for depth in 0..=DEEP {
            let texts: Vec<_> = all.commands[from..].iter().filter_map(text_of).collect();
            from = all.commands.len();
            for text in texts {
                let line = text
                    .filter(|_| depth < DEEP)
                    .map(|text| CommandLine::read(&text));
                let line = line.unwrap_or_default();
                all.is_complete &= line.is_complete;
                all.commands.extend(line.commands);
            }
        }
        all
    }

    /// Matches a rule that denies or asks. It may cover another name of its program, which may do another thing by it.
    pub(super) fn matches(&self, rule: &str, programs: &FoundPrograms) -> RuleMatch {
        let rule: Vec<&str> = rule.split_whitespace().collect();
        let Some((program, does)) = rule.split_first() else {
            return RuleMatch::No;
        };
        let matches = self.commands.iter().map(|it| matches(program, does, it));
        let is_other_name = |command: &SeenCommand| {
            let mut words = starts(&command.words)
                .into_iter()
                .map(|at| &command.words[at]);
            let has_all = does
                .iter()
                .all(|it| command.words.iter().any(|word| word == it));
            let is_other =
                |word: &String| name(word) != *program && programs.are_same(program, word);
            (has_all || !command.is_whole) && words.any(is_other)
        };
        let may_cover = !self.is_complete
            || self.names(program, does)
            || self.commands.iter().any(is_other_name)
            || self.gives_name(program, does);
        let unread = [RuleMatch::No, RuleMatch::Perhaps][usize::from(may_cover)];
        matches.max().unwrap_or(RuleMatch::No).max(unread)
    }

    /// Whether the words of a rule stand within words of its program, which may take them as another name for what the
    /// rule says: `git -c alias.x=push x`.
    fn gives_name(&self, program: &str, does: &[&str]) -> bool {
        let is_within = |word: &String, part: &str| {
            word != part && loose_words(word).iter().any(|it| it == part)
        };
        let may_give = |command: &SeenCommand| {
            let words = &command.words;
            let mut programs = starts(words).into_iter().map(|at| name(&words[at]));
            let mut does = does.iter();
            programs.any(|it| it == name(program))
                && does.all(|part| {
                    let is_part = |word: &String| word == part;
                    self.assigned.iter().any(is_part)
                        || words.iter().any(|word| is_within(word, part))
                })
        };
        // Where no program of the line starts another, there are no loose words.
        !self.loose.is_empty() && !does.is_empty() && self.commands.iter().any(may_give)
    }

    /// Whether the words of a rule stand anywhere in the line, where its programs may start others.
    fn names(&self, program: &str, does: &[&str]) -> bool {
        let is_program = |word: &String| {
            // An option may hold the program: `tar -Icurl`.
            let is_option = word.starts_with('-') && !word.starts_with("--");
            word == program || name(word) == program || (is_option && word.ends_with(program))
        };
        self.loose.iter().any(is_program)
            && does
                .iter()
                .all(|it| self.loose.iter().any(|word| word == it))
    }
}

/// Whether no program of a line starts another.
fn is_quiet(line: &CommandLine) -> bool {
    let is_quiet = |command: &SeenCommand| rule_for(&command.words, QUIET).is_some();
    line.assigned.is_empty()
        && line.commands.iter().all(is_quiet)
        && !has_element(&line.others)
        && (line.is_plain || !has_substitution(&line.others))
}

/// Whether a text has what a shell may run a command in: the parser does not find all of these, such as those in a
/// here-document or within `${x#…}`.
fn has_substitution(text: &str) -> bool {
    let begins = ["`", "$(", "<(", ">(", "${ ", "${\t", "${\n", "${|"];
    begins.iter().any(|it| text.contains(it))
}

/// Whether a text has what a builtin of a shell may take for an element of an array, and run what its index says, as
/// `test -v 'a[$(x)]'` does.
fn has_element(text: &str) -> bool {
    let index = text.split_once('[').map(|(_, index)| index);
    index.is_some_and(has_substitution)
}

/// The words of a text, whatever quotes and signs stand around them.
fn loose_words(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", "").replace(['\'', '"', '\\'], "");
    let is_part = |letter: char| letter.is_alphanumeric() || "_-+./".contains(letter);
    let words = joined.split(|letter| !is_part(letter));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Matches a rule with a command and the programs that the command starts.
fn matches(program: &str, does: &[&str], command: &SeenCommand) -> RuleMatch {
    let words = &command.words;
    let (options, names) = does.iter().partition(|it| it.starts_with('-'));
    let rule = RuleBeside {
        program,
        names,
        options,
        words,
        starts: starts(words),
    };
    if rule.is_covered(Spelling::Whole) {
        return RuleMatch::Yes;
    }
    if rule.is_covered(Spelling::Short) || rule.is_said_otherwise() {
        return RuleMatch::Perhaps;
    }
    // The next word, which could not be read, may be the program or belong to it; one before may be the starter's own.
    let is_open = |at: &usize| {
        let args = &words[at + 1..];
        STARTERS.contains(&name(&words[*at])) && args.len() <= skippable(args) + 1
    };
    let may_cover = |at: &usize| rule.is_named(*at) && may_follow(&rule.names, &words[at + 1..]);
    let mut starts = rule.starts.iter();
    let is_added = rule
        .starts
        .iter()
        .any(|at| ADDERS.contains(&name(&words[*at])));
    let is_open = !command.is_whole && (words.is_empty() || rule.starts.iter().any(is_open));
    let goes_on = !command.is_whole || is_added;
    match is_open || (goes_on && starts.any(may_cover)) {
        true => RuleMatch::Perhaps,
        false => RuleMatch::No,
    }
}

/// Places of a command where the name of a program may be: at the start, and after each starter.
fn starts(words: &[String]) -> Vec<usize> {
    let (mut starts, mut at) = (vec![], 0);
    while at < words.len() {
        starts.push(at);
        if !STARTERS.contains(&name(&words[at])) {
            break;
        }
        let skipped = skippable(&words[at + 1..]);
        starts.extend(at + 1..at + 1 + skipped);
        at += 1 + skipped;
    }
    starts
}

/// Whether these names may follow in this order, if further words follow that are not known.
fn may_follow(names: &[&str], args: &[String]) -> bool {
    let Some((first, rest)) = names.split_first() else {
        return true;
    };
    let reach = skippable(args);
    reach == args.len()
        || (0..=reach).any(|at| args[at] == *first && may_follow(rest, &args[at + 1..]))
}

/// The command line in a command's arguments: `None` if it has none, `Some(None)` if it cannot be read.
fn text_of(command: &SeenCommand) -> Option<Option<String>> {
    let words = &command.words;
    let starts = starts(words);
    let splits =
        |at: &usize| name(&words[*at]) == "env" && words[at + 1..].iter().any(|it| is_split(it));
    if let Some(at) = starts.iter().find(|at| splits(at)) {
        return Some(split_text(&words[at + 1..]).filter(|_| command.is_whole));
    }
    let shell = starts.into_iter().rev().find(|at| {
        let name = name(&words[*at]);
        [SHELLS, LINE_TAKERS, JOINERS]
            .iter()
            .any(|all| all.contains(&name))
    })?;
    let args = &words[shell + 1..];
    if JOINERS.contains(&name(&words[shell])) {
        return Some(command.is_whole.then(|| args.join(" ")));
    }
    let has = |word: &String, letter: char| {
        word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
    };
    let is_option = |word: &&String| word.starts_with(['-', '+']);
    let mut options = args.iter().take_while(is_option);
    let has_script = args.iter().any(|it| !is_option(&it)) && !options.any(|it| has(it, 's'));
    let reads_input = SHELLS.contains(&name(&words[shell])) && !has_script;
    match args.iter().position(|it| has(it, 'c')) {
        Some(option) => Some(
            args[option + 1..]
                .iter()
                .find(|it| !it.starts_with('-'))
                .cloned(),
        ),
        None => (!command.is_whole || reads_input).then_some(None),
    }
}

/// Whether an argument is `env -S`, in any spelling.
fn is_split(word: &str) -> bool {
    let is_short = word.starts_with('-') && !word.starts_with("--") && word.contains('S');
    is_short || word.starts_with("--s")
}

/// The command line that `env -S` splits: the text and the words after it.
fn split_text(args: &[String]) -> Option<String> {
    let at = args.iter().position(|it| is_split(it))?;
    let option = &args[at];
    let own = match option.starts_with("--") {
        true => option.split_once('=').map(|(_, text)| text),
        false => option.split_once('S').map(|(_, text)| text),
    };
    let own = own.filter(|text| !text.is_empty()).map(ToOwned::to_owned);
    let rest = args[at + 1..].iter().cloned();
    Some(own.into_iter().chain(rest).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
#[cfg(unix)]
#[path = "started_tests.rs"]
mod tests;

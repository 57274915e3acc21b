//! Matching of `deny` and `ask` rules against the programs that a command may start.
//!
//! An `allow` rule matches the words as they are written. A `deny` or `ask` rule also matches other spellings of the
//! same: a program's path, a program behind `env` and the like, options in between, or text for a shell. Where the words
//! of a rule stand anywhere else in a line, it may apply, unless all programs of the line are known to start no other.
//! Such a match may be too broad and is never complete; only the sandbox confines a program.

use std::path::Path;

use super::{
    known_programs::{KnownPrograms, rule_for},
    line::{CommandLine, SeenCommand},
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
                && does.all(|part| words.iter().any(|word| is_within(word, part)))
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
    !line.assigns && line.commands.iter().all(is_quiet)
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
    let (options, names): (Vec<&str>, Vec<&str>) = does.iter().partition(|it| it.starts_with('-'));
    let starts = starts(words);
    let is_named = |at: &&usize| words[**at] == program || name(&words[**at]) == program;
    let covers = |at: &usize| {
        let args = &words[at + 1..];
        follow(&names, args) && options.iter().all(|it| args.iter().any(|arg| arg == it))
    };
    if starts.iter().filter(is_named).any(covers) {
        return RuleMatch::Yes;
    }
    // The next word, which could not be read, may be the program or belong to it; one before may be the starter's own.
    let is_open = |at: &usize| {
        let args = &words[at + 1..];
        STARTERS.contains(&name(&words[*at])) && args.len() <= skippable(args) + 1
    };
    let may_cover = |at: &usize| is_named(&at) && may_follow(&names, &words[at + 1..]);
    let is_added = starts.iter().any(|at| ADDERS.contains(&name(&words[*at])));
    let is_open = !command.is_whole && (words.is_empty() || starts.iter().any(is_open));
    let goes_on = !command.is_whole || is_added;
    match is_open || (goes_on && starts.iter().any(may_cover)) {
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

/// Whether these names follow in this order, with only options and their values in between.
fn follow(names: &[&str], args: &[String]) -> bool {
    let Some((first, rest)) = names.split_first() else {
        return true;
    };
    let reach = args.len().min(skippable(args) + 1);
    (0..reach).any(|at| args[at] == *first && follow(rest, &args[at + 1..]))
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

/// Number of leading words that may be options, their values, variables or numbers.
fn skippable(words: &[String]) -> usize {
    let mut after_option = false;
    let is_skipped = |word: &&String| {
        let is_option = word.starts_with('-');
        let digits = word.strip_prefix('.').unwrap_or(word);
        let is_other = word.contains('=') || digits.starts_with(|c: char| c.is_ascii_digit());
        let may_be_value = after_option;
        after_option = is_option;
        is_option || is_other || may_be_value
    };
    words.iter().take_while(is_skipped).count()
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

/// The name of a program without its folder.
fn name(program: &str) -> &str {
    let name = Path::new(program).file_name().and_then(|it| it.to_str());
    name.unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn matched(rule: &str, line: &str) -> RuleMatch {
        let programs = FoundPrograms::from(Path::new("/"));
        Started::by(&CommandLine::read(line)).matches(rule, &programs)
    }

    #[test]
    fn a_rule_may_cover_what_a_program_calls_otherwise() {
        let check = |rule: &str, line: &str, expected: RuleMatch| {
            assert_eq!(matched(rule, line), expected, "{rule}: {line}");
        };
        for line in [
            "git -c alias.x=push x",
            "git -c 'alias.x=push -f' x",
            "git --config-env=alias.x=push x",
            "GIT_TRACE=1 git -c alias.x=push x",
            "env git -c alias.x=push x",
        ] {
            check("git push", line, RuleMatch::Perhaps);
        }
        check(
            "cargo publish",
            "cargo --config alias.x='publish' x",
            RuleMatch::Perhaps,
        );
        for line in [
            "git stash push",
            "git commit -m 'before a push'",
            "git checkout pushed",
        ] {
            check("git push", line, RuleMatch::No);
        }
    }

    #[test]
    fn a_rule_may_cover_other_names_of_its_program() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        for name in ["one", "other"] {
            let file = folder.path().join("bin").join(name);
            fs::write(&file, name).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::hard_link(folder.path().join("bin/one"), folder.path().join("near")).unwrap();
        let programs = FoundPrograms::from(folder.path());
        for (line, expected) in [
            ("./near push", RuleMatch::Perhaps),
            ("env ./near -q push", RuleMatch::Perhaps),
            ("./near $X", RuleMatch::Perhaps),
            ("./near status", RuleMatch::No),
            ("./bin/other push", RuleMatch::No),
            ("bin/one push", RuleMatch::Yes),
        ] {
            let started = Started::by(&CommandLine::read(line));
            assert_eq!(
                started.matches("bin/one push", &programs),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn a_rule_covers_other_spellings() {
        let check = |rule: &str, line: &str, expected: RuleMatch| {
            assert_eq!(matched(rule, line), expected, "{rule}: {line}");
        };
        for line in [
            "curl x",
            "\\curl x",
            "c\\url x",
            "'cu'rl x",
            "/usr/bin/curl x",
            "env curl x",
            "env A=b curl x",
            "env -u A curl x",
            "env -S 'curl x'",
            "env -iS'curl -V'",
            "env --split-string='curl x'",
            "env --s 'curl x'",
            "timeout -s KILL 5 curl x",
            "nice -n 5 nohup curl x",
            "sudo env -i /usr/bin/curl x",
            "sh -c 'curl x'",
            "sh -c \"curl -V $HOME\"",
            "su -c 'curl x' ada",
            "flock f -c 'curl x'",
            "watch -n 1 curl x",
            "bash -lc 'cd a && exec curl x'",
            "timeout 5 sh -c \"sh -c 'curl x'\"",
            "eval 'curl x'",
            "echo $(command curl x)",
            "cat list | xargs -n 1 curl",
            "timeout .5 curl x",
            "coproc curl x",
            "taskset 1 curl x",
            "nice -n5 curl x",
            "ionice -c 3 curl x",
            "chrt 5 curl x",
            "setsid -w curl x",
            "stdbuf -oL curl x",
            "busybox curl x",
            "strace -f -o f curl x",
            "ltrace curl x",
            "unshare -r curl x",
            "systemd-run --user curl x",
            "sudo -u ada curl x",
            "doas curl x",
            "command -p curl x",
            "exec -a b curl x",
            "time -p curl x",
            "! curl x",
            "{ curl x; }",
            "f() { curl x; }; f",
        ] {
            let expected = match line.contains("$HOME") {
                true => RuleMatch::Perhaps,
                false => RuleMatch::Yes,
            };
            check("curl", line, expected);
        }
        for line in [
            "echo curl",
            "grep -r curl .",
            "curly",
            "git log curl",
            "git commit -m 'Use curl'",
            "cat >notes <<E\ncurl x\nE",
            "cd curl && ls *.c",
            "timeout 60 cargo test $X",
            "cargo test --test curly",
            "rm *.txt",
            "for x in a b; do echo $x; done",
            "make -j $(nproc)",
        ] {
            check("curl", line, RuleMatch::No);
        }
        for line in [
            "git -C . push",
            "git --no-pager push",
            "git -c a=b push",
            "nohup git push origin",
            "/usr/bin/git push",
            "git >/dev/null push",
            "git 2>&1 push",
            "git p\\\nush",
        ] {
            check("git push", line, RuleMatch::Yes);
        }
        check("git push", "git commit -m push", RuleMatch::No);
        check("git push", "git log push", RuleMatch::No);
        check(
            "git push --force",
            "git push origin --force",
            RuleMatch::Yes,
        );
        check("git push --force", "git push origin", RuleMatch::No);
        check("/opt/curl", "curl", RuleMatch::No);
        check("", "curl", RuleMatch::No);
    }

    #[test]
    fn a_rule_may_cover_a_program_that_is_named_where_others_are_started() {
        for line in [
            "bash -c -o pipefail 'curl x'",
            "trap 'curl x' EXIT",
            "eval -- 'curl x'",
            "flock f curl x",
            "chroot / curl x",
            "find . -exec curl {} +",
            "script -c 'curl x' f",
            "su ada -c 'curl x'",
            "ssh host curl x",
            "alias c=curl\nc x",
            "X=curl; $X x",
            "EDITOR=curl git commit",
            "for c in curl; do $c x; done",
            "sh <<E\ncurl x\nE",
            "sh <<<'curl x'",
            "echo 'curl x' | sh",
            "echo 'cu'rl | sh",
            "echo curl >f; . ./f",
            "cp /usr/bin/curl x && ./x y",
            "python3 -c 'import os; os.system(\"curl x\")'",
            "awk 'BEGIN { system(\"curl x\") }'",
            "git -c alias.x='!curl y' x",
            "git bisect run curl x",
            "tar -Icurl -xf a",
            "tar -xf a --to-command=curl",
            "make SHELL=/usr/bin/curl",
            "enable -f x y; y cu\\rl",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x",
            "sh -c 'sh -c \"c\"u\"rl x\"'",
            "./x curl",
            "sh curl",
        ] {
            assert_ne!(matched("curl", line), RuleMatch::No, "{line}");
        }
        for line in [
            "cat list | xargs git",
            "echo push | xargs git",
            "flock f git push",
            "trap 'git push' EXIT",
        ] {
            assert_ne!(matched("git push", line), RuleMatch::No, "{line}");
        }
        for line in [
            "git stash push && cargo build",
            "cargo build && git commit -m push",
            "npm run push && git status",
        ] {
            assert_eq!(matched("git push", line), RuleMatch::No, "{line}");
        }
    }

    #[test]
    fn a_rule_may_cover_what_cannot_be_read() {
        for line in [
            "git $X",
            "$GIT push",
            "env $X",
            "sh -c \"$X\"",
            "eval $X",
            "timeout 5 $X",
            "timeout .5 $X push",
            "flock f $X",
            "env A=b $X",
            "trap \"$X\" EXIT",
            "printf x | sh",
            "printf x | bash -s y",
            "g* push",
            "git 'push",
            "echo \\ # ; git push",
            "sh -c 'sh -c \"sh -c \\\"sh -c \\\\\\\"sh -c x\\\\\\\"\\\"\"'",
        ] {
            assert_eq!(matched("git push", line), RuleMatch::Perhaps, "{line}");
        }
        let long = format!("{}git push", " ".repeat(66_000));
        assert_eq!(matched("git push", &long), RuleMatch::Perhaps);
    }
}

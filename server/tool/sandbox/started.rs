//! Matching of `deny` and `ask` rules against the programs that a command may start.
//!
//! An `allow` rule matches the words as they are written. A `deny` or `ask` rule also matches other spellings of the
//! same: a program's path, a program behind `env` and the like, options in between, or text for a shell. Such a match
//! may be too broad and is never complete; only the sandbox confines a program.

use std::path::Path;

use super::line::{CommandLine, SeenCommand};

/// Programs that start the program in their arguments.
const STARTERS: &[&str] = &[
    "builtin", "busybox", "chroot", "chrt", "command", "doas", "env", "exec", "ionice", "nice",
    "nohup", "parallel", "setsid", "stdbuf", "strace", "sudo", "taskset", "time", "timeout",
    "unshare", "watch", "xargs",
];
/// Programs that take a command line after `-c`.
const SHELLS: &[&str] = &[
    "ash", "bash", "dash", "fish", "flock", "ksh", "runuser", "script", "sh", "su", "zsh",
];
/// Programs whose arguments, joined by blanks, are a command line.
const JOINERS: &[&str] = &["eval", "watch", "parallel"];
/// Maximum nesting of command lines in arguments.
const DEEP: usize = 4;

/// The programs that a command line may start.
pub(super) struct Started {
    commands: Vec<SeenCommand>,
    is_complete: bool,
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

    /// Matches a rule that denies or asks.
    pub(super) fn matches(&self, rule: &str) -> RuleMatch {
        let rule: Vec<&str> = rule.split_whitespace().collect();
        let Some((program, does)) = rule.split_first() else {
            return RuleMatch::No;
        };
        let matches = self.commands.iter().map(|it| matches(program, does, it));
        let unread = [RuleMatch::No, RuleMatch::Perhaps][usize::from(!self.is_complete)];
        matches.max().unwrap_or(RuleMatch::No).max(unread)
    }
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
    // The next word, which could not be read, may be the program or belong to it.
    let is_open = |at: &usize| at + 1 == words.len() && STARTERS.contains(&name(&words[*at]));
    let may_cover = |at: &usize| is_named(&at) && may_follow(&names, &words[at + 1..]);
    let may_cover = words.is_empty() || starts.iter().any(|at| is_open(at) || may_cover(at));
    match !command.is_whole && may_cover {
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
        let is_other = word.contains('=') || word.starts_with(|c: char| c.is_ascii_digit());
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
        SHELLS.contains(&name) || JOINERS.contains(&name)
    })?;
    let args = &words[shell + 1..];
    if JOINERS.contains(&name(&words[shell])) {
        return Some(command.is_whole.then(|| args.join(" ")));
    }
    let is_text =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    match args.iter().position(is_text) {
        Some(option) => Some(
            args[option + 1..]
                .iter()
                .find(|it| !it.starts_with('-'))
                .cloned(),
        ),
        None => (!command.is_whole).then_some(None),
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
    use super::*;

    fn matched(rule: &str, line: &str) -> RuleMatch {
        Started::by(&CommandLine::read(line)).matches(rule)
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
            "./x curl",
            "git log curl",
            "sh curl",
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
    fn a_rule_may_cover_what_cannot_be_read() {
        for line in [
            "git $X",
            "$GIT push",
            "env $X",
            "sh -c \"$X\"",
            "eval $X",
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

//! Matching of `deny` and `ask` rules against the programs that a command may start.
//!
//! An `allow` rule matches the words as they are written. A `deny` or `ask` rule also matches other spellings of the
//! same: a program's path, a program behind `env` and the like, options in between, or text for a shell. Such a match
//! may be too broad and is never complete; only the sandbox confines a program.

use std::path::Path;

use super::line::CommandLine;

/// Programs that start the program in their arguments.
const STARTERS: &[&str] = &[
    "builtin", "busybox", "chroot", "chrt", "command", "doas", "env", "exec", "ionice", "nice",
    "nohup", "parallel", "setsid", "stdbuf", "strace", "sudo", "taskset", "time", "timeout",
    "unshare", "watch", "xargs",
];
/// Shells that take a command line after `-c`.
const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];
/// Maximum nesting of shell texts.
const DEEP: usize = 4;

/// The commands of a line, including those in texts for shells.
pub(super) fn with_texts(commands: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut all = commands.to_vec();
    let mut from = 0;
    for _ in 0..DEEP {
        let texts: Vec<String> = all[from..].iter().filter_map(|it| text_of(it)).collect();
        from = all.len();
        all.extend(texts.iter().flat_map(|it| CommandLine::read(it).commands));
    }
    all
}

/// Whether a rule matches a command or a program that the command starts.
pub(super) fn speaks_strictly_of(rule: &str, words: &[String]) -> bool {
    let rule: Vec<&str> = rule.split_whitespace().collect();
    let Some((program, does)) = rule.split_first() else {
        return false;
    };
    let (options, names): (Vec<&str>, Vec<&str>) = does.iter().partition(|it| it.starts_with('-'));
    starts(words).into_iter().any(|at| {
        let args = &words[at + 1..];
        (words[at] == *program || name(&words[at]) == *program)
            && follow(&names, args)
            && options.iter().all(|it| args.iter().any(|arg| arg == it))
    })
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

/// The text that a command passes to a shell.
fn text_of(words: &[String]) -> Option<String> {
    let shell = starts(words).into_iter().rev().find(|at| {
        let name = name(&words[*at]);
        SHELLS.contains(&name) || name == "eval"
    })?;
    let args = &words[shell + 1..];
    if name(&words[shell]) == "eval" {
        return Some(args.join(" "));
    }
    let is_text =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let option = args.iter().position(is_text)?;
    args[option + 1..]
        .iter()
        .find(|it| !it.starts_with('-'))
        .cloned()
}

/// The name of a program without its folder.
fn name(program: &str) -> &str {
    let name = Path::new(program).file_name().and_then(|it| it.to_str());
    name.unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(line: &str) -> Vec<Vec<String>> {
        with_texts(&CommandLine::read(line).commands)
    }

    #[test]
    fn a_rule_speaks_of_what_is_written_in_another_way() {
        let check = |rule: &str, line: &str, expected: bool| {
            let found = commands(line).iter().any(|it| speaks_strictly_of(rule, it));
            assert_eq!(found, expected, "{rule}: {line}");
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
            "timeout -s KILL 5 curl x",
            "nice -n 5 nohup curl x",
            "sudo env -i /usr/bin/curl x",
            "sh -c 'curl x'",
            "bash -lc 'cd a && exec curl x'",
            "timeout 5 sh -c \"sh -c 'curl x'\"",
            "eval 'curl x'",
            "echo $(command curl x)",
            "cat list | xargs -n 1 curl",
        ] {
            check("curl", line, true);
        }
        for line in [
            "echo curl",
            "grep -r curl .",
            "curly",
            "./x curl",
            "git log curl",
            "sh curl",
        ] {
            check("curl", line, false);
        }
        for line in [
            "git -C . push",
            "git --no-pager push",
            "git -c a=b push",
            "nohup git push origin",
            "/usr/bin/git push",
        ] {
            check("git push", line, true);
        }
        check("git push", "git commit -m push", false);
        check("git push", "git log push", false);
        check("git push --force", "git push origin --force", true);
        check("git push --force", "git push origin", false);
        check("/opt/curl", "curl", false);
        check("", "curl", false);
    }
}

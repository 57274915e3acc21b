//! The user's rules for commands, by program and leading arguments.

use std::{collections::BTreeSet, path::Path};

use aside_base::open_places::OpenPlaces;
use aside_turn::rules::CommandRules;

use super::{
    known_programs::{KnownPrograms, rule_for, speaks_of},
    line::{CommandLine, SeenCommand},
    same_program::FoundPrograms,
    started::{RuleMatch, Started},
};

/// Verdict of the rules about a command line, with the rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One of its commands is denied.
    Deny(String),
    /// One of its commands asks.
    Ask(String),
    /// The line is one plain command that runs outside the sandbox.
    Unsandboxed(String),
    /// Every command of the line is allowed inside the sandbox.
    Allow,
    /// A rule that denies or asks may cover a part of the line that cannot be read.
    Unread(String),
    /// No rule covers the whole line.
    Silent,
}

/// Applies the rules to a command line that runs in a folder. The strictest rule counts, and a line that cannot be parsed is never allowed.
pub(crate) fn verdict(own: &CommandRules, command: &str, folder: &Path) -> Verdict {
    let all = [&own.allow, &own.ask, &own.deny, &own.unsandboxed];
    if all.iter().all(|rules| rules.is_empty()) {
        return Verdict::Silent;
    }
    let line = CommandLine::read(command);
    let started = Started::by(&line);
    let programs = FoundPrograms::from(folder);
    let find = |rules: &[String], wanted: RuleMatch| {
        let matches = |rule: &str| started.matches(rule, &programs);
        let found = rules.iter().find(|rule| matches(rule) == wanted);
        found.cloned()
    };
    if let Some(rule) = find(&own.deny, RuleMatch::Yes) {
        return Verdict::Deny(rule);
    }
    if let Some(rule) = find(&own.ask, RuleMatch::Yes) {
        return Verdict::Ask(rule);
    }
    let unread = find(&own.deny, RuleMatch::Perhaps);
    if let Some(rule) = unread.or_else(|| find(&own.ask, RuleMatch::Perhaps)) {
        return Verdict::Unread(rule);
    }
    let names = |rules: &[String], words: &[String]| {
        let found = rules.iter().find(|rule| speaks_of(rule, words));
        found.cloned()
    };
    let only = line.commands.first().filter(|_| line.is_simple);
    if let Some(rule) = only.and_then(|only| names(&own.unsandboxed, &only.words)) {
        return Verdict::Unsandboxed(rule);
    }
    let is_allowed = |command: &SeenCommand| names(&own.allow, &command.words).is_some();
    // An `allow` rule covers the program, not a file that the shell writes.
    if line.is_plain && !line.writes && line.commands.iter().all(is_allowed) {
        return Verdict::Allow;
    }
    Verdict::Silent
}

/// A sentence that suggests the rule by which this line would run without approval, inside the sandbox or `outside`
/// of it. `None` if no rule that is known to be safe covers it.
pub(crate) fn sparing(own: &CommandRules, command: &str, outside: bool) -> Option<String> {
    let line = CommandLine::read(command);
    if outside {
        let only = line.commands.first().filter(|_| line.is_simple)?;
        let rule = rule_for(&only.words, SAFE_OUTSIDE)?;
        return Some(format!(
            "The rule \"{rule}\" in commands.unsandboxed of your aside.toml would let it run unasked."
        ));
    }
    if !line.is_plain || line.writes {
        return None;
    }
    let is_allowed = |words: &[String]| own.allow.iter().any(|rule| speaks_of(rule, words));
    let commands = line.commands.iter().map(|it| &it.words[..]);
    let rules = commands.filter(|it| !is_allowed(it));
    let rules = rules.map(|it| rule_for(it, SAFE_INSIDE));
    let rules: BTreeSet<String> = rules.collect::<Option<_>>()?;
    let rules: Vec<String> = rules.iter().map(|rule| format!("\"{rule}\"")).collect();
    let (noun, rules) = match &rules[..] {
        [] => return None,
        [one] => ("rule", one.clone()),
        [all @ .., last] => ("rules", format!("{} and {last}", all.join(", "))),
    };
    Some(format!(
        "The {noun} {rules} in commands.allow of your aside.toml would let it run unasked inside the sandbox."
    ))
}

/// Programs that build and test, or only read. The sandbox confines what they run.
const SAFE_INSIDE: KnownPrograms = &[
    (
        "cargo",
        &[
            "bench", "build", "check", "clippy", "doc", "fmt", "metadata", "nextest", "test",
            "tree",
        ],
    ),
    ("cat", &[]),
    ("cmake", &[]),
    ("ctest", &[]),
    ("cut", &[]),
    ("diff", &[]),
    ("dotnet", &["build", "format", "test"]),
    ("du", &[]),
    ("eslint", &[]),
    ("file", &[]),
    (
        "git",
        &[
            "blame",
            "describe",
            "diff",
            "grep",
            "log",
            "ls-files",
            "rev-parse",
            "show",
            "status",
        ],
    ),
    ("go", &["build", "fmt", "list", "test", "vet"]),
    ("grep", &[]),
    ("head", &[]),
    ("jest", &[]),
    ("ls", &[]),
    ("make", &[]),
    ("mypy", &[]),
    ("ninja", &[]),
    ("npm", &["run", "test"]),
    ("pnpm", &["run", "test"]),
    ("prettier", &[]),
    ("pwd", &[]),
    ("pyright", &[]),
    ("pytest", &[]),
    ("rg", &[]),
    ("ruff", &["check", "format"]),
    ("rustfmt", &[]),
    ("stat", &[]),
    ("tail", &[]),
    ("tree", &[]),
    ("tsc", &[]),
    ("vitest", &[]),
    ("wc", &[]),
    ("yarn", &["run", "test"]),
];

/// Programs that only ask a service and run nothing of the workspace.
const SAFE_OUTSIDE: KnownPrograms = &[(
    "gh",
    &[
        "issue list",
        "issue view",
        "pr checks",
        "pr list",
        "pr status",
        "pr view",
        "run list",
        "run view",
    ],
)];

/// A program that does something lasting by the options that are known.
struct LastingProgram {
    name: &'static str,
    /// Its options of which that is known, without their values.
    options: &'static [&'static str],
}

/// Programs that a person may let run outside again without being asked: with these options, none runs what lies in the
/// folder that it works in, nor takes or makes files there whose names its words do not show. Git is none of them: its
/// hooks and the programs of its settings cannot be changed, but they start what the folder holds, as `npm test`.
#[rustfmt::skip]
const LASTING: &[LastingProgram] = &[
    LastingProgram { name: "date", options: &["-u", "--utc"] },
    LastingProgram { name: "dig", options: &["-4", "-6"] },
    LastingProgram { name: "host", options: &["-4", "-6", "-a", "-t", "-v"] },
    LastingProgram { name: "nslookup", options: &[] },
    LastingProgram { name: "ping", options: &["-4", "-6", "-c", "-n", "-q"] },
];
/// Those that only say their words, whatever these are.
const SAYING: KnownPrograms = &[("echo", &[]), ("printf", &[])];
/// Those whose words are paths.
const LASTING_ON_PATHS: KnownPrograms = &[
    ("cat", &[]),
    ("cp", &[]),
    ("df", &[]),
    ("du", &[]),
    ("head", &[]),
    ("ls", &[]),
    ("mkdir", &[]),
    ("mv", &[]),
    ("rm", &[]),
    ("stat", &[]),
    ("tail", &[]),
    ("touch", &[]),
    ("wc", &[]),
];
/// Letters of options of curl by which it neither takes nor makes files.
const CURL_LETTERS: &str = "sSfLIivkGg46";

/// Whether a person may let a line run outside the sandbox for longer than once: only where each of its programs is known
/// to run nothing of the folder, and no word names a path that a command inside may write. Where a word is a path, that
/// counts although nothing is there yet: a command inside may put a link there meanwhile.
pub(crate) fn may_last(command: &str, cwd: &Path, places: &OpenPlaces) -> bool {
    let line = CommandLine::read(command);
    let may_be_there = |word: &str| {
        let word = match word.contains('/') {
            true => word.to_owned(),
            false => format!("./{word}"),
        };
        places.named(&word, cwd).is_some()
    };
    let is_known = |it: &SeenCommand| {
        let is_one = |known| rule_for(&it.words, known).is_some();
        let mut args = it.words.iter().skip(1);
        is_lasting(&it.words)
            || is_one(SAYING)
            || is_one(SAFE_OUTSIDE)
            || (is_one(LASTING_ON_PATHS) && !args.any(|arg| may_be_there(path_in(arg))))
            || asks_only(&it.words)
    };
    let quoted = line.commands.iter().flat_map(|it| &it.words);
    let mut words = quoted.map(String::as_str).chain(command.split_whitespace());
    line.is_plain
        && line.commands.iter().all(is_known)
        && !redirected(command).any(may_be_there)
        && words.all(|word| places.named(word, cwd).is_none())
}

/// Whether a command is one of a lasting program with options that are known. What is not known may start another one, or
/// take the names of files from a file.
fn is_lasting(words: &[String]) -> bool {
    let Some((program, args)) = words.split_first() else {
        return false;
    };
    let Some(known) = LASTING.iter().find(|it| it.name == program) else {
        return false;
    };
    args.iter().all(|arg| {
        !arg.starts_with('-')
            || known
                .options
                .contains(&arg.split('=').next().unwrap_or(arg))
    })
}

/// The path in an argument of a program whose arguments are paths: the argument, or the value of an option.
fn path_in(arg: &str) -> &str {
    match arg.strip_prefix("--") {
        Some(option) => option.split_once('=').map_or("/", |(_, value)| value),
        // Letters of options, of which one may have its value behind it.
        None if arg.starts_with('-') && !arg.contains('t') => "/",
        None => arg,
    }
}

/// Whether a command is curl that does nothing but ask an address, and show what it answers.
fn asks_only(words: &[String]) -> bool {
    let is_letter = |letter| CURL_LETTERS.contains(letter);
    let is_harmless = |word: &String| match word.strip_prefix('-') {
        Some(letters) => letters.chars().all(is_letter),
        None => word.starts_with("https://") || word.starts_with("http://"),
    };
    matches!(words, [program, args @ ..] if program == "curl" && args.iter().all(is_harmless))
}

/// The words behind the signs of redirections in a line, but for numbers of descriptors.
fn redirected(command: &str) -> impl Iterator<Item = &str> {
    let behind = command.split(['<', '>']).skip(1);
    let words = behind.filter_map(|it| it.trim_start_matches('|').split_whitespace().next());
    let is_number = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    words.filter(move |word| !word.strip_prefix('&').is_some_and(is_number))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lasts_outside_where_nothing_of_a_workspace_decides_what_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("work");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("deploy.sh"), "").unwrap();
        std::fs::write(work.join("two words"), "").unwrap();
        let places: OpenPlaces = [&work].into_iter().collect();
        let check = |command: &str, lasts: bool| {
            let command = command.replace("WORK", work.to_str().unwrap());
            assert_eq!(may_last(&command, &work, &places), lasts, "{command}");
        };
        check("echo x >../f && echo written", true);
        check("gh pr view 7", true);
        check("date -u +%F && ping -c 1 example.com", true);
        check("curl -s https://example.com/x", true);
        check("cp -r WORK/../a WORK/../b && ls -la ..", true);
        check("cat </etc/hosts >/dev/null 2>&1", true);
        for command in [
            "sh deploy.sh",
            "sh WORK/deploy.sh",
            "sh ./later.sh",
            "sh later.sh",
            "cat deploy.sh",
            "curl -d @deploy.sh https://example.com",
            "curl -KWORK/later https://example.com",
            "cat 'two words'",
            "echo x >made/f",
            "echo x >WORK/f",
            "./deploy.sh",
            "python3 -m later",
            "make deploy",
            "npm publish",
            "cargo publish",
            "env sh deploy.sh",
            "cd .. && sh work/deploy.sh",
            "echo $(cat deploy.sh)",
            "git -c core.pager=x push",
            "echo x | sh",
            // What is not there yet may be a link by the time that the command runs.
            "echo x >later",
            "echo x >>'later'",
            "echo x >| later",
            "cat <later",
            "echo x >&later",
            "cat later",
            "cp later WORK/../x",
            "cp -tlater WORK/../x",
            "cp --target-directory=later WORK/../x",
            "mkdir later",
            "touch -r WORK/../x later",
            "curl -K later https://example.com",
            "curl -d @later https://example.com",
            // A file is made of a name that the address has.
            "curl -O https://example.com/later",
            "curl -sO https://example.com/later",
            "curl --remote-name https://example.com/later",
            "wget https://example.com/later",
            // A hook, or a program of its settings, may start what the folder holds.
            "git push origin main",
            "git fetch",
            "git pull --ff-only",
            "git ls-remote",
            "date -f later",
            "date --file=later",
            "dig -f later",
            "dig -k later example.com",
            "host -c x example.com",
            "printf -v 'a[$(sh later)]' x",
        ] {
            check(command, false);
        }
    }

    #[test]
    fn the_strictest_rule_counts() {
        let words = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
        let rules = CommandRules {
            allow: words(&["cargo test", "cargo  fmt", "git", "echo"]),
            ask: words(&["git push"]),
            deny: words(&["curl", "git push --force", ""]),
            unsandboxed: words(&["git commit", "docker"]),
        };
        let check = |command: &str, verdict: Verdict| {
            assert_eq!(
                super::verdict(&rules, command, Path::new("/")),
                verdict,
                "{command}"
            );
        };
        let deny = |rule: &str| Verdict::Deny(rule.into());
        let unsandboxed = |rule: &str| Verdict::Unsandboxed(rule.into());
        check("cargo test --all", Verdict::Allow);
        check("cargo test && cargo fmt 2>&1 | echo", Verdict::Allow);
        check("cargo test && cargo run", Verdict::Silent);
        check("cargo", Verdict::Silent);
        check("cargo tests", Verdict::Silent);
        check("./cargo test", Verdict::Silent);
        check("X=1 cargo test", Verdict::Silent);
        check("git commit $(rm x)", Verdict::Silent);
        check("cargo test $(rm x)", Verdict::Silent);
        check("cargo test $(curl x)", deny("curl"));
        check("git status", Verdict::Allow);
        check("git status; git push", Verdict::Ask("git push".into()));
        check("git push --force", deny("git push --force"));
        check("git push -q --force", deny("git push --force"));
        check("git -C . push", Verdict::Ask("git push".into()));
        check("cargo test | env /bin/curl x", deny("curl"));
        check("echo x >notes", Verdict::Silent);
        check("git commit -m x", unsandboxed("git commit"));
        check("docker run x", unsandboxed("docker"));
        check("docker run x >log", Verdict::Silent);
        check("docker run $X", Verdict::Silent);
        check("docker run x; docker run y", Verdict::Silent);
        check("git commit && git status", Verdict::Allow);
        check("echo 'unclosed", Verdict::Unread("curl".into()));
        assert_eq!(
            verdict(&CommandRules::default(), "cargo test", Path::new("/")),
            Verdict::Silent
        );
    }

    #[test]
    fn the_rule_that_would_spare_a_prompt_is_named() {
        let rules = CommandRules {
            allow: vec!["cd".into()],
            ..CommandRules::default()
        };
        let quoted = |text: Option<String>| -> Vec<String> {
            let text = text.unwrap_or_default();
            text.split('"')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        let check = |command: &str, inside: &[&str], outside: &[&str]| {
            assert_eq!(quoted(sparing(&rules, command, false)), inside, "{command}");
            assert_eq!(quoted(sparing(&rules, command, true)), outside, "{command}");
        };
        check("cargo test --all", &["cargo test"], &[]);
        check("npm run build:all -- -v", &["npm run build:all"], &[]);
        check("cat a.txt", &["cat"], &[]);
        check("make", &["make"], &[]);
        check("cd a && make && cargo fmt", &["cargo fmt", "make"], &[]);
        check("gh pr view 7", &[], &["gh pr view"]);
        for line in [
            "rm -rf target",
            "python3 tests/all.py -v",
            "python3.12 -c x",
            "/usr/bin/python3 x.py",
            "perl5.36 -e x",
            "git -c alias.x=y x",
            "git push",
            "tar -xf a.tar",
            "find . -delete",
            "docker run alpine",
            "ssh host",
            "npm run",
            "npm run -s x",
            "gh api x",
            "sh deploy.sh",
        ] {
            check(line, &[], &[]);
        }
        check("sh -c 'rm -rf x'", &[], &[]);
        check("bash", &[], &[]);
        check("cargo $X", &[], &[]);
        check("cargo test $(x)", &[], &[]);
        check("cd a", &[], &[]);
        check("cargo test >log", &[], &[]);
    }
}

//! The user's rules for commands, by program and leading arguments.

use std::collections::BTreeSet;

use super::{
    line::CommandLine,
    started::{speaks_strictly_of, with_texts},
};

/// The user's rules. Each is a program and its leading arguments, separated by blanks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandRules {
    /// Commands that run without approval inside the sandbox.
    pub allow: Vec<String>,
    /// Commands that ask, whatever else allows them.
    pub ask: Vec<String>,
    /// Commands that never run.
    pub deny: Vec<String>,
    /// Commands that run without approval and outside the sandbox.
    pub unsandboxed: Vec<String>,
}

/// Verdict of the rules about a command line, with the rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tool) enum Verdict {
    /// One of its commands is denied.
    Deny(String),
    /// One of its commands asks.
    Ask(String),
    /// The line is one plain command that runs outside the sandbox.
    Unsandboxed(String),
    /// Every command of the line is allowed inside the sandbox.
    Allow,
    /// No rule covers the whole line.
    Silent,
}

impl CommandRules {
    /// Applies the rules to a command line. The strictest rule counts, and a line that cannot be parsed is never allowed.
    pub(in crate::tool) fn verdict(&self, command: &str) -> Verdict {
        let all = [&self.allow, &self.ask, &self.deny, &self.unsandboxed];
        if all.iter().all(|rules| rules.is_empty()) {
            return Verdict::Silent;
        }
        let line = CommandLine::read(command);
        let all = with_texts(&line.commands);
        let strictly = |rules: &[String]| {
            let speaks = |rule: &&String| all.iter().any(|words| speaks_strictly_of(rule, words));
            rules.iter().find(speaks).cloned()
        };
        if let Some(rule) = strictly(&self.deny) {
            return Verdict::Deny(rule);
        }
        if let Some(rule) = strictly(&self.ask) {
            return Verdict::Ask(rule);
        }
        let names = |rules: &[String], words: &Vec<String>| {
            let found = rules.iter().find(|rule| speaks_of(rule, words));
            found.cloned()
        };
        let only = line.commands.first().filter(|_| line.is_simple);
        if let Some(rule) = only.and_then(|words| names(&self.unsandboxed, words)) {
            return Verdict::Unsandboxed(rule);
        }
        let is_allowed = |words: &Vec<String>| names(&self.allow, words).is_some();
        // An `allow` rule covers the program, not a file that the shell writes.
        if line.is_read && !line.writes && line.commands.iter().all(is_allowed) {
            return Verdict::Allow;
        }
        Verdict::Silent
    }

    /// A sentence that suggests the rule by which this line would run without approval, inside the sandbox or `outside`
    /// of it. `None` if no rule could cover it.
    pub(in crate::tool) fn sparing(&self, command: &str, outside: bool) -> Option<String> {
        let line = CommandLine::read(command);
        let is_unnamed =
            |words: &&Vec<String>| !self.allow.iter().any(|rule| speaks_of(rule, words));
        if outside {
            let rule = rule_for(line.commands.first().filter(|_| line.is_simple)?)?;
            return Some(format!(
                "The rule \"{rule}\" in commands.unsandboxed of your aside.toml would let it run unasked."
            ));
        }
        if !line.is_read || line.writes {
            return None;
        }
        let rules = line
            .commands
            .iter()
            .filter(is_unnamed)
            .map(|words| rule_for(words));
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
}

/// Programs that run whatever their arguments say, so that a rule for the name alone would allow everything.
const RUNNERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "ksh", "env", "xargs", "sudo", "doas", "exec", "eval",
    "command", "nice", "nohup", "time", "timeout", "node", "deno", "bun", "python", "python3",
    "ruby", "perl", "php", "lua", "awk",
];

/// The rule for a command: its program and subcommand.
fn rule_for(words: &[String]) -> Option<String> {
    let is_plain = |word: &&String| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-:@=+,.".contains(c))
    };
    let program = words
        .first()
        .filter(|it| !it.contains(char::is_whitespace) && !it.is_empty())?;
    if RUNNERS.contains(&program.as_str()) {
        let whole = words
            .iter()
            .skip(1)
            .all(|word| !word.is_empty() && !word.contains(char::is_whitespace));
        return (whole && words.len() > 1).then(|| words.join(" "));
    }
    let does = words.get(1).filter(|it| is_plain(it) && !it.contains('.'));
    let which = words
        .get(2)
        .filter(|it| is_plain(it) && does.is_some_and(|does| does == "run"));
    let all = [Some(program), does, which];
    Some(
        all.into_iter()
            .flatten()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// Whether a command starts with the words of a rule.
fn speaks_of(rule: &str, words: &[String]) -> bool {
    let rule: Vec<&str> = rule.split_whitespace().collect();
    !rule.is_empty()
        && words.len() >= rule.len()
        && rule.iter().zip(words).all(|(rule, word)| rule == word)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(rules.verdict(command), verdict, "{command}");
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
        check("echo 'unclosed", Verdict::Silent);
        assert_eq!(
            CommandRules::default().verdict("cargo test"),
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
            assert_eq!(quoted(rules.sparing(command, false)), inside, "{command}");
            assert_eq!(quoted(rules.sparing(command, true)), outside, "{command}");
        };
        check("cargo test --all", &["cargo test"], &["cargo test"]);
        check(
            "npm run build:all -- -v",
            &["npm run build:all"],
            &["npm run build:all"],
        );
        check("rm -rf target", &["rm -rf"], &["rm -rf"]);
        check("cat a.txt", &["cat"], &["cat"]);
        check("make", &["make"], &["make"]);
        check("cd a && make && cargo fmt", &["cargo fmt", "make"], &[]);
        check(
            "python3 tests/all.py -v",
            &["python3 tests/all.py -v"],
            &["python3 tests/all.py -v"],
        );
        check("sh -c 'rm -rf x'", &[], &[]);
        check("bash", &[], &[]);
        check("cargo $X", &[], &[]);
        check("cargo test $(x)", &[], &[]);
        check("cd a", &[], &["cd a"]);
        check("cargo test >log", &[], &[]);
    }
}

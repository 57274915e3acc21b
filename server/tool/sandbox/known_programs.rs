//! Programs of which something is known, by name and subcommand.

/// Programs with the subcommands of which something is known; without any, all of them.
pub(super) type KnownPrograms = &'static [(&'static str, &'static [&'static str])];

/// The rule for a command: its program and subcommand, and the script of a `run`.
pub(super) fn rule_for(words: &[String], known: KnownPrograms) -> Option<String> {
    let (program, args) = words.split_first()?;
    let (_, subcommands) = known.iter().find(|(name, _)| name == program)?;
    if subcommands.is_empty() {
        return Some(program.clone());
    }
    let is_next = |subcommand: &&&str| speaks_of(subcommand, args);
    let subcommand = subcommands.iter().find(is_next)?;
    let script = args.get(1).filter(|_| *subcommand == "run");
    let is_name = |script: &&String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-:.".contains(c);
        !script.starts_with('-') && !script.is_empty() && script.chars().all(is_plain)
    };
    match (*subcommand == "run", script.filter(is_name)) {
        (true, None) => None,
        (true, Some(script)) => Some(format!("{program} run {script}")),
        (false, _) => Some(format!("{program} {subcommand}")),
    }
}

/// Whether a command starts with the words of a rule.
pub(super) fn speaks_of(rule: &str, words: &[String]) -> bool {
    let rule: Vec<&str> = rule.split_whitespace().collect();
    !rule.is_empty()
        && words.len() >= rule.len()
        && rule.iter().zip(words).all(|(rule, word)| rule == word)
}

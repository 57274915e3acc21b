//! Other words by which a program does the same: subcommands, and options.

/// Words of a program that may stand before a subcommand, which does by itself the same.
const GROUPS: &[(&str, &[&str])] = &[
    ("docker", &["container", "image"]),
    ("git", &["for-each-repo"]),
    ("podman", &["container", "image"]),
    ("yarn", &["npm"]),
];

/// Subcommands of a program, of which those of a line do the same.
#[rustfmt::skip]
const SUBCOMMANDS: &[(&str, &[&[&str]])] = &[
    ("cargo", &[&["build", "b"], &["remove", "rm"], &["run", "r"], &["test", "t"]]),
    ("docker", &[&["rm", "remove"], &["rmi", "image rm", "image remove"], &["ps", "ls", "list"], &["push", "image push"]]),
    ("gh", &[
        &["issue create", "issue new"], &["pr create", "pr new"], &["release create", "release new"],
        &["repo create", "repo new"],
    ]),
    ("git", &[
        &["add", "stage"],
        &["fetch", "fetch-pack", "http-fetch", "lfs fetch", "remote-http", "remote-https", "remote-ext"],
        &[
            "push", "send-pack", "http-push", "lfs push", "p4 submit", "subtree push", "svn dcommit", "remote-http",
            "remote-https", "remote-ext",
        ],
    ]),
    ("helm", &[&["uninstall", "delete", "del", "un"]]),
    ("npm", &[
        &["ci", "clean-install", "ic", "install-clean", "isntall-clean", "install-ci-test", "cit"],
        &["exec", "x"],
        &["install", "add", "isntall", "install-test", "it"],
        &["login", "adduser", "add-user"],
        &["run", "run-script", "rum", "urn"],
        &["test", "tst", "t"],
        &["uninstall", "unlink", "remove", "rm", "r"],
        &["update", "upgrade", "udpate", "up"],
    ]),
    ("pnpm", &[&["add", "install", "i"], &["remove", "rm", "uninstall", "un"], &["dlx", "exec"]]),
    ("podman", &[&["rm", "remove"], &["rmi", "image rm", "image remove"], &["push", "image push"]]),
];

/// Options of a program, and of its subcommand where there is one, of which those of a line do the same. What ends in no
/// letter is how a further word begins.
#[rustfmt::skip]
const OPTIONS: &[(&str, &str, &[&[&str]])] = &[
    ("chmod", "", &[&["-R", "--recursive"]]),
    ("chown", "", &[&["-R", "--recursive"]]),
    ("cp", "", &[&["-r", "-R", "-a", "--recursive", "--archive"], &["-f", "--force"]]),
    ("docker", "run", &[&["-v", "--volume", "--mount"], &["-p", "--publish"]]),
    ("git", "add", &[&["-A", "--all", "--no-ignore-removal"], &["-f", "--force"]]),
    ("git", "branch", &[&["-d", "--delete"], &["-f", "-D", "-M", "--force"], &["-D", "-d", "--delete"]]),
    ("git", "checkout", &[&["-f", "--force"]]),
    ("git", "clean", &[&["-f", "--force"]]),
    ("git", "commit", &[&["-n", "--no-verify"], &["-a", "--all"]]),
    ("git", "merge", &[&["-n", "--no-verify"]]),
    ("git", "push", &[&["-f", "--force", "+"], &["-d", "--delete", ":"], &["-n", "--dry-run"]]),
    ("git", "switch", &[&["-f", "--force", "--discard-changes"]]),
    ("git", "tag", &[&["-d", "--delete"], &["-f", "--force"]]),
    ("git", "worktree", &[&["-f", "--force"]]),
    ("npm", "install", &[&["-g", "--global", "--location"]]),
    ("rm", "", &[&["-r", "-R", "--recursive"], &["-f", "--force"]]),
];

/// The words of a rule behind its program, each time with another subcommand that does the same.
pub(super) fn same_subcommands<'a>(program: &str, names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let known = SUBCOMMANDS.iter().filter(|(name, _)| *name == program);
    let groups = known.flat_map(|(_, groups)| groups.iter());
    let mut all = Vec::new();
    for group in groups {
        for one in *group {
            let one: Vec<&str> = one.split(' ').collect();
            let Some(rest) = names.strip_prefix(&one[..]) else {
                continue;
            };
            let others = group.iter().map(|other| other.split(' '));
            all.extend(others.map(|other| other.chain(rest.iter().copied()).collect()));
        }
    }
    all
}

/// The other options that do the same as one.
pub(super) fn same_options(
    program: &str,
    names: &[&str],
    option: &str,
) -> impl Iterator<Item = &'static str> {
    let is_of = |subcommand: &str| subcommand.is_empty() || names.first() == Some(&subcommand);
    let known = OPTIONS
        .iter()
        .filter(move |(name, subcommand, _)| *name == program && is_of(subcommand));
    let groups = known.flat_map(|(_, _, groups)| groups.iter());
    let groups: Vec<_> = groups.filter(|group| group.contains(&option)).collect();
    groups.into_iter().flat_map(|group| group.iter().copied())
}

/// Whether a word stands before a subcommand of a program, which does by itself the same.
pub(super) fn is_group(program: &str, word: &str) -> bool {
    let mut known = GROUPS.iter().filter(|(name, _)| *name == program);
    known.any(|(_, words)| words.contains(&word))
}

/// The name of a program without its version.
pub(super) fn without_version(name: &str) -> &str {
    let is_version = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-';
    name.trim_end_matches(is_version)
}

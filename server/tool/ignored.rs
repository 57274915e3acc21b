//! What a walk leaves out: the rules of `.gitignore`, `.ignore` and `.git/info/exclude`, and the user's own.
//!
//! The files with the rules are the workspace's, which nobody may have looked at yet. So they are read like any other
//! file of it: regular ones beneath the root alone, with bounds to what one holds and to all of a walk.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use aside_base::{
    environment,
    homes::home,
    regular,
    system::folders::{AsFolder, EntryKind, kind, open, open_file},
};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder, Glob},
};

/// Bytes of one file with rules, its rules, and bytes of a rule; what goes beyond does not count.
const FILE_BYTES: u64 = 64 << 10;
const FILE_RULES: usize = 2000;
const RULE_BYTES: usize = 1024;
/// Rules in one walk.
const RULES: usize = 20_000;
/// Bytes of the user's settings of Git that are looked through.
const SETTINGS: u64 = 1 << 20;

/// The rules that hold where a walk is, from the root down.
pub(super) struct IgnoreRules {
    levels: Vec<Level>,
    /// The user's own, for every repository.
    users: Gitignore,
    /// Rules that may still be read in this walk.
    left: usize,
    /// Some rules were too many or too long.
    pub(super) cut: bool,
}

/// The rules of one folder.
struct Level {
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    /// Whether the folder is a repository of its own, where Git's rules from above end.
    is_repository: bool,
}

impl IgnoreRules {
    pub(super) fn new(root: &Path) -> Self {
        let mut rules = Self {
            levels: Vec::new(),
            users: Gitignore::empty(),
            left: RULES,
            cut: false,
        };
        let text = users_file().and_then(|file| regular::read(&file, FILE_BYTES).ok());
        rules.users = rules.build(root, text.as_deref());
        rules
    }

    /// Enters a folder, which is at this path.
    pub(super) fn enter(&mut self, folder: &impl AsFolder, path: &Path) {
        let ignore = read(folder, ".ignore");
        let gitignore = read(folder, ".gitignore");
        let is_repository = kind(folder, ".git").is_some();
        let git = is_repository.then(|| open(folder, ".git").ok()).flatten();
        let info = git.and_then(|git| open(&git, "info").ok());
        let exclude = info.and_then(|info| read(&info, "exclude"));
        let level = Level {
            ignore: self.build(path, ignore.as_deref()),
            gitignore: self.build(path, gitignore.as_deref()),
            exclude: self.build(path, exclude.as_deref()),
            is_repository,
        };
        self.levels.push(level);
    }

    /// Leaves the folder that was entered last.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether a file or folder in the folder that was entered last is left out.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let of = |rules: &Gitignore| decided(rules.matched(path, is_folder));
        let ignore = self.levels.iter().rev().find_map(|level| of(&level.ignore));
        let git = || {
            let mut above = self.levels.iter().rev();
            let repository = above.position(|level| level.is_repository);
            let count = repository.map_or(self.levels.len(), |at| at + 1);
            let levels = || self.levels.iter().rev().take(count);
            let gitignore = levels().find_map(|level| of(&level.gitignore));
            gitignore.or_else(|| levels().find_map(|level| of(&level.exclude)))
        };
        let decided = ignore.or_else(git).or_else(|| of(&self.users));
        decided.unwrap_or(false)
    }

    fn build(&mut self, folder: &Path, text: Option<&[u8]>) -> Gitignore {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Gitignore::empty();
        };
        let whole = text.get(..FILE_BYTES as usize).unwrap_or(text);
        self.cut |= whole.len() < text.len();
        let mut builder = GitignoreBuilder::new(folder);
        let is_rule = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
        let text = String::from_utf8_lossy(whole);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for (count, rule) in text.lines().filter(is_rule).enumerate() {
            if count >= FILE_RULES || self.left == 0 {
                self.cut = true;
                break;
            }
            self.left -= 1;
            if rule.len() > RULE_BYTES {
                self.cut = true;
                continue;
            }
            // A rule that is none leaves nothing out, as with Git.
            let _ = builder.add_line(None, rule);
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

fn decided(found: Match<&Glob>) -> Option<bool> {
    match found {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// The bytes of a file in a folder, and one more than count where there are more. None where it is no regular file.
fn read(folder: &impl AsFolder, name: &str) -> Option<Vec<u8>> {
    if kind(folder, name)? != EntryKind::File {
        return None;
    }
    let file = open_file(folder, name).ok()?;
    regular::check(&file.metadata().ok()?).ok()?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The file with the user's own rules: as the user's settings of Git name it, else where Git looks for it.
fn users_file() -> Option<PathBuf> {
    let home = home()?;
    let settings = environment::variable("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let settings = settings.map_or_else(|| home.join(".config"), PathBuf::from);
    let named = |file: PathBuf| {
        let text = regular::read(&file, SETTINGS).ok()?;
        excludes_file(&String::from_utf8_lossy(&text), &home)
    };
    named(home.join(".gitconfig"))
        .or_else(|| named(settings.join("git/config")))
        .or_else(|| Some(settings.join("git/ignore")))
}

/// The value of `core.excludesFile`.
fn excludes_file(settings: &str, home: &Path) -> Option<PathBuf> {
    let mut section = String::new();
    let mut found = None;
    for line in settings.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').trim().to_lowercase();
        } else if section == "core"
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    let path = found.filter(|path| !path.is_empty())?;
    Some(match path.strip_prefix("~/") {
        Some(path) => home.join(path),
        None => home.join(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_s_own_rules_are_where_git_has_them() {
        let check = |settings: &str, expected: Option<&str>| {
            let found = excludes_file(settings, Path::new("/me"));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{settings}");
        };
        check("", None);
        check(
            "[core]\n\texcludesFile = ~/.ignored\n",
            Some("/me/.ignored"),
        );
        check("[core]\nexcludesfile=\"/x/y\"", Some("/x/y"));
        check("[Core]\nexcludesFile = a\n[user]\nname = x", Some("/me/a"));
        check("[user]\nexcludesFile = a", None);
    }
}

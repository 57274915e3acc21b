//! Lines for a shell: the files and modules that they may start.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::values::expanded;

/// Maximum number of words of a line.
const WORDS: usize = 200;
/// Files that interpreters take for a folder.
const MAINS: [&str; 3] = ["__main__.py", "index.js", "package.json"];
/// Number of words in front of a module, of which one is its interpreter.
const BEFORE: usize = 3;

/// The files that a line may start: each of its words that is one, whatever stands around it, from the folder `work`
/// itself and from those that the line names. `whole`: the line as a path. None if the line has too many words.
pub(super) fn started_files(line: &str, work: &Path, whole: PathBuf) -> Option<Vec<PathBuf>> {
    let is_plain = |it: char| it.is_alphanumeric() || "/._-+@%~^".contains(it);
    let parts = line
        .split(|it| !is_plain(it))
        .filter(|word| !word.is_empty());
    let words = shlex::split(line).unwrap_or_default();
    let words: BTreeSet<&str> = words
        .iter()
        .map(String::as_str)
        .chain(parts)
        .take(WORDS + 1)
        .collect();
    if words.len() > WORDS {
        return None;
    }
    let paths = words.iter().filter_map(|word| expanded(word, work));
    // A variable may stand for the folder.
    let cut = words
        .iter()
        .map(|word| work.join(word.trim_start_matches('/')));
    let paths: Vec<PathBuf> = paths.chain(cut).chain([whole]).collect();
    let below = |folder: &PathBuf| folder.starts_with(work) && folder != work && folder.is_dir();
    let folders = paths.iter().filter(|path| below(path));
    let inner = folders.flat_map(|folder| words.iter().map(move |word| folder.join(word)));
    // An interpreter takes a folder for the file in it that begins the program.
    let mains = paths.iter().filter(|path| below(path));
    let mains = mains.flat_map(|folder| MAINS.map(|main| folder.join(main)));
    let all = inner.chain(mains).chain(paths.iter().cloned());
    Some(all.filter(|path| path.is_file()).collect())
}

/// The files and folders in which the interpreter would find the modules that a text starts, from a folder: of Python those
/// behind `-m`, of Node and Ruby those behind `-r`.
pub(super) fn modules(text: &str, work: &Path) -> Vec<PathBuf> {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./".contains(it);
    let words = text.split(|it| !is_plain(it)).filter(|it| !it.is_empty());
    let words: Vec<&str> = words.collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = &words[at.saturating_sub(BEFORE)..at];
        let runs = |name: &str| before.iter().any(|it| it.to_lowercase().contains(name));
        let (letter, ends): (_, &[&str]) = match () {
            () if runs("python") => ("m", &["py"]),
            () if runs("node") || runs("ruby") => ("r", &["js", "cjs", "mjs", "rb"]),
            () => continue,
        };
        // Letters of other options may stand before it, and the name right behind it.
        let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let behind = letters
            .and_then(|it| it.split_once(letter))
            .map(|(_, name)| name);
        let module = match behind {
            Some("") => words.get(at + 1).copied(),
            Some(name) => Some(name),
            None if *word == "--require" || *word == "--import" => words.get(at + 1).copied(),
            None => None,
        };
        let Some(module) = module.filter(|it| !it.starts_with('-')) else {
            continue;
        };
        let module = module.strip_prefix("./").unwrap_or(module);
        let path = match letter {
            "m" => work.join(module.split('.').next().unwrap_or(module)),
            _ => work.join(module),
        };
        found.extend(ends.iter().map(|end| path.with_extension(end)));
        found.push(path);
    }
    found
}

/// Whether a line for a shell begins a word with a pattern, or a search in other folders, behind which nobody knows what
/// is started.
pub(super) fn has_pattern(line: &str) -> bool {
    let words = shlex::split(line).unwrap_or_default();
    let is_open = |word: &String| word.starts_with("PATH=") || word.contains(['*', '?', '[']);
    words.iter().any(is_open)
}

//! Ways out of a repository in which commands may write: links, through which Git writes what it notes there, lists of
//! files with names that lie in no tree of files, lists of conflicts that it is to resolve as before, and settings of an
//! unfinished pick, rebase or patch that name a program or a file. Git follows them: it writes a message of a commit
//! through a link, restores a file of such a name beside the tree, or among the hooks, puts what was kept as a resolution
//! into whatever file is named, and runs such a program when it goes on.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use aside_base::{
    digest, regular,
    system::folders::{EntryKind, kind, listed, name_of, open_plainly, remove_file, rename},
};

use super::{
    file_mark::FileMark,
    git,
    git_config::settings,
    listed_folder::{Unseen, is_hindrance},
};
use crate::workspace::folded_name;

/// Maximum number of entries of a repository that are looked at.
const ENTRIES: usize = 100_000;
/// Maximum size in bytes of a list of files.
const LIST: u64 = 256 << 20;
/// The list of files that are staged.
const INDEX: &str = "index";
/// The name of such a list that was taken away, at which Git does not read it.
const KEPT_INDEX: &str = "index.aside";
/// Maximum number of such lists that are kept; a command that makes more loses its own.
const KEPT_LISTS: usize = 1000;
/// The list of conflicts that Git is to resolve as it saw them resolved before.
const CONFLICTS: &str = "MERGE_RR";
/// Said of what was taken away.
pub(super) const GONE: &str = "which was taken away again";
/// Maximum size in bytes of a repository's settings.
const SETTINGS: u64 = 1 << 20;
/// Folders of a repository with folders of many files whose names tell their content, so that nothing else can be written
/// there.
const STORES: [&str; 3] = ["objects", "annex/objects", "lfs/objects"];

/// The ways out of repositories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WaysOut {
    /// The repositories that were looked at.
    pub(super) repositories: BTreeSet<PathBuf>,
    found: BTreeMap<PathBuf, WayOut>,
}

/// A way out, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WayOut {
    mark: FileMark,
    /// The hash of its content, where that makes it one.
    content: Option<String>,
}

impl WaysOut {
    /// Adds those of a repository, its worktrees and submodules. Returns the folders of which not all was seen.
    pub(super) fn add(&mut self, repository: &Path) -> Vec<(PathBuf, Unseen)> {
        self.repositories.insert(repository.to_owned());
        let (parts, is_whole) = git::parts(repository);
        let mut unseen = Vec::new();
        if !is_whole {
            unseen.push((repository.to_owned(), Unseen::Many));
        }
        for part in &parts {
            self.add_settings(part);
            if !self.add_lists(part, repository) {
                unseen.push((part.clone(), Unseen::Many));
            }
        }
        self.add_links(repository, &parts.into_iter().collect(), &mut unseen);
        unseen
    }

    /// Adds the links of a repository with these parts.
    fn add_links(
        &mut self,
        repository: &Path,
        parts: &BTreeSet<PathBuf>,
        unseen: &mut Vec<(PathBuf, Unseen)>,
    ) {
        let mut left = ENTRIES;
        let mut folders = vec![repository.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match listed(&folder) {
                Ok(entries) => entries,
                Err(error) if is_hindrance(&error, &folder) => {
                    unseen.push((folder, Unseen::Unread));
                    continue;
                }
                Err(_) => continue,
            };
            for entry in entries {
                let Ok((name, kind)) = entry else {
                    unseen.push((folder.clone(), Unseen::Unread));
                    break;
                };
                left = match left.checked_sub(1) {
                    Some(left) => left,
                    None => return unseen.push((repository.to_owned(), Unseen::Many)),
                };
                let path = folder.join(name);
                match kind {
                    EntryKind::Link if !is_old_head(&path, parts) => self.note(path, None),
                    EntryKind::Folder if !is_in_store(&path, parts) => folders.push(path),
                    _ => {}
                }
            }
        }
    }

    /// Adds the files of a part of a repository that say how Git goes on, where they name a program by its path, or a file
    /// to write.
    fn add_settings(&mut self, part: &Path) {
        let is_path = |text: &str| text.contains('/');
        let in_options = |text: &str| {
            let mut settings = settings(text).into_iter();
            settings.any(|it| it.key == "options.strategy" && is_path(&it.value))
        };
        // Git fills the file of `--build-fake-ancestor`, which it takes shorter too.
        let names_file = |text: &str| {
            let words = shlex::split(text);
            words.is_none_or(|words| words.iter().any(|it| it.starts_with("--b")))
        };
        // The files may be any, by links in the tree too, and so may what is written to them.
        let names_any = |text: &str| !text.is_empty();
        self.add_text(part.join("rebase-merge/strategy"), is_path);
        self.add_text(part.join("sequencer/opts"), in_options);
        self.add_text(part.join("rebase-apply/apply-opt"), names_file);
        self.add_text(part.join(CONFLICTS), names_any);
    }

    /// Adds a file with such a text, or with one that is too long to be looked at.
    fn add_text(&mut self, file: PathBuf, is: impl Fn(&str) -> bool) {
        match regular::read(&file, SETTINGS) {
            Ok(text) if is(&String::from_utf8_lossy(&text)) => self.note(file, Some(&text)),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => self.note(file, None),
            _ => {}
        }
    }

    /// Adds the lists of files of a part of a repository that name what lies in no tree. Returns whether all were read.
    fn add_lists(&mut self, part: &Path, repository: &Path) -> bool {
        let hash = hash_length(part, repository);
        let mut are_read = true;
        for entry in fs::read_dir(part).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name != INDEX && !name.as_encoded_bytes().starts_with(b"sharedindex.") {
                continue;
            }
            match regular::read(&entry.path(), LIST) {
                Ok(list) if names_strange_files(&list, hash) => {
                    self.note(entry.path(), Some(&list));
                }
                Err(error) if error.kind() == ErrorKind::FileTooLarge => are_read = false,
                _ => {}
            }
        }
        are_read
    }

    fn note(&mut self, path: PathBuf, content: Option<&[u8]>) {
        if let Ok(mark) = FileMark::at(&path) {
            let content = content.map(digest::sha256);
            self.found.insert(path, WayOut { mark, content });
        }
    }

    /// Adds other ones.
    pub(super) fn merge(&mut self, others: Self) {
        self.repositories.extend(others.repositories);
        self.found.extend(others.found);
    }

    /// Those that were not there before.
    pub(super) fn since(&self, before: &Self) -> BTreeSet<PathBuf> {
        let is_new = |(path, way): &(&PathBuf, &WayOut)| before.found.get(*path) != Some(way);
        let new = self.found.iter().filter(is_new);
        new.map(|(path, _)| path.clone()).collect()
    }
}

/// Takes a way out away. Returns what became of it, if it is gone.
pub(super) fn take_away(way: &Path) -> Option<String> {
    let folder = open_plainly(way.parent()?).ok()?;
    let name = way.file_name()?;
    // A list in a form that is not known here may hold what a person staged.
    if name == INDEX
        && let Some(kept) = free_name(&folder)
        && rename(&folder, name, &kept).is_ok()
    {
        return Some(format!("which is {kept} now"));
    }
    let gone = remove_file(&folder, name);
    gone.ok().map(|()| GONE.to_owned())
}

/// A name at which a list of files can be kept without loss of another one.
fn free_name(folder: &File) -> Option<String> {
    let numbered = (2..=KEPT_LISTS).map(|number| format!("{KEPT_INDEX}.{number}"));
    let mut names = std::iter::once(KEPT_INDEX.to_owned()).chain(numbered);
    names.find(|name| kind(folder, name).is_none())
}

/// Whether a link is the head of a repository as Git once made it: a link to a branch.
fn is_old_head(link: &Path, parts: &BTreeSet<PathBuf>) -> bool {
    let is_head = link.ends_with("HEAD") && link.parent().is_some_and(|it| parts.contains(it));
    is_head
        && fs::read_link(link).is_ok_and(|target| {
            let mut names = target.components();
            target.starts_with("refs") && names.all(|it| matches!(it, Component::Normal(_)))
        })
}

/// Whether a folder lies in one of the stores of a part of a repository and holds files whose names tell their content.
fn is_in_store(folder: &Path, parts: &BTreeSet<PathBuf>) -> bool {
    let is_store = |store: &&str| {
        let of = folder.parent().filter(|above| above.ends_with(store));
        let part =
            of.and_then(|above| above.ancestors().nth(Path::new(store).components().count()));
        part.is_some_and(|part| parts.contains(part))
    };
    // Beside them Git has lists of its own, which it writes anew.
    let name = folder.file_name().unwrap_or_default();
    let is_list = name == "info" || name == "pack";
    !is_list && STORES.iter().any(is_store)
}

/// Number of bytes of a hash in a part of a repository, as its settings say.
fn hash_length(part: &Path, repository: &Path) -> usize {
    let mut files = [part, repository].into_iter().map(|it| it.join("config"));
    let text = files.find_map(|file| regular::read(&file, SETTINGS).ok());
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let mut settings = settings(&text).into_iter().rev();
    let format = settings.find(|it| it.key == "extensions.objectformat");
    match format.is_some_and(|it| it.value == "sha256") {
        true => 32,
        false => 20,
    }
}

/// Whether a list of files has a name by which Git would write beside the tree or in a repository, or cannot be read as
/// Git reads it.
fn names_strange_files(list: &[u8], hash: usize) -> bool {
    // What begins otherwise is no list to Git either.
    list.starts_with(b"DIRC") && IndexReader::read(list, hash).is_none()
}

/// A reader of a list of files, which reads it as Git does.
struct IndexReader<'a> {
    list: &'a [u8],
    hash: usize,
    at: usize,
    /// Where the entries begin, each with whether its name stands there whole.
    starts: Vec<(usize, bool)>,
}

impl<'a> IndexReader<'a> {
    /// Reads all names. None where one is strange, or where it cannot be read.
    fn read(list: &'a [u8], hash: usize) -> Option<()> {
        let mut reader = Self {
            list,
            hash,
            at: 4,
            starts: Vec::new(),
        };
        let version = reader.number()?;
        let count = reader.number()?;
        let is_short = match version {
            2 | 3 => false,
            4 => true,
            _ => return None,
        };
        let mut name = Vec::new();
        for _ in 0..count {
            name = reader.entry(&name, is_short)?;
            let shown = name.split(|byte| *byte == 0).next().unwrap_or_default();
            (!is_strange(shown)).then_some(())?;
        }
        reader.extensions(count)
    }

    fn number(&mut self) -> Option<u32> {
        let bytes = self.list.get(self.at..self.at + 4)?;
        self.at += 4;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    /// Reads the name of an entry behind one of this name.
    fn entry(&mut self, before: &[u8], is_short: bool) -> Option<Vec<u8>> {
        let start = self.at;
        let flags_at = start + 40 + self.hash;
        let flags = self.list.get(flags_at..flags_at + 2)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let mut at = flags_at + if flags & 0x4000 == 0 { 2 } else { 4 };
        let mut name = Vec::new();
        if is_short {
            let (cut, length) = varint(self.list.get(at..)?)?;
            at += length;
            name.extend_from_slice(before.get(..before.len().checked_sub(cut)?)?);
        }
        self.starts.push((start, name.is_empty()));
        let rest = self.list.get(at..)?;
        let length = match usize::from(flags & 0xfff) {
            0xfff => rest.iter().position(|byte| *byte == 0)?,
            length => length.checked_sub(name.len())?,
        };
        name.extend_from_slice(rest.get(..length)?);
        let end = at + length;
        self.at = match is_short {
            true => end + 1,
            false => start + ((end - start + 8) & !7),
        };
        Some(name)
    }

    /// Reads what stands behind the entries, by which Git may find entries at other places.
    fn extensions(&mut self, count: u32) -> Option<()> {
        let (entries_end, end) = (self.at, self.list.len().checked_sub(self.hash)?);
        while self.at + 8 <= end {
            let kind = self.list.get(self.at..self.at + 4)?;
            self.at += 4;
            let size = self.number()? as usize;
            let next = self.at.checked_add(size).filter(|next| *next <= end)?;
            if kind == b"IEOT" {
                self.blocks(next, count)?;
            }
            self.at = next;
        }
        // Where Git looks for the end of the entries.
        self.at = end.checked_sub(12 + self.hash).unwrap_or(end);
        if self.list.get(self.at..self.at + 4) == Some(b"EOIE") {
            self.at += 8;
            (self.number()? as usize == entries_end).then_some(())?;
        }
        Some(())
    }

    /// Reads where blocks of entries begin: at one of those that were read, with a whole name.
    fn blocks(&mut self, end: usize, count: u32) -> Option<()> {
        let mut nth = 0;
        self.at += 4;
        while self.at < end {
            let (start, length) = (self.number()? as usize, self.number()?);
            let known = self.starts.get(nth as usize)?;
            (*known == (start, true)).then_some(())?;
            nth = u32::checked_add(nth, length)?;
        }
        (nth == count).then_some(())
    }
}

/// A number of the short form, and the count of its bytes.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        value = value
            .checked_add(usize::from(at > 0))?
            .checked_mul(if at > 0 { 128 } else { 1 })?
            .checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// Whether a name leads out of the tree, or into a repository, on whatever file system.
fn is_strange(name: &[u8]) -> bool {
    // A folder that stands for all of its files ends with a slash; a name that another list replaces is empty.
    let name = name.strip_suffix(b"/").unwrap_or(name);
    let mut parts = name.split(|byte| *byte == b'/');
    let is_odd = |part: &[u8]| {
        let folded = folded_name(&name_of(part));
        part.is_empty() || part == b"." || part == b".." || folded == ".git" || folded == "git~1"
    };
    !name.is_empty() && parts.any(is_odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of files with these names, each with what it leaves of the one before in the short form.
    fn list(version: u32, hash: usize, names: &[(&str, u8)], more: &[u8]) -> Vec<u8> {
        let mut list = b"DIRC".to_vec();
        list.extend(version.to_be_bytes());
        list.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        let mut before = 0;
        for (name, cut) in names {
            let start = list.len();
            list.extend(vec![1; 40 + hash]);
            let kept = if version == 4 {
                before - usize::from(*cut)
            } else {
                0
            };
            before = kept + name.len();
            list.extend(u16::try_from(before.min(0xfff)).unwrap().to_be_bytes());
            if version == 4 {
                list.push(*cut);
            }
            list.extend(name.as_bytes());
            list.push(0);
            while version < 4 && !(list.len() - start).is_multiple_of(8) {
                list.push(0);
            }
        }
        list.extend(more);
        list.extend(vec![0; hash]);
        list
    }

    #[test]
    fn a_name_that_lies_in_no_tree_is_found_in_each_form_of_the_list() {
        let long = format!("{}/.git/x", "a/".repeat(3000));
        for (name, strange) in [
            ("a", false),
            ("a/.gitignore", false),
            ("a.git/x", false),
            ("sparse/", false),
            ("", false),
            ("..a/b..", false),
            (".git/hooks/pre-commit", true),
            ("a/.GIT/config", true),
            ("a/.git/", true),
            ("../a", true),
            ("a/../../b", true),
            ("/a", true),
            ("a//b", true),
            ("./a", true),
            ("git~1/config", true),
            (&long, true),
        ] {
            for (version, hash) in [(2, 20), (3, 20), (4, 20), (2, 32), (4, 32)] {
                let list = list(version, hash, &[("README", 0), (name, 6), ("z", 0)], b"");
                assert_eq!(
                    names_strange_files(&list, hash),
                    strange,
                    "{name} {version}"
                );
            }
        }
        let joined = list(4, 20, &[("a/.gi", 0), ("t/config", 0)], b"");
        assert!(names_strange_files(&joined, 20));
    }

    #[test]
    fn a_list_that_could_be_read_otherwise_is_strange() {
        let names = [("a", 0), ("b", 1)];
        let extension = |kind: &[u8], numbers: &[u32]| {
            let content: Vec<u8> = numbers.iter().flat_map(|it| it.to_be_bytes()).collect();
            let size = u32::try_from(content.len()).unwrap().to_be_bytes();
            [kind, &size, &content].concat()
        };
        let check = |version, more: &[u8], strange: bool| {
            let list = list(version, 20, &names, more);
            assert_eq!(names_strange_files(&list, 20), strange, "{more:?}");
        };
        check(2, &extension(b"TREE", &[7]), false);
        check(2, &extension(b"IEOT", &[1, 12, 1, 76, 1]), false);
        check(2, &extension(b"IEOT", &[1, 12, 1, 90, 1]), true);
        check(2, &extension(b"IEOT", &[1, 12, 1]), true);
        check(4, &extension(b"IEOT", &[1, 12, 1, 77, 1]), false);
        check(2, &extension(b"EOIE", &[140, 0, 0, 0, 0, 0]), false);
        check(2, &extension(b"EOIE", &[100, 0, 0, 0, 0, 0]), true);
        let whole = list(2, 20, &names, b"");
        assert!(names_strange_files(&whole[..100], 20), "cut");
        assert!(!names_strange_files(b"", 20) && !names_strange_files(b"none", 20));
    }

    #[test]
    fn a_number_is_read_as_git_writes_it() {
        for (bytes, expected) in [
            (&[0][..], Some((0, 1))),
            (&[127], Some((127, 1))),
            (&[0x80, 0], Some((128, 2))),
            (&[0x80, 0x80, 0], Some((16512, 3))),
            (&[0x80], None),
            (&[0xff; 40], None),
        ] {
            assert_eq!(varint(bytes), expected, "{bytes:?}");
        }
    }
}

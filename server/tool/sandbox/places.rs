//! Protected places in a folder: existing files that other programs execute, and Aside's own settings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use super::{
    file_mark::FileMark, git_ways::WaysOut, listed_folder::Unseen, other_names::OtherNames,
};
use crate::workspace::protected::kind_of;
use aside_base::system::folders::canonical;
use aside_base::{
    system::files::{FileFacts, names, number},
    visible::short_line,
};

/// Maximum number of places and of folders above them, each of which may be a mount.
const PLACES: usize = 2000;
/// Maximum size of the arguments that name them, and what one takes beside its text.
const BYTES: usize = 1 << 20;
const WORD: usize = 16;
/// Maximum number of links from a name to what is missing.
const LINKS: usize = 40;

/// A protected place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProtectedPlace {
    pub(crate) mark: FileMark,
    /// The file to which a link leads in the end.
    pub(crate) leads_to: Option<(PathBuf, FileMark)>,
    /// Number of the folders above the place that cannot be moved.
    pub(crate) fixed: usize,
}

/// A reason why protected places may remain open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OpenGap {
    /// The folder has more entries, or more protected places, than are searched.
    Many(PathBuf),
    /// The folder cannot be searched.
    Unread(PathBuf),
    /// A link at a protected name, to what a command could create.
    Dangling(PathBuf),
    /// A link at a protected name, which a command could replace.
    Replaceable(PathBuf),
    /// Settings of this repository make Git run programs from a folder that commands have to write in.
    Named(PathBuf),
    /// A protected file that has another name, by which a command could change it.
    Twofold(PathBuf),
    /// A repository in which commands may write, without files and folders that a command could create.
    Unclosed(PathBuf),
    /// These settings load files whose names cannot be told.
    Untold(PathBuf),
    /// The user's home is not known, nor what is secret in it.
    Homeless,
    /// The folder of secrets has more entries than are searched for links.
    #[cfg_attr(
        not(any(target_os = "linux", target_os = "macos")),
        expect(dead_code, reason = "walls alone find it")
    )]
    ManySecrets(PathBuf),
    /// The folder, beside the workspace, has more entries than are searched for named pipes.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "walls alone find it")
    )]
    ManyForPipes(PathBuf),
    /// The folder, beside the workspace, cannot be searched for named pipes.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "walls alone find it")
    )]
    UnreadForPipes(PathBuf),
}

/// Paths at which protected places were found, each with the number of folders above it that cannot be moved.
pub(crate) type KnownPlaces = BTreeMap<PathBuf, usize>;

/// Protected places that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    found: BTreeMap<PathBuf, ProtectedPlace>,
    /// Paths from which settings of Git take code, or would if something were there.
    named: BTreeSet<PathBuf>,
    /// Files in protected folders that have further names.
    other_names: OtherNames,
    /// Ways out of repositories in which commands may write.
    pub(super) ways: WaysOut,
    /// Links to folders that are not searched, as a package manager owns them.
    pub(super) package_links: BTreeSet<PathBuf>,
    /// What links in folders of secrets lead to.
    pub(super) secrets: BTreeSet<PathBuf>,
    /// Named pipes outside that only their names hold back.
    pub(super) pipes: BTreeSet<PathBuf>,
    pub(crate) gaps: BTreeSet<OpenGap>,
}

impl OpenGap {
    /// A folder that hides places because of this gap, with the reason. None if the gap hides none.
    pub(crate) fn hiding(&self, root: &Path) -> Option<String> {
        let (path, why) = match self {
            Self::Many(path) => (path, "too many files to search"),
            Self::Unread(path) => (path, "which cannot be searched"),
            Self::Dangling(_)
            | Self::Replaceable(_)
            | Self::Named(_)
            | Self::Twofold(_)
            | Self::Unclosed(_)
            | Self::Untold(_)
            | Self::Homeless
            | Self::ManySecrets(_)
            | Self::ManyForPipes(_)
            | Self::UnreadForPipes(_) => {
                return None;
            }
        };
        let inner = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let name = match inner.is_empty() {
            true => "the workspace itself",
            false => &*inner,
        };
        Some(format!("{name} ({why})"))
    }

    /// The gap as a clause, with paths from the root.
    pub(crate) fn clause(&self, root: &Path) -> String {
        let name = |path: &Path| {
            let inner = path.strip_prefix(root).unwrap_or(path);
            match inner.as_os_str().is_empty() {
                true => "the workspace".to_owned(),
                false => format!("`{}`", short_line(&inner.to_string_lossy(), LETTERS)),
            }
        };
        match self {
            Self::Many(path) => format!("{} holds too many files to find all of them", name(path)),
            Self::Unread(path) => format!("{} cannot be searched", name(path)),
            Self::Dangling(path) => format!(
                "{} is a link to what a command could create; remove the link or create its target",
                name(path)
            ),
            Self::Replaceable(path) => format!(
                "{} is a link, which a command could replace; put the file or folder itself there",
                name(path)
            ),
            Self::Named(path) => format!(
                "settings of Git in {} name a folder that holds more than its hooks",
                name(path)
            ),
            Self::Twofold(path) => format!(
                "{} has a hard link, by which a command could change it; put a copy there",
                name(path)
            ),
            Self::Unclosed(path) => format!(
                "the folder `hooks` or a file `config.worktree` cannot be made in {}; make them",
                name(path)
            ),
            Self::Homeless => {
                "your home folder is not known, so its secrets cannot be hidden; set HOME"
                    .to_owned()
            }
            Self::Untold(path) => format!(
                "{} loads files whose names cannot be told; name them there without a variable",
                name(path)
            ),
            Self::ManySecrets(path) => format!(
                "{} holds too many files to find the secrets to which its links lead",
                name(path)
            ),
            Self::ManyForPipes(path) => format!(
                "{} holds too many files to find the named pipes of other programs, into which a command could write",
                name(path)
            ),
            Self::UnreadForPipes(path) => format!(
                "{} cannot be searched for named pipes of other programs, into which a command could write",
                name(path)
            ),
        }
    }
}

impl Places {
    /// The paths of the places.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.found.keys()
    }

    /// The places with their paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PathBuf, &ProtectedPlace)> {
        self.found.iter()
    }

    /// Whether a path is a place or lies in one.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.found.contains_key(above))
    }

    /// Whether other programs would take code from a path, though its name does not tell: settings or links lead there.
    pub(crate) fn lead_to(&self, path: &Path) -> bool {
        let is_led = |above: &Path| {
            let mut led = self
                .found
                .values()
                .filter_map(|place| place.leads_to.as_ref());
            self.named.contains(above) || led.any(|(real, _)| real == above)
        };
        // Another name of a protected file.
        let about = FileFacts::itself(path).ok();
        let about = about.filter(|about| names(about) > 1);
        let is_inner = about.as_ref().is_some_and(|it| self.other_names.has(it));
        let number = about.map(|about| number(&about));
        let is_other_name = |place: &ProtectedPlace| {
            let led = place.leads_to.as_ref().map(|(_, mark)| mark.number);
            number.is_some_and(|number| number == place.mark.number || Some(number) == led)
        };
        is_inner
            || self.covers(path)
            || path.ancestors().any(is_led)
            || self.found.values().any(is_other_name)
    }

    /// Adds what settings of Git name, whether it is there or not.
    pub(crate) fn add_named(&mut self, path: PathBuf, writable: &[PathBuf]) {
        self.named.insert(path.clone());
        self.add(path, usize::MAX, writable);
    }

    /// The places as they are looked up by name from now on.
    pub(crate) fn known(&self) -> KnownPlaces {
        let found = self.found.iter();
        found
            .map(|(path, place)| (path.clone(), place.fixed))
            .collect()
    }

    /// Adds a place if it exists. A link to what is missing in a folder that commands can write in is a gap.
    pub(crate) fn add(&mut self, path: PathBuf, fixed: usize, writable: &[PathBuf]) {
        let Ok(mark) = FileMark::at(&path) else {
            return;
        };
        let real = canonical(&path).ok();
        // The link may also be one of the folders above.
        let elsewhere = real.filter(|real| mark.is_link() || *real != path);
        let leads_to = elsewhere.and_then(|real| Some((real.clone(), FileMark::at(&real).ok()?)));
        let counts = |path: &Path| is_within(Some(path), writable) && has_other_names(path);
        if counts(&path) || leads_to.as_ref().is_some_and(|(real, _)| counts(real)) {
            self.gaps.insert(OpenGap::Twofold(path.clone()));
        }
        let is_dangling = mark.is_link() && leads_to.is_none();
        if is_dangling {
            self.named.extend(target(&path));
        }
        if is_dangling && is_within(missing(&path).as_deref(), writable) {
            self.gaps.insert(OpenGap::Dangling(path.clone()));
        }
        let place = ProtectedPlace {
            mark,
            leads_to,
            fixed,
        };
        let known = self.found.entry(path).or_insert_with(|| place.clone());
        known.fixed = known.fixed.max(fixed);
    }

    /// Takes note of a file in a protected folder.
    pub(super) fn note_file(&mut self, path: &Path) {
        self.other_names.note(path);
    }

    /// Takes note of the files of a protected place.
    pub(super) fn note_files(&mut self, place: &Path) {
        if !self.other_names.note_all(place) {
            self.gaps.insert(OpenGap::Many(place.to_owned()));
        }
    }

    /// Notes a gap for each file in protected folders that has a name elsewhere.
    pub(crate) fn note_twofold(&mut self, writable: &[PathBuf]) {
        let open = self.other_names.open();
        let open = open.filter(|path| is_within(Some(path), writable));
        let open: Vec<PathBuf> = open.cloned().collect();
        self.gaps.extend(open.into_iter().map(OpenGap::Twofold));
    }

    /// Adds the ways out of a repository in which commands may write.
    pub(super) fn add_ways(&mut self, repository: &Path) {
        let unseen = self.ways.add(repository).into_iter();
        self.gaps.extend(unseen.map(|(folder, why)| match why {
            Unseen::Many => OpenGap::Many(folder),
            Unseen::Unread => OpenGap::Unread(folder),
        }));
    }

    /// Adds other places.
    pub(crate) fn merge(&mut self, others: Self) {
        for (path, place) in others.found {
            let known = self.found.entry(path).or_insert_with(|| place.clone());
            known.fixed = known.fixed.max(place.fixed);
        }
        self.gaps.extend(others.gaps);
        self.other_names.merge(others.other_names);
        self.ways.merge(others.ways);
        self.named.extend(others.named);
        self.package_links.extend(others.package_links);
    }

    /// Notes a gap for each link that a command could replace, itself or on the way to what it leads to: no mount can be
    /// put onto a link. In a place that is read-only nothing can be replaced; a repository in which commands may write is
    /// none.
    pub(crate) fn note_replaceable(&mut self, repositories: &[PathBuf], writable: &[PathBuf]) {
        let is_read_only = |path: &Path| {
            let known = self.found.get(path);
            known.is_some_and(|known| !known.mark.is_link())
                && !repositories.iter().any(|it| it == path)
        };
        let is_open = |path: &Path| {
            let mut above = path.ancestors().skip(1);
            is_within(Some(path), writable) && !above.any(is_read_only)
        };
        let is_open_link = |path: &Path| path.is_symlink() && is_open(path);
        let links = self.found.iter().filter(|(path, place)| {
            let is_led = place.mark.is_link() || place.leads_to.is_some();
            is_led && (path.ancestors().any(is_open_link) || leads_by_link(path, place, is_open))
        });
        let links: Vec<PathBuf> = links.map(|(path, _)| path.clone()).collect();
        self.gaps
            .extend(links.into_iter().map(OpenGap::Replaceable));
    }

    /// Notes a gap for the first of the writable folders if there are more places in all of them than can be mounted.
    pub(crate) fn bound(&mut self, writable: &[PathBuf]) {
        let size = |path: &Path| path.as_os_str().len() + WORD;
        let is_above = |path: &&Path| {
            let mut open = writable.iter();
            open.any(|folder| path.starts_with(folder) && path != folder)
        };
        let mounted = self.found.keys();
        let mounted = mounted.flat_map(|path| path.ancestors().take_while(is_above));
        let mounted: BTreeSet<&Path> = mounted.collect();
        // Each is named twice.
        let bytes: usize = mounted.iter().map(|path| 2 * size(path)).sum();
        if mounted.len() > PLACES || bytes > BYTES {
            self.gaps
                .extend(writable.first().cloned().map(OpenGap::Many));
        }
    }
}

/// Whether a link leads to its file by another link, which lies in the open.
fn leads_by_link(link: &Path, place: &ProtectedPlace, is_open: impl Fn(&Path) -> bool) -> bool {
    let (Some(target), Some((real, _))) = (&place.mark.target, &place.leads_to) else {
        return false;
    };
    let next = link.parent().map(|above| plain(&above.join(target)));
    next.is_some_and(|next| next != *real && is_open(&next))
}

/// A path without `.` and `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Whether a path that leads nowhere, or nobody knows where, lies in a writable folder.
fn is_within(path: Option<&Path>, writable: &[PathBuf]) -> bool {
    path.is_none_or(|path| writable.iter().any(|folder| path.starts_with(folder)))
}

/// Whether this is a file that another name leads to as well, by which a command could change it.
fn has_other_names(path: &Path) -> bool {
    FileFacts::itself(path).is_ok_and(|about| about.is_file() && names(&about) > 1)
}

/// The path to which a link leads in the end, with dots and links on the way. None if that cannot be told.
fn target(link: &Path) -> Option<PathBuf> {
    let mut path = link.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent()?.join(target),
            Err(_) => break,
        }
    }
    Some(plain(&path))
}

/// The path at which what a link leads to is missing. None if that cannot be told.
fn missing(link: &Path) -> Option<PathBuf> {
    let path = target(link)?;
    // The nearest folder that exists, without dots and links.
    let real = path.ancestors().find_map(|above| canonical(above).ok())?;
    Some(real)
}

/// The places that are new or were replaced.
pub(crate) fn made(before: &Places, after: &Places) -> Vec<PathBuf> {
    let is_new = |(path, place): &(&PathBuf, &ProtectedPlace)| {
        let known = before.found.get(*path);
        known.is_none_or(|known| known.mark != place.mark || known.leads_to != place.leads_to)
    };
    let made = after.found.iter().filter(is_new);
    made.map(|(path, _)| path.clone()).collect()
}

/// The links that are new to folders which are not searched, as a package manager owns them.
pub(crate) fn package_links_made<'a>(
    before: &'a Places,
    after: &'a Places,
) -> impl Iterator<Item = &'a PathBuf> {
    after.package_links.difference(&before.package_links)
}

/// The ways out of repositories that are new or were replaced.
pub(crate) fn ways_made(before: &Places, after: &Places) -> BTreeSet<PathBuf> {
    after.ways.since(&before.ways)
}

/// Maximum number of places that a message names, and of characters of each.
const NAMED: usize = 60;
const LETTERS: usize = 120;

/// Lists places by their path from the root, with the number of omitted ones: of each kind one, in the order of the table,
/// before the second of any, and those at the top first. So a command cannot hide a place by making others.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut names: Vec<&String> = names.into_iter().collect();
    names.sort_by_key(|name| (Path::new(name).components().count(), *name));
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ranked: Vec<((usize, usize), &String)> = names
        .into_iter()
        .map(|name| {
            let kind = kind_of(Path::new(name.split(" (").next().unwrap_or(name)));
            let nth = seen.entry(kind).or_default();
            *nth += 1;
            ((*nth, kind), name)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let left = ranked.len().saturating_sub(NAMED);
    ranked.truncate(NAMED);
    let named = ranked.iter().map(|(_, name)| match name.is_empty() {
        true => "the workspace itself".to_owned(),
        false => cut_amid(name),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match left {
        0 => named,
        left => format!("{named} and {left} more"),
    }
}

/// A path on one line, without its middle if it is long: what protects it stands at its end.
fn cut_amid(path: &str) -> String {
    let letters: Vec<char> = path.chars().collect();
    if letters.len() <= LETTERS {
        return short_line(path, LETTERS);
    }
    let text = |letters: &[char]| short_line(&letters.iter().collect::<String>(), LETTERS);
    let (start, end) = (
        &letters[..LETTERS / 3],
        &letters[letters.len() - LETTERS / 2..],
    );
    format!("{}…{}", text(start), text(end))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::{
        super::place_search::{ListedFolders, guarded},
        *,
    };

    fn search(root: &Path) -> Places {
        guarded(root, &[root.to_owned()], &ListedFolders::default())
    }

    #[test]
    fn what_is_made_or_replaced_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [".envrc", ".mcp.json"] {
            fs::write(root.join(name), "").unwrap();
        }
        let before = search(root);
        fs::create_dir_all(root.join("a/.git")).unwrap();
        fs::write(root.join(".mcp.json"), "changed by its owner").unwrap();
        fs::write(root.join("new"), "").unwrap();
        fs::rename(root.join("new"), root.join(".envrc")).unwrap();
        let made = made(&before, &search(root));
        assert_eq!(made, [root.join(".envrc"), root.join("a/.git")]);
    }

    #[test]
    fn what_takes_the_place_of_another_file_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let place = root.join(".vscode");
        let link = |to: &str| std::os::unix::fs::symlink(to, &place).unwrap();
        let number = || {
            FileFacts::itself(&place)
                .map(|about| number(&about))
                .unwrap()
        };
        fs::create_dir(root.join("a")).unwrap();
        link("a");
        let (before, first) = (search(root), number());
        // Another link, a folder, and where the file system gives numbers out again, both with the same number.
        for again in 0..200 {
            fs::remove_file(&place).unwrap();
            link("a");
            assert_eq!(
                made(&before, &search(root)),
                std::slice::from_ref(&place),
                "link {again}"
            );
            if number() == first {
                break;
            }
        }
        let before = search(root);
        fs::remove_dir(root.join("a")).unwrap();
        fs::create_dir(root.join("a")).unwrap();
        assert_eq!(
            made(&before, &search(root)),
            std::slice::from_ref(&place),
            "what it leads to"
        );
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        assert_eq!(made(&before, &search(root)), [place]);
    }

    #[test]
    fn a_link_to_what_is_missing_is_a_gap_where_a_command_could_make_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = &folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".cargo")).unwrap();
        for (name, to) in [
            (".envrc", "build/deep/envrc"),
            (".cargo/config.toml", "../build/cargo.toml"),
            (".vscode", "/nowhere/at/all"),
            (".idea", ".idea"),
            (".mcp.json", "first"),
            ("first", "second"),
        ] {
            std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        }
        let before = search(root);
        let gaps = [".cargo/config.toml", ".envrc", ".idea", ".mcp.json"];
        let gaps = gaps.map(|name| OpenGap::Dangling(root.join(name)));
        assert_eq!(before.gaps, gaps.into());
        fs::write(root.join("second"), "").unwrap();
        let after = search(root);
        assert_eq!(made(&before, &after), [root.join(".mcp.json")]);
    }

    #[test]
    fn more_places_than_can_be_mounted_are_a_gap_in_whatever_folder_they_lie() {
        let writable = ["/w".into(), "/cache".into()];
        let gaps = |folder: &str, count: usize| {
            let place = ProtectedPlace {
                mark: FileMark::at(Path::new("/")).unwrap(),
                leads_to: None,
                fixed: 0,
            };
            let paths = (0..count).map(|nth| format!("{folder}/{nth}.code-workspace").into());
            let mut places = Places {
                found: paths.map(|path| (path, place.clone())).collect(),
                ..Places::default()
            };
            places.bound(&writable);
            places.gaps
        };
        for folder in ["/w", "/cache"] {
            assert_eq!(gaps(folder, PLACES), [].into(), "{folder}");
            let many = [OpenGap::Many("/w".into())];
            assert_eq!(gaps(folder, PLACES + 1), many.into(), "{folder}");
        }
    }

    #[test]
    fn a_link_in_the_open_is_a_gap_and_one_in_a_protected_folder_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = &folder.path().canonicalize().unwrap();
        for name in [".vscode", "c", "sub", "vs"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["c/config.toml", "plain", "vs/a"] {
            fs::write(root.join(name), "").unwrap();
        }
        for (name, to) in [
            (".vscode/tasks.json", "../plain"),
            (".vscode/by.json", "../way/a"),
            ("way", "vs"),
            ("sub/.cargo", "../c"),
            (".idea", "vs"),
        ] {
            std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        }
        let writable = std::slice::from_ref(root);
        let mut found = search(root);
        assert!(found.gaps.is_empty(), "{:?}", found.gaps);
        found.note_replaceable(&[], writable);
        let open = [".idea", ".vscode/by.json", "sub/.cargo/config.toml"];
        let open = open.map(|name| OpenGap::Replaceable(root.join(name)));
        assert_eq!(found.gaps, open.into());
        let paths: Vec<_> = found.paths().collect();
        assert!(
            paths.contains(&&root.join(".vscode/tasks.json")),
            "{paths:?}"
        );
    }
}

//! Open places: folders in which a program inside the sandbox may write. Nothing of Aside's own starts from them.
//!
//! Every workspace that this process works in is one, and so are the folders of `sandbox.writable` and the workspaces
//! that were trusted before. One is never taken back while the process lives.

use std::{
    collections::{BTreeSet, VecDeque},
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    path::{Component, Path, PathBuf},
    sync::Mutex,
};

pub use crate::system::programs::is_program;
use crate::{
    homes::{home, homes},
    lock, regular,
    system::{
        folders::{canonical, topmost},
        programs::{file_names, is_everybodys, is_path},
    },
};

/// Links on the way to a path that are followed.
const LINKS: usize = 40;
/// Scripts whose first lines name one another that are followed, and bytes of such a line; systems take fewer.
const SCRIPTS: usize = 8;
const LINE: u64 = 4096;

/// The open places of this process.
static KNOWN: Mutex<OpenPlaces> = Mutex::new(OpenPlaces(BTreeSet::new()));

/// Makes folders known in which programs inside the sandbox may write.
pub fn note(folders: impl IntoIterator<Item = PathBuf>) {
    let mut known = lock(&KNOWN);
    folders.into_iter().for_each(|folder| known.add(&folder));
}

/// The open places that are known now.
#[must_use]
pub fn known() -> OpenPlaces {
    lock(&KNOWN).clone()
}

/// A set of folders in which programs inside the sandbox may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenPlaces(BTreeSet<PathBuf>);

impl<P: AsRef<Path>> FromIterator<P> for OpenPlaces {
    fn from_iter<T: IntoIterator<Item = P>>(folders: T) -> Self {
        let mut places = Self::default();
        folders
            .into_iter()
            .for_each(|folder| places.add(folder.as_ref()));
        places
    }
}

impl OpenPlaces {
    /// Adds a folder, unless it is the whole file system: nothing would be left, and there is no sandbox then.
    fn add(&mut self, folder: &Path) {
        let folder = settled(folder);
        if folder.is_absolute() && folder.parent().is_some() {
            self.0.insert(folder);
        }
    }

    /// Adds further folders.
    #[must_use]
    pub fn and(mut self, folders: &[PathBuf]) -> Self {
        folders.iter().for_each(|folder| self.add(folder));
        self
    }

    /// Whether a path leads into an open place, links followed. The path need not be there.
    #[must_use]
    pub fn hold(&self, path: &Path) -> bool {
        let is_in = |path: &Path| self.0.iter().any(|folder| path.starts_with(folder));
        let is_below = |path: &Path| is_in(path) && !self.0.contains(path);
        let mut left: VecDeque<OsString> = parts(path).collect();
        let (mut real, mut links) = (top_of(path), 0);
        while let Some(name) = left.pop_front() {
            if name == ".." {
                real.pop();
                continue;
            }
            real.push(name);
            // Whatever is on the way there can be replaced.
            if is_below(&real) {
                return true;
            }
            let Ok(target) = fs::read_link(&real) else {
                continue;
            };
            links += 1;
            if links > LINKS {
                return true;
            }
            real = match target.is_absolute() {
                true => top_of(&target),
                false => real.parent().map_or_else(topmost, Path::to_owned),
            };
            parts(&target).rev().for_each(|part| left.push_front(part));
        }
        is_in(&real)
    }

    /// The folders of a `PATH` in which programs outside the sandbox are looked for: absolute, in no open place, and
    /// such that only their owner can add something.
    #[must_use]
    pub fn safe_path(&self, path: &OsStr) -> OsString {
        let folders = env::split_paths(path).filter(|folder| self.is_safe(folder));
        // None has a colon in it: they were split there.
        env::join_paths(folders).unwrap_or_default()
    }

    fn is_safe(&self, folder: &Path) -> bool {
        folder.is_absolute()
            && !self.hold(folder)
            && canonical(folder).is_ok_and(|real| !is_everybodys(&real))
    }

    /// The folder in which programs of the user's own start: the home, and not the workspace, whose files must not be
    /// taken for the user's. The topmost folder where the home is missing or an open place.
    #[must_use]
    pub fn start_folder(&self) -> PathBuf {
        self.start_folder_of(home())
    }

    /// [`Self::start_folder`] for this home.
    #[must_use]
    pub fn start_folder_of(&self, home: Option<PathBuf>) -> PathBuf {
        let home = home.filter(|home| home.is_dir() && !self.hold(home));
        home.unwrap_or_else(topmost)
    }

    /// Finds a program for a start outside the sandbox. A name is looked for in the safe folders of `path`; a path, from
    /// `folder`, is taken as it is, unless it leads into an open place.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] where there is none, and [`io::ErrorKind::PermissionDenied`] where there is one that
    /// a program inside the sandbox may write.
    pub fn program(&self, name: &OsStr, folder: &Path, path: &OsStr) -> io::Result<PathBuf> {
        let is_open_itself =
            |file: &Path| self.hold(file) || canonical(file).is_ok_and(|it| is_everybodys(&it));
        let is_open = |file: &Path| {
            let mut words = first_lines(file).into_iter().map(PathBuf::from);
            is_open_itself(file) || words.any(|word| word.is_absolute() && is_open_itself(&word))
        };
        if is_path(name) {
            let named = folder.join(name);
            let files = file_names(named.as_os_str()).into_iter().map(PathBuf::from);
            let file = files
                .into_iter()
                .find(|file| file.exists())
                .unwrap_or(named);
            return match is_open(&file) {
                true => Err(open_error(&file)),
                false if fs::metadata(&file).is_err() => Err(io::ErrorKind::NotFound.into()),
                false => Ok(file),
            };
        }
        let mut open = None;
        for at in env::split_paths(path) {
            let mut files = file_names(name).into_iter().map(|name| at.join(name));
            let Some(file) = files.find(|file| at.is_absolute() && is_program(file)) else {
                continue;
            };
            if self.is_safe(&at) && !is_open(&file) {
                return Ok(file);
            }
            open.get_or_insert(file);
        }
        Err(open.map_or_else(|| io::ErrorKind::NotFound.into(), |file| open_error(&file)))
    }

    /// The first path of [`OpenPlaces::all_named`].
    #[must_use]
    pub fn named(&self, word: &str, folder: &Path) -> Option<PathBuf> {
        self.all_named(word, folder).into_iter().next()
    }

    /// The paths in open places that a word names, or a part of it: as it stands, behind a `=`, in a list with `:` or
    /// `,`, or quoted inside, and as a shell expands variables and patterns. A relative one is seen from `folder`. Only what
    /// is there counts, and whatever is spelled as a path.
    #[must_use]
    pub fn all_named(&self, word: &str, folder: &Path) -> Vec<PathBuf> {
        let homes = homes();
        let is_end = |c: char| c.is_whitespace() || "=:,;'\"`()<>|&@[]{}$!*?\\".contains(c);
        let expanded = expanded(word, &|name| env::var(name).ok());
        let texts = [word, expanded.as_str()];
        let parts = texts
            .into_iter()
            .flat_map(|text| text.split(is_end))
            .flat_map(|part| {
                // An option may have its value right behind its letter: `-C/work`.
                let value = part.strip_prefix('-').and_then(|it| it.get(1..));
                let is_spelled = |part: &str| part.contains('/') && !part.starts_with('-');
                [Some(part), value]
                    .into_iter()
                    .flatten()
                    .map(move |part| (part, is_spelled(part)))
            });
        let from_folder = |part: &str| match part.strip_prefix("~/") {
            Some(below) => homes.iter().map(|home| home.join(below)).collect(),
            None => vec![folder.join(part)],
        };
        let parts = parts.chain([(word, false)]);
        let paths = parts
            .filter(|(part, _)| !part.is_empty())
            .flat_map(|(part, is_spelled)| {
                let paths = from_folder(part).into_iter();
                paths.map(move |path| (path, is_spelled))
            });
        let found = paths.filter(|(path, is_spelled)| {
            (*is_spelled || fs::symlink_metadata(path).is_ok()) && self.hold(path)
        });
        let patterns = patterns(&expanded).flat_map(from_folder);
        let matched = patterns.flat_map(|above| {
            let above = settled(&above);
            self.0.iter().filter(move |place| place.starts_with(&above))
        });
        found
            .map(|(path, _)| path)
            .chain(matched.cloned())
            .collect()
    }
}

/// A word as a shell expands its variables, without quotes. A variable that is not set is empty.
fn expanded(word: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let plain = word.replace(['"', '\''], "");
    let mut parts = plain.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_braced = part.starts_with('{');
        let part = part.trim_start_matches('{');
        let end = part.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        text += &variable(name).unwrap_or_default();
        text += match is_braced {
            true => rest.strip_prefix('}').unwrap_or(rest),
            false => rest,
        };
    }
    text
}

/// The folders of a text in which a pattern stands for names.
fn patterns(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|it: char| it.is_whitespace() || "=:,;`()<>|&".contains(it));
    words.filter_map(|word| {
        let at = word.find(['*', '?', '['])?;
        let above = word[..at].rfind('/')?;
        Some(&word[..=above])
    })
}

/// The folder from which an absolute path goes on.
fn top_of(path: &Path) -> PathBuf {
    let is_top = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
    match path.is_absolute() {
        true => path.components().take_while(is_top).collect(),
        false => topmost(),
    }
}

/// The names of a path, with `..` among them.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::ParentDir => Some(OsStr::new("..")),
        Component::Normal(name) => Some(name),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    names.map(OsStr::to_owned)
}

/// A path without links and dots, as far as it is there.
fn settled(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                real.push(name);
                if let Ok(there) = canonical(&real) {
                    real = there;
                }
            }
            other => real.push(other),
        }
    }
    real
}

/// The words by which a system starts a script: those of its first line, if that names a program, and of this program's.
#[must_use]
pub fn first_lines(file: &Path) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut next = Some(file.to_owned());
    for _ in 0..SCRIPTS {
        let Some(line) = next.take().and_then(|file| first_line(&file)) else {
            break;
        };
        let own = line.split_whitespace().map(str::to_owned);
        let own: Vec<String> = own.collect();
        next = own.first().map(PathBuf::from);
        words.extend(own);
    }
    words
}

/// What stands behind `#!` in a script.
fn first_line(file: &Path) -> Option<String> {
    let mut start = Vec::new();
    let file = regular::open(file).ok()?;
    file.take(LINE).read_to_end(&mut start).ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    Some(String::from_utf8_lossy(line).into_owned())
}

fn open_error(file: &Path) -> io::Error {
    let what = format!(
        "{} can be written from inside the sandbox, so it does not run outside; put the program elsewhere",
        file.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Ground {
        _folder: tempfile::TempDir,
        root: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let ground = Self {
                _folder: folder,
                root,
            };
            for (file, mode) in [
                ("work/bin/tool", 0o755),
                ("safe/tool", 0o755),
                ("data/tool", 0o644),
                ("loose/tool", 0o777),
                ("own/only", 0o755),
            ] {
                let file = ground.root.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, "").unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            }
            fs::create_dir(ground.root.join("anyone")).unwrap();
            let anyone = fs::Permissions::from_mode(0o777);
            fs::set_permissions(ground.root.join("anyone"), anyone).unwrap();
            symlink(ground.root.join("work/bin"), ground.root.join("innocent")).unwrap();
            fs::create_dir(ground.root.join("linked")).unwrap();
            symlink(
                ground.root.join("work/bin/tool"),
                ground.root.join("linked/tool"),
            )
            .unwrap();
            symlink(
                ground.root.join("safe/tool"),
                ground.root.join("work/bin/only"),
            )
            .unwrap();
            ground
        }

        fn places(&self) -> OpenPlaces {
            [self.root.join("work")].into_iter().collect()
        }

        fn path(&self, folders: &[&str]) -> OsString {
            let folders = folders.iter().map(|it| match it.starts_with('.') {
                true => PathBuf::from(it),
                false => self.root.join(it),
            });
            env::join_paths(folders).unwrap()
        }
    }

    #[test]
    fn programs_are_found_where_no_command_can_put_one() {
        let ground = Ground::new();
        let check = |name: &str, folders: &[&str], expected: Result<&str, io::ErrorKind>| {
            let path = ground.path(folders);
            let found = ground
                .places()
                .program(name.as_ref(), Path::new("/"), &path);
            let found = found.map_err(|error| error.kind());
            assert_eq!(found, expected.map(|it| ground.root.join(it)), "{path:?}");
        };
        check("tool", &["work/bin", "safe"], Ok("safe/tool"));
        let all = [
            "./bin", "innocent", "linked", "data", "loose", "anyone", "safe",
        ];
        check("tool", &all, Ok("safe/tool"));
        check("tool", &["work/bin"], Err(io::ErrorKind::PermissionDenied));
        check("only", &["work/bin"], Err(io::ErrorKind::PermissionDenied));
        check("tool", &["data", "."], Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_path_to_a_program_counts_unless_a_command_can_write_it() {
        let ground = Ground::new();
        let check = |name: &str, is_taken: bool| {
            let name = name.replace("ROOT", ground.root.to_str().unwrap());
            let found = ground
                .places()
                .program(name.as_ref(), &ground.root, OsStr::new(""));
            assert_eq!(found.is_ok(), is_taken, "{name}: {found:?}");
        };
        check("ROOT/safe/tool", true);
        check("safe/tool", true);
        check("ROOT/work/bin/tool", false);
        check("./work/bin/tool", false);
        check("ROOT/linked/tool", false);
        check("ROOT/innocent/absent", false);
        check("ROOT/loose/tool", false);
        check("ROOT/safe/../work/x", false);
        // A command could replace a link on the way.
        let way = ground.root.join("work/way");
        symlink(ground.root.join("safe"), &way).unwrap();
        symlink(&way, ground.root.join("chain")).unwrap();
        check("ROOT/work/way/tool", false);
        check("ROOT/chain/tool", false);
    }

    #[test]
    fn a_script_counts_unless_a_command_can_write_what_runs_it() {
        let ground = Ground::new();
        let root = ground.root.to_str().unwrap();
        let script = |name: &str, line: &str| {
            let file = ground.root.join("safe").join(name);
            fs::write(&file, line.replace("ROOT", root)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        };
        script("plain", "#!/bin/sh -e\ntrue\n");
        script("found", "#!/usr/bin/env python3\n");
        script("text", "true\n#!ROOT/work/bin/tool\n");
        script("open", "#!ROOT/work/bin/tool\n");
        script("blank", "#! ROOT/work/bin/tool -x");
        script("split", "#!/usr/bin/env -S ROOT/work/bin/tool -x\n");
        script("chain", "#!ROOT/safe/open\n");
        script("itself", "#!ROOT/safe/itself\n");
        for (name, is_taken) in [
            ("plain", true),
            ("found", true),
            ("text", true),
            ("open", false),
            ("blank", false),
            ("split", false),
            ("chain", false),
            ("itself", true),
        ] {
            let (by_name, by_path) = (OsString::from(name), ground.root.join("safe").join(name));
            for program in [by_name.as_os_str(), by_path.as_os_str()] {
                let path = ground.path(&["safe"]);
                let found = ground.places().program(program, Path::new("/"), &path);
                assert_eq!(found.is_ok(), is_taken, "{name}: {found:?}");
            }
        }
    }

    #[test]
    fn a_path_variable_keeps_its_safe_folders() {
        let ground = Ground::new();
        let path = ground.path(&[
            ".", "work/bin", "innocent", "anyone", "absent", "safe", "work", "own",
        ]);
        let safe = ground.places().safe_path(&path);
        assert_eq!(safe, ground.path(&["safe", "own"]));
        assert_eq!(ground.places().safe_path(OsStr::new(".:bin")), "");
    }

    #[test]
    fn the_whole_file_system_is_no_open_place() {
        let places: OpenPlaces = ["/", "relative"].into_iter().collect();
        assert_eq!(places, OpenPlaces::default());
    }

    #[test]
    fn a_word_names_what_lies_in_an_open_place() {
        let ground = Ground::new();
        let work = ground.root.join("work");
        let check = |word: &str, expected: Option<&str>| {
            let word = word.replace("ROOT", ground.root.to_str().unwrap());
            let found = ground.places().named(&word, &work);
            let expected = expected.map(|it| settled(&ground.root.join(it)));
            assert_eq!(found.map(|it| settled(&it)), expected, "{word}");
        };
        check("bin/tool", Some("work/bin/tool"));
        check("bin", Some("work/bin"));
        check("absent", None);
        check("absent/x", Some("work/absent/x"));
        check("ROOT/work/x", Some("work/x"));
        check("--file=bin/tool", Some("work/bin/tool"));
        check("-CROOT/work", Some("work"));
        check("@bin/tool", Some("work/bin/tool"));
        check("exec 'bin/tool'", Some("work/bin/tool"));
        check("a:ROOT/work/bin:b", Some("work/bin"));
        check("ROOT/innocent/tool", Some("work/bin/tool"));
        check("ROOT/safe/../work/bin", Some("work/bin"));
        check(">../safe/f", None);
        check("-Iabsent/x", Some("work/absent/x"));
        check("../safe/tool", None);
        check("ROOT/safe/tool", None);
        check("--version", None);
        check("https://example.com/x", None);
    }
}

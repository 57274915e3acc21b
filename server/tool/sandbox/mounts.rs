//! Mounts that are expected inside the sandbox, and a look at whether they are there.
//!
//! bubblewrap looks places up by name, and names may lead elsewhere by then, as another command may exchange a folder
//! for a link. So the first program inside compares what is mounted with what was meant, by the file and by its place in
//! the file system, and does not become the command otherwise.

use std::{
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::mountinfo::{MountLine, Reached, mount_of, mounts, reached};

/// Number of words of each expectation, and the byte that ends a word.
const WORDS: usize = 3;
const END: u8 = 0;

/// Folder of devices, which bubblewrap makes.
pub(super) const DEVICES: &str = "/dev";

/// Kind of a mount that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountAccess {
    /// The place itself, writable.
    Write,
    /// The place itself, read-only.
    Read,
    /// A read-only file system of its own, which is empty.
    Empty,
    /// An empty file.
    Null,
    /// A writable file system of its own.
    Fresh,
    /// A mount that lies in a writable folder, which need not be there.
    Further,
    /// No mount, but a link that is still the same one.
    Link,
}

/// A mount that is expected inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MeantMount {
    access: MountAccess,
    /// The number of the file; 0 where any will do.
    number: u64,
    device: String,
    root: PathBuf,
    path: PathBuf,
}

/// All that has to be mounted inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MeantMounts(Vec<MeantMount>);

impl MountAccess {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Write, "write"),
        (Self::Read, "read"),
        (Self::Empty, "empty"),
        (Self::Null, "null"),
        (Self::Fresh, "fresh"),
        (Self::Further, "further"),
        (Self::Link, "link"),
    ];

    fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(it, _)| *it == self).map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, it)| *it == word).map(|(it, _)| *it)
    }
}

impl MeantMounts {
    /// Expects a place at its own path. A place that is not there, or that no mount leads to, is expected in a way that
    /// nothing fulfils.
    pub(crate) fn expect(
        &mut self,
        mounts: &[MountLine],
        access: MountAccess,
        path: &Path,
        number: Option<u64>,
    ) {
        let source = match access {
            MountAccess::Null => Path::new("/dev/null"),
            _ => path,
        };
        let found = reached(source).ok();
        let line = found.and_then(|found| mount_of(mounts, source, &found));
        let root =
            line.and_then(|line| Some(line.root.join(source.strip_prefix(&line.point).ok()?)));
        self.0.push(MeantMount {
            access,
            number: match access {
                MountAccess::Write | MountAccess::Read => {
                    number.or(found.map(|it| it.number)).unwrap_or_default()
                }
                _ => 0,
            },
            device: line.map(|line| line.device.clone()).unwrap_or_default(),
            root: root.unwrap_or_default(),
            path: path.to_owned(),
        });
    }

    /// Expects a file system of its own at a path.
    pub(crate) fn expect_own(&mut self, access: MountAccess, path: &Path) {
        self.0.push(MeantMount {
            access,
            number: 0,
            device: String::new(),
            root: "/".into(),
            path: path.to_owned(),
        });
    }

    /// Expects a link, which cannot be mounted, to be still the one with this number.
    pub(crate) fn expect_link(&mut self, path: &Path, number: u64) {
        self.0.push(MeantMount {
            access: MountAccess::Link,
            number,
            device: String::new(),
            root: PathBuf::new(),
            path: path.to_owned(),
        });
    }

    /// Allows the mounts that lie below a writable folder, which come with it.
    pub(crate) fn allow_below(&mut self, mounts: &[MountLine], folder: &Path) {
        let below = mounts.iter().filter(|line| line.is_writable);
        let below = below.filter(|line| line.point != folder && line.point.starts_with(folder));
        self.0.extend(below.map(|line| MeantMount {
            access: MountAccess::Further,
            number: 0,
            device: line.device.clone(),
            root: line.root.clone(),
            path: line.point.clone(),
        }));
    }

    /// The expectations as the first program inside reads them, their number first.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut word = |word: &[u8]| {
            bytes.extend_from_slice(word);
            bytes.push(END);
        };
        word(self.0.len().to_string().as_bytes());
        for meant in &self.0 {
            let (access, number) = (meant.access.word(), meant.number);
            word(format!("{access} {number} {}", meant.device).as_bytes());
            word(meant.root.as_os_str().as_bytes());
            word(meant.path.as_os_str().as_bytes());
        }
        bytes
    }

    /// Reads the expectations. None if they are not complete.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.split(|byte| *byte == END);
        let count: usize = str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let mut all = Vec::new();
        for _ in 0..count {
            let found: Vec<&[u8]> = words.by_ref().take(WORDS).collect();
            let [about, root, path] = <[&[u8]; WORDS]>::try_from(found).ok()?;
            let mut about = str::from_utf8(about).ok()?.split(' ');
            all.push(MeantMount {
                access: MountAccess::of(about.next()?)?,
                number: about.next()?.parse().ok()?,
                device: about.next()?.to_owned(),
                root: OsStr::from_bytes(root).into(),
                path: OsStr::from_bytes(path).into(),
            });
        }
        // Behind the end of the last word there is nothing.
        (words.next() == Some(&[]) && words.next().is_none()).then_some(Self(all))
    }

    /// The folders in which the command may write, and that of devices.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        let is_open =
            |meant: &&MeantMount| matches!(meant.access, MountAccess::Write | MountAccess::Fresh);
        let open = self.0.iter().filter(is_open);
        open.map(|meant| meant.path.as_path())
            .chain([Path::new(DEVICES)])
    }

    /// The first place at which something else is mounted than was meant.
    ///
    /// # Errors
    /// Fails if the kernel lists no mounts.
    pub(crate) fn differs(&self) -> io::Result<Option<PathBuf>> {
        let mounts = mounts()?;
        let look = |path: &Path| reached(path).ok();
        Ok(self.differs_from(&mounts, look).map(Path::to_owned))
    }

    fn differs_from<'a>(
        &'a self,
        mounts: &'a [MountLine],
        look: impl Fn(&Path) -> Option<Reached>,
    ) -> Option<&'a Path> {
        let wanted = self.0.iter().filter(|meant| meant.is_required());
        let missing = wanted.map(|meant| (meant, look(&meant.path)));
        let missing = missing.filter(|(meant, found)| {
            let line = found.and_then(|found| mount_of(mounts, &meant.path, &found));
            !found
                .zip(line)
                .is_some_and(|(found, line)| meant.is(&found, line))
        });
        let mut missing = missing.map(|(meant, _)| meant.path.as_path());
        missing.next().or_else(|| {
            // What lies beneath another mount, or cannot be entered, cannot be written.
            let is_seen = |line: &MountLine| {
                let found = look(&line.point);
                found.is_some_and(|it| it.mount.is_none_or(|id| id == line.id))
            };
            let mut open = mounts.iter().filter(|line| line.is_writable);
            open.find(|line| !self.allows(line) && is_seen(line))
                .map(|line| line.point.as_path())
        })
    }

    /// Whether a writable mount is one of those that were meant, or bubblewrap's own.
    fn allows(&self, line: &MountLine) -> bool {
        let same = |meant: &MeantMount| match meant.access {
            MountAccess::Write | MountAccess::Further => {
                meant.device == line.device && meant.root == line.root && meant.path == line.point
            }
            MountAccess::Fresh => meant.path == line.point && line.root == *"/",
            MountAccess::Null => meant.path == line.point && meant.root == line.root,
            MountAccess::Read | MountAccess::Empty | MountAccess::Link => false,
        };
        is_device(&line.point) || self.0.iter().any(same)
    }
}

impl MeantMount {
    fn is_required(&self) -> bool {
        !matches!(self.access, MountAccess::Fresh | MountAccess::Further)
    }

    /// Whether this file, reached by this mount, is what was meant.
    fn is(&self, found: &Reached, line: &MountLine) -> bool {
        let lies_there = line.point == self.path && line.root == self.root;
        let is_same = line.device == self.device;
        match self.access {
            // A workspace that cannot be written outside cannot be written inside either.
            MountAccess::Write => lies_there && is_same && found.number == self.number,
            MountAccess::Read => {
                lies_there && is_same && !line.is_writable && found.number == self.number
            }
            MountAccess::Empty => lies_there && !line.is_writable,
            MountAccess::Null => lies_there && is_same,
            MountAccess::Link => found.number == self.number,
            MountAccess::Fresh | MountAccess::Further => true,
        }
    }
}

/// Whether bubblewrap mounts this place of `/dev` itself.
fn is_device(point: &Path) -> bool {
    const NAMES: [&str; 10] = [
        "null", "zero", "full", "random", "urandom", "tty", "pts", "mqueue", "shm", "console",
    ];
    point == Path::new(DEVICES)
        || (point.parent() == Some(Path::new(DEVICES))
            && point
                .file_name()
                .and_then(OsStr::to_str)
                .is_some_and(|it| NAMES.contains(&it)))
}

#[cfg(test)]
mod tests {
    use super::{super::mountinfo::parse, *};

    fn meant(words: &[(MountAccess, u64, &str, &str, &str)]) -> MeantMounts {
        let all = words
            .iter()
            .map(|(access, number, device, root, path)| MeantMount {
                access: *access,
                number: *number,
                device: (*device).to_owned(),
                root: root.into(),
                path: path.into(),
            });
        MeantMounts(all.collect())
    }

    fn usual() -> MeantMounts {
        meant(&[
            (MountAccess::Write, 7, "8:2", "/@home/u/w", "/home/u/w"),
            (MountAccess::Further, 0, "8:3", "/", "/home/u/w/a disk"),
            (
                MountAccess::Read,
                8,
                "8:2",
                "/@home/u/w/.git",
                "/home/u/w/.git",
            ),
            (MountAccess::Empty, 0, "", "/", "/home/u/.ssh"),
            (MountAccess::Null, 0, "0:5", "/null", "/home/u/.netrc"),
            (MountAccess::Fresh, 0, "", "/", "/tmp"),
            (MountAccess::Link, 7, "", "", "/home/u/w"),
        ])
    }

    const INSIDE: &str = "11 1 8:1 / / ro - ext4 /dev/a rw\n\
        12 11 0:30 / /dev rw - tmpfs tmpfs rw\n\
        13 12 0:5 /null /dev/null rw - devtmpfs udev rw\n\
        14 11 0:31 / /tmp rw - tmpfs tmpfs rw\n\
        15 11 8:2 /@home /home ro - btrfs /dev/b rw\n\
        16 15 8:2 /@home/u/w /home/u/w rw - btrfs /dev/b rw\n\
        17 16 8:3 / /home/u/w/a\\040disk rw - ext4 /dev/c rw\n\
        18 16 8:2 /@home/u/w/.git /home/u/w/.git ro - btrfs /dev/b rw\n\
        19 15 0:32 / /home/u/.ssh ro - tmpfs tmpfs rw\n\
        20 15 0:5 /null /home/u/.netrc ro - devtmpfs udev rw\n";

    /// The place that differs if the kernel lists these mounts, and a look-up finds the last of them at each place.
    fn differs(inside: &str) -> Option<String> {
        let mounts = parse(inside.as_bytes());
        let look = |path: &Path| {
            let line = mounts.iter().rev().find(|line| line.point == path)?;
            let number = match line.root.ends_with(".git") {
                true => 8,
                false => 7,
            };
            Some(Reached {
                number,
                mount: Some(line.id),
            })
        };
        let meant = usual();
        meant
            .differs_from(&mounts, look)
            .map(|path| path.display().to_string())
    }

    #[test]
    fn only_what_was_meant_may_be_mounted() {
        assert_eq!(differs(INSIDE), None);
        let check = |from: &str, to: &str, place: &str| {
            let other = INSIDE.replace(from, to);
            assert_ne!(other, INSIDE, "{from}");
            assert_eq!(differs(&other).as_deref(), Some(place), "{from} -> {to}");
        };
        // The place leads elsewhere, or is another file.
        check(
            "8:2 /@home/u/w /home/u/w rw",
            "8:2 /@home/u /home/u/w rw",
            "/home/u/w",
        );
        check("8:2 /@home/u/w/.git", "8:2 /@home/u/w/g", "/home/u/w/.git");
        check("18 16 8:2 ", "18 16 8:9 ", "/home/u/w/.git");
        check("/home/u/w/.git ro", "/home/u/w/.git rw", "/home/u/w/.git");
        check("/home/u/w/.git ro", "/home/u/w/g ro", "/home/u/w/.git");
        check("0:32 / /home/u/.ssh", "0:32 / /home/u/.sst", "/home/u/.ssh");
        check(
            "0:5 /null /home/u/.netrc",
            "8:1 /x /home/u/.netrc",
            "/home/u/.netrc",
        );
        // Something else is writable.
        check("8:2 /@home /home ro", "8:2 /@home /home rw", "/home");
        check("8:1 / / ro", "8:1 / / rw", "/");
        check(
            "17 16 8:3 / /home/u/w/a",
            "21 16 8:2 /@home/u/x /home/u/w/x rw - b b rw\n17 16 8:3 / /home/u/w/a",
            "/home/u/w/x",
        );
    }

    #[test]
    fn expectations_come_through_whole_or_not_at_all() {
        let bytes = usual().bytes();
        assert_eq!(MeantMounts::read(&bytes), Some(usual()));
        assert_eq!(
            MeantMounts::read(&MeantMounts::default().bytes()),
            Some(MeantMounts::default())
        );
        for cut in 0..bytes.len() {
            assert_eq!(MeantMounts::read(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(MeantMounts::read(&[&bytes[..], b"x"].concat()), None);
    }

    #[test]
    fn what_is_there_is_expected_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut meant = MeantMounts::default();
        let mounts = mounts().unwrap();
        meant.expect(&mounts, MountAccess::Write, &root, None);
        meant.expect(&mounts, MountAccess::Write, &root.join("missing"), None);
        let [there, missing] = &meant.0[..] else {
            panic!("{meant:?}");
        };
        assert_eq!(there.number, reached(&root).unwrap().number);
        assert!(!there.device.is_empty() && there.root.is_absolute());
        assert!(missing.device.is_empty() && missing.number == 0);
    }
}

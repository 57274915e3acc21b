//! The mounts of this process, as the kernel lists them, and by which of them a file is reached.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

/// File in which the kernel lists the mounts of a process.
const MOUNTS: &str = "/proc/self/mountinfo";
/// A mount, from its line in `/proc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountLine {
    pub(super) id: u64,
    pub(super) device: String,
    /// Path in the file system that is mounted.
    pub(super) root: PathBuf,
    /// Path at which it is seen.
    pub(super) point: PathBuf,
    pub(super) is_writable: bool,
}

/// A file as the kernel knows it: its number, and the mount by which it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(super) number: u64,
    /// None on a kernel that does not tell.
    pub(super) mount: Option<u64>,
}

/// The mounts of this process.
///
/// # Errors
/// Fails if the kernel lists none.
pub(super) fn mounts() -> io::Result<Vec<MountLine>> {
    Ok(parse(&fs::read(MOUNTS)?))
}

pub(super) fn parse(text: &[u8]) -> Vec<MountLine> {
    text.split(|byte| *byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// Parses `id parent device root point options …`.
fn parse_line(line: &[u8]) -> Option<MountLine> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut text = || fields.next().map(|it| String::from_utf8_lossy(it));
    let id = text()?.parse().ok()?;
    let device = text().and_then(|_| text())?.into_owned();
    let mut path = || fields.next().map(unescaped);
    let (root, point) = (path()?, path()?);
    let mut options = fields.next()?.split(|byte| *byte == b',');
    Some(MountLine {
        id,
        device,
        root,
        point,
        is_writable: options.all(|it| it != b"ro"),
    })
}

/// Undoes the kernel's escapes: a backslash and three octal digits.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *byte == b'\\');
        let code = digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

/// Looks a file up without following a link at its end.
pub(super) fn reached(path: &Path) -> io::Result<Reached> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let wanted = StatxFlags::INO.union(StatxFlags::MNT_ID);
    let about = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
    let tells = about.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok(Reached {
        number: about.stx_ino,
        mount: tells.then_some(about.stx_mnt_id),
    })
}

/// The mount by which a path is reached: the one that the kernel names, or the last of those nearest above it.
pub(super) fn mount_of<'a>(
    mounts: &'a [MountLine],
    path: &Path,
    reached: &Reached,
) -> Option<&'a MountLine> {
    match reached.mount {
        Some(id) => mounts.iter().find(|line| line.id == id),
        None => mounts
            .iter()
            .filter(|line| path.starts_with(&line.point))
            .max_by_key(|line| line.point.components().count()),
    }
}

/// The file system, as the kernel numbers it, and the number of the file that lies at a path.
pub(super) fn identity<'a>(path: &Path, mounts: &'a [MountLine]) -> Option<(&'a str, u64)> {
    let found = reached(path).ok()?;
    let line = mount_of(mounts, path, &found)?;
    Some((&line.device, found.number))
}

/// The paths here of what others see at a path: in the same file system, as far as it is mounted here.
pub(super) fn seen_here(path: &Path, theirs: &[MountLine], ours: &[MountLine]) -> Vec<PathBuf> {
    let Some((device, inner)) = inner_path(path, theirs) else {
        return Vec::new();
    };
    let same = ours.iter().filter(|line| line.device == device);
    // A file may be mounted by itself; joined with nothing, its path would end in a slash.
    let named = same.filter_map(|line| {
        let below = inner.strip_prefix(&line.root).ok()?;
        Some(line.point.components().chain(below.components()).collect())
    });
    named.collect()
}

/// The file system of a path, and the path in it.
fn inner_path<'a>(path: &Path, mounts: &'a [MountLine]) -> Option<(&'a str, PathBuf)> {
    let above = mounts.iter().filter(|line| path.starts_with(&line.point));
    let mount = above.max_by_key(|line| line.point.components().count())?;
    let rest = path.strip_prefix(&mount.point).ok()?;
    // Joined with nothing, it would end in a slash.
    let inner = mount.root.components().chain(rest.components());
    Some((&mount.device, inner.collect()))
}

/// The mounts of what lies below a path, by itself.
fn mounts_of_parts<'a>(
    path: &Path,
    mounts: &'a [MountLine],
) -> impl Iterator<Item = &'a MountLine> {
    let whole = inner_path(path, mounts);
    mounts.iter().filter(move |line| {
        let is_part = |(device, inner): &(&str, PathBuf)| {
            line.device == *device && line.root != *inner && line.root.starts_with(inner)
        };
        whole.as_ref().is_some_and(is_part)
    })
}

/// All paths of a file or folder, of which there are several where its file system, or a folder above it, is mounted more
/// than once, and those at which a part of the folder is mounted by itself. The path itself is the first.
pub(super) fn paths_of(path: &Path, mounts: &[MountLine]) -> Vec<PathBuf> {
    let file = identity(path, mounts);
    let others = seen_here(path, mounts, mounts);
    // Something else may be mounted there.
    let others = others.into_iter().filter(|other| other != path);
    let same = others.filter(|other| file.is_some() && identity(other, mounts) == file);
    let is_on_top =
        |line: &&MountLine| identity(&line.point, mounts).is_some_and(|it| it.0 == line.device);
    let parts = mounts_of_parts(path, mounts).filter(is_on_top);
    let parts = parts.map(|line| line.point.clone());
    [path.to_owned()]
        .into_iter()
        .chain(same)
        .chain(parts)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: &str = "1 0 8:1 / / rw,relatime - ext4 /dev/a rw\n\
        2 1 8:2 /@home /home rw shared:1 - btrfs /dev/b rw\n\
        3 2 8:3 / /home/u/w/a\\040disk rw - ext4 /dev/c rw\n";

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let lines = parse(OUTSIDE.as_bytes());
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2].point, Path::new("/home/u/w/a disk"));
        assert_eq!(lines[1].root, Path::new("/@home"));
        assert!(lines[1].is_writable);
        assert_eq!(parse(b"nonsense\n"), []);
    }

    #[test]
    fn what_others_mount_elsewhere_is_found_where_it_is_seen_here() {
        let ours = parse(
            b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 /@home /home rw - btrfs b rw\n3 1 0:9 / /layers/x rw - overlay c rw\n",
        );
        let theirs = parse(
            b"7 6 0:9 / / rw - overlay c rw\n8 7 8:2 /@home/u/data /data rw - btrfs b rw\n9 7 0:8 / /run rw - tmpfs d rw\n",
        );
        let check = |path: &str, here: &[&str]| {
            let seen = seen_here(Path::new(path), &theirs, &ours);
            assert_eq!(
                seen,
                here.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "{path}"
            );
        };
        check("/data/s", &["/home/u/data/s"]);
        check("/srv/s", &["/layers/x/srv/s"]);
        check("/run/s", &[]);
        let ours = parse(b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 /a/s /b rw - ext4 a rw\n");
        let seen = seen_here(Path::new("/a/s"), &ours, &ours);
        let texts: Vec<_> = seen.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(texts, ["/a/s", "/b"]);
    }

    #[test]
    fn parts_of_a_folder_are_found_where_they_are_mounted_by_themselves() {
        let mounts = parse(
            b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 /a/s /b rw - ext4 a rw\n3 1 8:1 /a /c rw - ext4 a rw\n\
              4 1 8:1 /ab /d rw - ext4 a rw\n5 1 8:2 /a/s /e rw - ext4 b rw\n",
        );
        let parts = |path: &str| {
            let parts = mounts_of_parts(Path::new(path), &mounts);
            parts.map(|line| line.point.clone()).collect::<Vec<_>>()
        };
        assert_eq!(parts("/a"), [Path::new("/b")]);
        assert_eq!(parts("/c"), [Path::new("/b")]);
        assert!(parts("/a/s").is_empty());
    }
}

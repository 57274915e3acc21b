//! Unix sockets of programs outside. A read-only mount does not hold a connection back, so they are put out of sight.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::FileTypeExt},
    path::{Path, PathBuf},
};

use aside_base::system::{
    files::{self, FileFacts, number},
    folders::canonical,
};

use super::{
    bound_files::{BoundFile, bound_files},
    mountinfo::{self, MountLine, identity, seen_here},
    places::plain,
};

/// File in which the kernel lists the Unix sockets of the network of this process.
const LIST: &str = "/proc/self/net/unix";
/// Number of words of a line before the name of the socket.
const WORDS: usize = 7;
/// Maximum number of sockets, each of which is a mount.
const MOST: usize = 500;
/// Depth to which moved sockets are searched, and the maximum number of files that are looked at for all of them.
const DEPTH: usize = 2;
const ENTRIES: usize = 5000;

/// A network, in which processes listen.
#[derive(Debug)]
struct Network {
    /// File in which the kernel lists its sockets.
    list: PathBuf,
    /// Whether this process is in it.
    is_own: bool,
    /// Folders of its processes.
    processes: Vec<PathBuf>,
}

/// Sockets outside that a command could reach.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OutsideSockets {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Whether no others are known.
    pub(super) are_all: bool,
}

/// The sockets that lie in no private folder, given the mounts of this process. One may have another name by now than the
/// kernel lists, so all sockets count that lie beside a listed one, and those that are found near it by their file.
pub(super) fn outside_sockets(
    ours: &[MountLine],
    is_private: impl Fn(&Path) -> bool,
) -> OutsideSockets {
    let Some((networks, mut are_all)) = networks() else {
        return OutsideSockets::default();
    };
    let mut paths = BTreeSet::new();
    let mut listed = BTreeSet::new();
    let mut left = ENTRIES;
    for network in networks {
        let Ok(list) = fs::read(&network.list) else {
            // Its last process may be gone.
            are_all &= !network.list.exists();
            continue;
        };
        let mut names = names(&list);
        let mut relative = BTreeSet::new();
        for name in names.iter_mut().filter(|it| it.path.is_relative()) {
            match bound_by(name.socket) {
                Some(folder) => name.path = folder.join(&name.path),
                None => are_all = false,
            }
            relative.insert(name.socket);
        }
        names.retain(|name| name.path.is_absolute());
        // The kernel tells the files of this network alone, and not each kernel does.
        let bound = network.is_own.then(bound_files).and_then(Result::ok);
        let bound = bound.unwrap_or_default();
        let is_elsewhere = |name: &NamedSocket| {
            let mut bound = bound.iter().filter(|file| name.is_of(file));
            !name.path.exists() || bound.any(|file| !is_file(&name.path, file, ours))
        };
        let views = match !network.is_own || names.iter().any(is_elsewhere) {
            true => other_views(&network.processes, ours),
            false => Vec::new(),
        };
        let seen = |name: &NamedSocket| {
            let views = views.iter().map(Vec::as_slice).chain([ours]);
            let elsewhere = views.flat_map(|theirs| seen_here(&plain(&name.path), theirs, ours));
            [name.path.clone()]
                .into_iter()
                .chain(elsewhere)
                .collect::<Vec<_>>()
        };
        let moved = bound.iter().filter_map(|file| {
            let name = names.iter().find(|name| name.is_of(file))?;
            let is_known = seen(name).iter().any(|name| lies_beside(name, file, ours));
            (!is_known).then(|| moved(&name.path, file, ours, &is_private, &mut left))?
        });
        let moved: Vec<PathBuf> = moved.collect();
        // What was not looked at may be a socket.
        are_all &= left > 0;
        let is_there = |name: &NamedSocket| seen(name).iter().any(|path| path.exists());
        // Its program may be in another folder by now.
        let mut from_folders = names.iter().filter(|name| relative.contains(&name.socket));
        are_all &= from_folders.all(is_there);
        for name in names.iter().flat_map(seen).chain(moved) {
            // Nobody knows where its further names are.
            are_all &= !has_other_names(&name);
            // Nobody reaches what lies in a folder that is gone, or that cannot be entered.
            let folder = name.parent().and_then(|it| canonical(it).ok());
            let Some(folder) = folder.filter(|it| can_be_entered(it) && !is_private(it)) else {
                continue;
            };
            if listed.contains(&folder) {
                continue;
            }
            match sockets_in(&folder) {
                Ok(found) => {
                    paths.extend(found);
                    listed.insert(folder);
                }
                // A folder that hides its entries may have the socket under another name.
                Err(_) => match name.file_name().filter(|_| name.exists()) {
                    Some(name) => {
                        paths.insert(folder.join(name));
                    }
                    None => are_all = false,
                },
            }
        }
    }
    match paths.len() > MOST {
        // Without Unix sockets, none of them needs to be out of sight.
        true => OutsideSockets::default(),
        false => OutsideSockets { paths, are_all },
    }
}

fn has_other_names(socket: &Path) -> bool {
    let about = FileFacts::itself(socket);
    about.is_ok_and(|about| about.file_type().is_socket() && files::names(&about) > 1)
}

/// Whether this file lies at a path.
fn is_file(path: &Path, file: &BoundFile, ours: &[MountLine]) -> bool {
    let found = identity(path, ours);
    // The kernel tells the lower half of a socket's number only.
    found.is_some_and(|(device, number)| {
        device == file.device && number & u64::from(u32::MAX) == u64::from(file.number)
    })
}

/// Whether this file lies at a path or beside it.
fn lies_beside(path: &Path, file: &BoundFile, ours: &[MountLine]) -> bool {
    let beside = || path.parent().and_then(|folder| sockets_in(folder).ok());
    let is_it = |path: &PathBuf| is_file(path, file, ours);
    is_file(path, file, ours) || beside().is_some_and(|all| all.iter().any(is_it))
}

/// The networks of all processes, of which containers have their own, and whether these are all. None if not even that of
/// this process can be told.
fn networks() -> Option<(Vec<Network>, bool)> {
    let own = number(&FileFacts::at(Path::new(LIST)).ok()?);
    let mut all: HashMap<u64, Network> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        let is_process = name.as_bytes().iter().all(u8::is_ascii_digit);
        let list = entry.path().join("net/unix");
        // A process that is gone has none.
        let Some(about) = FileFacts::at(&list).ok().filter(|_| is_process) else {
            continue;
        };
        let network = all.entry(number(&about)).or_insert_with(|| Network {
            list,
            is_own: number(&about) == own,
            processes: Vec::new(),
        });
        network.processes.push(entry.path());
    }
    // The first process is always there; where it is out of sight, others may be.
    let are_all = Path::new("/proc/1/net/unix").exists();
    Some((all.into_values().collect(), are_all))
}

/// Mounts as those of the processes see them that see something else than this one.
fn other_views(processes: &[PathBuf], ours: &[MountLine]) -> Vec<Vec<MountLine>> {
    let own = sight_of(Path::new("/proc/self"));
    let mut known = BTreeSet::new();
    let is_new = |process: &&PathBuf| match sight_of(process) {
        None => true,
        sight if sight == own => false,
        Some(sight) => known.insert(sight),
    };
    let others = processes.iter().filter(is_new);
    let lists = others.filter_map(|process| fs::read(process.join("mountinfo")).ok());
    let texts: BTreeSet<Vec<u8>> = lists.collect();
    let views = texts.iter().map(|text| mountinfo::parse(text));
    views.filter(|theirs| theirs != ours).collect()
}

/// The mounts among which a process runs, and its root: who has both in common sees the same. None where that cannot be
/// told, as of another user's processes. The list of mounts, which everybody may read, takes the kernel much longer.
fn sight_of(process: &Path) -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_link(process.join("ns/mnt")).ok()?;
    Some((mounts, fs::read_link(process.join("root")).ok()?))
}

/// The path at which this file lies, which is gone from a path, if it is near: in a folder beside that which it was in, or
/// in that folder under its new name.
fn moved(
    from: &Path,
    file: &BoundFile,
    ours: &[MountLine],
    is_private: impl Fn(&Path) -> bool,
    left: &mut usize,
) -> Option<PathBuf> {
    let mut above = from.parent()?.ancestors().skip(1);
    let near = above.find(|folder| folder.is_dir())?;
    near.parent().filter(|_| !is_private(near))?;
    let mut folders = VecDeque::from([(near.to_owned(), DEPTH)]);
    while let Some((folder, depth)) = folders.pop_front() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            *left = left.checked_sub(1)?;
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_socket() && is_file(&entry.path(), file, ours) {
                return Some(entry.path());
            }
            if let Some(deeper) = depth.checked_sub(1).filter(|_| kind.is_dir()) {
                folders.push_back((entry.path(), deeper));
            }
        }
    }
    None
}

/// Whether this user may reach what a folder holds, by name.
pub(super) fn can_be_entered(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(".")).is_ok()
}

fn sockets_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_socket() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// A socket with a name, which may be relative.
#[derive(Debug, PartialEq, Eq)]
struct NamedSocket {
    socket: u64,
    path: PathBuf,
}

impl NamedSocket {
    /// Whether the socket is bound to this file.
    fn is_of(&self, file: &BoundFile) -> bool {
        self.socket == u64::from(file.socket)
    }
}

/// The working directory of a process that has this socket open.
fn bound_by(socket: u64) -> Option<PathBuf> {
    let wanted = PathBuf::from(format!("socket:[{socket}]"));
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let has_it = |process: &Path| {
        let open = fs::read_dir(process.join("fd")).into_iter().flatten();
        let mut targets = open
            .flatten()
            .filter_map(|it| fs::read_link(it.path()).ok());
        targets.any(|target| target == wanted)
    };
    let mut paths = processes.map(|process| process.path());
    let process = paths.find(|process| has_it(process))?;
    fs::read_link(process.join("cwd")).ok()
}

/// The sockets of the kernel's list that have a place in the file system; the names of others begin with `@`.
fn names(list: &[u8]) -> Vec<NamedSocket> {
    let mut names: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut is_named = false;
    for line in list.split(|byte| *byte == b'\n').skip(1) {
        if !is_first_line(line) {
            // A name may have several lines.
            if let Some((_, name)) = names.last_mut().filter(|_| is_named && !line.is_empty()) {
                name.push(b'\n');
                name.extend(line);
            }
            continue;
        }
        let (socket, name) = number_and_name(line);
        is_named = !matches!(name.first(), None | Some(b'@'));
        if is_named {
            names.push((socket, name.to_owned()));
        }
    }
    let named = names.into_iter().map(|(socket, name)| NamedSocket {
        socket,
        path: OsStr::from_bytes(&name).into(),
    });
    named.collect()
}

/// Whether a line begins with the number of a socket, and not with the rest of a name.
fn is_first_line(line: &[u8]) -> bool {
    let Some(end) = line.iter().position(|byte| *byte == b':') else {
        return false;
    };
    end >= 8 && line[..end].iter().all(u8::is_ascii_hexdigit)
}

/// The last of the words of a line, and what follows them.
fn number_and_name(line: &[u8]) -> (u64, &[u8]) {
    let (mut last, mut rest): (&[u8], _) = (&[], line);
    for _ in 0..WORDS {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ');
        (last, rest) = rest.split_at(end.unwrap_or(rest.len()));
    }
    let number = std::str::from_utf8(last)
        .ok()
        .and_then(|it| it.parse().ok());
    (
        number.unwrap_or_default(),
        rest.strip_prefix(b" ").unwrap_or(rest),
    )
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::{super::mountinfo::mounts, *};

    const HEAD: &str = "Num       RefCount Protocol Flags    Type St Inode Path\n";

    #[test]
    fn names_are_read_as_the_kernel_lists_them() {
        let list = format!(
            "{HEAD}0000000000000000: 00000002 00000000 00010000 0001 01   123 /home/u/a b\n\
             0000000000000000: 00000003 00000000 00000000 0001 03 12345\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 9 @abstract\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 9 /home/u/two\nlines\n"
        );
        let named = |list: &str| {
            let named = names(list.as_bytes()).into_iter();
            let named = named.map(|it| (it.socket, it.path.display().to_string()));
            named.collect::<Vec<_>>()
        };
        let expected = [(123, "/home/u/a b"), (9, "/home/u/two\nlines")];
        assert_eq!(
            named(&list),
            expected.map(|(it, name)| (it, name.to_owned()))
        );
        let relative = format!("{HEAD}ffff888012345678: 2 0 10000 1 1 9 run/s\n");
        assert_eq!(named(&relative), [(9, "run/s".to_owned())]);
    }

    #[test]
    fn the_process_of_a_socket_is_found() {
        let listener = UnixListener::bind(tempfile::tempdir().unwrap().path().join("s")).unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&listener);
        let link = fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        let link = link.to_string_lossy().into_owned();
        let socket = link.trim_matches(|it: char| !it.is_ascii_digit());
        let here = std::env::current_dir().unwrap();
        assert_eq!(bound_by(socket.parse().unwrap()), Some(here));
        assert_eq!(bound_by(u64::MAX), None);
    }

    #[test]
    fn of_a_socket_with_two_names_not_all_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let _listener = UnixListener::bind(root.join("first")).unwrap();
        let found = || outside_sockets(&mounts().unwrap(), |folder| folder != root);
        assert_eq!(found().paths, [root.join("first")].into());
        fs::create_dir(root.join("elsewhere")).unwrap();
        fs::hard_link(root.join("first"), root.join("elsewhere/second")).unwrap();
        assert!(!found().are_all);
    }

    #[test]
    fn a_socket_is_found_under_its_present_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let _listener = UnixListener::bind(root.join("first")).unwrap();
        fs::rename(root.join("first"), root.join("second")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let found = outside_sockets(&mounts().unwrap(), |folder| folder != root);
        assert_eq!(found.paths, [root.join("second")].into());
        assert!(
            outside_sockets(&mounts().unwrap(), |_| true)
                .paths
                .is_empty()
        );
    }

    #[test]
    fn where_a_moved_socket_is_not_found_among_many_files_not_all_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["first", "second", "second/deep"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let _listener = UnixListener::bind(root.join("first/s")).unwrap();
        let moved = root.join("second/deep/s");
        fs::rename(root.join("first/s"), &moved).unwrap();
        let found = || outside_sockets(&mounts().unwrap(), |folder| !folder.starts_with(&root));
        assert_eq!(found().paths, [moved].into());
        for number in 0..ENTRIES {
            fs::write(root.join(number.to_string()), "").unwrap();
        }
        assert!(!found().are_all);
    }
}

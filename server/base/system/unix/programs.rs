//! Programs as files: which are some, and who may exchange them.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;

/// Variables of the environment that programs of this system need besides those that all get.
pub const VARIABLES: &[&str] = &[];

/// The path of the program of this process. A Linux without `/proc` tells only the one by which it was started, which is
/// read from the present folder: ask before anything moves.
///
/// # Errors
/// If the system does not tell, or nothing is there any more.
pub fn own() -> io::Result<PathBuf> {
    let own = env::current_exe();
    #[cfg(target_os = "linux")]
    let own = own.or_else(|_| {
        let started = rustix::param::linux_execfn().to_bytes();
        Path::new(OsStr::from_bytes(started)).canonicalize()
    });
    own
}

/// Whether this is a file that somebody may run; it is not run.
#[must_use]
pub fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
}

/// The names of files that a program of this name may have in a folder, in the order in which they are looked for.
#[must_use]
pub fn file_names(program: &OsStr) -> Vec<OsString> {
    vec![program.to_owned()]
}

/// The program by which the system starts one of this name, which it finds itself in the folders of `PATH`.
#[must_use]
pub fn started_as(program: &OsStr, _folder: &Path, _path: &OsStr) -> OsString {
    program.to_owned()
}

/// Whether a program is named by a path, and not looked for in the folders of `PATH`.
#[must_use]
pub fn is_path(program: &OsStr) -> bool {
    program.as_encoded_bytes().contains(&b'/')
}

/// Whether every user of the machine may change what lies at a real path, or put something else in its place.
#[must_use]
pub fn is_everybodys(real: &Path) -> bool {
    const STICKY: u32 = 0o1000;
    let mode = |path: &Path| fs::symlink_metadata(path).map(|about| about.permissions().mode());
    let anyone = |mode: u32| mode & 0o002 != 0;
    let above = real.ancestors().skip(1);
    mode(real).is_ok_and(anyone)
        || above
            .filter_map(|folder| mode(folder).ok())
            .any(|mode| anyone(mode) && mode & STICKY == 0)
}

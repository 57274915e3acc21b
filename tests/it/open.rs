//! Places where every user may go, wherever the clone lies.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The path of the program under test, as it was built.
pub(crate) const ASIDE: &str = env!("CARGO_BIN_EXE_aside");

/// A folder where everybody may go, and which is not empty inside a sandbox as `/tmp` is.
pub(crate) fn base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        let places = [env!("CARGO_TARGET_TMPDIR"), "/var/lib", "/srv"];
        let root = rustix::process::getuid().is_root();
        let found = places
            .iter()
            .find(|place| !root || is_open(Path::new(place)));
        found.expect("a folder for everybody").into()
    })
}

/// The program under test, where everybody may run it.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if is_open(Path::new(ASIDE)) {
            return ASIDE.into();
        }
        let folder = base().join(format!("aside-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let copy = folder.join("aside");
        fs::copy(ASIDE, &copy).unwrap();
        copy
    })
}

/// Whether everybody may go there.
fn is_open(path: &Path) -> bool {
    path.ancestors().skip(1).all(|folder| {
        fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
    })
}

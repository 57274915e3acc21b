//! The walls of a command on macOS: what the user's settings, the protected places and the secrets make of a workspace.

use std::path::{Path, PathBuf};

use aside_base::{
    environment,
    homes::{home, homes},
    secrets::secret_places,
    system::folders::canonical,
};

use super::{
    Means, Missing, SandboxRules, WallKind, Walls, git,
    layout::{INSIDE, Layout, ReadOnlyPlace},
    mounts::MeantMounts,
    own_folders,
    places::Places,
    real,
    seatbelt::{CACHE, profile},
    secret_links::secret_links,
};

/// The program that builds walls. It is part of the system, and where another lies in its place nothing can be trusted.
const BUILDER: &str = "/usr/bin/sandbox-exec";
/// The file system whose names are known: which letters it takes for the same, and that it takes none for nothing.
const KNOWN_DISK: &[u8] = b"apfs";
/// Maximum size of a profile. The system takes a megabyte of arguments and variables.
const BYTES: usize = 400 << 10;
/// Variables that name a cache, its usual folder in the home, and its folder in the private one.
const CACHES: [(&str, &str, &str); 2] = [
    ("GOCACHE", "Library/Caches/go-build", "go-build"),
    ("UV_CACHE_DIR", ".cache/uv", "uv"),
];

/// Notes what walls have to hide besides the places themselves, and what may be missing of that.
pub(super) fn note_hidden(places: &mut Places, _writable: &[PathBuf]) {
    let homes = homes();
    let mut secrets = secret_places();
    // Programs keep those to themselves, and the system would ask a person about each look into them.
    secrets.retain(|place| {
        !homes
            .iter()
            .any(|home| place.starts_with(home.join("Library")))
    });
    let (led, gaps) = secret_links(&secrets, &homes);
    places.gaps.extend(gaps);
    places.secrets = led;
}

impl SandboxRules {
    /// The program that builds walls here.
    ///
    /// # Errors
    /// Fails if it is missing, or if no profile can hold what the settings or the workspace ask for.
    pub(super) fn builder(&self, root: &Path) -> Result<PathBuf, Missing> {
        let missing = |why: String, mend: &str| Missing {
            why,
            mend: mend.to_owned(),
        };
        if !Path::new(BUILDER).is_file() {
            return Err(missing(format!("{BUILDER} is missing"), "let commands ask"));
        }
        if self.git {
            return Err(missing(
                "`sandbox.git` cannot be held on macOS".to_owned(),
                "remove it and let commits ask",
            ));
        }
        for folder in self.writable(root) {
            if git::is_repository(&folder) {
                return Err(missing(
                    format!(
                        "{} is a Git repository itself, which cannot be held on macOS",
                        folder.display()
                    ),
                    "open or name a folder above it",
                ));
            }
            if !lies_on_known_disk(&folder) {
                return Err(missing(
                    format!("{} does not lie on a disk with APFS", folder.display()),
                    "open or name a folder on another disk",
                ));
            }
        }
        Ok(BUILDER.into())
    }

    /// The confinement of a command that runs in the workspace. `places` are read-only. Creates missing folders of Aside's
    /// own, so that no command can create them.
    ///
    /// # Errors
    /// Fails if a folder cannot be named in a profile, or if there are more places than fit into one.
    pub(crate) fn walls(
        &self,
        means: &Means,
        root: &Path,
        _cwd: &Path,
        places: &Places,
    ) -> Result<Walls, Missing> {
        let layout = self.layout(means, root, places);
        let text = profile(&layout).map_err(|path| Missing {
            why: format!(
                "{} has a name that cannot be spelled in a profile",
                path.display()
            ),
            mend: "rename it".to_owned(),
        })?;
        if text.len() > BYTES {
            return Err(Missing {
                why: "more files are protected or hidden than a profile can name".to_owned(),
                mend: "open a folder further down".to_owned(),
            });
        }
        let mut args = [
            "-p".into(),
            text.into(),
            layout.inside.clone().into(),
            INSIDE.into(),
        ]
        .to_vec();
        for (name, folder) in &layout.caches {
            args.extend([CACHE.into(), (*name).into(), folder.into()]);
        }
        Ok(Walls {
            program: means.builder.clone(),
            args,
            meant: MeantMounts::of(&layout),
            hosts: match self.network {
                true => Vec::new(),
                false => self.hosts.clone(),
            },
            has_unix: true,
            repositories: Vec::new(),
            masked: Vec::new(),
            kind: WallKind::Sandbox,
        })
    }

    fn layout(&self, means: &Means, root: &Path, places: &Places) -> Layout {
        let writable = self.writable(root);
        let is_writable = |path: &Path| writable.iter().any(|folder| path.starts_with(folder));
        let is_above = |path: &Path| writable.iter().any(|folder| folder.starts_with(path));
        // A link is protected as well as what it leads to.
        let found = places.iter().flat_map(|(path, place)| {
            let led = place.leads_to.iter().map(|(real, _)| real.clone());
            led.chain([path.clone()])
        });
        let protected = found
            .chain([means.holder.clone()])
            .filter(|place| is_writable(place) && !is_above(place));
        own_folders::make(&self.own, is_writable);
        let hidden = secret_places()
            .into_iter()
            .chain(self.own.iter().cloned())
            .chain(places.secrets.iter().cloned())
            .filter_map(|place| canonical(&place).ok())
            .filter(|place| !is_above(place));
        let (folders, files) = hidden.partition(|place| place.is_dir());
        let caches = caches(is_writable);
        Layout {
            protected: protected
                .map(|place| (place, ReadOnlyPlace::FIXED))
                .collect(),
            held: [].into(),
            hidden: folders,
            masked: files,
            network: self.network,
            inside: means.holder.clone(),
            caches,
            writable,
        }
    }
}

/// Caches that are empty at first, for programs that do nothing without one: those whose usual place is read-only.
fn caches(is_writable: impl Fn(&Path) -> bool) -> Vec<(&'static str, PathBuf)> {
    let is_held = |(name, usual, _): &(&str, &str, &str)| {
        let own = environment::variable(name).map(PathBuf::from);
        let usual = own.or_else(|| Some(home()?.join(usual)));
        usual.is_none_or(|usual| !is_writable(&real(&usual)))
    };
    let held = CACHES.into_iter().filter(is_held);
    held.map(|(name, _, folder)| (name, folder.into()))
        .collect()
}

fn lies_on_known_disk(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|about| {
        let name = about
            .f_fstypename
            .iter()
            .map(|letter| letter.to_ne_bytes()[0]);
        name.take_while(|byte| *byte != 0)
            .eq(KNOWN_DISK.iter().copied())
    })
}

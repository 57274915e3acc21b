//! The sandbox: what a command can reach of the machine, and how that is enforced.
//!
//! On Linux bubblewrap builds the sandbox: the file system is read-only except for the workspace, files that other
//! programs execute are read-only even there, Aside's own folders and the user's secrets are hidden. There is no
//! network, there are separate processes and a separate `/proc`, no privileges, and a filter of system calls. Nothing
//! here starts a process; [`super::probe`] tests whether the sandbox works.
//!
//! | module | contents |
//! |---|---|
//! | `layout` | everything that a command can reach, as arguments for bubblewrap |
//! | `places` | protected places: files that other programs execute |
//! | `git` | read-only parts of a repository in which commands may write |
//! | `filter` | the filter of system calls |
//! | [`hosts`] | hosts that a command without network may reach through a proxy |
//! | `means`, `program` | the programs that the sandbox needs, found outside of the workspace, and advice if one is missing |
//! | `commands` | the user's rules for commands |
//! | `plain`, `line`, `started` | the commands of a line: exactly, as far as a parser finds them, and those in arguments |

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use aside_base::lock;
use aside_turn::rules::CommandRules;
use tokio::sync::OnceCell;

pub(super) mod commands;
#[cfg(target_os = "linux")]
pub(super) mod filter;
/// Other systems have no such filter, and so no sandbox.
#[cfg(not(target_os = "linux"))]
pub(super) mod filter {
    pub(crate) fn program() -> Option<Vec<u8>> {
        None
    }
}
mod git;
pub mod hosts;
pub(super) mod layout;
mod line;
mod means;
pub(super) mod places;
mod plain;
pub(super) mod program;
mod started;

pub use self::means::{Means, Missing};
pub(super) use self::means::{mend, setting, shell};
use self::{
    commands::Verdict,
    hosts::AllowedHost,
    layout::Layout,
    means::{elsewhere, install, os_release},
    places::Places,
};
use super::workspace::secret_places;

/// The user's settings for the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxRules {
    /// Whether commands run without a sandbox and are approved as if it were there (`--unsandboxed`).
    pub unsandboxed: bool,
    /// Whether the sandbox is off, so that every command asks.
    pub off: bool,
    /// Whether commands may use the network.
    pub network: bool,
    /// Hosts that commands may reach without the network.
    pub hosts: Vec<AllowedHost>,
    /// Whether commands may write in Git repositories, except for hooks, settings and the like.
    pub git: bool,
    /// Folders beside the workspace that commands may write in. Missing ones are ignored.
    pub writable: Vec<PathBuf>,
    /// Aside's own folders, the state folder first.
    pub own: Vec<PathBuf>,
    /// Rules for commands.
    pub commands: CommandRules,
}

/// The sandbox of a turn: the user's settings, and whether the sandbox works here, which is tested on first use.
#[derive(Debug, Default)]
pub struct Sandbox {
    /// The user's settings.
    pub rules: SandboxRules,
    /// The programs of the sandbox, or the reason why there is none.
    pub(super) means: OnceCell<Result<Means, Missing>>,
    /// Protected places that commands made in this turn.
    made: Mutex<BTreeSet<String>>,
    /// Hashes of commands that a person allowed outside for the rest of the turn.
    let_out: Mutex<BTreeSet<String>>,
}

/// Confinement of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Confinement {
    /// Inside the sandbox.
    Inside(Means),
    /// Outside the sandbox, for this reason. A person has to allow that.
    Outside(String),
    /// Outside the sandbox, as the user allowed for every command.
    Free,
}

/// Decision about a command, before the mode is considered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandDecision {
    /// The confinement of the command.
    pub(super) held: Confinement,
    /// Whether a rule of the user approves it.
    pub(super) approved: bool,
    /// The reason why a person must be asked whatever the mode says.
    pub(super) must_ask: Option<String>,
}

impl CommandDecision {
    /// Combines the confinement with the verdict of the user's rules. `None` if the command is denied.
    pub(super) fn new(held: Confinement, verdict: &Verdict) -> Option<Self> {
        let held = match (held, verdict) {
            (Confinement::Inside(_), Verdict::Unsandboxed(rule)) => Confinement::Outside(format!(
                "your rule `{rule}` lets it run outside the sandbox"
            )),
            (held, _) => held,
        };
        let approved = match verdict {
            Verdict::Deny(_) => return None,
            Verdict::Unsandboxed(_) => true,
            // An `allow` rule applies inside the sandbox only.
            Verdict::Allow => !matches!(held, Confinement::Outside(_)),
            Verdict::Ask(_) | Verdict::Unread(_) | Verdict::Silent => false,
        };
        let must_ask = match (&held, verdict) {
            (Confinement::Outside(why), _) => Some(why.clone()),
            (_, Verdict::Ask(rule)) => Some(format!("your rule `{rule}` asks")),
            (_, Verdict::Unread(rule)) => Some(format!(
                "your rule `{rule}` may apply to a part of the command that Aside cannot read"
            )),
            _ => None,
        };
        Some(Self {
            held,
            approved,
            must_ask,
        })
    }
}

/// A program that starts another one in confinement: bubblewrap with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walls {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments up to the program that it starts.
    pub args: Vec<OsString>,
    /// Hosts that the started program may reach without the network.
    pub hosts: Vec<AllowedHost>,
    /// Kind of confinement.
    pub kind: WallKind,
}

/// Kind of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallKind {
    /// The whole sandbox.
    Sandbox,
    /// Only a PID namespace, so that no process outlives it.
    Processes,
}

impl Walls {
    /// bubblewrap around a program with all of its user's rights. The kernel ends all of its processes together.
    pub(super) fn around_processes(bubblewrap: PathBuf) -> Self {
        let args = ["--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid"];
        let ends = ["--die-with-parent", "--"];
        Self {
            program: bubblewrap,
            args: args.into_iter().chain(ends).map(Into::into).collect(),
            hosts: Vec::new(),
            kind: WallKind::Processes,
        }
    }
}

impl Sandbox {
    /// Creates the sandbox with these settings.
    #[must_use]
    pub fn new(rules: SandboxRules) -> Self {
        Self {
            rules,
            means: OnceCell::new(),
            made: Mutex::default(),
            let_out: Mutex::default(),
        }
    }

    /// Remembers protected places that a command made, so that a person is told before a command runs outside.
    pub(super) fn note_made(&self, names: &[String]) {
        lock(&self.made).extend(names.iter().cloned());
    }

    /// Adds the protected places that commands made to the reason for a prompt.
    pub(super) fn with_made(&self, why: String) -> String {
        let made = lock(&self.made);
        if made.is_empty() {
            return why;
        }
        let names = places::listed(&*made);
        format!("{why}; commands made {names}, from which other programs take code")
    }

    /// Weakens a verdict once commands of this turn made protected places: a rule that lets a command out of the sandbox
    /// no longer applies, because that command may execute them.
    pub(super) fn after_made(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Unsandboxed(_) if !lock(&self.made).is_empty() => Verdict::Silent,
            verdict => verdict,
        }
    }

    /// Allows the command with this hash outside for the rest of the turn.
    pub(super) fn let_out(&self, hash: String) {
        let mut all = lock(&self.let_out);
        all.insert(hash);
    }

    /// Whether a person allowed the command with this hash outside.
    pub(super) fn is_let_out(&self, hash: &str) -> bool {
        let all = lock(&self.let_out);
        all.contains(hash)
    }

    /// No sandbox, and no command asks because of that.
    #[must_use]
    pub fn unsandboxed() -> Self {
        Self::new(SandboxRules {
            unsandboxed: true,
            ..SandboxRules::default()
        })
    }
}

impl SandboxRules {
    /// Whether the sandbox is wanted, so that it has to be tested.
    pub(super) fn wants_one(&self) -> bool {
        !self.unsandboxed && !self.off
    }

    /// The confinement of commands with these programs.
    pub(super) fn confine(&self, means: Result<&Means, &Missing>) -> Confinement {
        if self.unsandboxed {
            return Confinement::Free;
        }
        if self.off {
            return Confinement::Outside("there is no sandbox here, so commands ask".into());
        }
        match means {
            Ok(means) => Confinement::Inside(means.clone()),
            Err(missing) => Confinement::Outside(format!(
                "it would run outside the sandbox, which does not work here: {}",
                missing.why
            )),
        }
    }

    /// Finds the programs of the sandbox, without running them.
    ///
    /// # Errors
    /// Fails if a program is missing or the workspace cannot be confined.
    pub(super) fn find_means(&self, root: &Path, holder: &Path) -> Result<Means, Missing> {
        let missing = |why: &str, mend: String| Missing {
            why: why.to_owned(),
            mend,
        };
        if !cfg!(target_os = "linux") {
            return Err(elsewhere());
        }
        if filter::program().is_none() {
            let mend = "there is nothing to install: let commands ask";
            return Err(missing(
                "Aside has none for this processor",
                mend.to_owned(),
            ));
        }
        if root.parent().is_none() {
            let mend = "open a folder further down".to_owned();
            return Err(missing("the workspace is the whole file system", mend));
        }
        if self.own.iter().any(|own| root.starts_with(real(own))) {
            let mend = "open another folder".to_owned();
            let why = "the workspace is a folder of Aside's own, which it would hide";
            return Err(missing(why, mend));
        }
        let bubblewrap = self.bubblewrap(root)?;
        let Some(shell) = self.program_outside("sh", root) else {
            let mend = "put the folder of `sh` into PATH".to_owned();
            return Err(missing("there is no `sh` outside the workspace", mend));
        };
        Ok(Means {
            bubblewrap,
            shell,
            holder: real(holder),
        })
    }

    /// Finds bubblewrap outside of folders that commands can write in.
    ///
    /// # Errors
    /// Fails if it is missing.
    pub(super) fn bubblewrap(&self, root: &Path) -> Result<PathBuf, Missing> {
        if !cfg!(target_os = "linux") {
            return Err(elsewhere());
        }
        let found = self.program_outside("bwrap", root);
        found.ok_or_else(|| Missing {
            why: "bubblewrap is not installed".to_owned(),
            mend: install(&os_release()),
        })
    }

    fn program_outside(&self, name: &str, root: &Path) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        program::find(name, &path, &self.writable(root))
    }

    /// The confinement of a command that runs in a folder of the workspace. `places` are read-only. Creates missing
    /// folders of Aside's own, so that no command can create them.
    pub(super) fn walls(&self, means: &Means, root: &Path, cwd: &Path, places: &Places) -> Walls {
        Walls {
            program: means.bubblewrap.clone(),
            args: self.layout(means, root, cwd, places).arguments(),
            hosts: match self.network {
                true => Vec::new(),
                false => self.hosts.clone(),
            },
            kind: WallKind::Sandbox,
        }
    }

    /// The protected places below the folders that commands can write in.
    pub(super) fn places(&self, root: &Path) -> Places {
        let writable = self.writable(root);
        let each = writable.iter().map(|folder| places::guarded(folder));
        let mut places: Places = each.flatten().collect();
        let repositories = self.repositories(&places, &writable);
        places::add(
            &mut places,
            repositories.iter().flat_map(|it| git::kept(it)),
        );
        places
    }

    /// The protected places before a command runs, after creating those that the command must not create.
    pub(super) fn places_before(&self, root: &Path) -> Places {
        let places = self.places(root);
        let repositories = self.repositories(&places, &self.writable(root));
        repositories.iter().for_each(|it| git::close(it));
        match repositories.is_empty() {
            true => places,
            false => self.places(root),
        }
    }

    /// The protected places after a command ran, including those of repositories that no longer look like one.
    pub(super) fn places_after(&self, root: &Path, before: &Places) -> Places {
        let mut places = self.places(root);
        let hooks = before.keys().filter(|place| place.ends_with("hooks"));
        let repositories = hooks.filter_map(|place| place.parent());
        places::add(&mut places, repositories.flat_map(git::kept));
        places
    }

    /// Removes files in Git repositories that only an attack makes. Returns the removed ones.
    pub(super) fn take_back(&self, made: &[PathBuf]) -> Vec<PathBuf> {
        let strange = made.iter().filter(|place| git::is_strange(place));
        let removed = strange.filter(|place| fs::remove_file(place).is_ok());
        removed.cloned().collect()
    }

    /// The repositories among these places that commands may write in: all, or those that are writable folders themselves.
    fn repositories(&self, places: &Places, writable: &[PathBuf]) -> Vec<PathBuf> {
        let is_open = |place: &&PathBuf| self.git || writable.contains(place);
        let found = places.keys().filter(is_open);
        found
            .filter(|place| git::is_repository(place))
            .cloned()
            .collect()
    }

    fn layout(&self, means: &Means, root: &Path, cwd: &Path, places: &Places) -> Layout {
        let writable = self.writable(root);
        let is_writable = |path: &Path| writable.iter().any(|folder| path.starts_with(folder));
        let is_above = |path: &Path| writable.iter().any(|folder| folder.starts_with(path));
        let repositories = self.repositories(places, &writable);
        let protected = places
            .keys()
            .filter(|place| !repositories.contains(place))
            .filter_map(|place| fs::canonicalize(place).ok())
            // Aside starts this program outside of the sandbox.
            .chain(std::iter::once(means.holder.clone()))
            .filter(|place| is_writable(place) && !is_above(place));
        let is_in_another = |own: &Path| {
            own.ancestors()
                .skip(1)
                .any(|it| self.own.iter().any(|o| o == it))
        };
        for own in self.own.iter().filter(|own| !is_in_another(own)) {
            if is_writable(own) && !own.exists() {
                // If this fails, the command cannot create it either.
                let _ = fs::create_dir_all(own);
            }
        }
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let secrets = secret_places(&home).into_iter();
        let fresh = ["/tmp", "/var/tmp", "/run"].map(PathBuf::from);
        let fresh: Vec<_> = fresh
            .into_iter()
            .filter(|folder| is_real_folder(folder))
            .collect();
        let lies_in_fresh = |place: &PathBuf| fresh.iter().any(|it| place.starts_with(it));
        // The content of a folder that appears empty need not be hidden.
        let hidden: BTreeSet<PathBuf> = secrets
            .chain(self.own.iter().cloned())
            .filter_map(|place| fs::canonicalize(place).ok())
            .filter(|place| !is_above(place) && (is_writable(place) || !lies_in_fresh(place)))
            .collect();
        let is_seen = |place: &PathBuf| !place.ancestors().skip(1).any(|it| hidden.contains(it));
        let (folders, files) = hidden
            .iter()
            .filter(|place| is_seen(place))
            .cloned()
            .partition(|place| place.is_dir());
        let names = self.network.then(|| real(Path::new("/etc/resolv.conf")));
        let opens = !self.network && !self.hosts.is_empty();
        let opener = opens.then(|| means.holder.clone());
        let readable = names.into_iter().chain(opener.clone());
        Layout {
            protected: protected.filter(is_seen).collect(),
            held: repositories.into_iter().filter(is_seen).collect(),
            hidden: folders,
            masked: files,
            readable: readable.filter(lies_in_fresh).collect(),
            fresh: fresh.clone(),
            network: self.network,
            opener,
            cwd: cwd.to_owned(),
            writable,
        }
    }

    /// Canonical paths of the folders that commands can write in, the workspace first.
    fn writable(&self, root: &Path) -> Vec<PathBuf> {
        let more = self.writable.iter();
        let more = more.filter_map(|folder| fs::canonicalize(folder).ok());
        let more = more.filter(|folder| folder.is_dir() && folder.parent().is_some());
        let repository = self.git.then(|| git::of_worktree(root)).flatten();
        let own = std::iter::once(root.to_owned());
        own.chain(repository).chain(more).collect()
    }
}

/// The canonical path, or the path itself if it does not exist.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

#[cfg(test)]
mod tests;

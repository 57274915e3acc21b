//! The walls around commands: what of the machine a command can reach, and how that is made.
//!
//! On Linux a command runs in a world that bubblewrap builds: the file system read-only but for the workspace, places
//! that other programs take code from read-only even there, Aside's own folders and the user's secrets out of sight, no
//! network, processes and a `/proc` of its own, no privileges, and a filter of system calls. Nothing here starts a
//! process; that the walls stand is found out by [`super::probe`].
//!
//! | module | what lives there |
//! |---|---|
//! | `layout` | the world of a command, as arguments for bubblewrap |
//! | `places` | what in a folder other programs take code from |
//! | `git` | what of Git's folders stays where commands may write in them |
//! | `filter` | the filter of system calls |
//! | [`hosts`] | which hosts a command may reach that has no network |
//! | `means`, `program` | what it is made with, and what to do where that is missing; programs found outside of the workspace |
//! | `commands`, `line`, `started` | the user's rules for commands, the simple commands that a line is made of, and what those start |

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OnceCell;

pub(super) mod commands;
#[cfg(target_os = "linux")]
pub(super) mod filter;
/// Other systems have no such filter, so that no walls are built there.
#[cfg(not(target_os = "linux"))]
pub(super) mod filter {
    pub(in crate::tool) fn program() -> Option<Vec<u8>> {
        None
    }
}
mod git;
pub mod hosts;
pub(super) mod layout;
mod line;
mod means;
pub(super) mod places;
pub(super) mod program;
mod started;

pub(super) use self::means::{mend, setting, shell};
pub use self::{
    commands::CommandRules,
    means::{Means, Missing},
};
use self::{
    commands::Verdict,
    hosts::AllowedHost,
    layout::Layout,
    means::{elsewhere, install, os_release},
    places::Places,
};
use super::workspace::secret_places;

/// What the user set about the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxRules {
    /// Everything is decided as if a sandbox held, and runs without one.
    pub unsandboxed: bool,
    /// There is to be none, so that everything asks.
    pub off: bool,
    /// Commands may use the network.
    pub network: bool,
    /// Where they may not, the hosts that they are let to.
    pub hosts: Vec<AllowedHost>,
    /// Commands may write in Git's folders, but for hooks, settings and the like.
    pub git: bool,
    /// Folders beside the workspace that commands may write in. Those that are not there do not count.
    pub writable: Vec<PathBuf>,
    /// Folders of Aside's own, its state first.
    pub own: Vec<PathBuf>,
    /// What is allowed, asked for or denied by name.
    pub commands: CommandRules,
}

/// The sandbox of a turn: what the user set, and whether it works here, which is found out when it is first needed.
#[derive(Debug, Default)]
pub struct Sandbox {
    /// What the user set.
    pub rules: SandboxRules,
    /// What it is made with, or why it cannot be made.
    pub(super) means: OnceCell<Result<Means, Missing>>,
    /// Places from which other programs take code that commands made in this turn.
    made: Mutex<BTreeSet<String>>,
    /// Hashes of commands that a person let run outside for the rest of the turn.
    let_out: Mutex<BTreeSet<String>>,
}

/// How a command is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Confinement {
    /// Inside the sandbox.
    Inside(Means),
    /// Outside of it, which a person has to allow; why.
    Outside(String),
    /// Outside of it, as the user said for every command.
    Free,
}

/// How a call of a command is decided, as far as it is not the mode's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandDecision {
    /// How it would be held.
    pub(super) held: Confinement,
    /// A rule of the user's approves it.
    pub(super) approved: bool,
    /// It asks whatever the mode says; why.
    pub(super) must_ask: Option<String>,
}

impl CommandDecision {
    /// Puts together how commands are held here, and what the user's rules say of this one. None where it is denied.
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
            // What is allowed by its name is allowed inside.
            Verdict::Allow => !matches!(held, Confinement::Outside(_)),
            Verdict::Ask(_) | Verdict::Silent => false,
        };
        let must_ask = match (&held, verdict) {
            (Confinement::Outside(why), _) => Some(why.clone()),
            (_, Verdict::Ask(rule)) => Some(format!("your rule `{rule}` asks")),
            _ => None,
        };
        Some(Self {
            held,
            approved,
            must_ask,
        })
    }
}

/// A program that starts another one inside of walls: bubblewrap with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walls {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, up to the program that it is to start.
    pub args: Vec<OsString>,
    /// The hosts that what it starts is let to, where it has no network.
    pub hosts: Vec<AllowedHost>,
    /// What they keep in.
    pub kind: WallKind,
}

/// What walls keep in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallKind {
    /// All that a command could do beyond its workspace.
    Sandbox,
    /// Nothing but processes: they are in a namespace of their own, so that none of them outlives it.
    Processes,
}

impl Walls {
    /// bubblewrap around a program that has all that its user has, and whose processes the kernel ends together, at the
    /// latest when nobody holds them any more.
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
    /// The sandbox that these rules ask for.
    #[must_use]
    pub fn new(rules: SandboxRules) -> Self {
        Self {
            rules,
            means: OnceCell::new(),
            made: Mutex::default(),
            let_out: Mutex::default(),
        }
    }

    /// Keeps what a command made, so that a person knows before something runs outside.
    pub(super) fn note_made(&self, names: &[String]) {
        self.made().extend(names.iter().cloned());
    }

    /// Why a person is asked, and what commands made that could run then.
    pub(super) fn with_made(&self, why: String) -> String {
        let made = self.made();
        if made.is_empty() {
            return why;
        }
        let names = places::listed(&*made);
        format!("{why}; commands made {names}, from which other programs take code")
    }

    /// What the user's rules say once commands of this turn made something: a rule that lets a command out of the sandbox
    /// counts no more where other programs, and so that command, may take code from it.
    pub(super) fn after_made(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Unsandboxed(_) if !self.made().is_empty() => Verdict::Silent,
            verdict => verdict,
        }
    }

    /// A person lets what has this hash run outside for the rest of the turn.
    pub(super) fn let_out(&self, hash: String) {
        let mut all = self.let_out.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(hash);
    }

    /// Whether a person did.
    pub(super) fn is_let_out(&self, hash: &str) -> bool {
        let all = self.let_out.lock().unwrap_or_else(PoisonError::into_inner);
        all.contains(hash)
    }

    fn made(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // A set is whole after each change of it.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None, and nothing asks for want of it.
    #[must_use]
    pub fn unsandboxed() -> Self {
        Self::new(SandboxRules {
            unsandboxed: true,
            ..SandboxRules::default()
        })
    }
}

impl SandboxRules {
    /// Whether it matters if a sandbox works here.
    pub(super) fn wants_one(&self) -> bool {
        !self.unsandboxed && !self.off
    }

    /// How a command is held. `means` is what a sandbox is made with here.
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

    /// Looks for the programs of a sandbox, without trying them.
    ///
    /// # Errors
    /// Where one is missing, or the workspace cannot be confined.
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

    /// bubblewrap, where no command of the workspace can have put it.
    ///
    /// # Errors
    /// Where it is missing.
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

    /// The walls around a command that runs in a folder of the workspace. `places` stay as they are. Makes folders of
    /// Aside's own that a command could make in its place.
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

    /// The places that a command could write in, and from which other programs take code.
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

    /// The same before a command runs, with what it could make in place of what is not there.
    pub(super) fn places_before(&self, root: &Path) -> Places {
        let places = self.places(root);
        let repositories = self.repositories(&places, &self.writable(root));
        repositories.iter().for_each(|it| git::close(it));
        match repositories.is_empty() {
            true => places,
            false => self.places(root),
        }
    }

    /// The same after it ran, where it may have made of a repository what no longer looks like one: each has hooks before.
    pub(super) fn places_after(&self, root: &Path, before: &Places) -> Places {
        let mut places = self.places(root);
        let hooks = before.keys().filter(|place| place.ends_with("hooks"));
        let repositories = hooks.filter_map(|place| place.parent());
        places::add(&mut places, repositories.flat_map(git::kept));
        places
    }

    /// Removes what a command made where it could write in Git's folders, and nothing but an attack makes. Gives what is
    /// gone.
    pub(super) fn take_back(&self, made: &[PathBuf]) -> Vec<PathBuf> {
        let strange = made.iter().filter(|place| git::is_strange(place));
        let removed = strange.filter(|place| fs::remove_file(place).is_ok());
        removed.cloned().collect()
    }

    /// The repositories among these places that commands may write in: all, or those that are a writable folder themselves.
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
            // What Aside starts outside of the walls.
            .chain(std::iter::once(means.holder.clone()))
            .filter(|place| is_writable(place) && !is_above(place));
        let is_in_another = |own: &Path| {
            own.ancestors()
                .skip(1)
                .any(|it| self.own.iter().any(|o| o == it))
        };
        for own in self.own.iter().filter(|own| !is_in_another(own)) {
            if is_writable(own) && !own.exists() {
                // Where this fails the command cannot make it either.
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
        // What lies in a folder that is empty anyway need not be hidden.
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

    /// The real paths of the folders that commands write in, the workspace first.
    fn writable(&self, root: &Path) -> Vec<PathBuf> {
        let more = self.writable.iter();
        let more = more.filter_map(|folder| fs::canonicalize(folder).ok());
        let more = more.filter(|folder| folder.is_dir() && folder.parent().is_some());
        let repository = self.git.then(|| git::of_worktree(root)).flatten();
        let own = std::iter::once(root.to_owned());
        own.chain(repository).chain(more).collect()
    }
}

/// The real path, or the path itself where nothing is there.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

#[cfg(test)]
mod tests;

//! The sandbox: what a command can reach of the machine, and how that is enforced.
//!
//! On Linux bubblewrap builds the sandbox: the file system is read-only except for the workspace, files that other
//! programs execute are read-only even there, Aside's own folders and the user's secrets are hidden. There is no
//! network, there are separate processes and a separate `/proc`, no privileges, and a filter of system calls. Nothing
//! here starts a process; [`super::probe`] tests whether the sandbox works. On macOS `sandbox-exec` builds it, from a profile
//! of the same layout.
//!
//! | module | contents |
//! |---|---|
//! | `walls` | the walls of a command, from the user's settings and what is in the workspace; on Windows there are none |
//! | `workspace_places` | the protected places of a workspace, and the folders in which commands may write there |
//! | `layout` | everything that a command can reach, and as arguments for bubblewrap |
//! | `seatbelt` | the same as a profile for `sandbox-exec` |
//! | `mounts`, `mountinfo` | what has to be mounted inside, or is tried there, and whether it is so; the mounts that the kernel lists |
//! | `own_folders` | Aside's own folders, made before a command could make them |
//! | `places`, `place_search`, `package_folders` | protected places: files that other programs execute, the search for them, and where it does not look |
//! | `place_tree`, `listed_folder`, `folder_watch` | the folders that were searched, how one is listed, and what the kernel tells of its changes |
//! | `file_mark`, `other_names` | identity of a file; hard links of files in protected folders |
//! | `inside`, `inside_lock` | programs that run inside at the same time, and what was found before the first of them; the lock that they share with those of other Asides |
//! | `sides` | programs inside and outside, which do not run at the same time |
//! | `git`, `git_named`, `git_config` | read-only parts of a repository in which commands may write; what its settings name, and how they are read |
//! | `env_named` | what settings of direnv and mise load |
//! | `git_ways`, `git_back` | what Git would follow out of a repository in which commands may write; what is taken back of that after a command |
//! | `filter`, `second_wall` | the filter of system calls; rules of the kernel's that hold besides the mounts |
//! | `outside_sockets`, `bound_files` | Unix sockets of programs outside, which are put out of sight; the files that they are bound to |
//! | `secret_links` | what links in folders of secrets lead to |
//! | `named_pipes` | named pipes of programs outside that the second wall does not hold |
//! | [`hosts`] | hosts that a command without network may reach through a proxy |
//! | `means` | the programs that the sandbox needs, found outside of the workspace, and advice if one is missing |
//! | `commands` | the user's rules for commands |
//! | `known_programs`, `same_program`, `same_words` | programs of which something is known, by name and subcommand; whether two names are of one program, and two words of one subcommand or option |
//! | `plain`, `single`, `line`, `started` | the commands of a line: exactly, one that is alone for a shell of another kind, as far as a parser finds them, and those in arguments |
//! | `rule_beside` | the words of a rule beside those of a command |

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Mutex,
};

use aside_base::{
    lock,
    system::{files::FileFacts, folders::canonical},
};
use aside_turn::rules::CommandRules;
use tokio::sync::OnceCell;

#[cfg(target_os = "linux")]
mod bound_files;
pub(super) mod commands;
mod env_named;
mod file_mark;
#[cfg_attr(not(target_os = "linux"), path = "filter/none.rs")]
pub(super) mod filter;
#[cfg_attr(not(target_os = "linux"), path = "folder_watch/none.rs")]
mod folder_watch;
mod git;
pub(super) mod git_back;
mod git_config;
mod git_named;
mod git_ways;
pub mod hosts;
mod inside;
pub(super) mod inside_lock;
mod known_programs;
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) mod layout;
mod line;
mod listed_folder;
mod means;
#[cfg_attr(not(target_os = "linux"), path = "mountinfo/none.rs")]
mod mountinfo;
#[cfg_attr(target_os = "macos", path = "mounts/tried.rs")]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "macos")),
    path = "mounts/none.rs"
)]
pub(super) mod mounts;
#[cfg(target_os = "linux")]
mod named_pipes;
mod other_names;
#[cfg(target_os = "linux")]
mod outside_sockets;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod own_folders;
mod package_folders;
pub(super) mod place_search;
mod place_tree;
pub(super) mod places;
mod plain;
mod rule_beside;
pub(super) mod same_program;
mod same_words;
#[cfg(any(target_os = "macos", all(test, target_os = "linux")))]
pub(super) mod seatbelt;
#[cfg(target_os = "linux")]
pub(super) mod second_wall;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod secret_links;
pub(super) mod sides;
mod single;
mod started;
#[cfg_attr(target_os = "macos", path = "seatbelt/walls.rs")]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "macos")),
    path = "no_walls.rs"
)]
mod walls;
mod workspace_places;

pub(super) use self::inside::InsidePrograms;
pub use self::inside::RunningInside;
pub use self::inside_lock::InsideLock;
pub use self::means::{Means, Missing};
pub(super) use self::means::{mend, named_shell, setting, shell};
use self::{
    commands::Verdict,
    file_mark::FileMark,
    hosts::AllowedHost,
    means::{elsewhere, install, os_release, program_outside},
    mounts::MeantMounts,
    sides::Sides,
};

/// Whether Aside can build walls on this system.
const ARE_KNOWN: bool = cfg!(any(target_os = "linux", target_os = "macos"));

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
    /// Programs that run inside, and the places that were found when none did.
    pub(super) inside: InsidePrograms,
    /// Programs of this turn by the side of the walls that they run on.
    pub(super) sides: Sides,
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
                "your rule `{rule}` may apply to something that the command starts"
            )),
            _ => None,
        };
        Some(Self {
            held,
            approved,
            must_ask,
        })
    }

    /// Asks, whatever a rule allows, where the sandbox leaves something open for this reason.
    pub(super) fn with_gaps(self, reason: Option<String>) -> Self {
        match reason {
            None => self,
            Some(reason) => Self {
                approved: false,
                must_ask: Some(match self.must_ask {
                    Some(other) => format!("{other}; {reason}"),
                    None => reason,
                }),
                ..self
            },
        }
    }
}

/// A program that starts another one in confinement: bubblewrap with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walls {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments up to the program that it starts.
    pub args: Vec<OsString>,
    /// The mounts that the first program inside expects.
    pub(crate) meant: MeantMounts,
    /// Hosts that the started program may reach without the network.
    pub hosts: Vec<AllowedHost>,
    /// Whether the started program may make Unix sockets.
    pub has_unix: bool,
    /// Git repositories in which the started program may write.
    pub repositories: Vec<PathBuf>,
    /// Files below writable folders that appear empty, by their numbers; 0 if one is gone.
    pub(crate) masked: Vec<(PathBuf, Option<FileMark>)>,
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
            meant: MeantMounts::default(),
            hosts: Vec::new(),
            has_unix: true,
            repositories: Vec::new(),
            masked: Vec::new(),
            kind: WallKind::Processes,
        }
    }
}

impl Walls {
    /// Removes the empty files that bubblewrap made where a masked one was gone by then, as a socket of a program that
    /// ended.
    pub(super) fn clear(&self) {
        for (path, mark) in &self.masked {
            let is_other = FileMark::at(path).ok() != *mark;
            // It makes them without a right to write.
            let is_made = FileFacts::itself(path).is_ok_and(|about| {
                about.is_file() && about.len() == 0 && about.permissions().readonly()
            });
            if is_other && is_made {
                let _ = std::fs::remove_file(path);
            }
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
            inside: InsidePrograms::default(),
            sides: Sides::default(),
        }
    }

    /// Remembers protected places that a command made, so that a person is told before a command runs outside.
    pub(super) fn note_made(&self, names: &[String]) {
        lock(&self.made).extend(names.iter().cloned());
    }

    /// Protected places that commands of this turn made.
    pub(super) fn made(&self) -> BTreeSet<String> {
        lock(&self.made).clone()
    }

    /// Whether commands of this turn made protected places.
    pub(super) fn has_made(&self) -> bool {
        !lock(&self.made).is_empty()
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
            Verdict::Unsandboxed(_) if self.has_made() => Verdict::Silent,
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
        if !ARE_KNOWN {
            return Err(elsewhere());
        }
        if cfg!(target_os = "linux") && filter::program(false).is_none() {
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
        let builder = self.builder(root)?;
        let Some(shell) = self.program_outside("sh", root) else {
            let mend = "put the folder of `sh` into PATH".to_owned();
            return Err(missing("there is no `sh` outside the workspace", mend));
        };
        Ok(Means {
            builder,
            shell,
            holder: real(holder),
        })
    }

    /// The program that builds walls here.
    #[cfg(not(target_os = "macos"))]
    fn builder(&self, root: &Path) -> Result<PathBuf, Missing> {
        self.bubblewrap(root)
    }

    /// Finds bubblewrap outside of folders that commands can write in.
    ///
    /// # Errors
    /// Fails if it is missing.
    pub(super) fn bubblewrap(&self, root: &Path) -> Result<PathBuf, Missing> {
        if !cfg!(target_os = "linux") {
            return Err(Missing {
                why: "Aside makes those on Linux alone".to_owned(),
                mend: "there is nothing to install".to_owned(),
            });
        }
        let found = self.program_outside("bwrap", root);
        found.ok_or_else(|| Missing {
            why: "bubblewrap is not installed".to_owned(),
            mend: install(&os_release()),
        })
    }

    fn program_outside(&self, name: &str, root: &Path) -> Option<PathBuf> {
        program_outside(name, &self.writable(root))
    }
}

/// The canonical path, or the path itself if it does not exist.
fn real(path: &Path) -> PathBuf {
    canonical(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

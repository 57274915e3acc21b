//! A trial of the walls that `sandbox-exec` builds on macOS.
//!
//! The meaning of a profile is decided by the system, and no test of another system can tell. So each promise is tried, first in
//! a workspace that is made for that, where the trial may damage what it can, then at each protected and hidden place of the
//! real one. Walls count only if all of it holds.

use std::{
    env, fs, io,
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use aside_base::system::folders::canonical;
use tempfile::TempDir;

use super::script::{Fault, MOST, no_ground, run};
use crate::{
    process::{
        CommandEnd,
        quiet::{Quiet, read_quietly},
    },
    sandbox::{
        Means, Missing, SandboxRules, Walls,
        hosts::AllowedHost,
        mounts::Trial,
        place_search::ListedFolders,
        places::{KnownPlaces, Places},
    },
};

/// Time limit of each part where nothing is protected, and what each protected place adds.
const TIME: Duration = Duration::from_secs(20);
const TIME_OF_PLACE: Duration = Duration::from_millis(5);
/// Printed at the beginning and at the end of the script.
const BEGUN: &str = "-- begun --";
const ENDED: &str = "-- ended --";
/// Content of a file that cannot be read.
const SECRET: &str = "a secret of the trial";
/// Content of files that cannot be changed.
const KEPT: &str = "as it was";
/// The beginning of what `sandbox-exec` says of itself.
const BUILDER: &str = "sandbox-exec: ";

/// Does in the workspace of the trial what must not work, then what must. `$1` is the folder around it, `$2` the process of
/// Aside, `$3` the name of a job.
const SCRIPT: &str = r#"echo '-- begun --'
exec 2>&1
cat "$1/own/secret"
echo x >"$1/outside/made"; echo x >>"$1/outside/kept"
echo x >>.git/config; echo x >>.GIT/config; rm -f .git/config; mv .git moved; rm -rf .git
echo x >x; mv -f x .git/config; mv -f x sub/.npmrc; mv -f x "$1/outside/kept"
mkdir .hg .HG .vſcode sub/.husky; ln -s /etc .idea; echo x >new.bazelrc
mkdir 'odd
name' 'odd
name/.hg'
mv sub other; rmdir sub; echo x >>named/hook; mv named other
ln "$1/own/secret" hard; ln .git/config hard; echo x >single; ln single hard
cp -c "$1/own/secret" clone; cat clone
echo x >setuid; chmod 4755 setuid; chmod u+s setuid
kill -0 "$2" && echo '-- signals --'
[ -u /bin/ps ] && /bin/ps -p "$2" >/dev/null && echo '-- privileges --'
/bin/launchctl submit -l "$3" -- /usr/bin/touch "$1/outside/made" && echo '-- launches --'
/bin/launchctl setenv "$3" x && echo '-- variables --'
echo x >/tmp/"$3" && echo '-- shares --'
echo x >"$TMPDIR/private" && mkdir -p node_modules/a/.git && echo x >plain && mv plain made && (exit 7)
[ $? = 7 ] && [ -f "$TMPDIR/private" ] && echo '-- ended --'
"#;

/// Tries whether walls stand around a command of this workspace.
///
/// # Errors
/// Where they do not.
pub(super) async fn tried(
    rules: &SandboxRules,
    root: &Path,
    holder: &Path,
    means: &Means,
) -> Result<(), Missing> {
    let ground = TrialGround::lay(rules).map_err(|error| failed(no_ground(&error)))?;
    let (how, output) = ground.run(means, holder).await?;
    let judged = ground.judge(&output);
    ground.clear(holder).await;
    judged.map_err(|fault| missing(&fault, &how, &output))?;
    // Now each place of the workspace itself.
    let places = rules.places_before(root, &KnownPlaces::new(), &ListedFolders::of_process());
    let count = u32::try_from(places.paths().count()).unwrap_or(u32::MAX);
    let walls = rules.walls(means, root, root, &places)?;
    let script = format!("echo '{ENDED}'");
    let time = TIME + TIME_OF_PLACE.saturating_mul(count);
    let ran = run(walls, &script, Vec::new(), root, means, holder, time).await;
    let (how, output) = ran.map_err(failed)?;
    match how == CommandEnd::Exit(0) && output.contains(ENDED) {
        true => Ok(()),
        false => Err(missing(&Fault::NotStarted, &how, &output)),
    }
}

fn failed(why: String) -> Missing {
    Missing {
        why,
        mend: "there is nothing to install: let commands ask, and report this with the version of macOS"
            .to_owned(),
    }
}

/// The reason why a trial that ended in this way found a fault.
fn missing(fault: &Fault, how: &CommandEnd, output: &str) -> Missing {
    let said = output.lines().find_map(|line| line.strip_prefix(BUILDER));
    failed(fault.in_words(|| match (said, how) {
        (Some(said), _) => format!("sandbox-exec says \"{said}\""),
        (None, CommandEnd::Unbuilt(why)) => why.clone(),
        (None, how) => format!("sandbox-exec does not run a command: {}", how.line(TIME)),
    }))
}

/// A workspace with places of each kind, and what lies around it.
struct TrialGround {
    folder: TempDir,
    /// The same, canonical.
    path: PathBuf,
    /// Listens on this machine.
    port: TcpListener,
    socket: UnixListener,
    /// The name of a job of the system that must not come to be.
    job: String,
    /// The user's settings of the network.
    network: bool,
    hosts: Vec<AllowedHost>,
}

impl TrialGround {
    fn lay(rules: &SandboxRules) -> io::Result<Self> {
        let state = rules.own.first().cloned().unwrap_or_else(env::temp_dir);
        fs::create_dir_all(&state)?;
        let folder = tempfile::Builder::new()
            .prefix("trial-")
            .tempdir_in(&state)?;
        let path = canonical(folder.path())?;
        for inner in ["own", "outside", "w/.git", "w/sub", "w/named"] {
            fs::create_dir_all(path.join(inner))?;
        }
        fs::write(path.join("own/secret"), SECRET)?;
        for kept in [
            "outside/kept",
            "w/.git/config",
            "w/sub/.npmrc",
            "w/named/hook",
        ] {
            fs::write(path.join(kept), KEPT)?;
        }
        let port = TcpListener::bind(("127.0.0.1", 0))?;
        let socket = UnixListener::bind(path.join("w/s"))?;
        port.set_nonblocking(true)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            folder,
            path,
            port,
            socket,
            job: format!("aside-trial-{}-{:016x}", process::id(), fastrand::u64(..)),
            network: rules.network,
            hosts: rules.hosts.clone(),
        })
    }

    fn root(&self) -> PathBuf {
        self.path.join("w")
    }

    /// Walls as a command has them whose workspace this is, and more trials inside.
    fn walls(&self, means: &Means) -> Result<Walls, Missing> {
        let root = self.root();
        let rules = SandboxRules {
            own: vec![self.path.join("own")],
            network: self.network,
            hosts: self.hosts.clone(),
            ..SandboxRules::default()
        };
        let mut places: Places =
            rules.places(&root, &KnownPlaces::new(), &ListedFolders::default());
        places.add_named(root.join("named"), std::slice::from_ref(&root));
        let walls = rules.walls(means, &root, &root, &places)?;
        let port = self.port.local_addr().map_or(0, |address| address.port());
        let meant = walls
            .meant
            .clone()
            .and(Trial::Write, self.path.join("outside"))
            .and(Trial::Write, self.path.join("outside/kept"))
            .and(Trial::Write, root.join(".git"))
            .and(Trial::Make, root.join(".svn"))
            .and(Trial::Exchange, root.join(".git"))
            .and(Trial::Exchange, root.join("named"))
            .and(Trial::Exchange, root.join("sub"))
            .and(Trial::Make, root.join("sub/.Svn"))
            .and(Trial::Clone, self.path.join("outside"))
            .and(Trial::Read, self.path.join("own/secret"))
            .and(Trial::Socket, root.join("s"))
            .and(Trial::Open, &root);
        let meant = match self.network {
            true => meant,
            false => meant.and(Trial::Port, port.to_string()),
        };
        Ok(Walls { meant, ..walls })
    }

    async fn run(&self, means: &Means, holder: &Path) -> Result<(CommandEnd, String), Missing> {
        let words = [
            self.path.clone().into(),
            process::id().to_string().into(),
            self.job.clone().into(),
        ];
        let (walls, root) = (self.walls(means)?, self.root());
        let ran = run(walls, SCRIPT, words.into(), &root, means, holder, TIME).await;
        ran.map_err(failed)
    }

    fn judge(&self, output: &str) -> Result<(), Fault> {
        let is = |inner: &str| fs::symlink_metadata(self.path.join(inner)).is_ok();
        let was =
            |inner: &str| fs::read(self.path.join(inner)).is_ok_and(|it| it == KEPT.as_bytes());
        let has_twin =
            |inner: &str| fs::metadata(self.path.join(inner)).is_ok_and(|about| about.nlink() > 1);
        let is_setuid = fs::metadata(self.path.join("w/setuid"))
            .is_ok_and(|about| about.permissions().mode() & 0o6000 != 0);
        let made = [
            ".hg",
            ".HG",
            ".vſcode",
            "sub/.husky",
            ".idea",
            "new.bazelrc",
            "odd\nname/.hg",
        ];
        let linked = ["own/secret", "w/.git/config", "w/single"];
        let leaks = [
            (output.contains(SECRET), "can read hidden files"),
            (
                is("outside/made") || !was("outside/kept"),
                "can write outside of the workspace",
            ),
            (
                !was("w/.git/config") || !was("w/sub/.npmrc") || !was("w/named/hook"),
                "can change or move protected files",
            ),
            (
                made.iter().any(|name| is(&format!("w/{name}"))),
                "can make protected files",
            ),
            (linked.into_iter().any(has_twin), "can make hard links"),
            (is_setuid, "can make setuid programs"),
            (output.contains("-- signals --"), "can end programs outside"),
            (output.contains("-- privileges --"), "can get privileges"),
            (
                output.contains("-- launches --"),
                "can start programs outside",
            ),
            (
                output.contains("-- variables --"),
                "can set variables of programs outside",
            ),
            (output.contains("-- shares --"), "can write in /tmp"),
            (self.port.accept().is_ok(), "has a network"),
            (self.socket.accept().is_ok(), "can connect to Unix sockets"),
        ];
        if let Some((_, what)) = leaks.into_iter().find(|(leaks, _)| *leaks) {
            return Err(Fault::Leaks(what));
        }
        let works = is("w/made") && is("w/node_modules/a/.git");
        match works && output.contains(BEGUN) && output.contains(ENDED) {
            true => Ok(()),
            false => Err(Fault::NotStarted),
        }
    }

    /// Takes away what is left if something did work.
    async fn clear(self, holder: &Path) {
        let _ = fs::remove_file(Path::new("/tmp").join(&self.job));
        for undo in ["remove", "unsetenv"] {
            let undo = Quiet {
                program: "/bin/launchctl".into(),
                args: vec![undo.into(), self.job.clone().into()],
                cwd: self.path.clone(),
                env: Vec::new(),
                time: TIME,
                most: MOST,
                walls: None,
            };
            let _ = read_quietly(undo, holder).await;
        }
        let _ = self.folder.close();
    }
}

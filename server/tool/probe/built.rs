//! A trial of the walls that bubblewrap builds.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::script::{Fault, no_ground, run};
use crate::{
    process::CommandEnd,
    sandbox::{
        Means, Missing, SandboxRules, mend, place_search::ListedFolders, places::KnownPlaces,
        setting,
    },
};

/// Time limit of the probe where nothing is protected, and what each protected place adds: bubblewrap needs the longer for
/// a mount the more there are.
const TIME: Duration = Duration::from_secs(10);
const TIME_OF_PLACE: Duration = Duration::from_millis(25);
/// Times that it is run where it does not start, and where its walls were not as meant: what another program changes
/// meanwhile may be changed again.
const TRIES: usize = 3;
const TRIES_TO_BUILD: usize = 10;
/// Separator of the parts of its output.
const MARK: &str = "-- aside --";

/// The beginning of what bubblewrap says of itself.
const BUILDER: &str = "bwrap: ";

/// Prints what the kernel says of it and of the network, reads the canary `$1`, and writes to it and to `$2`, which is
/// not there.
const SCRIPT: &str = "while read -r line; do echo \"$line\"; done </proc/self/status; echo '-- aside --'; \
    cat /proc/net/dev; echo; echo '-- aside --'; \
    cat \"$1\" 2>&1; (echo x >\"$1\") 2>/dev/null; (echo x >\"$2\") 2>/dev/null; echo; echo '-- aside --'";

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
    let failed = |why: String| Missing {
        mend: mend(&why, setting),
        why,
    };
    let bait = Bait::lay(rules).map_err(|error| failed(no_ground(&error)))?;
    let mut tries = 0;
    loop {
        tries += 1;
        let places = rules.places(root, &KnownPlaces::new(), &ListedFolders::of_process());
        let walls = rules.walls(means, root, root, &places)?;
        let count = u32::try_from(places.paths().count()).unwrap_or(u32::MAX);
        let time = TIME + TIME_OF_PLACE.saturating_mul(count);
        let ran = run(walls, SCRIPT, bait.words(), root, means, holder, time).await;
        let (how, output) = ran.map_err(failed)?;
        let most = match how {
            CommandEnd::Unbuilt(_) => TRIES_TO_BUILD,
            _ => TRIES,
        };
        let tried = Tried {
            output: &output,
            canary: &bait.word,
            is_touched: bait.is_touched(),
            network: rules.network,
        };
        match tried.judge() {
            Ok(()) => return Ok(()),
            // Something that belongs to the walls may have gone away while they were built.
            Err(Fault::NotStarted) if tries < most => {}
            Err(fault) => {
                let said = output.lines().find_map(|line| line.strip_prefix(BUILDER));
                return Err(failed(fault.in_words(|| match said {
                    Some(said) => format!("bubblewrap says \"{said}\""),
                    None => format!("bubblewrap does not start a command: {}", how.line(time)),
                })));
            }
        }
    }
}

/// Targets that a sandboxed command must not reach.
struct Bait {
    /// A file of Aside's own.
    canary: tempfile::NamedTempFile,
    /// The word that is in that file, and that nothing inside may print.
    word: String,
    /// A file that is not there, in a folder that the user can write in.
    absent: PathBuf,
}

impl Bait {
    fn lay(rules: &SandboxRules) -> io::Result<Self> {
        let folder = rules.own.first().cloned().unwrap_or_else(env::temp_dir);
        fs::create_dir_all(&folder)?;
        let word = format!("canary {:016x}", fastrand::u64(..));
        let mut canary = tempfile::Builder::new()
            .prefix("probe-")
            .tempfile_in(&folder)?;
        canary.write_all(word.as_bytes())?;
        let absent = folder.join(format!("probe-{:016x}", fastrand::u64(..)));
        Ok(Self {
            canary,
            word,
            absent,
        })
    }

    /// The words of the script.
    fn words(&self) -> Vec<OsString> {
        vec![self.canary.path().into(), self.absent.clone().into()]
    }

    /// Whether either was written.
    fn is_touched(&self) -> bool {
        let same = fs::read(self.canary.path()).is_ok_and(|now| now == self.word.as_bytes());
        let made = fs::remove_file(&self.absent).is_ok();
        !same || made
    }
}

/// Result of the probe.
struct Tried<'a> {
    output: &'a str,
    canary: &'a str,
    is_touched: bool,
    network: bool,
}

impl Tried<'_> {
    fn judge(&self) -> Result<(), Fault> {
        let leaks = |what| Err(Fault::Leaks(what));
        if self.is_touched {
            return leaks("can change files of Aside's own");
        }
        if self.output.contains(self.canary) {
            return leaks("can read files of Aside's own");
        }
        let parts: Vec<&str> = self.output.split(MARK).collect();
        let [status, network, _, _] = parts[..] else {
            return Err(Fault::NotStarted);
        };
        let is = |name: &str, value: &str| {
            let mut lines = status.lines();
            lines.any(|line| {
                line.strip_prefix(name)
                    .is_some_and(|rest| rest.trim() == value)
            })
        };
        if !is("CapEff:", "0000000000000000") || !is("CapBnd:", "0000000000000000") {
            return leaks("keeps privileges");
        }
        if !is("NoNewPrivs:", "1") {
            return leaks("can get privileges");
        }
        if !is("Seccomp:", "2") {
            return leaks("runs without a filter of system calls");
        }
        if !is("PPid:", "1") {
            return leaks("sees processes outside");
        }
        let mut devices = network.lines().filter_map(|line| line.split_once(':'));
        if !self.network && devices.any(|(name, _)| name.trim() != "lo") {
            return leaks("has a network");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tcat\nPPid:\t1\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n\
        NoNewPrivs:\t1\nSeccomp:\t2\n";
    const NETWORK: &str = "Inter-|\n face |bytes\n    lo:       0\n";

    fn judge(status: &str, network: &str, read: &str) -> Result<(), Fault> {
        let output = format!("{status}\n{MARK}\n{network}\n{MARK}\n{read}\n{MARK}\n");
        Tried {
            output: &output,
            canary: "canary 1",
            is_touched: false,
            network: false,
        }
        .judge()
    }

    #[test]
    fn only_walls_without_a_gap_stand() {
        assert_eq!(judge(STATUS, NETWORK, "cat: cannot open"), Ok(()));
        let check = |from: &str, to: &str, what: &'static str| {
            let status = STATUS.replace(from, to);
            assert_ne!(status, STATUS);
            assert_eq!(judge(&status, NETWORK, ""), Err(Fault::Leaks(what)));
        };
        check(
            "CapEff:\t0000000000000000",
            "CapEff:\t000001ffffffffff",
            "keeps privileges",
        );
        check("CapBnd:\t0000000000000000", "", "keeps privileges");
        check("NoNewPrivs:\t1", "NoNewPrivs:\t0", "can get privileges");
        check(
            "Seccomp:\t2",
            "Seccomp:\t0",
            "runs without a filter of system calls",
        );
        check("PPid:\t1", "PPid:\t812", "sees processes outside");
        let eth = format!("{NETWORK}  eth0: 1\n");
        assert_eq!(judge(STATUS, &eth, ""), Err(Fault::Leaks("has a network")));
        let read = Err(Fault::Leaks("can read files of Aside's own"));
        assert_eq!(judge(STATUS, NETWORK, "canary 1"), read);
    }

    #[test]
    fn a_script_that_did_not_end_says_nothing() {
        let tried = |output, is_touched| {
            Tried {
                output,
                canary: "canary 1",
                is_touched,
                network: false,
            }
            .judge()
        };
        assert_eq!(tried("bwrap: no\n", false), Err(Fault::NotStarted));
        assert_eq!(tried("", false), Err(Fault::NotStarted));
        let touched = Err(Fault::Leaks("can change files of Aside's own"));
        assert_eq!(tried("", true), touched);
    }
}

//! The layout of a command as a profile for `sandbox-exec`, which builds the walls of macOS (Seatbelt).
//!
//! The last rule that fits decides, and what no rule fits is denied. A rule that allows spells its paths letter by letter;
//! one that denies fits the other spellings of the same names too, and rather too many paths than too few. So a path that
//! is spelled in a way that nobody thought of is closed.

use std::{
    collections::BTreeSet,
    fmt::Write,
    path::{Path, PathBuf},
};

use super::{layout::Layout, package_folders::package_names};
use crate::workspace::protected::{all_places, fixed_above};

#[cfg(test)]
#[cfg(target_os = "macos")]
mod native_tests;
mod spelling;
#[cfg(test)]
mod tests;

use self::spelling::{grouped, quoted, spelled, table_name};

/// Argument of the first program inside, before the name of a variable and a folder of the private one.
#[cfg(target_os = "macos")]
pub(crate) const CACHE: &str = "--cache";
/// Where the profile stands among the arguments of `sandbox-exec`, and where the first program inside is told its wire.
#[cfg(target_os = "macos")]
pub(crate) const PROFILE_AT: usize = 1;
#[cfg(target_os = "macos")]
pub(crate) const WIRE_AT: usize = 4;

/// The folder in which what lies in homes has a second path.
pub(crate) const DATA: &str = "/System/Volumes/Data";

/// Rules that every command has. Mach services are programs that act for others, so that each one is a way out: only
/// those are here that look up users, name their temporary folder, and take lines for the log. launchd itself starts
/// nothing for anybody who is confined. The default does not reach some operations, as looks into other processes: the
/// first version of the language allows them until a rule denies them by name.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec* process-fork)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow sysctl-write (sysctl-name "kern.grade_cputype"))
(allow mach-lookup
 (global-name "com.apple.bsd.dirhelper")
 (global-name "com.apple.system.opendirectoryd.libinfo")
 (global-name "com.apple.system.opendirectoryd.membership")
 (global-name "com.apple.system.logger"))
(allow ipc-posix-sem)
(allow file-map-executable)
(allow file-read*)
(deny file-read* file-write* file-ioctl (regex #"^/dev/ttys[0-9]+$"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* file-ioctl
 (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow file-write-data file-ioctl
 (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath "/dev/fd"))
"#;

/// Any folders in a pattern. A dot may not fit a line break, which a name can have.
const FOLDERS: &str = "([^/]+/)*";

/// Rules for a command that may use the network: no Unix socket but the one that resolves names.
const NETWORK: &str = r#"(allow network-outbound (remote ip "*:*"))
(allow network-inbound (local ip "*:*"))
(allow network-bind (local ip "*:*"))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow mach-lookup
 (global-name "com.apple.SystemConfiguration.DNSConfiguration")
 (global-name "com.apple.SystemConfiguration.configd")
 (global-name "com.apple.networkd")
 (global-name "com.apple.trustd")
 (global-name "com.apple.trustd.agent"))
"#;

/// Rules that no other takes back: a program that others start with their own rights is not made, nor a second name of a
/// file, nor a clone of a folder. Nothing is asked for what lies in a folder that is cloned, so that what is hidden there
/// could be read in the clone. The default does not reach the last two.
const LAST: &str =
    "(deny file-write-setugid)\n(deny file-link)\n(deny file-clone (vnode-type DIRECTORY))\n";

/// The profile of a command.
///
/// # Errors
/// Returns a path that is to be writable and that no profile can spell.
pub(super) fn profile(layout: &Layout) -> Result<String, PathBuf> {
    let mut text = BASE.to_owned();
    if layout.network {
        text.push_str(NETWORK);
    }
    for folder in &layout.writable {
        let quoted = quoted(folder).ok_or_else(|| folder.clone())?;
        let _ = writeln!(text, "(allow file-write* (subpath {quoted}))");
    }
    let root = layout.writable.first();
    if let Some((root, quoted)) = root.and_then(|root| Some((root, quoted(root)?))) {
        text.push_str(&table(root, &quoted));
    }
    let places = layout.protected.keys();
    let places = places.filter(|place| !root.is_some_and(|root| is_in_table(place, root)));
    deny(&mut text, "file-write*", places.map(|it| covered(it)));
    let pins: BTreeSet<&Path> = layout
        .pins()
        .into_iter()
        .chain(layout.writable.iter().map(PathBuf::as_path))
        .collect();
    let pins = pins.into_iter();
    let moves = "file-write-unlink file-write-create";
    deny(
        &mut text,
        moves,
        pins.map(|it| format!("^{}$", spelled(it))),
    );
    let hidden = layout.hidden.iter().chain(&layout.masked);
    deny(
        &mut text,
        "file-read* file-write*",
        hidden.map(|it| format!("^({DATA})?{}(/|$)", spelled(it))),
    );
    text.push_str(LAST);
    Ok(text)
}

/// Further rules of a command: what is private to it, and the port of its proxy on this machine.
///
/// # Errors
/// Returns the private folder if no profile can spell it.
pub(crate) fn opened(private: &Path, proxy: Option<u16>) -> Result<String, PathBuf> {
    let folder = quoted(private).ok_or_else(|| private.to_owned())?;
    let mut text = format!(
        "(allow file-write* (subpath {folder}))\n\
         (deny file-write-unlink (literal {folder}))\n\
         (allow system-socket (socket-domain AF_UNIX))\n\
         (allow network-bind (local unix-socket (subpath {folder})))\n\
         (allow network-outbound (remote unix-socket (subpath {folder})))\n"
    );
    if let Some(port) = proxy {
        let _ = writeln!(
            text,
            "(allow network-outbound (remote tcp \"localhost:{port}\"))"
        );
    }
    text.push_str(LAST);
    Ok(text)
}

/// Rules for the protected names of the table, whether something has them or not. As elsewhere, names in a folder of a
/// package manager count only where that lies in a protected place itself.
fn table(root: &Path, quoted: &str) -> String {
    let names = all_places().map(table_name);
    let names = grouped(names.collect());
    let within = format!("^{}/{FOLDERS}", spelled(root));
    let packages = format!("({})", package_names().map(exactly).join("|"));
    let mut text = String::new();
    let all = names.iter().map(|it| format!("{within}{it}(/|$)"));
    deny(&mut text, "file-write*", all);
    let owned = format!("(regex #\"{within}{packages}/\")");
    let _ = writeln!(
        text,
        "(allow file-write* (require-all (subpath {quoted}) {owned}))"
    );
    let inner: Vec<String> = names
        .iter()
        .map(|it| format!(" (regex #\"{within}{it}/{FOLDERS}{packages}/\")\n"))
        .collect();
    let inner = inner.concat();
    let _ = writeln!(
        text,
        "(deny file-write* (require-all {owned} (require-any\n{inner})))"
    );
    text
}

/// A name letter by letter, as a rule that allows needs it.
fn exactly(name: &str) -> String {
    name.replace('.', "\\.")
}

/// Whether the rules for names of the table close a place of the workspace.
fn is_in_table(place: &Path, root: &Path) -> bool {
    let Ok(inner) = place.strip_prefix(root) else {
        return false;
    };
    let names = inner.iter().map(|name| name.to_string_lossy());
    let names: Vec<String> = names.map(|name| name.to_ascii_lowercase()).collect();
    let is_owned = |name: &String| package_names().contains(&name.as_str());
    let mut above = (1..=names.len()).map(|end| &names[..end]);
    !names.iter().any(is_owned) && above.any(|names| fixed_above(names).is_some())
}

/// A place, with all that lies in it.
fn covered(place: &Path) -> String {
    format!("^{}(/|$)", spelled(place))
}

fn deny(text: &mut String, operations: &str, patterns: impl Iterator<Item = String>) {
    let patterns: Vec<String> = patterns.map(|it| format!(" (regex #\"{it}\")\n")).collect();
    if !patterns.is_empty() {
        let _ = writeln!(text, "(deny {operations}\n{})", patterns.concat());
    }
}

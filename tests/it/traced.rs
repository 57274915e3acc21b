//! Programs that strace and the tests see into, whoever runs these.
//!
//! The program hides its memory. Of an ordinary user's, strace then tells neither paths nor addresses, and cannot be
//! attached, and nobody reads what it holds, unless the program runs in a user namespace of that user's.

use rustix::process::getuid;

/// The words that start a program so that strace reads its memory.
pub(crate) fn seen_into<'a>(program: &[&'a str]) -> Vec<&'a str> {
    within(&["unshare", "--map-current-user"], program)
}

/// The words that start a program so that its open files are told too, which belong to root of its namespace. There it has
/// the home of root as well, into which an ordinary user cannot look: it is an empty one.
pub(crate) fn with_files_seen<'a>(program: &[&'a str]) -> Vec<&'a str> {
    const EMPTY_HOME: &str = "[ -x ~root ] || mount -t tmpfs none ~root; exec \"$@\"";
    let namespace = ["unshare", "--map-root-user", "--mount"];
    within(
        &[&namespace[..], &["sh", "-c", EMPTY_HOME, "sh"]].concat(),
        program,
    )
}

/// What root runs, strace sees into anyway.
fn within<'a>(namespace: &[&'a str], program: &[&'a str]) -> Vec<&'a str> {
    match getuid().is_root() {
        true => program.to_vec(),
        false => [namespace, program].concat(),
    }
}

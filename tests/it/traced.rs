//! Programs that strace sees into, whoever runs the tests.
//!
//! The program hides its memory. Of an ordinary user's, strace then tells neither paths nor addresses, and cannot be
//! attached, unless the program runs in a user namespace of that user's.

use rustix::process::getuid;

/// The words that start a program so that strace reads its memory.
pub(crate) fn seen_into<'a>(program: &[&'a str]) -> Vec<&'a str> {
    within(&["unshare", "--map-current-user"], program)
}

/// The words that start a program so that strace also tells its open files, which belong to root of its namespace.
pub(crate) fn with_files_seen<'a>(program: &[&'a str]) -> Vec<&'a str> {
    within(&["unshare", "--map-root-user"], program)
}

/// What root runs, strace sees into anyway.
fn within<'a>(namespace: &[&'a str], program: &[&'a str]) -> Vec<&'a str> {
    match getuid().is_root() {
        true => program.to_vec(),
        false => [namespace, program].concat(),
    }
}

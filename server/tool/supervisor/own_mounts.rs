//! Mounts of the supervisor's own, among which nothing appears that is mounted outside later.
//!
//! bubblewrap takes over what is mounted outside while a command runs, and writable. The second wall holds a command back
//! there; without it, the supervisor leaves the mounts that others share before bubblewrap begins.

use std::{fs, io};

use rustix::{
    mount::{MountPropagationFlags, mount_change},
    process::{getgid, getuid},
    thread::UnshareFlags,
};

use crate::sandbox::second_wall;

/// Leaves the mounts that others share, where nothing else holds a command back from what appears among them. The process
/// has no other threads yet.
///
/// # Errors
/// Fails if the system lets this user have no mounts of its own.
pub(super) fn take() -> io::Result<()> {
    if second_wall::is_known() {
        return Ok(());
    }
    if unshare(UnshareFlags::NEWNS).is_err() {
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    Ok(())
}

#[expect(unsafe_code, reason = "a call of the system")]
fn unshare(what: UnshareFlags) -> io::Result<()> {
    // SAFETY: tables of descriptors stay shared, of which alone the call's contract speaks.
    Ok(unsafe { rustix::thread::unshare_unsafe(what) }?)
}

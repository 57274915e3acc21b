//! Memory that is free goes back to the system.
//!
//! A rope is many small pieces. The C library keeps what they took when they are freed, unless it happens to be the end of
//! its heap: after a large document a server would keep several times its size for as long as it runs.

/// Gives back what is free now. It walks the whole heap, so that it belongs on a thread that may wait.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a call of the C library")]
pub(super) fn give_back() {
    // SAFETY: it may be called at any time, takes its own locks, and touches nothing that is in use.
    let any = unsafe { libc::malloc_trim(0) };
    tracing::debug!(any, "free memory was given back");
}

/// Other allocators do so by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() {}

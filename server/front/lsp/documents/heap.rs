//! Returns free memory to the system.
//!
//! A rope consists of many small pieces. The C library keeps freed pieces unless they are at the end of its heap, so a
//! server would keep several times the size of a large document for as long as it runs.

/// Returns free memory. Walks the whole heap, so call it on a blocking thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a call of the C library")]
pub(super) fn give_back() {
    // SAFETY: `malloc_trim` may be called at any time, takes its own locks, and touches no memory in use.
    let any = unsafe { libc::malloc_trim(0) };
    tracing::debug!(any, "free memory was given back");
}

/// Does nothing: other allocators return memory by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() {}

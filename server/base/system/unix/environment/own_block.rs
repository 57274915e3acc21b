//! The environment in the memory of this process, where the system reads it for others.

use std::{
    env,
    ffi::{CStr, OsString, c_char},
    io,
    os::unix::ffi::OsStrExt,
};

/// Finds what other processes are shown. That is always where it was put at the start.
pub fn find_shown() {}

/// Overwrites the values of these variables where they were put at the start, which is where the system reads them for
/// others. Nobody else may use the environment meanwhile.
///
/// # Errors
/// None here.
#[expect(
    unsafe_code,
    reason = "the environment is a list of texts of the C library"
)]
pub fn overwrite(names: &[OsString]) -> io::Result<()> {
    // SAFETY: there is no other thread yet that changes the list, which ends with a null pointer. Each text is the
    // process's own and may be written up to its end.
    unsafe {
        let mut at = environment();
        while !at.is_null() && !(*at).is_null() {
            let text: *mut c_char = *at;
            let bytes = CStr::from_ptr(text).to_bytes();
            let length = bytes.len();
            if let Some(equals) = bytes.iter().position(|byte| *byte == b'=')
                && names.iter().any(|name| name.as_bytes() == &bytes[..equals])
            {
                for offset in equals + 1..length {
                    text.add(offset).write(0);
                }
            }
            at = at.add(1);
        }
    }
    Ok(())
}

/// Whether other processes can read this value of a variable.
#[must_use]
pub fn shows(name: &str, value: &str) -> bool {
    env::var(name).is_ok_and(|shown| shown == value)
}

/// The list of texts.
#[cfg(target_vendor = "apple")]
#[expect(unsafe_code, reason = "a call of the C library")]
fn environment() -> *mut *mut c_char {
    // SAFETY: the call only returns where the list is.
    unsafe { *libc::_NSGetEnviron() }
}

/// The list of texts.
#[cfg(not(target_vendor = "apple"))]
#[expect(unsafe_code, reason = "the list is a variable of the C library")]
fn environment() -> *mut *mut c_char {
    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: it is only read.
    unsafe { environ }
}

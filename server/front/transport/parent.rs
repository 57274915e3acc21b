//! Watches the client's process: the connection ends with it.

use std::{io, thread};

use aside_base::system::processes::wait_for_end;

use super::end::{ConnectionEnd, Ends};

/// Ends the connection when the process with this id ends, or at once if it does not exist. A thread waits for it until
/// this process ends.
///
/// # Errors
/// Fails if no thread can be started.
pub fn watch(id: u32, ends: Ends) -> io::Result<()> {
    thread::Builder::new()
        .name("parent".into())
        .spawn(move || {
            wait_for_end(id);
            ends.say(ConnectionEnd::ParentGone);
        })?;
    Ok(())
}

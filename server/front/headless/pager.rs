//! A long change, shown by the person's own pager.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    process::{Command, Stdio},
};

/// The pager that the person set, as `PAGER` names it; none where it would show nothing better than the terminal does.
#[must_use]
pub fn pager(named: Option<&OsStr>) -> Option<String> {
    let named = named?.to_str()?.trim();
    (!named.is_empty() && named != "cat").then(|| named.to_owned())
}

/// Shows a text on the terminal by this pager, and returns when the person has left it.
///
/// # Errors
/// Where it cannot be started, or fails.
pub fn show(pager: &str, text: &str, tty: &File) -> io::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    command.stdout(tty.try_clone()?).stderr(tty.try_clone()?);
    if std::env::var_os("LESS").is_none() {
        // Colours as they are, and no second screen for what fits.
        command.env("LESS", "FRX");
    }
    let mut shown = command.spawn()?;
    let written = shown
        .stdin
        .take()
        .map(|mut to| to.write_all(text.as_bytes()));
    let status = shown.wait()?;
    match written {
        // Who has seen enough leaves before the end.
        Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ if !status.success() => Err(io::Error::other(format!("{pager} failed: {status}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_is_one_that_was_named() {
        for (named, expected) in [
            (None, None),
            (Some(""), None),
            (Some("cat"), None),
            (Some(" less -S "), Some("less -S")),
        ] {
            assert_eq!(pager(named.map(OsStr::new)).as_deref(), expected);
        }
    }
}

//! Shows a long change in the user's pager.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    path::Path,
    process::{Command, Stdio},
};

use aside_base::open_places;

/// The command in `PAGER`; `None` if it is unset or would only print the text.
#[must_use]
pub fn pager(named: Option<&OsStr>) -> Option<String> {
    let named = named?.to_str()?.trim();
    (!named.is_empty() && named != "cat").then(|| named.to_owned())
}

/// Shows a text in the pager, and returns when the user leaves it.
///
/// # Errors
/// Fails if the pager cannot be started or fails.
pub fn show(pager: &str, text: &str, tty: &File) -> io::Result<()> {
    let places = open_places::known();
    let path = env::var_os("PATH").unwrap_or_default();
    // Not in the workspace, whose files must not be taken for programs of the user.
    let folder = Path::new("/");
    let mut command = Command::new(places.program("sh".as_ref(), folder, &path)?);
    command.args(["-c", pager]).stdin(Stdio::piped());
    command
        .env("PATH", places.safe_path(&path))
        .current_dir(folder);
    command.stdout(tty.try_clone()?).stderr(tty.try_clone()?);
    if env::var_os("LESS").is_none() {
        // Keep colours, and do not use the alternate screen for text that fits.
        command.env("LESS", "FRX");
    }
    let mut shown = command.spawn()?;
    let written = shown
        .stdin
        .take()
        .map(|mut to| to.write_all(text.as_bytes()));
    let status = shown.wait()?;
    match written {
        // The user may leave the pager before the end.
        Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ if !status.success() => Err(io::Error::other(format!("{pager} failed: {status}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pager_requires_a_name() {
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

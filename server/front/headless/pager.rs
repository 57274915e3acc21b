//! Shows a long change in the user's pager.

use std::{
    env,
    ffi::OsStr,
    io::{self, Write},
    process::{Child, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use aside_base::{
    open_places,
    system::{
        folders::topmost,
        processes::{Wish, tell},
        shells::SHELLS,
        terminal::{Tty, may_stop},
    },
};

/// Time that a pager gets to restore the terminal when it is ended.
const GRACE: Duration = Duration::from_millis(500);
/// Time after which its end is looked for again.
const STEP: Duration = Duration::from_millis(10);

/// The command in `PAGER`; `None` if it is unset or would only print the text.
#[must_use]
pub fn pager(named: Option<&OsStr>) -> Option<String> {
    let named = named?.to_str()?.trim();
    (!named.is_empty() && named != "cat").then(|| named.to_owned())
}

/// A pager that has the terminal.
pub struct RunningPager {
    child: Child,
    /// Writes the text.
    written: Option<JoinHandle<io::Result<()>>>,
    command: String,
}

impl RunningPager {
    /// Shows a text in the pager.
    ///
    /// # Errors
    /// Fails if the pager cannot be started.
    pub fn start(pager: &str, text: String, tty: &Tty) -> io::Result<Self> {
        let places = open_places::known();
        let path = env::var_os("PATH").unwrap_or_default();
        // Not in the workspace, whose files must not be taken for programs of the user.
        let folder = topmost();
        // The simplest shell there is.
        let shell = SHELLS[SHELLS.len() - 1];
        let program = places.program(shell.program().as_ref(), &folder, &path)?;
        let mut command = shell.reading(&program, pager);
        command
            .stdin(Stdio::piped())
            .env("PATH", places.safe_path(&path))
            .current_dir(folder);
        command.stdout(tty.as_output()?).stderr(tty.as_output()?);
        if env::var_os("LESS").is_none() {
            // Keep colours, and do not use the alternate screen for text that fits.
            command.env("LESS", "FRX");
        }
        // The terminal may stop the pager, as any program that a shell starts.
        may_stop(true);
        let child = command.spawn();
        may_stop(false);
        let mut child = child?;
        let written = child.stdin.take().map(|mut to| {
            let write = move || to.write_all(text.as_bytes());
            thread::Builder::new().name("pager".into()).spawn(write)
        });
        Ok(Self {
            child,
            written: written.transpose()?,
            command: pager.to_owned(),
        })
    }

    /// Whether the user has left it.
    ///
    /// # Errors
    /// Fails if the pager failed.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(false);
        };
        let written = self.written.take().and_then(|written| written.join().ok());
        match written {
            // The user may leave the pager before the end.
            Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ if !status.success() => Err(io::Error::other(format!(
                "{} failed: {status}",
                self.command
            ))),
            _ => Ok(true),
        }
    }

    /// Goes on after the terminal stopped it.
    ///
    /// # Errors
    /// Fails if the pager is gone.
    pub fn go_on(&self) -> io::Result<()> {
        tell(&self.child, Wish::GoOn)
    }

    /// Ends it, at once if it does not end by itself soon.
    ///
    /// # Errors
    /// Fails if the pager cannot be ended.
    pub fn end(&mut self) -> io::Result<()> {
        let until = Instant::now() + GRACE;
        tell(&self.child, Wish::End)?;
        self.go_on()?;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > until {
                self.child.kill()?;
                self.child.wait()?;
                break;
            }
            thread::park_timeout(STEP);
        }
        Ok(())
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

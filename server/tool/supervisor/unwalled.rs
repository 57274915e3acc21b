//! No walls, and so nobody to speak to about them: a command that is to have some does not start.

use std::{fs::File, io, os::fd::OwnedFd, sync::mpsc::Receiver};

use crate::sandbox::hosts::AllowedHost;

/// Descriptors for what builds walls.
pub(super) enum WallPipes {}

impl WallPipes {
    /// Opens them.
    ///
    /// # Errors
    /// Always: there is nothing here that builds walls.
    pub(super) fn open(_has_unix: bool) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The file of the status.
    pub(super) fn started(self) -> File {
        match self {}
    }
}

/// Hears the first program inside.
///
/// # Errors
/// Always: there is none.
pub(super) fn hear_inside(
    _handed_on: &[OwnedFd],
    _hosts: Option<Vec<AllowedHost>>,
) -> io::Result<(OwnedFd, Receiver<Option<String>>)> {
    Err(io::ErrorKind::Unsupported.into())
}

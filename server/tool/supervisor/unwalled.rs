//! No walls, and so nobody to speak to about them: a command that is to have some does not start.

use std::{io, os::fd::OwnedFd};

use super::{Order, Report};

/// The supervisor's ends of a sandbox, of which there is none.
pub(super) enum Walled {}

impl Walled {
    /// Prepares for one.
    ///
    /// # Errors
    /// Always: there is nothing here that builds walls.
    pub(super) fn open(_has_unix: bool) -> Result<Self, String> {
        Err("its walls cannot be built, as nothing here does that".to_owned())
    }

    pub(super) fn connect(
        &mut self,
        _meant: OwnedFd,
        _input: OwnedFd,
        _order: &mut Order,
    ) -> io::Result<OwnedFd> {
        match *self {}
    }

    pub(super) fn started(&mut self) {
        match *self {}
    }

    pub(super) fn report(self, _report: Report) -> Report {
        match self {}
    }
}

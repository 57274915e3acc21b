//! Walls where there are none: nothing of this system builds them yet.

use std::path::{Path, PathBuf};

use super::{Means, Missing, SandboxRules, Walls, means::elsewhere, places::Places};

/// Notes what walls have to hide: nothing, where there are none.
pub(super) fn note_hidden(_places: &mut Places, _writable: &[PathBuf]) {}

impl SandboxRules {
    /// The confinement of a command that runs in a folder of the workspace.
    ///
    /// # Errors
    /// Always: there is none here.
    pub(crate) fn walls(
        &self,
        _means: &Means,
        _root: &Path,
        _cwd: &Path,
        _places: &Places,
    ) -> Result<Walls, Missing> {
        Err(elsewhere())
    }
}

//! No mounts, as nothing builds walls here.

/// The mounts that the first program inside expects, of which there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MeantMounts(());

#[cfg(unix)]
impl MeantMounts {
    /// What is handed to that program.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        Vec::new()
    }
}

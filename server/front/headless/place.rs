//! Where a command works.

use std::{
    env, io,
    path::{Path, PathBuf},
};

use crate::{
    config::{
        self, Configuration, Flag, Sources,
        trust::{Fingerprint, Trust, TrustStore},
    },
    engine::assemble::tool_defaults,
    session::store::{self, Store, StoreError},
};

/// Where a command works: the workspace and the user's state.
#[derive(Clone, Debug)]
pub struct Place {
    /// The workspace's folder, without links in it.
    pub root: PathBuf,
    /// Where conversations and trust are kept.
    pub state_dir: PathBuf,
}

impl Place {
    /// The workspace is this folder, or the current one.
    ///
    /// # Errors
    /// A sentence: there is no such folder, or nobody says where state is kept.
    pub fn find(cwd: Option<&Path>) -> Result<Self, String> {
        let root = match cwd {
            Some(folder) => folder.to_owned(),
            None => env::current_dir().map_err(|error| {
                format!("the current folder cannot be used: {error}; go to another one")
            })?,
        };
        let unusable = |error: &dyn std::fmt::Display| {
            format!(
                "cannot work in {}: {error}; give another --cwd",
                root.display()
            )
        };
        let folder = root.canonicalize().map_err(|error| unusable(&error))?;
        if !folder.is_dir() {
            return Err(unusable(&"it is not a folder"));
        }
        Ok(Self {
            root: folder,
            state_dir: store::default_state_dir().map_err(|error| error.to_string())?,
        })
    }

    /// The conversations of this workspace.
    ///
    /// # Errors
    /// Where the state directory cannot be used.
    pub fn store(&self) -> Result<Store, StoreError> {
        Store::open(&self.state_dir, &self.root)
    }

    /// The configuration here with these flags, and whether the workspace is trusted: because the user said so
    /// earlier, or says so for this run. Where that cannot be found out it is not, and a notice says why.
    ///
    /// # Errors
    /// All that is wrong with the configuration, a line each.
    pub fn configuration(
        &self,
        flags: Vec<Flag>,
        trust_flag: bool,
    ) -> Result<(Configuration, bool), String> {
        let mut sources =
            Sources::from_process(Some(&self.root)).map_err(|problems| problems.to_string())?;
        let (given, notice) = match self.trust(&sources) {
            Ok((_, Trust::Given)) => (true, None),
            Ok((_, Trust::Never)) => (false, None),
            Ok((_, Trust::Ended(changes))) => (false, Some(ended(&changes))),
            Err(error) => (false, Some(unknown(&error))),
        };
        let trusted = given || trust_flag;
        sources.flags = flags;
        sources.trusted = trusted;
        let mut configuration =
            config::load(&sources, &tool_defaults()).map_err(|problems| problems.to_string())?;
        configuration.notices.extend(notice.filter(|_| !trusted));
        Ok((configuration, trusted))
    }

    /// What trust in this workspace is bound to, and whether it was given to that.
    ///
    /// # Errors
    /// Where either cannot be read: nothing is trusted then.
    pub fn trust(&self, sources: &Sources) -> io::Result<(Fingerprint, Trust)> {
        let file = sources.workspace_file.as_ref();
        let now = Fingerprint::of(&self.root, file.map(|file| file.text.as_str()))?;
        let trust = TrustStore::new(&self.state_dir).status(&self.root, &now)?;
        Ok((now, trust))
    }
}

/// What a user is told of trust that ended.
#[must_use]
pub fn ended(changes: &[String]) -> String {
    format!(
        "The workspace is not trusted any more, as this changed since: {}; \
         look at it, then run `aside trust` to trust it as it is now.",
        changes.join(", ")
    )
}

fn unknown(error: &io::Error) -> String {
    format!("The workspace counts as not trusted, for it cannot be looked up: {error}.")
}

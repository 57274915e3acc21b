//! What the tools of MCP servers take of a model's context, as they were when their servers were last connected. It is
//! a cache: without it `aside config show` says nothing of them.

use std::{
    collections::BTreeMap,
    fs::DirBuilder,
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::Arc,
};

use aside_base::regular;
use serde::{Deserialize, Serialize};

use crate::tool::{Tool, tokens};

/// The file in the state directory.
const FILE: &str = "mcp-tools.json";
/// Bytes of the file.
const MOST: u64 = 1 << 20;

/// What the tools of a server take of a model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCost {
    /// How many there are.
    pub tools: usize,
    /// Tokens of their definitions, roughly.
    pub tokens: u64,
}

impl ServerCost {
    /// That of these tools.
    #[must_use]
    pub fn of(tools: &[Arc<dyn Tool>]) -> Self {
        let all = tools.iter().map(|tool| tool.about());
        Self {
            tools: tools.len(),
            tokens: all
                .map(|about| tokens(&about.description, &about.parameters))
                .sum(),
        }
    }
}

/// What is known of servers, by their names.
#[must_use]
pub fn kept(state_dir: &Path) -> BTreeMap<String, ServerCost> {
    let read = || -> io::Result<_> {
        let bytes = regular::read(&state_dir.join(FILE), MOST)?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    read().unwrap_or_default()
}

/// Keeps what became known. Where that fails, less is shown.
pub(super) fn keep(state_dir: &Path, known: impl Iterator<Item = (String, ServerCost)>) {
    let before = kept(state_dir);
    let mut after = before.clone();
    after.extend(known);
    if after == before {
        return;
    }
    let write = || -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(state_dir)?;
        let mut file = tempfile::NamedTempFile::new_in(state_dir)?;
        file.write_all(&serde_json::to_vec(&after)?)?;
        file.persist(state_dir.join(FILE))?;
        Ok(())
    };
    if let Err(error) = write() {
        tracing::debug!(%error, "what the tools of MCP servers take is not kept");
    }
}

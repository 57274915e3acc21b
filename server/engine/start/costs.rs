//! Context costs of MCP servers' tools, as of their last connection. The file is a cache: without it `aside config
//! show` does not show them.

use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use aside_base::{private, regular};
use serde::{Deserialize, Serialize};

use aside_tool::{Tool, tokens};

/// Name of the file in the state directory.
const FILE: &str = "mcp-tools.json";
/// Maximum size of the file in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Context costs of a server's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCost {
    /// Number of tools.
    pub tools: usize,
    /// Approximate number of tokens in their definitions.
    pub tokens: u64,
}

impl ServerCost {
    /// Computes the costs of these tools.
    #[must_use]
    pub fn of(tools: &[Arc<dyn Tool>]) -> Self {
        let all = tools.iter().map(|tool| tool.spec());
        Self {
            tools: tools.len(),
            tokens: all
                .map(|about| tokens(&about.description, &about.parameters))
                .sum(),
        }
    }
}

/// Known costs of servers, by name.
#[must_use]
pub fn kept(state_dir: &Path) -> BTreeMap<String, ServerCost> {
    let read = || -> io::Result<_> {
        let bytes = regular::read(&state_dir.join(FILE), MAX_FILE)?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    read().unwrap_or_default()
}

/// Stores known costs. A failure is ignored.
pub(super) fn keep(state_dir: &Path, known: impl Iterator<Item = (String, ServerCost)>) {
    let before = kept(state_dir);
    let mut after = before.clone();
    after.extend(known);
    if after == before {
        return;
    }
    let write = || private::replace(&state_dir.join(FILE), &serde_json::to_vec(&after)?);
    if let Err(error) = write() {
        tracing::debug!(%error, "what the tools of MCP servers take is not kept");
    }
}

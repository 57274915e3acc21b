//! Shared parts of a connection.

use std::sync::Arc;

use super::{client::LspClient, settings::EditorWorkspace};
use crate::{
    engine::Engine,
    front::{relay::prompts::Prompts, transport::tasks::Tasks},
};

/// Handles of the shared parts of a connection. Clones share them.
#[derive(Clone)]
pub(super) struct Handles {
    /// The connected client.
    pub(super) client: LspClient,
    /// The engine that runs turns.
    pub(super) engine: Engine,
    /// The prompts that are open.
    pub(super) prompts: Arc<Prompts>,
    /// Folders and settings of the client.
    pub(super) workspace: Arc<EditorWorkspace>,
    /// The tasks of the connection.
    pub(super) tasks: Tasks,
}

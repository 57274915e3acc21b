//! The parts of a connection that its other parts share.

use std::sync::Arc;

use super::{client::LspClient, settings::EditorWorkspace};
use crate::{
    engine::Engine,
    front::{relay::prompts::Prompts, transport::tasks::Tasks},
};

/// Handles of the shared parts of a connection. Clones are the same parts.
#[derive(Clone)]
pub(super) struct Handles {
    /// The client at the other end.
    pub(super) client: LspClient,
    /// What runs turns.
    pub(super) engine: Engine,
    /// The prompts that are open.
    pub(super) prompts: Arc<Prompts>,
    /// The workspace as the client has it.
    pub(super) workspace: Arc<EditorWorkspace>,
    /// The tasks of the connection.
    pub(super) tasks: Tasks,
}

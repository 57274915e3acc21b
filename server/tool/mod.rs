//! The tools: what one is, and what it may use.

use std::sync::Arc;

use async_trait::async_trait;

use crate::turn::{
    effect::CallWork,
    input::{Preparation, ToolOutcome},
};

/// Something that the model may call. One file a tool, with its schema, behaviour and tests.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is, for models, people and configuration.
    fn about(&self) -> &About;

    /// Looks at a call and changes nothing: what it would do, what a person is shown, whether it must ask.
    async fn prepare(&self, work: &CallWork, host: &Arc<Host>) -> Preparation;

    /// Does it. Run again from the start with every answer that it asked for. Ends soon after
    /// [`Host::cancelled`], and leaves no process behind.
    async fn run(&self, work: &CallWork, host: &Arc<Host>) -> ToolOutcome;
}

/// What a tool is.
#[derive(Clone, Debug)]
pub struct About;

/// What a tool may use.
pub struct Host;

//! The trait of tools, and the frame of tools that block.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use serde::de::DeserializeOwned;

use super::{
    plan::{CallPlan, Planning, Unplanned, on_blocking_thread},
    spec::ToolSpec,
};

/// Something that the model may call. One file a tool, with its schema, behaviour and tests.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Description of the tool, for models, people and configuration.
    fn spec(&self) -> &ToolSpec;

    /// Plans a call and changes nothing. The arguments fit the schema of the tool.
    ///
    /// Called when the call is prepared, and again right before the plan runs: with every answer that the tool asked
    /// for. A plan that runs ends soon after `cancelled`, with [`ToolOutcome::Stopped`], and leaves no process behind.
    ///
    /// [`ToolOutcome::Stopped`]: aside_turn::input::ToolOutcome::Stopped
    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned>;
}

/// A built-in tool that blocks a thread while it plans. Its value is the arguments of a call.
pub(crate) trait BlockingTool: DeserializeOwned + Send + 'static {
    /// Description of the tool, for models, people and configuration.
    fn spec() -> ToolSpec;

    /// Plans a call, as [`Tool::plan`] does.
    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned>;
}

/// A blocking tool with its description.
struct Blocking<T> {
    spec: ToolSpec,
    tool: PhantomData<fn() -> T>,
}

#[async_trait]
impl<T: BlockingTool> Tool for Blocking<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned> {
        let call: T = planning.arguments()?;
        let plan = move || Ok(call.plan(planning));
        on_blocking_thread(&self.spec.name, plan).await?
    }
}

/// A tool that is part of Aside.
pub(crate) trait BuiltIn {
    /// Makes the tool.
    fn tool() -> Arc<dyn Tool>;
}

impl<T: BlockingTool> BuiltIn for T {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Blocking::<T> {
            spec: T::spec(),
            tool: PhantomData,
        })
    }
}

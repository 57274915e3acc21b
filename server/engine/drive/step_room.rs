//! Room for the results of one step. The calls of a message may ask for more at once than the model reads; a summary, which
//! is made without them, does not help against that.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use aside_tool::{ToolContext, fitted_in};
use aside_turn::input::{ToolOutcome, ToolOutput};

/// Bytes of a result that are shown where there is no room left: enough to see what it is, and where the rest is.
const LEAST: usize = 512;

/// Bytes that the results of the calls of one message may have: as many as the model's context window has tokens, which is
/// about a third of it. The first results have it first.
#[derive(Clone, Debug)]
pub(in crate::engine) struct StepRoom {
    whole: usize,
    left: Arc<AtomicUsize>,
}

impl StepRoom {
    /// The room in a context window of so many tokens; without bound where that is not known.
    pub(in crate::engine) fn of(window: Option<u64>) -> Self {
        let whole = window.and_then(|window| usize::try_from(window).ok());
        let whole = whole.unwrap_or(usize::MAX);
        Self {
            whole,
            left: Arc::new(AtomicUsize::new(whole)),
        }
    }

    /// A request goes out with all results so far.
    pub(super) fn begin_step(&self) {
        self.left.store(self.whole, Ordering::Relaxed);
    }

    /// Cuts the text of a result to the room that is left, and keeps the rest for `read_output`.
    pub(super) async fn fit(
        &self,
        outcome: ToolOutcome,
        context: &Arc<ToolContext>,
    ) -> ToolOutcome {
        match outcome {
            ToolOutcome::Success(output) => {
                ToolOutcome::Success(self.fit_output(output, context).await)
            }
            ToolOutcome::Error(output) => {
                ToolOutcome::Error(self.fit_output(output, context).await)
            }
            other @ (ToolOutcome::NeedsInput(_) | ToolOutcome::Stopped) => other,
        }
    }

    async fn fit_output(&self, mut output: ToolOutput, context: &Arc<ToolContext>) -> ToolOutput {
        let most = self.take(output.content.len()).max(LEAST);
        if output.content.len() <= most {
            return output;
        }
        if let Some(details) = output.details.as_mut().and_then(|it| it.as_object_mut()) {
            // The model is not given all lines of the file.
            details.remove("given");
        }
        let (context, text) = (context.clone(), std::mem::take(&mut output.content));
        let cut = move || fitted_in(&context, text, most / 2, most / 2);
        output.content = match tokio::task::spawn_blocking(cut).await {
            Ok(text) => text,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        output
    }

    /// Takes room for a result of so many bytes. Returns how much it may have.
    fn take(&self, bytes: usize) -> usize {
        let less = |left: usize| Some(left.saturating_sub(bytes));
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.unwrap_or_else(|left| left)
    }
}

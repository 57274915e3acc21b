//! Room for the results of one step. The calls of a message may ask for more at once than the model reads; a summary, which
//! is made without them, does not help against that.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use aside_tool::{ToolContext, fitted_in};
use aside_turn::{
    input::{ToolOutcome, ToolOutput},
    question::Answer,
};

/// Bytes of a result that stays whole where there is no room left: to say where it is would take as many.
const LEAST: usize = 256;

/// Bytes that the results of the calls of one message may have: as many as the model's context window has tokens, which is
/// about a third of it. The first results have it first.
#[derive(Clone, Debug)]
pub(in crate::engine) struct StepRoom {
    whole: usize,
    left: Arc<AtomicUsize>,
}

impl StepRoom {
    /// The room in a context window of so many tokens, of which `taken` bytes wait for a request already; without bound where
    /// the window is not known.
    pub(in crate::engine) fn of(window: Option<u64>, taken: u64) -> Self {
        let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let whole = window.map_or(usize::MAX, bytes);
        Self {
            whole,
            left: Arc::new(AtomicUsize::new(whole.saturating_sub(bytes(taken)))),
        }
    }

    /// A request goes out with all results so far.
    pub(super) fn begin_step(&self) {
        self.left.store(self.whole, Ordering::Relaxed);
    }

    /// Cuts the text of a result to the room that is left, and keeps the rest for `read_output`. A result that repeats what was
    /// answered to its call's questions has room for that in any case: nothing that a person said is cut.
    pub(super) async fn fit(
        &self,
        outcome: ToolOutcome,
        answers: &[(String, Answer)],
        context: &Arc<ToolContext>,
    ) -> ToolOutcome {
        let least = answers.iter().map(|(_, answer)| room_of(answer)).sum();
        match outcome {
            ToolOutcome::Success(output) => {
                ToolOutcome::Success(self.fit_output(output, least, context).await)
            }
            ToolOutcome::Error(output) => {
                ToolOutcome::Error(self.fit_output(output, least, context).await)
            }
            other @ (ToolOutcome::NeedsInput(_) | ToolOutcome::Stopped) => other,
        }
    }

    async fn fit_output(
        &self,
        mut output: ToolOutput,
        least: usize,
        context: &Arc<ToolContext>,
    ) -> ToolOutput {
        let bytes = output.content.len();
        let most = self.take(bytes).max(least);
        if bytes <= most.max(LEAST) {
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

/// Bytes of an answer in a result that repeats it as JSON, with the words around it.
fn room_of(answer: &Answer) -> usize {
    LEAST + answer.value().map_or(0, |value| value.to_string().len())
}

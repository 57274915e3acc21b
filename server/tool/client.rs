//! Tools of the client's: they run in the editor, which is asked to.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value;

use aside_base::visible::short_line;
use aside_turn::{
    effect::CallWork,
    input::{ToolOutcome, ToolOutput},
    rules::Class,
};

use super::{
    CallPlan, Planning, Tool, ToolContext, ToolRun, ToolSpec, Unplanned, off_thread, output::fitted,
};

/// Note for a person about a tool that only reads.
const READS: &str = "The editor says that it only reads; what you allow for longer counts whatever its arguments are.";

/// A call on its way to the client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientCall {
    /// The provider's id of the call.
    pub id: String,
    /// The name of the tool to call.
    pub name: String,
    /// The arguments, which fit the tool's schema.
    pub arguments: Value,
}

/// The client's result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientResult {
    /// The text that the tool returned.
    pub content: String,
    /// Whether the result is an error.
    pub is_error: bool,
}

/// Puts a call to the client; the error says why there is no result. What is begun goes on when the future is
/// dropped: nobody waits for it then.
pub type CallClient =
    Arc<dyn Fn(ClientCall) -> BoxFuture<'static, Result<ClientResult, String>> + Send + Sync>;

/// A tool that runs in the editor.
pub struct ClientTool {
    spec: ToolSpec,
    call: CallClient,
    /// The editor says that it only reads.
    reads_only: bool,
}

impl ClientTool {
    /// A tool as the client describes it. What it does nobody knows, so it does more than reading and editing.
    #[must_use]
    pub fn new(name: &str, description: &str, parameters: Value, call: CallClient) -> Self {
        let mut spec = ToolSpec::new(name, description, parameters);
        spec.class = Class::More;
        spec.questions = None;
        // What it changes is not on record.
        spec.runs_commands = true;
        spec.outside = true;
        spec.in_client = true;
        Self {
            spec,
            call,
            reads_only: false,
        }
    }

    /// The same tool, of which the client says that it only reads: a permission is for the tool, whatever its arguments.
    #[must_use]
    pub fn reading_only(mut self) -> Self {
        self.reads_only = true;
        self
    }

    /// Parts that an approval is bound to: all that is shown, or the tool itself if it only reads.
    fn parts(&self, work: &CallWork) -> Vec<String> {
        let ToolSpec {
            name,
            description,
            parameters,
            ..
        } = &self.spec;
        match self.reads_only {
            true => ["client reads", name, description, &parameters.to_string()]
                .map(str::to_owned)
                .to_vec(),
            false => ["client", &work.tool, &work.arguments.to_string()]
                .map(str::to_owned)
                .to_vec(),
        }
    }

    async fn call(&self, run: &ToolRun) -> Result<ToolOutcome, String> {
        let work = &run.work;
        let call = ClientCall {
            id: work.id.clone(),
            name: work.tool.clone(),
            arguments: work.arguments.clone(),
        };
        let time = run.context.limits.time;
        let result = tokio::select! {
            biased;
            () = run.cancelled.cancelled() => return Ok(ToolOutcome::Stopped),
            result = tokio::time::timeout(time, (self.call)(call)) => result,
        };
        match result {
            Err(_) => Err(format!(
                "{} did not answer within {} s; its effects are unknown.",
                work.tool,
                time.as_secs()
            )),
            Ok(Err(why)) => Err(format!("{} failed in the editor: {why}", work.tool)),
            Ok(Ok(result)) => outcome_of(work, &run.context, result).await,
        }
    }
}

#[async_trait]
impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned> {
        let work = planning.work();
        let parts = self.parts(work);
        let title = format!("Run {} in the editor", short_line(&work.tool, 64));
        let note = self.reads_only.then(|| READS.to_owned());
        let plan = planning.running(title, |run| async move { self.call(&run).await });
        Ok(plan.note(note).bound_to(parts).elsewhere())
    }
}

async fn outcome_of(
    work: &CallWork,
    context: &Arc<ToolContext>,
    result: ClientResult,
) -> Result<ToolOutcome, String> {
    let content = off_thread(work, context, |_, context| {
        Ok(fitted(context, result.content))
    })
    .await?;
    let output = ToolOutput::text(content);
    Ok(match result.is_error {
        true => ToolOutcome::Error(output),
        false => ToolOutcome::Success(output),
    })
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{registry::Registry, trial::ToolTrial};
    use aside_turn::{
        input::{Preparation, Preview},
        record::CallKey,
    };

    fn tool(result: impl Fn() -> Result<ClientResult, String> + Send + Sync + 'static) -> Registry {
        let call: CallClient = Arc::new(move |_| Box::pin(ready(result())));
        registry(call)
    }

    fn registry(call: CallClient) -> Registry {
        let parameters = json!({"type": "object", "properties": {"line": {"type": "integer"}}});
        let mut registry = Registry::builtin();
        let tool = ClientTool::new("reveal", "Show a line.", parameters, call);
        registry.add(Arc::new(tool)).unwrap();
        registry
    }

    fn work(arguments: Value) -> CallWork {
        CallWork {
            call: CallKey(0),
            id: "call_1".into(),
            tool: "reveal".into(),
            arguments,
            answers: vec![],
            new_text: None,
        }
    }

    async fn run(registry: &Registry, trial: &ToolTrial, token: &CancellationToken) -> String {
        let work = work(json!({"line": 3}));
        registry.prepare(&work, &trial.context).await;
        let outcome = registry.run(&work, &trial.context, token).await;
        match outcome {
            ToolOutcome::Success(output) => output.content,
            ToolOutcome::Error(output) => format!("error: {}", output.content),
            ToolOutcome::Stopped => "stopped".into(),
            ToolOutcome::NeedsInput(_) => "asks".into(),
        }
    }

    #[tokio::test]
    async fn what_the_client_says_is_the_result() {
        let trial = ToolTrial::new(&[]);
        let check = async |result: Result<(&str, bool), &str>, expected: &str| {
            let result = result.map(|(content, is_error)| ClientResult {
                content: content.into(),
                is_error,
            });
            let result = result.map_err(ToOwned::to_owned);
            let registry = tool(move || result.clone());
            assert_eq!(
                run(&registry, &trial, &CancellationToken::new()).await,
                expected
            );
        };
        check(Ok(("Shown.", false)), "Shown.").await;
        check(Ok(("No such line.", true)), "error: No such line.").await;
        check(Err("gone"), "error: reveal failed in the editor: gone").await;
    }

    #[tokio::test]
    async fn a_cancelled_call_does_not_wait_for_the_client() {
        let registry = registry(Arc::new(|_| Box::pin(pending())));
        let token = CancellationToken::new();
        token.cancel();
        assert_eq!(
            run(&registry, &ToolTrial::new(&[]), &token).await,
            "stopped"
        );
    }

    #[tokio::test]
    async fn is_asked_for_with_all_its_arguments() {
        let registry = tool(|| Err(String::new()));
        let trial = ToolTrial::new(&[]);
        let prepared =
            async |arguments| match registry.prepare(&work(arguments), &trial.context).await {
                Preparation::Ready(prepared) => prepared,
                other => panic!("{other:?}"),
            };
        let one = prepared(json!({"line": 3})).await;
        assert_eq!((one.class, one.sandboxed), (Class::More, false));
        assert_eq!(one.title, "Run reveal in the editor");
        let text = "{\n  \"line\": 3\n}".to_owned();
        assert_eq!(one.preview, Some(Preview::Text { text }));
        assert_eq!(one.hash, prepared(json!({"line": 3})).await.hash);
        assert_ne!(one.hash, prepared(json!({"line": 4})).await.hash);
        let misfit = registry
            .prepare(&work(json!({"line": "3"})), &trial.context)
            .await;
        assert!(matches!(misfit, Preparation::Error(_)), "{misfit:?}");
    }

    #[tokio::test]
    async fn a_tool_that_only_reads_is_allowed_whatever_its_arguments() {
        let of = |description: &str| {
            let parameters = json!({"type": "object"});
            let call: CallClient = Arc::new(|_| Box::pin(pending()));
            let tool = ClientTool::new("reveal", description, parameters, call).reading_only();
            let mut registry = Registry::builtin();
            registry.add(Arc::new(tool)).unwrap();
            registry
        };
        let trial = ToolTrial::new(&[]);
        let prepared = async |registry: &Registry, arguments| match registry
            .prepare(&work(arguments), &trial.context)
            .await
        {
            Preparation::Ready(prepared) => prepared,
            other => panic!("{other:?}"),
        };
        let tool = of("Shows a line.");
        let one = prepared(&tool, json!({"line": 3})).await;
        assert_eq!(one.hash, prepared(&tool, json!({"line": 4})).await.hash);
        assert_eq!((one.class, one.note.as_deref()), (Class::More, Some(READS)));
        let other = prepared(&of("Does more."), json!({"line": 3})).await;
        assert_ne!(one.hash, other.hash);
    }

    #[tokio::test]
    async fn a_long_result_is_cut_in_the_middle_and_kept() {
        let trial = ToolTrial::new(&[]);
        let room = trial.context.limits.head + trial.context.limits.tail;
        let long = format!("begin {}end", "ä".repeat(room));
        let content = long.clone();
        let registry = tool(move || {
            Ok(ClientResult {
                content: content.clone(),
                is_error: false,
            })
        });
        let result = run(&registry, &trial, &CancellationToken::new()).await;
        assert!(
            result.starts_with("begin ä") && result.ends_with("äend"),
            "{}",
            result.len()
        );
        assert!(result.len() < room + 200, "{}", result.len());
        assert!(result.contains("bytes are left out here: read_output {\"id\":\""));
    }
}

//! A tool that asks whatever its arguments say.

use std::sync::Arc;

use aside_tool::{CallPlan, Planning, Tool, ToolRun, ToolSpec, Unplanned};
use aside_turn::{
    input::{ToolOutcome, ToolOutput},
    question::{Answer, Question},
};
use serde_json::json;

/// Asks the `questions` of its arguments one after another, and tells all answers, secrets too.
pub(crate) struct Asker(ToolSpec);

impl Asker {
    pub(crate) fn new() -> Self {
        let mut spec = ToolSpec::new("asker", "Asks.", json!({"type": "object"}));
        spec.questions = None;
        Self(spec)
    }
}

#[async_trait::async_trait]
impl Tool for Asker {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned> {
        // On the thread of the turn, so that the questions of two calls come in the order of the calls.
        let plan = planning.running("Ask", |run| async move { ask(&run) });
        Ok(plan.bound_to(["ask"]))
    }
}

fn ask(run: &ToolRun) -> Result<ToolOutcome, String> {
    let work = &run.work;
    let questions: Vec<Question> =
        serde_json::from_value(work.arguments["questions"].clone()).unwrap();
    let mut told = Vec::new();
    for question in questions {
        let answer = work.answers.iter().rev().find(|(id, _)| *id == question.id);
        told.push(match answer {
            None => return Ok(ToolOutcome::NeedsInput(question)),
            Some((_, Answer::Value(value))) => value.to_string(),
            Some((_, Answer::Secret(secret))) => format!("it was {}!", secret.reveal()),
        });
    }
    let told = told.join(", ");
    (run.context.output)(work.call, &told);
    Ok(ToolOutcome::Success(ToolOutput::text(told)))
}

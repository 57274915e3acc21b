//! A tool that asks whatever its arguments say.

use std::sync::Arc;

use aside::tool::{Tool, ToolContext, ToolSpec};
use aside_turn::{
    effect::CallWork,
    input::{Preparation, Prepared, ToolOutcome, ToolOutput},
    question::{Answer, Question},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Asks the `questions` of its arguments one after another, and tells all answers, secrets too.
pub(crate) struct Asker(ToolSpec);

impl Asker {
    pub(crate) fn new() -> Self {
        let mut about = ToolSpec::new("asker", "Asks.", json!({"type": "object"}));
        about.questions = None;
        Self(about)
    }
}

#[async_trait::async_trait]
impl Tool for Asker {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, _work: &CallWork, _host: &Arc<ToolContext>) -> Preparation {
        Preparation::Ready(Prepared {
            title: "Ask".into(),
            hash: "ask".into(),
            sandboxed: true,
            ..Prepared::default()
        })
    }

    async fn run(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        _cancelled: &CancellationToken,
    ) -> ToolOutcome {
        let questions: Vec<Question> =
            serde_json::from_value(work.arguments["questions"].clone()).unwrap();
        let mut told = Vec::new();
        for question in questions {
            let answer = work.answers.iter().rev().find(|(id, _)| *id == question.id);
            told.push(match answer {
                None => return ToolOutcome::NeedsInput(question),
                Some((_, Answer::Value(value))) => value.to_string(),
                Some((_, Answer::Secret(secret))) => format!("it was {}!", secret.reveal()),
            });
        }
        let told = told.join(", ");
        (host.output)(work.call, &told);
        ToolOutcome::Success(ToolOutput::text(told))
    }
}

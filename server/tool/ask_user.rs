//! `ask_user`: the assistant's own question to the person.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use aside_base::visible::short_line;
use aside_turn::{
    effect::CallWork,
    input::{ToolOutcome, ToolOutput},
    question::{Answer, AnswerType, Persistence, Question},
};

use super::{AllowToggle, BuiltIn, CallPlan, Enable, Planning, Tool, ToolSpec, Unplanned, invalid};

/// The id of the one question.
const ANSWER: &str = "answer";

const DESCRIPTION: &str = "\
Ask the user one typed question (boolean, select or text) and get their answer. Ask only when you need a \
decision, a preference or a fact that the conversation, the files and the other tools do not give you, and \
the user can reasonably be expected to know. Do not ask what the conversation already answers, and do not ask \
for confirmation of obvious next steps: when in doubt, go on with what the user asked for. \
Prefer `select` with short options where the choices are known, `boolean` for a yes or no, `text` otherwise; \
put the question into one line and what the user needs to decide into `context`. \
Never use it to collect secrets (passwords, API keys, passphrases): answers are returned to you and kept on \
disk. It answers with JSON: {\"answer_type\": …, \"answer\": …}.";

/// The tool `ask_user`.
pub(super) struct AskUser(ToolSpec);

/// Arguments of a call.
#[derive(Deserialize)]
struct AskUserArguments {
    question: String,
    context: Option<String>,
    #[serde(default)]
    answer_type: AskedKind,
    options: Option<Vec<String>>,
    default: Option<Value>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AskedKind {
    Boolean,
    Select,
    #[default]
    Text,
}

impl AskUser {
    fn new() -> Self {
        let mut spec = ToolSpec::new(
            "ask_user",
            DESCRIPTION,
            json!({
                "type": "object",
                "properties": {
                    "question": {"type": "string", "description": "The question, in one line."},
                    "context": {"type": "string", "description": "What is shown above the question. May have several lines."},
                    "answer_type": {"type": "string", "enum": ["boolean", "select", "text"], "description": "What counts as an answer. Default: text."},
                    "options": {"type": "array", "items": {"type": "string"}, "description": "What to choose from. Needed for select, not allowed otherwise."},
                    "default": {"type": ["boolean", "string"], "description": "The answer that is offered first. Fits answer_type; for select one of the options."}
                },
                "required": ["question"],
                "additionalProperties": false
            }),
        );
        spec.enable = Enable {
            state: true,
            allow_toggle: AllowToggle::IfNamed,
        };
        spec.hidden = true;
        spec.asks_for_assistant = true;
        spec.questions = Some(&[ANSWER]);
        spec.prompt_labels = &[(ANSWER, "Assistant")];
        Self(spec)
    }
}

impl BuiltIn for AskUser {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Self::new())
    }
}

#[async_trait]
impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    /// Neither planning nor asking leaves the thread, so that questions come in the order of their calls.
    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned> {
        let args: AskUserArguments = planning.arguments()?;
        let title = format!("Ask: {}", short_line(&args.question, 80));
        Ok(planning.running(title, |run| async move { ask(args, &run.work) }))
    }
}

/// The question of a call.
///
/// # Errors
/// Text for the model about the argument that does not fit.
fn question(args: AskUserArguments, tool: &str) -> Result<Question, String> {
    let wrong = |what: &str| Err(invalid(tool, what));
    if args.question.trim().is_empty() {
        return wrong("`question` is empty");
    }
    if args.question.contains(['\n', '\r']) {
        return wrong("`question` has more than one line; put the rest into `context`");
    }
    let answer_type = match (args.answer_type, args.options) {
        (AskedKind::Select, Some(options)) if !options.is_empty() => AnswerType::Select { options },
        (AskedKind::Select, _) => return wrong("`options` is needed for answer_type `select`"),
        (_, Some(_)) => return wrong("`options` is only for answer_type `select`"),
        (AskedKind::Boolean, None) => AnswerType::Boolean,
        (AskedKind::Text, None) => AnswerType::text(),
    };
    let mut question = Question::new(ANSWER, args.question, answer_type);
    question.context = args.context.filter(|context| !context.is_empty());
    question.exclusive = true;
    question.persistence = Persistence::None;
    if let Some(default) = args.default {
        match (&question.answer_type, question.accept(&default)) {
            (_, Ok(_)) => question.default = Some(default),
            (AnswerType::Select { .. }, Err(_)) => {
                return wrong("`default` is not one of `options`");
            }
            (AnswerType::Boolean, Err(_)) => return wrong("`default` is not true or false"),
            (_, Err(_)) => return wrong("`default` is not a text"),
        }
    }
    match question.check() {
        Ok(()) => Ok(question),
        Err(what) => wrong(&format!("the question cannot be asked: {what}")),
    }
}

fn ask(args: AskUserArguments, work: &CallWork) -> Result<ToolOutcome, String> {
    let question = question(args, &work.tool)?;
    let answer = work
        .answers
        .iter()
        .rev()
        .find(|(id, _)| id == ANSWER)
        .map(|(_, answer)| answer);
    let Some(answer) = answer else {
        return Ok(ToolOutcome::NeedsInput(question));
    };
    // Whichever way it came: what is told is what was asked for.
    let accepted = answer.value().map(|value| question.accept(value));
    let Some(Ok(Answer::Value(answer))) = accepted else {
        return Err("The answer does not match the requested answer type.".into());
    };
    let kind = question.answer_type.name();
    let content = json!({ "answer_type": kind, "answer": answer }).to_string();
    Ok(ToolOutcome::Success(ToolOutput::text(content)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

    async fn check(args: Value, answer: Option<Value>, expected: &str) {
        let mut trial = ToolTrial::new(&[]);
        if let Some(answer) = answer {
            trial.answers.push((ANSWER.into(), Answer::Value(answer)));
        }
        trial.check("ask_user", args, expected).await;
    }

    #[tokio::test]
    async fn asks_one_exclusive_question() {
        let args = json!({
            "question": "Apply?", "context": "a\nb", "answer_type": "select",
            "options": ["backup", "abort"], "default": "abort"
        });
        let expected = json!({
            "id": "answer", "text": "Apply?", "context": "a\nb",
            "answer_type": {"type": "select", "options": ["backup", "abort"]},
            "default": "abort", "exclusive": true, "persistence": "none"
        });
        check(args, None, &format!("asks: {expected}")).await;
        let expected = json!({
            "id": "answer", "text": "Where?", "answer_type": {"type": "text"},
            "exclusive": true, "persistence": "none"
        });
        check(
            json!({"question": "Where?"}),
            None,
            &format!("asks: {expected}"),
        )
        .await;
    }

    #[tokio::test]
    async fn answers_keep_their_type() {
        let select =
            json!({"question": "?", "answer_type": "select", "options": ["backup", "true"]});
        let boolean = json!({"question": "?", "answer_type": "boolean"});
        let text = json!({"question": "?"});
        let ok = |kind: &str, answer: &str| {
            format!(r#"ok: {{"answer_type":"{kind}","answer":{answer}}}"#)
        };
        check(
            select.clone(),
            Some("backup".into()),
            &ok("select", r#""backup""#),
        )
        .await;
        check(
            select.clone(),
            Some("true".into()),
            &ok("select", r#""true""#),
        )
        .await;
        check(boolean.clone(), Some(true.into()), &ok("boolean", "true")).await;
        check(text.clone(), Some("true".into()), &ok("text", r#""true""#)).await;

        let misfit = "error: The answer does not match the requested answer type.";
        check(select.clone(), Some("Backup".into()), misfit).await;
        check(select, Some(true.into()), misfit).await;
        check(boolean, Some("true".into()), misfit).await;
        check(text, Some(7.into()), misfit).await;
    }

    #[tokio::test]
    async fn broken_arguments_teach() {
        let check = async |args: Value, what: &str| {
            check(
                args,
                None,
                &format!("error: Invalid arguments for ask_user: {what}."),
            )
            .await;
        };
        check(json!({}), "\"question\" is a required property").await;
        check(json!({"question": " "}), "`question` is empty").await;
        check(
            json!({"question": "a\nb"}),
            "`question` has more than one line; put the rest into `context`",
        )
        .await;
        let needed = "`options` is needed for answer_type `select`";
        check(json!({"question": "?", "answer_type": "select"}), needed).await;
        check(
            json!({"question": "?", "answer_type": "select", "options": []}),
            needed,
        )
        .await;
        check(
            json!({"question": "?", "options": ["a"]}),
            "`options` is only for answer_type `select`",
        )
        .await;
        check(
            json!({"question": "?", "answer_type": "boolean", "default": "true"}),
            "`default` is not true or false",
        )
        .await;
        check(
            json!({"question": "?", "default": true}),
            "`default` is not a text",
        )
        .await;
        let select = |options: &[&str], default: &str| json!({"question": "?", "answer_type": "select", "options": options, "default": default});
        check(select(&["a"], "b"), "`default` is not one of `options`").await;
        check(
            select(&["a", "a"], "a"),
            "the question cannot be asked: it has an option twice",
        )
        .await;
    }

    #[test]
    fn stays_on_when_all_tools_go_and_shows_itself_as_the_assistant() {
        let AskUser(spec) = AskUser::new();
        assert_eq!(
            spec.enable,
            Enable {
                state: true,
                allow_toggle: AllowToggle::IfNamed
            }
        );
        assert!(spec.hidden && spec.asks_for_assistant && spec.summary.is_none());
        assert_eq!(spec.prompt_labels, [("answer", "Assistant")]);
    }
}

//! The prompts of an interrupted turn, put together from its log: questions whole, the others with what the log
//! knows of them. What a call would do is prepared anew when the turn is resumed.

use aside_session::replay::Turn;
use aside_turn::{
    history::{CallHistory, CallState, TurnHistory},
    question::{AnswerType, Source},
    record::{Permission, PromptId, PromptSubject},
};
use serde_json::Value;

use super::{Position, Preview, Prompt, PromptKind, PromptTool, TurnPermission, TurnRef};

/// The open prompts of a turn, in order. `label` gives the header of a tool's question, where the tool has one for
/// it.
#[must_use]
pub fn prompts(
    turn: &Turn,
    of: &TurnRef,
    label: impl Fn(&str, &str) -> Option<String>,
) -> Vec<Prompt> {
    let history = turn.history();
    let open = history.standing().open.iter();
    let open = open.filter_map(|open| prompt(&history, &open.prompt, of, &label));
    let mut prompts: Vec<Prompt> = open.collect();
    let all = prompts.len();
    for (at, prompt) in prompts.iter_mut().enumerate() {
        prompt.position = Position { n: at + 1, of: all };
    }
    prompts
}

/// An open prompt; none where the log does not say what it asks.
fn prompt(
    history: &TurnHistory,
    id: &PromptId,
    of: &TurnRef,
    label: &impl Fn(&str, &str) -> Option<String>,
) -> Option<Prompt> {
    let opened = history.prompt(id)?;
    let call = history.call(opened.call())?;
    let mut prompt = bare(id, of, call);
    prompt.text = opened.subject().text(call.tool()).unwrap_or_default();
    match opened.subject() {
        PromptSubject::Question { inquiry } => {
            let asked = history.question(inquiry)?;
            let question = asked.question();
            prompt.label = match asked.source() {
                Source::Assistant => "Assistant".to_owned(),
                Source::Tool { name } => name.clone(),
            };
            if let Some(own) = label(call.tool(), &question.id) {
                prompt.label = own;
            }
            prompt.text.clone_from(&question.text);
            prompt.context.clone_from(&question.context);
            prompt.answer_type = question.answer_type.clone();
            prompt.expects = question.answer_type.phrase();
            prompt.optional = question.optional;
            prompt.default.clone_from(&question.default);
            prompt.remember = question.may_be_remembered();
            prompt.exclusive = question.is_exclusive();
            prompt.source = asked.source().clone();
        }
        PromptSubject::RunTool { diff, .. } => {
            prompt.kind = PromptKind::RunTool;
            prompt.turn_permits = Some(TurnPermission::of(*diff));
            prompt.answer_type = AnswerType::Select {
                options: Permission::words(*diff),
            };
        }
        PromptSubject::DeliverResult => {
            prompt.kind = PromptKind::DeliverResult;
            prompt.preview = held(call).map(|text| Preview::Text {
                text: text.to_owned(),
            });
        }
    }
    Some(prompt)
}

/// The result that is held back.
fn held(call: &CallHistory) -> Option<&str> {
    let result = call.details()?.result.as_ref()?;
    matches!(call.state(), CallState::Held { .. }).then_some(&result.content)
}

/// The arguments of a call; null where they are no JSON, or belong to an earlier step.
fn arguments(call: &CallHistory) -> Value {
    let details = call.details();
    details
        .and_then(|details| serde_json::from_str(&details.arguments).ok())
        .unwrap_or_default()
}

/// Creates a prompt with the fields that all kinds share: exclusive and boolean, until the kind changes that.
fn bare(id: &PromptId, of: &TurnRef, call: &CallHistory) -> Prompt {
    Prompt {
        prompt_id: id.0.clone(),
        conversation_id: of.conversation_id.clone(),
        turn_id: of.turn_id.clone(),
        tool: PromptTool {
            name: call.tool().to_owned(),
            call_id: call.id().to_owned(),
            arguments: arguments(call),
            server: None,
        },
        kind: PromptKind::Question,
        label: call.tool().to_owned(),
        text: String::new(),
        context: None,
        answer_type: AnswerType::Boolean,
        expects: None,
        optional: false,
        default: None,
        remember: false,
        exclusive: true,
        source: Source::Tool {
            name: call.tool().to_owned(),
        },
        preview: None,
        turn_permits: None,
        position: Position { n: 0, of: 0 },
        resumable: Some(true),
    }
}

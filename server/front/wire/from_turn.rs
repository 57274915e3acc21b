//! From the turn's own types to the wire's, and back for answers.

use aside_turn::{effect, input};

use super::{Position, Prompt, PromptAnswer, PromptTool, TurnCompleted, TurnRef};

impl Prompt {
    /// A prompt of this turn.
    #[must_use]
    pub fn new(turn: &TurnRef, prompt: effect::Prompt) -> Self {
        let (n, of) = prompt.position;
        Self {
            prompt_id: prompt.id.0,
            conversation_id: turn.conversation_id.clone(),
            turn_id: turn.turn_id.clone(),
            tool: PromptTool {
                name: prompt.tool,
                call_id: prompt.call_id,
                arguments: prompt.arguments,
                server: prompt.server,
            },
            kind: prompt.kind,
            label: prompt.label,
            text: prompt.text,
            context: prompt.context,
            expects: prompt.answer_type.phrase(),
            answer_type: prompt.answer_type,
            optional: prompt.optional,
            default: prompt.default,
            remember: prompt.remember,
            exclusive: prompt.exclusive,
            source: prompt.source,
            preview: prompt.preview,
            turn_permits: prompt.turn_permits,
            position: Position { n, of },
            resumable: None,
        }
    }
}

impl TurnCompleted {
    /// The end of this turn.
    #[must_use]
    pub fn new(turn: &TurnRef, end: effect::End) -> Self {
        Self {
            conversation_id: turn.conversation_id.clone(),
            turn_id: turn.turn_id.clone(),
            outcome: end.outcome,
            answer: end.answer,
            structured: end.structured,
            error: end.error,
            usage: end.usage.into(),
            refusals: end.refusals,
            prompts: end
                .prompts
                .into_iter()
                .map(|prompt| Prompt::new(turn, prompt))
                .collect(),
        }
    }
}

impl From<PromptAnswer> for input::PromptAnswer {
    fn from(answer: PromptAnswer) -> Self {
        match answer {
            PromptAnswer::Answer {
                answer,
                remember,
                new_text,
                old_text: base,
            } => Self::Answer {
                value: answer,
                remember: remember.unwrap_or(false),
                new_text: new_text.map(|text| input::OwnText { text, base }),
            },
            PromptAnswer::Decline { note } => Self::Decline { note },
            PromptAnswer::Cancel => Self::Cancel,
        }
    }
}

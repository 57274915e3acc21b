//! From the turn's own types to the wire's, and back for answers.

use aside_turn::{effect, input, record::PromptId, response};

use super::{
    CallStatus, Position, Prompt, PromptAnswer, PromptTool, QuestionUpdate, TurnCompleted, TurnRef,
    Update, Usage,
};

impl From<effect::Update> for Update {
    fn from(update: effect::Update) -> Self {
        use effect::Update as TurnsUpdate;
        match update {
            TurnsUpdate::Text { step, text } => Self::Text { step, text },
            TurnsUpdate::Reasoning { step, text } => Self::Reasoning { step, text },
            TurnsUpdate::ToolCall {
                step,
                id,
                name,
                title,
                arguments,
                running,
            } => {
                let status = if running {
                    CallStatus::Running
                } else {
                    CallStatus::Waiting
                };
                Self::ToolCall {
                    step,
                    call_id: id,
                    name,
                    title,
                    arguments,
                    status,
                }
            }
            TurnsUpdate::ToolResult {
                id,
                status,
                summary,
                exit_status,
            } => Self::ToolResult {
                call_id: id,
                status,
                summary,
                exit_status,
            },
            TurnsUpdate::QuestionOpened {
                prompt,
                call,
                kind,
                label,
                text,
            } => Self::Question(QuestionUpdate::Opened {
                prompt_id: prompt.0,
                call_id: call,
                prompt_kind: kind,
                label,
                text,
            }),
            TurnsUpdate::QuestionClosed { prompt, settled } => {
                Self::Question(closed(prompt, settled))
            }
            TurnsUpdate::Inquiry { calls, status } => Self::Inquiry {
                call_ids: calls,
                status,
            },
            TurnsUpdate::Steered { text } => Self::Steered { text },
            TurnsUpdate::Retry {
                attempt,
                after,
                reason,
                discard_step,
            } => {
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                Self::Retry {
                    attempt,
                    after_ms,
                    reason,
                    discard_step,
                }
            }
            TurnsUpdate::Notice { level, text } => Self::Notice { level, text },
            TurnsUpdate::Usage {
                usage,
                context_window,
            } => Self::Usage(Usage {
                context_window,
                ..usage.into()
            }),
        }
    }
}

fn closed(prompt: PromptId, settled: effect::Settled) -> QuestionUpdate {
    match settled {
        effect::Settled::Answered { by, answer } => QuestionUpdate::answered(prompt.0, by, answer),
        effect::Settled::Cancelled(reason) => QuestionUpdate::cancelled(prompt.0, &reason),
    }
}

impl From<response::Usage> for Usage {
    fn from(usage: response::Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            cost_usd: usage.cost,
            context_window: None,
        }
    }
}

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
            } => Self::Answer {
                value: answer,
                remember: remember.unwrap_or(false),
                new_text,
            },
            PromptAnswer::Decline { note } => Self::Decline { note },
            PromptAnswer::Cancel => Self::Cancel,
        }
    }
}

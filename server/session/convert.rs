//! Disk types from entries and entries from disk types: boring, complete, and nowhere else.

use aside_turn::{
    attachment::{Attachment, Content, Media, MediaType},
    record::{CallKey, Event, PromptId, PromptSubject, Refusal, TurnError, Word},
    response::{Finish, Usage},
};
use serde_json::Value;

use super::{
    disk::{self, Disk},
    record::{Entry, TurnOptions},
};

mod answers;
mod reasons;

use answers::{closed_of, response_of};

impl From<&Entry> for Disk {
    fn from(entry: &Entry) -> Self {
        match entry.clone() {
            Entry::TurnStart(mut options) => {
                options.schema = options.schema.map(shallow);
                Self::TurnStart { options }
            }
            Entry::Turn(event) => of_event(event),
            Entry::Conversation(frozen) => Self::Conversation(frozen),
            Entry::Changed(changed) => Self::Changed(changed),
            Entry::Edit(edit) => Self::Edit(edit),
            Entry::Undone(undone) => Self::Undone(undone),
            Entry::Renamed { title } => Self::Renamed { title },
            Entry::Compacted(base) => Self::Compacted {
                base: shallow(base),
            },
            Entry::Unknown { .. } => Self::Unknown,
        }
    }
}

impl Disk {
    /// The entry. An error says what is wrong, in words that follow "line 7".
    pub(super) fn entry(self) -> Result<Entry, String> {
        Ok(match self {
            Self::Conversation(frozen) => Entry::Conversation(frozen),
            Self::Changed(changed) => Entry::Changed(changed),
            Self::Edit(edit) => Entry::Edit(edit),
            Self::Undone(undone) => Entry::Undone(undone),
            Self::Renamed { title } => Entry::Renamed { title },
            Self::Compacted { base } => Entry::Compacted(base),
            Self::TurnStart { options } => Entry::TurnStart(options),
            Self::Unknown => return Err("is of an unknown type".into()),
            event => Entry::Turn(event.event()?),
        })
    }

    fn event(self) -> Result<Event, String> {
        Ok(match self {
            Self::UserMessage { text, attachments } => Event::UserMessage {
                text,
                attachments: attachments.into_iter().map(Into::into).collect(),
            },
            Self::Directive(directive) => directive.into(),
            Self::Steer { text } => Event::Steer { text },
            Self::RequestSent { step } => Event::RequestSent { step },
            Self::Text(said) => Event::Text {
                text: said.text,
                opaque: said.opaque,
            },
            Self::Reasoning(said) => Event::Reasoning {
                text: said.text,
                opaque: said.opaque,
            },
            Self::ToolCall {
                call,
                id,
                name,
                arguments,
                opaque,
            } => Event::ToolCall {
                call: CallKey(call),
                id,
                name,
                arguments,
                opaque,
            },
            Self::ResponseEnd { finish, usage } => Event::ResponseEnd {
                finish: finish.map(|word| finish_of(&word)),
                usage: usage.into(),
            },
            other => return other.call_event(),
        })
    }

    /// The events of calls and of what they ask, and the rest.
    fn call_event(self) -> Result<Event, String> {
        Ok(match self {
            Self::CallStarted { call, run, title } => Event::CallStarted {
                call: CallKey(call),
                run,
                title,
            },
            Self::PromptOpened(opened) => opened.into(),
            Self::PromptClosed(closed) => closed.event()?,
            Self::InquiryRequest {
                id,
                source,
                question,
                call,
                live,
            } => Event::InquiryRequest {
                id,
                call: CallKey(call),
                source,
                question,
                live,
            },
            Self::InquiryResponse(response) => response.event()?,
            Self::LateAnswer { prompt } => Event::LateAnswer {
                prompt: PromptId(prompt),
            },
            Self::ToolResult(result) => result.into(),
            Self::Learned { model, refuses } => Event::Learned {
                model,
                refuses: Word::of(&refuses),
            },
            Self::Notice { level, text } => Event::Notice {
                level: level.into(),
                text,
            },
            Self::TurnEnd(end) => (*end).into(),
            _ => return Err("is no event of a turn".into()),
        })
    }
}

/// One match, however long: a new event does not compile until it has its line here.
fn of_event(event: Event) -> Disk {
    match event {
        Event::TurnStart => Disk::TurnStart {
            options: TurnOptions::default(),
        },
        Event::UserMessage { text, attachments } => Disk::UserMessage {
            text,
            attachments: attachments.into_iter().map(Into::into).collect(),
        },
        Event::Directive { kind, text } => Disk::Directive(reasons::directive_of(kind, text)),
        Event::Steer { text } => Disk::Steer { text },
        Event::RequestSent { step } => Disk::RequestSent { step },
        Event::Text { text, opaque } => Disk::Text(disk::ResponseText { text, opaque }),
        Event::Reasoning { text, opaque } => Disk::Reasoning(disk::ResponseText { text, opaque }),
        Event::ToolCall {
            call,
            id,
            name,
            arguments,
            opaque,
        } => Disk::ToolCall {
            call: call.0,
            id,
            name,
            arguments,
            opaque,
        },
        Event::ResponseEnd { finish, usage } => Disk::ResponseEnd {
            finish: finish.map(finish_word),
            usage: usage.into(),
        },
        Event::CallStarted { call, run, title } => Disk::CallStarted {
            call: call.0,
            run,
            title,
        },
        Event::PromptOpened {
            prompt,
            call,
            subject,
        } => Disk::PromptOpened(disk::Opened {
            prompt: prompt.0,
            call: call.0,
            subject: subject.into(),
        }),
        Event::PromptClosed { prompt, closed } => Disk::PromptClosed(closed_of(prompt, closed)),
        Event::InquiryRequest {
            id,
            call,
            source,
            question,
            live,
        } => Disk::InquiryRequest {
            id,
            source,
            question,
            call: call.0,
            live,
        },
        Event::InquiryResponse { id, call, response } => {
            Disk::InquiryResponse(response_of(id, call, response))
        }
        Event::LateAnswer { prompt } => Disk::LateAnswer { prompt: prompt.0 },
        Event::ToolResult {
            call,
            end,
            content,
            held,
            details,
        } => Disk::ToolResult(disk::ToolResult {
            content,
            held,
            details: details.map(shallow),
            ..reasons::result_of(call, &end)
        }),
        Event::Learned { model, refuses } => Disk::Learned {
            model,
            refuses: refuses.as_str().to_owned(),
        },
        Event::Notice { level, text } => Disk::Notice {
            level: level.into(),
            text,
        },
        Event::TurnEnd {
            outcome,
            answer,
            structured,
            error,
            usage,
            refusals,
        } => Disk::TurnEnd(Box::new(disk::End {
            outcome: outcome.into(),
            answer,
            structured: structured.map(shallow),
            error: error.map(Into::into),
            usage: usage.into(),
            refusals: refusals.into_iter().map(Into::into).collect(),
        })),
    }
}

impl From<disk::Opened> for Event {
    fn from(opened: disk::Opened) -> Self {
        let subject = match opened.subject {
            disk::PromptSubject::Question { inquiry } => PromptSubject::Question { inquiry },
            disk::PromptSubject::RunTool { hash, diff, title } => {
                PromptSubject::RunTool { hash, diff, title }
            }
            disk::PromptSubject::DeliverResult => PromptSubject::DeliverResult,
        };
        Self::PromptOpened {
            prompt: PromptId(opened.prompt),
            call: CallKey(opened.call),
            subject,
        }
    }
}

impl From<PromptSubject> for disk::PromptSubject {
    fn from(subject: PromptSubject) -> Self {
        match subject {
            PromptSubject::Question { inquiry } => Self::Question { inquiry },
            PromptSubject::RunTool { hash, diff, title } => Self::RunTool { hash, diff, title },
            PromptSubject::DeliverResult => Self::DeliverResult,
        }
    }
}

impl From<disk::End> for Event {
    fn from(end: disk::End) -> Self {
        Self::TurnEnd {
            outcome: end.outcome.into(),
            answer: end.answer,
            structured: end.structured,
            error: end.error.map(Into::into),
            usage: end.usage.into(),
            refusals: end.refusals.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Usage> for disk::Usage {
    fn from(
        Usage {
            input,
            cache_read,
            cache_write,
            output,
            cost,
        }: Usage,
    ) -> Self {
        Self {
            input,
            cache_read,
            cache_write,
            output,
            cost,
        }
    }
}

impl From<disk::Usage> for Usage {
    fn from(usage: disk::Usage) -> Self {
        let disk::Usage {
            input,
            cache_read,
            cache_write,
            output,
            cost,
        } = usage;
        Self {
            input,
            cache_read,
            cache_write,
            output,
            cost,
        }
    }
}

impl From<Attachment> for disk::Attachment {
    fn from(Attachment { name, content }: Attachment) -> Self {
        let (text, media) = match content {
            Content::Text(text) => (Some(text), None),
            Content::Media(media) => (None, Some(media.into())),
        };
        Self { name, text, media }
    }
}

impl From<Media> for disk::Media {
    fn from(media: Media) -> Self {
        let Media {
            media_type,
            blob,
            size,
        } = media;
        Self {
            mime_type: media_type.mime().to_owned(),
            blob,
            size,
        }
    }
}

impl From<disk::Media> for Media {
    fn from(media: disk::Media) -> Self {
        let disk::Media {
            mime_type,
            blob,
            size,
        } = media;
        Self {
            media_type: MediaType::of_mime(&mime_type),
            blob,
            size,
        }
    }
}

impl From<disk::Attachment> for Attachment {
    fn from(disk::Attachment { name, text, media }: disk::Attachment) -> Self {
        let content = match media {
            Some(media) => Content::Media(media.into()),
            None => Content::Text(text.unwrap_or_default()),
        };
        Self { name, content }
    }
}

impl From<TurnError> for disk::TurnError {
    fn from(TurnError { code, message }: TurnError) -> Self {
        Self {
            code: code.into(),
            message,
        }
    }
}

impl From<disk::TurnError> for TurnError {
    fn from(disk::TurnError { code, message }: disk::TurnError) -> Self {
        Self {
            code: code.into(),
            message,
        }
    }
}

impl From<Refusal> for disk::Refusal {
    fn from(refusal: Refusal) -> Self {
        let Refusal {
            tool,
            arguments,
            reason,
            text,
        } = refusal;
        Self {
            tool,
            arguments: shallow(arguments),
            reason: reason.into(),
            text,
        }
    }
}

impl From<disk::Refusal> for Refusal {
    fn from(refusal: disk::Refusal) -> Self {
        let disk::Refusal {
            tool,
            arguments,
            reason,
            text,
        } = refusal;
        Self {
            tool,
            arguments,
            reason: reason.into(),
            text,
        }
    }
}

fn finish_word(finish: Finish) -> String {
    match finish {
        Finish::Stop => "stop".into(),
        Finish::ToolUse => "tool_use".into(),
        Finish::MaxTokens => "max_tokens".into(),
        Finish::StopSequence => "stop_sequence".into(),
        Finish::Pause => "pause".into(),
        Finish::Refusal => "refusal".into(),
        Finish::ContextFull => "context_full".into(),
        Finish::ContentFilter => "content_filter".into(),
        Finish::MalformedCall => "malformed_call".into(),
        Finish::Other(word) => word,
    }
}

fn finish_of(word: &str) -> Finish {
    match word {
        "stop" => Finish::Stop,
        "tool_use" => Finish::ToolUse,
        "max_tokens" => Finish::MaxTokens,
        "stop_sequence" => Finish::StopSequence,
        "pause" => Finish::Pause,
        "refusal" => Finish::Refusal,
        "context_full" => Finish::ContextFull,
        "content_filter" => Finish::ContentFilter,
        "malformed_call" => Finish::MalformedCall,
        other => Finish::Other(other.to_owned()),
    }
}

/// Levels of nesting that a value on record may have. Readers of JSON stop at 128, the line's own included.
const DEPTH: usize = 100;

/// The value, or its text where it is nested so deep that the line could not be read again.
fn shallow(value: Value) -> Value {
    fn fits(value: &Value, depth: usize) -> bool {
        depth > 0
            && match value {
                Value::Array(items) => items.iter().all(|item| fits(item, depth - 1)),
                Value::Object(fields) => fields.values().all(|field| fits(field, depth - 1)),
                _ => true,
            }
    }
    if fits(&value, DEPTH) {
        value
    } else {
        Value::String(value.to_string())
    }
}

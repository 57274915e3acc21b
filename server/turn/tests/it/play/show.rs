//! Effects as text.

use std::time::Duration;

use aside_turn::{
    effect::{
        CallStatus, Effect, End, InquiryStatus, Prompt, QuestionUpdate, Request, RequestKind,
        Update,
    },
    input::Preview,
    inquiry::{Message, SideRequest},
    question::{Answer, AnswerType, Source},
    record::{Level, Outcome, PromptId, Status, Vocabulary},
    response::{Finish, Item, Kind, Usage},
    rules::ToolChoice,
};
use serde_json::Value;

use super::{Play, kind_name};

/// An effect as text; none where it decides nothing and the conversation did not ask for it.
pub(super) fn effect(play: &Play, effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Record(event) => format!("rec {}", super::record::event(play, event)),
        Effect::Prepare(work) => {
            format!(
                "prepare {}{}",
                play.calls.name(work.call),
                answers(&work.answers)
            )
        }
        Effect::Send(request) => send(play, request),
        Effect::Abort(id) => format!("abort {}", id.0),
        Effect::Run(work) => {
            let text = work
                .new_text
                .as_ref()
                .map(|own| format!(" with {:?}", own.text))
                .unwrap_or_default();
            format!(
                "run {}{}{text}",
                play.calls.name(work.call),
                answers(&work.answers)
            )
        }
        Effect::Stop(call) => format!("stop {}", play.calls.name(*call)),
        Effect::AnswerLive(call, number, answer) => {
            let answer = answer.as_ref().map_or("nothing".into(), self::answer);
            format!("answer-live {} {number} {answer}", play.calls.name(*call))
        }
        Effect::OpenPrompt(prompt) => format!("open {}", self::prompt(play, prompt)),
        Effect::ClosePrompt(id, why) => {
            format!("close {} {:?}", play.prompt_name(id), why.word())
        }
        Effect::KeepApproval(approval) => format!("keep-approval {:?}", approval.hash),
        Effect::Check(text) => format!("check {text:?}"),
        Effect::Tell(update) => return tell(play, update),
        Effect::End(end) => self::end(play, end),
    })
}

fn send(play: &Play, request: &Request) -> String {
    let mut text = format!("send {} ", request.id.0);
    match &request.kind {
        RequestKind::Turn {
            step,
            native_schema,
        } => {
            text += &format!("step {step}{}", flag(*native_schema, " native-schema"));
        }
        RequestKind::Inquiry(ask) => text += &inquiry(play, ask),
        RequestKind::Compaction {
            shortened: true, ..
        } => text += "compaction shortened",
        RequestKind::Compaction { .. } => text += "compaction",
        RequestKind::NativeCompaction => text += "native-compaction",
    }
    match &request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => text += " choice=none",
        ToolChoice::Required => text += " choice=required",
        ToolChoice::Name(name) => text += &format!(" choice={name}"),
    }
    let reasons = play.world.rules.model.reasoning;
    text += flag(reasons && !request.reasoning, " no-reasoning");
    for feature in &request.without {
        text += &format!(" without={}", feature.word());
    }
    for part in &request.left_out {
        text += &format!(" without={}={}", part.word(), part.name());
    }
    let messages = match &request.kind {
        RequestKind::Turn { .. } | RequestKind::NativeCompaction => &[][..],
        RequestKind::Inquiry(ask) => &ask.messages,
        // The outline of a summary is the same each time.
        RequestKind::Compaction { messages, .. } => messages.get(1..).unwrap_or_default(),
    };
    for message in messages {
        text += &self::message(message);
    }
    text
}

fn inquiry(play: &Play, ask: &SideRequest) -> String {
    let calls: Vec<_> = ask
        .calls
        .iter()
        .map(|call| play.calls.name(*call))
        .collect();
    let model = ask
        .assistant
        .as_ref()
        .map(|assistant| format!(" of {}", assistant.model))
        .unwrap_or_default();
    let schema = ask
        .schema
        .as_ref()
        .map(|schema| format!(" schema {schema}"))
        .unwrap_or_default();
    format!(
        "inquiry {}{model} for {}{schema}",
        ask.strategy.word(),
        calls.join(" ")
    )
}

fn message(message: &Message) -> String {
    let mut out = String::new();
    match message {
        Message::User { results, text } => {
            for result in results {
                let error = flag(result.is_error, " error");
                out += &format!(
                    "\n  | result {} {}{error} {:?}",
                    result.id, result.name, result.content
                );
            }
            for line in text.lines() {
                out += format!("\n  | {line}").trim_end();
            }
        }
        Message::Assistant(items) => {
            for item in items {
                out += &format!("\n  < {}", self::item(item));
            }
        }
    }
    out
}

fn item(item: &Item) -> String {
    match &item.kind {
        Kind::Text => format!("text {:?}", item.text),
        Kind::Reasoning => format!("reasoning {:?}", item.text),
        Kind::ToolCall { id, name } => format!("call {id} {name} {}", item.text),
        Kind::Compaction => "compaction".into(),
        Kind::Opaque => "opaque".into(),
    }
}

fn prompt(play: &Play, prompt: &Prompt) -> String {
    let mut text = format!(
        "{} {} of {} [{}] {:?} {}",
        play.prompt_name(&prompt.id),
        kind_name(prompt.kind),
        play.calls.name(prompt.call),
        prompt.label,
        prompt.text,
        answer_type(&prompt.answer_type),
    );
    if let Some(default) = &prompt.default {
        text += &format!(" default={default}");
    }
    text += flag(prompt.remember, " remember");
    text += flag(prompt.exclusive, " exclusive");
    text += flag(prompt.source == Source::Assistant, " of-the-assistant");
    if let Some(server) = &prompt.server {
        text += &format!(" server={server}");
    }
    if let Some(context) = &prompt.context {
        text += &format!(" context={context:?}");
    }
    match &prompt.preview {
        None => {}
        Some(Preview::Command { text: command, cwd }) => {
            text += &format!(" command={command:?} in {cwd}")
        }
        Some(Preview::Diff { uri, .. }) => text += &format!(" diff of {uri}"),
        Some(Preview::Text { text: preview }) => text += &format!(" preview={preview:?}"),
    }
    format!("{text} {}/{}", prompt.position.0, prompt.position.1)
}

pub(super) fn answer_type(kind: &AnswerType) -> String {
    match kind {
        AnswerType::Select { options } => format!("select={}", options.join("|")),
        AnswerType::MultiSelect { options, .. } => format!("multi_select={}", options.join("|")),
        other => other.name().into(),
    }
}

fn tell(play: &Play, update: &Update) -> Option<String> {
    let text = match update {
        Update::Question(QuestionUpdate::Opened {
            prompt_id,
            prompt_kind,
            text,
            label,
            ..
        }) => {
            format!(
                "opened {} {} [{label}] {text:?}",
                play.prompt_name(&PromptId(prompt_id.clone())),
                kind_name(*prompt_kind)
            )
        }
        Update::Question(QuestionUpdate::Closed {
            prompt_id,
            by,
            reason,
            answer,
            ..
        }) => {
            let settled = match (by, reason) {
                (Some(by), _) => format!("{} by {}", optional(answer.as_ref()), lower(by)),
                (None, reason) => reason.as_ref().map_or("", |it| it.name()).to_owned(),
            };
            format!(
                "closed {} {settled}",
                play.prompt_name(&PromptId(prompt_id.clone()))
            )
        }
        Update::Inquiry { call_ids, status } => {
            format!("inquiry {} {}", inquiry_status(*status), call_ids.join(" "))
        }
        Update::Steered { text } => format!("steered {text:?}"),
        Update::Retry {
            attempt,
            after_ms,
            reason,
            discard_step,
        } => {
            let after = Duration::from_millis(*after_ms);
            let discard = discard_step
                .map(|step| format!(" discard {step}"))
                .unwrap_or_default();
            format!("retry {attempt} after {after:?}{discard} {reason:?}")
        }
        Update::Notice { level, text } => format!("{} {text:?}", self::level(*level)),
        _ if !play.world.updates => return None,
        Update::Text { step, text } => format!("text {step} {text:?}"),
        Update::Reasoning { step, text } => format!("reasoning {step} {text:?}"),
        Update::ToolCall {
            step,
            call_id,
            title,
            status,
            ..
        } => {
            let running = flag(*status == CallStatus::Running, " running");
            format!("call {step} {call_id} {title:?}{running}")
        }
        Update::ToolResult {
            call_id,
            status,
            summary,
            ..
        } => {
            format!("result {call_id} {} {summary:?}", self::status(*status))
        }
        Update::Summary { status, text } => {
            let status = format!("{status:?}").to_lowercase();
            let text = text.as_ref().map(|text| format!(" {text:?}"));
            format!("summary {status}{}", text.unwrap_or_default())
        }
        Update::Usage(usage) => format!(
            "usage{}{}",
            usage
                .context_tokens
                .map_or_else(String::new, |tokens| format!(" context {tokens}")),
            self::usage(&Usage {
                input: usage.input_tokens,
                cache_read: usage.cache_read_tokens,
                cache_write: usage.cache_write_tokens,
                output: usage.output_tokens,
                cost: usage.cost_usd,
                partial: usage.at_least,
            })
        ),
        Update::ToolOutput { .. } | Update::Edit { .. } | Update::Title { .. } => return None,
    };
    Some(format!("tell {text}"))
}

fn inquiry_status(status: InquiryStatus) -> &'static str {
    match status {
        InquiryStatus::Asked => "asked",
        InquiryStatus::Answered => "answered",
        InquiryStatus::Failed => "failed",
    }
}

fn end(play: &Play, end: &End) -> String {
    let mut text = format!("end {}", outcome(end.outcome));
    if let Some(answer) = &end.answer {
        text += &format!(" {answer:?}");
    }
    if let Some(structured) = &end.structured {
        text += &format!(" structured={structured}");
    }
    if let Some(error) = &end.error {
        text += &format!(" {}: {}", lower(&error.code), error.message);
    }
    text += &usage(&end.usage);
    if let Some(due) = end.summary_due {
        text += &format!(" summary in {due:?}");
    }
    for refusal in &end.refusals {
        let arguments = match &refusal.arguments {
            Value::Object(none) if none.is_empty() => String::new(),
            arguments => format!(" {arguments}"),
        };
        text += &format!(
            "\n  refused {}{arguments} {}: {}",
            refusal.tool,
            lower(&refusal.reason),
            refusal.text
        );
    }
    for prompt in &end.prompts {
        text += &format!("\n  open {}", self::prompt(play, prompt));
    }
    text
}

fn answers(answers: &[(String, Answer)]) -> String {
    answers
        .iter()
        .map(|(id, value)| format!(" {id}={}", answer(value)))
        .collect()
}

/// An answer as text.
pub(crate) fn answer(answer: &Answer) -> String {
    answer.value().map_or("[secret]".into(), Value::to_string)
}

pub(super) fn usage(usage: &Usage) -> String {
    if *usage == Usage::default() {
        return String::new();
    }
    let cost = usage
        .cost
        .map(|cost| format!(" ${cost}"))
        .unwrap_or_default();
    let more = if usage.partial { " or more" } else { "" };
    format!(" [{} in, {} out{cost}{more}]", usage.input, usage.output)
}

fn optional(value: Option<&Value>) -> String {
    value.map_or("-".into(), Value::to_string)
}

pub(super) fn flag(set: bool, word: &'static str) -> &'static str {
    if set { word } else { "" }
}

pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Info => "notice",
        Level::Warning => "warning",
    }
}

/// A status by its word.
pub(crate) fn status(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Error => "error",
        Status::Cancelled => "cancelled",
        Status::Denied => "denied",
    }
}

pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed => "failed",
        Outcome::Interrupted => "interrupted",
    }
}

pub(super) fn finish_name(finish: &Finish) -> String {
    match finish {
        Finish::Other(word) => word.clone(),
        known => lower(known),
    }
}

/// The word of a value that is a word on record.
pub(crate) fn lower(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

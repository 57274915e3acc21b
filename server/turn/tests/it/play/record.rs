//! Events as text.

use aside_turn::{
    question::Source,
    record::{Closed, Effort, Event, InquiryResponse, PromptSubject, Showing},
};

use super::{
    Play,
    show::{answer_type, finish_name, flag, level, lower, outcome, status, usage},
};

/// An event as text.
pub(super) fn event(play: &Play, event: &Event) -> String {
    match event {
        Event::TurnStart => "turn_start".into(),
        Event::UserMessage { text, .. } => format!("user_message {text:?}"),
        Event::Directive { text, .. } => format!("directive {text:?}"),
        Event::Steer { text } => format!("steer {text:?}"),
        Event::RequestSent { step } => format!("request_sent {step}"),
        Event::Text { text, .. } => format!("text {text:?}"),
        Event::Reasoning { text, .. } => format!("reasoning {text:?}"),
        Event::ToolCall {
            call,
            name,
            arguments,
            ..
        } => {
            format!("tool_call {} {name} {arguments}", play.calls.name(*call))
        }
        Event::ResponseEnd { finish, usage } => {
            let finish = finish.as_ref().map_or("cancelled".into(), finish_name);
            format!("response_end {finish}{}", self::usage(usage))
        }
        Event::Learned { model, refuses } => format!("learned {model} refuses {refuses}"),
        Event::Compacted {
            number,
            summary,
            native,
            before,
            usage,
            ..
        } => {
            let native = native.as_ref();
            let native =
                native.map_or_else(String::new, |native| format!(" native {}", native.model));
            let usage = self::usage(usage);
            format!("compacted {number} {summary:?}{native} from {before}{usage}")
        }
        Event::CompactionUndone { number, context } => {
            format!("compaction_undone {number} to {context}")
        }
        Event::CompactionFailed { model, reason } => {
            format!("compaction_failed {model} {reason:?}")
        }
        Event::OutputsCleared { outputs, context } => {
            let texts: Vec<&str> = outputs.iter().map(|output| output.text.as_str()).collect();
            format!("outputs_cleared {texts:?} to {context}")
        }
        Event::Spent { usage } => format!("spent{}", self::usage(usage)),
        Event::Notice { level, text } => format!("{} {text:?}", self::level(*level)),
        Event::TurnEnd {
            outcome,
            answer,
            error,
            ..
        } => {
            let answer = answer
                .as_ref()
                .map(|answer| format!(" {answer:?}"))
                .unwrap_or_default();
            let error = error
                .as_ref()
                .map(|error| format!(" {}", lower(&error.code)))
                .unwrap_or_default();
            format!("turn_end {}{answer}{error}", self::outcome(*outcome))
        }
        _ => of_a_call(play, event),
    }
}

/// An event of a call, its prompts and its questions.
fn of_a_call(play: &Play, event: &Event) -> String {
    match event {
        Event::CallStarted { call, run, .. } => {
            format!("call_started {} {run}", play.calls.name(*call))
        }
        Event::PromptOpened {
            prompt,
            call,
            subject,
        } => {
            let subject = match subject {
                PromptSubject::Question { inquiry } => format!("question {inquiry}"),
                PromptSubject::RunTool { hash, diff, .. } => {
                    format!("runTool {hash:?}{}", flag(*diff, " diff"))
                }
                PromptSubject::DeliverResult => "deliverResult".into(),
            };
            format!(
                "prompt_opened {} of {} {subject}",
                play.prompt_name(prompt),
                play.calls.name(*call)
            )
        }
        Event::PromptClosed { prompt, closed } => {
            format!(
                "prompt_closed {} {}",
                play.prompt_name(prompt),
                self::closed(closed)
            )
        }
        Event::InquiryRequest {
            id,
            source,
            question,
            live,
            ..
        } => {
            let kind = answer_type(&question.answer_type);
            let source = flag(*source == Source::Assistant, " of-the-assistant");
            let exclusive = flag(question.exclusive, " exclusive");
            format!(
                "inquiry_request {id} {kind} {:?}{exclusive}{source}{}",
                question.text,
                flag(*live, " live")
            )
        }
        Event::InquiryResponse { id, response, .. } => {
            format!("inquiry_response {id} {}", self::response(response))
        }
        Event::LateAnswer { prompt } => format!("late_answer {}", play.prompt_name(prompt)),
        Event::ToolResult {
            call,
            end,
            content,
            held,
            ..
        } => format!(
            "tool_result {} {} {content:?}{}",
            play.calls.name(*call),
            status(end.status()),
            flag(*held, " held"),
        ),
        _ => unreachable!("{event:?} is not of a call"),
    }
}

fn closed(closed: &Closed) -> String {
    match closed {
        Closed::Permitted {
            permission,
            new_text,
            shown,
        } => {
            let text = new_text
                .as_ref()
                .map(|text| format!(" with {text:?}"))
                .unwrap_or_default();
            let answer = permission.as_str();
            format!("answered {answer:?}{text}{}", self::shown(shown))
        }
        Closed::Configured => "answered \"once\" by config".into(),
        Closed::Delivered { deliver, shown } => {
            format!("answered {deliver}{}", self::shown(shown))
        }
        Closed::Declined { note, shown } => {
            let note = note
                .as_ref()
                .map(|note| format!(" {note:?}"))
                .unwrap_or_default();
            format!("declined{note}{}", self::shown(shown))
        }
        Closed::Withdrawn => "withdrawn".into(),
        Closed::Failed { why } => format!("failed {why:?}"),
    }
}

fn response(response: &InquiryResponse) -> String {
    match response {
        InquiryResponse::Answered {
            answer,
            by,
            remember,
            shown,
            effort,
        } => {
            let remember = flag(*remember, " remember");
            let how = self::shown(shown) + &took(effort);
            format!("answered {answer} by {}{remember}{how}", lower(by))
        }
        InquiryResponse::Redacted { shown } => format!("redacted by user{}", self::shown(shown)),
        InquiryResponse::Cancelled {
            reason,
            note,
            why,
            effort,
            shown,
            ..
        } => {
            let note = note
                .as_ref()
                .map(|note| format!(" note {note:?}"))
                .unwrap_or_default();
            let why = why
                .as_ref()
                .map(|why| format!(" {why:?}"))
                .unwrap_or_default();
            let how = self::shown(shown) + &took(effort);
            format!("cancelled {}{note}{why}{how}", reason.name())
        }
    }
}

/// Who showed it, and for how long.
fn shown(shown: &Option<Showing>) -> String {
    let Some(shown) = shown else {
        return String::new();
    };
    let time = shown.answered_at.saturating_sub(shown.shown_at);
    let time = if time.is_zero() {
        String::new()
    } else {
        format!(" after {time:?}")
    };
    format!(" ({}{time})", shown.client.name)
}

fn took(effort: &Option<Effort>) -> String {
    let Some(effort) = effort else {
        return String::new();
    };
    let usage = usage(&effort.usage);
    format!(
        " ({} {}, tries {}{usage})",
        effort.model, effort.strategy, effort.tries
    )
}

//! What happened, without what the model is told of it.

use aside_turn::{
    Effect, Event,
    effect::RequestKind,
    inquiry::Message,
    record::{Backend, InquiryResponse, Word},
};

/// An effect without what the model is told.
pub(crate) fn effect(effect: &Effect) -> Effect {
    let mut effect = effect.clone();
    match &mut effect {
        Effect::Record(recorded) => *recorded = event(recorded),
        Effect::Send(request) => match &mut request.kind {
            RequestKind::Turn { .. } | RequestKind::NativeCompaction => {}
            RequestKind::Inquiry(ask) => ask.messages.iter_mut().for_each(clear_message),
            RequestKind::Compaction { messages, .. } => messages.iter_mut().for_each(clear_message),
        },
        // What a call is told that asked while it runs, and tells the model.
        Effect::AnswerLive(_, _, Err(text)) => text.clear(),
        _ => {}
    }
    effect
}

/// An event without what the model is told.
pub(crate) fn event(event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::Directive { text, .. } => text.clear(),
        Event::ToolResult { content, .. } => content.clear(),
        Event::OutputsCleared { outputs, .. } => {
            outputs.iter_mut().for_each(|output| output.text.clear());
        }
        Event::InquiryResponse {
            response:
                InquiryResponse::Cancelled {
                    backend: Some(Word::Known(Backend::Inquiry)),
                    why,
                    ..
                },
            ..
        } => *why = None,
        _ => {}
    }
    event
}

fn clear_message(message: &mut Message) {
    if let Message::User { results, text } = message {
        text.clear();
        results.iter_mut().for_each(|result| result.content.clear());
    }
}

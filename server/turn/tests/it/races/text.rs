//! A sequence as text: what happened to the turn (`>`), what it wanted done (`<`), without what goes without saying.

use std::fmt::Debug;

use aside_turn::{
    Effect, Event, Input, Setup,
    effect::{RequestKind, Update},
    input::Time,
    response::{Piece, Usage},
    rules::{Rules, ToolRules},
};

pub(crate) fn setup(how: &str, setup: &Setup) -> String {
    let client = match &setup.client {
        None => "nobody",
        Some(client) if client.secret => "a client",
        Some(_) => "a client without secrets",
    };
    format!("> {how} {}, {client}\n{}", setup.id, rules(&setup.rules))
}

/// What is not as by default.
fn rules(rules: &Rules) -> String {
    let default = Rules::default();
    let Rules { mode, trusted, .. } = rules;
    let mut lines = vec![format!("  mode {mode:?}, trusted {trusted}")];
    let mut other = |name: &str, value: &dyn Debug, usual: &dyn Debug| {
        let value = format!("{value:?}");
        if value != format!("{usual:?}") {
            lines.push(format!("  {name}: {}", plain(&value)));
        }
    };
    other("choice", &rules.tool_choice, &default.tool_choice);
    other("schema", &rules.schema, &default.schema);
    other("inquiry", &rules.inquiry, &default.inquiry);
    other("model", &rules.model, &default.model);
    other("limits", &rules.limits, &default.limits);
    for (name, tool) in &rules.tools {
        other(name, tool, &ToolRules::default());
    }
    lines.join("\n")
}

pub(crate) fn input(now: Time, input: &Input) -> String {
    let said = match input {
        Input::FirstByte(_) => return String::new(),
        Input::Piece(id, Piece::Open { kind, .. }) => format!("{}: {kind:?}", id.0),
        Input::Piece(id, Piece::Delta { text, .. }) => format!("{}: {text:?}", id.0),
        Input::Piece(id, Piece::Anew { name, text, .. }) => format!("{}: {name} {text:?}", id.0),
        Input::Piece(id, Piece::Close { complete, .. }) if !complete => {
            format!("{}: not complete", id.0)
        }
        Input::Piece(_, Piece::Close { .. } | Piece::KeepAlive) => return String::new(),
        Input::Piece(id, Piece::Finish(finish)) => format!("{}: {finish:?}", id.0),
        other => plain(&format!("{other:?}")),
    };
    format!("> {} ms: {said}", now.as_millis())
}

pub(crate) fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Record(recorded) => event(recorded),
        Effect::Send(request) => {
            let (id, choice) = (request.id.0, &request.tool_choice);
            match &request.kind {
                RequestKind::Turn { step, .. } => {
                    format!("< send {id}: step {step}, choice {choice:?}")
                }
                RequestKind::Inquiry(ask) => format!("< send {id}: choice {choice:?}, {ask:?}"),
                RequestKind::Compaction { .. } => format!("< send {id}: compaction"),
                RequestKind::NativeCompaction => format!("< send {id}: native compaction"),
            }
        }
        Effect::Tell(
            Update::Text { .. }
            | Update::Reasoning { .. }
            | Update::ToolCall { .. }
            | Update::ToolResult { .. }
            | Update::Question(_)
            | Update::Inquiry { .. }
            | Update::Notice { .. }
            | Update::Summary { .. }
            | Update::Usage(_),
        ) => String::new(),
        Effect::OpenPrompt(prompt) => format!("< show {}: {}", prompt.id.0, prompt.text),
        other => plain(&format!("< {other:?}")),
    }
}

pub(crate) fn event(event: &Event) -> String {
    plain(&format!("< record {event:?}"))
}

/// Without fields that say nothing.
fn plain(text: &str) -> String {
    let nothing = [
        format!(", usage: {:?}", Usage::default()),
        ", exclusive: false, persistence: Turn".into(),
        ", server: None".into(),
    ];
    let mut text = nothing
        .iter()
        .fold(text.to_owned(), |text, nothing| text.replace(nothing, ""));
    for field in [
        "opaque",
        "effort",
        "details",
        "diff",
        "seen",
        "note",
        "why",
        "context",
        "default",
        "preview",
        "must_ask",
        "new_text",
        "structured",
        "error",
    ] {
        text = text.replace(&format!(", {field}: None"), "");
    }
    text
}

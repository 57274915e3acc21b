//! A sequence as text: what happened to the turn (`>`), what it wanted done (`<`).

use aside_turn::{Effect, Event, Input, Setup, effect::RequestKind, input::Time, rules::Rules};

pub(crate) fn setup(how: &str, setup: &Setup) -> String {
    let client = match &setup.client {
        None => "nobody",
        Some(client) if client.secret => "a client",
        Some(_) => "a client without secrets",
    };
    format!("> {how} {}, {client}\n{}", setup.id, rules(&setup.rules))
}

fn rules(rules: &Rules) -> String {
    let mut lines = vec![format!(
        "  mode {:?}, trusted {}, choice {:?}, schema {}, {:?}\n  {:?}\n  {:?}",
        rules.mode,
        rules.trusted,
        rules.tool_choice,
        rules.schema,
        rules.inquiry,
        rules.model,
        rules.limits
    )];
    let plain = format!("{:?}", aside_turn::rules::ToolRules::default());
    for (name, tool) in &rules.tools {
        let tool = format!("{tool:?}");
        if tool != plain {
            lines.push(format!("  {name}: {tool}"));
        }
    }
    lines.join("\n")
}

pub(crate) fn input(now: Time, input: &Input) -> String {
    format!("> {} ms: {input:?}", now.as_millis())
}

pub(crate) fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Record(recorded) => event(recorded),
        Effect::Send(request) => {
            let (id, choice) = (request.id.0, &request.tool_choice);
            match &request.kind {
                RequestKind::Turn { cycle, .. } => {
                    format!("< send {id}: cycle {cycle}, choice {choice:?}")
                }
                RequestKind::Inquiry(ask) => format!("< send {id}: choice {choice:?}, {ask:?}"),
            }
        }
        other => format!("< {other:?}"),
    }
}

pub(crate) fn event(event: &Event) -> String {
    format!("< record {event:?}")
}

//! The frozen beginning of a conversation's requests, and its changes since the last turn.

use aside_provider::{Head, ToolDeclaration};
use aside_session::record::{Changed, Frozen, FrozenTool};
use aside_turn::rules::{Rules, RunRule, ToolRules};

use crate::engine::drive::notice::TurnNotice;

/// System text and tools at the beginning of requests. Tools that were removed since stay in the list, because caches
/// depend on it, and `rules` deny them.
pub(super) fn freeze(
    system: &str,
    specs: &[ToolDeclaration],
    rules: &mut Rules,
    before: Option<&Frozen>,
) -> Frozen {
    let model = rules.model.id.clone();
    let provider = model.split('/').next().unwrap_or_default().to_owned();
    let mut tools: Vec<FrozenTool> = specs.iter().map(frozen_tool).collect();
    if let Some(before) = before {
        let now: Vec<FrozenTool> = std::mem::take(&mut tools);
        let known = |tool: &FrozenTool| before.tools.iter().any(|other| other.name == tool.name);
        let gone = |tool: &&FrozenTool| now.iter().all(|other| other.name != tool.name);
        for tool in before.tools.iter().filter(gone) {
            let denied = ToolRules {
                run: Some(RunRule::Deny),
                ..ToolRules::default()
            };
            rules.tools.insert(tool.name.clone(), denied);
        }
        let kept = before.tools.iter().map(|tool| {
            now.iter()
                .find(|other| other.name == tool.name)
                .unwrap_or(tool)
                .clone()
        });
        tools = kept
            .chain(now.iter().filter(|tool| !known(tool)).cloned())
            .collect();
    }
    Frozen {
        system: system.to_owned(),
        tools,
        model,
        provider,
    }
}

/// Changes for the record and for a person; `None` if there are none.
pub(super) fn change(before: &Frozen, now: &Frozen) -> Option<(Changed, TurnNotice)> {
    let changed = Changed {
        system: Some(now.system.clone()).filter(|now| *now != before.system),
        tools: Some(now.tools.clone()).filter(|now| *now != before.tools),
        model: Some(now.model.clone()).filter(|now| *now != before.model),
        provider: Some(now.provider.clone()).filter(|now| *now != before.provider),
    };
    if changed == Changed::default() {
        return None;
    }
    let notice = TurnNotice::HeadChanged {
        model: changed.model.is_some() || changed.provider.is_some(),
        tools: changed.tools.is_some(),
        system: changed.system.is_some(),
    };
    Some((changed, notice))
}

/// Converts the frozen beginning for providers.
pub(super) fn head(frozen: &Frozen) -> Head {
    Head {
        system: frozen.system.clone(),
        tools: frozen.tools.iter().map(spec).collect(),
    }
}

fn frozen_tool(spec: &ToolDeclaration) -> FrozenTool {
    let ToolDeclaration {
        name,
        description,
        parameters,
        strict,
    } = spec.clone();
    FrozenTool {
        name,
        description,
        parameters,
        strict,
    }
}

fn spec(tool: &FrozenTool) -> ToolDeclaration {
    ToolDeclaration {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
        strict: tool.strict,
    }
}

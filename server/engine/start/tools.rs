//! The tools of a turn, and what they say of themselves.

use std::{collections::BTreeMap, sync::Arc};

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::error::StartError;
use crate::{
    config::{self, Toggle, enabled_tools, flags::AnswerFlag, settings::Settings},
    provider::ToolDeclaration,
    tool::{self, Registry, Tool},
    turn::inquiry::ANSWER_INQUIRY,
};

/// The tools of a turn.
pub(super) struct ToolSet {
    /// All that there are.
    pub(super) registry: Arc<Registry>,
    /// The names of those that are on.
    pub(super) enabled: Vec<String>,
    /// Those that are on, as providers see them.
    pub(super) specs: Vec<ToolDeclaration>,
    /// The names and full descriptions of those that are on.
    pub(super) descriptions: IndexMap<String, String>,
}

impl ToolSet {
    /// The built-in tools and these, as far as settings and toggles have them.
    ///
    /// # Errors
    /// [`StartError::Usage`]: a name that is taken or not known, an answer for a tool that is not there.
    pub(super) fn new<'a>(
        settings: &Settings,
        more: impl Iterator<Item = &'a Arc<dyn Tool>>,
        toggles: &[Toggle],
        answers: &[AnswerFlag],
    ) -> Result<Self, StartError> {
        let mut registry = Registry::builtin();
        for tool in more {
            let added = registry.add(tool.clone());
            added.map_err(|bad| StartError::Usage(bad.to_string()))?;
        }
        let enabled = tools_that_are_on(settings, &registry, toggles).map_err(StartError::Usage)?;
        known_answers(&registry, answers).map_err(StartError::Usage)?;
        Ok(Self {
            specs: specs(settings, &registry, &enabled),
            descriptions: descriptions(settings, &registry, &enabled),
            registry: Arc::new(registry),
            enabled,
        })
    }
}

impl ToolSet {
    /// Takes all tools away from the model.
    pub(super) fn turn_off(&mut self) {
        self.enabled.clear();
        self.specs.clear();
        self.descriptions.clear();
    }
}

/// The built-in layer of `conversation.tools`: what the tools say of themselves.
#[must_use]
pub fn tool_defaults() -> toml::Table {
    let defaults = |about: &tool::ToolSpec| {
        let toggle = match about.enable.allow_toggle {
            tool::AllowToggle::Any => "any",
            tool::AllowToggle::IfNamed => "if_named",
            tool::AllowToggle::Never => "never",
        };
        let mut questions: BTreeMap<&str, Value> = BTreeMap::new();
        for (id, label) in about.prompt_labels {
            questions.insert(id, json!({ "prompt_label": label }));
        }
        for id in about.default_targets {
            questions.entry(id).or_insert_with(|| json!({}))["target"] = json!("assistant");
        }
        let table = json!({
            "source": "builtin",
            "enable": { "state": about.enable.state, "allow_toggle": toggle },
            "style": { "hidden": about.hidden },
            "questions": questions,
        });
        toml::Value::try_from(table).unwrap_or_else(|_| toml::Value::Table(toml::Table::new()))
    };
    Registry::builtin()
        .iter()
        .map(|tool| (tool.about().name.clone(), defaults(tool.about())))
        .collect()
}

/// `answer_inquiry` is there whenever any other tool is, so that an inquiry never changes the tools.
fn tools_that_are_on(
    settings: &Settings,
    registry: &Registry,
    toggles: &[Toggle],
) -> Result<Vec<String>, String> {
    let known: Vec<String> = registry
        .iter()
        .map(|tool| tool.about().name.clone())
        .collect();
    let mut enabled = enabled_tools(settings, toggles, &known)?;
    if enabled.iter().all(|name| name == ANSWER_INQUIRY) {
        enabled.clear();
    }
    Ok(enabled)
}

/// An answer for a tool that is not there would be lost without a word.
fn known_answers(registry: &Registry, answers: &[AnswerFlag]) -> Result<(), String> {
    for answer in answers {
        if let AnswerFlag::Configured { tool, question, .. } = answer
            && registry.get(tool).is_none()
        {
            let known = registry.iter().map(|known| known.about().name.as_str());
            let near = config::names::did_you_mean(tool, known);
            return Err(format!(
                "--answer {tool}.{question}=… answers no question: there is no tool `{tool}`{near}"
            ));
        }
    }
    Ok(())
}

fn specs(settings: &Settings, registry: &Registry, enabled: &[String]) -> Vec<ToolDeclaration> {
    let spec = |name: &String| {
        let about = registry.get(name)?.about();
        let own = settings.conversation.tools.named.get(name);
        let summary = own
            .and_then(|own| own.summary.clone())
            .or_else(|| about.summary.clone());
        let description = summary.unwrap_or_else(|| description(settings, about));
        Some(ToolDeclaration {
            name: name.clone(),
            description,
            parameters: about.parameters.clone(),
            strict: about.strict,
        })
    };
    enabled.iter().filter_map(spec).collect()
}

fn descriptions(
    settings: &Settings,
    registry: &Registry,
    enabled: &[String],
) -> IndexMap<String, String> {
    let full = |name: &String| {
        Some((
            name.clone(),
            description(settings, registry.get(name)?.about()),
        ))
    };
    enabled.iter().filter_map(full).collect()
}

fn description(settings: &Settings, about: &tool::ToolSpec) -> String {
    let own = settings.conversation.tools.named.get(&about.name);
    own.and_then(|own| own.description.clone())
        .unwrap_or_else(|| about.description.clone())
}

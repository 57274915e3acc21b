//! The tools of a turn, and what they say of themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aside_base::visible::short_line;
use aside_turn::inquiry::ANSWER_INQUIRY;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::error::StartError;
use crate::{
    config::{
        self, Toggle, enabled_tools,
        flags::AnswerFlag,
        settings::{RunSetting, Settings, ToolSource},
    },
    provider::ToolDeclaration,
    tool::{
        self, Tool,
        local::{LocalDefinition, LocalTool},
        registry::Registry,
        tokens,
    },
};

/// The tool that gives full descriptions.
const DESCRIBE: &str = "describe_tools";
/// Characters of a description that a model is sent in place of it all.
const SUMMARY: usize = 100;

/// The tools of a turn.
pub(super) struct ToolSet {
    /// All that there are.
    pub(super) registry: Arc<Registry>,
    /// The names of those that are on.
    pub(super) enabled: Vec<String>,
    /// Those that are on, as providers see them.
    pub(super) specs: Vec<ToolDeclaration>,
    /// The names of those that run elsewhere than in the sandbox and that the user lets run unasked, each by its name.
    pub(super) allowed: BTreeSet<String>,
    /// The names and full descriptions of those that are on.
    pub(super) descriptions: IndexMap<String, String>,
}

impl ToolSet {
    /// The built-in tools, these, and the programs that are configured as tools, as far as settings and toggles have
    /// them.
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
        for tool in more.cloned().chain(local_tools(settings)) {
            let added = registry.add(tool);
            added.map_err(|bad| StartError::Usage(bad.to_string()))?;
        }
        let enabled = tools_that_are_on(settings, &registry, toggles).map_err(StartError::Usage)?;
        known_answers(&registry, answers).map_err(StartError::Usage)?;
        known_questions(&registry, settings).map_err(StartError::Usage)?;
        Ok(Self {
            specs: specs(settings, &registry, &enabled),
            descriptions: descriptions(settings, &registry, &enabled),
            allowed: allowed(settings),
            registry: Arc::new(registry),
            enabled,
        })
    }
}

impl ToolSet {
    /// What is set of tools that are not there, a sentence each. A tool of a server may come with it another time,
    /// and one of an editor with its client.
    pub(super) fn unknown(&self, settings: &Settings) -> Vec<String> {
        let named = settings.conversation.tools.named.keys();
        let may_come = |name: &str| name.contains("__") || name.starts_with("editor_");
        let unknown = named.filter(|name| self.registry.get(name).is_none() && !may_come(name));
        let sentence = |name: &String| {
            format!("conversation.tools.{name} sets nothing here: there is no tool `{name}`.")
        };
        unknown.map(sentence).collect()
    }

    /// Where the tools of servers would take more than a tenth of what a model can hold, it is sent their names, a line
    /// on each and open schemas; `describe_tools` gives the rest. Arguments are checked all the same.
    pub(super) fn defer(&mut self, window: Option<u64>) {
        let has_more = self.enabled.iter().any(|name| name == DESCRIBE);
        let Some(window) = window.filter(|_| has_more) else {
            return;
        };
        let registry = self.registry.clone();
        let of_server = |name: &str| {
            registry
                .get(name)
                .map(|it| it.about())
                .filter(|it| it.server.is_some())
        };
        let all = self
            .specs
            .iter()
            .filter(|spec| of_server(&spec.name).is_some());
        let size = |spec: &ToolDeclaration| tokens(&spec.description, &spec.parameters);
        if all.map(size).sum::<u64>() <= window / 10 {
            return;
        }
        for spec in &mut self.specs {
            let Some(about) = of_server(&spec.name) else {
                continue;
            };
            if let Some(full) = self.descriptions.get_mut(&spec.name) {
                *full += &format!("\n\nIts arguments, as a JSON schema:\n{}", about.parameters);
            }
            spec.description = format!(
                "{} ({DESCRIBE} has its arguments.)",
                short_line(&spec.description, SUMMARY)
            );
            spec.parameters =
                json!({"type": "object", "properties": {}, "additionalProperties": true});
        }
    }

    /// Takes all tools away from the model.
    pub(super) fn turn_off(&mut self) {
        self.enabled.clear();
        self.specs.clear();
        self.descriptions.clear();
    }
}

/// What the user lets run by its own name; what counts for all tools lets none run that is not Aside's.
fn allowed(settings: &Settings) -> BTreeSet<String> {
    let named = settings.conversation.tools.named.iter();
    let named = named.filter(|(_, tool)| tool.run == Some(RunSetting::Unattended));
    named.map(|(name, _)| name.clone()).collect()
}

/// The programs that are tools. Nothing is started to know them.
fn local_tools(settings: &Settings) -> impl Iterator<Item = Arc<dyn Tool>> {
    let named = settings.conversation.tools.named.iter();
    named.filter_map(|(name, tool)| {
        let is_local = tool.source == Some(ToolSource::Local);
        let command = tool.command.clone().filter(|_| is_local)?;
        let program = command.join(" ");
        let parameters = tool.parameters.clone().map(Value::Object);
        let definition = LocalDefinition {
            name: name.clone(),
            description: tool
                .description
                .clone()
                .unwrap_or_else(|| format!("Runs `{program}`.")),
            command,
            parameters: parameters.unwrap_or_else(
                || json!({"type": "object", "properties": {}, "additionalProperties": false}),
            ),
            options: tool.options.clone().unwrap_or_default(),
        };
        let tool: Arc<dyn Tool> = Arc::new(LocalTool::new(definition));
        Some(tool)
    })
}

/// The built-in layer of `conversation.tools`: what the tools say of themselves.
#[must_use]
pub fn tool_defaults() -> toml::Table {
    let defaults = |about: &tool::ToolSpec| {
        // What says the same as the defaults of all tools would stand in the way of other defaults.
        let enable = match (about.enable.state, about.enable.allow_toggle) {
            (true, tool::AllowToggle::Any) => json!({}),
            (state, toggle) => json!({ "state": state, "allow_toggle": toggle.word() }),
        };
        let mut questions: BTreeMap<&str, Value> = BTreeMap::new();
        for (id, label) in about.prompt_labels {
            questions.insert(id, json!({ "prompt_label": label }));
        }
        for id in about.default_targets {
            questions.entry(id).or_insert_with(|| json!({}))["target"] = json!("assistant");
        }
        let mut table = json!({
            "source": "builtin",
            "enable": enable,
            "style": { "hidden": about.hidden },
            "questions": questions,
        });
        if about.asks_for_assistant {
            // Its question is the interaction: nobody is asked whether somebody may be asked.
            table["run"] = json!("unattended");
            table["result"] = json!("unattended");
        }
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

/// An answer for a question that is not there would be lost without a word.
fn known_answers(registry: &Registry, answers: &[AnswerFlag]) -> Result<(), String> {
    for answer in answers {
        let AnswerFlag::Configured { tool, question, .. } = answer else {
            continue;
        };
        let lost = format!("--answer {tool}.{question}=… answers no question");
        let Some(found) = registry.get(tool) else {
            let near = config::names::did_you_mean(tool, names(registry));
            return Err(format!("{lost}: there is no tool `{tool}`{near}"));
        };
        if let Some(why) = unknown_question(found.about(), question) {
            return Err(format!("{lost}: {why}"));
        }
    }
    Ok(())
}

/// So would be what is set of a question that a tool does not ask, or of a tool whose name is mistyped. A tool that is
/// not here may be another client's.
fn known_questions(registry: &Registry, settings: &Settings) -> Result<(), String> {
    for (name, tool) in &settings.conversation.tools.named {
        let Some(found) = registry.get(name) else {
            match config::names::did_you_mean(name, names(registry)) {
                near if near.is_empty() => continue,
                near => {
                    return Err(format!(
                        "conversation.tools.{name} sets nothing: there is no tool `{name}`{near}"
                    ));
                }
            }
        };
        for question in tool.questions.keys() {
            if let Some(why) = unknown_question(found.about(), question) {
                return Err(format!(
                    "conversation.tools.{name}.questions.{question} sets nothing: {why}"
                ));
            }
        }
    }
    Ok(())
}

fn names(registry: &Registry) -> impl Iterator<Item = &str> {
    registry.iter().map(|known| known.about().name.as_str())
}

/// Why a tool asks no question with this id, where it says which it asks.
fn unknown_question(about: &tool::ToolSpec, question: &str) -> Option<String> {
    let known = about.questions?;
    if known.contains(&question) {
        return None;
    }
    let tool = &about.name;
    Some(match known {
        [] => format!("`{tool}` asks none"),
        known => {
            let near = config::names::did_you_mean(question, known.iter().copied());
            let known = known.join(", ");
            format!("`{tool}` asks no `{question}`{near}; its questions are {known}")
        }
    })
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

//! The tools of a turn, and their descriptions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aside_base::visible::short_line;
use aside_turn::{inquiry::ANSWER_INQUIRY, rules::RunRule};
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::error::StartError;
use aside_config::{
    self, Toggle, enabled_tools,
    flags::AnswerFlag,
    settings::{Settings, ToolSource},
};
use aside_provider::ToolDeclaration;
use aside_tool::{
    self, Tool,
    local::{LocalDefinition, LocalTool},
    registry::Registry,
    tokens,
};

/// Name of the tool that returns full descriptions.
const DESCRIBE: &str = "describe_tools";
/// Length in characters of a shortened description.
const MAX_SUMMARY: usize = 100;

/// The tools of a turn.
pub(super) struct ToolSet {
    /// All existing tools.
    pub(super) registry: Arc<Registry>,
    /// Names of the tools that are turned on.
    pub(super) enabled: Vec<String>,
    /// Declarations of those tools for providers.
    pub(super) specs: Vec<ToolDeclaration>,
    /// Names of tools outside the sandbox that the user allows by name to run without approval.
    pub(super) allowed: BTreeSet<String>,
    /// Full descriptions of the tools that are turned on, by name.
    pub(super) descriptions: IndexMap<String, String>,
    /// Warnings about tools of MCP servers that were left out.
    pub(super) left_out: Vec<String>,
}

impl ToolSet {
    /// Collects the built-in tools, `more` tools, and configured programs, and applies settings and toggles.
    ///
    /// # Errors
    /// [`StartError::Usage`] for a name that is taken or unknown, or an answer for a missing tool.
    pub(super) fn new<'a>(
        settings: &Settings,
        more: impl Iterator<Item = &'a Arc<dyn Tool>>,
        toggles: &[Toggle],
        answers: &[AnswerFlag],
    ) -> Result<Self, StartError> {
        let mut registry = Registry::builtin();
        let (of_servers, own): (Vec<_>, Vec<_>) =
            more.cloned().partition(|tool| tool.spec().server.is_some());
        for tool in own.into_iter().chain(local_tools(settings)) {
            let added = registry.add(tool);
            added.map_err(|bad| StartError::Usage(bad.to_string()))?;
        }
        // What a server calls its tools keeps no turn from starting.
        let mut left_out = Vec::new();
        for tool in of_servers {
            let server = tool.spec().server.clone().unwrap_or_default();
            if let Err(bad) = registry.add(tool) {
                left_out.push(format!(
                    "A tool of the MCP server {server} is left out: {bad}."
                ));
            }
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
            left_out,
        })
    }
}

impl ToolSet {
    /// Warnings about settings of missing tools. A tool of an MCP server or an editor may be available at another time,
    /// so there is no warning about those.
    pub(super) fn unknown(&self, settings: &Settings) -> Vec<String> {
        let named = settings.conversation.tools.named.keys();
        let may_come = |name: &str| name.contains("__") || name.starts_with("editor_");
        let unknown = named.filter(|name| self.registry.get(name).is_none() && !may_come(name));
        let sentence = |name: &String| {
            format!("conversation.tools.{name} has no effect here: there is no tool `{name}`.")
        };
        unknown.map(sentence).collect()
    }

    /// Shortens the declarations of MCP tools if they exceed a tenth of the context window: name, one line and an open
    /// schema. `describe_tools` returns the rest, and arguments are still validated.
    pub(super) fn defer(&mut self, window: Option<u64>) {
        let has_more = self.enabled.iter().any(|name| name == DESCRIBE);
        let Some(window) = window.filter(|_| has_more) else {
            return;
        };
        let registry = self.registry.clone();
        let of_server = |name: &str| {
            registry
                .get(name)
                .map(|it| it.spec())
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
                short_line(&spec.description, MAX_SUMMARY)
            );
            spec.parameters =
                json!({"type": "object", "properties": {}, "additionalProperties": true});
        }
    }

    /// Turns all tools off.
    pub(super) fn turn_off(&mut self) {
        self.enabled.clear();
        self.specs.clear();
        self.descriptions.clear();
    }
}

/// Tools that the user allows by name. A rule for all tools does not cover tools outside the sandbox.
fn allowed(settings: &Settings) -> BTreeSet<String> {
    let named = settings.conversation.tools.named.iter();
    let named = named.filter(|(_, tool)| tool.run == Some(RunRule::Unattended));
    named.map(|(name, _)| name.clone()).collect()
}

/// Programs configured as tools. None is started here.
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

/// The built-in layer of `conversation.tools`: the defaults of each tool.
#[must_use]
pub fn tool_defaults() -> toml::Table {
    let defaults = |about: &aside_tool::ToolSpec| {
        // Defaults that equal the general ones are left out, so that the user's general settings apply.
        let enable = match (about.enable.state, about.enable.allow_toggle) {
            (true, aside_tool::AllowToggle::Any) => json!({}),
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
            // Asking is the purpose of these tools, so no permission to ask is needed.
            table["run"] = json!("unattended");
            table["result"] = json!("unattended");
        }
        toml::Value::try_from(table).unwrap_or_else(|_| toml::Value::Table(toml::Table::new()))
    };
    Registry::builtin()
        .iter()
        .map(|tool| (tool.spec().name.clone(), defaults(tool.spec())))
        .collect()
}

/// Names of the tools that are on. `answer_inquiry` is on whenever any other tool is, so that inquiries do not change
/// the list.
fn tools_that_are_on(
    settings: &Settings,
    registry: &Registry,
    toggles: &[Toggle],
) -> Result<Vec<String>, String> {
    let known: Vec<String> = registry
        .iter()
        .map(|tool| tool.spec().name.clone())
        .collect();
    let mut enabled = enabled_tools(settings, toggles, &known)?;
    if enabled.iter().all(|name| name == ANSWER_INQUIRY) {
        enabled.clear();
    }
    Ok(enabled)
}

/// Checks that every answer belongs to an existing question. Otherwise it would be silently ignored.
fn known_answers(registry: &Registry, answers: &[AnswerFlag]) -> Result<(), String> {
    for answer in answers {
        let AnswerFlag::Configured { tool, question, .. } = answer else {
            continue;
        };
        let lost = format!("--answer {tool}.{question}=… answers no question");
        let Some(found) = registry.get(tool) else {
            let near = aside_config::names::did_you_mean(tool, names(registry));
            return Err(format!("{lost}: there is no tool `{tool}`{near}"));
        };
        if let Some(why) = unknown_question(found.spec(), question) {
            return Err(format!("{lost}: {why}"));
        }
    }
    Ok(())
}

/// Checks that settings of questions and tools have an effect: rejects unknown questions and mistyped tools. A tool
/// that is missing here may belong to another client.
fn known_questions(registry: &Registry, settings: &Settings) -> Result<(), String> {
    for (name, tool) in &settings.conversation.tools.named {
        let Some(found) = registry.get(name) else {
            match aside_config::names::did_you_mean(name, names(registry)) {
                near if near.is_empty() => continue,
                near => {
                    return Err(format!(
                        "conversation.tools.{name} has no effect: there is no tool `{name}`{near}"
                    ));
                }
            }
        };
        for (question, rules) in &tool.questions {
            if found.spec().asks_for_assistant && rules.exclusive == Some(false) {
                return Err(format!(
                    "conversation.tools.{name}.questions.{question}.exclusive has no effect: what the assistant asks \
                     the user is for a person alone; take it out"
                ));
            }
            if let Some(why) = unknown_question(found.spec(), question) {
                return Err(format!(
                    "conversation.tools.{name}.questions.{question} has no effect: {why}"
                ));
            }
        }
    }
    Ok(())
}

fn names(registry: &Registry) -> impl Iterator<Item = &str> {
    registry.iter().map(|known| known.spec().name.as_str())
}

/// The reason why a tool has no question with this id; `None` if it has, or does not declare its questions.
fn unknown_question(about: &aside_tool::ToolSpec, question: &str) -> Option<String> {
    let tool = &about.name;
    if about.server.is_some() && !question.contains('.') {
        return Some(format!(
            "`{tool}` is a tool of an MCP server, and its questions are fields of forms; write `form.{question}` for \
             the field `{question}`"
        ));
    }
    let known = about.questions?;
    if known.contains(&question) {
        return None;
    }
    Some(match known {
        [] => format!("`{tool}` asks no questions"),
        known => {
            let near = aside_config::names::did_you_mean(question, known.iter().copied());
            let known = known.join(", ");
            format!("`{tool}` has no question `{question}`{near}; its questions are {known}")
        }
    })
}

fn specs(settings: &Settings, registry: &Registry, enabled: &[String]) -> Vec<ToolDeclaration> {
    let spec = |name: &String| {
        let about = registry.get(name)?.spec();
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
            description(settings, registry.get(name)?.spec()),
        ))
    };
    enabled.iter().filter_map(full).collect()
}

fn description(settings: &Settings, about: &aside_tool::ToolSpec) -> String {
    let own = settings.conversation.tools.named.get(&about.name);
    own.and_then(|own| own.description.clone())
        .unwrap_or_else(|| about.description.clone())
}

//! From a configuration to all that a turn needs: rules, model, tools, system text. Front ends add what their user
//! said for this one turn.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::{
    drive::assistants::{FindAssistant, InquiryAssistant},
    models::Models,
};
use crate::{
    config::{
        self, Configuration, ModelId, RunContext, Toggle, ToolFacts, enabled_tools,
        flags::{AnswerFlag, DetachedFlag},
        settings::{Assistant, Settings},
    },
    provider::{Head, Provider, ToolSpec},
    tool::{self, Registry, Tool, ToolLimits},
    turn::{
        inquiry::ANSWER_INQUIRY,
        rules::{Mode, Model, Rules},
    },
};

/// The system text where none is configured. The workspace's folder follows.
const SYSTEM: &str = include_str!("system.md");
/// The system text of inquiries that go to an assistant of their own.
const INQUIRY_SYSTEM: &str = "You answer questions that an assistant's tools ask while it works for its user. You \
are given the conversation between the two, then a question. Answer what the user would want, from the conversation.";

/// What a user said for one turn, beside the configuration.
#[derive(Clone, Default)]
pub struct Wishes {
    /// The workspace.
    pub root: PathBuf,
    /// The user trusts it.
    pub trusted: bool,
    /// Instead of the configured mode.
    pub mode: Option<Mode>,
    /// Tools on and off, in order.
    pub toggles: Vec<Toggle>,
    /// What happens where nobody is there, in order.
    pub detached: Vec<DetachedFlag>,
    /// Configured answers.
    pub answers: Vec<AnswerFlag>,
    /// The final answer is JSON that fits this.
    pub schema: Option<Value>,
    /// Commands may run without a sandbox.
    pub unsandboxed: bool,
    /// Tools that the program has besides the built-in ones, and that count like them.
    pub own: Vec<Arc<dyn Tool>>,
    /// Tools that are no part of the program.
    pub more: Vec<Arc<dyn Tool>>,
}

/// All that a turn needs of the configuration.
pub struct Assembled {
    /// What is decided by.
    pub rules: Rules,
    /// The turn's model.
    pub provider: Arc<dyn Provider>,
    /// Other assistants, for inquiries.
    pub find_assistant: FindAssistant,
    /// All tools.
    pub registry: Arc<Registry>,
    /// Those that are on, as providers are told of them.
    pub specs: Vec<ToolSpec>,
    /// Their names and full descriptions.
    pub descriptions: IndexMap<String, String>,
    /// The system text.
    pub system: String,
    /// Bounds of tools.
    pub limits: ToolLimits,
    /// Commands may run without a sandbox.
    pub unsandboxed: bool,
}

/// Why there is no turn to begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// What was asked for is not possible: bad usage or configuration.
    #[error("{0}")]
    Usage(String),
    /// There is no usable provider or model.
    #[error("{0}")]
    NoProvider(String),
}

/// The built-in layer of `conversation.tools`: what the tools say of themselves.
#[must_use]
pub fn tool_defaults() -> toml::Table {
    let defaults = |about: &tool::About| {
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

/// Puts together what a turn needs.
///
/// # Errors
/// [`AssembleError`], one sentence for the user.
pub async fn assemble(
    configuration: &Configuration,
    wishes: &Wishes,
    models: &Models,
) -> Result<Assembled, AssembleError> {
    let settings = &configuration.settings;
    let mut registry = Registry::builtin();
    for tool in wishes.own.iter().chain(&wishes.more) {
        let added = registry.add(tool.clone());
        added.map_err(|bad| AssembleError::Usage(bad.to_string()))?;
    }
    let enabled =
        tools_that_are_on(settings, &registry, &wishes.toggles).map_err(AssembleError::Usage)?;
    known_answers(&registry, &wishes.answers).map_err(AssembleError::Usage)?;
    let choice =
        config::choose_model(settings, models.env().as_ref()).map_err(AssembleError::NoProvider)?;
    let model = models
        .choose(choice, settings)
        .await
        .map_err(AssembleError::NoProvider)?;
    let provider = models
        .open(&model, &settings.assistant, settings)
        .map_err(AssembleError::NoProvider)?;

    let rules = rules(settings, wishes, &registry, &enabled, provider.model());
    let limits = &settings.conversation.limits;
    Ok(Assembled {
        rules,
        provider,
        find_assistant: find_assistant(settings, &model, models),
        specs: specs(settings, &registry, &enabled),
        descriptions: descriptions(settings, &registry, &enabled),
        registry: Arc::new(registry),
        system: system_text(settings, &wishes.root),
        limits: ToolLimits {
            head: limits.output_head as usize,
            tail: limits.output_tail as usize,
            // A little less than the turn's own limit, so that the tool ends first and tells what it has.
            time: Duration::from_secs(limits.tool_seconds)
                .saturating_sub(Duration::from_millis(500)),
        },
        unsandboxed: wishes.unsandboxed || settings.unsandboxed,
    })
}

fn rules(
    settings: &Settings,
    wishes: &Wishes,
    registry: &Registry,
    enabled: &[String],
    model: &Model,
) -> Rules {
    let is_outside = |name: &str| wishes.more.iter().any(|tool| tool.about().name == name);
    let facts = enabled.iter().filter_map(|name| {
        let about = registry.get(name)?.about();
        let facts = ToolFacts {
            outside: is_outside(name),
            asks_for_assistant: about.asks_for_assistant,
            ..ToolFacts::default()
        };
        Some((name.clone(), facts))
    });
    settings.rules(&RunContext {
        trusted: wishes.trusted,
        mode: wishes.mode,
        detached: wishes.detached.clone(),
        answers: wishes.answers.clone(),
        tools: facts.collect(),
        model: model.clone(),
        schema: wishes.schema.is_some(),
    })
}

/// Finds assistants of their own for inquiries; one that names no model takes the turn's.
fn find_assistant(settings: &Settings, model: &ModelId, models: &Models) -> FindAssistant {
    let (settings, turns_model, models) = (settings.clone(), model.to_string(), models.clone());
    Arc::new(move |name| {
        let assistant = settings.inquiry_assistant(name);
        let id = assistant.model.as_ref().unwrap_or(&turns_model);
        let model = ModelId::parse(id, &settings)?;
        let system = inquiry_system(&assistant);
        Ok(InquiryAssistant {
            provider: models.open(&model, &assistant, &settings)?,
            head: Arc::new(Head {
                system,
                tools: Vec::new(),
            }),
        })
    })
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

fn specs(settings: &Settings, registry: &Registry, enabled: &[String]) -> Vec<ToolSpec> {
    let spec = |name: &String| {
        let about = registry.get(name)?.about();
        let own = settings.conversation.tools.named.get(name);
        let summary = own
            .and_then(|own| own.summary.clone())
            .or_else(|| about.summary.clone());
        let description = summary.unwrap_or_else(|| description(settings, about));
        Some(ToolSpec {
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

fn description(settings: &Settings, about: &tool::About) -> String {
    let own = settings.conversation.tools.named.get(&about.name);
    own.and_then(|own| own.description.clone())
        .unwrap_or_else(|| about.description.clone())
}

/// The system text of an assistant that answers inquiries.
fn inquiry_system(assistant: &Assistant) -> String {
    let own = assistant.system_prompt.as_deref();
    let mut text = own.unwrap_or(INQUIRY_SYSTEM).trim_end().to_owned();
    if let Some(instructions) = &assistant.instructions {
        text += &format!("\n\n{}", instructions.trim_end());
    }
    text
}

/// The same for the same configuration and workspace: caches rely on it.
fn system_text(settings: &Settings, root: &Path) -> String {
    let mut text = settings
        .assistant
        .system_prompt
        .clone()
        .unwrap_or_else(|| SYSTEM.trim_end().to_owned());
    text += &format!("\n\nThe workspace is the folder {}.", root.display());
    if let Some(instructions) = &settings.assistant.instructions {
        text += &format!("\n\n{}", instructions.trim_end());
    }
    for (path, instructions) in config::instructions(root, root) {
        text += &format!(
            "\n\nInstructions from {}:\n{}",
            path.display(),
            instructions.trim_end()
        );
    }
    text
}

//! Rules, model, tools and system text of a turn.

use std::{sync::Arc, time::Duration};

use aside_turn::rules::{Model, Rules, Target, limits::Limits};

use super::{
    config::TurnConfig,
    error::StartError,
    sandbox::own_folders,
    servers::exposed,
    system::{inquiry_system, system_text},
    tools::ToolSet,
};
use crate::engine::{
    Engine, TurnNotice,
    drive::assistants::{Assistants, FindAssistant, InquiryAssistant},
    models::{Models, known::learn_window},
};
use aside_config::{ModelId, RunContext, ToolFacts, settings::Settings};
use aside_mcp::ServerTools;
use aside_provider::{Head, Provider};
use aside_tool::{Tool, ToolLimits, sandbox::SandboxRules};

/// The parts of a turn that follow from its configuration.
pub(super) struct TurnParts {
    /// Rules of the turn, taken from the configuration.
    pub(super) rules: Rules,
    /// Model of the turn.
    pub(super) provider: Arc<dyn Provider>,
    /// Separate assistants for inquiries.
    pub(super) assistants: Assistants,
    /// Tools that the model may call.
    pub(super) tools: ToolSet,
    /// The system text.
    pub(super) system: String,
    /// Limits of tools.
    pub(super) limits: ToolLimits,
    /// Settings of the sandbox for commands.
    pub(super) sandbox: SandboxRules,
    /// Warnings about the provider and MCP servers.
    pub(super) warnings: Vec<String>,
    /// MCP servers whose tools are missing.
    pub(super) missing: Vec<TurnNotice>,
}

impl TurnParts {
    /// Builds the parts. Finds the model if it is not known yet.
    ///
    /// # Errors
    /// [`StartError::Usage`] or [`StartError::NoProvider`].
    pub(super) async fn new(engine: &Engine, config: &mut TurnConfig) -> Result<Self, StartError> {
        config.prepare(engine).await?;
        let offered = config.servers.take().unwrap_or_default();
        let (from_servers, mut warnings, missing) =
            server_tools(&config.configuration.settings, offered);
        let more = engine.own_tools().iter().chain(&config.client_tools);
        let more = more.chain(&from_servers);
        let run = &config.request.run;
        let mut tools = ToolSet::new(
            &config.configuration.settings,
            more,
            &run.toggles,
            &run.answers,
        )?;
        warnings.append(&mut tools.left_out);
        // With tools from a client, settings for unknown tools may be meant for another client.
        if config.client_tools.is_empty() {
            warnings.extend(tools.unknown(&config.configuration.settings));
        }
        if !config.is_workspace {
            tools.turn_off();
        }
        let model = config.find_model().await?;
        let settings = &config.configuration.settings;
        let models = engine.models(settings);
        learn_window(&model, settings, &models).await;
        let provider = models
            .open(&model, &settings.assistant, settings)
            .map_err(StartError::NoProvider)?;
        tools.defer(provider.model().context_window);
        let mut rules = rules(settings, config, &tools, provider.model());
        know_prices(&mut rules, settings, &models)?;
        let (sandbox, _) = config.sandbox(engine).map_err(StartError::Usage)?;
        let endpoint = models.endpoint(&model, settings).ok();
        warnings.extend(endpoint.and_then(|endpoint| endpoint.exposed_key()));
        let root = Some(&*config.request.root).filter(|_| config.is_workspace);
        let (system, warning) = system_text(settings, root, own_folders(engine.state_dir()));
        warnings.extend(warning);
        Ok(Self {
            rules,
            provider,
            assistants: Assistants::new(find_assistant(settings, &model, &models)),
            tools,
            system,
            limits: tool_limits(&settings.conversation.limits),
            sandbox,
            warnings,
            missing,
        })
    }
}

/// The tools of MCP servers, warnings about servers, and those whose tools are missing.
fn server_tools(
    settings: &Settings,
    offered: Vec<ServerTools>,
) -> (Vec<Arc<dyn Tool>>, Vec<String>, Vec<TurnNotice>) {
    let (mut all, mut missing) = (Vec::new(), Vec::new());
    let mut warnings = match offered.is_empty() {
        true => Vec::new(),
        false => exposed(settings).collect::<Vec<_>>(),
    };
    for offered in offered {
        let name = offered.name;
        match offered.tools {
            Ok((tools, faults)) => {
                all.extend(tools);
                warnings.extend(
                    faults
                        .iter()
                        .map(|fault| format!("The MCP server {name}: {fault}.")),
                );
            }
            Err(why) => missing.push(TurnNotice::ServerMissing { server: name, why }),
        }
    }
    (all, warnings, missing)
}

fn rules(settings: &Settings, config: &TurnConfig, tools: &ToolSet, model: &Model) -> Rules {
    let facts = tools.enabled.iter().filter_map(|name| {
        let spec = tools.registry.get(name)?.spec();
        let facts = ToolFacts {
            class: spec.class,
            outside: spec.outside,
            asks_for_assistant: spec.asks_for_assistant,
            always_exclusive: spec.server.is_some() || spec.asks_people,
            asks_nothing: spec.questions.is_some_and(<[_]>::is_empty),
            server: spec.server.clone(),
            in_client: spec.in_client,
            time: spec.time,
        };
        Some((name.clone(), facts))
    });
    let mut rules = settings.rules(&RunContext {
        trusted: config.trusted,
        mode: config.mode(),
        detached: config.request.run.detached.clone(),
        answers: config.request.run.answers.clone(),
        tools: facts.collect(),
        model: model.clone(),
        schema: config.request.options.schema.is_some(),
    });
    // A resumed turn keeps the limits that it was started with.
    if let Some(limits) = &config.request.options.limits {
        limits.apply(&mut rules.limits);
    }
    rules
}

/// Bounds of tools.
pub(super) fn tool_limits(limits: &Limits) -> ToolLimits {
    ToolLimits {
        head: limits.output_head,
        tail: limits.output_tail,
        // A little less than the turn's own limit, so that the tool ends first and tells what it has.
        time: limits.tool_time.saturating_sub(Duration::from_millis(500)),
        ..ToolLimits::default()
    }
}

/// The models that a turn may use: its own, and those for its questions. A missing one fails when it is asked.
fn models_of(rules: &Rules, settings: &Settings) -> Vec<ModelId> {
    let questions = rules
        .tools
        .values()
        .flat_map(|tool| tool.questions.values());
    let targets = questions.filter_map(|question| match &question.target {
        Target::Assistant(Some(assistant)) => Some(&assistant.model),
        Target::Assistant(None) | Target::User => None,
    });
    let inquiries = rules.inquiry.assistant.iter().map(|own| &own.model);
    let all = std::iter::once(&rules.model.id)
        .chain(targets)
        .chain(inquiries);
    all.filter_map(|id| ModelId::parse(id, settings).ok())
        .collect()
}

/// Adds the prices of the turn's models. A cost limit requires that they are known.
fn know_prices(rules: &mut Rules, settings: &Settings, models: &Models) -> Result<(), StartError> {
    for model in models_of(rules, settings) {
        // A script states its own costs.
        let prices = models.prices(&model, settings);
        match (&prices, rules.limits.cost) {
            (None, Some(most)) if !model.api.is_script() => {
                let (provider, name) = (&model.provider, &model.model);
                return Err(StartError::Usage(format!(
                    "the cost limit of ${most} (conversation.limits.cost_usd, --max-cost) cannot be enforced with {model}, whose \
                     price is unknown; set providers.{provider}.models.\"{name}\".prices, or remove the limit"
                )));
            }
            (Some(prices), _) => {
                rules.prices.insert(model.to_string(), prices.uncached());
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// Opens separate assistants for inquiries. One without a model uses the turn's.
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

//! Rules, model, tools and system text of a turn.

use std::{sync::Arc, time::Duration};

use super::{
    config::TurnConfig,
    error::StartError,
    system::{inquiry_system, system_text},
    tools::ToolSet,
};
use crate::{
    config::{ModelId, RunContext, ToolFacts, settings::Settings},
    engine::{
        Engine,
        drive::assistants::{Assistants, FindAssistant, InquiryAssistant},
        models::Models,
    },
    provider::{Head, Provider},
    tool::{ToolLimits, sandbox::SandboxRules},
    turn::rules::{Model, Rules},
};

/// What a configuration makes of a turn.
pub(super) struct TurnParts {
    /// What the turn decides by.
    pub(super) rules: Rules,
    /// The turn's model.
    pub(super) provider: Arc<dyn Provider>,
    /// Other assistants, for inquiries.
    pub(super) assistants: Assistants,
    /// The tools that the model may call.
    pub(super) tools: ToolSet,
    /// The system text.
    pub(super) system: String,
    /// Bounds of tools.
    pub(super) limits: ToolLimits,
    /// What commands run inside of.
    pub(super) sandbox: SandboxRules,
}

impl TurnParts {
    /// Puts them together. A model that is not known yet is looked for.
    ///
    /// # Errors
    /// [`StartError::Usage`] and [`StartError::NoProvider`].
    pub(super) async fn new(engine: &Engine, config: &mut TurnConfig) -> Result<Self, StartError> {
        let more = engine.own_tools().iter().chain(&config.client_tools);
        let run = &config.request.run;
        let mut tools = ToolSet::new(
            &config.configuration.settings,
            more,
            &run.toggles,
            &run.answers,
        )?;
        if !config.is_workspace {
            tools.turn_off();
        }
        let model = config.find_model().await?;
        let settings = &config.configuration.settings;
        let models = engine.models(settings);
        let provider = models
            .open(&model, &settings.assistant, settings)
            .map_err(StartError::NoProvider)?;
        let limits = &settings.conversation.limits;
        let (sandbox, _) = config.sandbox(engine).map_err(StartError::Usage)?;
        Ok(Self {
            rules: rules(settings, config, &tools, provider.model()),
            provider,
            assistants: Assistants::new(find_assistant(settings, &model, &models)),
            tools,
            system: system_text(
                settings,
                Some(&*config.request.root).filter(|_| config.is_workspace),
            ),
            limits: ToolLimits {
                head: limits.output_head as usize,
                tail: limits.output_tail as usize,
                // A little less than the turn's own limit, so that the tool ends first and tells what it has.
                time: Duration::from_secs(limits.tool_seconds)
                    .saturating_sub(Duration::from_millis(500)),
                ..ToolLimits::default()
            },
            sandbox,
        })
    }
}

fn rules(settings: &Settings, config: &TurnConfig, tools: &ToolSet, model: &Model) -> Rules {
    let is_outside = |name: &str| {
        config
            .client_tools
            .iter()
            .any(|tool| tool.about().name == name)
    };
    let facts = tools.enabled.iter().filter_map(|name| {
        let about = tools.registry.get(name)?.about();
        let facts = ToolFacts {
            outside: is_outside(name),
            asks_for_assistant: about.asks_for_assistant,
            ..ToolFacts::default()
        };
        Some((name.clone(), facts))
    });
    settings.rules(&RunContext {
        trusted: config.trusted,
        mode: config.mode(),
        detached: config.request.run.detached.clone(),
        answers: config.request.run.answers.clone(),
        tools: facts.collect(),
        model: model.clone(),
        schema: config.request.options.schema.is_some(),
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

//! From settings to the rules of a turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use aside_turn::{
    inquiry::Strategy as InquiryStrategy,
    limits::Limits,
    rules::{
        self, InquiryRules, Model, QuestionRules, ResultRule, Rules, RunRule, StrategyRule,
        ToolChoice, ToolRules,
    },
};

use super::{
    flags::{AnswerFlag, DetachedFlag, DetachedKind},
    settings::{
        AssistantSettings, DeliverySetting, DetachedMode, DetachedSettings, LimitSettings, Mode,
        QuestionSettings, RequestSettings, RunSetting, Settings, StrategySetting, Target,
        TargetName, ToolSettings,
    },
};

/// The name of the assistant of `conversation.inquiry.assistant`. No question has it: it is without a dot.
const INQUIRY: &str = "inquiry";

/// What of a turn's rules is not in the settings.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// The user trusts the workspace.
    pub trusted: bool,
    /// Instead of the configured mode.
    pub mode: Option<rules::Mode>,
    /// In the order in which they were given; the last that matches wins.
    pub detached: Vec<DetachedFlag>,
    /// Configured answers; those to open prompts are not for the rules.
    pub answers: Vec<AnswerFlag>,
    /// The tools that are on, by name.
    pub tools: BTreeMap<String, ToolFacts>,
    /// The model, as its provider knows it.
    pub model: Model,
    /// The final answer is JSON that fits a schema.
    pub schema: bool,
}

/// What is known of a tool besides its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFacts {
    /// What it does at most.
    pub class: rules::Class,
    /// It is no part of Aside.
    pub outside: bool,
    /// Its questions count as the assistant's.
    pub asks_for_assistant: bool,
    /// Its questions are for humans, whatever they say.
    pub always_exclusive: bool,
    /// The MCP server that it comes from.
    pub server: Option<String>,
    /// How long it may run, where that is not what counts for all.
    pub time: Option<Duration>,
}

impl Settings {
    /// The rules of a turn.
    #[must_use]
    pub fn rules(&self, run: &RunContext) -> Rules {
        let conversation = &self.conversation;
        let tools = run.tools.iter();
        let tools = tools.map(|(name, facts)| (name.clone(), self.tool_rules(name, facts, run)));
        Rules {
            mode: run.mode.unwrap_or(conversation.mode.into()),
            trusted: run.trusted,
            tools: tools.collect(),
            tool_choice: self.tool_choice(),
            model: run.model.clone(),
            refused: BTreeSet::new(),
            inquiry: InquiryRules {
                strategy: conversation.inquiry.strategy.into(),
                assistant: (conversation.inquiry.assistant != AssistantSettings::default())
                    .then(|| self.assistant_rules(INQUIRY, &run.model.id)),
                max_cost: Some(conversation.inquiry.max_cost),
            },
            prices: BTreeMap::new(),
            schema: run.schema,
            limits: conversation.limits.to_limits(),
        }
    }

    /// The name of the tool that the tool choice forces.
    #[must_use]
    pub fn forced_tool(&self) -> Option<&str> {
        let choice = self.assistant.tool_choice.as_deref()?;
        (!["auto", "none", "required"].contains(&choice)).then_some(choice)
    }

    /// The assistant that inquiries go to by this name: of `<tool>.<question>`, that question's `target`. Its keys
    /// that are unset are those of `conversation.inquiry.assistant`, and then those of `assistant`, whose texts and
    /// tool choice are for turns alone.
    #[must_use]
    pub fn inquiry_assistant(&self, name: &str) -> AssistantSettings {
        let own = name.split_once('.').and_then(|(tool, question)| {
            let tool = self.conversation.tools.named.get(tool)?;
            match tool.questions.get(question)?.target.as_ref()? {
                Target::Assistant(assistant) => Some(assistant.as_ref()),
                Target::Named(_) => None,
            }
        });
        let general = Some(&self.conversation.inquiry.assistant);
        let of_turns = AssistantSettings {
            system_prompt: None,
            instructions: None,
            tool_choice: None,
            ..self.assistant.clone()
        };
        let layers = || [own, general, Some(&of_turns)].into_iter().flatten();
        AssistantSettings {
            model: layers().find_map(|layer| layer.model.clone()),
            system_prompt: layers().find_map(|layer| layer.system_prompt.clone()),
            instructions: layers().find_map(|layer| layer.instructions.clone()),
            reasoning: layers().find_map(|layer| layer.reasoning),
            tool_choice: None,
            request: RequestSettings {
                cache: layers().find_map(|layer| layer.request.cache),
                max_output_tokens: layers().find_map(|layer| layer.request.max_output_tokens),
            },
        }
    }

    fn assistant_rules(&self, name: &str, turns: &str) -> rules::Assistant {
        let own = self.inquiry_assistant(name);
        let has_texts = own.system_prompt.is_some() || own.instructions.is_some();
        rules::Assistant {
            name: name.to_owned(),
            differs: has_texts
                || own.reasoning != self.assistant.reasoning
                || own.request != self.assistant.request,
            model: own.model.unwrap_or_else(|| turns.to_owned()),
        }
    }

    fn question_rules(
        &self,
        tool: &str,
        id: &str,
        question: &QuestionSettings,
        run: &RunContext,
    ) -> QuestionRules {
        QuestionRules {
            answer: question.answer.clone().map(rules::Configured::Value),
            target: match &question.target {
                None | Some(Target::Named(TargetName::User)) => rules::Target::User,
                Some(Target::Named(TargetName::Assistant)) => rules::Target::Assistant(None),
                Some(Target::Assistant(_)) => {
                    let name = format!("{tool}.{id}");
                    rules::Target::Assistant(Some(self.assistant_rules(&name, &run.model.id)))
                }
            },
            exclusive: question.exclusive,
            prompt_label: question.prompt_label.clone(),
        }
    }

    fn tool_choice(&self) -> ToolChoice {
        match self.assistant.tool_choice.as_deref() {
            None | Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            Some("required") => ToolChoice::Required,
            Some(name) => ToolChoice::Name(name.to_owned()),
        }
    }

    fn tool_rules(&self, name: &str, facts: &ToolFacts, run: &RunContext) -> ToolRules {
        let unset = ToolSettings::default();
        let defaults = &self.conversation.tools.defaults;
        let own = self.conversation.tools.named.get(name).unwrap_or(&unset);
        let mut questions: BTreeMap<String, QuestionRules> = own
            .questions
            .iter()
            .map(|(id, question)| (id.clone(), self.question_rules(name, id, question, run)))
            .collect();
        for flag in &run.answers {
            if let AnswerFlag::Configured {
                tool,
                question,
                text,
            } = flag
                && tool == name
            {
                let text = rules::Configured::Text(text.clone());
                questions.entry(question.clone()).or_default().answer = Some(text);
            }
        }
        ToolRules {
            class: facts.class,
            run: own
                .run
                .or(defaults.run)
                .map_or(RunRule::ByMode, RunRule::from),
            result: own
                .result
                .or(defaults.result)
                .map_or(ResultRule::Unattended, ResultRule::from),
            detached: detached(&run.detached, &own.detached, &defaults.detached),
            questions,
            asks_for_assistant: facts.asks_for_assistant,
            always_exclusive: facts.always_exclusive,
            hidden: own.style.hidden.unwrap_or(false),
            server: facts.server.clone(),
            outside: facts.outside,
            time: facts.time,
        }
    }
}

/// First match wins: a flag, the tool's own, that of all tools, the built-in.
fn detached(
    flags: &[DetachedFlag],
    own: &DetachedSettings,
    defaults: &DetachedSettings,
) -> rules::Detached {
    let flag = |kind| {
        let matching = flags
            .iter()
            .rev()
            .find(|flag| flag.kind.is_none_or(|named| named == kind));
        matching.map(|flag| flag.mode)
    };
    let built_in = rules::Detached::default();
    let of = |kind, own: Option<DetachedMode>, default: Option<DetachedMode>, built_in| {
        flag(kind)
            .or(own)
            .or(default)
            .map_or(built_in, rules::DetachedMode::from)
    };
    rules::Detached {
        run: of(DetachedKind::Run, own.run, defaults.run, built_in.run),
        deliver: of(
            DetachedKind::Deliver,
            own.deliver,
            defaults.deliver,
            built_in.deliver,
        ),
        tool: of(DetachedKind::Tool, own.tool, defaults.tool, built_in.tool),
    }
}

impl LimitSettings {
    fn to_limits(&self) -> Limits {
        Limits {
            steps: self.steps,
            tool_time: Duration::from_secs(self.tool_seconds),
            tools_at_once: self.tools_at_once as usize,
            calls_in_message: self.calls_in_message as usize,
            retries: self.retries,
            retry_time: Duration::from_secs(self.retry_seconds),
            turn_time: self.turn_seconds.map(Duration::from_secs),
            cost: self.cost_usd,
        }
    }
}

impl From<Mode> for rules::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Ask => Self::Ask,
            Mode::Edits => Self::Edits,
            Mode::Plan => Self::Plan,
            Mode::Auto => Self::Auto,
        }
    }
}

impl From<RunSetting> for RunRule {
    fn from(run: RunSetting) -> Self {
        match run {
            RunSetting::Unattended => Self::Unattended,
            RunSetting::Ask => Self::Ask,
            RunSetting::Deny => Self::Deny,
        }
    }
}

impl From<DeliverySetting> for ResultRule {
    fn from(delivery: DeliverySetting) -> Self {
        match delivery {
            DeliverySetting::Unattended => Self::Unattended,
            DeliverySetting::Ask => Self::Ask,
        }
    }
}

impl From<DetachedMode> for rules::DetachedMode {
    fn from(mode: DetachedMode) -> Self {
        match mode {
            DetachedMode::Auto => Self::Auto,
            DetachedMode::Defaults => Self::Defaults,
            DetachedMode::Deny => Self::Deny,
            DetachedMode::Stop => Self::Stop,
        }
    }
}

impl From<StrategySetting> for StrategyRule {
    fn from(strategy: StrategySetting) -> Self {
        match strategy {
            StrategySetting::Auto => Self::Auto,
            StrategySetting::InBand => Self::Named(InquiryStrategy::InBand),
            StrategySetting::ForcedTool => Self::Named(InquiryStrategy::ForcedTool),
            StrategySetting::Structured => Self::Named(InquiryStrategy::Structured),
        }
    }
}

//! From settings to the rules of a turn.

use std::{collections::BTreeMap, time::Duration};

use aside_turn::{
    inquiry::Strategy as InquiryStrategy,
    limits::Limits,
    rules::{
        self, InquiryRules, Model, QuestionRules, ResultRule, Rules, RunRule, StrategyRule,
        ToolChoice, ToolRules,
    },
};

use super::{
    flags::{AnswerFlag, DetachedFlag, PromptKind},
    settings::{
        Assistant, Delivery, Detached, DetachedMode, LimitSettings, Mode, QuestionSettings, Run,
        Settings, Strategy, Target, TargetName, ToolSettings,
    },
};

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
    /// It is no part of Aside.
    pub outside: bool,
    /// Its questions count as the assistant's.
    pub asks_for_assistant: bool,
    /// Its questions are for humans, whatever they say.
    pub always_exclusive: bool,
    /// The MCP server that it comes from.
    pub server: Option<String>,
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
            inquiry: InquiryRules {
                strategy: conversation.inquiry.strategy.into(),
                assistant: conversation.inquiry.assistant.model.clone(),
            },
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

    /// The assistant that a question's `target` describes. Its keys that are unset are the inquiry assistant's.
    #[must_use]
    pub fn question_assistant(&self, tool: &str, question: &str) -> Option<&Assistant> {
        let tool = self.conversation.tools.named.get(tool)?;
        match tool.questions.get(question)?.target.as_ref()? {
            Target::Assistant(assistant) => Some(assistant),
            Target::Named(_) => None,
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
            .map(|(id, question)| (id.clone(), question.to_rules()))
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
        }
    }
}

/// First match wins: a flag, the tool's own, that of all tools, the built-in.
fn detached(flags: &[DetachedFlag], own: &Detached, defaults: &Detached) -> rules::Detached {
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
        run: of(PromptKind::Run, own.run, defaults.run, built_in.run),
        deliver: of(
            PromptKind::Deliver,
            own.deliver,
            defaults.deliver,
            built_in.deliver,
        ),
        tool: of(PromptKind::Tool, own.tool, defaults.tool, built_in.tool),
    }
}

impl QuestionSettings {
    fn to_rules(&self) -> QuestionRules {
        QuestionRules {
            answer: self.answer.clone().map(rules::Configured::Value),
            target: self
                .target
                .as_ref()
                .map_or(rules::Target::User, rules::Target::from),
            exclusive: self.exclusive,
            prompt_label: self.prompt_label.clone(),
        }
    }
}

impl LimitSettings {
    fn to_limits(&self) -> Limits {
        Limits {
            cycles: self.cycles,
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

impl From<&Target> for rules::Target {
    fn from(target: &Target) -> Self {
        match target {
            Target::Named(TargetName::User) => Self::User,
            Target::Named(TargetName::Assistant) => Self::Assistant(None),
            Target::Assistant(assistant) => Self::Assistant(assistant.model.clone()),
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

impl From<Run> for RunRule {
    fn from(run: Run) -> Self {
        match run {
            Run::Unattended => Self::Unattended,
            Run::Ask => Self::Ask,
            Run::Deny => Self::Deny,
        }
    }
}

impl From<Delivery> for ResultRule {
    fn from(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Unattended => Self::Unattended,
            Delivery::Ask => Self::Ask,
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

impl From<Strategy> for StrategyRule {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Auto => Self::Auto,
            Strategy::InBand => Self::Named(InquiryStrategy::InBand),
            Strategy::ForcedTool => Self::Named(InquiryStrategy::ForcedTool),
            Strategy::Structured => Self::Named(InquiryStrategy::Structured),
        }
    }
}

//! From settings to the rules of a turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use aside_turn::rules::{
    self, DetachedMode, InquiryRules, Model, QuestionRules, Rules, RunRule, ToolChoice, ToolRules,
};

use super::{
    flags::{AnswerFlag, DetachedFlag, DetachedKind},
    settings::{
        AssistantSettings, DetachedSettings, QuestionSettings, RequestSettings, Settings, Target,
        TargetName, ToolSettings,
    },
};

/// The name of the assistant of `conversation.inquiry.assistant`. No question has it: it is without a dot.
const INQUIRY: &str = "inquiry";

/// Parts of a turn's rules that are not in the settings.
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

/// Properties of a tool besides its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFacts {
    /// Upper bound of the tool's effects.
    pub class: rules::Class,
    /// Whether the tool comes from outside Aside.
    pub outside: bool,
    /// Whether its questions count as the assistant's.
    pub asks_for_assistant: bool,
    /// Whether all of its questions are for humans only.
    pub always_exclusive: bool,
    /// Whether the tool asks no questions.
    pub asks_nothing: bool,
    /// The MCP server that it comes from.
    pub server: Option<String>,
    /// Whether the tool runs in the client.
    pub in_client: bool,
    /// Time limit of its own.
    pub time: Option<Duration>,
}

impl Settings {
    /// Whether the calls of a tool that runs in the client may run. The setting for all tools can forbid them, but only
    /// the tool's own name can allow them.
    #[must_use]
    pub fn client_run(&self, name: &str) -> Option<RunRule> {
        let tools = &self.conversation.tools;
        let own = tools.named.get(name).and_then(|own| own.run);
        let of_all = tools.defaults.run.filter(|run| *run != RunRule::Unattended);
        own.or(of_all)
    }

    /// The rules of a turn.
    #[must_use]
    pub fn rules(&self, run: &RunContext) -> Rules {
        let conversation = &self.conversation;
        let tools = run.tools.iter();
        let tools = tools.map(|(name, facts)| (name.clone(), self.tool_rules(name, facts, run)));
        Rules {
            mode: run.mode.unwrap_or(conversation.mode),
            trusted: run.trusted,
            tools: tools.collect(),
            tool_choice: self.tool_choice(),
            model: run.model.clone(),
            compaction: conversation.compaction,
            left_out: BTreeSet::new(),
            refused: BTreeSet::new(),
            inquiry: InquiryRules {
                strategy: conversation.inquiry.strategy,
                assistant: (conversation.inquiry.assistant != AssistantSettings::default())
                    .then(|| self.assistant_rules(INQUIRY, &run.model.id)),
                max_cost: Some(conversation.inquiry.max_cost),
            },
            prices: BTreeMap::new(),
            schema: run.schema,
            limits: conversation.limits.clone(),
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
            run: match facts.in_client {
                true => self.client_run(name),
                false => own.run.or(defaults.run),
            },
            result: own.result.or(defaults.result).unwrap_or_default(),
            detached: detached(&run.detached, &own.detached, &defaults.detached),
            questions,
            asks_for_assistant: facts.asks_for_assistant,
            always_exclusive: facts.always_exclusive,
            asks_no_model: facts.asks_nothing || facts.always_exclusive || facts.asks_for_assistant,
            hidden: own.style.hidden.unwrap_or(false),
            server: facts.server.clone(),
            outside: facts.outside,
            in_client: facts.in_client,
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
        flag(kind).or(own).or(default).unwrap_or(built_in)
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

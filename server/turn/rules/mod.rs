//! What the user's configuration decides for a turn, already merged and checked.
//!
//! Nothing in here comes from a tool's arguments, a model's output or a file of the workspace that the
//! user did not trust: policy is set by the user, and can only be tightened by others.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{question::Source, rules::limits::Limits, word::Vocabulary};

pub mod limits;

/// All rules of one turn.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What runs unasked; see [`crate::permit`].
    pub mode: Mode,
    /// Whether the user trusts the workspace. Without it only tools that read run.
    pub trusted: bool,
    /// The tools that the model may call, by name.
    pub tools: BTreeMap<String, ToolRules>,
    /// Which tool must be called, if any.
    pub tool_choice: ToolChoice,
    /// How the model of the turn reasons and what it can do.
    pub model: Model,
    /// What models refused in this conversation, by model.
    pub refused: BTreeSet<(String, Feature)>,
    /// How inquiries are made.
    pub inquiry: InquiryRules,
    /// What a million tokens of input cost that are not cached, by model, in millionths of a US dollar. Of a model that is
    /// not here the price is not known.
    pub prices: BTreeMap<String, u64>,
    /// The final answer is JSON that fits a schema; the engine checks it.
    pub schema: bool,
    /// The bounds that the turn keeps.
    pub limits: Limits,
}

/// The rules of one tool.
#[derive(Clone, Debug, Default)]
pub struct ToolRules {
    /// What its calls do at most.
    pub class: Class,
    /// May its calls run?
    pub run: RunRule,
    /// May the model see its results unasked?
    pub result: ResultRule,
    /// What happens where somebody must be asked and nobody is there.
    pub detached: Detached,
    /// By question id.
    pub questions: BTreeMap<String, QuestionRules>,
    /// The tool's questions count as the assistant's own. A built-in declares it of itself.
    pub asks_for_assistant: bool,
    /// The tool's questions are for humans whatever they say: those of MCP servers are.
    pub always_exclusive: bool,
    /// Clients are sent neither its calls nor its results, only its questions.
    pub hidden: bool,
    /// The MCP server it comes from, as shown in a prompt.
    pub server: Option<String>,
    /// It is not part of Aside: its questions may have several lines, see
    /// [`crate::question::Question::from_outside`].
    pub outside: bool,
    /// How long it may run, where that is not what [`Limits::tool_time`] says.
    pub time: Option<Duration>,
}

/// The rules of one question of a tool.
#[derive(Clone, Debug, Default)]
pub struct QuestionRules {
    /// A configured answer; whether it fits is seen when the question comes.
    pub answer: Option<Configured>,
    /// Who is asked.
    pub target: Target,
    /// Overrides what the tool said, but never for a secret.
    pub exclusive: Option<bool>,
    /// The header of the prompt. Display only.
    pub prompt_label: Option<String>,
}

/// A configured answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Configured {
    /// From a file: it has a type already.
    Value(Value),
    /// From a command line: read by the question's type.
    Text(String),
}

/// Who is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// A person, where one is attached.
    #[default]
    User,
    /// A model: that of [`InquiryRules`] or the turn's, or the one that is configured for this question.
    Assistant(Option<Assistant>),
}

/// What runs unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Reading runs, the rest asks.
    #[default]
    Ask,
    /// Reading and editing run, the rest asks.
    Edits,
    /// Reading runs, the rest is refused.
    Plan,
    /// Everything runs, the rest inside the sandbox or asks.
    Auto,
}

/// What a call does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// It changes nothing.
    #[default]
    Reads,
    /// It changes files of the workspace.
    Edits,
    /// It does more than change files of the workspace.
    More,
}

/// May the calls of a tool run? The setting is `conversation.tools.<name>.run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunRule {
    /// Unset: the mode decides.
    #[default]
    ByMode,
    /// They run without asking.
    Unattended,
    /// A person is asked each time.
    Ask,
    /// They never run.
    Deny,
}

/// May the model see a tool's results? The setting is `conversation.tools.<name>.result`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultRule {
    /// The model sees it.
    #[default]
    Unattended,
    /// A person decides whether the model sees it.
    Ask,
}

/// What happens where somebody must be asked and nobody is there, by kind of prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detached {
    /// What becomes of a `runTool` prompt.
    pub run: DetachedMode,
    /// What becomes of a `deliverResult` prompt.
    pub deliver: DetachedMode,
    /// What becomes of a tool's question.
    pub tool: DetachedMode,
}

/// One detached mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachedMode {
    /// What can be decided without a person is.
    Auto,
    /// A question's default answers it.
    Defaults,
    /// What would have been asked is refused.
    Deny,
    /// The turn stops at the prompt and can be resumed there.
    Stop,
}

/// Whether the model must call a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// It may call a tool, or answer.
    #[default]
    Auto,
    /// It may not.
    None,
    /// It must call some tool.
    Required,
    /// It must call this one.
    Name(String),
}

/// What a model can do, as far as the turn decides by it. Data, never a comparison of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// `provider/model`, as configured.
    pub id: String,
    /// It takes a forced tool at all.
    pub forces_tools: bool,
    /// It takes one while it reasons.
    pub forces_while_reasoning: bool,
    /// It reasons in this turn.
    pub reasoning: bool,
    /// Its reasoning may be turned off for one request without losing the history.
    pub reasoning_switches: bool,
    /// It sees images.
    pub images: bool,
    /// It reads PDF.
    pub documents: bool,
    /// Tokens; for `usage` updates.
    pub context_window: Option<u64>,
}

/// How inquiries are made.
#[derive(Clone, Debug, Default)]
pub struct InquiryRules {
    /// Which strategy, or `auto`.
    pub strategy: StrategyRule,
    /// Who answers, where that is not the assistant of the turn.
    pub assistant: Option<Assistant>,
    /// US dollars that the next rung of an inquiry may cost by itself; a dearer one is left out. None: no bound.
    pub max_cost: Option<f64>,
}

/// An assistant of its own for inquiries. Those that go to it are `structured`, with the conversation as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assistant {
    /// What the engine knows its configuration by.
    pub name: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// It is told or asked otherwise than the turn's assistant: only a request of its own can go to it, also where the
    /// model is the same.
    pub differs: bool,
}

/// How inquiries are made. The setting is `conversation.inquiry.strategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrategyRule {
    /// `structured` where another assistant is configured, else `in_band`.
    #[default]
    Auto,
    /// Always this one.
    Named(Strategy),
}

/// How an inquiry is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The turn's own next request and one more message: everything stays cached.
    InBand,
    /// The same with the tool choice forced to `answer_inquiry`.
    ForcedTool,
    /// An answer by JSON schema.
    Structured,
}

impl Vocabulary for Strategy {
    const ALL: &'static [Self] = &[Self::InBand, Self::ForcedTool, Self::Structured];

    fn word(self) -> &'static str {
        match self {
            Self::InBand => "in_band",
            Self::ForcedTool => "forced_tool",
            Self::Structured => "structured",
        }
    }
}

/// Something of a request that not every model or server takes. What one refused is kept with the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// A tool choice that forces a call.
    ForcedTool,
    /// The same while it reasons.
    ForcedWhileReasoning,
    /// Reasoning before or between answers.
    Reasoning,
    /// Reasoning that is turned off.
    ReasoningOff,
    /// Earlier reasoning: from here on it is left out of the history.
    History,
    /// A system message in the middle of a conversation.
    SystemMessage,
    /// Tools whose arguments are held to their schema.
    Strict,
    /// An answer that is held to a schema.
    Schema,
    /// Usage at the end of a stream.
    StreamUsage,
    /// A word on parallel calls.
    ParallelCalls,
    /// The newer name of the limit of output tokens.
    MaxCompletionTokens,
    /// A hint for the prompt cache.
    CacheHint,
}

impl Vocabulary for Feature {
    /// In the order in which a server that names none of them is asked to do without.
    const ALL: &'static [Self] = &[
        Self::ForcedTool,
        Self::ForcedWhileReasoning,
        Self::Reasoning,
        Self::ReasoningOff,
        Self::History,
        Self::SystemMessage,
        Self::Strict,
        Self::Schema,
        Self::StreamUsage,
        Self::ParallelCalls,
        Self::MaxCompletionTokens,
        Self::CacheHint,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::ForcedTool => "forced_tool",
            Self::ForcedWhileReasoning => "forced_while_reasoning",
            Self::Reasoning => "reasoning",
            Self::ReasoningOff => "reasoning_off",
            Self::History => "earlier_reasoning",
            Self::SystemMessage => "system_message",
            Self::Strict => "strict",
            Self::Schema => "schema",
            Self::StreamUsage => "stream_usage",
            Self::ParallelCalls => "parallel_calls",
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::CacheHint => "cache_hint",
        }
    }
}

/// A moment, as time since the Unix epoch. It never goes back within a process.
pub type Time = Duration;

/// A human can be asked here, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Client {
    /// As it called itself.
    pub name: String,
    /// As it called itself.
    pub version: String,
    /// It can show questions of tools. Whether something may run, or be delivered, every client can ask.
    pub questions: bool,
    /// It can hide what is typed.
    pub secret: bool,
}

impl Client {
    /// A terminal with a person at it.
    #[must_use]
    pub fn terminal() -> Self {
        Self {
            name: "terminal".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            questions: true,
            secret: true,
        }
    }
}

impl Default for Detached {
    fn default() -> Self {
        Self {
            run: DetachedMode::Deny,
            deliver: DetachedMode::Deny,
            tool: DetachedMode::Auto,
        }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self {
            id: String::new(),
            forces_tools: true,
            forces_while_reasoning: true,
            reasoning: false,
            reasoning_switches: true,
            images: true,
            documents: true,
            context_window: None,
        }
    }
}

impl Rules {
    /// Takes in that a model refuses something. False where that was known: sending it again without would be in
    /// vain.
    pub fn refuse(&mut self, model: &str, feature: Feature) -> bool {
        if model == self.model.id {
            match feature {
                Feature::ForcedTool => self.model.forces_tools = false,
                Feature::ForcedWhileReasoning => self.model.forces_while_reasoning = false,
                Feature::Reasoning => self.model.reasoning = false,
                Feature::ReasoningOff => self.model.reasoning_switches = false,
                _ => {}
            }
        }
        self.refused.insert((model.to_owned(), feature))
    }

    /// What this model refused.
    #[must_use]
    pub fn refused_by(&self, model: &str) -> BTreeSet<Feature> {
        let of_model = self.refused.iter().filter(|(id, _)| id == model);
        of_model.map(|(_, feature)| *feature).collect()
    }

    /// The rules of one question of a tool; the defaults where nothing is configured.
    #[must_use]
    pub fn question(&self, tool: &str, id: &str) -> QuestionRules {
        self.tools
            .get(tool)
            .and_then(|rules| rules.questions.get(id))
            .cloned()
            .unwrap_or_default()
    }
}

impl ToolRules {
    /// Whose questions the tool's are.
    #[must_use]
    pub fn source(&self, tool: &str) -> Source {
        if self.asks_for_assistant {
            Source::Assistant
        } else {
            Source::Tool {
                name: tool.to_owned(),
            }
        }
    }
}

impl Vocabulary for Mode {
    const ALL: &'static [Self] = &[Self::Ask, Self::Edits, Self::Plan, Self::Auto];

    fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::Plan => "plan",
            Self::Auto => "auto",
        }
    }
}

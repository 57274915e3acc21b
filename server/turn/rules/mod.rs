//! Rules of a turn from the user's configuration, already merged and checked.
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

/// Tokens of the context window that each call of a message may take: its own words, and those that say where its result is.
const TOKENS_A_CALL: u64 = 256;

/// All rules of one turn.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Permission mode; see [`crate::permit`].
    pub mode: Mode,
    /// Whether the user trusts the workspace. Without it only tools that read run.
    pub trusted: bool,
    /// The tools that the model may call, by name.
    pub tools: BTreeMap<String, ToolRules>,
    /// The tool that must be called, if any.
    pub tool_choice: ToolChoice,
    /// The turn's model and its abilities.
    pub model: Model,
    /// Whether the conversation is summarised unasked.
    pub compaction: CompactionRule,
    /// Features that models refused in this conversation, by model.
    pub refused: BTreeSet<(String, Feature)>,
    /// Parts of requests that models refused in this conversation by their names, by model.
    pub left_out: BTreeSet<(String, LeftOut)>,
    /// Rules of inquiries.
    pub inquiry: InquiryRules,
    /// Price of a million uncached input tokens, by model, in millionths of a US dollar. A model that is missing here has no
    /// known price.
    pub prices: BTreeMap<String, u64>,
    /// The final answer is JSON that fits a schema; the engine checks it.
    pub schema: bool,
    /// The bounds that the turn keeps.
    pub limits: Limits,
}

/// The rules of one tool.
#[derive(Clone, Debug, Default)]
pub struct ToolRules {
    /// Upper bound of its calls' effects.
    pub class: Class,
    /// Whether its calls run; the mode decides where this is unset.
    pub run: Option<RunRule>,
    /// May the model see its results unasked?
    pub result: ResultRule,
    /// Modes for prompts when nobody is there.
    pub detached: Detached,
    /// By question id.
    pub questions: BTreeMap<String, QuestionRules>,
    /// The tool's questions count as the assistant's own. A built-in declares it of itself.
    pub asks_for_assistant: bool,
    /// The tool's questions are for humans whatever they say: those of MCP servers are.
    pub always_exclusive: bool,
    /// No question of the tool's can go to a model, so nobody waits for one.
    pub asks_no_model: bool,
    /// Clients are sent neither its calls nor its results, only its questions.
    pub hidden: bool,
    /// The MCP server it comes from, as shown in a prompt.
    pub server: Option<String>,
    /// Whether the tool comes from outside Aside, so that its questions may have several lines; see
    /// [`crate::question::Question::from_outside`].
    pub outside: bool,
    /// Whether the tool runs in the client. Its calls then run unasked only if the user's configuration allows the tool
    /// by its own name; that decision is put on record.
    pub in_client: bool,
    /// Time limit that replaces [`Limits::tool_time`].
    pub time: Option<Duration>,
}

/// The rules of one question of a tool.
#[derive(Clone, Debug, Default)]
pub struct QuestionRules {
    /// A configured answer; whether it fits is seen when the question comes.
    pub answer: Option<Configured>,
    /// Target of a question.
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

/// Target of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// A person, where one is attached.
    #[default]
    User,
    /// A model: that of [`InquiryRules`] or the turn's, or the one that is configured for this question.
    Assistant(Option<Assistant>),
}

/// The mode of permissions: which calls run without a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reading runs, the rest asks.
    #[default]
    Ask,
    /// Reading and editing files of the workspace run, the rest asks.
    Edits,
    /// Reading runs, the rest is refused.
    Plan,
    /// Everything runs: inside the sandbox, else it asks.
    Auto,
}

/// Effects of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// The call changes nothing.
    #[default]
    Reads,
    /// The call changes files of the workspace.
    Edits,
    /// The call may have any other effect.
    More,
}

/// Whether the calls of a tool run. The setting is `conversation.tools.<name>.run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunRule {
    /// The call runs without asking.
    Unattended,
    /// A person is asked each time.
    Ask,
    /// The call never runs.
    Deny,
}

/// Whether the model sees a tool's results. The setting is `conversation.tools.<name>.result`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ResultRule {
    /// The model sees the result without asking.
    #[default]
    Unattended,
    /// A person decides whether the model sees the result.
    Ask,
}

/// Whether conversations are summarised. The setting is `conversation.compaction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CompactionRule {
    /// Before the context window is full, before a price step of the model, and in an editor also while nobody writes,
    /// before the provider's cache forgets a long conversation.
    #[default]
    Auto,
    /// Before the context window is full, and before a price step of the model.
    Full,
    /// Never: a turn fails once the context window is full.
    Off,
}

/// Rules for commands. Each is a program and its leading arguments, such as `cargo test`. Each simple command of a line is
/// looked at by itself: a rule that denies one of them counts before one that asks, and both before those that allow.
/// What is not plain commands and words is allowed by no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CommandRules {
    /// Commands that run inside the sandbox without a prompt.
    pub allow: Vec<String>,
    /// Commands that need a prompt, whatever else allows them.
    pub ask: Vec<String>,
    /// Commands that never run.
    pub deny: Vec<String>,
    /// Commands that run outside the sandbox without a prompt, each as a line of its own that a shell would not expand.
    pub unsandboxed: Vec<String>,
}

/// Modes for prompts when nobody is there, by kind of prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detached {
    /// Mode for a `runTool` prompt.
    pub run: DetachedMode,
    /// Mode for a `deliverResult` prompt.
    pub deliver: DetachedMode,
    /// Mode for a tool's question.
    pub tool: DetachedMode,
}

/// Outcome of prompts that nobody is there to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DetachedMode {
    /// Decide without a person, as far as the rules allow.
    Auto,
    /// A question's default answers it; the rest is refused.
    Defaults,
    /// Refuse.
    Deny,
    /// The turn stops at the prompt and can be resumed there.
    Stop,
}

/// Whether the model must call a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model may call a tool or answer.
    #[default]
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call some tool.
    Required,
    /// The model must call this tool.
    Name(String),
}

/// Abilities of a model by which the turn decides. Data, never a comparison of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// `provider/model`, as configured.
    pub id: String,
    /// Whether the model supports forced tools.
    pub forces_tools: bool,
    /// Whether the model supports forced tools while it reasons.
    pub forces_while_reasoning: bool,
    /// Whether the model reasons in this turn.
    pub reasoning: bool,
    /// Whether reasoning can be turned off for one request without losing the history.
    pub reasoning_switches: bool,
    /// Whether the model accepts images.
    pub images: bool,
    /// Bytes of the largest image that the model accepts, in base64.
    pub image_bytes: Option<u64>,
    /// Whether the model accepts PDF documents.
    pub documents: bool,
    /// Tokens; for `usage` updates.
    pub context_window: Option<u64>,
    /// Tokens beyond which the conversation is summarised before the next request; none where the window is not known.
    pub compacts_at: Option<u64>,
    /// Whether the provider makes summaries in a form of its own.
    pub compacts_natively: bool,
    /// Time after the last request for which the provider's cache may still know the conversation; none where nobody says.
    pub cache_life: Option<Duration>,
    /// Prices of its cache, where the provider sells one; none where nothing is cached, or nobody knows for how long.
    pub cache_prices: Option<CachePrices>,
}

/// Rules of inquiries.
#[derive(Clone, Debug, Default)]
pub struct InquiryRules {
    /// The strategy, or `auto`.
    pub strategy: StrategyRule,
    /// The assistant that answers, if not the turn's.
    pub assistant: Option<Assistant>,
    /// US dollars that the next rung of an inquiry may cost by itself; a dearer one is left out. None: no bound.
    pub max_cost: Option<f64>,
}

/// An assistant of its own for inquiries. Those that go to it are `structured`, with the conversation as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assistant {
    /// Name by which the engine finds its configuration.
    pub name: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// Whether this assistant needs a request of its own, because its instructions or options differ from the turn's, even
    /// with the same model.
    pub differs: bool,
}

/// The form of an inquiry to a model. The setting is `conversation.inquiry.strategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StrategyRule {
    /// `structured` where inquiries have an assistant of their own, else `in_band`.
    #[default]
    Auto,
    /// The turn's own next request and one more message.
    InBand,
    /// The same with the answering tool forced.
    ForcedTool,
    /// An answer by JSON schema.
    Structured,
}

/// Strategy of an inquiry.
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
    /// Earlier reasoning as plain text, beside the response that it led to.
    ReasoningText,
    /// An earlier response without the reasoning that led to it.
    Unreasoned,
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
    /// A summary in the provider's own form.
    Compaction,
}

impl Vocabulary for Feature {
    /// In the order in which a server that names none of them is asked to do without.
    const ALL: &'static [Self] = &[
        Self::ForcedTool,
        Self::ForcedWhileReasoning,
        Self::Reasoning,
        Self::ReasoningOff,
        Self::History,
        Self::ReasoningText,
        Self::Unreasoned,
        Self::SystemMessage,
        Self::Strict,
        Self::Schema,
        Self::StreamUsage,
        Self::ParallelCalls,
        Self::MaxCompletionTokens,
        Self::CacheHint,
        Self::Compaction,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::ForcedTool => "forced_tool",
            Self::ForcedWhileReasoning => "forced_while_reasoning",
            Self::Reasoning => "reasoning",
            Self::ReasoningOff => "reasoning_off",
            Self::History => "earlier_reasoning",
            Self::ReasoningText => "reasoning_text",
            Self::Unreasoned => "response_without_reasoning",
            Self::SystemMessage => "system_message",
            Self::Strict => "strict",
            Self::Schema => "schema",
            Self::StreamUsage => "stream_usage",
            Self::ParallelCalls => "parallel_calls",
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::CacheHint => "cache_hint",
            Self::Compaction => "compaction",
        }
    }
}

/// A part of a request that a model refused by its name, and that is left out from then on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// The tool with this name.
    Tool(String),
    /// The image or document with this blob.
    Media(String),
}

impl LeftOut {
    /// The part with this word and name; `None` for the word of something else.
    #[must_use]
    pub fn named(word: &str, name: String) -> Option<Self> {
        match word {
            "tool" => Some(Self::Tool(name)),
            "media" => Some(Self::Media(name)),
            _ => None,
        }
    }

    /// The word on record.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Media(_) => "media",
        }
    }

    /// The name on record.
    #[must_use]
    pub fn name(&self) -> &str {
        let (Self::Tool(name) | Self::Media(name)) = self;
        name
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
    /// Whether the client shows questions of tools. Every client shows permission prompts.
    pub questions: bool,
    /// Whether the client can hide typed text.
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

/// Prices of a million tokens of a model whose provider sells a cache, in millionths of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePrices {
    /// Input that is read from the cache.
    pub read: u64,
    /// Input that is written to it.
    pub write: u64,
    /// Output.
    pub output: u64,
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
            image_bytes: None,
            documents: true,
            context_window: None,
            compacts_at: None,
            compacts_natively: false,
            cache_life: None,
            cache_prices: None,
        }
    }
}

impl Rules {
    /// Calls in one message that are looked at: no more than have room in the model's context window, with what says where
    /// their results are.
    pub(crate) fn calls_in_message(&self) -> usize {
        let window = self.model.context_window.unwrap_or(u64::MAX);
        let most = usize::try_from(window / TOKENS_A_CALL).unwrap_or(usize::MAX);
        self.limits.calls_in_message.min(most.max(1))
    }

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

    /// Takes in that a model refuses a part by its name. False where that was known.
    pub fn leave_out(&mut self, model: &str, part: LeftOut) -> bool {
        self.left_out.insert((model.to_owned(), part))
    }

    /// Parts that are not sent to this model.
    #[must_use]
    pub fn left_out_of(&self, model: &str) -> BTreeSet<LeftOut> {
        let of_model = self.left_out.iter().filter(|(id, _)| id == model);
        of_model.map(|(_, part)| part.clone()).collect()
    }

    /// Features that this model refused.
    #[must_use]
    pub fn refused_by(&self, model: &str) -> BTreeSet<Feature> {
        let of_model = self.refused.iter().filter(|(id, _)| id == model);
        of_model.map(|(_, feature)| *feature).collect()
    }

    /// Whether no call of this tool can change anything. A tool from outside Aside may only say so of itself.
    #[must_use]
    pub fn changes_nothing(&self, tool: &str) -> bool {
        let known = self.tools.get(tool);
        known.is_some_and(|rules| rules.class == Class::Reads && !rules.outside && !rules.in_client)
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
    /// The label of prompts of a server's tool.
    pub(crate) fn server_label(&self) -> Option<String> {
        self.server.as_ref().map(|server| format!("{server} (MCP)"))
    }

    /// Origin of the tool's questions.
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

impl Vocabulary for DetachedMode {
    const ALL: &'static [Self] = &[Self::Auto, Self::Defaults, Self::Deny, Self::Stop];

    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Defaults => "defaults",
            Self::Deny => "deny",
            Self::Stop => "stop",
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

//! What can be set, as types. The JSON schema, the check for unknown keys and the built-in values all come
//! from here and from nowhere else.
//!
//! A doc comment on a field is its description in the published schema.

mod provider;

use std::{collections::BTreeMap, fmt};

use aside_turn::limits::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    names::NAME_PATTERN,
    shorthand::{or_bool, or_mode, or_state, without_defaults},
};
pub use provider::{
    ForcedTools, ModelPrices, ModelSettings, PricesBeyond, ProviderSettings, ReasoningKind,
};

/// All settings, merged and checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "aside.toml", transform = without_defaults)]
pub struct Settings {
    /// The assistant of a turn.
    pub assistant: AssistantSettings,
    /// How a conversation goes.
    pub conversation: ConversationSettings,
    /// Rules for commands by their program and leading arguments. Only the user can set them.
    pub commands: CommandSettings,
    /// How commands are confined. Only the user can set it.
    pub sandbox: SandboxSettings,
    /// Decide as if a sandbox held, so that commands run without one. Only the user can set it.
    pub unsandboxed: bool,
    /// Model providers by name.
    #[schemars(extend("propertyNames" = {"pattern": NAME_PATTERN}))]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Which certificate authorities are trusted. Only the user can set it.
    pub tls_roots: TlsRoots,
    /// Servers of the Model Context Protocol.
    pub mcp: Mcp,
}

/// The model that answers, and what it is told before the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AssistantSettings {
    /// The model, as `provider/model`.
    pub model: Option<String>,
    /// The system text, instead of the built-in one.
    pub system_prompt: Option<String>,
    /// Instructions that are added to the system text.
    pub instructions: Option<String>,
    /// How much the model reasons before it answers; unset is the model's own default.
    pub reasoning: Option<ReasoningSetting>,
    /// `auto`, `none`, `required`, or the name of the tool that must be called.
    #[schemars(extend("pattern" = NAME_PATTERN))]
    pub tool_choice: Option<String>,
    /// How requests are made.
    pub request: RequestSettings,
}

/// How requests are made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestSettings {
    /// How long the provider is asked to keep what was sent, where it can be asked.
    pub cache: Option<CacheSetting>,
    /// Tokens that an answer may have, reasoning included; unset is 32,000, or less where the model has less.
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
}

/// How long a provider is asked to keep what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheSetting {
    /// It is not asked.
    Off,
    /// Some minutes after each use.
    Short,
    /// An hour or more; writing costs more then.
    Long,
}

/// How much a model reasons; a provider takes the nearest that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningSetting {
    /// Not at all.
    Off,
    /// It reasons a little.
    Low,
    /// A moderate amount of reasoning.
    Medium,
    /// It reasons much.
    High,
    /// As much as it can.
    Max,
}

/// How a conversation goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConversationSettings {
    /// What runs unasked.
    pub mode: Mode,
    /// Bounds of a turn.
    pub limits: LimitSettings,
    /// Questions that a model answers.
    pub inquiry: InquirySettings,
    /// Tools by name, and their defaults.
    pub tools: Tools,
}

/// What runs unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Bounds of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Requests to the provider in a turn, inquiries not counted.
    #[schemars(range(min = 1))]
    pub steps: u32,
    /// Seconds that a tool may run; the time of a question that it asks while it runs does not count.
    #[schemars(range(min = 1, max = 600))]
    pub tool_seconds: u64,
    /// Tools that run side by side.
    #[schemars(range(min = 1, max = 256))]
    pub tools_at_once: u32,
    /// Bytes at the start of a tool's output that the model is sent; the middle is left out.
    #[schemars(range(max = 1_048_576))]
    pub output_head: u32,
    /// Bytes at the end of a tool's output that the model is sent.
    #[schemars(range(max = 1_048_576))]
    pub output_tail: u32,
    /// Calls in one message of the model that are looked at.
    #[schemars(range(min = 1, max = 4096))]
    pub calls_in_message: u32,
    /// Times that a failed request is sent again.
    #[schemars(range(max = 100))]
    pub retries: u32,
    /// Seconds over which a failed request is sent again.
    #[schemars(range(max = 86_400))]
    pub retry_seconds: u64,
    /// Seconds that a turn may take; unset is no bound.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub turn_seconds: Option<u64>,
    /// US dollars that a turn may cost; unset is no bound.
    #[schemars(range(min = 0.0))]
    pub cost_usd: Option<f64>,
}

/// Questions that a model answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InquirySettings {
    /// Who answers; unset is the assistant of the turn.
    pub assistant: AssistantSettings,
    /// How it is asked.
    pub strategy: StrategySetting,
    /// US dollars that it may cost to ask once more in another way, where the model gave no fitting answer.
    #[schemars(range(min = 0.0))]
    pub max_cost: f64,
}

/// How a model is asked a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StrategySetting {
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

/// Tools by name, and their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("propertyNames" = {"pattern": NAME_PATTERN}))]
pub struct Tools {
    /// What counts for every tool that does not say otherwise.
    pub defaults: ToolDefaults,
    /// A tool's settings by its name.
    #[serde(flatten)]
    pub named: BTreeMap<String, ToolSettings>,
}

/// What counts for every tool that does not say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolDefaults {
    /// Whether tools are on.
    pub enable: Enable,
    /// Whether calls run unasked; unset is decided by the mode.
    pub run: Option<RunSetting>,
    /// Whether the model sees results unasked.
    pub result: Option<DeliverySetting>,
    /// What happens where somebody must be asked and nobody is there.
    pub detached: DetachedSettings,
}

/// The settings of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// Where the tool comes from.
    pub source: Option<ToolSource>,
    /// Whether it is on, and what may turn it on or off.
    pub enable: Enable,
    /// What the model is told of it, instead of the description.
    pub summary: Option<String>,
    /// What it does, for the model.
    pub description: Option<String>,
    /// Whether calls run unasked; unset is decided by the mode.
    pub run: Option<RunSetting>,
    /// Whether the model sees results unasked.
    pub result: Option<DeliverySetting>,
    /// How it is shown.
    pub style: Style,
    /// What happens where somebody must be asked and nobody is there.
    pub detached: DetachedSettings,
    /// Its questions by id.
    pub questions: BTreeMap<String, QuestionSettings>,
    /// The JSON schema of a local tool's arguments.
    pub parameters: Option<Map<String, Value>>,
    /// The program of a local tool and its arguments. No shell reads it.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// What the program of a local tool is given at each call, as it is.
    pub options: Option<Map<String, Value>>,
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// Part of Aside.
    Builtin,
    /// A program that is configured here.
    Local,
    /// An MCP server.
    Mcp,
}

/// Whether a tool is on, and what may turn it on or off. `true` and `false` set both keys, with `any`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = or_bool)]
pub struct Enable {
    /// It is on.
    pub state: Option<bool>,
    /// What may turn it on or off for a run.
    pub allow_toggle: Option<AllowToggle>,
}

/// What may turn a tool on or off for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowToggle {
    /// Its name, or a directive for all tools.
    Any,
    /// The same as `any`.
    Always,
    /// Only its name.
    IfNamed,
    /// Nothing; where it is off not even a forced tool choice brings it back.
    Never,
}

/// Whether a call runs unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunSetting {
    /// The call runs without asking.
    Unattended,
    /// A person is asked.
    Ask,
    /// It never runs.
    Deny,
}

/// Whether the model sees a result unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliverySetting {
    /// The model sees the result without asking.
    Unattended,
    /// A person is asked.
    Ask,
}

/// How a tool is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Style {
    /// Only its questions are shown.
    pub hidden: Option<bool>,
}

/// What happens where somebody must be asked and nobody is there. A mode alone sets all three keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = or_mode)]
pub struct DetachedSettings {
    /// Where a call needs permission to run.
    pub run: Option<DetachedMode>,
    /// Where a result needs permission to be shown to the model.
    pub deliver: Option<DetachedMode>,
    /// Where a tool asks a question.
    pub tool: Option<DetachedMode>,
}

/// What happens where somebody must be asked and nobody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DetachedMode {
    /// What can be decided without a person is.
    Auto,
    /// A question's default answers it; the rest is refused.
    Defaults,
    /// It is refused.
    Deny,
    /// The turn stops there and can be resumed.
    Stop,
}

/// The settings of one question of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuestionSettings {
    /// The answer, so that nobody is asked.
    #[schemars(extend("type" = ["string", "boolean", "number", "array"]))]
    pub answer: Option<Value>,
    /// Who is asked: `user`, `assistant`, or an assistant with settings of its own.
    pub target: Option<Target>,
    /// Only a human may answer.
    pub exclusive: Option<bool>,
    /// The header over the question. It changes nothing else.
    pub prompt_label: Option<String>,
}

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Target {
    /// The person or the assistant, by name.
    Named(TargetName),
    /// An assistant with these settings.
    Assistant(Box<AssistantSettings>),
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetName {
    /// A person, where one is there.
    User,
    /// The inquiry's assistant.
    Assistant,
}

/// Rules for commands. Each is a program and its leading arguments, such as `cargo test`. Each simple command of a line is
/// looked at by itself: a rule that denies one of them counts before one that asks, and both before those that allow.
/// What is not plain commands and words is allowed by no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CommandSettings {
    /// What runs unasked inside the sandbox.
    pub allow: Vec<String>,
    /// What asks, whatever else allows it.
    pub ask: Vec<String>,
    /// What never runs.
    pub deny: Vec<String>,
    /// What runs unasked outside the sandbox, as a line of its own without anything that a shell expands.
    pub unsandboxed: Vec<String>,
}

/// How commands are confined. A word alone sets `state`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = or_state)]
pub struct SandboxSettings {
    /// Whether there is one.
    pub state: SandboxState,
    /// Commands inside may use the network.
    pub network: bool,
    /// Hosts that commands inside may reach where the network is off, by HTTP and TLS through a proxy of their own, such as
    /// `crates.io`, `*.npmjs.org` or `git.example.com:8443`. A name without a port stands for 80 and 443.
    pub hosts: Vec<String>,
    /// Commands inside may write in Git's folders, so that they can add, commit, stash and make worktrees. Hooks and
    /// settings stay as they are.
    pub git: bool,
    /// Folders beside the workspace that commands inside may write in, such as `~/.cargo/registry`. Each is absolute
    /// or begins with `~/`.
    pub writable: Vec<String>,
}

/// Whether there is a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxState {
    /// Wherever one works; elsewhere every command asks.
    #[default]
    Auto,
    /// Never: every command asks.
    Off,
}

/// Which certificate authorities are trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TlsRoots {
    /// Mozilla's, as of the build.
    #[default]
    Embedded,
    /// The system's, where a company may have added its own.
    System,
}

/// Servers of the Model Context Protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// Servers by name.
    #[schemars(extend("propertyNames" = {"pattern": NAME_PATTERN}))]
    pub servers: BTreeMap<String, McpServer>,
}

/// One MCP server: a program, or a place on the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpServer {
    /// The program to start.
    pub command: Option<String>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The folder that the program is started in, seen from the workspace or as a whole path; unset is the workspace.
    pub cwd: Option<String>,
    /// What its environment holds besides the usual.
    pub env: BTreeMap<String, EnvValue>,
    /// Names of variables of your environment that it gets too.
    pub env_vars: Vec<String>,
    /// Whether it runs in a namespace of processes of its own, by bubblewrap, so that nothing of it outlives Aside;
    /// unset is yes, where that works. In there `sudo` and other setuid programs do not work.
    pub pid_namespace: Option<bool>,
    /// Whether it is started; unset is yes.
    pub enabled: Option<bool>,
    /// Seconds until its tools are known; unset is 30.
    #[schemars(range(min = 1, max = 600))]
    pub startup_seconds: Option<u64>,
    /// How long a call of one of its tools may run; unset is `conversation.limits.tool_seconds`.
    #[schemars(range(min = 1, max = 86_400))]
    pub tool_seconds: Option<u64>,
    /// Which protocol is spoken with it; unset is `auto`.
    pub protocol: Option<ProtocolSetting>,
    /// Where it is reached, in place of a program.
    pub url: Option<String>,
    /// What every request to it says besides.
    pub headers: BTreeMap<String, EnvValue>,
    /// The same, with the names of variables of your environment in place of the values.
    pub headers_env: BTreeMap<String, String>,
    /// The variable of your environment with the token that it wants.
    pub bearer_token_env: Option<String>,
    /// What Aside is registered as where people log in to it, if it cannot register itself there.
    pub oauth_client_id: Option<String>,
    /// Names of its tools that are there, `*` standing for any characters; unset is all.
    pub include_tools: Option<Vec<String>>,
    /// Names of its tools that are not there, `*` standing for any characters.
    pub exclude_tools: Vec<String>,
}

impl McpServer {
    /// Whether it is started here, and kept together with its processes where that can be.
    pub fn is_kept(&self) -> bool {
        self.command.is_some() && self.enabled != Some(false) && self.pid_namespace != Some(false)
    }

    /// The variables of the environment that hold its keys.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let headers = self.headers_env.values().map(String::as_str);
        headers.chain(self.bearer_token_env.as_deref())
    }
}

/// Which protocol is spoken with an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProtocolSetting {
    /// That of 2025-11-25, unless the server wants the newer one.
    #[serde(rename = "auto")]
    Auto,
    /// Only this one.
    #[serde(rename = "2025-11-25")]
    Older,
    /// Only this one; tools cannot ask while they run then.
    #[serde(rename = "2026-07-28")]
    Newer,
}

/// The value of an environment variable, which may be a secret: it is never printed.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EnvValue(String);

/// What stands where a value may be a secret.
pub(crate) const HIDDEN: &str = "[hidden]";

impl From<String> for EnvValue {
    fn from(value: String) -> Self {
        Self(value)
    }
}

impl EnvValue {
    /// The value itself, for the process that it is meant for.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for EnvValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

impl Default for InquirySettings {
    fn default() -> Self {
        Self {
            assistant: AssistantSettings::default(),
            strategy: StrategySetting::default(),
            max_cost: 0.25,
        }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        let limits = Limits::default();
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            steps: limits.steps,
            tool_seconds: limits.tool_time.as_secs(),
            tools_at_once: small(limits.tools_at_once),
            output_head: 16 * 1024,
            output_tail: 16 * 1024,
            calls_in_message: small(limits.calls_in_message),
            retries: limits.retries,
            retry_seconds: limits.retry_time.as_secs(),
            turn_seconds: None,
            cost_usd: None,
        }
    }
}

impl Default for ToolDefaults {
    fn default() -> Self {
        Self {
            enable: Enable {
                state: Some(true),
                allow_toggle: Some(AllowToggle::Any),
            },
            run: None,
            result: Some(DeliverySetting::Unattended),
            detached: DetachedSettings {
                run: Some(DetachedMode::Deny),
                deliver: Some(DetachedMode::Deny),
                tool: Some(DetachedMode::Auto),
            },
        }
    }
}

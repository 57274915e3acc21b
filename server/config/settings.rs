//! All settings, as types. The JSON schema, the check for unknown keys and the built-in values all come from these types.
//! A setting that the turn or a provider decides by has the type that decides, from `aside_turn::rules` or
//! `aside_base::model`.
//!
//! A doc comment on a field is its description in the published schema.

use std::{collections::BTreeMap, fmt};

use aside_base::{
    api::ApiKind,
    model::{CacheRetention, ReasoningEffort, StatedAbilities},
};
use aside_turn::rules::{
    CommandRules, CompactionRule, DetachedMode, Mode, ResultRule, RunRule, StrategyRule,
    limits::Limits,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    names::NAME_PATTERN,
    shorthand::{or_bool, or_mode, or_state, without_defaults},
};

/// All settings, merged and checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "aside.toml", transform = without_defaults)]
pub struct Settings {
    /// The assistant of a turn.
    pub assistant: AssistantSettings,
    /// Settings of conversations.
    pub conversation: ConversationSettings,
    /// Rules for commands by their program and leading arguments. Only the user can set them.
    pub commands: CommandRules,
    /// Sandbox for commands. Only the user can set it.
    pub sandbox: SandboxSettings,
    /// Decide as if a sandbox held, so that commands run without one. Only the user can set it.
    pub unsandboxed: bool,
    /// Model providers by name.
    #[schemars(extend("propertyNames" = {"pattern": NAME_PATTERN}))]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Trusted certificate authorities. Only the user can set it.
    pub tls_roots: TlsRoots,
    /// Servers of the Model Context Protocol.
    pub mcp: Mcp,
    /// Print each line on the terminal once, for a screen reader. Nothing is drawn again while something runs or is typed.
    pub screen_reader: bool,
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
    /// Reasoning effort; unset is the model's own default.
    pub reasoning: Option<ReasoningEffort>,
    /// `auto`, `none`, `required`, or the name of the tool that must be called.
    #[schemars(extend("pattern" = NAME_PATTERN))]
    pub tool_choice: Option<String>,
    /// Options of requests.
    pub request: RequestSettings,
}

/// Options of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestSettings {
    /// Time for which the provider is asked to cache the prompt, if it can be asked.
    pub cache: Option<CacheRetention>,
    /// Tokens that an answer may have, reasoning included; unset is 32,000, or less where the model has less.
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
}

/// Settings of conversations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConversationSettings {
    /// Permission mode.
    pub mode: Mode,
    /// Bounds of a turn.
    pub limits: Limits,
    /// Whether a conversation is summarised before it fills the model's context window.
    pub compaction: CompactionRule,
    /// Questions that a model answers.
    pub inquiry: InquirySettings,
    /// Tools by name, and their defaults.
    pub tools: Tools,
}

/// Questions that a model answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InquirySettings {
    /// Assistant that answers; unset is the assistant of the turn.
    pub assistant: AssistantSettings,
    /// Strategy of inquiries.
    pub strategy: StrategyRule,
    /// US dollars that it may cost to ask once more in another way, where the model gave no fitting answer.
    #[schemars(range(min = 0.0))]
    pub max_cost: f64,
}

/// Tools by name, and their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("propertyNames" = {"pattern": NAME_PATTERN}))]
pub struct Tools {
    /// Defaults for all tools.
    pub defaults: ToolDefaults,
    /// A tool's settings by its name.
    #[serde(flatten)]
    pub named: BTreeMap<String, ToolSettings>,
}

/// Defaults for all tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolDefaults {
    /// Whether tools are on.
    pub enable: Enable,
    /// Whether calls run unasked; unset is decided by the mode.
    pub run: Option<RunRule>,
    /// Whether the model sees results unasked.
    pub result: Option<ResultRule>,
    /// Modes for prompts when nobody is there.
    pub detached: DetachedSettings,
}

/// The settings of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// Source of the tool.
    pub source: Option<ToolSource>,
    /// Whether it is on, and what may turn it on or off.
    pub enable: Enable,
    /// Description for the model that replaces the tool's own.
    pub summary: Option<String>,
    /// Description for the model.
    pub description: Option<String>,
    /// Whether calls run unasked; unset is decided by the mode.
    pub run: Option<RunRule>,
    /// Whether the model sees results unasked.
    pub result: Option<ResultRule>,
    /// Display of the tool.
    pub style: Style,
    /// Modes for prompts when nobody is there.
    pub detached: DetachedSettings,
    /// Questions of the tool, by id.
    pub questions: BTreeMap<String, QuestionSettings>,
    /// The JSON schema of a local tool's arguments.
    pub parameters: Option<Map<String, Value>>,
    /// The program of a local tool and its arguments. No shell reads it.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// Options for the program of a local tool, passed unchanged at each call.
    pub options: Option<Map<String, Value>>,
}

/// Source of a tool.
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
    /// Whether the tool is on.
    pub state: Option<bool>,
    /// Flags that may turn the tool on or off for a run.
    pub allow_toggle: Option<AllowToggle>,
}

/// Flags that may turn a tool on or off for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowToggle {
    /// The name of the tool, or a directive for all tools.
    Any,
    /// The same as `any`.
    Always,
    /// Only its name.
    IfNamed,
    /// Nothing; where it is off not even a forced tool choice brings it back.
    Never,
}

/// Display of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Style {
    /// Only its questions are shown.
    pub hidden: Option<bool>,
}

/// The outcome of prompts that nobody is there to answer. A mode alone sets all three keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = or_mode)]
pub struct DetachedSettings {
    /// Mode for a call that needs permission to run.
    pub run: Option<DetachedMode>,
    /// Mode for a result that needs permission to be shown to the model.
    pub deliver: Option<DetachedMode>,
    /// Mode for a question of a tool.
    pub tool: Option<DetachedMode>,
}

/// The settings of one question of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuestionSettings {
    /// The answer, so that nobody is asked.
    #[schemars(extend("type" = ["string", "boolean", "number", "array"]))]
    pub answer: Option<Value>,
    /// The one who is asked: `user`, `assistant`, or an assistant with settings of its own.
    pub target: Option<Target>,
    /// Only a human may answer.
    pub exclusive: Option<bool>,
    /// The header over the question. It changes nothing else.
    pub prompt_label: Option<String>,
}

/// Target of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Target {
    /// The person or the assistant, by name.
    Named(TargetName),
    /// An assistant with these settings.
    Assistant(Box<AssistantSettings>),
}

/// Target of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetName {
    /// A person, where one is there.
    User,
    /// The inquiry's assistant.
    Assistant,
}

/// Sandbox for commands. A word alone sets `state`.
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
    /// Used wherever it works; elsewhere every command asks.
    #[default]
    Auto,
    /// Never: every command asks.
    Off,
}

/// A model provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// The provider's API; not needed for a provider that Aside knows by name.
    pub api: Option<ApiKind>,
    /// Base URL of its API.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// The program that prints the key, and its arguments.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<Vec<String>>,
    /// Headers that every request to it has besides its own, by their names; they win over its own. What stands in
    /// them is not repeated, but this file is no place for a key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Abilities of its models, by their ids, which replace those that are known.
    pub models: BTreeMap<String, StatedAbilities>,
}

/// Trusted certificate authorities.
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
    /// The folder that the program is started in, seen from the workspace or as a whole path; unset is your home.
    pub cwd: Option<String>,
    /// Whether the part of the workspace that it starts from may change without your approval; unset is no. Only for a
    /// program that runs nothing of the workspace, such as one that reads its files.
    pub may_change: Option<bool>,
    /// Environment variables besides the usual ones.
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
    /// Time limit in seconds of a call of one of the server's tools; unset is `conversation.limits.tool_seconds`.
    #[schemars(range(min = 1, max = 86_400))]
    pub tool_seconds: Option<u64>,
    /// Version of the protocol; unset is `auto`.
    pub protocol: Option<ProtocolSetting>,
    /// Address of the server, in place of a program.
    pub url: Option<String>,
    /// Additional headers of every request.
    pub headers: BTreeMap<String, EnvValue>,
    /// The same, with the names of variables of your environment in place of the values.
    pub headers_env: BTreeMap<String, String>,
    /// The variable of your environment with the token that it wants.
    pub bearer_token_env: Option<String>,
    /// The client id of Aside at the server's login service, if that does not let programs register themselves.
    pub oauth_client_id: Option<String>,
    /// Names of its tools that are there, `*` standing for any characters; unset is all.
    pub include_tools: Option<Vec<String>>,
    /// Names of its tools that are not there, `*` standing for any characters.
    pub exclude_tools: Vec<String>,
}

impl McpServer {
    /// Whether nothing is said but that it is on or off: a switch in one place of settings for a server of another.
    pub fn is_switch(&self) -> bool {
        let switch = Self {
            enabled: self.enabled,
            ..Self::default()
        };
        self.enabled.is_some() && *self == switch
    }

    /// Whether it is started.
    pub fn is_on(&self) -> bool {
        self.enabled != Some(false) && !self.is_switch()
    }

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

/// Version of the protocol that is spoken with an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProtocolSetting {
    /// The version of 2025-11-25, unless the server wants the newer one.
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

/// Placeholder for a value that may be a secret.
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
            strategy: StrategyRule::default(),
            max_cost: 0.25,
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
            result: Some(ResultRule::Unattended),
            detached: DetachedSettings {
                run: Some(DetachedMode::Deny),
                deliver: Some(DetachedMode::Deny),
                tool: Some(DetachedMode::Auto),
            },
        }
    }
}

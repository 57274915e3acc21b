//! Params and results of the methods under `aside/`, and the error codes.

use aside_provider::key::Key;
use aside_turn::record::{Outcome, TurnError};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Prompt, PromptAnswer, TurnUsage, Update};

/// Error codes of the protocol, beside those of JSON-RPC and LSP.
pub mod code {
    /// Error code: the conversation does not exist.
    pub const UNKNOWN_CONVERSATION: i64 = -32010;
    /// Error code: the turn does not exist or has ended.
    pub const UNKNOWN_TURN: i64 = -32011;
    /// Error code: the prompt does not exist or is closed.
    pub const UNKNOWN_PROMPT: i64 = -32012;
    /// A turn runs in this conversation.
    pub const TURN_RUNS: i64 = -32013;
    /// The conversation is open in another process.
    pub const OPEN_ELSEWHERE: i64 = -32014;
    /// The workspace is not trusted.
    pub const NOT_TRUSTED: i64 = -32015;
    /// Error code: no provider or model is usable.
    pub const NO_PROVIDER: i64 = -32016;
    /// Undo would lose something; `data.conflicts` has the files.
    pub const UNDO_CONFLICTS: i64 = -32017;
}

/// Params of `aside/conversation/create`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateParams {
    /// Else the first line of the first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A conversation, as params or result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRef {
    /// The id of the conversation.
    pub conversation_id: String,
}

/// Params of `aside/conversation/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Cursor of the preceding page's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only those whose title has this, in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// A page of conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The conversations of this page, newest first.
    pub items: Vec<ListItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A conversation in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListItem {
    /// The id of the conversation.
    pub conversation_id: String,
    /// The title of the conversation; empty before its first turn.
    pub title: String,
    /// When the conversation was created, in RFC 3339.
    pub created_at: String,
    /// When something was last recorded, in RFC 3339.
    pub updated_at: String,
    /// Number of turns.
    pub turns: u32,
    /// Tokens of all turns, their inquiries included.
    pub usage: TurnUsage,
    /// Whether a turn runs, waits for a person or can be resumed.
    pub status: ConversationStatus,
    /// Number of open prompts.
    pub prompts: usize,
}

/// Activity of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConversationStatus {
    /// No turn runs, and none can be resumed.
    Idle,
    /// A turn runs.
    Running,
    /// A turn waits for a person.
    Waiting,
    /// The last turn can be resumed.
    Interrupted,
}

/// Params of `aside/conversation/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadParams {
    /// The id of the conversation.
    pub conversation_id: String,
    /// Only turns after that of this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Maximum number of turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Turns of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResult {
    /// The turns of this page, oldest first.
    pub turns: Vec<ReadTurn>,
    /// Value of `after` for the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A turn, put together from the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadTurn {
    /// The id of the turn.
    pub turn_id: String,
    /// When the turn began, in RFC 3339.
    pub started_at: String,
    /// The user's message.
    pub message: String,
    /// Names of what went along with it, as people know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// Updates, with joined pieces of text.
    pub updates: Vec<Update>,
    /// Outcome; absent if the turn runs or can be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The failure, if the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
}

/// Result of `aside/conversation/transcript` and `aside/conversation/ledger`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkdownResult {
    /// The whole conversation, or its ledger, as Markdown.
    pub text: String,
}

/// Params of `aside/conversation/fork`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkParams {
    /// The id of the conversation.
    pub conversation_id: String,
    /// Up to and with this turn; else all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `aside/conversation/rename`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenameParams {
    /// The id of the conversation.
    pub conversation_id: String,
    /// The new title, on one line.
    pub title: String,
}

/// Params of `aside/turn/start`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartParams {
    /// A new conversation without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The turn's id, where the client chooses it; without a dot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The user's message.
    pub message: String,
    /// Attachments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentParam>,
    /// The model to use, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `ask`, `edits`, `plan` or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// `auto`, `none`, `required`, or a tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<String>,
    /// The schema of the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The workspace; else the first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// Something that goes along with a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentParam {
    /// The URI of the file to attach.
    pub uri: String,
    /// Only these lines and characters of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<TextRange>,
    /// The text; without one the file is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A part of a text, as LSP has it: lines and characters count from 0, and the end is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextRange {
    /// The first position in it.
    pub start: TextPosition,
    /// The first position behind it.
    pub end: TextPosition,
}

/// A place between two characters of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPosition {
    /// The line, counted from 0.
    pub line: u32,
    /// Within the line, in units of the negotiated position encoding.
    pub character: u32,
}

/// Result of `aside/turn/start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartResult {
    /// The id of the conversation.
    pub conversation_id: String,
    /// The id of the turn.
    pub turn_id: String,
}

/// A turn, as params or result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnId {
    /// The id of the turn.
    pub turn_id: String,
}

/// Params of `aside/turn/steer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SteerParams {
    /// The id of the turn.
    pub turn_id: String,
    /// The message to add.
    pub message: String,
}

/// Params of `aside/turn/undo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoParams {
    /// The id of the turn.
    pub turn_id: String,
    /// Only these files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uris: Option<Vec<String>>,
}

/// Result of `aside/turn/undo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoResult {
    /// The restored files.
    pub files: Vec<String>,
    /// The turn ran something whose changes are not covered.
    pub untracked: bool,
}

/// Result of `aside/prompt/pending`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingResult {
    /// Prompts that are open now, and those of interrupted turns.
    pub prompts: Vec<Prompt>,
}

/// Params of `aside/prompt/answer`. It may hold a secret, so it is only read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(Serialize))]
#[serde(rename_all = "camelCase")]
pub struct AnswerParams {
    /// The id of the prompt.
    pub prompt_id: String,
    /// The person's answer.
    pub answer: PromptAnswer,
}

/// Params of `aside/prompt/dismiss`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DismissParams {
    /// The prompt to take off the screen.
    pub prompt_id: String,
    /// The word of a [`aside_turn::effect::DismissReason`].
    pub reason: String,
}

/// Params of `aside/key/set`. They hold a secret, so they are only read, and are not printed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(Serialize))]
pub struct KeySetParams {
    /// The provider's name.
    pub provider: String,
    /// The key; without one, the server forgets what it has.
    #[serde(default, deserialize_with = "entered")]
    #[cfg_attr(
        test,
        serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "super::tests::revealed_key"
        )
    )]
    pub key: Option<Key>,
}

fn entered<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Key>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| Key::new(&text)))
}

/// Result of `aside/key/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeysResult {
    /// Those that need one first.
    pub providers: Vec<KeyItem>,
}

/// A provider that can have a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyItem {
    /// The provider's name.
    pub provider: String,
    /// The source of its key, in words; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Params of `aside/mcp/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpListParams {
    /// URI or path of the workspace; else the first folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Result of `aside/mcp/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpResult {
    /// The configured servers, sorted by name.
    pub servers: Vec<McpItem>,
}

/// An MCP server in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpItem {
    /// The server's name in the settings.
    pub name: String,
    /// Whether its tools can be had.
    pub state: McpState,
    /// Address, or program that is started; none where the settings have neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Tools by name; empty where the server cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<McpToolItem>,
    /// Roughly the tokens that the descriptions of its tools need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The reason why it failed, or sentences about tools that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The end of what it wrote to its standard error since it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// State of an MCP server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpState {
    /// A setting turned it off.
    #[default]
    Off,
    /// The server is connected, and the model can call its tools.
    Ready,
    /// The server did not start or answer; the item has the reason.
    Failed,
}

/// A tool of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpToolItem {
    /// The name, as the model has it.
    pub name: String,
    /// The server's description.
    pub description: String,
}

/// Result of `aside/model/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelsResult {
    /// Of the usable providers.
    pub models: Vec<ModelItem>,
}

/// A model in the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelItem {
    /// The full name of the model, `provider/model`.
    pub id: String,
    /// Context window in tokens, input and output together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Whether the model reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// US dollars for a million tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesItem>,
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PricesItem {
    /// The price of input that does not go through the cache.
    pub input: f64,
    /// The price of output, reasoning included.
    pub output: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to it.
    pub cache_write: f64,
}

/// Params of `aside/config/read`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigReadParams {
    /// A key, or the beginning of some; else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Result of `aside/config/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigReadResult {
    /// The effective values, sorted by their keys.
    pub values: Vec<ConfigValue>,
}

/// An effective value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigValue {
    /// The key, with dots between its parts.
    pub key: String,
    /// The value; a possible secret is hidden.
    pub value: Value,
    /// The layer that it comes from.
    pub from: String,
}

/// Params of `aside/workspace/trust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustParams {
    /// URI or path of the workspace.
    pub folder: String,
    /// The user trusts it.
    pub trusted: bool,
    /// Of the preview that the user saw; without it, what is there now is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// An empty result or params.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty {}

/// Params of `aside/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusParams {
    /// Overall health of the server.
    pub health: Health,
    /// A turn runs.
    pub busy: bool,
    /// Reason for a health other than good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `provider/model` that a turn takes which names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Over all conversations.
    pub pending_prompts: usize,
}

/// Overall health of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Health {
    /// Everything works as far as is known.
    #[default]
    Ok,
    /// Something is not as it should be.
    Warning,
    /// Nothing can be done as it is.
    Error,
}

/// Params of `aside/tool/call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallParams {
    /// The provider's id of the call.
    pub call_id: String,
    /// The name of the tool to call.
    pub name: String,
    /// The arguments of the call, which fit the schema of the tool.
    pub arguments: Value,
    /// The URI of the folder that the turn works in, from which a relative path in the arguments starts.
    pub root: String,
}

/// Result of `aside/tool/call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    /// Text for the model.
    pub content: String,
    /// Whether the result is an error.
    #[serde(default)]
    pub is_error: bool,
}

/// Params of `aside/document/save`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveParams {
    /// The URI of the document to save.
    pub uri: String,
}

//! Introductions of client and server in `initialize`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// `capabilities.experimental.aside` of a client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    /// The newest version that it speaks.
    pub version: u32,
    /// Whether the client answers `aside/prompt`.
    pub prompt: bool,
    /// Whether its prompt can hide typed text.
    pub secret: bool,
    /// Whether the client answers `aside/document/save`.
    pub save: bool,
    /// Names of the server's editor tools that the client serves. Unknown names are ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub editor_tools: Vec<String>,
    /// More tools that run in the client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ClientTool>,
}

/// A tool that runs in the editor.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientTool {
    /// The name by which the model calls the tool.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
    /// Whether the tool claims to read only; a permission then covers all arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// `capabilities.experimental.aside` of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerCapabilities {
    /// The lower of both versions.
    pub version: u32,
    /// The server's own version.
    pub server: String,
}

/// Content of a client's `initializationOptions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializationOptions {
    /// Settings of the user's scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// Settings that the workspace has a say in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_config: Option<Value>,
    /// The user trusts the workspace.
    pub trusted: bool,
    /// State folder that replaces the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<String>,
}

//! What client and server say of themselves in `initialize`.

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
    /// It answers `aside/prompt`.
    pub prompt: bool,
    /// Its prompt can hide what is typed.
    pub secret: bool,
    /// It answers `aside/document/save`.
    pub save: bool,
    /// Tools that run in the editor.
    pub tools: Vec<ClientTool>,
}

/// A tool that runs in the editor.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientTool {
    /// The name by which the model calls the tool.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
    /// It says that it only reads: what is allowed of it is allowed with any arguments.
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

/// What a client may give as `initializationOptions`.
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
    /// Where state is kept, instead of the usual place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<String>,
}

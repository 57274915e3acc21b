//! Params and results of the methods by which a client shows what the user allowed, and what trust would allow.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use aside_config::preview::Startable;

/// Params of `aside/approval/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApprovalListParams {
    /// The workspace, a URI or path; else the first folder of the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Result of `aside/approval/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalListResult {
    /// The oldest first.
    pub items: Vec<ApprovalItem>,
}

/// Something that the user approved for good. All but the id may be missing, where an older version kept it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalItem {
    /// Names it in its workspace.
    pub approval_id: String,
    /// The tool that may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The title of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The command, or what else was shown, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The folder in which the command runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// When it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<String>,
}

/// Params of `aside/approval/revoke`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRevokeParams {
    /// Id from the list.
    pub approval_id: String,
    /// The workspace, as in `aside/approval/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Params of `aside/workspace/preview`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewParams {
    /// The workspace, a URI or path.
    pub folder: String,
}

/// Result of `aside/workspace/preview`: what trust in a workspace would change. Nothing of it is shortened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewResult {
    /// Whether the workspace is trusted as it is now.
    pub trusted: bool,
    /// Stands for all that trust would be bound to: another text once any of it changes.
    pub fingerprint: String,
    /// The URI of its `aside.toml`, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Programs and connections that could be started.
    pub starts: Vec<Startable>,
    /// The settings that would count.
    pub settings: Vec<SettingItem>,
    /// Files of the workspace that its commands name: trust ends when one changes.
    pub programs: Vec<String>,
    /// Keys that never count in a workspace.
    pub ignored: Vec<String>,
}

/// A setting of a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingItem {
    /// The key of the setting, with dots between its parts.
    pub key: String,
    /// The value that would count; hidden where it may be a secret.
    pub value: Value,
    /// The user set the same key: the value is the user's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overruled: bool,
}

//! `aside/approval/…`: kept approvals of a workspace.

use std::{path::PathBuf, sync::Arc};

use aside_session::approvals::KeptApproval;

use super::{
    super::{connection::LspConnection, settings::EditorWorkspace},
    raw_params::folder,
};
use crate::front::{
    error::{Result, internal, invalid},
    wire::{
        consent::{ApprovalItem, ApprovalListParams, ApprovalListResult, ApprovalRevokeParams},
        requests::Empty,
    },
};

/// Serves the method `aside/approval/list`.
pub(in super::super) async fn list(
    at: Arc<LspConnection>,
    params: ApprovalListParams,
) -> Result<ApprovalListResult> {
    let (engine, open) = (at.engine.clone(), at.workspace.as_of_now());
    at.disk
        .of_all(move || {
            let root = workspace(&open, params.folder.as_deref())?;
            let approvals = engine.conversations().store(&root)?.approvals();
            let kept = approvals.list().map_err(internal)?;
            Ok(ApprovalListResult {
                items: kept.into_iter().map(ApprovalItem::from).collect(),
            })
        })
        .await
}

/// Serves the method `aside/approval/revoke`, which takes effect from the next turn on.
pub(in super::super) async fn revoke(
    at: Arc<LspConnection>,
    params: ApprovalRevokeParams,
) -> Result<Empty> {
    let (engine, open) = (at.engine.clone(), at.workspace.as_of_now());
    let id = params.approval_id;
    at.disk
        .exclusively(move || {
            let root = workspace(&open, params.folder.as_deref())?;
            let approvals = engine.conversations().store(&root)?.approvals();
            if approvals.revoke(&id).map_err(internal)? {
                return Ok(Empty {});
            }
            Err(invalid(format!(
                "approvalId: there is no approval {id:?} in this folder"
            )))
        })
        .await
}

/// The named folder, or else the client's first.
fn workspace(open: &EditorWorkspace, name: Option<&str>) -> Result<PathBuf> {
    let named = name.map(folder).transpose();
    let named = named.map_err(|error| invalid(format!("folder: {error}")))?;
    Ok(open.root(named.as_deref()))
}

impl From<KeptApproval> for ApprovalItem {
    fn from(kept: KeptApproval) -> Self {
        Self {
            approval_id: kept.hash,
            tool: kept.tool,
            title: kept.title,
            text: kept.text,
            cwd: kept.cwd,
            approved_at: kept.at,
        }
    }
}

//! `aside/approval/…`: what the user approved for good in a workspace.

use std::{path::PathBuf, sync::Arc};

use super::{super::connection::Connection, raw_params::folder};
use crate::{
    engine::blocking,
    front::{
        error::{Result, internal, invalid},
        wire::{
            consent::{ApprovalItem, ApprovalListParams, ApprovalListResult, ApprovalRevokeParams},
            requests::Empty,
        },
    },
    session::approvals::KeptApproval,
};

/// Serves the method `aside/approval/list`.
pub(in super::super) async fn list(
    at: Arc<Connection>,
    params: ApprovalListParams,
) -> Result<ApprovalListResult> {
    let root = workspace(&at, params.folder.as_deref())?;
    let engine = at.engine.clone();
    blocking(move || -> Result<_> {
        let approvals = engine.conversations().store(&root)?.approvals();
        let kept = approvals.list().map_err(internal)?;
        Ok(ApprovalListResult {
            items: kept.into_iter().map(ApprovalItem::from).collect(),
        })
    })
    .await
}

/// `aside/approval/revoke`; from the next turn on.
pub(in super::super) async fn revoke(
    at: Arc<Connection>,
    params: ApprovalRevokeParams,
) -> Result<Empty> {
    let root = workspace(&at, params.folder.as_deref())?;
    let (engine, id) = (at.engine.clone(), params.approval_id);
    blocking(move || -> Result<_> {
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

/// The folder that is named, else the first of the client's.
fn workspace(at: &Connection, name: Option<&str>) -> Result<PathBuf> {
    let named = name.map(folder).transpose();
    let named = named.map_err(|error| invalid(format!("folder: {error}")))?;
    Ok(at.workspace.root(named.as_deref()))
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

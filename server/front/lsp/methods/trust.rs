//! `aside/workspace/preview` and `aside/workspace/trust`: the effects of trust in a folder, and granting or revoking it.

use std::{path::PathBuf, sync::Arc};

use aside_config::{
    Sources,
    preview::{TrustPreview, TrustedSetting},
    trust::{Trust, TrustStore},
};
use aside_tool::workspace::file_uri;

use super::{
    super::{connection::LspConnection, settings::EditorWorkspace},
    raw_params::folder,
};
use crate::{
    engine::start::tools::tool_defaults,
    front::{
        error::{RequestError, Result, internal, invalid},
        wire::{
            consent::{PreviewParams, PreviewResult, SettingItem},
            requests::{Empty, TrustParams},
        },
    },
};
use aside_config::{self};

/// Serves the method `aside/workspace/preview`.
pub(in super::super) async fn preview(
    at: Arc<LspConnection>,
    params: PreviewParams,
) -> Result<PreviewResult> {
    let (engine, workspace) = (at.engine.clone(), at.workspace.as_of_now());
    at.disk
        .of_all(move || {
            let root = root(&workspace, &params.folder)?;
            let sources = Sources::from_process(Some(&root)).map_err(broken)?;
            let preview = TrustPreview::of(&sources, &tool_defaults()).map_err(broken)?;
            let (status, now) = engine.trust(&root, &sources)?;
            let settings = preview.settings.into_iter().map(SettingItem::from);
            Ok(PreviewResult {
                trusted: status == Trust::Given,
                fingerprint: now.id(),
                file: preview.file.as_deref().map(file_uri),
                starts: preview.starts,
                settings: settings.collect(),
                programs: now.programs(),
                ignored: preview.ignored,
            })
        })
        .await
}

/// Serves the method `aside/workspace/trust`: grants or revokes trust from the next turn on.
pub(in super::super) async fn trust(at: Arc<LspConnection>, params: TrustParams) -> Result<Empty> {
    let (trusted, shown) = (params.trusted, params.fingerprint);
    let (engine, workspace) = (at.engine.clone(), at.workspace.as_of_now());
    at.disk
        .exclusively(move || {
            let root = root(&workspace, &params.folder)?;
            if !trusted {
                if workspace.roots().contains(&root) {
                    workspace.revoke_trust();
                }
                return engine.revoke_trust(&root).map_err(internal);
            }
            let store = TrustStore::new(engine.state_dir());
            // Trust covers the files as read here; one that changes meanwhile is not trusted.
            let sources = Sources::from_process(Some(&root)).map_err(broken)?;
            aside_config::load(&sources, &tool_defaults()).map_err(broken)?;
            let (_, now) = engine.trust(&root, &sources)?;
            if shown.is_some_and(|shown| shown != now.id()) {
                return Err(invalid(
                    "fingerprint: the workspace changed since it was shown",
                ));
            }
            store.give(&root, now).map_err(internal)
        })
        .await?;
    at.status.look_again();
    Ok(Empty {})
}

fn root(workspace: &EditorWorkspace, name: &str) -> Result<PathBuf> {
    let root = folder(name).map_err(|error| invalid(format!("folder: {error}")))?;
    Ok(workspace.root(Some(&root)))
}

fn broken(problems: aside_config::Problems) -> RequestError {
    invalid(problems.to_string())
}

impl From<TrustedSetting> for SettingItem {
    fn from(of: TrustedSetting) -> Self {
        Self {
            key: of.setting.key,
            value: of.setting.value,
            overruled: of.is_overruled,
        }
    }
}

//! `aside/workspace/trust`: the user trusts a folder, or no more.

use std::sync::Arc;

use super::{super::connection::Connection, raw_params::folder};
use crate::{
    config::{self, Sources, trust::TrustStore},
    engine::{blocking, start::tools::tool_defaults},
    front::{
        error::{Result, internal, invalid},
        wire::requests::{Empty, TrustParams},
    },
};

/// `aside/workspace/trust`; from the next turn on.
pub(in super::super) async fn trust(at: Arc<Connection>, params: TrustParams) -> Result<Empty> {
    let trusted = params.trusted;
    let root = folder(&params.folder).map_err(|error| invalid(format!("folder: {error}")))?;
    let root = at.workspace.root(Some(&root));
    if !trusted && at.workspace.roots().contains(&root) {
        at.workspace.revoke_trust();
    }
    let engine = at.engine.clone();
    blocking(move || -> Result<_> {
        let store = TrustStore::new(engine.state_dir());
        if !trusted {
            return store.revoke(&root).map_err(internal);
        }
        // What is trusted is what was read here: a file that changes meanwhile is not.
        let broken = |problems: config::Problems| invalid(problems.to_string());
        let sources = Sources::from_process(Some(&root)).map_err(broken)?;
        config::load(&sources, &tool_defaults()).map_err(broken)?;
        let (_, now) = engine.trust(&root, &sources)?;
        store.give(&root, now).map_err(internal)
    })
    .await?;
    at.status.look_again();
    Ok(Empty {})
}

//! `aside/mcp/list`: the MCP servers of a workspace.

use std::sync::Arc;

use aside_config::{Configuration, hidden, settings::McpServer};
use aside_mcp::ServerTools;

use super::{super::connection::LspConnection, raw_params::folder};
use crate::{
    engine::start::costs::ServerCost,
    front::{
        error::{RequestError, Result, invalid},
        wire::requests::{McpItem, McpListParams, McpResult, McpState, McpToolItem},
    },
};

/// Lists the servers of a trusted workspace. Those that do not run yet are started, as by a turn.
pub(in super::super) async fn list(
    at: Arc<LspConnection>,
    params: McpListParams,
) -> Result<McpResult> {
    let workspace = at.workspace.as_of_now();
    let (read, root) = at
        .disk
        .of_all(move || {
            let named = params.folder.as_deref().map(folder).transpose();
            let named = named.map_err(|error| invalid(format!("folder: {error}")))?;
            let root = workspace.root(named.as_deref());
            Ok((workspace.configuration(&root)?, root))
        })
        .await?;
    if !read.trusted {
        return Err(RequestError::NotTrusted("MCP servers".to_owned()));
    }
    let Configuration { settings, .. } = &read.configuration;
    let offered = at.engine.server_tools(&read.configuration, &root, None);
    let offered = offered.await;
    let of = |name: &str| offered.iter().find(|it| it.name == name);
    let servers = settings.mcp.servers.iter();
    let servers = servers.filter(|(_, server)| !server.is_switch());
    let servers = servers.map(|(name, server)| item(name, server, of(name)));
    Ok(McpResult {
        servers: servers.collect(),
    })
}

fn item(name: &str, server: &McpServer, offered: Option<&ServerTools>) -> McpItem {
    let mut item = McpItem {
        name: name.to_owned(),
        place: match &server.url {
            Some(url) => Some(hidden::address(url)),
            None => server.command.clone(),
        },
        ..McpItem::default()
    };
    let Some(offered) = offered else {
        return item;
    };
    item.log = Some(offered.log.clone()).filter(|log| !log.trim().is_empty());
    match &offered.tools {
        Err(why) => {
            item.state = McpState::Failed;
            item.problems = vec![why.clone()];
        }
        Ok((tools, faults)) => {
            item.state = McpState::Ready;
            item.tokens = Some(ServerCost::of(tools).tokens);
            item.problems.clone_from(faults);
            let tool = |tool: &Arc<dyn aside_tool::Tool>| McpToolItem {
                name: tool.spec().name.clone(),
                description: tool.spec().description.clone(),
            };
            item.tools = tools.iter().map(tool).collect();
        }
    }
    item
}

//! What configuration makes of MCP servers.

use std::{path::Path, time::Duration};

use crate::{
    config::settings::{McpServer, ProtocolSetting, Settings},
    engine::Engine,
    environment,
    mcp::{
        ServerTools,
        settings::{McpDefinition, ProtocolChoice},
    },
};

/// How long a server may take until its tools are known, where nobody says.
const STARTUP: u64 = 30;

impl Engine {
    /// The tools of the servers that are configured, which are started where they do not run yet. For trusted workspaces
    /// alone.
    pub async fn server_tools(&self, settings: &Settings, root: &Path) -> Vec<ServerTools> {
        let servers = settings.mcp.servers.iter();
        let servers = servers.filter(|(_, server)| server.enabled.unwrap_or(true));
        let definitions = servers.filter_map(|(name, server)| definition(name, server));
        let definitions = definitions.collect();
        self.mcp().tools(definitions, root, self.program()).await
    }
}

fn definition(name: &str, server: &McpServer) -> Option<McpDefinition> {
    let named = server.env_vars.iter();
    let named = named.filter_map(|name| Some((name.clone(), environment::variable(name)?)));
    let own = server.env.iter();
    let own = own.map(|(name, value)| (name.clone(), value.reveal().to_owned()));
    Some(McpDefinition {
        name: name.to_owned(),
        command: server.command.clone()?,
        args: server.args.clone(),
        environment: named.chain(own).collect(),
        protocol: match server.protocol {
            None | Some(ProtocolSetting::Auto) => ProtocolChoice::Auto,
            Some(ProtocolSetting::Older) => ProtocolChoice::Older,
            Some(ProtocolSetting::Newer) => ProtocolChoice::Newer,
        },
        startup: Duration::from_secs(server.startup_seconds.unwrap_or(STARTUP)),
    })
}

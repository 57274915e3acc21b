//! `aside mcp`: lists servers, imports them, and logs in to them.
//!
//! | module | contents |
//! |---|---|
//! | [`import`] | import of servers from files of other programs |
//! | [`login`] | login with a browser |

pub mod import;
pub mod login;

use aside_base::visible::one_line;
use aside_config::{hidden, settings::McpServer};
use aside_mcp::ServerTools;

use super::{failure::CommandFailure, place::CommandContext, streams::Streams};
use crate::engine::start::costs::ServerCost;

/// Lists the configured servers: the command or address of each and, if the workspace is trusted, its tools.
///
/// # Errors
/// Fails if the configuration is invalid, if the list cannot be written, or, after listing all, if a server is
/// unavailable.
pub async fn list(place: &CommandContext, streams: &mut Streams<'_>) -> Result<(), CommandFailure> {
    let (configuration, trusted) = place.configuration()?;
    let settings = &configuration.settings;
    if settings.mcp.servers.is_empty() {
        streams.note(
            "No MCP server is configured; add `[mcp.servers.NAME]` with a `command` or a `url` to your aside.toml.",
        );
        return Ok(());
    }
    let offered = match trusted {
        true => {
            place
                .engine
                .server_tools(&configuration, &place.root, None)
                .await
        }
        false => Vec::new(),
    };
    let servers = settings.mcp.servers.iter();
    for (name, server) in servers.filter(|(_, server)| !server.is_switch()) {
        let tools = offered.iter().find(|it| it.name == *name);
        streams.say(&entry(name, server, tools))?;
    }
    if !trusted {
        streams.note(
            "The workspace is not trusted, so no server was started. Check the list, then run `aside trust`.",
        );
    }
    let absent = offered.iter().filter(|it| it.tools.is_err());
    let absent: Vec<&str> = absent.map(|it| it.name.as_str()).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let absent = one_line(&absent.join(", "));
    Err(CommandFailure::internal(format!(
        "unavailable: {absent}; the list gives each reason, and `enabled = false` turns a server off"
    )))
}

/// A server in the list: its full command or address, then its tools.
fn entry(name: &str, server: &McpServer, offered: Option<&ServerTools>) -> String {
    let mut entry = format!("{name}  {}\n", one_line(&place_of(server)));
    match offered.map(|it| &it.tools) {
        None if server.enabled == Some(false) => entry += "  turned off\n",
        None => {}
        Some(Err(why)) => entry += &format!("  unavailable: {}\n", one_line(why)),
        Some(Ok((tools, faults))) => {
            let cost = ServerCost::of(tools);
            let noun = if cost.tools == 1 { "tool" } else { "tools" };
            entry += &format!("  {} {noun}, about {} tokens\n", cost.tools, cost.tokens);
            for tool in tools {
                entry += &format!("  {}\n", tool.spec().name);
            }
            for fault in faults {
                entry += &format!("  {}\n", one_line(fault));
            }
        }
    }
    entry
}

/// The address, or the command, without what may be a secret.
fn place_of(server: &McpServer) -> String {
    if let Some(url) = &server.url {
        return hidden::address(url);
    }
    let words = server.command.iter().chain(&server.args);
    let words = hidden::command(words.map(String::as_str));
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

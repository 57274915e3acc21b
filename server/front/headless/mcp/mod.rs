//! `aside mcp`.
//!
//! | module | what lives there |
//! |---|---|
//! | [`import`] | servers of other programs' files, added to the user's |
//! | [`login`] | a login with a browser |

pub mod import;
pub mod login;

use aside_base::visible::one_line;

use super::{failure::CommandFailure, place::CommandContext, streams::Streams};
use crate::{config::settings::McpServer, engine::start::costs::ServerCost, mcp::ServerTools};

/// Lists the servers that are configured: how each is started, and its tools where the workspace is trusted.
///
/// # Errors
/// Where the configuration cannot be used, the list not be written, or a server not be reached: all are listed before that.
pub async fn list(place: &CommandContext, streams: &mut Streams<'_>) -> Result<(), CommandFailure> {
    let (configuration, trusted) = place.configuration()?;
    let settings = &configuration.settings;
    if settings.mcp.servers.is_empty() {
        streams.note(
            "No MCP server is configured; `[mcp.servers.NAME]` with a `command` or a `url` is one.",
        );
        return Ok(());
    }
    let offered = match trusted {
        true => place.engine.server_tools(settings, &place.root, None).await,
        false => Vec::new(),
    };
    for (name, server) in &settings.mcp.servers {
        let tools = offered.iter().find(|it| it.name == *name);
        streams.say(&entry(name, server, tools))?;
    }
    if !trusted {
        streams.note(
            "The workspace is not trusted, so none of them was started or asked. Look at them, then run `aside trust`.",
        );
    }
    let absent = offered.iter().filter(|it| it.tools.is_err());
    let absent: Vec<&str> = absent.map(|it| it.name.as_str()).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let absent = one_line(&absent.join(", "));
    Err(CommandFailure::internal(format!(
        "not there: {absent}; why stands with each in the list, and `enabled = false` turns one off"
    )))
}

/// A server as it is listed: its command or its address, whole, then its tools.
fn entry(name: &str, server: &McpServer, offered: Option<&ServerTools>) -> String {
    let mut entry = format!("{name}  {}\n", one_line(&place_of(server)));
    match offered.map(|it| &it.tools) {
        None if server.enabled == Some(false) => entry += "  it is turned off\n",
        None => {}
        Some(Err(why)) => entry += &format!("  not there: {}\n", one_line(why)),
        Some(Ok((tools, faults))) => {
            let cost = ServerCost::of(tools);
            let noun = if cost.tools == 1 { "tool" } else { "tools" };
            entry += &format!("  {} {noun}, about {} tokens\n", cost.tools, cost.tokens);
            for tool in tools {
                entry += &format!("  {}\n", tool.about().name);
            }
            for fault in faults {
                entry += &format!("  {}\n", one_line(fault));
            }
        }
    }
    entry
}

fn place_of(server: &McpServer) -> String {
    if let Some(url) = &server.url {
        return url.clone();
    }
    let words = server.command.iter().chain(&server.args);
    let words: Vec<&str> = words.map(String::as_str).collect();
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

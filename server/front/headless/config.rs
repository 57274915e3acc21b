//! `aside config`: shows the effective configuration or its schema.

use std::collections::BTreeMap;

use aside_config::Problems;

use super::{args, failure::CommandFailure, place::CommandContext, streams::Streams};
use crate::engine::start::costs::{self, ServerCost};

/// Runs the command.
///
/// # Errors
/// Fails if the configuration is invalid or the key does not exist.
pub fn run(
    command: &args::Config,
    place: &CommandContext,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    match command {
        args::Config::Show { key } => {
            let (configuration, _) = place.configuration()?;
            let void = configuration.void();
            if !void.is_empty() {
                return Err(CommandFailure::usage(Problems(void).to_string()));
            }
            let shown = configuration
                .show(key.as_deref())
                .map_err(CommandFailure::usage)?;
            for notice in &configuration.notices {
                streams.note(notice);
            }
            streams.say(&shown)?;
            if key.as_deref().is_none_or(|key| key.starts_with("mcp")) {
                let servers = configuration.settings.mcp.servers.keys();
                streams.say(&costs_of(servers, &costs::kept(place.engine.state_dir())))?;
            }
            Ok(())
        }
        args::Config::Schema => streams.say(&format!("{:#}\n", aside_config::schema())),
    }
}

/// Known context costs of the tools of each server.
fn costs_of<'a>(
    servers: impl Iterator<Item = &'a String>,
    known: &BTreeMap<String, ServerCost>,
) -> String {
    let line = |name: &String| {
        let ServerCost { tools, tokens } = known.get(name)?;
        Some(format!(
            "# mcp.servers.{name}: {tools} tools, about {tokens} tokens in each request\n"
        ))
    };
    servers.filter_map(line).collect()
}

//! `aside mcp login`: the user logs in with a browser and pastes the address that it is redirected to.

use std::io;

use crate::front::headless::{failure::CommandFailure, place::CommandContext, streams::Streams};

/// Logs in to a remote server. `pasted` reads a line that the user types.
///
/// # Errors
/// Fails if the server is not configured or allows no login, or if the pasted address is wrong.
pub async fn run(
    server: &str,
    pasted: &mut (dyn FnMut() -> io::Result<String> + Send),
    place: &CommandContext,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let (configuration, _) = place.configuration()?;
    let settings = &configuration.settings;
    let begun = place.engine.begin_login(settings, server).await;
    let begun = begun.map_err(CommandFailure::usage)?;
    streams.say(&format!(
        "Open this address in a browser and log in:\n\n{}\n\nThe browser is then redirected to a page on 127.0.0.1 that does \
         not load. Copy its address and paste it here:\n",
        begun.address
    ))?;
    let line = pasted().map_err(|error| {
        CommandFailure::internal(format!("cannot read the pasted address: {error}"))
    })?;
    begun.finish(&line).await.map_err(|why| {
        CommandFailure::usage(format!("the login to {server} failed: {why}; try again"))
    })?;
    streams.say(&format!(
        "Logged in to {server}. To log out, run `aside mcp login {server} --forget`.\n"
    ))
}

/// Logs out of a server.
///
/// # Errors
/// Fails if the server is not configured or the file of the login cannot be removed.
pub async fn forget(
    server: &str,
    place: &CommandContext,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let (configuration, _) = place.configuration()?;
    let forgotten = place
        .engine
        .forget_login(&configuration.settings, server)
        .await;
    let said = match forgotten.map_err(CommandFailure::usage)? {
        true => format!("Logged out of {server}.\n"),
        false => format!("Not logged in to {server}.\n"),
    };
    streams.say(&said)
}

//! `aside mcp login`: a browser logs in, and the address that it is sent back to is pasted.

use std::io;

use crate::front::headless::{failure::CommandFailure, place::CommandContext, streams::Streams};

/// Logs in to a server on the network. `pasted` reads a line that a person types.
///
/// # Errors
/// A server that is not there or lets nobody log in; an address that is not the one that the browser came back to.
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
        "Open this address in a browser and log in:\n\n{}\n\nThe browser is then sent to a page of 127.0.0.1 that is not \
         there. Copy its address, and paste it here:\n",
        begun.address
    ))?;
    let line = pasted().map_err(|error| {
        CommandFailure::internal(format!("what you pasted cannot be read: {error}"))
    })?;
    begun.finish(&line).await.map_err(|why| {
        CommandFailure::usage(format!(
            "you are not logged in to {server}: {why}; run this again"
        ))
    })?;
    streams.say(&format!(
        "You are logged in to {server}. `aside mcp login {server} --forget` ends it.\n"
    ))
}

/// Forgets a login.
///
/// # Errors
/// A server that is not there, and a file that cannot be removed.
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
        true => format!("The login to {server} is forgotten.\n"),
        false => format!("There was no login to {server}.\n"),
    };
    streams.say(&said)
}

//! `aside mcp import`: adds servers of another program to the user's file, after showing exactly what would be added.

use aside_config::SourceFile;
use aside_config::Sources;
use aside_config::import::ImportedServer;
use aside_config::import::import;
use std::{io, path::Path};

use aside_base::{private, regular, system::folders::canonical, visible::one_line};
use toml::{Table, Value};

use crate::{
    engine::start::tools::tool_defaults,
    front::headless::{failure::CommandFailure, streams::Streams, trust::Consent},
};

/// Maximum size in bytes of a file to import from.
const MAX_FILE: u64 = 16 << 20;
/// Maximum size in bytes of the user's file.
const MAX_OWN_FILE: u64 = 1 << 20;

/// Shows the servers of a file as tables for the user's file, and adds them with a person's consent.
///
/// # Errors
/// Fails if the file cannot be read or has no usable servers, if the user's file cannot be written, or if nobody can
/// consent.
pub fn run(
    from: &Path,
    consent: Consent<'_>,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let own = aside_config::user_file().ok_or_else(|| {
        CommandFailure::usage("there is no home folder for your aside.toml; set HOME and try again")
    })?;
    let shown = (
        one_line(&from.to_string_lossy()),
        one_line(&own.to_string_lossy()),
    );
    let unusable = |why: String| {
        CommandFailure::usage(format!("cannot import servers from {}: {why}", shown.0))
    };
    let read = regular::read(from, MAX_FILE).map_err(|error| unusable(error.to_string()))?;
    let text = String::from_utf8(read).map_err(|_| unusable("it is not valid UTF-8".to_owned()))?;
    let imported = import(&text).map_err(unusable)?;
    for why in &imported.refused {
        streams.note(why);
    }
    let before = text_of(&own)
        .map_err(|error| CommandFailure::usage(format!("cannot read {}: {error}", shown.1)))?;
    let there = names(&before);
    let (known, new): (Vec<_>, Vec<_>) = imported
        .servers
        .into_iter()
        .partition(|server| there.contains(&server.name));
    for server in known {
        streams.note(&format!(
            "{} is left out: {} already has a server of this name.",
            server.name, shown.1
        ));
    }
    let mut consent = consent;
    let new = without_unwanted_keys(new, &mut consent, streams)?;
    if new.is_empty() {
        return Err(unusable(
            "no server can be imported, or all of them exist already".to_owned(),
        ));
    }
    let added = tables(&new);
    let after = format!("{}{added}", with_end(&before));
    check(&own, &after)?;
    streams.say(&format!("# For {}:\n\n{added}", shown.1))?;
    for server in &new {
        for warning in &server.warnings {
            streams.note(&format!("{} {warning}.", server.name));
        }
    }
    let ask = match consent {
        Consent::Missing => {
            return Err(CommandFailure::usage(format!(
                "{} was not changed, because nobody can confirm without a terminal; run this in one, or add --yes",
                shown.1
            )));
        }
        Consent::Given => None,
        Consent::Ask(ask) => Some(ask),
    };
    let question = format!("Add this to {}?", shown.1);
    let is_wanted = ask.map_or(Ok(true), |ask| ask(&question));
    let is_wanted = is_wanted.map_err(no_answer)?;
    if !is_wanted {
        streams.note(&format!("{} was not changed.", shown.1));
        return Ok(());
    }
    write(&own, &after).map_err(|error| {
        CommandFailure::internal(format!(
            "cannot write {}: {error}; it was not changed",
            shown.1
        ))
    })?;
    streams.note(&format!(
        "Added to {}. The servers start with the next turn in a trusted workspace; run `aside mcp list` to try them.",
        shown.1
    ));
    Ok(())
}

/// The servers that may have the keys of model providers that they would get. Each of these keys is asked for apart.
fn without_unwanted_keys(
    servers: Vec<ImportedServer>,
    consent: &mut Consent<'_>,
    streams: &mut Streams<'_>,
) -> Result<Vec<ImportedServer>, CommandFailure> {
    let mut wanted = Vec::new();
    'servers: for server in servers {
        for (variable, to) in &server.model_keys {
            let to = one_line(to);
            let question = format!(
                "Let {} have the key of a model provider that is in {variable}? It goes to {to}.",
                server.name
            );
            let may = match consent {
                Consent::Ask(ask) => ask(&question).map_err(no_answer)?,
                Consent::Given | Consent::Missing => false,
            };
            if !may {
                streams.note(&format!(
                    "{} is left out: the key of a model provider that is in {variable} would go to {to}, which has to be \
                     confirmed in a terminal, without --yes.",
                    server.name
                ));
                continue 'servers;
            }
        }
        wanted.push(server);
    }
    Ok(wanted)
}

fn no_answer(error: io::Error) -> CommandFailure {
    CommandFailure::internal(format!(
        "cannot read your answer from the terminal: {error}"
    ))
}

fn text_of(file: &Path) -> io::Result<String> {
    match regular::read(file, MAX_OWN_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => String::from_utf8(read?).map_err(io::Error::other),
    }
}

/// Names of the servers in the user's file.
fn names(text: &str) -> Vec<String> {
    let table: Table = text.parse().unwrap_or_default();
    let servers = table
        .get("mcp")
        .and_then(|mcp| mcp.get("servers")?.as_table());
    servers
        .map(|servers| servers.keys().cloned().collect())
        .unwrap_or_default()
}

/// The tables of servers as written in a file.
fn tables(servers: &[ImportedServer]) -> String {
    let mut text = String::new();
    for server in servers {
        let by_name = Table::from_iter([(server.name.clone(), Value::Table(server.table.clone()))]);
        let below = Table::from_iter([("servers".to_owned(), Value::Table(by_name))]);
        let whole = Table::from_iter([("mcp".to_owned(), Value::Table(below))]);
        let shown = toml::to_string(&whole).unwrap_or_default();
        text += shown.trim_start();
        text.push('\n');
    }
    text
}

/// The text of the file, prepared for appending.
fn with_end(before: &str) -> String {
    match before.trim_end() {
        "" => String::new(),
        text => format!("{text}\n\n"),
    }
}

/// Checks that the user's file would be valid with this text.
fn check(own: &Path, after: &str) -> Result<(), CommandFailure> {
    let sources = Sources {
        user_file: Some(SourceFile {
            path: own.to_owned(),
            text: after.to_owned(),
        }),
        ..Sources::default()
    };
    let loaded = aside_config::load(&sources, &tool_defaults());
    let void = loaded
        .map_err(|problems| problems.to_string())
        .and_then(|configuration| {
            let void = configuration.void();
            match void.first() {
                None => Ok(()),
                Some(problem) => Err(problem.to_string()),
            }
        });
    void.map_err(|why| {
        CommandFailure::usage(format!(
            "your aside.toml was not changed, because it would be invalid with these servers: {why}"
        ))
    })
}

/// Replaces a file as a whole.
fn write(file: &Path, text: &str) -> io::Result<()> {
    // A symbolic link to the file stays a link.
    let file = &canonical(file).unwrap_or_else(|_| file.to_owned());
    private::replace(file, text.as_bytes())
}

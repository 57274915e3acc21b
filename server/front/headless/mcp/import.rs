//! `aside mcp import`: what would be added to the user's file is shown whole before it is written.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
};

use aside_base::{regular, visible::one_line};
use toml::{Table, Value};

use crate::{
    config::{
        self, SourceFile, Sources,
        import::{ImportedServer, import},
    },
    engine::start::tools::tool_defaults,
    front::headless::{failure::CommandFailure, streams::Streams, trust::Consent},
};

/// Bytes of a file that servers are imported from.
const FILE: u64 = 16 << 20;
/// Bytes of the user's file.
const OWN: u64 = 1 << 20;

/// Shows the servers of a file as tables of the user's, and adds them there with a person's consent.
///
/// # Errors
/// A file that cannot be read, has no servers, or fits nowhere; a file of the user's that cannot be written; nobody who
/// could consent.
pub fn run(
    from: &Path,
    consent: Consent<'_>,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let own = config::user_file().ok_or_else(|| {
        CommandFailure::usage("there is no home for your aside.toml; set HOME and try again")
    })?;
    let shown = (
        one_line(&from.to_string_lossy()),
        one_line(&own.to_string_lossy()),
    );
    let unusable =
        |why: String| CommandFailure::usage(format!("{} gives no servers: {why}", shown.0));
    let read = regular::read(from, FILE).map_err(|error| unusable(error.to_string()))?;
    let text = String::from_utf8(read).map_err(|_| unusable("it is not UTF-8".to_owned()))?;
    let imported = import(&text).map_err(unusable)?;
    for why in &imported.refused {
        streams.note(why);
    }
    let before = text_of(&own)
        .map_err(|error| CommandFailure::usage(format!("{} cannot be read: {error}", shown.1)))?;
    let there = names(&before);
    let (known, new): (Vec<_>, Vec<_>) = imported
        .servers
        .into_iter()
        .partition(|server| there.contains(&server.name));
    for server in known {
        streams.note(&format!(
            "{} is left out: {} has a server of this name.",
            server.name, shown.1
        ));
    }
    if new.is_empty() {
        return Err(unusable(
            "none of them can be taken, or all are there already".to_owned(),
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
                "{} was not changed, because nobody can be asked without a terminal; run this in one, or add --yes",
                shown.1
            )));
        }
        Consent::Given => None,
        Consent::Ask(ask) => Some(ask),
    };
    let question = format!("Add this to {}?", shown.1);
    let is_wanted = ask.map_or(Ok(true), |ask| ask(&question));
    let is_wanted = is_wanted.map_err(|error| {
        CommandFailure::internal(format!(
            "your answer cannot be read from the terminal: {error}"
        ))
    })?;
    if !is_wanted {
        streams.note(&format!("{} is as it was.", shown.1));
        return Ok(());
    }
    write(&own, &after).map_err(|error| {
        CommandFailure::internal(format!(
            "{} cannot be written: {error}; it is as it was",
            shown.1
        ))
    })?;
    streams.note(&format!(
        "{} has them now. They start with the next turn in a workspace that is trusted; `aside mcp list` tries them.",
        shown.1
    ));
    Ok(())
}

fn text_of(file: &Path) -> io::Result<String> {
    match regular::read(file, OWN) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => String::from_utf8(read?).map_err(io::Error::other),
    }
}

/// The names of the servers in the user's file.
fn names(text: &str) -> Vec<String> {
    let table: Table = text.parse().unwrap_or_default();
    let servers = table
        .get("mcp")
        .and_then(|mcp| mcp.get("servers")?.as_table());
    servers
        .map(|servers| servers.keys().cloned().collect())
        .unwrap_or_default()
}

/// The tables of servers, as they stand in a file.
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

/// What stands before, ready for more.
fn with_end(before: &str) -> String {
    match before.trim_end() {
        "" => String::new(),
        text => format!("{text}\n\n"),
    }
}

/// Whether the user's file would be one with this in it.
fn check(own: &Path, after: &str) -> Result<(), CommandFailure> {
    let sources = Sources {
        user_file: Some(SourceFile {
            path: own.to_owned(),
            text: after.to_owned(),
        }),
        ..Sources::default()
    };
    let loaded = config::load(&sources, &tool_defaults());
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
            "with the servers in it your aside.toml would be broken, so it is as it was: {why}"
        ))
    })
}

/// Writes a file as a whole, in the place of what was there.
fn write(file: &Path, text: &str) -> io::Result<()> {
    // A link to it stays one.
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    if let Ok(before) = fs::metadata(file) {
        new.as_file().set_permissions(before.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

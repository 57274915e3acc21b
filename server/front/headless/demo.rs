//! `aside demo`: plays a complete turn in a temporary folder, and reports it from its log.

use aside_base::system::folders::canonical;
use std::{
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use aside_config::{Flag, Sources};
use aside_provider::rehearsal::{DEMO_PROMPT, demo_files};
use aside_session::{
    conversation::Conversation,
    export::{self, PageReader},
    replay,
};
use aside_turn::rules::Client;

use super::{
    early::EarlyEnds, exit::Strictness, failure::CommandFailure, markdown::rendered, paint::Paint,
    place::CommandContext, run::open_terminal, watch::Watch,
};
use crate::engine::{ConversationTarget, Layers, TrustedBy, TurnRequest, TurnStart};

/// Plays the demo and returns its exit code and the report for standard output.
///
/// # Errors
/// Fails if the folder cannot be created or the turn cannot start.
pub async fn run(
    script: Option<&Path>,
    into: Option<&Path>,
) -> Result<(u8, String), CommandFailure> {
    let throwaway = tempfile::Builder::new()
        .prefix("aside-demo-")
        .tempdir()
        .map_err(cannot)?;
    let folder = into.unwrap_or(throwaway.path());
    let root = lay_out(folder).map_err(cannot)?;
    let place = CommandContext::at(root, folder.join("state"))?;
    let paint = Paint::of_process(io::stderr().is_terminal());
    let terminal = open_terminal(false);
    let request = request(&place, script, terminal.is_some());
    let watch = Watch {
        terminal,
        paint,
        output: None,
        strictness: Strictness::Off,
        root: place.root.clone(),
        hints: None,
    };
    let early = EarlyEnds::listen(None)?;
    let config = place.engine.configure(request)?;
    let (code, turn) = watch.begin(&place.engine, config, early).await?;
    let conversation = place.store()?.find(&turn.conversation_id)?;
    let is_terminal = io::stdout().is_terminal();
    let reader = if is_terminal {
        PageReader::Person
    } else {
        PageReader::Viewer
    };
    let account = account(&place, &conversation, reader).map_err(cannot)?;
    if !is_terminal {
        return Ok((code, account));
    }
    let paint = Paint::of_process(true);
    Ok((code, rendered(&account, paint)))
}

fn cannot(error: io::Error) -> CommandFailure {
    CommandFailure::internal(format!(
        "cannot use the demo's folder: {error}; set TMPDIR to a writable folder"
    ))
}

/// Creates the project of the demo. Its state is kept beside it instead of in the user's state folder.
fn lay_out(folder: &Path) -> io::Result<PathBuf> {
    let root = folder.join("project");
    if root.exists() {
        return Err(io::Error::other(format!(
            "{} already exists",
            root.display()
        )));
    }
    for (path, content) in demo_files() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&root))?;
        fs::write(path, content)?;
    }
    canonical(&root)
}

/// The request of the demo. It ignores the user's configuration, so that the demo is the same everywhere.
fn request(place: &CommandContext, script: Option<&Path>, attached: bool) -> TurnRequest {
    let model = script.map_or_else(
        || "rehearsal/demo".into(),
        |path| format!("rehearsal/{}", path.display()),
    );
    TurnRequest {
        layers: Layers {
            instead: Some(Sources::default()),
            flags: vec![
                Flag::Typed {
                    name: "--model".into(),
                    key: "assistant.model".into(),
                    value: model.into(),
                },
                Flag::Set("conversation.mode=edits".to_owned()),
            ],
            trusted_by: TrustedBy::Run,
            ..Layers::default()
        },
        client: attached.then(Client::terminal),
        ..TurnRequest::new(
            place.root.clone(),
            ConversationTarget::New,
            TurnStart::message(DEMO_PROMPT),
        )
    }
}

/// Report of the turn, from its log and its files.
fn account(
    place: &CommandContext,
    conversation: &Conversation,
    reader: PageReader,
) -> io::Result<String> {
    let turns = replay::turns(&conversation.read_all()?.records);
    let mut text = export::markdown("The demo, from its log", 1, &turns, reader).text;
    for path in turns
        .iter()
        .flat_map(|turn| &turn.edits)
        .map(|edit| &edit.path)
    {
        let now = fs::read_to_string(place.root.join(path))?;
        let before = demo_files()
            .iter()
            .find(|(name, _)| name == path)
            .map_or("", |(_, text)| text);
        let diff = similar::TextDiff::from_lines(before, &now);
        text += &format!(
            "\n{path} on disk:\n\n```diff\n{}```\n",
            diff.unified_diff().context_radius(2)
        );
    }
    Ok(text)
}

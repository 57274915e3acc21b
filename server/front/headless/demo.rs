//! `aside demo`: a whole turn on a throwaway folder, and an account of it that is rendered from its log.

use std::{
    fs,
    io::{self, IsTerminal},
    path::Path,
};

use super::{failure::Failure, place::Place, run::open_terminal, text::Paint, watch::Watch};
use crate::{
    config::{self, Flag, Sources},
    engine::{
        assemble::{Wishes, assemble, tool_defaults},
        begin::{Plan, Start},
        clock::Clock,
    },
    provider::rehearsal::{DEMO_PROMPT, demo_files},
    session::{conversation::Conversation, export, record::TurnOptions, replay, store::Store},
    turn::rules::{Client, Mode},
};

/// Plays the demo and returns its exit code and, for standard output, the account.
///
/// # Errors
/// Where the folder cannot be made or the turn cannot begin.
pub async fn run(script: Option<&Path>, into: Option<&Path>) -> Result<(u8, String), Failure> {
    let throwaway = tempfile::Builder::new()
        .prefix("aside-demo-")
        .tempdir()
        .map_err(cannot)?;
    let place = lay_out(into.unwrap_or(throwaway.path())).map_err(cannot)?;
    let conversation =
        Store::open(&place.state_dir, &place.root)?.create(None, Clock::start().now())?;
    let paint = Paint::of(
        io::stderr().is_terminal(),
        std::env::var_os("NO_COLOR").as_deref(),
    );
    let terminal = open_terminal(false, paint);
    let plan = plan(&place, conversation.clone(), script, terminal.is_some()).await?;
    let watch = Watch {
        terminal,
        paint,
        output: None,
        strict: false,
    };
    let code = watch.begin(plan, Vec::new()).await?;
    let account = account(&place, &conversation).map_err(cannot)?;
    Ok((code, account))
}

fn cannot(error: io::Error) -> Failure {
    Failure::internal(format!(
        "the demo's folder cannot be used: {error}; set TMPDIR to one that can be written"
    ))
}

/// The demo's project, and beside it the state that would else be the user's.
fn lay_out(folder: &Path) -> io::Result<Place> {
    let root = folder.join("project");
    if root.exists() {
        return Err(io::Error::other(format!(
            "{} is there already",
            root.display()
        )));
    }
    for (path, content) in demo_files() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&root))?;
        fs::write(path, content)?;
    }
    Ok(Place {
        root: root.canonicalize()?,
        state_dir: folder.join("state"),
    })
}

/// Nothing of the user's configuration counts: the demo is the same everywhere.
async fn plan(
    place: &Place,
    conversation: Conversation,
    script: Option<&Path>,
    attached: bool,
) -> Result<Plan, Failure> {
    let model = script.map_or_else(
        || "rehearsal/demo".into(),
        |path| format!("rehearsal/{}", path.display()),
    );
    let set = |text: &str| Flag::Set(text.to_owned());
    let sources = Sources {
        flags: vec![
            Flag::Typed {
                name: "--model".into(),
                key: "assistant.model".into(),
                value: model.clone().into(),
            },
            set("conversation.mode=edits"),
        ],
        ..Sources::default()
    };
    let configuration = config::load(&sources, &tool_defaults())
        .map_err(|problems| Failure::internal(problems.to_string()))?;
    let wishes = Wishes {
        root: place.root.clone(),
        trusted: true,
        mode: Some(Mode::Edits),
        ..Wishes::default()
    };
    let models = place.models(&configuration.settings)?;
    let assembled = assemble(&configuration, &wishes, &models).await?;
    let options = TurnOptions {
        model: Some(model),
        ..TurnOptions::default()
    };
    let start = Start::Message {
        text: DEMO_PROMPT.into(),
        attachments: Vec::new(),
    };
    let client = attached.then(Client::terminal);
    super::run::plan(place, conversation, start, options, client, assembled)
}

/// What happened, as the log and the files have it.
fn account(place: &Place, conversation: &Conversation) -> io::Result<String> {
    let turns = replay::turns(&conversation.read_all()?.records);
    let mut text = export::markdown("The demo, as its log tells it", 1, &turns);
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

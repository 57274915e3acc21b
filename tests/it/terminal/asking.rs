//! A program that has a tool which asks whatever its arguments say, besides the built-in tools.
//!
//! Everything else of the program is real: the engine, the log, the terminal. The test executable itself is this
//! program where [`MODEL`] is set.

use std::{
    fs::File,
    io::{self, IsTerminal},
    sync::{Arc, Mutex},
};

use aside::{
    engine::{ConversationTarget, Engine, Layers, TrustedBy, TurnRequest, TurnStart},
    front::headless::{
        args::Output, early::EarlyEnds, exit::Strictness, failure::CommandFailure, paint::Paint,
        place::CommandContext, run::open_terminal, watch::Watch,
    },
};
use aside_config::{Flag, Sources};
use aside_turn::rules::Client;
use tracing_subscriber::layer::SubscriberExt;

use super::person::{PtyPerson, PtyStart as Program};
use crate::{
    asker::Asker,
    world::{ASIDE, TestWorld},
};

/// The variable that makes the test executable the program, and names its model.
const MODEL: &str = "ASIDE_TEST_ASKING";
/// The test that is the program then.
const TEST: &str = "terminal::questions::each_question_of_a_tool";
/// The id of the question whose label is configured.
pub(super) const LABELLED: &str = "labelled";

/// Plays a script on a person's terminal, with the tool `asker`. Standard output has every notification.
pub(super) fn runs(world: &TestWorld, script: &str) -> PtyPerson {
    let model = world.script(script);
    let own = std::env::current_exe().unwrap();
    let program = Program {
        program: vec![own.to_str().unwrap(), "--exact", TEST, "--nocapture"],
        env: vec![("NO_COLOR", "1"), (MODEL, &model)],
        ..Program::aside(&[])
    };
    PtyPerson::starts(world, &program)
}

/// Becomes the program, where this process was started to be it.
pub(super) fn become_program() {
    let Ok(model) = std::env::var(MODEL) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let code = runtime.block_on(program(&model));
    std::process::exit(i32::from(
        code.unwrap_or_else(|failure| panic!("{failure:?}")),
    ));
}

async fn program(model: &str) -> Result<u8, CommandFailure> {
    let place = CommandContext::find(None)?;
    trace(&place);
    let early = EarlyEnds::listen(None)?;
    let paint = Paint::of_process(io::stderr().is_terminal());
    let request = TurnRequest {
        layers: Layers {
            instead: Some(Sources::default()),
            flags: vec![
                Flag::Set(format!("assistant.model={model:?}")),
                Flag::Set(format!(
                    "conversation.tools.asker.questions.{LABELLED}.prompt_label=Housekeeping"
                )),
            ],
            trusted_by: TrustedBy::Run,
            ..Layers::default()
        },
        client: Some(Client::terminal()),
        ..TurnRequest::new(
            place.root.clone(),
            ConversationTarget::New,
            TurnStart::message("Go"),
        )
    };
    let state = place.engine.state_dir().to_owned();
    let engine = Engine::new(state, ASIDE.into(), vec![Arc::new(Asker::new())]);
    let watch = Watch {
        terminal: open_terminal(false),
        paint,
        output: Some(Output::Jsonl),
        strictness: Strictness::Off,
        root: place.root.clone(),
        hints: None,
    };
    let config = engine.configure(request)?;
    let (code, _) = watch.begin(&engine, config, early).await?;
    Ok(code)
}

/// All that the program says of itself goes to a file beside its conversations.
fn trace(place: &CommandContext) {
    std::fs::create_dir_all(place.engine.state_dir()).unwrap();
    let file = Mutex::new(File::create(place.engine.state_dir().join("trace.log")).unwrap());
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(file);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
}

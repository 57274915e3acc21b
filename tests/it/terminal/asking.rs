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
    config::{self, Flag, Sources},
    engine::{
        assemble::{Assembled, Wishes, assemble, tool_defaults},
        begin::{Plan, Start},
        clock::Clock,
    },
    front::headless::{
        args::Output, failure::Failure, place::Place, terminal::Terminal, text::Paint, watch::Watch,
    },
    session::record::TurnOptions,
    turn::rules::{Client, QuestionRules},
};
use tracing_subscriber::layer::SubscriberExt;

use super::person::{Person, Start as Program};
use crate::{
    asker::Asker,
    world::{ASIDE, World},
};

/// The variable that makes the test executable the program, and names its model.
const MODEL: &str = "ASIDE_TEST_ASKING";
/// The test that is the program then.
const TEST: &str = "terminal::questions::each_question_of_a_tool";
/// The id of the question whose label is configured.
pub(super) const LABELLED: &str = "labelled";

/// Plays a script on a person's terminal, with the tool `asker`. Standard output has every notification.
pub(super) fn runs(world: &World, script: &str) -> Person {
    let model = world.script(script);
    let own = std::env::current_exe().unwrap();
    let program = Program {
        program: vec![own.to_str().unwrap(), "--exact", TEST, "--nocapture"],
        env: vec![("NO_COLOR", "1"), (MODEL, &model)],
        ..Program::aside(&[])
    };
    Person::starts(world, &program)
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

async fn program(model: &str) -> Result<u8, Failure> {
    let place = Place::find(None)?;
    trace(&place);
    let paint = Paint::of(
        io::stderr().is_terminal(),
        std::env::var_os("NO_COLOR").as_deref(),
    );
    let plan = Plan {
        conversation: place.store()?.create(None, Clock::start().now())?,
        start: Start::Message {
            text: "Go".into(),
            attachments: Vec::new(),
        },
        turn: None,
        options: TurnOptions::default(),
        client: Some(Client::terminal()),
        assembled: with_asker(&place, model).await,
        root: place.root.clone(),
        approvals: place.store()?.approvals(),
        supervisor: ASIDE.into(),
        editor: None,
    };
    let watch = Watch {
        terminal: Some(Terminal::open(paint).unwrap()),
        paint,
        output: Some(Output::Jsonl),
        strict: false,
    };
    watch.begin(plan, Vec::new()).await
}

/// All that the program says of itself goes to a file beside its conversations.
fn trace(place: &Place) {
    std::fs::create_dir_all(&place.state_dir).unwrap();
    let file = Mutex::new(File::create(place.state_dir.join("trace.log")).unwrap());
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(file);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
}

async fn with_asker(place: &Place, model: &str) -> Assembled {
    let sources = Sources {
        flags: vec![Flag::Set(format!("assistant.model={model:?}"))],
        ..Sources::default()
    };
    let configuration = config::load(&sources, &tool_defaults()).unwrap();
    let asker = Asker::new();
    let wishes = Wishes {
        root: place.root.clone(),
        trusted: true,
        own: vec![Arc::new(asker)],
        ..Wishes::default()
    };
    let models = place.models(&configuration.settings).unwrap();
    let assembled = assemble(&configuration, &wishes, &models).await;
    let mut assembled = assembled.unwrap();
    let labelled = QuestionRules {
        prompt_label: Some("Housekeeping".into()),
        ..QuestionRules::default()
    };
    let asker = assembled.rules.tools.get_mut("asker").unwrap();
    asker.questions.insert(LABELLED.to_owned(), labelled);
    assembled
}

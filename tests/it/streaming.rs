//! A front end of its own: it streams text and answers prompts, and does nothing else. What it takes to write one is
//! all in this file; what happens to what it does not show is the engine's and the relay's.

use std::sync::{Arc, Mutex};

use aside::{
    engine::{
        ConversationTarget, Engine, Layers, StartError, TrustedBy, TurnNotice, TurnRequest,
        TurnStart,
    },
    front::{
        relay::{
            TurnView,
            prompts::{PendingPrompt, Prompts},
            relay,
        },
        wire::{TurnCompleted, Update},
    },
};
use aside_config::{Flag, Sources};
use aside_session::conversation::Conversation;
use aside_turn::{
    effect::DismissReason,
    input::{PromptAnswer, SecretValue},
    rules::Client,
};
use serde_json::{Value, json};

use crate::world::{ASIDE, TestWorld};

/// A client of the front end: what it was shown, and what it says to each prompt.
#[derive(Clone)]
struct Person {
    shown: Arc<Mutex<String>>,
    answer: Value,
}

/// Shows one turn to a client.
struct StreamView {
    person: Person,
    engine: Engine,
}

impl TurnView for StreamView {
    fn joins(&self) -> bool {
        false
    }

    async fn room(&self) {}

    async fn update(&mut self, update: Update) {
        if let Update::Text { text, .. } = update {
            self.person.hears(&text);
        }
    }

    fn notice(&mut self, _: TurnNotice) -> Option<Update> {
        None
    }

    async fn prompt(&mut self, prompt: PendingPrompt) {
        self.person.hears(&format!("[{}]", prompt.prompt.text));
        let answer = PromptAnswer::Answer {
            value: SecretValue(self.person.answer.clone()),
            remember: false,
            new_text: None,
        };
        let engine = self.engine.clone();
        tokio::spawn(async move { prompt.reply(answer, engine.conversations()).await });
    }

    async fn dismiss(&mut self, _: &str, reason: DismissReason) {
        self.person.hears(&format!("[never mind: {reason:?}]"));
    }

    async fn end(&mut self, completed: Option<TurnCompleted>) {
        let outcome = completed.map(|completed| completed.outcome);
        self.person.hears(&format!("[{outcome:?}]"));
    }

    async fn warn(&mut self, notice: TurnNotice) {
        panic!("{notice:?}");
    }
}

impl Person {
    fn says(answer: Value) -> Self {
        Self {
            shown: Arc::default(),
            answer,
        }
    }

    fn hears(&self, text: &str) {
        *self.shown.lock().unwrap() += text;
    }
}

/// A turn with a client, to its end.
async fn turn(engine: &Engine, request: TurnRequest, person: &Person) -> Result<(), StartError> {
    let started = engine.begin(engine.configure(request)?).await?;
    let view = StreamView {
        person: person.clone(),
        engine: engine.clone(),
    };
    relay(started, &Prompts::default(), view).await;
    Ok(())
}

/// What a client asks for: a message, in a new conversation or in this one.
fn message(world: &TestWorld, model: &str, conversation: Option<Conversation>) -> TurnRequest {
    let target = conversation.map_or(ConversationTarget::New, ConversationTarget::Existing);
    TurnRequest {
        layers: Layers {
            instead: Some(Sources::default()),
            flags: vec![Flag::Set(format!("assistant.model={model:?}"))],
            trusted_by: TrustedBy::Run,
            ..Layers::default()
        },
        client: Some(Client::terminal()),
        ..TurnRequest::new(root(world), target, TurnStart::message("Go"))
    }
}

fn root(world: &TestWorld) -> std::path::PathBuf {
    world.at("").canonicalize().unwrap()
}

const SCRIPT: &str = "'Let me ask. '\n+ ask_user ask { question = 'Which?' }\n'Done.'";

#[tokio::test]
async fn a_front_end_that_streams_and_answers_has_whole_turns() {
    let world = TestWorld::new();
    let model = world.script(SCRIPT);
    let engine = Engine::new(world.folder().join("state/aside"), ASIDE.into(), Vec::new());
    let person = Person::says(json!("the blue one"));
    let ended = turn(&engine, message(&world, &model, None), &person).await;
    ended.unwrap();
    let shown = person.shown.lock().unwrap().clone();
    assert_eq!(shown, "Let me ask. [Which?]Done.[Some(Completed)]");
    assert_eq!(
        world.log().told("ask"),
        r#"{"answer_type":"text","answer":"the blue one"}"#
    );
    assert!(!engine.conversations().running().any());
}

#[tokio::test]
async fn a_conversation_has_one_turn_at_a_time_and_none_that_cannot_begin() {
    let world = TestWorld::new();
    let model = world.script(SCRIPT);
    let engine = Engine::new(world.folder().join("state/aside"), ASIDE.into(), Vec::new());
    let store = engine.conversations().store(&root(&world)).unwrap();
    let person = Person::says(json!("any"));

    let failed = turn(&engine, message(&world, "rehearsal/none", None), &person).await;
    assert!(
        matches!(failed, Err(StartError::NoProvider(_))),
        "{failed:?}"
    );
    assert_eq!(
        store.list().unwrap().len(),
        0,
        "no empty conversation stays"
    );

    let first = turn(&engine, message(&world, &model, None), &person).await;
    first.unwrap();
    let ends = "[Some(Completed)]";
    assert!(person.shown.lock().unwrap().ends_with(ends));
    let conversation = store.latest(std::time::Duration::MAX).unwrap();
    let again = || message(&world, &model, conversation.clone());
    let config = engine.configure(again()).unwrap();
    assert!(matches!(
        engine.configure(again()),
        Err(StartError::Taken(_))
    ));
    drop(config);
    let second = turn(&engine, again(), &person).await;
    second.unwrap();
    assert_eq!(person.shown.lock().unwrap().matches(ends).count(), 2);
}

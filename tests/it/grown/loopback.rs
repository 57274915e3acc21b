//! A conversation with a server on loopback, in this process: for what nobody can do from a command line.

use std::{path::PathBuf, sync::Arc};

use aside::engine::{
    ConversationTarget, Engine, Layers, TrustedBy, TurnHandle, TurnMessage, TurnRequest, TurnStart,
    clock::Clock,
};
use aside_config::{SourceFile, Sources};
use aside_model_server::server::{ModelServer, ReplyGate};
use aside_session::{conversation::Conversation, record::TurnOptions};
use aside_turn::{
    effect::{End, Update},
    rules::Mode,
};
use tokio::sync::mpsc::UnboundedReceiver;

use super::side::{Side, providers};
use crate::world::{ASIDE, TestWorld};

/// What happens to a turn while its model answers.
#[derive(Debug)]
pub(super) enum MidAnswer {
    /// The user adds something; then the model may go on.
    Steer(ReplyGate),
}

/// What makes the user end a turn: a piece of an answer.
pub(super) const HALF: &str = "Half of it";

/// A conversation, its workspace and its model.
pub(super) struct Loopback {
    pub(super) world: TestWorld,
    pub(super) server: ModelServer,
    side: Side,
    engine: Engine,
    settings: String,
    conversation: Conversation,
    moments: UnboundedReceiver<MidAnswer>,
}

impl Loopback {
    /// A new conversation. `settings` are lines of the user's configuration beside the providers.
    pub(super) fn new(
        side: Side,
        settings: &str,
        server: ModelServer,
        moments: UnboundedReceiver<MidAnswer>,
    ) -> Self {
        let world = TestWorld::new();
        world.listed(side.model, &format!("http://{}/v1", server.address()));
        let root = world.at("").canonicalize().unwrap();
        let engine = engine(&world);
        let store = engine.conversations().store(&root).unwrap();
        let conversation = store.create(None, Clock::start().now()).unwrap();
        Self {
            settings: format!("{settings}\n{}", providers(server.address())),
            world,
            server,
            side,
            conversation,
            engine,
            moments,
        }
    }

    /// A turn, from a message to its end. What is kept of the conversation since the turn before is used, as in an
    /// editor.
    pub(super) async fn turn(&mut self, message: &str) -> End {
        let config = self.engine.configure(self.request(message)).unwrap();
        let mut turn = self.engine.begin(config).await.unwrap();
        let end = loop {
            tokio::select! {
                Some(moment) = self.moments.recv() => act(&turn.handle, moment).await,
                message = turn.messages.recv() => match message {
                    Some(TurnMessage::End(end)) => break *end,
                    Some(TurnMessage::Update(Update::Text { text, .. })) if text.starts_with(HALF) => {
                        turn.handle.cancel().await;
                    }
                    Some(_) => {}
                    None => panic!("a turn without an end"),
                },
            }
        };
        turn.finish().await;
        end
    }

    /// Forgets what is kept of the conversation: the next turn reads the log.
    pub(super) fn forget(&mut self) {
        self.engine = engine(&self.world);
    }

    fn request(&self, message: &str) -> TurnRequest {
        let sources = Sources {
            user_file: Some(SourceFile {
                path: "aside.toml".into(),
                text: format!(
                    "assistant.model = \"{}\"\n{}",
                    self.side.model, self.settings
                ),
            }),
            ..Sources::default()
        };
        TurnRequest {
            options: TurnOptions {
                mode: Some(Mode::Edits.into()),
                ..TurnOptions::default()
            },
            layers: Layers {
                instead: Some(sources),
                trusted_by: TrustedBy::Run,
                ..Layers::default()
            },
            ..TurnRequest::new(
                self.world.at("").canonicalize().unwrap(),
                ConversationTarget::Existing(self.conversation.clone()),
                TurnStart::message(message),
            )
        }
    }
}

/// An engine with the key that the model server wants.
fn engine(world: &TestWorld) -> Engine {
    let env = Arc::new(|name: &str| (name == "THE_KEY").then(|| "secret-key".to_owned()));
    let state = world.folder().join("state/aside");
    Engine::in_environment(state, PathBuf::from(ASIDE), Vec::new(), env)
}

async fn act(handle: &TurnHandle, moment: MidAnswer) {
    match moment {
        MidAnswer::Steer(gate) => {
            handle.steer("Also look at the second half.".into()).await;
            gate.open();
        }
    }
}

//! A conversation with a server on loopback, in this process: for what nobody can do from a command line.

use std::{path::PathBuf, sync::Arc};

use aside::{
    config::{self, Sources, TextFile},
    engine::{
        ConversationState, QUEUE, TurnHandle, TurnMessage,
        assemble::{Wishes, assemble, tool_defaults},
        begin::{Plan, Start, begin},
        clock::Clock,
        models::Models,
    },
    session::{conversation::Conversation, record::TurnOptions, store::Store},
    turn::{
        effect::{End, Update},
        rules::Mode,
    },
};
use aside_model_server::server::{Gate, ModelServer};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::side::{Side, providers};
use crate::world::{ASIDE, World};

/// What happens to a turn while its model answers.
#[derive(Debug)]
pub(super) enum Moment {
    /// The user adds something; then the model may go on.
    Steer(Gate),
}

/// What makes the user end a turn: a piece of an answer.
pub(super) const HALF: &str = "Half of it";

/// A conversation, its workspace and its model.
pub(super) struct Loopback {
    pub(super) world: World,
    pub(super) server: ModelServer,
    side: Side,
    settings: String,
    conversation: Conversation,
    store: Store,
    moments: UnboundedReceiver<Moment>,
}

impl Loopback {
    /// A new conversation. `settings` are lines of the user's configuration beside the providers.
    pub(super) fn new(
        side: Side,
        settings: &str,
        server: ModelServer,
        moments: UnboundedReceiver<Moment>,
    ) -> Self {
        let world = World::new();
        let root = world.at("").canonicalize().unwrap();
        let store = Store::open(&world.folder().join("state"), &root).unwrap();
        let conversation = store.create(None, Clock::start().now()).unwrap();
        Self {
            settings: format!("{settings}\n{}", providers(server.address())),
            world,
            server,
            side,
            conversation,
            store,
            moments,
        }
    }

    /// A turn, from a message to its end. What the turn before kept may be given to it, as an editor does.
    pub(super) async fn turn(
        &mut self,
        message: &str,
        kept: Option<ConversationState>,
    ) -> (End, Option<ConversationState>) {
        let plan = self.plan(message).await;
        let (front, mut messages) = mpsc::channel(QUEUE);
        let (handle, task) = begin(plan, kept, front).await.unwrap();
        let end = loop {
            tokio::select! {
                Some(moment) = self.moments.recv() => act(&handle, moment).await,
                message = messages.recv() => match message {
                    Some(TurnMessage::End(end)) => break *end,
                    Some(TurnMessage::Update(Update::Text { text, .. })) if text.starts_with(HALF) => {
                        handle.cancel().await;
                    }
                    Some(_) => {}
                    None => panic!("a turn without an end"),
                },
            }
        };
        (end, task.await.unwrap())
    }

    async fn plan(&self, message: &str) -> Plan {
        let sources = Sources {
            user_file: Some(TextFile {
                path: "aside.toml".into(),
                text: format!(
                    "assistant.model = \"{}\"\n{}",
                    self.side.model, self.settings
                ),
            }),
            ..Sources::default()
        };
        let configuration = config::load(&sources, &tool_defaults()).unwrap();
        let root = self.world.at("").canonicalize().unwrap();
        let wishes = Wishes {
            root: root.clone(),
            trusted: true,
            mode: Some(Mode::Edits),
            ..Wishes::default()
        };
        let env = Arc::new(|name: &str| (name == "THE_KEY").then(|| "secret-key".to_owned()));
        let state = self.world.folder().join("state");
        let outside = Models::new(&configuration.settings, env, PathBuf::from(ASIDE), state);
        Plan {
            conversation: self.conversation.clone(),
            start: Start::Message {
                text: message.into(),
                attachments: Vec::new(),
            },
            turn: None,
            options: TurnOptions::default(),
            client: None,
            assembled: assemble(&configuration, &wishes, &outside).await.unwrap(),
            root,
            approvals: self.store.approvals(),
            supervisor: PathBuf::from(ASIDE),
            editor: None,
        }
    }
}

async fn act(handle: &TurnHandle, moment: Moment) {
    match moment {
        Moment::Steer(gate) => {
            handle.steer("Also look at the second half.".into()).await;
            gate.open();
        }
    }
}

//! What a front end wants of a turn.

use std::{path::PathBuf, sync::Arc};

use aside_turn::{record::PromptId, rules::Client};
use serde_json::Value;

use crate::{
    config::{
        Flag, Sources, Toggle,
        flags::{AnswerFlag, DetachedFlag},
    },
    mcp::ServerLease,
    session::{attach::AttachedFile, conversation::Conversation, record::TurnOptions},
    tool::editor::Editor,
};

/// What a front end wants of a turn.
pub struct TurnRequest {
    /// The root of the workspace.
    pub root: PathBuf,
    /// The conversation that the turn belongs to.
    pub target: ConversationTarget,
    /// What the turn begins with.
    pub start: TurnStart,
    /// The turn's id, where a client chose one; without a dot.
    pub turn: Option<String>,
    /// How it is started, for the record and a resume.
    pub options: TurnOptions,
    /// What there is of the configuration besides its files.
    pub layers: Layers,
    /// What the user said for this one turn.
    pub run: RunFlags,
    /// The client that is there, if any.
    pub client: Option<Client>,
    /// The editor whose open documents stand for their files.
    pub editor: Option<Arc<dyn Editor>>,
    /// Holds the MCP servers of the turn; without one, those of the workspace are held together.
    pub servers: Option<ServerLease>,
}

/// The conversation of a turn.
#[derive(Clone, Debug)]
pub enum ConversationTarget {
    /// One that is made when the turn begins.
    New,
    /// One that is there.
    Existing(Conversation),
}

/// What a turn begins with.
#[derive(Debug)]
pub enum TurnStart {
    /// A user's message. An interrupted turn before it is closed.
    Message {
        /// The message of the user.
        text: String,
        /// What goes along with it.
        attachments: Vec<AttachedFile>,
    },
    /// The last turn goes on. The answers are for its open prompts, by id.
    Resume {
        /// Texts, read by the prompts' types.
        answers: Vec<(PromptId, String)>,
    },
}

/// What a configuration is made from, besides the workspace's own file. It may hold secrets, so it cannot be printed.
#[derive(Clone, Default)]
pub struct Layers {
    /// These count instead of the files and the environment of this process.
    pub instead: Option<Sources>,
    /// Flags, in order; the last wins.
    pub flags: Vec<Flag>,
    /// The client's settings of the user's scope.
    pub client_config: Option<Value>,
    /// What the client read in the workspace.
    pub workspace_config: Option<Value>,
    /// Who says that the workspace is trusted.
    pub trusted_by: TrustedBy,
}

/// Who says that a workspace is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustedBy {
    /// The user, some time ago: it is kept.
    #[default]
    Store,
    /// The user, for this run; what is kept does not matter.
    Run,
    /// The client. What it read in the workspace counts too then.
    Client,
}

/// What the user said for one turn, beside the configuration.
#[derive(Clone, Debug, Default)]
pub struct RunFlags {
    /// Tools on and off, in order.
    pub toggles: Vec<Toggle>,
    /// What happens where nobody is there, in order.
    pub detached: Vec<DetachedFlag>,
    /// The answers given on the command line with `--answer`.
    pub answers: Vec<AnswerFlag>,
    /// Commands may run without a sandbox.
    pub unsandboxed: bool,
}

impl TurnRequest {
    /// A turn as the configuration has it, and without a client.
    #[must_use]
    pub fn new(root: PathBuf, target: ConversationTarget, start: TurnStart) -> Self {
        Self {
            root,
            target,
            start,
            turn: None,
            options: TurnOptions::default(),
            layers: Layers::default(),
            run: RunFlags::default(),
            client: None,
            editor: None,
            servers: None,
        }
    }
}

impl TurnStart {
    /// A message without attachments.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message {
            text: text.into(),
            attachments: Vec::new(),
        }
    }
}

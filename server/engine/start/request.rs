//! The request of a front end for a turn.

use std::{path::PathBuf, sync::Arc};

use aside_config::{
    Flag, Sources, Toggle,
    flags::{AnswerFlag, DetachedFlag},
};
use aside_mcp::ServerLease;
use aside_session::{attach::AttachedFile, conversation::Conversation, record::TurnOptions};
use aside_tool::editor::Editor;
use aside_turn::{record::PromptId, rules::Client};
use serde_json::Value;
use tokio::time::Instant;

/// The request of a front end for a turn.
pub struct TurnRequest {
    /// The root of the workspace.
    pub root: PathBuf,
    /// The conversation that the turn belongs to.
    pub target: ConversationTarget,
    /// The message or resumption that starts the turn.
    pub start: TurnStart,
    /// Id of the turn, if the client chose one; without a dot.
    pub turn: Option<String>,
    /// Options of the turn, for the record and a later resumption.
    pub options: TurnOptions,
    /// Configuration in addition to the files.
    pub layers: Layers,
    /// Flags for this turn only.
    pub run: RunFlags,
    /// The connected client, if any.
    pub client: Option<Client>,
    /// The editor whose open documents replace their files.
    pub editor: Option<Arc<dyn Editor>>,
    /// Lease of the turn's MCP servers; `None` to share those of the workspace.
    pub servers: Option<ServerLease>,
    /// Time from which the turn's own time limit counts.
    pub since: Instant,
}

/// The conversation of a turn.
#[derive(Clone, Debug)]
pub enum ConversationTarget {
    /// A new conversation, created when the turn starts.
    New,
    /// An existing conversation.
    Existing(Conversation),
}

/// The first word of a message that asks for a summary of the conversation.
pub const COMPACT: &str = "/compact";

/// The word behind [`COMPACT`] that takes the last summary back.
const UNDO: &str = "undo";

/// The start of a turn.
#[derive(Debug)]
pub enum TurnStart {
    /// A message of the user. It closes an interrupted turn before it.
    Message {
        /// The message of the user.
        text: String,
        /// Files attached to the message.
        attachments: Vec<AttachedFile>,
    },
    /// Summarises the conversation, so that it goes on with few tokens, and sends no message.
    Summarise {
        /// What the user wants the summary to keep; may be empty.
        words: String,
    },
    /// Summarises the conversation while nobody writes. Whatever else is to run in it comes first.
    SummariseIdle,
    /// Takes the last summary back, so that the conversation goes on as if it had not been made.
    TakeSummaryBack,
    /// Resumes the last turn.
    Resume {
        /// Answers to open prompts by id, as text to be parsed by the type of each prompt.
        answers: Vec<(PromptId, String)>,
    },
}

/// Sources of a configuration besides the workspace's own file. They may contain secrets, so they are never printed.
#[derive(Clone, Default)]
pub struct Layers {
    /// Replaces the files and the environment of this process.
    pub instead: Option<Sources>,
    /// Flags in order; the last one wins.
    pub flags: Vec<Flag>,
    /// The client's settings of the user's scope.
    pub client_config: Option<Value>,
    /// The client's settings of the workspace's scope.
    pub workspace_config: Option<Value>,
    /// Source of trust in the workspace.
    pub trusted_by: TrustedBy,
}

/// Source of trust in a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustedBy {
    /// Stored trust that the user gave earlier.
    #[default]
    Store,
    /// Trust for this run only; stored trust is ignored.
    Run,
    /// Trust by the client, which then covers its settings of the workspace too.
    Client,
}

/// Flags for one turn, beside the configuration.
#[derive(Clone, Debug, Default)]
pub struct RunFlags {
    /// Tools to turn on and off, in order.
    pub toggles: Vec<Toggle>,
    /// Policies for prompts that nobody can answer, in order.
    pub detached: Vec<DetachedFlag>,
    /// Answers given with `--answer`.
    pub answers: Vec<AnswerFlag>,
    /// Whether commands may run without a sandbox.
    pub unsandboxed: bool,
}

impl TurnRequest {
    /// A request with the default configuration and without a client.
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
            since: Instant::now(),
        }
    }
}

impl TurnStart {
    /// A request from a person's text: a message, or [`COMPACT`] with words that say what a summary has to keep. With
    /// `undo` in their place, the last summary is taken back.
    ///
    /// # Errors
    /// If something is attached to [`COMPACT`], which nobody would read.
    pub fn typed(text: String, attachments: Vec<AttachedFile>) -> Result<Self, String> {
        let words = text.trim_start().strip_prefix(COMPACT);
        let words = words.filter(|words| !words.starts_with(|c: char| !c.is_whitespace()));
        match words {
            Some(_) if !attachments.is_empty() => Err(format!(
                "{COMPACT} takes no attachments and no input: send it alone; words behind it say what the summary has to \
                 keep"
            )),
            Some(words) if words.trim() == UNDO => Ok(Self::TakeSummaryBack),
            Some(words) => Ok(Self::Summarise {
                words: words.trim().to_owned(),
            }),
            None => Ok(Self::Message { text, attachments }),
        }
    }

    /// A message without attachments.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message {
            text: text.into(),
            attachments: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_asked_for_by_its_word_alone() {
        for (text, words) in [
            ("/compact", Some("")),
            (" /compact\n", Some("")),
            ("/compact the ports,\nand why", Some("the ports,\nand why")),
            ("/compact\tports", Some("ports")),
            ("/compact undo", Some("taken back")),
            ("/compact  undo\n", Some("taken back")),
            ("/compact undo it", Some("undo it")),
            ("/compact Undo", Some("Undo")),
            ("/compacts", None),
            ("/compact/a", None),
            ("Please /compact", None),
            ("", None),
        ] {
            let found = match TurnStart::typed(text.into(), Vec::new()).unwrap() {
                TurnStart::Summarise { words } => Some(words),
                TurnStart::TakeSummaryBack => Some("taken back".into()),
                _ => None,
            };
            assert_eq!(found.as_deref(), words, "{text:?}");
            let piped = AttachedFile::text("stdin", "piped");
            let with_it = TurnStart::typed(text.into(), vec![piped]);
            assert_eq!(with_it.is_err(), words.is_some(), "{text:?}");
        }
    }
}

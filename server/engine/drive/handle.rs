//! The handle of a running turn, and its messages to the front end.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use aside_session::record::Edit;
use aside_turn::{
    effect::{DismissReason, End, Prompt, Update},
    input::{Input, PromptAnswer},
    question::Misfit,
    record::PromptId,
    rules::{Client, RunRule},
};
use tokio::sync::{mpsc, oneshot};

use super::notice::TurnNotice;

/// Maximum number of messages that wait between the engine and a front end. A front end never stops reading.
pub const QUEUE: usize = 4096;

/// A message of a turn to its front end, in order. `End` is the last of the turn.
#[derive(Debug)]
pub enum TurnMessage {
    /// A notice at the start of the turn or after its end.
    Notice(TurnNotice),
    /// An update to show.
    Update(Update),
    /// A call changed files.
    Edited {
        /// The provider's id of the call.
        call_id: String,
        /// The changes, in order.
        edits: Vec<Edit>,
    },
    /// A prompt to show to a person.
    Prompt(Box<Prompt>),
    /// A prompt to remove from the screen, with the reason.
    Dismiss(PromptId, DismissReason),
    /// The turn has ended.
    End(Box<End>),
}

/// Handle of a running turn. Messages to a turn that has ended are dropped.
#[derive(Clone, Debug)]
pub struct TurnHandle {
    /// Id of the turn.
    pub turn: String,
    /// Id of the conversation.
    pub conversation: String,
    mailbox: mpsc::Sender<Mail>,
    is_steered: Arc<AtomicBool>,
}

/// A message to a running turn.
#[derive(Debug)]
pub(super) enum Mail {
    /// An input for the turn.
    Input(Input),
    /// Checks whether an answer fits a prompt. The reply is `None` if the prompt is not open.
    Fits(
        PromptId,
        PromptAnswer,
        oneshot::Sender<Option<Result<(), Misfit>>>,
    ),
}

impl TurnHandle {
    /// Creates a handle and the receiver of its messages.
    pub(super) fn new(turn: String, conversation: String) -> (Self, mpsc::Receiver<Mail>) {
        let (mailbox, messages) = mpsc::channel(QUEUE);
        let handle = Self {
            turn,
            conversation,
            mailbox,
            is_steered: Arc::default(),
        };
        (handle, messages)
    }

    /// Sends a person's answer to a prompt, or a client's failure to show it.
    ///
    /// Returns false if the turn has ended and the answer was not delivered.
    pub async fn answer(&self, prompt: PromptId, answer: PromptAnswer) -> bool {
        self.tell(Input::Answer(prompt, answer)).await
    }

    /// Adds a message of the user to the running turn.
    pub async fn steer(&self, text: String) {
        self.is_steered.store(true, Ordering::Release);
        self.tell(Input::Steer(text)).await;
    }

    /// Cancels the turn for the user.
    pub async fn cancel(&self) {
        self.tell(Input::Cancel).await;
    }

    /// Whether a person said something in the turn after its start.
    pub(in crate::engine) fn is_steered(&self) -> bool {
        self.is_steered.load(Ordering::Acquire)
    }

    /// Cancels the turn for something else that is to happen in its conversation. Does not wait.
    pub(in crate::engine) fn give_way(&self) {
        // A full mailbox is that of a turn about which a person does something already.
        let _ = self.mailbox.try_send(Mail::Input(Input::Cancel));
    }

    /// Passes changed rules for tools of the client, by name.
    pub async fn configure_client_tools(&self, by_name: BTreeMap<String, Option<RunRule>>) {
        self.tell(Input::ClientRules(by_name)).await;
    }

    /// Tells the turn that a client for prompts has connected.
    pub async fn client_came(&self, client: Client) {
        self.tell(Input::ClientCame(client)).await;
    }

    /// Interrupts the turn at once, because the client left or the process must end.
    pub async fn leave(&self) {
        self.tell(Input::ClientLeft).await;
    }

    /// Checks whether an answer fits a prompt; `None` if the prompt is not open.
    pub async fn fits(&self, prompt: PromptId, answer: PromptAnswer) -> Option<Result<(), Misfit>> {
        let (reply, replied) = oneshot::channel();
        let mail = Mail::Fits(prompt, answer, reply);
        self.mailbox.send(mail).await.ok()?;
        replied.await.ok()?
    }

    /// Sends an input. Returns false if the turn has ended.
    async fn tell(&self, input: Input) -> bool {
        self.mailbox.send(Mail::Input(input)).await.is_ok()
    }
}

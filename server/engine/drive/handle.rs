//! A running turn, as a front end holds it, and what it tells the front end.

use aside_turn::{
    effect::{DismissReason, End, Prompt, Update},
    input::{Input, PromptAnswer},
    question::Misfit,
    record::PromptId,
    rules::Client,
};
use tokio::sync::{mpsc, oneshot};

use super::notice::TurnNotice;

/// The most messages that wait between the engine and a front end. A front end always reads on.
pub const QUEUE: usize = 4096;

/// What the engine tells a front end of a turn, in order. `End` is the last.
#[derive(Debug)]
pub enum TurnMessage {
    /// Something to know as the turn begins.
    Notice(TurnNotice),
    /// Something to show.
    Update(Update),
    /// A piece of a running call's output.
    ToolOutput {
        /// The provider's id of the call.
        call_id: String,
        /// The piece that came.
        text: String,
    },
    /// A call changed files.
    Edited {
        /// The provider's id of the call.
        call_id: String,
        /// The files, as URIs.
        uris: Vec<String>,
    },
    /// The conversation has a title.
    Title(String),
    /// Ask a person.
    Prompt(Box<Prompt>),
    /// Take a prompt off the screen, and why.
    Dismiss(PromptId, DismissReason),
    /// The turn is over.
    End(Box<End>),
}

/// A running turn, as a front end holds it. Messages to a turn that has ended are dropped.
#[derive(Clone, Debug)]
pub struct TurnHandle {
    /// The turn's id.
    pub turn: String,
    /// The conversation's id.
    pub conversation: String,
    mailbox: mpsc::Sender<Mail>,
}

/// A message to a running turn.
#[derive(Debug)]
pub(super) enum Mail {
    /// Something that the turn must be told of.
    Input(Input),
    /// Would this answer be taken? The reply is `None` where no such prompt is open.
    Fits(
        PromptId,
        PromptAnswer,
        oneshot::Sender<Option<Result<(), Misfit>>>,
    ),
}

impl TurnHandle {
    /// A handle, and where its messages arrive.
    pub(super) fn new(turn: String, conversation: String) -> (Self, mpsc::Receiver<Mail>) {
        let (mailbox, messages) = mpsc::channel(QUEUE);
        let handle = Self {
            turn,
            conversation,
            mailbox,
        };
        (handle, messages)
    }

    /// A person's answer to a prompt, or a client's failure to show it.
    ///
    /// False where the turn is over and the answer went nowhere.
    pub async fn answer(&self, prompt: PromptId, answer: PromptAnswer) -> bool {
        self.tell(Input::Answer(prompt, answer)).await
    }

    /// The user adds something.
    pub async fn steer(&self, text: String) {
        self.tell(Input::Steer(text)).await;
    }

    /// The user ends the turn.
    pub async fn cancel(&self) {
        self.tell(Input::Cancel).await;
    }

    /// A client that can ask a human came.
    pub async fn client_came(&self, client: Client) {
        self.tell(Input::ClientCame(client)).await;
    }

    /// The client left, or the process must go: the turn is interrupted at once.
    pub async fn leave(&self) {
        self.tell(Input::ClientLeft).await;
    }

    /// Whether an answer to a prompt would be taken; `None` where no such prompt is open.
    pub async fn fits(&self, prompt: PromptId, answer: PromptAnswer) -> Option<Result<(), Misfit>> {
        let (reply, replied) = oneshot::channel();
        let mail = Mail::Fits(prompt, answer, reply);
        self.mailbox.send(mail).await.ok()?;
        replied.await.ok()?
    }

    /// A closed mailbox is a turn that has ended: there is nobody to tell.
    async fn tell(&self, input: Input) -> bool {
        self.mailbox.send(Mail::Input(input)).await.is_ok()
    }
}

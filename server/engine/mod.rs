//! Performs what the turn decides: the only owner of tasks, time and cancellation.
//!
//! | module | what lives there |
//! |---|---|
//! | [`assemble`] | puts together what a turn needs of the configuration |
//! | [`open`], [`key`], [`listed`] | opens models: where they are, their keys, what their providers said of them |
//! | [`begin`] | opens a conversation and begins, resumes or closes a turn in it |
//! | `drive` | the loop: effects out, inputs in |
//! | `perform`, `tasks`, `hooks`, `trace` | each effect: a line in the log, a task, a message to the front end |
//! | [`undo`] | takes back what a turn changed in files, on disk and in an editor |
//! | [`models`] | the models of the usable providers, as far as they are known |
//! | [`clock`], `writer` | the time that the turn is told; the log that it is recorded in |
//! | [`blocking()`] | runs blocking work, such as reading files, on tokio's pool for it |
//!
//! Invariant: nothing is decided here. A task that panics becomes an error of what it was doing, and a tool's
//! task that does not end after its token was cancelled is given up.

pub mod assemble;
mod before;
pub mod begin;
mod blocking;
pub mod clock;
mod drive;
mod hooks;
pub mod key;
pub mod listed;
pub mod models;
pub mod open;
mod perform;
mod tasks;
mod trace;
pub mod undo;
mod writer;

use tokio::sync::{mpsc, oneshot};

pub use before::Before;
pub use blocking::blocking;
pub use perform::{FindAssistant, InquiryAssistant};

use crate::turn::{
    effect::{End, Prompt, Update},
    event::PromptId,
    input::{Input, PromptAnswer},
    question::Misfit,
    rules::Client,
};

/// Messages that wait between the engine and a front end, at most. A front end always reads on.
pub const QUEUE: usize = 4096;

/// What the engine tells a front end of a turn, in order. `End` is the last.
#[derive(Debug)]
pub enum ToFront {
    /// Something to show.
    Update(Update),
    /// A piece of a running call's output.
    ToolOutput {
        /// The provider's id of the call.
        call_id: String,
        /// The piece.
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
    Dismiss(PromptId, String),
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
enum Mail {
    /// Something happened.
    Input(Input),
    /// Would this answer be taken? Nothing where no such prompt is open.
    Fits(
        PromptId,
        PromptAnswer,
        oneshot::Sender<Option<Result<(), Misfit>>>,
    ),
}

impl TurnHandle {
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

//! Prompts in flight: put to the client, answered by it or by another way, dismissed.

use std::sync::Arc;

use dashmap::DashMap;
use serde_json::Value;
use tower_lsp::lsp_types::request::Request;

use super::hub::{Dismiss, Hub, SharedHub};
use crate::{
    engine::TurnHandle,
    front::wire::{self, requests::DismissParams},
    turn::{event::PromptId, input::PromptAnswer},
};

/// `aside/prompt`.
pub(super) struct AskPrompt;

impl Request for AskPrompt {
    type Params = wire::Prompt;
    type Result = Value;
    const METHOD: &'static str = "aside/prompt";
}

/// The prompts that are open, by id.
#[derive(Default)]
pub(super) struct Prompts {
    open: DashMap<String, Open>,
}

/// An open prompt.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) prompt: Arc<wire::Prompt>,
    pub(super) turn: TurnHandle,
}

impl Prompts {
    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// Those that are open.
    pub(super) fn all(&self) -> Vec<wire::Prompt> {
        let all = self.open.iter();
        all.map(|open| open.prompt.as_ref().clone()).collect()
    }

    /// The prompt of this id, if it is open.
    pub(super) fn get(&self, id: &str) -> Option<Open> {
        self.open.get(id).map(|open| open.clone())
    }

    /// The prompt is settled. False where it was already.
    pub(super) fn settle(&self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// A turn is over: none of its prompts is open.
    pub(super) fn forget_turn(&self, turn: &str) {
        self.open.retain(|_, open| open.turn.turn != turn);
    }
}

/// Puts a prompt to the client.
pub(super) fn ask(hub: &SharedHub, prompt: wire::Prompt, turn: &TurnHandle) {
    let open = Open {
        prompt: Arc::new(prompt),
        turn: turn.clone(),
    };
    hub.prompts
        .open
        .insert(open.prompt.prompt_id.clone(), open.clone());
    let answers = hub.told.get().and_then(|told| told.aside.as_ref());
    if answers.is_some_and(|aside| aside.prompt) {
        // The task owns the request to its end: a reply to one that was dropped would end the process.
        tokio::spawn(request(hub.clone(), open));
    } else {
        let why = "this client cannot show prompts".to_owned();
        let (turn, id) = (turn.clone(), PromptId(open.prompt.prompt_id.clone()));
        tokio::spawn(async move { turn.answer(id, PromptAnswer::Failed(why)).await });
    }
}

async fn request(hub: SharedHub, open: Open) {
    let reply = hub
        .client
        .send_request::<AskPrompt>(open.prompt.as_ref().clone())
        .await;
    if reply.is_err() && hub.is_over() {
        // A client that went away decides nothing.
        return;
    }
    let answer = match reply {
        Err(error) => PromptAnswer::Failed(error.message.into_owned()),
        Ok(reply) => match serde_json::from_value::<wire::PromptAnswer>(reply) {
            Ok(answer) => answer.into(),
            // The reply may be a secret: it is not repeated.
            Err(_) => PromptAnswer::Failed("the client's reply is no answer".into()),
        },
    };
    let id = &open.prompt.prompt_id;
    if hub.prompts.get(id).is_none()
        && matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_))
    {
        // The acknowledgement of a dismissal.
        return;
    }
    open.turn.answer(PromptId(id.clone()), answer).await;
}

impl Hub {
    /// Takes a prompt off the client's screen.
    pub(super) async fn dismiss(&self, id: &str, reason: &str) {
        self.prompts.settle(id);
        let params = DismissParams {
            prompt_id: id.to_owned(),
            reason: reason.to_owned(),
        };
        self.notify::<Dismiss>(params).await;
    }
}

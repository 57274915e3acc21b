//! State of a call, and the questions and prompts that it waits for.

use crate::{
    call::{
        delivery::DeliveryPrompt, permission::PermissionPrompt, prompt::WaitingPrompt,
        question::OpenQuestion, run::Running,
    },
    record::PromptId,
};

/// State of a call.
#[derive(Debug)]
pub(super) enum State {
    /// Being prepared.
    New,
    Preparing,
    /// May run, and waits for a free slot.
    Ready {
        title: String,
    },
    Running(Running),
    /// Waits for an answer, and is then prepared again.
    Asking(Box<OpenQuestion>),
    /// Waits for permission to run.
    Permission(PermissionPrompt),
    /// Waits for permission to deliver the result.
    Delivery(DeliveryPrompt),
    /// Has its result, which is in the turn's history.
    Done,
}

impl State {
    /// The questions that the call waits for: its own, or those of its run.
    pub(super) fn questions(&self) -> impl Iterator<Item = &OpenQuestion> {
        let (own, live) = match self {
            Self::Asking(open) => (Some(open.as_ref()), [].as_slice()),
            Self::Running(running) => (None, running.live()),
            _ => (None, [].as_slice()),
        };
        own.into_iter().chain(live)
    }

    /// The question of this prompt.
    pub(super) fn question_mut(&mut self, id: &PromptId) -> Option<&mut OpenQuestion> {
        match self {
            Self::Asking(open) => {
                Some(open.as_mut()).filter(|open| open.prompt_id().as_ref() == Some(id))
            }
            Self::Running(running) => running.live_mut(id),
            _ => None,
        }
    }

    /// The waiting prompt with this id.
    pub(super) fn waiting_mut(&mut self, id: &PromptId) -> Option<&mut WaitingPrompt> {
        match self {
            Self::Permission(prompt) => Some(prompt.waiting_mut()),
            Self::Delivery(prompt) => Some(prompt.waiting_mut()),
            state => state.question_mut(id)?.waiting_mut(),
        }
        .filter(|waiting| waiting.id() == id)
    }

    pub(super) fn prompt_ids(&self) -> Vec<PromptId> {
        match self {
            Self::Permission(prompt) => vec![prompt.waiting().id().clone()],
            Self::Delivery(prompt) => vec![prompt.waiting().id().clone()],
            state => state
                .questions()
                .filter_map(OpenQuestion::prompt_id)
                .collect(),
        }
    }
}

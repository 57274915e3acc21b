//! Where a call stands, and what it waits on there.

use crate::{
    call::{
        delivery::DeliveryPrompt, permission::PermissionPrompt, prompt::WaitingPrompt,
        question::OpenQuestion, run::Running,
    },
    record::PromptId,
};

/// Where a call stands.
#[derive(Debug)]
pub(super) enum State {
    /// It was made and nothing happened yet.
    New,
    Preparing,
    /// It may run, and waits for a place.
    Ready {
        title: String,
    },
    Running(Running),
    /// It asked, and runs again with the answer.
    Asking(Box<OpenQuestion>),
    /// A person decides whether it runs.
    Permission(PermissionPrompt),
    /// A person decides whether the model sees its result.
    Delivery(DeliveryPrompt),
    /// It has its result, which stands in the turn's history.
    Done,
}

impl State {
    /// All questions that the call waits on: its own, or those of its run.
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

    /// What waits under this prompt.
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

//! Prompts in flight: put to the client, answered by it or by another way, dismissed.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use dashmap::DashMap;
use tokio_util::sync::CancellationToken;

use super::{
    client::reply::ReplyError,
    fallback,
    hub::{Hub, SharedHub},
};
use crate::{
    engine::{TurnHandle, clock::Clock},
    front::{
        error::{RequestError, Result, invalid},
        wire::{
            self,
            methods::{DismissPrompt, ShowPrompt},
            requests::DismissParams,
        },
    },
    session::record::Entry,
    turn::{
        event::{Event, PromptId},
        input::PromptAnswer,
    },
};

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
    /// Cancelled when it is settled.
    pub(super) closed: CancellationToken,
    /// What the client has shown of it.
    pub(super) sight: Arc<Sight>,
}

/// What a client has shown of a prompt: nothing, a part, or the whole.
#[derive(Debug, Default)]
pub(super) struct Sight(AtomicU8);

impl Sight {
    /// It was shown, whole or in part. What was once shown whole stays so.
    pub(super) fn shown(&self, whole: bool) {
        self.0.fetch_max(1 + u8::from(whole), Ordering::Relaxed);
    }

    /// Something of it was shown.
    pub(super) fn was_shown(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// All of it was shown.
    pub(super) fn was_whole(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
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

    /// Those that are open, with their turns.
    pub(super) fn opened(&self) -> Vec<Open> {
        self.open.iter().map(|open| open.clone()).collect()
    }

    /// The prompt of this id, if it is open.
    pub(super) fn get(&self, id: &str) -> Option<Open> {
        self.open.get(id).map(|open| open.clone())
    }

    /// The prompt is settled. False where it was already.
    pub(super) fn settle(&self, id: &str) -> bool {
        let settled = self.open.remove(id);
        settled.is_some_and(|(_, open)| {
            open.closed.cancel();
            true
        })
    }

    /// A turn is over: none of its prompts is open.
    pub(super) fn forget_turn(&self, turn: &str) {
        self.open.retain(|_, open| {
            let stays = open.turn.turn != turn;
            if !stays {
                open.closed.cancel();
            }
            stays
        });
    }
}

/// Puts a prompt to the client.
pub(super) fn ask(hub: &SharedHub, prompt: wire::Prompt, turn: &TurnHandle) {
    let open = Open {
        prompt: Arc::new(prompt),
        turn: turn.clone(),
        closed: CancellationToken::new(),
        sight: Arc::default(),
    };
    let id = open.prompt.prompt_id.clone();
    if let Some(before) = hub.prompts.open.insert(id, open.clone()) {
        // Its answer did not fit, and it is asked again.
        before.closed.cancel();
    }
    if hub.lsp().can().shows_prompts() {
        open.sight.shown(true);
        let asked = request(hub.clone(), open);
        hub.tasks.spawn("prompt", asked);
    } else {
        fallback::prompts::ask(hub, open);
    }
}

async fn request(hub: SharedHub, open: Open) {
    let reply = hub
        .lsp()
        .request::<ShowPrompt>(open.prompt.as_ref().clone());
    let answer = match reply.await {
        Ok(answer) => answer.into(),
        Err(ReplyError::Failed(why)) => PromptAnswer::Failed(why),
        // A client that goes away decides nothing.
        Err(ReplyError::ConnectionOver) => return,
    };
    let id = &open.prompt.prompt_id;
    if hub.prompts.get(id).is_none()
        && matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_))
    {
        // The acknowledgement of a dismissal.
        return;
    }
    let is_answer = !matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_));
    let taken = open.turn.answer(PromptId(id.clone()), answer).await;
    if !taken && is_answer {
        hub.late(&open).await;
    }
}

impl Hub {
    /// Puts an answer on record that came after its turn, if nobody has the conversation open. It changes nothing.
    pub(super) async fn late(&self, open: &Open) {
        let id = &open.turn.conversation;
        // The turn's own last lines come first.
        self.turns.idle(id).await;
        let Ok((conversation, _)) = self.conversation(id) else {
            return;
        };
        // Nothing is waited for while the log is open, so that no turn finds it so.
        let now = Clock::start().now();
        let prompt = PromptId(open.prompt.prompt_id.clone());
        let entry = Entry::from(Event::LateAnswer { prompt });
        let appended = conversation.log(now).map(|mut log| {
            let turn = Some(open.turn.turn.as_str());
            log.append(now, turn, &entry)
        });
        match appended {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a late answer is not on record"),
            Err(error) => tracing::info!(%error, "a late answer is not on record"),
        }
    }

    /// Answers an open prompt in another way than where it was shown.
    pub(super) async fn answer(&self, open: &Open, answer: PromptAnswer) -> Result<()> {
        let id = &open.prompt.prompt_id;
        let prompt = PromptId(id.clone());
        match open.turn.fits(prompt.clone(), answer.clone()).await {
            None => Err(RequestError::UnknownPrompt(id.clone())),
            Some(Err(misfit)) => Err(invalid(format!("answer: {misfit}"))),
            Some(Ok(())) => {
                open.turn.answer(prompt, answer).await;
                self.dismiss(id, "answered in another way").await;
                Ok(())
            }
        }
    }

    /// Takes a prompt off the client's screen.
    pub(super) async fn dismiss(&self, id: &str, reason: &str) {
        self.prompts.settle(id);
        let params = DismissParams {
            prompt_id: id.to_owned(),
            reason: reason.to_owned(),
        };
        self.lsp().notify::<DismissPrompt>(params).await;
    }
}

//! Display of a turn to the client.

use std::sync::Arc;

use aside_turn::{
    effect::DismissReason,
    input::PromptAnswer,
    record::{Level, Vocabulary},
};
use tower_lsp::lsp_types::MessageType;

use crate::{
    engine::TurnNotice,
    front::{
        lsp::{
            client::reply::ReplyError,
            connection::LspConnection,
            fallback::{self, transcript::FallbackTurn},
            progress::TurnProgress,
        },
        notices::{NextWords, notice_text},
        relay::{TurnView, prompts::PendingPrompt},
        wire::{
            self, TurnCompleted, TurnRef, TurnUpdate,
            methods::{DismissPrompt, ShowPrompt, TurnEnded, TurnUpdated},
            requests::DismissParams,
        },
    },
};

/// Maximum number of bytes queued for the client before updates are delayed and joined.
const ENOUGH: usize = 64 * 1024;
/// Words that say what to do next in an editor.
const NEXT: NextWords = NextWords {
    never: "The workspace is not trusted, so only tools that read will run; run `aside trust` in it \
            to change that.",
    again: "then trust it again, in the editor or with `aside trust`",
    servers: "The next message tries it again.",
};

/// A turn that is being shown to the client.
pub(super) struct ClientView {
    at: Arc<LspConnection>,
    turn: TurnRef,
    /// Number of the last update.
    seq: u64,
    /// Display in what LSP has, until the turn is over.
    progress: Option<TurnProgress>,
    /// Display for a fallback client.
    fallback: Option<FallbackTurn>,
}

impl ClientView {
    /// Shows the start of a turn.
    pub(super) async fn start(at: Arc<LspConnection>, turn: TurnRef) -> Self {
        Self {
            fallback: FallbackTurn::start(&at.fallback, &turn).await,
            progress: Some(TurnProgress::start(&at.fallback.handles, &turn)),
            at,
            turn,
            seq: 0,
        }
    }

    async fn changed(&self) {
        let conversation = &self.turn.conversation_id;
        self.at.conversation_changed(conversation).await;
    }
}

impl TurnView for ClientView {
    fn joins(&self) -> bool {
        self.fallback.is_none()
    }

    async fn room(&self) {
        self.at.client.room(ENOUGH).await;
    }

    async fn update(&mut self, update: wire::Update) {
        let title = match &update {
            wire::Update::Title { title } => Some(title.clone()),
            _ => None,
        };
        if let Some(progress) = &mut self.progress {
            progress.update(&update);
        }
        if let Some(fallback) = &mut self.fallback {
            fallback.update(&update).await;
        } else {
            self.seq += 1;
            let params = TurnUpdate {
                conversation_id: self.turn.conversation_id.clone(),
                turn_id: self.turn.turn_id.clone(),
                seq: self.seq,
                update,
            };
            self.at.client.notify::<TurnUpdated>(params).await;
        }
        if let Some(title) = title {
            let conversation = &self.turn.conversation_id;
            self.at.fallback.titles.named(conversation, title);
            self.changed().await;
        }
    }

    fn notice(&mut self, notice: TurnNotice) -> Option<wire::Update> {
        // Other clients show this in their status.
        if notice == TurnNotice::NotTrusted && self.at.client.can().speaks_aside() {
            return None;
        }
        let text = notice_text(&notice, &NEXT);
        // Else each turn would say what holds for all of them.
        let holds_for_all = matches!(
            notice,
            TurnNotice::Configuration(_) | TurnNotice::ServerMissing { .. }
        );
        if holds_for_all && self.at.client.can().speaks_aside() && !self.at.fallback.is_news(&text)
        {
            return None;
        }
        // In clients that show notices as messages, one about the workspace is shown once.
        let is_loud = match notice {
            TurnNotice::Moved(_)
            | TurnNotice::Damage(_)
            | TurnNotice::NotDurable(_)
            | TurnNotice::HeadChanged { .. } => true,
            TurnNotice::Configuration(_)
            | TurnNotice::ServerMissing { .. }
            | TurnNotice::TrustEnded(_)
            | TurnNotice::NotTrusted
            | TurnNotice::NoWorkspace
            | TurnNotice::Unsandboxed => {
                self.at.client.can().speaks_aside() || self.at.fallback.is_news(&text)
            }
        };
        let level = if is_loud { Level::Warning } else { Level::Info };
        Some(wire::Update::Notice { level, text })
    }

    async fn prompt(&mut self, prompt: PendingPrompt) {
        if self.at.client.can().shows_prompts() {
            prompt.sight.shown(true);
            let asked = ask(self.at.clone(), prompt);
            self.at.tasks.spawn("prompt", asked);
        } else {
            fallback::prompts::ask(&self.at.fallback, prompt);
        }
        self.changed().await;
        self.at.status.tell().await;
    }

    async fn dismiss(&mut self, prompt_id: &str, reason: DismissReason) {
        let params = DismissParams {
            prompt_id: prompt_id.to_owned(),
            reason: reason.word().to_owned(),
        };
        self.at.client.notify::<DismissPrompt>(params).await;
        self.at.status.tell().await;
    }

    async fn end(&mut self, completed: Option<TurnCompleted>) {
        self.progress = None;
        self.at.fallback.titles.forget(&self.turn.conversation_id);
        if let Some(fallback) = self.fallback.take() {
            fallback.end(completed.as_ref()).await;
        }
        if let Some(completed) = completed {
            self.at.client.notify::<TurnEnded>(completed).await;
        }
        self.changed().await;
        self.at.status.tell().await;
    }

    async fn warn(&mut self, notice: TurnNotice) {
        let text = notice_text(&notice, &NEXT);
        let client = &self.at.client;
        client.show_message(MessageType::WARNING, &text).await;
    }
}

/// Sends a prompt to a client that speaks Aside's protocol.
async fn ask(at: Arc<LspConnection>, open: PendingPrompt) {
    let reply = at
        .client
        .request::<ShowPrompt>(open.prompt.as_ref().clone());
    let answer = match reply.await {
        Ok(answer) => answer.into(),
        Err(ReplyError::Failed(why)) => PromptAnswer::Failed(why),
        Err(why @ ReplyError::Unknown) => PromptAnswer::Failed(why.to_string()),
        // A client that leaves decides nothing.
        Err(ReplyError::ConnectionOver) => return,
    };
    open.reply(answer, at.engine.conversations()).await;
}

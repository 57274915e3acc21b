//! Display of a turn to the client.

use std::sync::{Arc, Mutex};

use aside_base::lock;
use aside_turn::{
    effect::DismissReason,
    input::PromptAnswer,
    record::{ErrorCode, Level, Outcome},
};

use super::{
    client::SentRequest, connection::AcpConnection, form, permission, session::Session,
    updates::ShownTurn,
};
use crate::{
    engine::TurnNotice,
    front::{
        notices::{NextWords, notice_text},
        relay::{TurnView, prompts::PendingPrompt},
        wire::{Preview, Prompt, PromptKind, TurnCompleted, Update},
    },
};

/// Maximum number of bytes queued for the client before updates are delayed and joined.
const ENOUGH: usize = 64 * 1024;
/// Words that say what to do next in an ACP client.
const NEXT: NextWords = NextWords {
    never: "The workspace is not trusted, so only tools that read will run; send /trust to see what trust \
            would change, or run `aside trust` in it.",
    again: "then send /trust, or run `aside trust` in it",
    servers: "Run `aside mcp list` to try again.",
};

/// End of a turn, once it has ended.
#[derive(Clone, Default)]
pub(super) struct TurnEnding(Arc<Mutex<Option<TurnCompleted>>>);

/// A turn that is being shown to the client.
pub(super) struct SessionView {
    pub(super) at: Arc<AcpConnection>,
    pub(super) session: Arc<Session>,
    pub(super) shown: ShownTurn,
    pub(super) ending: TurnEnding,
}

impl TurnEnding {
    /// The end of the turn; `None` if Aside itself failed.
    pub(super) fn take(&self) -> Option<TurnCompleted> {
        lock(&self.0).take()
    }
}

impl SessionView {
    fn tell(&self, update: agent_client_protocol_schema::v1::SessionUpdate) {
        self.at.client.update(&self.session.id, update);
    }

    fn line(&mut self, level: Level, text: &str) {
        let line = self.shown.line(level, text);
        self.tell(line);
    }

    /// The client's id of a prompt's call.
    fn call_of(&self, prompt: &Prompt) -> Option<&str> {
        self.shown.call_id(&prompt.tool.call_id)
    }
}

impl TurnView for SessionView {
    fn joins(&self) -> bool {
        true
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn shows_whole_texts(&self) -> bool {
        true
    }

    async fn room(&self) {
        self.at.client.room(ENOUGH).await;
    }

    async fn update(&mut self, update: Update) {
        for update in self.shown.update(update) {
            self.tell(update);
        }
    }

    fn notice(&mut self, notice: TurnNotice) -> Option<Update> {
        let text = notice_text(&notice, &NEXT);
        let is_shown = match notice {
            TurnNotice::Moved(_)
            | TurnNotice::Damage(_)
            | TurnNotice::NotDurable(_)
            | TurnNotice::HeadChanged { .. } => true,
            // Each notice is a message on the screen, so one about the workspace is sent once.
            _ => self.session.is_news(&text),
        };
        is_shown.then_some(Update::Notice {
            level: Level::Warning,
            text,
        })
    }

    async fn prompt(&mut self, prompt: PendingPrompt) {
        let asked = &prompt.prompt;
        let client = &self.at.client;
        let request = if asked.kind == PromptKind::Question {
            let request = form::request(&self.session.id, self.call_of(asked), asked);
            request.map(|request| client.request("elicitation/create", request))
        } else {
            let call = self.call_of(asked).map(str::to_owned);
            let call = call.unwrap_or_else(|| format!("{}.{}", asked.turn_id, asked.tool.call_id));
            let request = permission::request(&self.session.id, call, asked, &self.session.root);
            Some(client.request("session/request_permission", request))
        };
        if let Some(Preview::Diff { .. }) = asked.preview {
            let call = asked.tool.call_id.clone();
            self.shown.showed_diff(&call);
        }
        prompt.sight.shown(true);
        let asked = ask(self.at.clone(), prompt, request);
        self.at.tasks.spawn_unawaited("prompt", asked);
    }

    /// Closing the prompt wakes the task that waits for an answer.
    async fn dismiss(&mut self, _: &str, _: DismissReason) {}

    async fn end(&mut self, completed: Option<TurnCompleted>) {
        self.session.costs(self.shown.cost());
        if let Some(completed) = &completed
            && completed.outcome == Outcome::Interrupted
        {
            let text = interrupted(&completed.prompts);
            self.line(Level::Warning, &text);
        }
        if let Some(error) = completed.as_ref().and_then(|it| it.error.as_ref())
            && matches!(
                error.code,
                ErrorCode::Limit | ErrorCode::CutOff | ErrorCode::Repeating
            )
        {
            // The stop reason does not name the limit.
            self.line(Level::Warning, &error.message);
        }
        *lock(&self.ending.0) = completed;
    }

    async fn warn(&mut self, notice: TurnNotice) {
        let text = notice_text(&notice, &NEXT);
        self.line(Level::Warning, &text);
    }
}

/// A sentence about the open prompts of an interrupted turn and how to resume it.
pub(super) fn interrupted(prompts: &[Prompt]) -> String {
    let waits: String = prompts
        .iter()
        .map(|prompt| format!(" {}: {}", prompt.label, prompt.text))
        .collect();
    format!("The turn was interrupted; send /resume to go on with it.{waits}")
}

/// Waits for the client's answer to a prompt. If the prompt is settled in another way, the request is cancelled, and an
/// answer that still comes is recorded as late.
async fn ask(at: Arc<AcpConnection>, open: PendingPrompt, request: Option<SentRequest>) {
    let conversations = at.engine.conversations();
    let Some(mut request) = request else {
        let why = "this client can show no question of this kind".to_owned();
        open.reply(PromptAnswer::Failed(why), conversations).await;
        return;
    };
    let reply = tokio::select! {
        biased;
        reply = request.reply() => reply,
        () = open.closed.cancelled() => {
            request.withdraw();
            request.reply().await
        }
    };
    // A client that leaves decides nothing.
    let Some(reply) = reply else {
        return;
    };
    let answer = match open.prompt.kind {
        PromptKind::Question => form::read(&open.prompt, reply),
        PromptKind::RunTool | PromptKind::DeliverResult => permission::read(&open.prompt, reply),
    };
    open.reply(answer, conversations).await;
}

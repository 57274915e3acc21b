//! The progress of a turn: its title, the last line that was said, and a way to cancel it.

use std::{collections::BTreeSet, time::Duration};

use aside_base::visible::one_line;
use tokio::{sync::watch, time::sleep};
use tower_lsp::lsp_types::{
    ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport, notification,
    request::WorkDoneProgressCreate,
};

use super::{fallback::messages::cut, handles::Handles};
use crate::{
    engine::blocking,
    front::{
        error::{Result, internal},
        wire::{CallStatus, QuestionUpdate, TurnRef, Update},
    },
};

/// Prefix of the progress tokens of turns.
const TOKEN: &str = "aside/turn/";
/// The shortest time between two reports.
const PACE: Duration = Duration::from_millis(100);
/// Bytes that may wait for the client before reports wait too.
const ENOUGH: usize = 64 * 1024;
/// UTF-16 units of a line that are shown.
const WIDTH: usize = 100;

/// What is shown of a turn.
#[derive(Default)]
struct ProgressState {
    /// The last line.
    line: String,
    /// Whether a person has to decide something before it goes on.
    waits: bool,
}

/// The progress of a turn, which is over when this is dropped. A client that shows prompts has none while one of them
/// waits: the person would see work where there is none.
pub(super) struct TurnProgress {
    shown: watch::Sender<ProgressState>,
    last: LastLine,
    /// Ids of the prompts that wait, for a client that shows them.
    waiting: Option<BTreeSet<String>>,
}

impl TurnProgress {
    /// Shows that a turn runs, where the client can show it.
    pub(super) fn start(handles: &Handles, turn: &TurnRef) -> Self {
        let (tell, shown) = watch::channel(ProgressState::default());
        let can = handles.client.can();
        if can.shows_progress() {
            handles
                .tasks
                .spawn("progress", show(handles.clone(), turn.clone(), shown));
        }
        Self {
            shown: tell,
            last: LastLine::default(),
            waiting: can.shows_prompts().then(BTreeSet::new),
        }
    }

    /// Takes in what happened.
    pub(super) fn update(&mut self, update: &Update) {
        let line = self.last.update(update);
        let waits = match (&mut self.waiting, update) {
            (Some(waiting), Update::Question(question)) => {
                match question {
                    QuestionUpdate::Opened { prompt_id, .. } => {
                        waiting.insert(prompt_id.clone());
                    }
                    QuestionUpdate::Closed { prompt_id, .. } => {
                        waiting.remove(prompt_id);
                    }
                }
                !waiting.is_empty()
            }
            _ => self.shown.borrow().waits,
        };
        self.shown.send_if_modified(|shown| {
            let is_news = line.is_some() || shown.waits != waits;
            shown.waits = waits;
            if let Some(line) = line {
                shown.line = line;
            }
            is_news
        });
    }
}

/// The turn that a progress token belongs to.
pub(super) fn cancelled_turn(token: &ProgressToken) -> Option<&str> {
    match token {
        ProgressToken::String(token) => {
            let (_, turn) = token.strip_prefix(TOKEN)?.split_once('/')?;
            Some(turn)
        }
        ProgressToken::Number(_) => None,
    }
}

async fn show(at: Handles, turn: TurnRef, mut shown: watch::Receiver<ProgressState>) {
    // A token is for one progress.
    for number in 1_u32.. {
        let token = ProgressToken::String(format!("{TOKEN}{number}/{}", turn.turn_id));
        let goes_on = show_one(&at, &turn, &token, &mut shown).await;
        if !goes_on || shown.wait_for(|shown| !shown.waits).await.is_err() {
            return;
        }
    }
}

/// Shows a progress until the turn waits for a person. Returns false where the turn is over, or the client shows none.
async fn show_one(
    at: &Handles,
    turn: &TurnRef,
    token: &ProgressToken,
    shown: &mut watch::Receiver<ProgressState>,
) -> bool {
    let params = WorkDoneProgressCreateParams {
        token: token.clone(),
    };
    let created = at.client.request::<WorkDoneProgressCreate>(params).await;
    if created.is_err() {
        return false;
    }
    // Some clients show a progress from its creation on, so that the end follows also where the turn is over by now.
    let begin = WorkDoneProgressBegin {
        title: title(at, turn.conversation_id.clone()).await,
        cancellable: Some(true),
        ..WorkDoneProgressBegin::default()
    };
    tell(at, token, WorkDoneProgress::Begin(begin)).await;
    let goes_on = loop {
        if shown.changed().await.is_err() {
            break false;
        }
        let line = {
            let shown = shown.borrow_and_update();
            if shown.waits {
                break true;
            }
            shown.line.clone()
        };
        let report = WorkDoneProgressReport {
            cancellable: Some(true),
            message: Some(line),
            percentage: None,
        };
        at.client.room(ENOUGH).await;
        tell(at, token, WorkDoneProgress::Report(report)).await;
        sleep(PACE).await;
    };
    let end = WorkDoneProgressEnd::default();
    tell(at, token, WorkDoneProgress::End(end)).await;
    goes_on
}

async fn tell(at: &Handles, token: &ProgressToken, value: WorkDoneProgress) {
    let params = ProgressParams {
        token: token.clone(),
        value: ProgressParamsValue::WorkDone(value),
    };
    at.client.notify::<notification::Progress>(params).await;
}

async fn title(at: &Handles, conversation: String) -> String {
    let workspace = at.workspace.clone();
    let listed = blocking(move || -> Result<_> {
        let (conversation, _) = workspace.conversation(&conversation)?;
        conversation.listed().map_err(internal)
    });
    match listed
        .await
        .ok()
        .map(|listed| cut(&one_line(&listed.title), WIDTH / 2))
    {
        Some(title) if !title.is_empty() => format!("Aside: {title}"),
        _ => "Aside".to_owned(),
    }
}

/// The last line that a turn said.
#[derive(Debug, Default)]
struct LastLine {
    /// The text of the step from its last line on.
    text: String,
}

impl LastLine {
    /// Takes in what happened, and gives the line that is now the last; `None` where that is no news.
    fn update(&mut self, update: &Update) -> Option<String> {
        let line = match update {
            Update::Text { text, .. } => return self.piece(text),
            Update::ToolCall {
                name,
                title,
                status: CallStatus::Running,
                ..
            } if title.is_empty() => name.clone(),
            Update::ToolCall {
                title,
                status: CallStatus::Running,
                ..
            } => title.clone(),
            Update::Question(QuestionUpdate::Opened { text, .. }) => {
                format!("waits for you: {text}")
            }
            Update::Retry { reason, .. } => format!("tries again: {reason}"),
            _ => return None,
        };
        self.text.clear();
        Some(shown(&line))
    }

    fn piece(&mut self, piece: &str) -> Option<String> {
        self.text.push_str(piece);
        let kept = self.text.trim_end().rfind('\n').map_or(0, |end| end + 1);
        self.text.drain(..kept);
        let line = self.text.trim();
        (!line.is_empty()).then(|| shown(line))
    }
}

fn shown(line: &str) -> String {
    cut(&one_line(line), WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_last_that_says_something() {
        let mut line = LastLine::default();
        let text = |text: &str| Update::Text {
            step: 1,
            text: text.into(),
        };
        let running = |title: &str| Update::ToolCall {
            step: 1,
            call_id: "c".into(),
            name: "search".into(),
            title: title.into(),
            arguments: "{}".into(),
            status: CallStatus::Running,
        };
        for (update, expected) in [
            (text("First"), Some("First")),
            (text(" line\n"), Some("First line")),
            (text("\n"), Some("First line")),
            (text("Second \x1b\n\nThird"), Some("Third")),
            (running("Search for x"), Some("Search for x")),
            (running(""), Some("search")),
            (text("\n"), None),
            (text("After"), Some("After")),
        ] {
            assert_eq!(line.update(&update).as_deref(), expected, "{update:?}");
        }
        let long = line.update(&text(&"x".repeat(500)));
        assert_eq!(long.map(|line| line.chars().count()), Some(WIDTH));
    }

    #[test]
    fn a_token_names_its_turn() {
        let token = |text: &str| ProgressToken::String(text.into());
        assert_eq!(cancelled_turn(&token("aside/turn/2/t1")), Some("t1"));
        assert_eq!(cancelled_turn(&token("other")), None);
        assert_eq!(cancelled_turn(&ProgressToken::Number(1)), None);
    }
}

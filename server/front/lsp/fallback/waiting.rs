//! Notice about interrupted turns for a person who comes back, shown once with the first opened document.

use std::{sync::Arc, time::Duration};

use aside_session::conversation::{ConversationActivity, ConversationSummary};
use tower_lsp::lsp_types::MessageType;

use super::{messages::asked, state::Fallback};
use crate::{
    engine::{blocking, clock::Clock},
    front::{error::Result, relay::interrupted::left_open, wire::methods::commands::RESUME},
};

/// Maximum age of a question that the notice names.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// A document was opened: with the first, a fallback client is told what waits for an answer
/// since an earlier session. Nothing waits for that.
pub(in crate::front::lsp) fn document_opened(at: &Arc<Fallback>) {
    if at.handles.client.can().speaks_aside() || !at.is_first_document() {
        return;
    }
    let (tasks, at) = (&at.handles.tasks, at.clone());
    tasks.spawn("waiting prompts", async move {
        match waiting(&at, Clock::start().now()).await {
            Ok(Some(text)) => at.say(MessageType::INFO, &text).await,
            Ok(None) => {}
            Err(why) => tracing::warn!(%why, "nobody knows what waits for an answer"),
        }
    });
}

async fn waiting(at: &Arc<Fallback>, now: Duration) -> Result<Option<String>> {
    let workspace = at.handles.workspace.clone();
    let all = blocking(move || workspace.conversations_by_age()).await?;
    let Some((found, is_next)) = recent(&all, now) else {
        return Ok(None);
    };
    if at
        .handles
        .engine
        .conversations()
        .running()
        .is_running(&found.id)
    {
        return Ok(None);
    }
    let (workspace, id) = (at.handles.workspace.clone(), found.id.clone());
    let asks = blocking(move || -> Result<_> {
        let (conversation, _) = workspace.conversation(&id)?;
        let prompts = left_open(&conversation)?;
        Ok(prompts.into_iter().map(|prompt| prompt.text).collect())
    });
    let asks: Vec<String> = asks.await?;
    let id = (!is_next).then_some(found.id.as_str());
    Ok(notice(&asks, id))
}

/// The first of these, which come newest first, that was left with an open question a short while ago, and whether it
/// is the one that a resume goes on with where none is named.
fn recent(listed: &[ConversationSummary], now: Duration) -> Option<(&ConversationSummary, bool)> {
    let mut interrupted = listed
        .iter()
        .filter(|listed| listed.status == ConversationActivity::Interrupted)
        .enumerate();
    let (at, found) = interrupted
        .find(|(_, listed)| listed.prompts > 0 && now.saturating_sub(listed.updated) <= RECENT)?;
    Some((found, at == 0))
}

/// Sentence about the questions of a waiting turn and its resume; names the conversation if needed.
fn notice(asks: &[String], conversation: Option<&str>) -> Option<String> {
    let (first, others) = asks.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let named = conversation.map_or_else(String::new, |id| {
        format!(" {{\"conversationId\":\"{id}\"}}")
    });
    Some(format!(
        "A turn that was interrupted asks “{}”{more}; the command {RESUME}{named} goes on with it.",
        asked(first)
    ))
}

#[cfg(test)]
mod tests {
    use aside_turn::response::Usage;

    use super::*;

    #[test]
    fn what_was_left_open_within_a_day_waits() {
        let hour = |hour: u64| Duration::from_secs(hour * 60 * 60);
        let listed = |id: &str, age: u64, status, prompts| ConversationSummary {
            id: id.into(),
            title: String::new(),
            created: hour(1),
            updated: hour(100 - age),
            turns: 1,
            usage: Usage::default(),
            status,
            prompts,
        };
        let interrupted =
            |id: &str, age, prompts| listed(id, age, ConversationActivity::Interrupted, prompts);
        for (all, expected) in [
            (vec![], None),
            (vec![interrupted("a", 24, 1)], Some(("a", true))),
            (vec![interrupted("a", 25, 1)], None),
            (vec![interrupted("a", 1, 0)], None),
            (vec![listed("a", 1, ConversationActivity::Waiting, 1)], None),
            (
                vec![
                    listed("a", 1, ConversationActivity::Idle, 0),
                    interrupted("b", 2, 1),
                ],
                Some(("b", true)),
            ),
            (
                vec![interrupted("a", 1, 0), interrupted("b", 2, 1)],
                Some(("b", false)),
            ),
        ] {
            let found =
                recent(&all, hour(100)).map(|(found, is_next)| (found.id.as_str(), is_next));
            assert_eq!(found, expected, "{all:?}");
        }
    }

    #[test]
    fn it_is_said_what_it_asks_and_how_it_goes_on() {
        let asks = ["Push?", "Which?", "Why?"].map(String::from);
        for (count, conversation, expected) in [
            (0, None, None),
            (
                1,
                None,
                Some("asks “Push?”; the command aside.server.resume goes on with it."),
            ),
            (
                3,
                Some("c1"),
                Some(
                    "asks “Push?” and 2 more; the command aside.server.resume {\"conversationId\":\"c1\"} goes on with it.",
                ),
            ),
        ] {
            let expected = expected.map(|end| format!("A turn that was interrupted {end}"));
            assert_eq!(notice(&asks[..count], conversation), expected);
        }
    }
}

//! `aside conversation list`.

use std::time::Duration;

use aside_base::visible::one_line;
use aside_session::{
    conversation::{ConversationActivity, ConversationSummary},
    store::Store,
};
use jiff::{Timestamp, tz::TimeZone};

use crate::front::headless::{failure::CommandFailure, streams::Streams};

/// Lists conversations, newest first: id, status, number of turns, time of the last record, number of open prompts if
/// there are any, and the title.
pub(super) fn run(store: &Store, streams: &mut Streams<'_>) -> Result<(), CommandFailure> {
    let list = store.list()?;
    if list.is_empty() {
        streams.note("There is no conversation in this workspace yet; `aside run` starts one.");
    }
    streams.say(&table(&list, &TimeZone::system()))
}

/// Renders one line per conversation.
fn table(list: &[ConversationSummary], zone: &TimeZone) -> String {
    let rows: Vec<[String; 6]> = list.iter().map(|listed| row(listed, zone)).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        // An empty column is omitted.
        for (cell, width) in row.iter().zip(widths).filter(|(_, width)| *width > 0) {
            line += &format!("{cell:<width$}  ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn row(listed: &ConversationSummary, zone: &TimeZone) -> [String; 6] {
    let status = match listed.status {
        ConversationActivity::Idle => "idle",
        ConversationActivity::Running => "running",
        ConversationActivity::Waiting => "waiting",
        ConversationActivity::Interrupted => "interrupted",
    };
    [
        listed.id.clone(),
        status.to_owned(),
        count(listed.turns as usize, "turn"),
        minute(listed.updated, zone),
        match listed.prompts {
            0 => String::new(),
            prompts => count(prompts, "open prompt"),
        },
        one_line(&listed.title),
    ]
}

fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// A time since the Unix epoch in local time.
fn minute(time: Duration, zone: &TimeZone) -> String {
    let stamp = Timestamp::UNIX_EPOCH
        .checked_add(time)
        .unwrap_or(Timestamp::MAX);
    let local = stamp.to_zoned(zone.clone());
    local.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use aside_turn::response::Usage;

    use super::*;

    fn listed(
        id: &str,
        status: ConversationActivity,
        turns: u32,
        title: &str,
    ) -> ConversationSummary {
        ConversationSummary {
            id: id.into(),
            title: title.into(),
            created: Duration::ZERO,
            updated: Duration::from_secs(1_700_000_000 + u64::from(turns) * 60),
            turns,
            usage: Usage::default(),
            status,
            prompts: 0,
        }
    }

    fn check(list: &[ConversationSummary], expected: &[&str]) {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let table = table(list, &zone);
        assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn conversations_are_listed_one_per_line() {
        check(&[], &[]);
        check(
            &[
                listed(
                    "c1",
                    ConversationActivity::Running,
                    1,
                    "Fix\x1b[2J the\nupload",
                ),
                listed("c22", ConversationActivity::Interrupted, 12, ""),
            ],
            &[
                "c1   running      1 turn    2023-11-15 00:14  Fix␛[2J the␊upload",
                "c22  interrupted  12 turns  2023-11-15 00:25",
            ],
        );
    }

    #[test]
    fn open_prompts_add_a_column() {
        let waiting = ConversationSummary {
            prompts: 2,
            ..listed("c1", ConversationActivity::Waiting, 2, "Ask me")
        };
        check(
            &[waiting, listed("c2", ConversationActivity::Idle, 2, "Hi")],
            &[
                "c1  waiting  2 turns  2023-11-15 00:15  2 open prompts  Ask me",
                "c2  idle     2 turns  2023-11-15 00:15                  Hi",
            ],
        );
    }
}

//! Queue of the updates of one turn for a client.
//!
//! Pieces of the same text are joined while they wait: if the client is slow, and within 8 ms of the previous piece,
//! because one message per piece costs the client too much. A piece without a recent predecessor is sent at once. So is
//! any other update, after everything before it. The order is kept, except among outputs of calls that run at the same
//! time. Nothing is dropped unless more than [`MAX_PENDING`] bytes wait.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, io, time::Duration};

use aside_turn::record::Level;
use tokio::time::Instant;

use crate::front::wire::Update;

/// Time for which pieces wait for others after some were sent.
pub const PACE: Duration = Duration::from_millis(8);

/// Approximate maximum number of bytes that wait for a client. Beyond it the updates are dropped: the log has them, and
/// the turn must not wait for the client.
pub const MAX_PENDING: usize = 8 * 1024 * 1024;

/// Notice in place of dropped updates.
const DROPPED_NOTICE: &str = "Part of this turn is not shown, because the client did not read it in time; reopen the conversation to see all of it.";

/// Approximate size in bytes of an update without its text.
const ENVELOPE_SIZE: usize = 128;

/// Updates in order of arrival.
#[derive(Debug, Default)]
pub struct JoinedUpdates {
    queue: VecDeque<QueuedUpdate>,
    bytes: usize,
    /// Number of updates at the front that do not wait for others.
    ready: usize,
    /// The next time at which pieces may be sent; `None` if none were sent yet.
    next: Option<Instant>,
}

#[derive(Debug)]
struct QueuedUpdate {
    update: Update,
    weight: usize,
}

impl JoinedUpdates {
    /// Adds an update, or appends it to a waiting one if both are pieces of the same text. If too much waits,
    /// everything is dropped and replaced by a notice.
    pub fn push(&mut self, update: Update) {
        self.add(update);
        if self.bytes > MAX_PENDING {
            *self = Self {
                next: self.next,
                ..Self::default()
            };
            self.add(Update::Notice {
                level: Level::Warning,
                text: DROPPED_NOTICE.to_owned(),
            });
        }
    }

    fn add(&mut self, update: Update) {
        for last in self.queue.iter_mut().rev() {
            if let Some(added) = join(&mut last.update, &update) {
                last.weight += added;
                self.bytes += added;
                return;
            }
            if !matches!(
                (&last.update, &update),
                (Update::ToolOutput { .. }, Update::ToolOutput { .. })
            ) {
                break;
            }
        }
        let (weight, is_piece) = (weight(&update), is_piece(&update));
        self.bytes += weight;
        self.queue.push_back(QueuedUpdate { update, weight });
        if !is_piece {
            self.ready = self.queue.len();
        }
    }

    /// The time at which the first update may be taken; `None` for now.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.next.filter(|_| self.ready == 0)
    }

    /// Takes the first update. If pieces were due, all waiting updates may follow, and the next ones are due 8 ms after
    /// `now`.
    pub fn pop(&mut self, now: Instant) -> Option<Update> {
        let QueuedUpdate { update, weight } = self.queue.pop_front()?;
        self.bytes -= weight;
        if self.ready == 0 {
            self.ready = self.queue.len() + 1;
            self.next = Some(now + PACE);
        }
        self.ready -= 1;
        Some(update)
    }

    /// Approximate size of the waiting updates in bytes, at most [`MAX_PENDING`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether no update waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Appends `next` to `last` if both belong to the same text. Returns the number of bytes added.
fn join(last: &mut Update, next: &Update) -> Option<usize> {
    use Update::{Reasoning, Text, ToolOutput};
    let (text, more) = match (last, next) {
        (
            Text { step, text },
            Text {
                step: same,
                text: more,
            },
        )
        | (
            Reasoning { step, text },
            Reasoning {
                step: same,
                text: more,
            },
        ) if step == same => (text, more),
        (
            ToolOutput { call_id, text },
            ToolOutput {
                call_id: same,
                text: more,
            },
        ) if call_id == same => (text, more),
        _ => return None,
    };
    text.push_str(more);
    Some(more.len())
}

/// Whether more of the same text may follow.
fn is_piece(update: &Update) -> bool {
    matches!(
        update,
        Update::Text { .. } | Update::Reasoning { .. } | Update::ToolOutput { .. }
    )
}

fn weight(update: &Update) -> usize {
    match update {
        Update::Text { text, .. }
        | Update::Reasoning { text, .. }
        | Update::ToolOutput { text, .. } => ENVELOPE_SIZE + text.len(),
        other => {
            let mut count = Count(ENVELOPE_SIZE);
            // After an error the bytes written so far count.
            _ = serde_json::to_writer(&mut count, other);
            count.0 + whole_texts(other)
        }
    }
}

/// Size in bytes of the whole texts of changes, which are not serialised.
fn whole_texts(update: &Update) -> usize {
    let Update::Edit { changes, .. } = update else {
        return 0;
    };
    let texts = changes.iter().filter_map(|change| change.whole.as_ref());
    let sizes = texts.map(|texts| texts.old.as_ref().map_or(0, String::len) + texts.new.len());
    sizes.sum()
}

/// Counts written bytes.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

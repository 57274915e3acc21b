//! The updates of one turn on their way to a client.
//!
//! Pieces of text that wait become one: for a client that reads slowly, and for 8 ms after the last piece that went,
//! since a message a piece costs the client more than it shows. A piece that stands alone goes at once, and anything
//! but a piece goes at once with all that came before it. Nothing changes places, but what one call prints among what
//! others print at the same time. Nothing is left out, unless a client reads so little that more than [`MOST`] waits.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, io, time::Duration};

use aside_turn::record::Level;
use tokio::time::Instant;

use crate::front::wire::Update;

/// How long pieces wait for others after some went.
pub const PACE: Duration = Duration::from_millis(8);

/// About how many bytes of a turn wait for a client at the most. Where there are more, they are left out: the record has
/// them, and the turn need not wait for who reads.
pub const MOST: usize = 8 * 1024 * 1024;

/// What stands in the place of what was left out.
const LEFT_OUT: &str = "A part of this turn is not shown here, since what came was not read; open the conversation anew to see all of it.";

/// What an update weighs besides its text, in bytes: about what its envelope takes on the wire.
const ENVELOPE: usize = 128;

/// Updates in the order in which they came.
#[derive(Debug, Default)]
pub struct JoinedUpdates {
    queue: VecDeque<QueuedUpdate>,
    bytes: usize,
    /// How many of them, from the first, need not wait for others.
    ready: usize,
    /// When pieces may go again; none went before.
    next: Option<Instant>,
}

#[derive(Debug)]
struct QueuedUpdate {
    update: Update,
    weight: usize,
}

impl JoinedUpdates {
    /// Adds an update: to one that waits, where both are pieces of the same text. Where too much waits all of it is left
    /// out, and a notice says so.
    pub fn push(&mut self, update: Update) {
        self.add(update);
        if self.bytes > MOST {
            *self = Self {
                next: self.next,
                ..Self::default()
            };
            self.add(Update::Notice {
                level: Level::Warning,
                text: LEFT_OUT.to_owned(),
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

    /// When the first update that waits may be taken; `None` where it may be at once.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.next.filter(|_| self.ready == 0)
    }

    /// Takes the first update, joined or not. Where pieces were due, all that wait may be taken after it, and the
    /// next ones are due 8 ms from `now`.
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

    /// About how many bytes the waiting updates take on the wire: at most [`MOST`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Appends `next` to `last` where it goes on with the same text; says how many bytes were added.
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
        | Update::ToolOutput { text, .. } => ENVELOPE + text.len(),
        other => {
            let mut count = Count(ENVELOPE);
            // What cannot be written weighs what could be, until then.
            _ = serde_json::to_writer(&mut count, other);
            count.0
        }
    }
}

/// Counts what is written.
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

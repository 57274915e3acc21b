//! The updates of one turn that wait for a slow client.
//!
//! Pieces of text that wait side by side become one, so a slow client gets fewer messages, not later ones:
//! whatever is there can be taken at once. Nothing is lost and nothing changes places.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, io};

use crate::front::wire::Update;

/// What an update weighs besides its text, in bytes: about what its envelope takes on the wire.
const ENVELOPE: usize = 128;

/// Updates in the order in which they came.
#[derive(Debug, Default)]
pub struct JoinedUpdates {
    queue: VecDeque<QueuedUpdate>,
    bytes: usize,
}

#[derive(Debug)]
struct QueuedUpdate {
    update: Update,
    weight: usize,
}

impl JoinedUpdates {
    /// Adds an update: to the last one, where both are pieces of the same text.
    pub fn push(&mut self, update: Update) {
        if let Some(last) = self.queue.back_mut()
            && let Some(added) = join(&mut last.update, &update)
        {
            last.weight += added;
            self.bytes += added;
            return;
        }
        let weight = weight(&update);
        self.bytes += weight;
        self.queue.push_back(QueuedUpdate { update, weight });
    }

    /// Takes the first update, joined or not.
    pub fn pop(&mut self) -> Option<Update> {
        let QueuedUpdate { update, weight } = self.queue.pop_front()?;
        self.bytes -= weight;
        Some(update)
    }

    /// About how many bytes the waiting updates take on the wire. Whoever pushes stops at a bound of its own.
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

//! The state of a conversation before a turn, read from its log or kept since the last turn.

use std::{
    collections::{BTreeSet, HashSet},
    io,
    sync::Arc,
};

use aside_provider::{ReadMedia, SharedBody};
use aside_session::{
    blobs::Blobs,
    conversation::Conversation,
    lines::UnreadableLine,
    log::LogMark,
    record::{Frozen, Record},
    replay::{
        self, conversation::ConversationFold, outline::ConversationOutline,
        taken_back::UndoneSummaries,
    },
};
use aside_tool::FileSnapshots;
use aside_turn::{
    input::Time,
    record::{Event, Refused},
};
use tokio::task::spawn_blocking;

use super::{
    growing::{GrowingTranscript, ReadHistory},
    lost::{LostPart, lost},
};

/// Bytes of a log from which on what was said in it is not waited for.
const LONG: u64 = 8 * 1024 * 1024;

/// The state of a conversation before a turn. If it is kept from the last turn, the log need not be read again.
pub struct ConversationState {
    /// Transcript for providers.
    pub(in crate::engine) transcript: GrowingTranscript,
    /// Encoded common part of requests.
    pub(in crate::engine) shared: Arc<SharedBody>,
    /// Frozen beginning of requests; `None` before the first request.
    pub(in crate::engine) frozen: Option<Frozen>,
    /// Features that models refused.
    pub(in crate::engine) learned: BTreeSet<(String, Refused)>,
    /// Snapshots of files as the model last saw them.
    pub(in crate::engine) seen: FileSnapshots,
    /// Ids of the conversation's turns.
    pub(in crate::engine) turns: HashSet<String>,
    /// When a request to a model was under way last.
    pub(in crate::engine) asked_at: Option<Time>,
    /// The last turn, if its end is not on record.
    pub(in crate::engine) unended: Option<replay::Turn>,
    /// Parts of the log that could not be read.
    pub(in crate::engine) faults: Vec<LostPart>,
    /// Mark of the log of which a kept state is the state. Only as long as the log has it, the state counts.
    pub(in crate::engine) mark: Option<LogMark>,
}

impl ConversationState {
    /// Reads the first `length` bytes of the log on a blocking thread. What was said in a long one is read on while the
    /// turn begins.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub(in crate::engine) async fn read(
        conversation: &Conversation,
        length: u64,
    ) -> io::Result<Self> {
        let media = read_media(conversation.blobs());
        let shared = SharedBody::with_media(conversation.id().to_owned(), media);
        let shared = Arc::new(shared);
        if length > LONG {
            let of = conversation.clone();
            let outline = spawn_blocking(move || of.outline(length)).await;
            if let Some(outline) = outline.map_err(io::Error::other)?? {
                let of = conversation.clone();
                let read = spawn_blocking(move || {
                    let (read, faults) = ReadState::of(&of, length)?;
                    let folded = read.fold.end();
                    let faults = faults.iter();
                    Ok(ReadHistory {
                        faults: faults.map(|fault| lost(fault, &folded.reported)).collect(),
                        transcript: folded.transcript,
                        seen: read.seen,
                    })
                });
                let transcript = GrowingTranscript::coming(read, outline.fullness.clone());
                return Ok(Self::outlined(outline, transcript, shared));
            }
        }
        let of = conversation.clone();
        let read = spawn_blocking(move || ReadState::of(&of, length)).await;
        let (read, faults) = read.map_err(io::Error::other)??;
        Ok(Self::of(read, &faults, shared))
    }

    fn outlined(
        outline: ConversationOutline,
        transcript: GrowingTranscript,
        shared: Arc<SharedBody>,
    ) -> Self {
        Self {
            transcript,
            shared,
            frozen: outline.frozen,
            learned: outline.learned,
            seen: FileSnapshots::default(),
            turns: outline.turns,
            asked_at: outline.asked_at,
            unended: outline.last.filter(|last| !last.has_ended()),
            faults: Vec::new(),
            mark: None,
        }
    }

    /// Waits for what was said in a log that is read while the turn begins.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub(in crate::engine) async fn arrive(&mut self) -> io::Result<()> {
        if let Some((seen, faults)) = self.transcript.arrive().await? {
            self.seen = seen;
            self.faults = faults;
        }
        Ok(())
    }

    /// Whether this is the state of a log with that mark.
    pub(in crate::engine) fn is_of(&self, mark: Option<LogMark>) -> bool {
        self.mark.is_some() && self.mark == mark
    }

    fn of(read: ReadState, faults: &[UnreadableLine], shared: Arc<SharedBody>) -> Self {
        let ReadState { fold, seen, .. } = read;
        let folded = fold.end();
        let faults = faults.iter();
        Self {
            transcript: folded.transcript.into(),
            shared,
            frozen: folded.frozen,
            learned: folded.learned,
            seen,
            turns: folded.turns,
            asked_at: folded.asked_at,
            unended: folded.last.filter(|last| !last.has_ended()),
            faults: faults.map(|fault| lost(fault, &folded.reported)).collect(),
            mark: None,
        }
    }
}

/// State of a conversation while its log is read.
#[derive(Default)]
struct ReadState {
    fold: ConversationFold,
    seen: FileSnapshots,
    undone: UndoneSummaries,
}

impl ReadState {
    /// Reads a log; once more, if it turns out that summaries in it were taken back.
    fn of(conversation: &Conversation, length: u64) -> io::Result<(Self, Vec<UnreadableLine>)> {
        let known = UndoneSummaries::default();
        let first =
            conversation.read_into(length, |into: &mut Self, record| into.take(record, &known))?;
        if first.0.undone.is_empty() {
            return Ok(first);
        }
        let known = first.0.undone;
        conversation.read_into(length, |into: &mut Self, record| into.take(record, &known))
    }

    fn take(&mut self, record: Record, known: &UndoneSummaries) {
        self.undone.take(&record);
        if let Some(event) = record.entry.event() {
            if let Event::ToolResult {
                details: Some(details),
                ..
            } = event
            {
                self.seen.restore(details);
            }
            self.seen.follow(event);
        }
        self.fold.take(record, known);
    }
}

/// Reads the images and PDFs of a conversation, up to the maximum size of attachments.
fn read_media(blobs: Blobs) -> ReadMedia {
    ReadMedia::new(move |media| {
        if media.size > media.media_type.most() {
            return None;
        }
        let read = blobs.read_whole(&media.blob, media.size);
        read.inspect_err(|error| tracing::warn!(blob = media.blob, %error, "an attachment is lost"))
            .ok()
    })
}

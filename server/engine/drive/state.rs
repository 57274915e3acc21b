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
    lines::{LogLines, UnreadableLine},
    record::Frozen,
    replay::{self, conversation::ConversationFold},
};
use aside_tool::FileSnapshots;
use aside_turn::{
    model_text::ModelText,
    record::{DirectiveKind, Event, FaultKind, Refused},
    transcript::Transcript,
};

/// The state of a conversation before a turn. If it is kept from the last turn, the log need not be read again.
pub struct ConversationState {
    /// Transcript for providers.
    pub(in crate::engine) transcript: Transcript,
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
    /// The last turn, if it can be resumed.
    pub(in crate::engine) interrupted: Option<replay::Turn>,
    /// Parts of the log that could not be read.
    pub(in crate::engine) faults: Vec<LostPart>,
    /// Number of the next event.
    pub(in crate::engine) next: u64,
}

impl ConversationState {
    /// Reads the log on a blocking thread.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub(in crate::engine) async fn read(
        conversation: &Conversation,
        next: u64,
    ) -> io::Result<Self> {
        let conversation = conversation.clone();
        let media = read_media(conversation.blobs());
        let shared = SharedBody::with_media(conversation.id().to_owned(), media);
        let shared = Arc::new(shared);
        let read = tokio::task::spawn_blocking(move || {
            let lines = conversation.read_all()?;
            Ok(Self::of(lines, shared, next))
        });
        read.await.unwrap_or_else(|_| {
            Err(io::Error::other(
                "reading the log failed because of an error in Aside",
            ))
        })
    }

    fn of(lines: LogLines, shared: Arc<SharedBody>, next: u64) -> Self {
        let (mut fold, mut seen) = (ConversationFold::default(), FileSnapshots::default());
        for record in lines.records {
            if let Some(Event::ToolResult {
                details: Some(details),
                ..
            }) = record.entry.event()
            {
                seen.restore(details);
            }
            fold.take(record);
        }
        let folded = fold.end();
        let faults = lines.faults.iter();
        Self {
            transcript: folded.transcript,
            shared,
            frozen: folded.frozen,
            learned: folded.learned,
            seen,
            turns: folded.turns,
            interrupted: folded.last.filter(replay::Turn::is_interrupted),
            faults: faults.map(|fault| lost(fault, &folded.reported)).collect(),
            next,
        }
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

/// A part of the log that could not be read.
pub(in crate::engine) struct LostPart {
    /// Description and position of the part.
    pub(in crate::engine) text: String,
    /// Report for the model; `None` if the model already has it.
    pub(in crate::engine) report: Option<Event>,
}

/// Describes a part of the log that could not be read. `reported` are the faults that the model knows.
fn lost(fault: &UnreadableLine, reported: &HashSet<(u64, FaultKind)>) -> LostPart {
    let text = format!("{fault}; it was left out.");
    let kind = DirectiveKind::Lost {
        line: fault.line,
        fault: fault.kind.into(),
    };
    let report = (!reported.contains(&(fault.line, fault.kind))).then(|| Event::Directive {
        text: ModelText::default().directive(&kind, &text),
        kind,
    });
    LostPart { text, report }
}

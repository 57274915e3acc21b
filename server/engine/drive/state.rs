//! What a conversation was before a turn: read from its log, or kept since the turn before.

use std::{
    collections::{BTreeSet, HashSet},
    io,
    sync::Arc,
};

use aside_turn::{
    model_text::ModelText,
    record::{DirectiveKind, Event, FaultKind, Word},
    response::Feature,
    transcript::Transcript,
};

use crate::{
    provider::{ReadMedia, SharedBody},
    session::{
        blobs::Blobs,
        conversation::Conversation,
        lines::{LogLines, UnreadableLine},
        record::Frozen,
        replay::{self, conversation::ConversationFold},
    },
    tool::FileSnapshots,
};

/// What a conversation was before a turn. A front end that stays may give it to the next turn, which need not read
/// the log again then.
pub struct ConversationState {
    /// What providers were sent.
    pub(in crate::engine) transcript: Transcript,
    /// Its last requests, encoded.
    pub(in crate::engine) shared: Arc<SharedBody>,
    /// What its requests begin with; none before the first.
    pub(in crate::engine) frozen: Option<Frozen>,
    /// What models refused.
    pub(in crate::engine) learned: BTreeSet<(String, Word<Feature>)>,
    /// What the model knows of the files.
    pub(in crate::engine) seen: FileSnapshots,
    /// The ids of its turns.
    pub(in crate::engine) turns: HashSet<String>,
    /// Its last turn, where that can be resumed.
    pub(in crate::engine) interrupted: Option<replay::Turn>,
    /// What could not be read.
    pub(in crate::engine) faults: Vec<LostPart>,
    /// The number of the next event.
    pub(in crate::engine) next: u64,
}

impl ConversationState {
    /// Reads the log on a thread that may wait.
    ///
    /// # Errors
    /// Where it cannot be read.
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
        read.await
            .unwrap_or_else(|_| Err(io::Error::other("reading it failed inside Aside")))
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

/// Reads the images and PDFs of a conversation. More than may be attached is never read.
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
    /// What and where, in words.
    pub(in crate::engine) text: String,
    /// What the model is told of it; none where it was told already.
    pub(in crate::engine) report: Option<Event>,
}

/// A part of the log that could not be read, where the model knows of these faults.
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

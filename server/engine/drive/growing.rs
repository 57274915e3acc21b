//! The transcript of a conversation while it grows. What was said before the turn may still be on its way from a long log.

use std::io;

use aside_tool::FileSnapshots;
use aside_turn::{history::fullness::Fullness, record::Event, transcript::Transcript};
use tokio::task::JoinHandle;

use super::lost::LostPart;

/// History before a turn.
pub(in crate::engine) struct ReadHistory {
    pub(in crate::engine) transcript: Transcript,
    /// The files as the model saw them.
    pub(in crate::engine) seen: FileSnapshots,
    /// Parts of the log that could not be read.
    pub(in crate::engine) faults: Vec<LostPart>,
}

/// The transcript of a conversation.
#[derive(Default)]
pub(in crate::engine) struct GrowingTranscript {
    whole: Transcript,
    /// The part before this turn, if it is still being read.
    coming: Option<ComingHistory>,
}

struct ComingHistory {
    read: JoinHandle<io::Result<ReadHistory>>,
    fullness: Fullness,
    /// What was added meanwhile; `None` is the beginning of an epoch.
    later: Vec<Option<Event>>,
}

impl From<Transcript> for GrowingTranscript {
    fn from(whole: Transcript) -> Self {
        Self {
            whole,
            coming: None,
        }
    }
}

impl GrowingTranscript {
    /// A transcript whose first part is being read.
    pub(in crate::engine) fn coming(
        read: JoinHandle<io::Result<ReadHistory>>,
        fullness: Fullness,
    ) -> Self {
        Self {
            whole: Transcript::default(),
            coming: Some(ComingHistory {
                read,
                fullness,
                later: Vec::new(),
            }),
        }
    }

    /// Like [`Transcript::push`].
    pub(in crate::engine) fn push(&mut self, event: &Event) {
        match &mut self.coming {
            None => self.whole.push(event),
            Some(coming) => coming.later.push(Some(event.clone())),
        }
    }

    /// Like [`Transcript::change`].
    pub(in crate::engine) fn change(&mut self) {
        match &mut self.coming {
            None => self.whole.change(),
            Some(coming) => coming.later.push(None),
        }
    }

    /// Waits for the first part. Returns the files that the model saw in it, and what is lost of it, unless it was there
    /// already.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub(in crate::engine) async fn arrive(
        &mut self,
    ) -> io::Result<Option<(FileSnapshots, Vec<LostPart>)>> {
        let Some(coming) = &mut self.coming else {
            return Ok(None);
        };
        let read = (&mut coming.read).await.map_err(io::Error::other)?;
        let ReadHistory {
            transcript,
            seen,
            faults,
        } = read?;
        let later = self.coming.take().map(|coming| coming.later);
        self.whole = transcript;
        for part in later.into_iter().flatten() {
            match part {
                Some(event) => self.whole.push(&event),
                None => self.whole.change(),
            }
        }
        Ok(Some((seen, faults)))
    }

    /// Like [`Transcript::fullness`], before the turn.
    pub(in crate::engine) fn fullness(&self) -> &Fullness {
        match &self.coming {
            None => self.whole.fullness(),
            Some(coming) => &coming.fullness,
        }
    }

    /// The transcript as far as it is there, to change it; see [`Self::here`].
    pub(in crate::engine) fn here_mut(&mut self) -> &mut Transcript {
        &mut self.whole
    }

    /// The transcript as far as it is there: all of it after [`Self::arrive`].
    pub(in crate::engine) fn here(&self) -> &Transcript {
        &self.whole
    }

    /// The whole transcript; none while the first part is being read.
    pub(in crate::engine) fn whole(self) -> Option<Transcript> {
        self.coming.is_none().then_some(self.whole)
    }
}

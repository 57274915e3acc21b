//! The ways in which the toy can be wrong.

use clap::ValueEnum;

/// One way to break the protocol on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wrong {
    /// An answer after the turn was cancelled goes on record as an answer.
    LateCounted,
    /// Each prompt is sent twice.
    PromptTwice,
    /// Null is taken as yes.
    NullIsYes,
    /// A JSON-RPC error is taken as a person's no.
    ErrorIsAnswer,
    /// A title that was not offered is taken as yes.
    AnyTitleIsYes,
    /// A message over the text offers answers.
    AnswersOverText,
    /// Any answer fits.
    AnyAnswerFits,
    /// `aside/prompt/answer` never refuses a prompt that it does not know.
    UnknownPromptAccepted,
    /// A reply after `aside/prompt/answer` replaces the answer.
    SecondCounted,
    /// A prompt that was answered elsewhere is not dismissed.
    NoDismiss,
    /// `completed` comes before the last update.
    CompletedEarly,
    /// `completed` comes twice.
    CompletedTwice,
    /// An update lacks a field.
    FieldMissing,
    /// `seq` skips numbers.
    SeqGaps,
    /// While a prompt is open, nothing but its reply is read.
    Blocks,
    /// An approval that was revoked still counts.
    RevokeForgotten,
    /// Trust is given to a workspace that is not the one that was shown.
    TrustUnseen,
    /// A client that vanished has said yes.
    VanishCompletes,
}

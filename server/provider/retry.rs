//! What a provider's error means: the one place that says what is to be done about it. (When a request is sent again
//! is decided by the turn.)

use std::time::Duration;

use crate::turn::response::{Failure, FailureClass, Feature};

/// An error, as an API told it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ApiError {
    /// The HTTP status; `None` for an error inside a stream, or of the connection.
    pub(super) status: Option<u16>,
    /// The API's word for the kind of error.
    pub(super) kind: String,
    /// A more precise one, where there is.
    pub(super) code: String,
    /// In words, for people.
    pub(super) message: String,
    /// The field of the request that it is about.
    pub(super) param: String,
    /// When to come back.
    pub(super) retry_after: Option<Duration>,
    /// The server says whether another try makes sense.
    pub(super) should_retry: Option<bool>,
    /// By which the provider knows the request.
    pub(super) request_id: Option<String>,
}

impl ApiError {
    /// The response ended before it was complete.
    pub(super) fn cut() -> Self {
        Self {
            kind: CUT.to_owned(),
            ..Self::default()
        }
    }

    /// The connection failed, in these words.
    pub(super) fn connection(message: impl Into<String>) -> Self {
        Self {
            kind: CONNECTION.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// See [`ApiError::garbled`].
    pub(super) fn is_garbled(&self) -> bool {
        self.kind == GARBLED
    }

    /// The response is not what the API promises.
    pub(super) fn garbled(message: impl Into<String>) -> Self {
        Self {
            kind: GARBLED.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }
}

const CUT: &str = "aside.cut";
const CONNECTION: &str = "aside.connection";
const GARBLED: &str = "aside.garbled";

/// Who failed, for the sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who<'a> {
    /// `provider/model`.
    pub(super) model: &'a str,
    /// The host that was asked.
    pub(super) host: &'a str,
    /// Where the key comes from, in words.
    pub(super) key_source: &'a str,
}

/// What is to be done about an error, and one sentence for the person.
pub(super) fn failure(error: &ApiError, who: &Who<'_>) -> Failure {
    let class = match error.kind.as_str() {
        CUT | CONNECTION => FailureClass::Transient,
        GARBLED => FailureClass::Other,
        _ => class(error),
    };
    Failure {
        class,
        text: format!("{}: {}", who.model, error.message),
        retry_after: error.retry_after,
    }
}

fn class(error: &ApiError) -> FailureClass {
    match error.status {
        Some(400) if error.message.contains("tool_choice") => {
            FailureClass::Refused(Feature::ForcedTool)
        }
        _ => FailureClass::Other,
    }
}

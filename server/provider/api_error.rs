//! An error of a provider or of the connection to it, as data.

use std::time::Duration;

use http::Uri;

use super::key::Key;

pub(super) const CUT: &str = "aside.cut";
pub(super) const CONNECTION: &str = "aside.connection";
pub(super) const LOST: &str = "aside.lost";
pub(super) const GARBLED: &str = "aside.garbled";
pub(super) const NOT_API: &str = "aside.not_api";
pub(super) const CERTIFICATE: &str = "aside.certificate";
pub(super) const PROXY: &str = "aside.proxy";
pub(super) const PROXY_LOGIN: &str = "aside.proxy_login";
pub(super) const PROXY_SCHEME: &str = "aside.proxy_scheme";

/// An error as reported by an API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ApiError {
    /// HTTP status; `None` for an error inside a stream or of the connection.
    pub(super) status: Option<u16>,
    /// The API's name for the kind of error.
    pub(super) kind: String,
    /// A more precise code, if there is one.
    pub(super) code: String,
    /// The message for people.
    pub(super) message: String,
    /// The field of the request that caused the error.
    pub(super) param: String,
    /// Time to wait before another attempt.
    pub(super) retry_after: Option<Duration>,
    /// Whether another attempt makes sense, according to the server.
    pub(super) should_retry: Option<bool>,
    /// The provider's id of the request.
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

    /// The connection failed; `message` says how.
    pub(super) fn connection(message: impl Into<String>) -> Self {
        Self {
            kind: CONNECTION.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// The connection broke after the request was sent, or nothing came; `message` says how.
    pub(super) fn lost(message: impl Into<String>) -> Self {
        Self {
            kind: LOST.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Detects an HTML page, which no API answers with, from the first bytes of a response. `None` while they are
    /// blank.
    pub(super) fn page(begin: &[u8]) -> Option<Result<(), Self>> {
        let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
        Some(match begin.trim_ascii_start().first()? {
            b'<' => Err(Self {
                kind: NOT_API.to_owned(),
                ..Self::default()
            }),
            _ => Ok(()),
        })
    }

    /// Whether this error was made by [`ApiError::garbled`].
    pub(super) fn is_garbled(&self) -> bool {
        self.kind == GARBLED
    }

    /// The server's certificate is not trusted.
    pub(super) fn certificate(message: impl Into<String>) -> Self {
        Self {
            kind: CERTIFICATE.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// The proxy, or the server behind it, cannot be reached.
    pub(super) fn proxy(proxy: &Uri, message: impl Into<String>) -> Self {
        Self::of_proxy(PROXY, proxy, message)
    }

    /// The proxy requires a login.
    pub(super) fn proxy_login(proxy: &Uri) -> Self {
        Self::of_proxy(PROXY_LOGIN, proxy, "")
    }

    /// The scheme of the proxy's URL is not supported.
    pub(super) fn proxy_scheme(proxy: &Uri, scheme: &str) -> Self {
        Self::of_proxy(PROXY_SCHEME, proxy, scheme)
    }

    /// An error that names the proxy's address without its password.
    fn of_proxy(kind: &str, proxy: &Uri, message: impl Into<String>) -> Self {
        let host = proxy.host().unwrap_or_default();
        let port = proxy.port().map(|port| format!(":{port}"));
        Self {
            kind: kind.to_owned(),
            param: format!("{host}{}", port.unwrap_or_default()),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Whether the server is running but still loads the model.
    pub(super) fn is_loading(&self) -> bool {
        self.status == Some(503) && self.message.to_ascii_lowercase().contains("loading model")
    }

    /// The response violates the API's format.
    pub(super) fn garbled(message: impl Into<String>) -> Self {
        Self {
            kind: GARBLED.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// The same error without the key, which a server may repeat in its message.
    pub(super) fn without(&self, key: &Key) -> Self {
        Self {
            kind: key.hide(&self.kind),
            code: key.hide(&self.code),
            message: key.hide(&self.message),
            param: key.hide(&self.param),
            request_id: self.request_id.as_deref().map(|id| key.hide(id)),
            ..self.clone()
        }
    }

    /// The HTTP status, or the one in `code` for an error inside a stream.
    pub(super) fn status(&self) -> Option<u16> {
        let coded = || self.code.parse().ok();
        self.status
            .or_else(coded)
            .filter(|status| (100..600).contains(status))
    }
}

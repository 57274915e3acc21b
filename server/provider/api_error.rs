//! An error of a provider or of the way to it, as data.

use std::time::Duration;

use http::Uri;

use super::key::Key;

pub(super) const CUT: &str = "aside.cut";
pub(super) const CONNECTION: &str = "aside.connection";
pub(super) const GARBLED: &str = "aside.garbled";
pub(super) const NOT_API: &str = "aside.not_api";
pub(super) const CERTIFICATE: &str = "aside.certificate";
pub(super) const PROXY: &str = "aside.proxy";
pub(super) const PROXY_LOGIN: &str = "aside.proxy_login";
pub(super) const PROXY_SCHEME: &str = "aside.proxy_scheme";

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

    /// A page for a browser, which no API answers with, if this is how a response begins; `None` where it is blank so
    /// far.
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

    /// The server shows a certificate that is not trusted.
    pub(super) fn certificate(message: impl Into<String>) -> Self {
        Self {
            kind: CERTIFICATE.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// The proxy is not reached, or not what is behind it.
    pub(super) fn proxy(proxy: &Uri, message: impl Into<String>) -> Self {
        Self::of_proxy(PROXY, proxy, message)
    }

    /// The proxy wants to know who asks.
    pub(super) fn proxy_login(proxy: &Uri) -> Self {
        Self::of_proxy(PROXY_LOGIN, proxy, "")
    }

    /// The proxy speaks something that is not spoken here.
    pub(super) fn proxy_scheme(proxy: &Uri, scheme: &str) -> Self {
        Self::of_proxy(PROXY_SCHEME, proxy, scheme)
    }

    /// With the proxy's address, and nothing of its password.
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

    /// The server is there, and loads the model.
    pub(super) fn is_loading(&self) -> bool {
        self.status == Some(503) && self.message.to_ascii_lowercase().contains("loading model")
    }

    /// The response is not what the API promises.
    pub(super) fn garbled(message: impl Into<String>) -> Self {
        Self {
            kind: GARBLED.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// The same without the key, which a server may repeat in what it says.
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

    /// The status; of an error inside a stream the one that stands in its place, if one does.
    pub(super) fn status(&self) -> Option<u16> {
        let coded = || self.code.parse().ok();
        self.status
            .or_else(coded)
            .filter(|status| (100..600).contains(status))
    }
}

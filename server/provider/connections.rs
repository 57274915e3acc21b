//! Connections: counting them, finding their proxy, and classifying their errors.

use std::{
    error::Error,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use aside_base::environment::variable;
use hyper_util::client::proxy::matcher::Matcher;
use tower_layer::Layer;
use tower_service::Service;
use url::Url;

use super::{retry::ApiError, this_computer::is_this_computer};

/// Number of connections that a client has begun. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(super) struct BegunConnections(Arc<AtomicU64>);

impl BegunConnections {
    /// The number so far.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connector that counts the connections it begins.
#[derive(Clone, Debug)]
pub(super) struct CountedConnector<S> {
    inner: S,
    begun: BegunConnections,
}

impl<S> Layer<S> for BegunConnections {
    type Service = CountedConnector<S>;

    fn layer(&self, inner: S) -> Self::Service {
        let begun = self.clone();
        CountedConnector { inner, begun }
    }
}

impl<S: Service<Place>, Place> Service<Place> for CountedConnector<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, place: Place) -> Self::Future {
        self.begun.0.fetch_add(1, Ordering::Relaxed);
        self.inner.call(place)
    }
}

/// Whether requests to `place` go through no proxy, whatever proxy there is.
pub(super) fn is_direct(place: &Url) -> bool {
    let mut lists = ["NO_PROXY", "no_proxy"].into_iter().filter_map(variable);
    is_this_computer(place) || lists.any(|list| is_excepted(place, &list))
}

/// Whether an entry of `NO_PROXY` is this host. Only what the client's own matcher does not read is looked at: a star
/// before the domain, and a port.
fn is_excepted(place: &Url, list: &str) -> bool {
    let host = place.host_str().unwrap_or_default().to_ascii_lowercase();
    let is_this = |entry: &str| {
        let entry = entry.trim().to_ascii_lowercase();
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() && !name.contains(':') => {
                (name, port.parse().ok())
            }
            _ => (entry.as_str(), None),
        };
        let name = name.strip_prefix('*').unwrap_or(name);
        let name = name.strip_prefix('.').unwrap_or(name);
        let below = host.strip_suffix(name);
        let is_below = below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        !name.is_empty() && is_below && (port.is_none() || port == place.port_or_known_default())
    };
    list.split(',').any(is_this)
}

/// The proxy for requests to `place`, if there is one.
pub(super) fn proxy_of(place: &Url) -> Option<http::Uri> {
    if is_direct(place) {
        return None;
    }
    let place = place.as_str().parse().ok()?;
    Some(Matcher::from_system().intercept(&place)?.uri().clone())
}

/// The error for a proxy whose scheme is not supported.
pub(super) fn unusable(proxy: &http::Uri) -> Option<ApiError> {
    let scheme = proxy.scheme_str().unwrap_or("http");
    (!["http", "https"].contains(&scheme)).then(|| ApiError::proxy_scheme(proxy, scheme))
}

/// Converts a failed request to an error. `proxy` is the proxy that it went through.
pub(super) fn failed(error: &reqwest::Error, proxy: Option<&http::Uri>) -> ApiError {
    let why = innermost(error);
    if causes(error).any(is_certificate) {
        return ApiError::certificate(why);
    }
    if !error.is_connect() {
        return ApiError::lost(why);
    }
    let Some(proxy) = proxy else {
        return ApiError::connection(why);
    };
    // The type of this error is private, so only its text can be compared.
    let says = |words: &str| causes(error).any(|cause| cause.to_string().ends_with(words));
    match says("proxy authorization required") {
        true => ApiError::proxy_login(proxy),
        false => ApiError::proxy(proxy, why),
    }
}

/// Whether an error reports an untrusted certificate, or is an I/O error around such an error.
fn is_certificate(cause: &(dyn Error + 'static)) -> bool {
    match cause.downcast_ref::<io::Error>() {
        // `source` skips the error inside an I/O error.
        Some(system) => system.get_ref().is_some_and(|held| is_certificate(held)),
        None => matches!(
            cause.downcast_ref(),
            Some(rustls::Error::InvalidCertificate(_))
        ),
    }
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    std::iter::successors(Some(first), |error| (*error).source())
}

/// The last cause of the chain, which is the most specific.
fn innermost(error: &reqwest::Error) -> String {
    causes(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}

/// Whether the connection ended before any byte of the response.
pub(super) fn ended_early(error: &reqwest::Error) -> bool {
    for error in causes(error) {
        let of_http = error.downcast_ref::<hyper::Error>();
        if of_http.is_some_and(|error| error.is_incomplete_message() || error.is_canceled()) {
            return true;
        }
        let of_system = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(
            of_system,
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
        ) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_may_have_a_star_or_a_port() {
        for (list, expected) in [
            ("*.corp.example", true),
            ("a.example, *.corp.example", true),
            (".corp.example", true),
            ("models.corp.example:8443", true),
            ("models.corp.example:443", false),
            ("*.Corp.Example:8443", true),
            ("*.orp.example", false),
            ("corp.example.org", false),
            ("*", false),
            ("", false),
        ] {
            let place = Url::parse("https://models.corp.example:8443/v1").unwrap();
            assert_eq!(is_excepted(&place, list), expected, "{list}");
        }
    }
}

//! The HTTP client of the process, with its pool of connections. Built on first use.

use std::{sync::Arc, time::Duration};

use reqwest::{Certificate, redirect};
use tokio::sync::OnceCell;
use url::Url;

use super::connections::{BegunConnections, is_direct};

/// Time limit of establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of TCP keep-alive probes.
const KEEP_ALIVE: Duration = Duration::from_secs(45);
/// Time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// Trusted certificate authorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Roots {
    /// Mozilla's list, as of the build.
    #[default]
    Embedded,
    /// The list of the operating system.
    System,
}

/// HTTP client of the process. Clones share it and its connections.
#[derive(Clone, Debug, Default)]
pub struct HttpClient {
    roots: Roots,
    built: Arc<OnceCell<BuiltClient>>,
    /// Client for servers that are reached without a proxy, such as those on this computer.
    local: Arc<OnceCell<BuiltClient>>,
}

/// A client and the count of its connections.
#[derive(Debug)]
pub(super) struct BuiltClient {
    pub(super) client: reqwest::Client,
    pub(super) begun: BegunConnections,
}

impl HttpClient {
    /// A client with these trusted authorities, built on first use.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            built: Arc::default(),
            local: Arc::default(),
        }
    }

    /// Returns the client for `place`; the first call builds it on a blocking thread. Requests to this computer never
    /// go through a proxy, because they must not leave it.
    ///
    /// # Errors
    /// A sentence if the client cannot be built.
    pub(super) async fn get(&self, place: &Url) -> Result<&BuiltClient, String> {
        let (roots, is_local) = (self.roots, is_direct(place));
        let build = || async move {
            let built = tokio::task::spawn_blocking(move || build(roots, is_local)).await;
            built.map_err(|error| error.to_string())?
        };
        let built = if is_local { &self.local } else { &self.built };
        built.get_or_try_init(build).await
    }

    /// Returns the client for requests to `place` that are not model requests. It follows no redirects.
    ///
    /// # Errors
    /// A sentence if the client cannot be built.
    pub async fn plain(&self, place: &Url) -> Result<reqwest::Client, String> {
        let built = self.get(place).await?;
        Ok(built.client.clone())
    }
}

fn build(roots: Roots, is_local: bool) -> Result<BuiltClient, String> {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let begun = BegunConnections::default();
    let mut builder = reqwest::Client::builder()
        .connector_layer(begun.clone())
        .user_agent(concat!("aside/", env!("CARGO_PKG_VERSION")))
        // A redirect could carry the key to another host.
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(KEEP_ALIVE)
        .tcp_nodelay(true)
        .pool_idle_timeout(IDLE_TIMEOUT);
    if is_local {
        builder = builder.no_proxy();
    }
    if roots == Roots::Embedded {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
        let roots: Vec<Certificate> = roots
            .filter_map(|root| Certificate::from_der(root).ok())
            .collect();
        builder = builder.tls_certs_only(roots);
    }
    let client = builder.build().map_err(|error| error.to_string())?;
    Ok(BuiltClient { client, begun })
}

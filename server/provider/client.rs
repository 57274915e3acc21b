//! The one HTTP client of the process: kept connections, built when it is first needed.

use std::{sync::Arc, time::Duration};

use reqwest::{Certificate, redirect};
use tokio::sync::OnceCell;
use url::Url;

use super::{connections::BegunConnections, this_computer::is_this_computer};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// How often the system looks whether the other end is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(45);
/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(90);

/// Which certificate authorities are trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Roots {
    /// Mozilla's, as of the build.
    #[default]
    Embedded,
    /// The certificate authorities of the operating system.
    System,
}

/// The HTTP client of the process. Clones share it, and its connections.
#[derive(Clone, Debug, Default)]
pub struct HttpClient {
    roots: Roots,
    built: Arc<OnceCell<BuiltClient>>,
    /// For servers on this computer.
    local: Arc<OnceCell<BuiltClient>>,
}

/// A client, and the connections that it began.
#[derive(Debug)]
pub(super) struct BuiltClient {
    pub(super) client: reqwest::Client,
    pub(super) begun: BegunConnections,
}

impl HttpClient {
    /// A client that trusts these, and is not built yet.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            built: Arc::default(),
            local: Arc::default(),
        }
    }

    /// The client for a place, built on a thread that may wait the first time. What is sent to this computer goes
    /// through no proxy: that would be the way out of it.
    ///
    /// # Errors
    /// Where it cannot be built, in words.
    pub(super) async fn get(&self, place: &Url) -> Result<&BuiltClient, String> {
        let (roots, is_local) = (self.roots, is_this_computer(place));
        let build = || async move {
            let built = tokio::task::spawn_blocking(move || build(roots, is_local)).await;
            built.map_err(|error| error.to_string())?
        };
        let built = if is_local { &self.local } else { &self.built };
        built.get_or_try_init(build).await
    }

    /// The client for a place, for what is no model. It follows no redirects.
    ///
    /// # Errors
    /// Where it cannot be built, in words.
    pub async fn plain(&self, place: &Url) -> Result<reqwest::Client, String> {
        let built = self.get(place).await?;
        Ok(built.client.clone())
    }
}

fn build(roots: Roots, is_local: bool) -> Result<BuiltClient, String> {
    // Another part of the process may have been first: the same provider then.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let begun = BegunConnections::default();
    let mut builder = reqwest::Client::builder()
        .connector_layer(begun.clone())
        .user_agent(concat!("aside/", env!("CARGO_PKG_VERSION")))
        // A redirect could carry the key elsewhere.
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT)
        .tcp_keepalive(KEEP_ALIVE)
        .tcp_nodelay(true)
        .pool_idle_timeout(IDLE);
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

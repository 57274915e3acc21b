//! The one HTTP client of the process: kept connections, built when it is first needed.

use std::{sync::Arc, time::Duration};

use reqwest::{Certificate, redirect};
use tokio::sync::OnceCell;

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
    built: Arc<OnceCell<reqwest::Client>>,
}

impl HttpClient {
    /// A client that trusts these, and is not built yet.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            built: Arc::default(),
        }
    }

    /// The client, built on a thread that may wait the first time.
    ///
    /// # Errors
    /// Where it cannot be built, in words.
    pub(super) async fn get(&self) -> Result<&reqwest::Client, String> {
        let roots = self.roots;
        let build = || async move {
            let built = tokio::task::spawn_blocking(move || build(roots)).await;
            built.map_err(|error| error.to_string())?
        };
        self.built.get_or_try_init(build).await
    }
}

fn build(roots: Roots) -> Result<reqwest::Client, String> {
    // Another part of the process may have been first: the same provider then.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("aside/", env!("CARGO_PKG_VERSION")))
        // A redirect could carry the key elsewhere.
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT)
        .tcp_keepalive(KEEP_ALIVE)
        .tcp_nodelay(true)
        .pool_idle_timeout(IDLE);
    if roots == Roots::Embedded {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
        let roots: Vec<Certificate> = roots
            .filter_map(|root| Certificate::from_der(root).ok())
            .collect();
        builder = builder.tls_certs_only(roots);
    }
    builder.build().map_err(|error| error.to_string())
}

//! Logins to remote servers and their tokens. The tokens are kept in a file that only the user can read, bound to the
//! server's address and the issuer.
//!
//! No local server waits for the browser: the user pastes the address that the browser was redirected to.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use aside_base::{private, regular, visible::short_line};
use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, CredentialRefreshGuard,
    CredentialStore, OAuthState, StoredCredentials,
};
use tokio::time::timeout;
use url::{Host, Url};

use super::settings::{HideSecrets, ServerAddress};

/// Redirect address for browsers. Nothing listens there.
const REDIRECT: &str = "http://127.0.0.1:33418/callback";
/// Time limit of one step of a login.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size in bytes of a login's file.
const MAX_FILE: u64 = 256 << 10;

/// HTTP client that sends the tokens of a login and renews them.
pub(super) type LoggedIn = AuthClient<reqwest::Client>;

/// The file with the tokens for one server.
#[derive(Clone, Debug)]
pub(super) struct LoginFile {
    path: PathBuf,
    hide: HideSecrets,
}

/// A login in progress.
pub struct BegunLogin {
    state: OAuthState,
    /// Address to open in a browser.
    pub address: String,
}

impl BegunLogin {
    /// Starts a login. `challenge` is the one with which the server refused a request, if it did.
    pub(super) async fn begin(
        address: &ServerAddress,
        hide: &HideSecrets,
        challenge: Option<String>,
    ) -> Result<Self, String> {
        let file = LoginFile::of(address, hide).ok_or("its headers already contain a key")?;
        let begun = async {
            let manager = manager(address, file).await?;
            let mut state = OAuthState::Unauthorized(manager);
            let mut request = AuthorizationRequest::new(REDIRECT).with_client_name("Aside");
            request.challenge = challenge;
            request.client_id.clone_from(&address.client_id);
            state.start_authorization(request).await?;
            let address = state.get_authorization_url().await?;
            Ok(Self { state, address })
        };
        let begun: Self = in_time(begun).await?;
        match is_page(&begun.address) {
            true => Ok(begun),
            false => Err(format!(
                "`{}` is no page to log in at: it must begin with https://",
                short_line(&begun.address, 80)
            )),
        }
    }

    /// Completes the login with the address that the browser was redirected to, and stores the tokens.
    ///
    /// # Errors
    /// A sentence with the reason why there are no tokens.
    pub async fn finish(mut self, came_back: &str) -> Result<(), String> {
        let is_ours = came_back
            .trim()
            .strip_prefix(REDIRECT)
            .is_some_and(|rest| rest.starts_with('?'));
        if !is_ours {
            return Err(format!("the address does not begin with {REDIRECT}?"));
        }
        in_time(self.state.handle_callback_url(came_back.trim())).await
    }
}

/// Deletes the tokens for a server. Returns whether there were any.
///
/// # Errors
/// Fails if the file cannot be removed.
pub fn forget(address: &ServerAddress) -> io::Result<bool> {
    let Some(folder) = &address.logins else {
        return Ok(false);
    };
    match fs::remove_file(path(folder, &address.url)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// Returns a client with the tokens for a server; `None` if nobody logged in.
///
/// # Errors
/// A sentence with the reason why the tokens cannot be used.
pub(super) async fn logged_in(
    address: &ServerAddress,
    hide: &HideSecrets,
) -> Result<Option<LoggedIn>, String> {
    let Some(file) = LoginFile::of(address, hide).filter(|file| file.path.exists()) else {
        return Ok(None);
    };
    let opened = async {
        let mut manager = manager(address, file).await?;
        let has_tokens = manager.initialize_from_store().await?;
        Ok(has_tokens.then(|| AuthClient::new(address.client.clone(), manager)))
    };
    in_time(opened).await
}

async fn manager(
    address: &ServerAddress,
    file: LoginFile,
) -> Result<AuthorizationManager, AuthError> {
    let mut manager = AuthorizationManager::new(address.url.clone()).await?;
    // The client follows no redirects and uses the configured proxy.
    manager.with_client(address.client.clone())?;
    manager.set_credential_store(file);
    Ok(manager)
}

async fn in_time<T>(step: impl Future<Output = Result<T, AuthError>>) -> Result<T, String> {
    match timeout(STEP_TIMEOUT, step).await {
        Ok(done) => done.map_err(|error| short_line(&error.to_string(), 300)),
        Err(_) => Err(format!("no answer within {} s", STEP_TIMEOUT.as_secs())),
    }
}

/// Whether an address is a page that a browser loads safely: with TLS, or from this computer.
fn is_page(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else {
        return false;
    };
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

fn path(folder: &Path, url: &Url) -> PathBuf {
    let name = aside_base::digest::sha256(url.as_str().as_bytes());
    folder.join(format!("{name}.json"))
}

impl LoginFile {
    /// `None` if the server's key is in a header.
    fn of(address: &ServerAddress, hide: &HideSecrets) -> Option<Self> {
        let folder = address.logins.as_ref()?;
        Some(Self {
            path: path(folder, &address.url),
            hide: hide.clone(),
        })
    }

    fn read(&self) -> io::Result<Option<StoredCredentials>> {
        let bytes = match regular::read(&self.path, MAX_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let stored: StoredCredentials = serde_json::from_slice(&bytes)?;
        self.hide_tokens(&stored);
        Ok(Some(stored))
    }

    fn write(&self, stored: &StoredCredentials) -> io::Result<()> {
        self.hide_tokens(stored);
        private::replace(&self.path, &serde_json::to_vec(stored)?)
    }

    /// Hides these tokens in everything that the server sends from now on.
    fn hide_tokens(&self, stored: &StoredCredentials) {
        let said = serde_json::to_value(&stored.token_response).unwrap_or_default();
        for key in ["access_token", "refresh_token", "id_token"] {
            if let Some(token) = said[key].as_str() {
                self.hide.also(token);
            }
        }
    }
}

#[async_trait]
impl CredentialStore for LoginFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.read().map_err(unusable)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.write(&credentials).map_err(unusable)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(error)),
            _ => Ok(()),
        }
    }

    /// Locks the tokens, so that only one process renews them.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let lock = self.path.with_file_name("lock");
        let locked = tokio::task::spawn_blocking(move || {
            private::make_folder(lock.parent().unwrap_or(Path::new(".")))?;
            let file = private::lock_file(&lock)?;
            aside_base::system::locks::lock(&file)?;
            Ok(file)
        });
        let locked: io::Result<File> = locked
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        locked
            .map(|file| Some(CredentialRefreshGuard::new(file)))
            .map_err(unusable)
    }
}

fn unusable(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(format!("cannot use the login file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_are_opened_in_a_browser() {
        for (address, is_one) in [
            ("https://login.example/authorize?x=y", true),
            ("http://127.0.0.1:8080/authorize", true),
            ("http://[::1]/authorize", true),
            ("http://login.example/authorize", false),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("vscode://x", false),
        ] {
            assert_eq!(is_page(address), is_one, "{address}");
        }
    }
}

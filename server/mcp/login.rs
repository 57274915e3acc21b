//! Logging in to a server on the network, and the tokens that come of it: kept in a file that only the user can read,
//! bound to the address of the server and to who issued them.
//!
//! Nothing listens for the browser: the address that it is sent back to is pasted by the person who logs in.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use aside_base::{regular, visible::short_line};
use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, CredentialRefreshGuard,
    CredentialStore, OAuthState, StoredCredentials,
};
use tokio::time::timeout;
use url::Url;

use super::settings::{HideSecrets, ServerAddress};

/// Where browsers are sent back to. Nobody is there.
const BACK: &str = "http://127.0.0.1:33418/callback";
/// How long a server may take for one step of a login.
const STEP: Duration = Duration::from_secs(60);
/// Bytes of the file of a login.
const FILE: u64 = 256 << 10;

/// Sends requests with the token of a login, and renews it.
pub(super) type LoggedIn = AuthClient<reqwest::Client>;

/// The file with the tokens for a server.
#[derive(Clone, Debug)]
pub(super) struct LoginFile {
    path: PathBuf,
    hide: HideSecrets,
}

/// A login that a person has begun.
pub struct BegunLogin {
    state: OAuthState,
    /// What is to be opened in a browser.
    pub address: String,
}

impl BegunLogin {
    /// Finds out how a server lets people log in, from the challenge with which it turned a request down, if it did.
    pub(super) async fn begin(
        address: &ServerAddress,
        hide: &HideSecrets,
        challenge: Option<String>,
    ) -> Result<Self, String> {
        let file = LoginFile::of(address, hide).ok_or("it has a key already, in its headers")?;
        let begun = async {
            let manager = manager(address, file).await?;
            let mut state = OAuthState::Unauthorized(manager);
            let mut request = AuthorizationRequest::new(BACK).with_client_name("Aside");
            request.challenge = challenge;
            request.client_id.clone_from(&address.client_id);
            state.start_authorization(request).await?;
            let address = state.get_authorization_url().await?;
            Ok(Self { state, address })
        };
        in_time(begun).await
    }

    /// Takes the address that the browser was sent back to, and keeps the tokens that it stands for.
    ///
    /// # Errors
    /// Why there are none, in words.
    pub async fn finish(mut self, came_back: &str) -> Result<(), String> {
        in_time(self.state.handle_callback_url(came_back.trim())).await
    }
}

/// Forgets the tokens for a server. Whether there were some.
///
/// # Errors
/// Where their file cannot be removed.
pub fn forget(address: &ServerAddress) -> io::Result<bool> {
    let Some(folder) = &address.logins else {
        return Ok(false);
    };
    match fs::remove_file(path(folder, &address.url)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// What sends requests to a server where somebody logged in to it; nothing, where nobody did.
///
/// # Errors
/// Why the tokens cannot be used, in words.
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
    // It follows no redirects, and goes through the proxy that all requests go through.
    manager.with_client(address.client.clone())?;
    manager.set_credential_store(file);
    Ok(manager)
}

async fn in_time<T>(step: impl Future<Output = Result<T, AuthError>>) -> Result<T, String> {
    match timeout(STEP, step).await {
        Ok(done) => done.map_err(|error| short_line(&error.to_string(), 300)),
        Err(_) => Err(format!("it did not answer within {} s", STEP.as_secs())),
    }
}

fn path(folder: &Path, url: &Url) -> PathBuf {
    let name = aside_base::digest::sha256(url.as_str().as_bytes());
    folder.join(format!("{name}.json"))
}

impl LoginFile {
    /// Nothing, where the server has a key of another kind.
    fn of(address: &ServerAddress, hide: &HideSecrets) -> Option<Self> {
        let folder = address.logins.as_ref()?;
        Some(Self {
            path: path(folder, &address.url),
            hide: hide.clone(),
        })
    }

    fn read(&self) -> io::Result<Option<StoredCredentials>> {
        let bytes = match regular::read(&self.path, FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let stored: StoredCredentials = serde_json::from_slice(&bytes)?;
        self.hide_tokens(&stored);
        Ok(Some(stored))
    }

    fn write(&self, stored: &StoredCredentials) -> io::Result<()> {
        self.hide_tokens(stored);
        let folder = self.folder()?;
        // Nobody but the user can read such a file.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(stored)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn folder(&self) -> io::Result<&Path> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        Ok(folder)
    }

    /// What a server says is free of its tokens from now on.
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

    /// A token is renewed once, whichever process does it.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let lock = self.folder().map_err(unusable)?.join("lock");
        let locked = tokio::task::spawn_blocking(move || {
            let file = File::create(lock)?;
            file.lock()?;
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
    AuthError::CredentialStoreError(format!("the file of the login cannot be used: {error}"))
}

//! Opens the protocol with a remote server over HTTP, and interprets its failures.

use std::time::Duration;

use rmcp::{
    model::ProtocolVersion,
    service::ClientInitializeError,
    transport::{
        StreamableHttpClientTransport as Transport,
        streamable_http_client::StreamableHttpClientTransportConfig as TransportConfig,
    },
};

use tokio::time::timeout;

use super::{
    answers::OwnAnswers,
    connection::{Connection, MAX_MESSAGE, NotOpened, NotOpenedKind},
    faults::{self, HttpFault, fault_of},
    login::logged_in,
    settings::{HideSecrets, ProtocolChoice, ServerAddress},
};

/// Time limit for the refusal of a request without login.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of bytes read of an error's body.
const MAX_ERROR_BODY: usize = 64 << 10;
/// Error codes that only the newer protocol defines: headers that contradict the body, a missing capability, an
/// unsupported version.
const NEWER_CODES: [i32; 3] = [-32020, -32021, -32022];

/// Opens the protocol with a server. The newer one is tried first, because HTTP answers tell whether it is supported.
///
/// # Errors
/// The reason why the server could not be opened.
pub(super) async fn open(
    address: &ServerAddress,
    protocol: ProtocolChoice,
    hide: &HideSecrets,
) -> Result<Connection, NotOpened> {
    let client = logged_in(address, hide).await.map_err(|why| {
        NotOpened::failed(hide.in_text(&format!("its login cannot be used: {why}")))
    })?;
    let with = async |version| match &client {
        Some(client) => {
            let transport = Transport::with_client(OwnAnswers(client.clone()), config(address));
            Connection::over(transport, version, hide.clone()).await
        }
        None => {
            let client = OwnAnswers(address.client.clone());
            let transport = Transport::with_client(client, config(address));
            Connection::over(transport, version, hide.clone()).await
        }
    };
    let opened = match protocol {
        ProtocolChoice::Older => with(ProtocolVersion::V_2025_11_25).await,
        ProtocolChoice::Newer => with(ProtocolVersion::V_2026_07_28).await,
        ProtocolChoice::Auto => match with(ProtocolVersion::V_2026_07_28).await {
            Err(error) if may_be_older(&error) => with(ProtocolVersion::V_2025_11_25).await,
            opened => opened,
        },
    };
    opened.map_err(|error| NotOpened {
        kind: match error.is_authorization_required() {
            true => NotOpenedKind::WantsLogin,
            false => NotOpenedKind::Failed,
        },
        why: hide.in_text(&why_not_opened(&error)),
    })
}

/// Returns the challenge with which the server refuses a request without login, if it sends one.
pub(super) async fn challenge(address: &ServerAddress, hide: &HideSecrets) -> Option<String> {
    let transport = Transport::with_client(address.client.clone(), config(address));
    let opening = Connection::over(transport, ProtocolVersion::V_2026_07_28, hide.clone());
    let opened = timeout(CHALLENGE_TIMEOUT, opening).await.ok()?;
    opened.err()?.auth_challenge().map(ToOwned::to_owned)
}

fn config(address: &ServerAddress) -> TransportConfig {
    let mut config = TransportConfig::with_uri(address.url.as_str());
    config.custom_headers = address
        .headers
        .iter()
        .map(|header| (header.name.clone(), header.value.clone()))
        .collect();
    config.max_sse_event_size = MAX_MESSAGE;
    config.max_json_response_size = MAX_MESSAGE;
    config.max_error_response_size = MAX_ERROR_BODY;
    config
}

/// Whether a server that could not be opened may speak the older protocol. A server that cannot be reached, requires a
/// login or fails is not asked again.
fn may_be_older(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(error) => !NEWER_CODES.contains(&error.code.0),
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => server_supported.contains(&ProtocolVersion::V_2025_11_25),
        ClientInitializeError::TransportError { error, .. } => {
            let fault = fault_of(&*error.error);
            matches!(
                fault,
                Some(HttpFault::UnexpectedServerResponse(_) | HttpFault::UnexpectedContentType(_))
            )
        }
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. }
        | ClientInitializeError::ExpectedInitResult(_) => true,
        _ => false,
    }
}

fn why_not_opened(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            "its answer is invalid or longer than 4 MiB".to_owned()
        }
        other => faults::why_not_opened(other),
    }
}

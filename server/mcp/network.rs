//! A server on the network: the protocol opened over HTTP, and what failures there mean.

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
    connection::{Connection, MESSAGE, NotOpened},
    faults::{self, HttpFault, fault_of},
    login::logged_in,
    settings::{HideSecrets, ProtocolChoice, ServerAddress},
};

/// How long a server may take to turn down who did not log in.
const CHALLENGE: Duration = Duration::from_secs(30);
/// Bytes of the body of an error that are read.
const ERROR: usize = 64 << 10;
/// Codes of errors that only servers of the newer protocol know: headers that contradict the body, a capability that
/// is missing, a version that is not taken.
const OF_NEWER: [i32; 3] = [-32020, -32021, -32022];

/// Opens the protocol with a server, the newer one first: over HTTP it is told apart by what it answers to that.
///
/// # Errors
/// Why it did not open.
pub(super) async fn open(
    address: &ServerAddress,
    protocol: ProtocolChoice,
    hide: &HideSecrets,
) -> Result<Connection, NotOpened> {
    let client = logged_in(address, hide).await.map_err(|why| NotOpened {
        why: hide.in_text(&format!("the login to it cannot be used: {why}")),
        wants_login: false,
    })?;
    let with = async |version| match &client {
        Some(client) => {
            let transport = Transport::with_client(client.clone(), config(address));
            Connection::over(transport, version, hide.clone()).await
        }
        None => {
            let transport = Transport::with_client(address.client.clone(), config(address));
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
        wants_login: error.is_authorization_required(),
        why: hide.in_text(&why_not_opened(&error)),
    })
}

/// What a server says of where to log in to somebody who did not; nothing, where it says nothing of that.
pub(super) async fn challenge(address: &ServerAddress, hide: &HideSecrets) -> Option<String> {
    let transport = Transport::with_client(address.client.clone(), config(address));
    let opening = Connection::over(transport, ProtocolVersion::V_2026_07_28, hide.clone());
    let opened = timeout(CHALLENGE, opening).await.ok()?;
    opened.err()?.auth_challenge().map(ToOwned::to_owned)
}

fn config(address: &ServerAddress) -> TransportConfig {
    let mut config = TransportConfig::with_uri(address.url.as_str());
    config.custom_headers = address
        .headers
        .iter()
        .map(|header| (header.name.clone(), header.value.clone()))
        .collect();
    config.max_sse_event_size = MESSAGE;
    config.max_json_response_size = MESSAGE;
    config.max_error_response_size = ERROR;
    config
}

/// Whether a server that did not open might speak the older protocol. One that cannot be reached, wants a login or is
/// out of order is asked nothing more.
fn may_be_older(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(error) => !OF_NEWER.contains(&error.code.0),
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
            "its answer cannot be read, or is longer than 4 MiB".to_owned()
        }
        other => faults::why_not_opened(other),
    }
}

//! Error messages for remote MCP servers.

use std::error::Error;

use aside_base::visible::short_line;
use http::StatusCode;
use rmcp::{
    model::ProtocolVersion, service::ClientInitializeError,
    transport::streamable_http_client::StreamableHttpError,
};

/// An error of the HTTP transport.
pub(super) type HttpFault = StreamableHttpError<reqwest::Error>;

/// Describes a failed request.
pub(super) fn why(error: &(dyn Error + 'static)) -> String {
    let Some(fault) = fault_of(error) else {
        return innermost(error);
    };
    match fault {
        HttpFault::AuthRequired(_) => "it requires a login".to_owned(),
        HttpFault::InsufficientScope(_) => "its token lacks the required scope".to_owned(),
        HttpFault::HttpStatus(status) => match StatusCode::from_u16(status.status) {
            Ok(status) => format!("it answered {status}"),
            Err(_) => format!("it answered {}", status.status),
        },
        HttpFault::UnexpectedServerResponse(text) => unexpected(text),
        HttpFault::UnexpectedContentType(kind) => format!(
            "it answered with {}, which is not MCP",
            short_line(kind.as_deref().unwrap_or("nothing"), 80)
        ),
        HttpFault::ResponseBodyTooLarge { .. } | HttpFault::Sse(_) => {
            "its answer is invalid or longer than 4 MiB".to_owned()
        }
        HttpFault::Client(error) if error.is_connect() => {
            format!("it cannot be reached: {}", innermost(error))
        }
        HttpFault::Client(error) => format!("the connection failed: {}", innermost(error)),
        other => short_line(&other.to_string(), 200),
    }
}

/// Describes why the protocol could not be opened, for programs and remote servers alike.
pub(super) fn why_not_opened(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused to connect: {}", short_line(&error.message, 200))
        }
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => {
            let versions = server_supported.iter().map(ProtocolVersion::as_str);
            let versions: Vec<&str> = versions.take(8).collect();
            let versions = short_line(&versions.join(", "), 120);
            format!("it supports only unknown protocol versions: {versions}")
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it answered a request that it was not sent".to_owned()
        }
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "its first answer is not an MCP message".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => why(&*error.error),
        other => short_line(&other.to_string(), 200),
    }
}

/// Describes how the server refused a call; `None` if it may have performed the call nevertheless.
pub(super) fn refusal(error: &(dyn Error + 'static)) -> Option<String> {
    let is_refused = match fault_of(error)? {
        HttpFault::Client(error) => error.is_connect(),
        HttpFault::AuthRequired(_)
        | HttpFault::InsufficientScope(_)
        | HttpFault::HttpStatus(_)
        | HttpFault::UnexpectedServerResponse(_)
        | HttpFault::UnexpectedContentType(_)
        | HttpFault::ResponseBodyTooLarge { .. } => true,
        _ => false,
    };
    is_refused.then(|| why(error))
}

/// Describes an unexpected response, which the transport reports as `HTTP 302 Found: …`.
fn unexpected(text: &str) -> String {
    let status = text.strip_prefix("HTTP ");
    let status = status.and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
    match status.and_then(|status| StatusCode::from_u16(status).ok()) {
        Some(status) if status.is_redirection() => {
            format!(
                "it redirects ({status}), which Aside does not follow; set its `url` to the final address"
            )
        }
        Some(StatusCode::UNAUTHORIZED) => "it requires a login".to_owned(),
        Some(_) => format!("it answered {}", short_line(&text["HTTP ".len()..], 200)),
        None => short_line(text, 200),
    }
}

/// Finds the transport's fault in an error.
pub(super) fn fault_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a HttpFault> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The last cause of the chain, which is the most specific.
fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error)
        .last()
        .map_or_else(String::new, |cause| short_line(&cause.to_string(), 200))
}

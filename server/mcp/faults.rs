//! What is wrong between us and a server on the network, in words.

use std::error::Error;

use aside_base::visible::short_line;
use http::StatusCode;
use rmcp::{
    model::ProtocolVersion, service::ClientInitializeError,
    transport::streamable_http_client::StreamableHttpError,
};

/// What is wrong between us and a server.
pub(super) type HttpFault = StreamableHttpError<reqwest::Error>;

/// Why nothing came of a request, in words.
pub(super) fn why(error: &(dyn Error + 'static)) -> String {
    let Some(fault) = fault_of(error) else {
        return innermost(error);
    };
    match fault {
        HttpFault::AuthRequired(_) => "it wants you to log in".to_owned(),
        HttpFault::InsufficientScope(_) => "the token that it was sent may not do that".to_owned(),
        HttpFault::HttpStatus(status) => match StatusCode::from_u16(status.status) {
            Ok(status) => format!("it answers {status}"),
            Err(_) => format!("it answers {}", status.status),
        },
        HttpFault::UnexpectedServerResponse(text) => unexpected(text),
        HttpFault::UnexpectedContentType(kind) => format!(
            "it answers with {}, which is not the Model Context Protocol",
            short_line(kind.as_deref().unwrap_or("nothing"), 80)
        ),
        HttpFault::ResponseBodyTooLarge { .. } | HttpFault::Sse(_) => {
            "its answer cannot be read, or is longer than 4 MiB".to_owned()
        }
        HttpFault::Client(error) if error.is_connect() => {
            format!("it cannot be reached: {}", innermost(error))
        }
        HttpFault::Client(error) => format!("the connection failed: {}", innermost(error)),
        other => short_line(&other.to_string(), 200),
    }
}

/// Why a protocol was not opened, in words, where that is the same for a program and a place on the network.
pub(super) fn why_not_opened(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refuses: {}", short_line(&error.message, 200))
        }
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => {
            let versions = server_supported.iter().map(ProtocolVersion::as_str);
            let versions: Vec<&str> = versions.take(8).collect();
            let versions = short_line(&versions.join(", "), 120);
            format!("it speaks only protocols that Aside does not know: {versions}")
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it answered a request that it was not sent, which is not the Model Context Protocol"
                .to_owned()
        }
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "its first answer is not one of the Model Context Protocol".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => why(&*error.error),
        other => short_line(&other.to_string(), 200),
    }
}

/// What the server said in place of doing a call, in words; nothing where it may have done it all the same.
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

/// An answer that is none: the transport has it as `HTTP 302 Found: …`.
fn unexpected(text: &str) -> String {
    let status = text.strip_prefix("HTTP ");
    let status = status.and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
    match status.and_then(|status| StatusCode::from_u16(status).ok()) {
        Some(status) if status.is_redirection() => {
            format!(
                "it sends elsewhere ({status}), where Aside does not follow; set its `url` to the place itself"
            )
        }
        Some(StatusCode::UNAUTHORIZED) => "it wants you to log in".to_owned(),
        Some(_) => format!("it answers {}", short_line(&text["HTTP ".len()..], 200)),
        None => short_line(text, 200),
    }
}

/// The fault of the transport in an error.
pub(super) fn fault_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a HttpFault> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The cause that says most: the last of the chain.
fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error)
        .last()
        .map_or_else(String::new, |cause| short_line(&cause.to_string(), 200))
}

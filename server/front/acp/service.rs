//! The table of methods and their handlers.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
};

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, Error, ErrorCode, InitializeRequest,
};
use futures_util::future::{BoxFuture, FutureExt};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tower_service::Service;

use super::{
    capabilities::introduction,
    connection::{AcpConnection, Agent},
    message::{Answer, Message, answer, failure, plain_failure},
    methods::{options, prompts, sessions},
};
use crate::front::{
    error::{Result, internal},
    params,
    transport::in_order::withdrawable,
};
impl Service<Message> for Agent {
    type Response = Option<Answer>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Option<Answer>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let agent = self.clone();
        async move {
            let (id, handled) = match message {
                Message::Request { id, method, params } => {
                    let withdrawn = agent.begins(&id);
                    let handled = request(agent.clone(), method, params);
                    let handled = withdrawable(withdrawn, AssertUnwindSafe(handled).catch_unwind());
                    let handled = handled.await;
                    agent.ends(&id);
                    (id, handled)
                }
                Message::Notification { method, params } => {
                    notification(&agent, &method, params);
                    return Ok(None);
                }
                Message::Reply { id, result } => {
                    agent.client.replied(&id, result);
                    return Ok(None);
                }
            };
            let result = handled.unwrap_or_else(|_| {
                tracing::error!("a handler panicked");
                Err(plain_failure("this failed inside Aside; it is a defect"))
            });
            Ok(Some(answer(id, result)))
        }
        .boxed()
    }
}

/// Handles a request.
async fn request(agent: Agent, method: String, given: Value) -> Result<Value, Error> {
    if method == "initialize" {
        return initialize(&agent, given).map_err(|failed| failure(&failed));
    }
    let Some(at) = agent.connected().cloned() else {
        return Err(Error::new(
            ErrorCode::InvalidRequest.into(),
            "initialize comes first",
        ));
    };
    let handled = match method.as_str() {
        "session/new" => call(sessions::new, at, given).await,
        "session/load" => call(sessions::load, at, given).await,
        "session/resume" => call(sessions::resume, at, given).await,
        "session/fork" => call(sessions::fork, at, given).await,
        "session/list" => call(sessions::list, at, given).await,
        "session/close" => call(sessions::close, at, given).await,
        "session/delete" => call(sessions::delete, at, given).await,
        "session/set_title" => call(sessions::set_title, at, given).await,
        "session/set_mode" => call(options::set_mode, at, given).await,
        "session/set_config_option" => call(options::set_option, at, given).await,
        "session/prompt" => call(prompts::prompt, at, given).await,
        "_session/steering" => call(prompts::steer, at, given).await,
        _ => {
            return Err(Error::new(
                ErrorCode::MethodNotFound.into(),
                "Method not found",
            ));
        }
    };
    handled.map_err(|failed| failure(&failed))
}

/// Reads the params and calls the handler. Errors do not repeat the params, which may be private.
async fn call<P, R, F>(
    handler: impl FnOnce(Arc<AcpConnection>, P) -> F,
    at: Arc<AcpConnection>,
    given: Value,
) -> Result<Value>
where
    P: DeserializeOwned,
    R: Serialize,
    F: Future<Output = Result<R>>,
{
    let result = handler(at, params::read(given, true)?).await?;
    serde_json::to_value(result).map_err(internal)
}

fn initialize(agent: &Agent, given: Value) -> Result<Value> {
    let said: InitializeRequest = params::read(given, true)?;
    agent.connect(&said)?;
    serde_json::to_value(introduction()).map_err(internal)
}

/// Handles a notification. An unknown or invalid one is ignored.
fn notification(agent: &Agent, method: &str, given: Value) {
    if method == "$/cancel_request" {
        if let Ok(withdrawn) = params::read::<CancelRequestNotification>(given, true) {
            agent.withdraw(&withdrawn.request_id);
        }
        return;
    }
    let Some(at) = agent.connected() else {
        return;
    };
    match method {
        "session/cancel" => prompts::cancel(at, given),
        _ => tracing::info!("a notification that nobody knows came"),
    }
}

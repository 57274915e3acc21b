//! The front end for clients of the Agent Client Protocol, version 1, over standard input and output.
//!
//! | module | what lives there |
//! |---|---|
//! | `service` | which method is handled where |
//! | `methods` | the handlers, one file a group of methods |
//! | `turns` | a prompt from its params to its answer |
//! | `replay` | turns that are over, shown as they were |
//! | `view` | a turn as a client sees it, and the client's answers to prompts |
//! | `commands` | what a message that begins with `/` does |
//! | `options` | what can be chosen for the turns of a session |
//! | `connection` | the connection by its parts; empty before `initialize` |
//! | `session` | a conversation that a client has open |
//! | `form` | questions as forms (pure) |
//! | `permission` | permissions (pure) |
//! | `content` | what a prompt says and what goes along with it |
//! | `whole` | whole texts out of a diff |
//! | `updates` | Aside's updates as those of the protocol (pure) |
//! | `documents` | files as the client has them |
//! | `capabilities` | what the client can do, and what Aside can |
//! | `client` | the client at the other end, and the only way to it |
//! | `lines` | the framing: one JSON object a line |
//! | `message` | messages as they come in and go out, and errors |
//!
//! Each uses only those below it. `editors/ACP.md` says what is done where the protocol leaves it open.
//!
//! Invariant: while a handler waits for a client, a provider, a tool or a human the next ones run. The client is sent
//! nothing that it did not announce.

mod capabilities;
mod client;
mod commands;
mod connection;
mod content;
mod documents;
mod form;
mod lines;
mod message;
mod methods;
mod options;
mod permission;
mod replay;
mod service;
mod session;
mod turns;
mod updates;
mod view;
mod whole;

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    sync::Arc,
};

use futures_util::StreamExt;
use tokio::task::yield_now;
use tower_service::Service;

use self::{connection::Agent, lines::Lines, message::Message};
use super::transport::{
    claim, in_order::InOrder, inbox::Incoming, last::until_over, outbox::Outbox, pump::Pump,
    tasks::Tasks,
};
use crate::tool::Tool;

/// Serves the client on standard input and output until it goes, and returns the exit code. What the process must not do
/// after that is wait: a thread may hang in a read for ever.
///
/// # Errors
/// Where standard input or output cannot be had.
pub async fn serve() -> io::Result<u8> {
    let (input, output) = (claim::claim_stdin()?, claim::claim_stdout()?);
    connect(input, output, Vec::new(), None).await
}

/// The same on other pipes, with `own` tools besides the built-in ones, and with state in `state_dir`, else in the usual
/// place.
///
/// # Errors
/// Where the system gives no threads for the pipes.
pub async fn connect(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    own: Vec<Arc<dyn Tool>>,
    state_dir: Option<PathBuf>,
) -> io::Result<u8> {
    let pump = Pump::start(Lines::default(), input, output)?;
    let (output, tasks) = (pump.output, Tasks::default());
    let agent = Agent::new(output.clone(), tasks.clone(), own, state_dir);
    let service = InOrder::new(agent.clone(), output.clone(), tasks);
    let handling = handle(pump.input, service, output.clone());
    Ok(until_over(handling, pump.signals, &agent, &output).await)
}

/// Handles the client's messages one after another, up to the end of input.
async fn handle(mut input: Incoming, mut service: InOrder<Agent>, output: Outbox) {
    while let Some(line) = input.next().await {
        match Message::read(&line) {
            Ok(message) => {
                let Ok(answer) = service.call(message).await;
                if let Some(answer) = answer {
                    output.say(&answer);
                }
            }
            Err(refusal) => output.say(&refusal),
        }
        // Working off a long queue must keep nobody else from running.
        yield_now().await;
    }
}

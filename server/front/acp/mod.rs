//! The front end for clients of the Agent Client Protocol, version 1, over standard input and output.
//!
//! | module | contents |
//! |---|---|
//! | `service` | the table of methods and their handlers |
//! | `methods` | the handlers, one file a group of methods |
//! | `turns` | a prompt from its params to its answer |
//! | `replay` | finished turns, shown again |
//! | `view` | a turn as a client sees it, and the client's answers to prompts |
//! | `commands` | slash commands |
//! | `options` | options for the turns of a session |
//! | `connection` | the state of a connection; empty before `initialize` |
//! | `session` | a conversation that a client has open |
//! | `form` | questions as forms (pure) |
//! | `permission` | permissions (pure) |
//! | `content` | text and attachments of a prompt |
//! | `updates` | Aside's updates as those of the protocol (pure) |
//! | `documents` | the client's files |
//! | `texts` | whose text counts where a client says nothing but the text (pure) |
//! | `root` | the working folder, by its real path and as the client calls it (pure) |
//! | `capabilities` | capabilities of the client and of Aside |
//! | `client` | the only way to the client |
//! | `lines` | the framing: one JSON object a line |
//! | `message` | incoming and outgoing messages, and errors |
//!
//! Each uses only those below it. `editors/ACP.md` describes decisions that the protocol leaves open.
//!
//! Invariant: other handlers run while one waits for a client, a provider, a tool or a human. The client is sent nothing
//! that it did not announce.

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
mod root;
mod service;
mod session;
mod texts;
mod turns;
mod updates;
mod view;

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    sync::Arc,
};

use aside_base::system::streams;
use aside_tool::Tool;
use futures_util::StreamExt;
use tokio::task::yield_now;
use tower_service::Service;

use self::{connection::Agent, lines::Lines, message::Message};
use super::transport::{
    in_order::InOrder, inbox::Incoming, last::until_over, outbox::Outbox, pump::Pump, tasks::Tasks,
};

/// Serves the client on standard input and output until it leaves, and returns the exit code. The process must then
/// exit without joining threads, because one may be blocked in a read for ever.
///
/// # Errors
/// Fails if standard input or output cannot be used.
pub async fn serve() -> io::Result<u8> {
    let (input, output) = (streams::claim_stdin()?, streams::claim_stdout()?);
    connect(input, output, Vec::new(), None).await
}

/// Serves the client on other pipes, with `own` tools besides the built-in ones, and with state in `state_dir` or the
/// default folder.
///
/// # Errors
/// Fails if the threads for the pipes cannot be started.
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

/// Handles the client's messages one after another until the end of input.
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
        // A long queue must not starve other tasks.
        yield_now().await;
    }
}

//! The front end for editors: a Language Server over standard input and output.
//!
//! | module | what lives there |
//! |---|---|
//! | [`claim`] | takes descriptors 0 and 1 away from everybody else |
//! | [`frame`] | cuts the client's bytes into messages, within bounds (pure) |
//! | [`pump`] | the two threads between the pipes and tower-lsp |
//! | [`inbox`], [`outbox`] | the bounded queues of those threads |
//! | [`end`] | why a connection is over |
//! | `order` | runs handlers in the order in which their messages came, and lets answers come later |
//! | `server` | the handlers of LSP's and the protocol's methods |
//! | `hub` | what the handlers share |
//! | `settings`, `start` | the configuration of a turn; from params to a running turn |
//! | `attached` | what goes along with a message: a text, an open document, a file |
//! | `turns` | the turns that run, and what each tells the client |
//! | [`pieces`] | joins the text pieces of a turn that wait for a slow client (pure) |
//! | `prompts` | prompts in flight |
//! | `plain` | prompts, answers and commands for a client that knows nothing of the protocol |
//! | `conversations` | the list of conversations, and what can be done to one |
//! | `undo`, `pending` | taking a turn's changes back, in the editor and on disk; the prompts of interrupted turns |
//! | `configured`, `health` | settings, models and trust on request; how it goes, for a status line |
//! | `client_tools` | tools that run in the editor |
//! | `params`, `parent` | params by field; the client's process |
//! | `documents` | open documents: what tools read, saved or not |
//! | `edits`, `splices` | open documents as tools change them; the smallest edits for it (pure) |
//! | `error` | the protocol's errors |
//!
//! Invariant: while a handler waits for a client, a provider, a tool or a human the next ones run, and the future of
//! a request to the client is never dropped. tower-lsp is used here and nowhere else.

mod attached;
pub mod claim;
mod client_tools;
mod configured;
mod conversations;
mod documents;
mod edits;
pub mod end;
mod error;
pub mod frame;
mod health;
mod hub;
pub mod inbox;
mod order;
pub mod outbox;
mod params;
mod parent;
mod pending;
pub mod pieces;
mod plain;
mod prompts;
pub mod pump;
mod server;
mod settings;
mod splices;
mod start;
mod turns;
mod undo;

use std::{
    io::{self, Read, Write},
    sync::Arc,
    time::Duration,
};

use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use self::{end::End, hub::Hub, order::InOrder, pump::Pump};
use crate::tool::Tool;

/// How long turns and the last messages may take once the connection is over.
const LAST: Duration = Duration::from_millis(1500);

/// Serves the client on standard input and output until it goes, and returns the exit code: 0 where it had asked
/// for the end. What the process must not do after that is wait: a thread may hang in a read for ever.
///
/// # Errors
/// Where standard input or output cannot be had.
pub async fn serve() -> io::Result<u8> {
    connect(claim::claim_stdin()?, claim::claim_stdout()?, Vec::new()).await
}

/// The same on other pipes, with `own` tools besides the built-in ones.
///
/// # Errors
/// Where the system gives no threads for the pipes.
pub async fn connect(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    own: Vec<Arc<dyn Tool>>,
) -> io::Result<u8> {
    let pump = Pump::start(input, output)?;
    let (output, mut signals) = (pump.output.clone(), pump.signals);
    let (service, socket) =
        server::service(|client| Hub::new(client, own.clone(), output.clone(), signals.clone()));
    let hub = service.inner().hub.clone();
    let late = TaskTracker::new();
    let serving = tower_lsp::Server::new(pump.input, pump.output, socket)
        .concurrency_level(1)
        .serve(InOrder::new(service, output.clone(), late.clone()));
    let mut serving = tokio::spawn(serving);
    let (code, reads) = tokio::select! {
        end = signals.ended() => {
            tracing::info!(%end, "the connection is over");
            (end.code(), matches!(end, End::Exit { .. } | End::Input { .. }))
        }
        () = hub.parent_gone() => {
            tracing::info!("the client's process is gone");
            (1, false)
        }
    };
    let last = async {
        hub.leave().await;
        if reads {
            // What was sent before the end is still handled, and may have begun a turn.
            let _ = (&mut serving).await;
            hub.leave().await;
        }
        late.close();
        late.wait().await;
        output.drained(1).await;
    };
    if timeout(LAST, last).await.is_err() {
        tracing::warn!("what was left to do at the end took too long");
    }
    serving.abort();
    Ok(code)
}

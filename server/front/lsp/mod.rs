//! The front end for editors: a Language Server over standard input and output.
//!
//! | module | contents |
//! |---|---|
//! | `server` | the service for tower-lsp: LSP's methods, and the routes of the protocol's own |
//! | `methods` | the handlers, one file a group of methods |
//! | `turns` | the start of a turn, its display to the client, and settings that apply to a running turn |
//! | `progress` | a turn's progress while it runs, in what LSP has |
//! | `connection` | the state of a connection; empty before `initialize` |
//! | `fallback` | prompts and turns for a client without the `aside` capability |
//! | `status` | the health of the server, for a status line |
//! | `pending` | turns that are about to begin |
//! | `handles` | the parts of the connection that the rooms above share |
//! | `documents` | open documents, which tools read and change |
//! | `settings` | folders and layers of settings of the client |
//! | `client` | the only way to the client |
//! | `tower` | adapters for tower-lsp: headers, input and errors |
//!
//! Each uses only those below it. `relay` and `transport` are shared with ACP and know nothing of LSP.
//!
//! Invariant: other handlers run while one waits for a client, a provider, a tool or a human. Only this room uses
//! tower-lsp, and only `client` uses its client.

mod client;
mod connection;
mod documents;
mod fallback;
mod handles;
mod methods;
mod pending;
mod progress;
mod server;
mod settings;
mod status;
mod tower;
mod turns;

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    sync::Arc,
};

use aside_base::system::streams;
use aside_tool::Tool;

use self::{
    connection::{Pipes, Server},
    tower::{content_length::ContentLength, reader::Reader},
};
use super::transport::{in_order::InOrder, last::until_over, pump::Pump, tasks::Tasks};

/// Serves the client on standard input and output until it leaves, and returns the exit code: 0 after `shutdown`. The
/// process must then exit without joining threads, because one may be blocked in a read for ever.
///
/// # Errors
/// Fails if standard input or output cannot be used.
pub async fn serve() -> io::Result<u8> {
    let (input, output) = (streams::claim_stdin()?, streams::claim_stdout()?);
    connect(input, output, Vec::new(), None).await
}

/// Serves the client on other pipes, with `own` tools besides the built-in ones. State is kept in the folder that the
/// client names, or else in `state_dir`, or else in the default folder.
///
/// # Errors
/// Fails if the threads for the pipes cannot be started.
pub async fn connect(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    own: Vec<Arc<dyn Tool>>,
    state_dir: Option<PathBuf>,
) -> io::Result<u8> {
    let pump = Pump::start(ContentLength::default(), input, output)?;
    let (output, tasks, signals) = (pump.output.clone(), Tasks::default(), pump.signals);
    let pipes = |raw| Pipes {
        raw,
        own_tools: own,
        state_dir,
        output: output.clone(),
        ends: pump.ends,
        signals: signals.clone(),
        tasks: tasks.clone(),
    };
    let (service, socket) = server::service(|raw| Server::new(pipes(raw)));
    let server = service.inner().clone();
    let serving = tower_lsp::Server::new(Reader::new(pump.input), pump.output, socket)
        .concurrency_level(1)
        .serve(InOrder::new(service, output.clone(), tasks));
    Ok(until_over(serving, signals, &server, &output).await)
}

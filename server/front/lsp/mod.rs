//! The front end for editors: a Language Server over standard input and output.
//!
//! | module | what lives there |
//! |---|---|
//! | `server` | what tower-lsp calls: LSP's methods, and the routes of the protocol's own |
//! | `methods` | the handlers, one file a group of methods |
//! | `turns` | a turn for a client: how it begins, and what it tells the client |
//! | `connection` | the connection by its parts; empty before `initialize` |
//! | `fallback` | prompts and turns for a client without the `aside` capability |
//! | `status` | how the server is, for a status line |
//! | `pending` | turns that are about to begin |
//! | `handles` | the parts of the connection that the rooms above share |
//! | `documents` | open documents: what tools read, saved or not, and change |
//! | `settings` | the workspace as the client has it: folders and layers of settings |
//! | `client` | the client at the other end, and the only way to it |
//! | `tower` | what tower-lsp needs around it: headers, bytes to read, and errors as it sends them |
//! | `lock` | locks that nobody can leave broken |
//!
//! Each uses only those below it. Outside there are `relay` and `transport`, which know no Language Server.
//!
//! Invariant: while a handler waits for a client, a provider, a tool or a human the next ones run. tower-lsp is used here
//! and nowhere else, its client only in `client`.

mod client;
mod connection;
mod documents;
mod fallback;
mod handles;
mod lock;
mod methods;
mod pending;
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

use self::{
    connection::{Pipes, Server},
    tower::{content_length::ContentLength, reader::Reader},
};
use super::transport::{claim, in_order::InOrder, last::until_over, pump::Pump, tasks::Tasks};
use crate::tool::Tool;

/// Serves the client on standard input and output until it goes, and returns the exit code: 0 where it had asked
/// for the end. What the process must not do after that is wait: a thread may hang in a read for ever.
///
/// # Errors
/// Where standard input or output cannot be had.
pub async fn serve() -> io::Result<u8> {
    let (input, output) = (claim::claim_stdin()?, claim::claim_stdout()?);
    connect(input, output, Vec::new(), None).await
}

/// The same on other pipes, with `own` tools besides the built-in ones, and with state in `state_dir`, else in the usual
/// place, unless the client names one.
///
/// # Errors
/// Where the system gives no threads for the pipes.
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

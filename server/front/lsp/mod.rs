//! The front end for editors: a Language Server over standard input and output.
//!
//! | module | what lives there |
//! |---|---|
//! | `server` | the handlers of LSP's and the protocol's methods |
//! | `hub` | what the handlers share |
//! | `settings`, `start` | the configuration of a turn; from params to a running turn |
//! | `turns` | the turns that run, and what each tells the client |
//! | [`pieces`] | joins the text pieces of a turn that wait for a slow client (pure) |
//! | `prompts` | prompts in flight |
//! | `fallback` | prompts, answers and commands for a client without the `aside` capability |
//! | `conversations` | the list of conversations, and what can be done to one |
//! | `undo`, `pending` | taking a turn's changes back, in the editor and on disk; the prompts of interrupted turns |
//! | `configured`, `health` | settings, models and trust on request; how it goes, for a status line |
//! | `client` | the client at the other end, and the only way to it |
//! | `params` | params by field |
//! | `documents` | open documents: what tools read, saved or not, and change |
//! | `tower` | what tower-lsp needs around it: headers, bytes to read, and errors as it sends them |
//!
//! Invariant: while a handler waits for a client, a provider, a tool or a human the next ones run. tower-lsp is used here
//! and nowhere else, its client only in `client`.

mod client;
mod configured;
mod conversations;
mod documents;
mod fallback;
mod health;
mod hub;
mod params;
mod pending;
pub mod pieces;
mod prompts;
mod server;
mod settings;
mod start;
mod tower;
mod turns;
mod undo;

use std::{
    io::{self, Read, Write},
    sync::Arc,
    time::Duration,
};

use tokio::{task::JoinSet, time::timeout};

use self::{
    hub::Hub,
    tower::{content_length::ContentLength, reader::Reader},
};
use super::transport::{claim, end::End, in_order::InOrder, pump::Pump};
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
    let pump = Pump::start(ContentLength::default(), input, output)?;
    let (output, ends, mut signals) = (pump.output.clone(), pump.ends, pump.signals);
    let (service, socket) = server::service(|client| {
        let end = (ends.clone(), signals.clone());
        Hub::new(client, own.clone(), output.clone(), end)
    });
    let hub = service.inner().hub.clone();
    let serving = tower_lsp::Server::new(Reader::new(pump.input), pump.output, socket)
        .concurrency_level(1)
        .serve(InOrder::new(service, output.clone(), hub.tasks.clone()));
    // Aborted when this returns.
    let mut loops = JoinSet::new();
    loops.spawn(serving);
    let end = signals.ended().await;
    tracing::info!(%end, "the connection is over");
    let reads = matches!(end, End::Exit { .. } | End::Input { .. });
    let last = async {
        hub.leave().await;
        if reads {
            // What was sent before the end is still handled, and may have begun a turn.
            let _ = loops.join_next().await;
            hub.leave().await;
        }
        hub.lsp().close();
        hub.tasks.ended().await;
        output.drained(1).await;
    };
    if timeout(LAST, last).await.is_err() {
        tracing::warn!("what was left to do at the end took too long");
    }
    Ok(exit_code(&end))
}

/// The exit code of the process: 0 where the client had asked for the end, else 1.
fn exit_code(end: &End) -> u8 {
    match end {
        End::Exit { after_shutdown } | End::Input { after_shutdown } => u8::from(!after_shutdown),
        End::ParentGone | End::Framing(_) | End::Output(_) | End::NotReading => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_0_where_the_client_had_asked_for_the_end() {
        for (end, expected) in [
            (|after_shutdown| End::Exit { after_shutdown }, [1, 0]),
            (|after_shutdown| End::Input { after_shutdown }, [1, 0]),
            (|_| End::ParentGone, [1, 1]),
            (|_| End::NotReading, [1, 1]),
            (|_| End::Framing("lost".into()), [1, 1]),
            (|_| End::Output("gone".into()), [1, 1]),
        ] as [(fn(bool) -> End, [u8; 2]); 6]
        {
            let codes = [false, true].map(|after_shutdown| exit_code(&end(after_shutdown)));
            assert_eq!(codes, expected);
        }
    }
}

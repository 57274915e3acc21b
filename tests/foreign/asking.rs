//! The Language Server, or with `acp` the Agent Client Protocol, with one more tool, which asks whatever its arguments say: a
//! secret too, for which no built-in tool asks.

#[path = "../it/asker.rs"]
mod asker;

use std::{io, sync::Arc};

use aside::front::{acp, lsp};
use aside_base::system::streams;
use aside_tool::supervisor;

pub(crate) fn main() -> io::Result<()> {
    let mut given = std::env::args_os();
    if let Some(first) = given.nth(1) {
        supervisor::play(&first, given);
    }
    let is_acp = std::env::args().nth(1).is_some_and(|first| first == "acp");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (input, output) = (streams::claim_stdin()?, streams::claim_stdout()?);
    let tools = vec![Arc::new(asker::Asker::new()) as Arc<_>];
    let code = match is_acp {
        true => runtime.block_on(acp::connect(input, output, tools, None))?,
        false => runtime.block_on(lsp::connect(input, output, tools, None))?,
    };
    // As in the program: a thread may hang in a read for ever.
    std::process::exit(code.into())
}

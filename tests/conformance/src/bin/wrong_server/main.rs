//! The real server, or with `--wrong NAME` a server that breaks the protocol in one way: a proxy that changes what the
//! real one and its client say.
//!
//! It is what the driver is tested on: the real one passes all cases, and each wrong one fails those that it should.

#[path = "../../../../foreign/asking.rs"]
mod asking;
mod wrong;

use std::{
    io::{self, Write},
    process::Command,
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use aside_test_client::{
    Server,
    framing::{Frames, Message},
    pipes::{QueuedInput, read_into},
    server::new_stderr,
};
use clap::Parser;

use crate::wrong::{Proxy, Wrong};

/// The time that the real server has for its end.
const END: Duration = Duration::from_secs(10);

/// The Aside server with a tool that asks, on stdin and stdout
#[derive(Parser)]
struct Args {
    /// Breaks the protocol in this way
    #[arg(long, value_name = "NAME", value_enum)]
    wrong: Wrong,
    /// `acp`: speaks the Agent Client Protocol
    protocol: Option<String>,
}

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("--wrong" | "--help") => proxy(&Args::parse()),
        _ => asking::main(),
    }
}

/// A message, or none at the end.
enum Came {
    FromClient(Option<Message>),
    FromServer(Option<Message>),
}

fn proxy(args: &Args) -> io::Result<()> {
    let wrong = args.wrong;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(&args.protocol);
    let (server, input, output) = Server::start(command, new_stderr()?)?;
    let frames = match args.protocol {
        Some(_) => Frames::Lines,
        None => Frames::Headers,
    };
    let (say, all) = channel();
    let of_server = say.clone();
    // What is no message ends its side, as the end of a pipe does.
    read_all(frames, io::stdin(), move |message| {
        say.send(Came::FromClient(message)).is_ok()
    });
    read_all(frames, output, move |message| {
        of_server.send(Came::FromServer(message)).is_ok()
    });
    let mut input = Some(QueuedInput::new(input));
    let mut proxy = Proxy::new(wrong);
    for came in all {
        let is_over = match came {
            Came::FromClient(Some(message)) => {
                proxy.take_from_client(message.parse()?);
                false
            }
            Came::FromClient(None) => proxy.client_is_gone(),
            Came::FromServer(Some(message)) => proxy.take_from_server(message.parse()?),
            Came::FromServer(None) => break,
        };
        for message in proxy.to_server.drain(..) {
            if let Some(input) = &input {
                input.write(frames.frame(&message));
            }
        }
        let mut stdout = io::stdout().lock();
        for message in proxy.to_client.drain(..) {
            let mut bytes = frames.frame(&message);
            if wrong == Wrong::Corrupted && message["method"] == "aside/turn/completed" {
                // The closing brace.
                bytes.truncate(bytes.len() - 1);
                bytes.push(b'?');
            }
            // A client that is gone hears nothing.
            let _ = stdout.write_all(&bytes);
        }
        let _ = stdout.flush();
        if is_over {
            input = None;
        }
    }
    // The server is at its end, and what it leaves as its status is the proxy's.
    let status = server.exited(Instant::now() + END)?;
    io::stderr().write_all(server.complaint().as_bytes())?;
    std::process::exit(status.code().unwrap_or(1))
}

/// Reads messages, and then none.
fn read_all(
    frames: Frames,
    pipe: impl io::Read + Send + 'static,
    take: impl Fn(Option<Message>) -> bool + Send + Sync + 'static,
) {
    struct End<F: Fn(Option<Message>) -> bool>(F);
    impl<F: Fn(Option<Message>) -> bool> Drop for End<F> {
        fn drop(&mut self) {
            (self.0)(None);
        }
    }
    let take = End(take);
    read_into(frames, pipe, move |read| match read {
        Ok(message) => (take.0)(Some(message)),
        // `take` is dropped behind this.
        Err(_) => false,
    });
}

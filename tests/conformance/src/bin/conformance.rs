//! Plays hard clients against a server that speaks the Aside protocol.

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use aside_conformance::{cases, run, stage::Setting};
use aside_test_client::framing::Frames;
use clap::Parser;

/// Plays hard clients against a server that speaks the Aside protocol.
///
/// Exits 0 where all cases passed, 1 where one failed, 2 on bad usage.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Plays these cases alone (repeatable)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Lists the cases as a markdown table
    #[arg(long)]
    list: bool,
    /// Writes the result as JSON
    #[arg(long)]
    json: bool,
    /// The deadline of each wait, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Cases at once
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// For what comes in a random order
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Fails a case in which the server writes to its standard error
    #[arg(long)]
    silent: bool,
    /// The server has a tool `asker`, which asks what its arguments say: plays the cases that need it, too
    #[arg(long)]
    asker: bool,
    /// The server is spoken to over the Agent Client Protocol: plays the cases that make sense there
    #[arg(long)]
    acp: bool,
    /// The server and its arguments
    #[arg(last = true, required_unless_present = "list", value_name = "SERVER")]
    server: Vec<String>,
}

fn main() -> ExitCode {
    match conform(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "conformance: {error}");
            ExitCode::from(2)
        }
    }
}

fn conform(args: Args) -> io::Result<ExitCode> {
    let mut stdout = io::stdout().lock();
    let (all, frames) = match args.acp {
        true => (cases::agent::all(), Frames::Lines),
        false => (cases::all(), Frames::Headers),
    };
    if args.list {
        stdout.write_all(cases::table(&all).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = args
        .only
        .iter()
        .find(|name| all.iter().all(|case| case.name != **name))
    {
        return Err(io::Error::other(format!(
            "there is no case {name}; --list shows them"
        )));
    }
    let chosen: Vec<_> = all
        .iter()
        .filter(|case| {
            let named = args.only.iter().any(|name| name == case.name);
            named || args.only.is_empty() && (args.asker || !cases::needs_asker(case))
        })
        .copied()
        .collect();
    let setting = Arc::new(Setting {
        server: args.server,
        timeout: Duration::from_secs(args.timeout),
        seed: args.seed,
        frames,
        silent: args.silent,
        breaches: Arc::default(),
    });
    let verdicts = run::play(&chosen, &all, &setting, args.jobs.into());
    if args.json {
        writeln!(stdout, "{}", run::json(&verdicts))?;
    } else {
        stdout.write_all(run::table(&verdicts).as_bytes())?;
    }
    let passed = verdicts.iter().all(|verdict| verdict.passed);
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

//! The program while no time passes: what is decided by the clock is decided alike on every machine.
//!
//! All of it is real but the clock of its runtime. The test executable itself is this program where [`ARGS`] is set.

use std::process::Command;

use aside::front::headless::{
    args::{self, Command as Chosen},
    place::CommandContext,
    run,
};

use crate::world::{ProgramResult, StillTime, TestWorld};

/// The variable that makes the test executable the program: its arguments, as a JSON array.
const ARGS: &str = "ASIDE_TEST_WITHOUT_TIME";
/// What the test executable says before it runs a test.
const HEAD: &str = "\nrunning 1 test\n";

/// The program with these arguments. `test` is the name of the test that becomes it.
pub(crate) fn command(world: &TestWorld, test: &str, args: &[&str]) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut command = world.within(own.to_str().unwrap(), &["--exact", test, "--nocapture"]);
    command.env(ARGS, serde_json::to_string(args).unwrap());
    command
}

/// How a run of the program ended, without what the test executable said.
#[track_caller]
pub(crate) fn result(of: ProgramResult) -> ProgramResult {
    let said = of.stdout.strip_prefix(HEAD);
    let stdout = said.unwrap_or_else(|| panic!("{of:?}")).to_owned();
    ProgramResult { stdout, ..of }
}

/// Becomes the program, where this process was started to be it.
pub(crate) fn become_program() {
    let Ok(args) = std::env::var(ARGS) else {
        return;
    };
    let args: Vec<String> = serde_json::from_str(&args).unwrap();
    let all = ["aside".to_owned()].into_iter().chain(args);
    let cli = args::parse(all.map(Into::into)).ok().unwrap();
    let Chosen::Run(args) = cli.command else {
        panic!("it only knows run")
    };
    let place = CommandContext::find(None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let code = runtime.block_on(async {
        let _still = StillTime::begin();
        run::run(*args, &place).await
    });
    std::process::exit(code.unwrap().into());
}

//! Servers behind other programs, with all that lives on after a plain kill: they end with the program, when that is
//! cancelled, leaves, is killed, or is killed together with everything of its name.
//!
//! One is behind shells, and one behind `npx`, which starts a shell that starts it. `ASIDE_ENDS` says how often each end is
//! played, as in the tests of commands, and that time counts.

#![expect(clippy::print_stdout, reason = "how long it took at most is on record")]

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::calls;
use crate::{
    sandbox::{
        ground::{SandboxGround, User, program, users},
        survive::{
            End, SOON, all_there, cancelled, killed, killed_with_all_of_its_name, marked, new_mark,
            survivors, told_to_leave,
        },
    },
    world::{LONG, start, until, until_within},
};

/// How often each end is played, where nothing else is said.
const RUNS: usize = 3;

/// A ground with two servers, each of which leaves eight processes beside it.
fn ground(user: User, marks: &[String; 2]) -> SandboxGround {
    let ground = SandboxGround::new(user);
    let world = &ground.world;
    let server = ground.outside("server.py");
    for file in ["server.py", "pieces.py"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
        fs::copy(from.join(file), ground.outside(file)).unwrap();
    }
    let [behind_shells, behind_npx] = marks.each_ref().map(|mark| {
        let survivors = survivors(mark);
        let begins = survivors.strip_suffix("exec sleep 1000").unwrap();
        format!(
            "{begins} sh -c 'python3 {} hang; true'; true",
            server.display()
        )
    });
    world.write(
        "../home/node_modules/.bin/behind",
        &format!("#!/bin/sh\n{behind_npx}\n"),
    );
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.at("../home/node_modules/.bin/behind"), open).unwrap();
    world.write("../home/package.json", "{ \"name\": \"small\" }\n");
    world.user_config(&format!(
        "[mcp.servers.srv]\ncommand = 'sh'\nargs = {}\n[mcp.servers.two]\ncommand = 'npx'\nargs = {}\n\
         [conversation.tools.srv__echo]\nrun = 'unattended'\n",
        json!(["-c", behind_shells]),
        json!(["--offline", "behind"]),
    ));
    ground
}

fn check(ends: End) {
    let said = env::var("ASIDE_ENDS").ok();
    let runs = said.as_ref().map_or(RUNS, |runs| runs.parse().unwrap());
    // Side by side: much of it is waiting.
    let longest = thread::scope(|scope| {
        let longest = |user| (0..runs).map(|_| ended(user, ends)).max();
        let all = users()
            .iter()
            .map(|user| scope.spawn(move || longest(*user)));
        let all: Vec<_> = all.collect();
        all.into_iter().filter_map(|one| one.join().unwrap()).max()
    });
    let longest = longest.expect("a run");
    println!("{runs} runs: nothing was left after {longest:?}");
    assert!(said.is_none() || longest < SOON, "{longest:?}");
}

/// One run; how long it took until nothing of the servers was left.
fn ended(user: User, ends: End) -> Duration {
    let marks = [new_mark(), new_mark()];
    let ground = ground(user, &marks);
    let model = ground.world.script(&calls("echo", &json!({})));
    ground.hand_over();
    let args = ["run", "-m", &model, "Go", "--trust", "--mode", "auto"];
    let mut running = start(&mut ground.command(program(), &args));
    marks.iter().for_each(|mark| all_there(mark));
    until_within(LONG, "both servers run", || {
        super::left(&ground.world).len() == 2
    });
    ends(&mut running);
    let begin = Instant::now();
    until("none is left", || {
        let is_over = |mark: &String| marked(mark).is_empty();
        marks.iter().all(is_over) && super::left(&ground.world).is_empty()
    });
    begin.elapsed()
}

#[test]
fn no_server_outlives_a_cancelled_turn() {
    check(cancelled);
}

#[test]
fn no_server_outlives_the_program_when_it_leaves() {
    check(told_to_leave);
}

#[test]
fn no_server_outlives_the_program_when_it_is_killed() {
    check(killed);
}

#[test]
fn no_server_outlives_everything_of_its_name() {
    check(killed_with_all_of_its_name);
}

//! A server behind other programs, as `npx` starts it, with all that lives on after a plain kill: it ends with the program,
//! when that is cancelled, leaves, or is killed.

use std::path::Path;

use serde_json::json;

use super::{ALLOWED, calls};
use crate::{
    sandbox::survive::{
        End, all_there, cancelled, killed, marked, new_mark, survivors, told_to_leave,
    },
    world::{TestWorld, until},
};

/// How often each end is played.
const RUNS: usize = 3;

/// A world with a server that shells start, which leaves eight processes beside it.
fn world(mark: &str) -> TestWorld {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    let behind = format!("sh -c 'python3 {} hang; true'; true", server.display());
    let survivors = survivors(mark);
    let begins = survivors
        .strip_suffix("exec sleep 1000")
        .unwrap()
        .to_owned()
        + &behind;
    let world = TestWorld::new();
    world.user_config(&format!(
        "[mcp.servers.srv]\ncommand = 'sh'\nargs = {}\n",
        json!(["-c", begins])
    ));
    world
}

fn check(ends: End) {
    for _ in 0..RUNS {
        let mark = new_mark();
        let world = world(&mark);
        let script = calls("echo", &json!({}));
        let mut running = world.start_until(&script, &ALLOWED, "tool_call");
        all_there(&mark);
        ends(&mut running);
        until("none is left", || {
            marked(&mark).is_empty() && super::left(&world).is_empty()
        });
    }
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

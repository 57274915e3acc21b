//! A server that this project did not write asks at the terminal. `tests/mcp/run` plays this; without
//! `ASIDE_MCP_SERVERS` nothing happens here.

use serde_json::json;

use super::person::PtyPerson;
use crate::mcp::real_servers::{calls, everything, installed};

#[test]
fn real_servers_form_is_answered_at_the_terminal() {
    let Some(folder) = installed() else { return };
    let world = everything(&folder);
    let script = calls("everything__trigger-elicitation-request", &json!({}));
    let args = ["--trust", "--mode", "auto", "--unsandboxed"];
    let mut person = PtyPerson::runs(&world, &script, &args);
    let first = person.is_asked();
    assert!(first.contains("everything (MCP)"), "{first}");
    // The name, which has to be said; all else is taken as it is there, or left out.
    person.types("Ada\n");
    for _ in 1..13 {
        person.is_asked();
        person.types("\n");
    }
    let seen = person.ends(0);
    assert!(
        seen.contains("ok everything__trigger-elicitation-request"),
        "{seen}"
    );
    world
        .log()
        .told_has("call", "User provided the requested information");
}

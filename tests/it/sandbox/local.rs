//! A tool of the user's inside the sandbox.

use serde_json::json;

use super::ground::{SandboxGround, auto_run, users};
use crate::world::EventLog;

/// A run in which the model calls the tool `mine`.
fn calls_mine(ground: &SandboxGround) -> EventLog {
    let model = ground.world.script(
        "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'mine', id = 'call', arguments = {} }]\n\
         [[reply]]\nsay = [{ text = 'Done.' }]\n",
    );
    ground.aside(&auto_run(&model, &[])).exits(0);
    ground.world.log()
}

#[test]
fn a_local_tool_runs_unasked_inside_with_nobody_there() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let script = "head -c 14; echo; echo x >inside && echo inside
            (echo x >../outside/f) 2>/dev/null && echo outside
            mkdir -p sub/.git && echo x >sub/.git/config; echo end";
        ground.world.user_config(&format!(
            "[conversation.tools.mine]\nsource = 'local'\ncommand = {}\n",
            json!(["sh", "-c", script])
        ));
        let log = calls_mine(&ground);
        let told = log.told("call");
        let expected = "Other programs take code from what this made or replaced, so tell the user: sub/.git\n\
                        {\"name\":\"mine\"\ninside\nend";
        assert_eq!(told, expected, "{user:?}");
        assert!(!ground.outside("f").exists());
    }
}

#[test]
fn a_program_that_is_not_there_is_said_to_be_missing_inside_too() {
    let ground = SandboxGround::new(users()[0]);
    ground.world.user_config(
        "[conversation.tools.mine]\nsource = 'local'\ncommand = ['no-such-program']\n",
    );
    let log = calls_mine(&ground);
    log.told_has("call", "no-such-program: No such file or directory");
}

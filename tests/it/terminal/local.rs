//! A tool of the user's that asks at a terminal.

use std::path::Path;

use serde_json::json;

use super::person::PtyPerson;
use crate::world::TestWorld;

#[test]
fn the_example_in_bash_asks_at_the_terminal() {
    let world = TestWorld::new();
    world.write("a.md", "one\ntwo\n");
    world.write("b.txt", "one\n");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/local/lines.sh");
    world.user_config(&format!(
        "[conversation.tools.lines]\nsource = 'local'\ncommand = {}\n",
        json!(["bash", example])
    ));
    let script = "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'lines', id = 'call', arguments = {} }]\n\
                  [[reply]]\nsay = [{ text = 'Done.' }]\n";
    let args = ["--trust", "--mode", "auto", "--unsandboxed"];
    let mut person = PtyPerson::runs(&world, script, &args);
    let screen = person.is_asked();
    assert!(screen.contains("Lines of which files?"), "{screen}");
    person.types("2\n");
    person.ends(0);
    assert_eq!(world.log().told("call"), "1 files, 1 lines");
}

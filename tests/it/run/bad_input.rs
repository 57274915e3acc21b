//! What is wrong with a command line, a configuration or a script is one sentence, and no conversation begins.

use aside_test_table::rows;

use crate::world::{ProgramResult, TestWorld};

/// One clear sentence on standard error, nothing on standard output, and nothing left behind.
#[track_caller]
fn check_in(world: &TestWorld, args: &[&str], code: i32, says: &[&str]) {
    let done = world.aside(args).exits(code);
    check_said(&done, says);
    assert!(world.conversations().is_empty(), "{args:?}");
}

#[track_caller]
fn check_said(done: &ProgramResult, says: &[&str]) {
    assert_eq!(done.stdout, "");
    assert!(done.stderr.starts_with("aside: "), "{done:?}");
    assert_eq!(done.stderr.matches('\n').count(), 1, "{done:?}");
    for part in says {
        assert!(done.stderr.contains(part), "no {part:?} in {done:?}");
    }
}

/// Checks a table: arguments of `aside run` with a script that would answer, and what is said, in parts between `&`. In a
/// word `␣` stands for a blank, and `␤` for the end of a line.
#[track_caller]
fn check(table: &str) {
    let spelled = |word: &str| word.replace('␣', " ").replace('␤', "\n");
    for [args, says] in rows(table) {
        let world = TestWorld::new();
        let model = world.script("[[reply]]\nsay = [{ text = 'Not this.' }]");
        let args: Vec<String> = args.split_whitespace().map(spelled).collect();
        let args = args.iter().map(String::as_str);
        let args: Vec<&str> = ["run", "-m", &model].into_iter().chain(args).collect();
        let says: Vec<String> = says.split(" & ").map(spelled).collect();
        let says: Vec<&str> = says.iter().map(String::as_str).collect();
        check_in(&world, &args, 2, &says);
    }
}

#[test]
fn flags() {
    let world = TestWorld::new();
    check_in(&world, &[], 2, &["a command is missing"]);
    check_in(&world, &["runn"], 2, &["runn", "run"]);
    check(
        "
        --atach x Go                  | --atach & --attach
        --mode sideways Go            | sideways & ask, edits, plan, auto
        --output xml Go               | xml & jsonl
        --max-steps 0 Go              | --max-steps
        --max-cost -1 Go              | --max-cost
        --timeout 5 Go                | such as 90s or 5m
        --detached maybe Go           | auto, defaults, deny or stop
        -t a␣b Go                     | a tool name has
        -t no_such_tool Go            | no_such_tool
        --answer p1=x Go              | needs --resume
        --answer x Go                 | TOOL.QUESTION=VALUE
        --tool-choice no␣tool Go      | a tool name has
        --tool-choice no_such_tool Go | no_such_tool
    ",
    );
}

#[test]
fn conversations() {
    check(
        "
        --resume Go         | accepts no message
        --resume            | there is no conversation to resume here
        --continue Go       | there is no conversation to continue here
        -c nonesuch Go      | there is no conversation nonesuch
        -c ../.. Go         | there is no conversation
        --continue --resume | --continue & --resume
    ",
    );
}

#[test]
fn messages() {
    check(
        "
                                | there is no message
        ␣␤                      | the message is empty
        -                       | the message is empty
        --attach nowhere.txt Go | nowhere.txt cannot be attached:␣
    ",
    );
    let world = TestWorld::new();
    let model = world.script("[[reply]]\nsay = [{ text = 'Not this.' }]");
    check_said(
        &world.aside_with("", &["run", "-m", &model]).exits(2),
        &["the message is empty"],
    );
    check_said(
        &world.aside_with("\n", &["run", "-m", &model, "-"]).exits(2),
        &["the message is empty"],
    );
    assert!(world.conversations().is_empty());
}

#[test]
fn schemas() {
    check(
        r#"
        --schema nowhere.json Go | cannot read the schema␣ & nowhere.json:␣
        --schema {bad Go         | not valid JSON:␣
        --schema {"type":␣3} Go  | is not a valid JSON schema:␣
    "#,
    );
}

#[test]
fn places() {
    check(
        "
        --cwd nowhere Go            | cannot use the folder nowhere:␣
        --log-file /proc/nowhere Go | the log file /proc/nowhere cannot be opened:␣
    ",
    );
}

#[test]
fn settings() {
    check(
        "
        --set nonsense Go                    | KEY=VALUE
        --set assistant.modle=x Go           | --set & assistant.modle & assistant.model
        --set conversation.limits.steps=0 Go | --set & conversation.limits.steps
        --set conversation.tools.ask_user.questions.answer.exclusive=false Go | conversation.tools.ask_user.questions.answer.exclusive has no effect: & for a person alone
    ",
    );
}

#[test]
fn a_file_of_settings() {
    let check = |text: &str, says: &[&str]| {
        let world = TestWorld::new();
        world.user_config(text);
        let model = world.script("[[reply]]\nsay = []");
        check_in(
            &world,
            &["run", "-m", &model, "Go"],
            2,
            &[&["aside.toml"], says].concat(),
        );
    };
    check("[assistant]\nmodle = 'x'\n", &["2", "modle", "model"]);
    check(
        "[conversation]\n\nmode = 'sideways'\n",
        &[":3: ", "conversation.mode", "\"auto\""],
    );
    check("assistant = [\n", &["1"]);
    check(
        "[conversation.limits]\nsteps = 'many'\n",
        &["2", "conversation.limits.steps"],
    );
}

#[test]
fn a_workspaces_file_of_settings() {
    let world = TestWorld::new();
    world.write(
        "aside.toml",
        "[conversation.tools.read_file]\nenabel = false\n",
    );
    let model = world.script("[[reply]]\nsay = []");
    check_in(
        &world,
        &["run", "--trust", "-m", &model, "Go"],
        2,
        &["aside.toml", "2", "enabel", "enable"],
    );
}

#[test]
fn models() {
    let check = |model: &str, says: &[&str]| {
        check_in(&TestWorld::new(), &["run", "-m", model, "Go"], 6, says)
    };
    check("nonsense/model", &["nonsense"]);
    check("nonsense", &["nonsense"]);
    check("rehearsal/nowhere.toml", &["nowhere.toml"]);
    check_in(&TestWorld::new(), &["run", "Go"], 6, &["assistant.model"]);
}

#[test]
fn scripts() {
    let check = |text: &str, says: &[&str]| {
        let world = TestWorld::new();
        let model = world.script(text);
        check_in(
            &world,
            &["run", "-m", &model, "Go"],
            6,
            &[&["script.toml"], says].concat(),
        );
    };
    check("[[reply]]\nsya = []\n", &["2", "sya", "say"]);
    check("[[reply\n", &["1"]);
    check(
        "[[reply]]\nsay = [{ text = 'a', pieces = 0 }]\n",
        &["pieces"],
    );
}

#[test]
fn levels_of_the_log() {
    let world = TestWorld::new();
    let model = world.script("[[reply]]\nsay = []");
    let mut command = world.command(&["run", "-m", &model, "Go"]);
    let done = crate::world::start(command.env("ASIDE_LOG", "a=b=c"))
        .end()
        .exits(2);
    check_said(&done, &["ASIDE_LOG"]);
}

#[test]
fn an_answer_for_a_tool_that_is_not_there() {
    check(
        "--answer ask_users.answer=yes Go | there is no tool `ask_users`; did you mean `ask_user`?",
    );
}

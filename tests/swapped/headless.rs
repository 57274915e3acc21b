//! Conversations at the command line, where nobody answers.

use serde_json::Value;

use super::{Conversation, Player, plain};
use crate::world::{TestWorld, start};

/// A configuration, further arguments, and a script.
const RUNS: [(&str, &str, &[&str], &str); 18] = [
    ("approval", "", &["--trust", "--strict"], WRITES),
    (
        "plan",
        "",
        &["--trust", "--mode", "plan", "--strict"],
        WRITES,
    ),
    ("untrusted", "", &[], WRITES),
    (
        "key",
        "conversation.tools.write_file.run = 'deny'\n",
        &["--trust", "--strict"],
        WRITES,
    ),
    (
        "rule",
        "commands.deny = ['rm']\n",
        &["--trust", "--strict"],
        "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'run_command', arguments = { command = 'rm -r x' } }]\n\
         [[reply]]\nwhen = { step = 2 }\nsay = [{ call = 'run_command', arguments = { command = 'rm -r x' } }]\n\
         [[reply]]\nsay = [{ text = 'Done.' }]",
    ),
    (
        "withheld",
        "conversation.tools.read_file.result = 'ask'\n",
        &["--trust", "--strict"],
        "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'read_file', arguments = { path = 'a.txt' } }]\n\
         [[reply]]\nsay = [{ text = 'Done.' }]",
    ),
    ("nobody", "", &["--strict"], ASKS),
    ("by default", "", &["--detached", "defaults"], ASKS),
    ("no answer allowed", "", &["--detached", "deny"], ASKS),
    (
        "wrong answer",
        "conversation.tools.ask_user.questions.answer.answer = 'green'\n",
        &["--strict"],
        ASKS,
    ),
    ("parked", "", &["--detached", "stop"], ASKS),
    (
        "cut off",
        "",
        &[],
        "[[reply]]\nrepeat = true\nsay = [{ reasoning = 'So' }]\ntruncate_last = true",
    ),
    (
        "cut once",
        "",
        &[],
        "[[reply]]\nwhen = { step = 1 }\nsay = [{ reasoning = 'So' }]\ntruncate_last = true\n\
         [[reply]]\nsay = [{ text = 'Done.' }]",
    ),
    (
        "schema",
        "",
        &["--schema", r#"{"type":"object"}"#],
        "[[reply]]\nrepeat = true\nsay = [{ text = 'no JSON' }]",
    ),
    (
        "schema mended",
        "",
        &["--schema", r#"{"type":"object"}"#],
        "[[reply]]\nwhen = { step = 1 }\nsay = [{ text = 'no JSON' }]\n[[reply]]\nsay = [{ text = '{}' }]",
    ),
    (
        "forced",
        "",
        &["--tool-choice", "list_files"],
        "[[reply]]\nrepeat = true\nsay = [{ text = 'No.' }]",
    ),
    (
        "wrong calls",
        "",
        &[],
        "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'nothing' }, { call = 'read_file', raw_arguments = '{bad' }, \
         { call = 'read_file', arguments = { path = 1 } }, { call = 'ask_user', arguments = {} }]\n\
         [[reply]]\nsay = [{ text = 'Done.' }]",
    ),
    (
        "steps",
        "",
        &["--max-steps", "1"],
        "[[reply]]\nrepeat = true\nsay = [{ call = 'list_files' }]",
    ),
];

/// The same call twice: the second time it is refused at once.
const WRITES: &str = "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'write_file', arguments = { path = 'a', content = 'a' } }]\n\
    [[reply]]\nwhen = { step = 2 }\nsay = [{ call = 'write_file', arguments = { path = 'a', content = 'a' } }]\n\
    [[reply]]\nsay = [{ text = 'Done.' }]";

/// The same question twice, and the model does not answer.
const ASKS: &str = "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'ask_user', arguments = { question = 'Which?', answer_type = 'select', options = ['red', 'blue'], default = 'red' } }]\n\
    [[reply]]\nwhen = { step = 2 }\nsay = [{ call = 'ask_user', arguments = { question = 'Which?', answer_type = 'select', options = ['red', 'blue'], default = 'red' } }]\n\
    [[reply]]\nwhen = { inquiry = true }\nrepeat = true\nsay = [{ text = 'I do not know.' }]\n\
    [[reply]]\nsay = [{ text = 'Done.' }]";

/// An edit whose text stands in two places; the model's first answer does not fit.
const INQUIRES: &str = "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'edit_file', arguments = { path = 'a.txt', old_text = 'one', new_text = 'two' } }]\n\
    [[reply]]\nanswer = 'nowhere'\n[[reply]]\nanswer = '2'\n[[reply]]\nsay = [{ text = 'Done.' }]";

pub(super) fn all() -> Vec<Conversation> {
    let mut all: Vec<Conversation> = Vec::new();
    for (name, config, args, script) in RUNS {
        let play = move |player: Player| {
            let world = world(config);
            run(player, &world, script, args)
        };
        all.push((format!("headless, {name}"), Box::new(play)));
    }
    let inquires = |player: Player| {
        let world = world("");
        let done = run(player, &world, INQUIRES, &["--trust", "--mode", "auto"]);
        done + &world.read("a.txt")
    };
    all.push(("headless, inquiry".into(), Box::new(inquires)));
    let resumes = |player: Player| {
        let world = world("");
        let first = run(player, &world, ASKS, &["--detached", "stop"]);
        let list = ended(player, &world, &["conversation", "list"]).len();
        let script = world.script(ASKS);
        let second = said(
            player,
            &world,
            &[
                "run",
                "-m",
                &script,
                "--resume",
                "--detached",
                "deny",
                "--output",
                "json",
            ],
        );
        format!("{first}\n{}\n{second}", list > 0)
    };
    all.push(("headless, resumed".into(), Box::new(resumes)));
    all
}

/// A sentence for people and one for the model, as the program says them.
pub(super) fn sentences(player: Player) -> [String; 2] {
    let of = |script: &str| {
        let world = world("");
        let model = world.script(script);
        let args = ["run", "-m", &model, "--output", "json", "Go"];
        let end = start(&mut player.command(&world, &args)).end().json();
        let log = world.log();
        (end, log)
    };
    let (cut, _) = of(RUNS[11].3);
    let (_, refused) = of(WRITES);
    [
        cut["error"]["message"].to_string(),
        refused.told("call_1").to_owned(),
    ]
}

fn world(config: &str) -> TestWorld {
    let world = TestWorld::new();
    world.write("a.txt", "one\none\n");
    world.user_config(config);
    world
}

fn run(player: Player, world: &TestWorld, script: &str, args: &[&str]) -> String {
    let model = world.script(script);
    let first = ["run", "-m", &model, "--output", "json", "Go"];
    said(player, world, &[&first, args].concat())
}

/// The exit code, what stands on standard output, and what people read of calls and refusals.
fn said(player: Player, world: &TestWorld, args: &[&str]) -> String {
    let done = start(&mut player.command(world, args)).end();
    let end: Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:#?}"));
    let lines = done.stderr.lines().filter(|line| {
        let line = line.trim_start();
        let kinds = [
            "refused:",
            "denied",
            "error ",
            "cancelled",
            "waits:",
            "? ",
            "▸",
            "ok ",
        ];
        kinds.iter().any(|kind| line.starts_with(kind))
    });
    let lines: Vec<&str> = lines.map(without_words).collect();
    format!(
        "{}\n{}\n{}",
        done.code,
        plain(world, &end),
        lines.join("\n")
    )
    .replace(&world.folder().display().to_string(), "WORLD")
}

/// The line of a call that failed, without the words of its tool: they may be a sentence for the model.
fn without_words(line: &str) -> &str {
    match line.split_once(':') {
        Some((call, _)) if line.trim_start().starts_with("error ") => call,
        _ => line,
    }
}

fn ended(player: Player, world: &TestWorld, args: &[&str]) -> String {
    start(&mut player.command(world, args)).end().stdout
}

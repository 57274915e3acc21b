//! Conversations at the command line, where nobody answers.

use serde_json::Value;

use super::{Conversation, Player, plain};
use crate::world::{TestWorld, start};

/// A name, a configuration, further arguments between blanks, and a script.
const RUNS: [(&str, &str, &str, &str); 18] = [
    ("approval", "", "--trust --strict", WRITES),
    ("plan", "", "--trust --mode plan --strict", WRITES),
    ("untrusted", "", "", WRITES),
    (
        "key",
        "conversation.tools.write_file.run = 'deny'\n",
        "--trust --strict",
        WRITES,
    ),
    (
        "rule",
        "commands.deny = ['rm']\n",
        "--trust --strict",
        REMOVES,
    ),
    (
        "withheld",
        "conversation.tools.read_file.result = 'ask'\n",
        "--trust --strict",
        READS,
    ),
    ("nobody", "", "--strict", ASKS),
    ("by default", "", "--detached defaults", ASKS),
    ("no answer allowed", "", "--detached deny", ASKS),
    (
        "wrong answer",
        "conversation.tools.ask_user.questions.answer.answer = 'green'\n",
        "--strict",
        ASKS,
    ),
    ("parked", "", "--detached stop", ASKS),
    ("cut off", "", "", CUT),
    ("cut once", "", "", CUT_ONCE),
    ("schema", "", r#"--schema {"type":"object"}"#, NO_JSON),
    ("schema mended", "", r#"--schema {"type":"object"}"#, MENDED),
    ("forced", "", "--tool-choice list_files", REFUSES),
    ("wrong calls", "", "", MISTAKES),
    ("steps", "", "--max-steps 1", LISTS),
];

/// The same command twice.
const REMOVES: &str = r#"
    run_command { command = 'rm -r x' }
    run_command { command = 'rm -r x' }
    "Done."
"#;

/// A file is read.
const READS: &str = r#"
    read_file { path = 'a.txt' }
    "Done."
"#;

/// Responses that are cut off again and again.
const CUT: &str = "always reasoning 'So'\n& truncate_last = true";

/// A response that is cut off, and one that is not.
const CUT_ONCE: &str = "reasoning 'So'\n& truncate_last = true\n'Done.'";

/// A text that is not JSON, again and again.
const NO_JSON: &str = r#"
    always "no JSON"
"#;

/// A text that is not JSON, then JSON.
const MENDED: &str = r#"
    "no JSON"
    "{}"
"#;

/// No call, again and again.
const REFUSES: &str = r#"
    always "No."
"#;

/// Calls that cannot be made.
const MISTAKES: &str = r#"
    nothing {}
    + { call = 'read_file', raw_arguments = '{bad' }
    + read_file { path = 1 }
    + ask_user {}
    'Done.'
"#;

/// A call in each step.
const LISTS: &str = "always list_files {}";

/// The same call twice: the second time it is refused at once.
const WRITES: &str = r#"
    write_file { path = 'a', content = 'a' }
    write_file { path = 'a', content = 'a' }
    "Done."
"#;

/// The same question twice, and the model does not answer.
const ASKS: &str = r#"
    ask_user { question = 'Which?', answer_type = 'select', options = ['red', 'blue'], default = 'red' }
    ask_user { question = 'Which?', answer_type = 'select', options = ['red', 'blue'], default = 'red' }
    { inquiry = true } => always 'I do not know.'
    'Done.'
"#;

/// An edit whose text stands in two places; the model's first answer does not fit.
const INQUIRES: &str = r#"
    edit_file { path = 'a.txt', old_text = 'one', new_text = 'two' }
    {} => -
    & answer = 'nowhere'
    {} => -
    & answer = '2'
    'Done.'
"#;

pub(super) fn all() -> Vec<Conversation> {
    let mut all: Vec<Conversation> = Vec::new();
    for (name, config, args, script) in RUNS {
        let play = move |player: Player| {
            let world = world(config);
            let args: Vec<&str> = args.split_whitespace().collect();
            run(player, &world, script, &args)
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
        let resume = "--resume --detached deny --output json";
        let args = format!("run -m {script} {resume}");
        let second = said(player, &world, &args.split(' ').collect::<Vec<_>>());
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
    let (cut, _) = of(CUT);
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

//! A server that lives long: turns of mixed kinds, one after another, and what its process has when they are over.
//!
//! A sample of them, unless somebody wants a day's: `ASIDE_TURNS=50000 cargo test --test it -- lsp::lived --nocapture`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::client::{Client, answer, initialize, prompts};
use crate::{
    traced::with_files_seen,
    world::{ASIDE, LONG, TestWorld, until_within},
};

/// Turns, unless somebody wants more.
const TURNS: usize = 240;
/// Turns of a conversation, which is deleted then.
const OF_CONVERSATION: usize = 2 * KINDS.len();
/// Bytes that a turn may take for good.
const FOR_GOOD: usize = 1024;
/// Bytes by which two looks at the same process may differ.
const NOISE: usize = 8 << 20;

/// The kinds of turns, by their messages.
const KINDS: [&str; 10] = [
    "Say", "Ask", "Dismiss", "Steer", "Cancel", "Read", "Write", "Run", "Edit", "Serve",
];

/// A model that makes the call of each kind, and then says that it is fine.
fn script() -> String {
    let call = |user: &str, tool: &str, arguments: Value| {
        let call = json!({ "call": tool, "arguments": arguments });
        json!({ "when": { "user": user, "step": 1 }, "repeat": true, "say": [call] })
    };
    let edit = json!({ "path": "c.txt", "old_text": "x", "new_text": "y" });
    let replies = [
        call(
            "/^(Ask|Dismiss|Steer|Cancel)$/",
            "ask_user",
            json!({ "question": "Name?" }),
        ),
        call("Read", "read_file", json!({ "path": "a.txt" })),
        call(
            "Write",
            "write_file",
            json!({ "path": "b.txt", "content": "new" }),
        ),
        call("Run", "run_command", json!({ "command": "true" })),
        call("Edit", "edit_file", edit),
        call("Serve", "srv__echo", json!({})),
        json!({ "repeat": true, "answer": "1" }),
        json!({ "repeat": true, "say": [{ "text": "Fine." }] }),
    ];
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// What the process of a server has, and what lies in its folders.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: usize,
    threads: usize,
    descriptors: usize,
    files: usize,
}

fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let of = |entry: fs::DirEntry| match entry.file_type().unwrap().is_dir() {
        true => files(&entry.path()),
        false => 1,
    };
    entries.map(of).sum()
}

fn count(pid: u32, what: &str) -> usize {
    fs::read_dir(format!("/proc/{pid}/{what}")).unwrap().count()
}

impl Held {
    fn of(client: &Client, world: &TestWorld) -> Self {
        let pid = client.id();
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
        // Pages of files count by how many processes have them, which is up to who else runs.
        let mut lines = rollup.lines();
        let own = lines.find_map(|line| line.strip_prefix("Pss_Anon:"));
        let kib: usize = own.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
        Self {
            bytes: kib * 1024,
            threads: count(pid, "task"),
            descriptors: count(pid, "fd"),
            files: files(world.folder()),
        }
    }
}

/// A conversation of each kind of turn, which is looked at and deleted at its end.
fn live(client: &mut Client, world: &TestWorld) {
    let made = client.request("aside/conversation/create", json!({}));
    let of = json!({ "conversationId": made["conversationId"] });
    for message in KINDS.iter().cycle().take(OF_CONVERSATION) {
        world.write("c.txt", "x\n\nx\n");
        let start = json!({ "conversationId": of["conversationId"], "message": message });
        let turn = client.turn(start);
        turn_goes(client, &turn, message);
        for told in [
            "aside/conversation/changed",
            "aside/status",
            "aside/prompt/dismiss",
        ] {
            client.forget(told);
        }
    }
    for method in ["read", "transcript", "ledger", "list"] {
        client.request(&format!("aside/conversation/{method}"), of.clone());
    }
    client.request("aside/conversation/delete", of);
    client.forget("aside/conversation/changed");
}

fn turn_goes(client: &mut Client, turn: &Value, message: &str) {
    let of = json!({ "turnId": turn["turnId"] });
    let outcome = match message {
        "Ask" | "Dismiss" | "Steer" | "Cancel" => {
            let prompt = client.expect("aside/prompt");
            match message {
                "Ask" => client.reply(&prompt, answer("Ada")),
                "Dismiss" => client.reply(&prompt, json!({ "action": "cancel" })),
                "Steer" => {
                    let more = json!({ "turnId": turn["turnId"], "message": "Softly" });
                    client.request("aside/turn/steer", more);
                    client.reply(&prompt, answer("Ada"));
                }
                _ => {
                    client.request("aside/turn/cancel", of);
                    client.reply(&prompt, json!({ "action": "cancel" }));
                    let (_, end) = client.play(turn, |prompt| panic!("asked: {prompt}"));
                    assert_eq!(end["outcome"], "cancelled", "{end}");
                    return;
                }
            }
            "completed"
        }
        _ => "completed",
    };
    let (_, end) = client.play(turn, |prompt| panic!("asked: {prompt}"));
    assert_eq!(end["outcome"], outcome, "{message}: {end}");
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn a_server_ends_a_long_life_with_what_it_had_early() {
    let all = std::env::var("ASIDE_TURNS").map_or(TURNS, |turns| turns.parse().expect("a number"));
    let early = 1000.min(all / 2);
    let world = TestWorld::new();
    let model = world.script(&script());
    let server = crate::mcp::config("plain", "");
    world.user_config(&format!(
        "assistant.model = '{model}'\nunsandboxed = true\nconversation.mode = 'auto'\n\
         conversation.tools.srv__echo.run = 'unattended'\n\
         conversation.tools.edit_file.questions.occurrence.target = 'assistant'\n{server}"
    ));
    world.write("a.txt", "text\n");
    let server = with_files_seen(&[ASIDE, "lsp", "--stdio"]);
    let mut client = Client::run(world.within(server[0], &server[1..]));
    let params = initialize(&world, prompts(), json!({ "trusted": true }));
    client.request("initialize", params);
    client.notify("initialized", json!({}));

    let mut lives = |count: usize| {
        for _ in 0..count.div_ceil(OF_CONVERSATION) {
            live(&mut client, &world);
        }
        Held::of(&client, &world)
    };
    let first = lives(early);
    let mut last = lives(all - early);
    until_within(LONG, "threads and descriptors are those of before", || {
        last = Held::of(&client, &world);
        last.threads <= first.threads && last.descriptors <= first.descriptors
    });
    client.leave();
    eprintln!("after {early} turns {first:?}, after {all} {last:?}");
    assert!(last.files <= first.files, "{first:?} {last:?}");
    let most = first.bytes + NOISE + (all - early) * FOR_GOOD;
    assert!(last.bytes <= most, "{first:?} {last:?}");
}

//! What is told again and again until it is killed: a conversation of four turns in which each kind of event happens.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use aside_session::{conversation::Conversation, store::Store};

use crate::world::TestWorld;

/// A turn: its script, and its arguments.
pub(super) struct StoryTurn {
    pub(super) message: &'static str,
    pub(super) script: (&'static str, &'static str),
    pub(super) args: &'static [&'static str],
}

const ONE: (&str, &str) = ("one.toml", include_str!("one.toml"));
const TWO: (&str, &str) = ("two.toml", include_str!("two.toml"));

pub(super) const STORY: [StoryTurn; 4] = [
    StoryTurn {
        message: "Look, edit, and count",
        script: ONE,
        args: &["--mode", "auto", "--answer", "ask_user.answer=blue"],
    },
    StoryTurn {
        message: "Call a tool",
        script: TWO,
        args: &["--mode", "auto", "--tool-choice", "run_command"],
    },
    StoryTurn {
        message: "Ask me",
        script: TWO,
        args: &[
            "--mode",
            "ask",
            "--detached",
            "stop",
            "--set",
            "conversation.tools.run_command.result=ask",
        ],
    },
    StoryTurn {
        message: "Say it as JSON",
        script: TWO,
        args: &[
            "--mode",
            "edits",
            "--schema",
            r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
        ],
    },
];

/// A world in which the story can be told: a workspace, and an empty conversation whose id is known.
pub(super) struct StoryGround {
    pub(super) world: TestWorld,
    pub(super) store: Store,
    pub(super) conversation: Conversation,
}

impl StoryGround {
    pub(super) fn new() -> Self {
        let world = TestWorld::new();
        world.write("notes.txt", "x\nx\n");
        for (name, text) in [ONE, TWO] {
            fs::write(world.folder().join("scripts").join(name), text).unwrap();
        }
        let state = world.folder().join("state/aside");
        let store = Store::open(&state, &world.at("")).unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap();
        let conversation = store.create(None, now).unwrap();
        Self {
            world,
            store,
            conversation,
        }
    }

    /// The arguments with which a turn begins, or goes on.
    pub(super) fn args(&self, turn: &StoryTurn, resume: bool) -> Vec<String> {
        let script = self.world.folder().join("scripts").join(turn.script.0);
        let model = format!("rehearsal/{}", script.display());
        let fixed = ["run", "-c", self.conversation.id(), "-m", &model, "--trust"];
        let mut args: Vec<&str> = fixed.to_vec();
        args.push("--unsandboxed");
        args.extend(turn.args);
        args.push(if resume { "--resume" } else { turn.message });
        args.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn log(&self) -> PathBuf {
        self.conversation.folder().join("events.jsonl")
    }
}

/// Does so many things, a few at a time.
pub(super) fn side_by_side(count: usize, one: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(n) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < count)
                {
                    one(n);
                }
            });
        }
    });
}

//! Forty facts that a conversation settles, and a model that forgets all of them in each of three summaries: what a person
//! answered, allowed and refused, and which files changed, is whole in the request that follows, and in the ledger.

use aside_base::digest::sha256;
use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedTokens},
};
use serde_json::{Value, json};

use super::{
    column,
    live::Live,
    stage::{ModelStage, PlayedStep, row, says},
};
use crate::world::ProgramResult;

/// Tokens that the model may hold, those of a conversation that has to be summarised, and of one that has room.
const WINDOW: u64 = 40_000;
const FULL: u64 = 30_000;
const ROOM: u64 = 5_000;

/// Turns, each of which settles four facts.
const TURNS: usize = 10;
/// Turns in which the conversation is summarised.
const SUMMARISED: [usize; 3] = [2, 5, 9];

/// What one turn settles.
struct SettledFacts {
    turn: usize,
}

impl SettledFacts {
    fn answer(&self) -> String {
        format!(
            "Port 80{:02}, never 80;  \"two\" blanks and ünïcode",
            self.turn
        )
    }

    fn allowed(&self) -> String {
        format!("echo allowed {:02}", self.turn)
    }

    fn refused(&self) -> String {
        format!("echo refused {:02}", self.turn)
    }

    fn file(&self) -> (String, String) {
        (
            format!("made-{:02}.txt", self.turn),
            format!("Text {}\n", self.turn),
        )
    }

    /// As the ledger has them.
    fn entries(&self) -> [String; 4] {
        let (path, content) = self.file();
        [
            self.answer(),
            format!("Allowed from now on: Run `{}`", self.allowed()),
            format!("Not allowed: Run `{}`", self.refused()),
            format!("{path}: sha256 {}", sha256(content.as_bytes())),
        ]
    }

    /// What the model says in this turn.
    fn script(&self) -> Vec<PlayedStep> {
        let (turn, (path, content)) = (self.turn, self.file());
        let call = |id: &str, tool: &str, arguments: Value| {
            let id = format!("{id}_{turn}");
            ModelReply::new(&id).call(&id, tool, arguments.to_string())
        };
        let question = json!({"question": format!("Which port in turn {turn}?")});
        let mut script = vec![
            holding(call("ask", "ask_user", question), ROOM),
            holding(
                call(
                    "make",
                    "write_file",
                    json!({"path": path, "content": content}),
                ),
                ROOM,
            ),
            holding(
                call("may", "run_command", json!({"command": self.allowed()})),
                ROOM,
            ),
            holding(
                call("not", "run_command", json!({"command": self.refused()})),
                ROOM,
            ),
        ];
        if SUMMARISED.contains(&turn) {
            script.push(holding(
                call("look", "read_file", json!({"path": "a.txt"})),
                FULL,
            ));
            script.push(says(
                ModelReply::new(&format!("forgets_{turn}")).text("## Goal\nNothing is known."),
            ));
        }
        let end = ModelReply::new(&format!("end_{turn}")).text(format!("Done {turn}."));
        script.push(holding(end, ROOM));
        script
    }
}

/// A reply after which the conversation has so many tokens.
fn holding(reply: ModelReply, tokens: u64) -> PlayedStep {
    says(reply.tokens(PlayedTokens {
        input: tokens - 50,
        output: 50,
        ..PlayedTokens::default()
    }))
}

/// The prompt at which a run stopped, for `--answer`.
fn prompt(done: &ProgramResult, answer: &str) -> String {
    let lines = done.lines();
    let end = &lines.last().expect("the end of the turn")["params"];
    let prompt = end["prompts"][0]["promptId"].as_str();
    format!("{}={answer}", prompt.expect("a prompt that waits"))
}

#[test]
fn three_summaries_that_forget_everything_lose_no_answer_permission_refusal_or_changed_file() {
    row(|api| {
        let stage = ModelStage::new(api, Vec::new());
        let mut config = column::configuration(&stage.server.address().to_string());
        for api in ServedApi::ALL {
            let (provider, model) = column::model(api).split_once('/').unwrap();
            config += &format!(
                "[providers.{provider}.models.\"{model}\"]\ncontext_window = {WINDOW}\ncompaction = false\n"
            );
        }
        stage.world.user_config(&config);
        stage.world.write("a.txt", "A\n");
        let waits = ["--unsandboxed", "--detached", "run=stop"];
        for turn in 0..TURNS {
            let facts = SettledFacts { turn };
            stage.goes_on(facts.script());
            let answer = format!("ask_user.answer={}", facts.answer());
            let mut args = [&waits[..], &["--answer", &answer]].concat();
            if turn > 0 {
                args.push("--continue");
            }
            let mut done = stage.run(&format!("Begin part {turn}."), &args).exits(4);
            for decision in ["once", "always", "no"] {
                let answer = prompt(&done, decision);
                let go_on = ["run", "--resume", "--output", "jsonl", "--trust"];
                let args = [&go_on[..], &waits, &["--answer", &answer]].concat();
                let code = if decision == "no" { 0 } else { 4 };
                done = Live::start(stage.command(&args)).end().exits(code);
            }
        }
        stage.is_clean();

        let heard = stage.heard();
        assert_eq!(
            heard.matches("Nothing is known.").count(),
            1,
            "{api:?}: {heard}"
        );
        assert!(!heard.contains("Done 8."), "{api:?}: {heard}");
        let ledger = Live::start(stage.command(&["conversation", "ledger"])).end();
        let printed = ledger.exits(0).stdout;
        for turn in 0..TURNS {
            for fact in (SettledFacts { turn }).entries() {
                assert!(heard.contains(&fact), "{api:?}: {fact} is not in {heard}");
                assert!(
                    printed.contains(&fact),
                    "{api:?}: {fact} is not in {printed}"
                );
            }
        }
    });
}

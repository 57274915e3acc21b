//! Questions of a server that are open when their call ends: they end with it, and the next turn begins at once.

use std::fs;

use serde_json::{Value, json};

use super::{config, left};
use crate::{
    lsp::client::{Client, prompts},
    world::{TestWorld, until},
};

/// The first turn calls the tool, the next one does not.
const SCRIPT: &str = "
[[reply]]
when = { turn = 1, step = 1 }
say = [{ call = 'srv__ask', id = 'call', arguments = {} }]
[[reply]]
repeat = true
say = [{ text = 'Fine.' }]
";

const UNATTENDED: &str = "[conversation.tools.srv__ask]\nrun = 'unattended'\n";

/// How a call ends while its question is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Cancelled,
    ServerGone,
    AnsweredByServer,
}

const ENDINGS: [Ending; 3] = [
    Ending::Cancelled,
    Ending::ServerGone,
    Ending::AnsweredByServer,
];

impl Ending {
    fn mode(self) -> &'static str {
        match self {
            Self::Cancelled => "plain",
            Self::ServerGone => "asks-dies",
            Self::AnsweredByServer => "asks-goes-on",
        }
    }

    fn outcome(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            _ => "completed",
        }
    }
}

/// The call's question is on the screen; then the call ends.
fn ends(world: &TestWorld, client: &mut Client, turn: &Value, ending: Ending) -> Value {
    client.expect("aside/prompt");
    match ending {
        Ending::Cancelled => {
            client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
        }
        Ending::ServerGone | Ending::AnsweredByServer => {
            fs::write(world.at("../home/go"), "").unwrap();
        }
    }
    client.completed()
}

#[test]
fn a_question_ends_with_its_call_however_that_ends_and_the_next_turn_begins() {
    for ending in ENDINGS {
        let world = TestWorld::new();
        world.user_config(&config(ending.mode(), UNATTENDED));
        let mut client = Client::start(&world, SCRIPT, prompts());
        let turn = client.turn(json!({ "message": "Go" }));
        let end = ends(&world, &mut client, &turn, ending);
        assert_eq!(end["outcome"], ending.outcome(), "{ending:?}: {end}");
        let id = turn["conversationId"].clone();
        let next = client.turn(json!({ "conversationId": id, "message": "Next" }));
        client.play(&next, |prompt| panic!("asked after {ending:?}: {prompt}"));
        let log = world.log();
        let closed = log.one("inquiry_response");
        assert_eq!(closed["outcome"], "cancelled", "{ending:?}: {closed}");
        client.leave();
        until("the server has ended", || left(&world).is_empty());
    }
}

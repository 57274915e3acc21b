//! Questions of a server that are open when their call ends: they end with it, and the next turn begins at once.

use std::fs;

use serde_json::{Value, json};

use super::{calls, config, left};
use crate::{
    lsp::client::{Client, nobody, prompts},
    world::{TestWorld, until},
};

const UNATTENDED: &str = "[conversation.tools.srv__ask]\nrun = 'unattended'\n";

/// How a call ends while its question is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Cancelled,
    TurnTimeOver,
    ServerGone,
    TakenBack,
    AnsweredByServer,
}

const ENDINGS: [Ending; 5] = [
    Ending::Cancelled,
    Ending::TurnTimeOver,
    Ending::ServerGone,
    Ending::TakenBack,
    Ending::AnsweredByServer,
];

impl Ending {
    fn mode(self) -> &'static str {
        match self {
            Self::Cancelled | Self::TurnTimeOver => "plain",
            Self::ServerGone => "asks-dies",
            Self::TakenBack => "asks-takes-back",
            Self::AnsweredByServer => "asks-goes-on",
        }
    }

    fn limits(self) -> &'static str {
        match self {
            Self::TurnTimeOver => "[conversation.limits]\nturn_seconds = 1\n",
            _ => "",
        }
    }

    fn outcome(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::TurnTimeOver => "failed",
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
        Ending::TurnTimeOver => {}
        Ending::ServerGone | Ending::TakenBack | Ending::AnsweredByServer => {
            fs::write(world.at("go"), "").unwrap();
        }
    }
    client.completed()
}

#[test]
fn a_question_ends_with_its_call_however_that_ends_and_the_next_turn_begins() {
    for ending in ENDINGS {
        let world = TestWorld::new();
        let keys = format!("{UNATTENDED}{}", ending.limits());
        world.user_config(&config(ending.mode(), &keys));
        let script = format!(
            "{}[[reply]]\nrepeat = true\nsay = [{{ text = 'Fine.' }}]\n",
            calls("ask", &json!({}))
        );
        let mut client = Client::start(&world, &script, prompts());
        let turn = client.turn(json!({ "message": "Go" }));
        let end = ends(&world, &mut client, &turn, ending);
        assert_eq!(end["outcome"], ending.outcome(), "{ending:?}: {end}");
        let id = turn["conversationId"].clone();
        let next = client.turn(json!({ "conversationId": id, "message": "Next" }));
        client.play(&next, nobody);
        let log = world.log();
        let closed = log.one("inquiry_response");
        assert_eq!(closed["outcome"], "cancelled", "{ending:?}: {closed}");
        client.leave();
        until("the server has ended", || left(&world).is_empty());
    }
}

//! What every message of an agent has to keep, over the Agent Client Protocol.

use std::collections::{HashMap, HashSet};

use aside_test_client::acp::Messages;
use serde_json::Value;

use super::Rule;

/// Updates that belong to a turn, or to the history that is shown.
const OF_TURNS: [&str; 5] = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
];

/// Watches one connection.
#[derive(Debug, Default)]
pub(super) struct AgentWatch {
    messages: Messages,
    /// Of each session, the requests under which it may be told of turns.
    shown: HashMap<String, HashSet<String>>,
    /// The ids of the agent's own requests.
    asked: HashSet<String>,
}

impl AgentWatch {
    pub(super) fn sent(&mut self, message: &Value) {
        // Only what the agent says is judged.
        let _ = self.messages.check(true, message);
        let shows = ["session/prompt", "session/load"];
        if message["method"]
            .as_str()
            .is_some_and(|method| shows.contains(&method))
        {
            let session = session(message);
            self.shown
                .entry(session)
                .or_default()
                .insert(message["id"].to_string());
        }
    }

    /// What is wrong with a message that came.
    pub(super) fn came(&mut self, message: &Value) -> Vec<(Rule, String)> {
        let mut broken = Vec::new();
        if let Err(what) = self.messages.check(false, message) {
            broken.push((Rule::Shape, what));
        }
        let id = message["id"].to_string();
        let Some(method) = message["method"].as_str() else {
            for open in self.shown.values_mut() {
                open.remove(&id);
            }
            return broken;
        };
        if !message["id"].is_null() && !self.asked.insert(id) {
            broken.push((
                Rule::Once,
                format!("`{method}` has an id that was there before"),
            ));
        }
        let update = message["params"]["update"]["sessionUpdate"].as_str();
        let is_of_turn = update.map_or(!message["id"].is_null(), |kind| OF_TURNS.contains(&kind));
        let open = self.shown.get(&session(message));
        if is_of_turn && open.is_none_or(HashSet::is_empty) {
            let what = update.unwrap_or(method);
            broken.push((
                Rule::Last,
                format!("`{what}` came after the end of its prompt"),
            ));
        }
        broken
    }
}

fn session(message: &Value) -> String {
    message["params"]["sessionId"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

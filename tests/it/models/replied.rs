//! What a response gave, as its API's rules want it noted.

use std::collections::HashSet;

use aside_model_server::ServedApi;
use serde_json::{Value, json};

/// The content blocks, output items or parts of a response that are complete, in order. Chat Completions and Ollama
/// sign nothing: there is nothing to note.
pub(super) fn items(api: ServedApi, body: &str) -> Vec<Value> {
    let events = body
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
    match api {
        ServedApi::Anthropic => blocks(events),
        ServedApi::OpenaiResponses => {
            let mut calls = HashSet::new();
            let done = events.filter(|event: &Value| event["type"] == "response.output_item.done");
            let items = done.map(|event| event["item"].clone());
            // A call that is said again is the one that was said before.
            let is_new = |item: &Value| match item["call_id"].as_str() {
                Some(id) => calls.insert(id.to_owned()),
                None => true,
            };
            let items = items.filter(|item| item["status"] != "incomplete");
            items.filter(is_new).collect()
        }
        ServedApi::Gemini => events
            .flat_map(|event: Value| {
                let parts = &event["candidates"][0]["content"]["parts"];
                parts.as_array().cloned().unwrap_or_default()
            })
            .collect(),
        ServedApi::OpenaiChat | ServedApi::Ollama => Vec::new(),
    }
}

fn blocks(events: impl Iterator<Item = Value>) -> Vec<Value> {
    let (mut open, mut input, mut whole) = (Value::Null, String::new(), Vec::new());
    for event in events {
        match event["type"].as_str().unwrap_or_default() {
            "content_block_start" => open = event["content_block"].clone(),
            "content_block_delta" => {
                for (from, to) in [
                    ("text", "text"),
                    ("thinking", "thinking"),
                    ("signature", "signature"),
                ] {
                    if let Some(more) = event["delta"][from].as_str() {
                        let so_far = open[to].as_str().unwrap_or_default();
                        open[to] = json!(format!("{so_far}{more}"));
                    }
                }
                input += event["delta"]["partial_json"].as_str().unwrap_or_default();
            }
            "content_block_stop" => {
                if open["type"] == "tool_use" {
                    open["input"] = serde_json::from_str(&input).unwrap_or_else(|_| json!({}));
                }
                input.clear();
                whole.push(open.take());
            }
            _ => {}
        }
    }
    whole
}

//! What a request says, in words that belong to no API: a line an item.
//!
//! Reasoning is `thought`, with its text where it has one; what vouches for it is looked at by the rules of the API.
//! An image or document is `media`. System text and tools are left out. Context that is added to a message is too: only its first line is told.

use aside_model_server::{ServedApi, server::Received};
use serde_json::Value;

/// The conversation as the model is told it.
pub(super) fn heard(received: &Received) -> String {
    let body = &received.json;
    let mut lines = match received.api {
        Some(ServedApi::Anthropic) => messages(&body["messages"], anthropic),
        Some(ServedApi::OpenaiResponses) => messages(&body["input"], responses),
        Some(ServedApi::OpenaiChat | ServedApi::Ollama) => messages(&body["messages"], chat),
        Some(ServedApi::Gemini) => messages(&body["contents"], gemini),
        None => Vec::new(),
    };
    lines.push(String::new());
    lines.join("\n")
}

/// Reasoning goes back as text, to servers of Chat Completions in the member in which it came. Gemini wants its
/// signatures alone.
pub(super) fn tells_reasoning(api: ServedApi) -> bool {
    api != ServedApi::Gemini
}

fn messages(all: &Value, say: fn(&Value, &mut Vec<String>)) -> Vec<String> {
    let mut lines = Vec::new();
    for message in all.as_array().into_iter().flatten() {
        say(message, &mut lines);
    }
    lines
}

fn line(lines: &mut Vec<String>, who: &str, what: &Value) {
    let what = what
        .as_str()
        .map_or_else(|| what.to_string(), str::to_owned);
    // Chat Completions has no other way to mark a result that is an error.
    let told = match who {
        "result" => what.strip_prefix("error: ").unwrap_or(&what).trim_end(),
        _ => &what,
    };
    if !told.is_empty() {
        lines.push(format!("{who} {told}"));
    }
}

/// Arguments with their members in one order.
fn called(lines: &mut Vec<String>, name: &Value, arguments: &Value) {
    let arguments = match arguments {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
        other => other.clone(),
    };
    let name = name.as_str().unwrap_or_default();
    lines.push(format!("call {name} {arguments}"));
}

/// Content is text, or parts that have text.
fn content(lines: &mut Vec<String>, who: &str, content: &Value) {
    match content {
        Value::Array(parts) => parts.iter().for_each(|part| {
            let kind = part["type"].as_str().unwrap_or_default();
            match kind {
                "input_image" | "input_file" | "image_url" | "file" => lines.push("media".into()),
                "image" | "document" => lines.push("media".into()),
                _ => line(lines, who, &part["text"]),
            }
        }),
        Value::Null => {}
        text => line(lines, who, text),
    }
}

fn anthropic(message: &Value, lines: &mut Vec<String>) {
    let who = message["role"].as_str().unwrap_or_default();
    let Some(blocks) = message["content"].as_array() else {
        return line(lines, who, &message["content"]);
    };
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "text" => line(lines, who, &block["text"]),
            "image" | "document" => lines.push("media".into()),
            "thinking" => lines.push(format!(
                "thought {}",
                block["thinking"].as_str().unwrap_or_default()
            )),
            "redacted_thinking" => lines.push("thought".into()),
            "tool_use" => called(lines, &block["name"], &block["input"]),
            "tool_result" => content(lines, "result", &block["content"]),
            "compaction" => line(lines, "compaction", &block["content"]),
            other => lines.push(format!("unknown {other}")),
        }
    }
}

fn responses(item: &Value, lines: &mut Vec<String>) {
    match item["type"].as_str().unwrap_or("message") {
        "message" => {
            let who = match item["role"].as_str().unwrap_or_default() {
                "developer" => "system",
                other => other,
            };
            content(lines, who, &item["content"]);
        }
        "reasoning" => {
            let summary = item["summary"][0]["text"].as_str().unwrap_or_default();
            lines.push(format!("thought {summary}"));
        }
        "function_call" => called(lines, &item["name"], &item["arguments"]),
        "function_call_output" => content(lines, "result", &item["output"]),
        "compaction" => line(lines, "compaction", &item["encrypted_content"]),
        other => lines.push(format!("unknown {other}")),
    }
}

/// Chat Completions, and Ollama, which learned from it.
fn chat(message: &Value, lines: &mut Vec<String>) {
    let who = match message["role"].as_str().unwrap_or_default() {
        "tool" => "result",
        "developer" => "system",
        other => other,
    };
    if who == "system" && lines.is_empty() {
        return;
    }
    for member in ["reasoning_content", "reasoning", "thinking"] {
        if let Some(text) = message[member]
            .as_str()
            .filter(|text| !text.trim().is_empty())
        {
            lines.push(format!("thought {text}"));
        }
    }
    content(lines, who, &message["content"]);
    let images = message["images"].as_array().into_iter().flatten();
    lines.extend(images.map(|_| "media".to_owned()));
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        called(
            lines,
            &call["function"]["name"],
            &call["function"]["arguments"],
        );
    }
}

fn gemini(content: &Value, lines: &mut Vec<String>) {
    let who = if content["role"] == "model" {
        "assistant"
    } else {
        "user"
    };
    let mut said = String::new();
    for part in content["parts"].as_array().into_iter().flatten() {
        if let Some(call) = part.get("functionCall") {
            line(lines, who, &std::mem::take(&mut said).into());
            called(lines, &call["name"], &call["args"]);
        } else if let Some(result) = part.get("functionResponse") {
            let told = &result["response"];
            line(
                lines,
                "result",
                told.get("output").unwrap_or(&told["error"]),
            );
            let media = result["parts"].as_array().into_iter().flatten();
            lines.extend(media.map(|_| "media".to_owned()));
        } else if part.get("inlineData").is_some() {
            line(lines, who, &std::mem::take(&mut said).into());
            lines.push("media".into());
        } else if part["thought"] == true {
            line(lines, "thought", &part["text"]);
        } else {
            said += part["text"].as_str().unwrap_or_default();
        }
    }
    line(lines, who, &said.into());
}

//! Reads the result of a call. The JSON itself is read, so that a part of an unknown type does not affect the others.
//! Pure.

use std::io;

use aside_base::visible::{printable, short_line};
use aside_turn::attachment::{Media, MediaType};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::form::clean;

/// Result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallReply {
    /// The call is complete.
    Done {
        /// Parts of the result, in order.
        parts: Vec<ReplyPart>,
        /// Whether the server reports an error.
        is_error: bool,
    },
    /// The server needs answers, and is called again with them.
    Asks {
        /// Params of each form, by the server's key.
        forms: Vec<(String, Value)>,
        /// State that the server needs back.
        state: Option<String>,
    },
    /// The result is of an unsupported type, for this reason.
    Unknown(String),
}

/// A part of a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReplyPart {
    /// A text for the model.
    Text(String),
    /// Binary content, which is stored and described to the model.
    Media {
        /// Description of the content.
        about: String,
        bytes: Vec<u8>,
    },
}

impl ReplyPart {
    /// The text for the model, and the image or document that it names. `keep` stores binary content and returns its
    /// name.
    pub(super) fn for_model(
        self,
        keep: impl Fn(&[u8]) -> io::Result<String>,
    ) -> (String, Option<Media>) {
        let (about, bytes) = match self {
            Self::Text(text) => return (text, None),
            Self::Media { about, bytes } => (about, bytes),
        };
        let size = bytes.len() as u64;
        let Ok(blob) = keep(&bytes) else {
            let text = format!("[{about}, {size} bytes, which cannot be kept]");
            return (text, None);
        };
        match MediaType::of(&bytes) {
            Some(media_type) if size <= media_type.most() => {
                let media = Media {
                    media_type,
                    blob,
                    size,
                };
                (format!("[{about}, {size} bytes]"), Some(media))
            }
            Some(_) => (
                format!("[{about}, {size} bytes, too large to be shown, kept as {blob}]"),
                None,
            ),
            None => (format!("[{about}, {size} bytes, kept as {blob}]"), None),
        }
    }
}

/// Reads the result of a call.
pub(super) fn read(result: &Value) -> CallReply {
    match result["resultType"].as_str() {
        Some("input_required") => asks(result),
        None | Some("complete") => CallReply::Done {
            parts: parts_of(result),
            is_error: result["isError"] == true,
        },
        Some(other) => CallReply::Unknown(format!(
            "it answered with a result of the unknown type `{}`",
            short_line(other, 40)
        )),
    }
}

fn asks(result: &Value) -> CallReply {
    let requests = result["inputRequests"].as_object();
    let mut forms = Vec::new();
    for (key, request) in requests.into_iter().flatten() {
        if request["method"] != "elicitation/create" {
            let method = request["method"].as_str().unwrap_or_default();
            return CallReply::Unknown(format!(
                "it requested `{}`, which Aside does not support",
                short_line(method, 40)
            ));
        }
        forms.push((key.clone(), request["params"].clone()));
    }
    CallReply::Asks {
        forms,
        state: result["requestState"].as_str().map(ToOwned::to_owned),
    }
}

fn parts_of(result: &Value) -> Vec<ReplyPart> {
    let parts = result["content"].as_array();
    let parts: Vec<ReplyPart> = parts.into_iter().flatten().map(part).collect();
    if !parts.is_empty() {
        return parts;
    }
    vec![ReplyPart::Text(match result.get("structuredContent") {
        None => "(no output)".to_owned(),
        Some(value) => printable(value.to_string().as_bytes()),
    })]
}

/// Decodes binary content; invalid base64 becomes a placeholder text.
fn media(kind: &str, of: &Value) -> ReplyPart {
    let bytes = of["data"].as_str().or(of["blob"].as_str());
    let bytes = bytes.and_then(|bytes| STANDARD.decode(bytes).ok());
    let mime = clean(of["mimeType"].as_str().unwrap_or("of an unknown type"));
    match bytes {
        Some(bytes) => ReplyPart::Media {
            about: format!("{kind} {mime}"),
            bytes,
        },
        None => ReplyPart::Text(format!("[{kind} {mime}, which cannot be read]")),
    }
}

/// Reads a part of a result. Links are not fetched.
fn part(part: &Value) -> ReplyPart {
    let text = |of: &Value| printable(of.as_str().unwrap_or_default().as_bytes());
    ReplyPart::Text(match part["type"].as_str() {
        Some("text") => text(&part["text"]),
        Some(kind @ ("image" | "audio")) => return media(kind, part),
        Some("resource_link") => {
            let name = clean(part["name"].as_str().unwrap_or_default());
            format!(
                "[{name}: {}]",
                clean(part["uri"].as_str().unwrap_or_default())
            )
        }
        Some("resource") => {
            let resource = &part["resource"];
            let uri = clean(resource["uri"].as_str().unwrap_or_default());
            match resource["text"].is_string() {
                true => format!("[{uri}]\n{}", text(&resource["text"])),
                false => return media(&format!("content of {uri},"), resource),
            }
        }
        kind => format!(
            "[content of the unknown type `{}`]",
            short_line(kind.unwrap_or_default(), 40)
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(result: Value, text: &str, is_error: bool) {
        let CallReply::Done {
            parts,
            is_error: failed,
        } = read(&result)
        else {
            panic!("{result}")
        };
        let keep = |bytes: &[u8]| Ok(format!("blob{}", bytes.len()));
        let parts: Vec<String> = parts
            .into_iter()
            .map(|part| part.for_model(keep).0)
            .collect();
        assert_eq!(
            (parts.join("\n").as_str(), failed),
            (text, is_error),
            "{result}"
        );
    }

    #[test]
    fn each_part_becomes_text_and_only_invalid_ones_are_dropped() {
        check(
            json!({"content": [
                {"type": "text", "text": "a\u{1b}[31mb"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "audio", "data": "no base64!", "mimeType": "audio/wav"},
                {"type": "resource_link", "name": "n", "uri": "file:///x"},
                {"type": "resource", "resource": {"uri": "u", "text": "t"}},
                {"type": "hologram"},
            ]}),
            "ab\n[image image/png, 3 bytes, kept as blob3]\n[audio audio/wav, which cannot be read]\n[n: file:///x]\n[u]\nt\n\
             [content of the unknown type `hologram`]",
            false,
        );
        let structured = json!({"content": [], "structuredContent": {"n": 1}, "isError": true});
        check(structured, "{\"n\":1}", true);
        check(json!({}), "(no output)", false);
    }

    #[test]
    fn requested_input_is_a_form_or_refused() {
        let asks = |method: &str| {
            read(&json!({"resultType": "input_required", "requestState": "s",
                "inputRequests": {"k": {"method": method, "params": {"message": "m"}}}}))
        };
        assert_eq!(
            asks("elicitation/create"),
            CallReply::Asks {
                forms: vec![("k".into(), json!({"message": "m"}))],
                state: Some("s".into()),
            }
        );
        assert!(matches!(
            asks("sampling/createMessage"),
            CallReply::Unknown(_)
        ));
        let task = read(&json!({"resultType": "task"}));
        assert!(matches!(task, CallReply::Unknown(_)));
    }
}

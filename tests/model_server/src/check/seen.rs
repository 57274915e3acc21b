//! What earlier responses gave, and whether it comes back unchanged.

use serde_json::Value;

use super::claude::Claude;
use super::compaction::{is_summary, summarised};
use super::prefix::{as_history, blocks};
use super::{CheckFindings, CheckedRequest, text};
use crate::ServedApi;

/// The opaque values that responses gave: signatures of thinking, redacted and encrypted reasoning, signatures of
/// thoughts. Each is kept with the content that it belongs to and the prefix that it is bound to. Without any, only
/// the shape of a request is checked.
#[derive(Clone, Debug, Default)]
pub struct EarlierReplies {
    pub(super) replies: Vec<EarlierReply>,
}

/// One response that the server gave earlier.
#[derive(Clone, Debug)]
pub(super) struct EarlierReply {
    api: ServedApi,
    /// The model that gave it.
    pub(super) model: String,
    /// Its content blocks, output items or parts.
    pub(super) items: Vec<Value>,
    /// The calls of the conversation that it answered, and the first thing that was said in it.
    pub(super) calls: Vec<String>,
    pub(super) first: Option<Value>,
    opaque: Vec<Opaque>,
}

/// An opaque value of a response.
#[derive(Clone, Debug)]
struct Opaque {
    text: String,
    /// The block, item or part that carried it, as JSON: the order of members counts.
    holder: String,
    /// The hash of all that came before it: tools, system, messages, and what preceded it in its own response.
    before: u64,
}

impl EarlierReplies {
    /// Notes a response: its content blocks (Anthropic), output items (Responses) or parts (Gemini), complete and
    /// in order. One `EarlierReplies` may serve many conversations, even when ids and signatures occur in several of them.
    pub fn response(&mut self, request: &CheckedRequest, items: &[Value]) {
        let api = request.api;
        // What asks for a summary is no part of the conversation that the summary stands for.
        let asked = blocks(api, request.body);
        let asked = asked.iter().filter(|block| !is_trigger(&block.value));
        let mut before = asked.fold(0, |hash, block| {
            self.bound_to(api, &block.value)
                .unwrap_or_else(|| block.link(hash))
        });
        let mut opaque = Vec::new();
        for block in blocks(api, &as_history(api, items)) {
            if let Some(text) = opaque_of(api, &block.value) {
                opaque.push(Opaque {
                    text: text.to_owned(),
                    holder: block.value.to_string(),
                    before,
                });
            }
            before = block.link(before);
        }
        let (calls, first) = summarised(request);
        let (model, items) = (request.model.to_owned(), items.to_vec());
        self.replies.push(EarlierReply {
            api,
            model,
            items,
            calls,
            first,
            opaque,
        });
    }

    /// The responses that this API gave.
    pub(super) fn replies(&self, api: ServedApi) -> impl Iterator<Item = &EarlierReply> {
        self.replies.iter().filter(move |reply| reply.api == api)
    }

    /// What follows a summary is bound to: the conversation that it stands for.
    fn bound_to(&self, api: ServedApi, block: &Value) -> Option<u64> {
        let text = opaque_of(api, block).filter(|_| is_summary(block))?;
        self.given(api, text).first().map(|(_, own)| own.before)
    }

    fn given(&self, api: ServedApi, text: &str) -> Vec<(&EarlierReply, &Opaque)> {
        let all = self
            .replies(api)
            .flat_map(|reply| reply.opaque.iter().map(move |own| (reply, own)));
        all.filter(|(_, own)| own.text == text).collect()
    }
}

/// What a foreign call of Gemini carries in place of a signature.
pub(super) const SKIP: &str = "skip_thought_signature_validator";

fn is_trigger(value: &Value) -> bool {
    value["type"] == "compaction_trigger"
}

fn opaque_of(api: ServedApi, block: &Value) -> Option<&str> {
    let member = match (api, text(block, "type")) {
        (ServedApi::Anthropic, "thinking" | "compaction") => "signature",
        (ServedApi::Anthropic, "redacted_thinking") => "data",
        (ServedApi::OpenaiResponses, "reasoning" | "compaction") => "encrypted_content",
        (ServedApi::Gemini, _) => "thoughtSignature",
        _ => return None,
    };
    block[member].as_str().filter(|text| *text != SKIP)
}

/// Opaque values come back as they were given: known, on the same content, to the same model and, where they are
/// bound to it, after the same prefix. The first one after a changed prefix is named; all later ones fail with it.
pub(super) fn unchanged(
    request: &CheckedRequest,
    seen: &EarlierReplies,
    found: &mut CheckFindings,
) {
    let api = request.api;
    if seen.replies(api).next().is_none() {
        return;
    }
    let mut before = 0;
    let mut prefix_holds = true;
    for block in blocks(api, request.body) {
        let here = before;
        before = block.link(before);
        let Some(opaque) = opaque_of(api, &block.value) else {
            continue;
        };
        let mut given = seen.given(api, opaque);
        if given.is_empty() {
            found.say(&block.place, "no response gave this signature");
            continue;
        }
        let holder = block.value.to_string();
        given.retain(|(_, own)| own.holder == holder);
        if given.is_empty() {
            found.say(
                &block.place,
                "this is not the content that the signature was given with",
            );
            continue;
        }
        if let Some((reply, _)) = given
            .first()
            .filter(|(reply, _)| !reads(request, &reply.model))
        {
            found.say(
                &block.place,
                match is_summary(&block.value) {
                    true => format!("this is a summary of {}", reply.model),
                    false => format!("this is reasoning of {}", reply.model),
                },
            );
            continue;
        }
        if let Some((_, own)) = given.first().filter(|_| is_summary(&block.value)) {
            // What follows a summary is bound to the conversation that it stands for.
            before = own.before;
            continue;
        }
        given.retain(|(_, own)| own.before == here);
        if given.is_empty() && prefix_holds && bound(request) {
            found.say(
                &block.place,
                "the conversation before this block is not the one that it is bound to",
            );
            prefix_holds = false;
        }
    }
}

/// Whether the model asked can use the reasoning of another one.
fn reads(request: &CheckedRequest, model: &str) -> bool {
    request.api == ServedApi::Gemini
        || request.model == model
        || model.starts_with("claude-haiku-5-5")
}

/// Whether a changed prefix costs anything: a refusal, or reasoning that is dropped without an error.
fn bound(request: &CheckedRequest) -> bool {
    let dropped = &request.body["thinking"]["block_binding"]["prefix_mismatch_behavior"];
    match request.api {
        ServedApi::Anthropic => {
            dropped != "drop_block"
                && Claude::find(request.model).is_some_and(|claude| claude.takes("bound"))
        }
        api => api == ServedApi::OpenaiResponses,
    }
}

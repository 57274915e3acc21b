//! The rules that requests must keep.
//!
//! [`check`] reads one request and says in plain sentences what the provider would refuse, or what would quietly
//! go wrong. Each API has its table of rules; a rule looks at one thing.
//!
//! | module | what lives there |
//! |---|---|
//! | `shape` | members: required, allowed, and of which kind |
//! | `schema` | the subsets of JSON Schema that strict tools and formats take |
//! | `media` | images and documents: their types and their base64 |
//! | `tools` | names, duplicates and choices, alike in several APIs |
//! | `compaction` | summaries of the providers' own: who asks for them, and where they stand |
//! | `claude` | what each Claude model takes |
//! | `prefix` | a request as a row of blocks, and hashes of its prefixes; the cache reads it too |
//! | `seen` | what earlier responses gave, and whether it comes back unchanged |
//! | `anthropic`, `anthropic_messages`, `responses`, `chat`, `gemini`, `ollama` | the rules |
//!
//! Invariant: nothing here keeps state between two calls except [`EarlierReplies`], which the caller owns.

use std::fmt::Display;

use serde_json::Value;

use crate::ServedApi;

mod anthropic;
mod anthropic_messages;
mod chat;
pub(crate) mod claude;
mod compaction;
mod gemini;
mod media;
mod ollama;
pub(crate) mod prefix;
mod responses;
mod schema;
mod seen;
mod shape;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use chat::of_openai;
pub use seen::EarlierReplies;

/// One request, with what its headers and path say.
#[derive(Clone, Copy, Debug)]
pub struct CheckedRequest<'a> {
    /// The API that it speaks.
    pub api: ServedApi,
    /// The model asked: in the body, except with Gemini, where it is in the path.
    pub model: &'a str,
    /// The JSON body.
    pub body: &'a Value,
    /// The `anthropic-version` header; other APIs have none.
    pub version: &'a str,
    /// The `anthropic-beta` header, values separated by commas; empty when it was not sent.
    pub beta: &'a str,
    /// Whether the request only counts tokens.
    pub counting: bool,
    /// Whether the client has asked Ollama for the context of the running model, and so need not set it.
    pub context_known: bool,
}

impl<'a> CheckedRequest<'a> {
    /// A request whose body names the model, with the current version and no beta header.
    pub fn new(api: ServedApi, body: &'a Value) -> Self {
        Self::to(api, body["model"].as_str().unwrap_or_default(), body)
    }

    /// A request to a model that is named outside of the body.
    pub fn to(api: ServedApi, model: &'a str, body: &'a Value) -> Self {
        Self {
            api,
            model,
            body,
            version: CURRENT,
            beta: "",
            counting: false,
            context_known: false,
        }
    }

    /// Whether the beta header holds this value.
    fn has_beta(&self, name: &str) -> bool {
        self.beta.split(',').any(|beta| beta.trim() == name)
    }
}

/// The version of Anthropic's API that refuses sampling parameters.
const CURRENT: &str = "2026-10-21";

/// One rule: looks at a request and says what breaks it.
type CheckRule = fn(&CheckedRequest, &EarlierReplies, &mut CheckFindings);

/// The rules that a request breaks, one sentence each, headed by the JSON pointer of the place. Empty: fine.
pub fn check(request: &CheckedRequest, seen: &EarlierReplies) -> Vec<String> {
    let mut found = CheckFindings::default();
    if request.body.is_object() {
        for rule in rules(request.api) {
            rule(request, seen, &mut found);
        }
    } else {
        found.say("", "the body is not an object");
    }
    found.0
}

fn rules(api: ServedApi) -> impl Iterator<Item = &'static CheckRule> {
    let (own, shared): (&[CheckRule], &[CheckRule]) = match api {
        ServedApi::Anthropic => (anthropic::RULES, anthropic_messages::RULES),
        ServedApi::OpenaiResponses => (responses::RULES, &[seen::unchanged]),
        ServedApi::OpenaiChat => (chat::RULES, &[]),
        ServedApi::Gemini => (gemini::RULES, &[seen::unchanged]),
        ServedApi::Ollama => (ollama::RULES, &[]),
    };
    own.iter().chain(shared)
}

/// The sentences found so far.
#[derive(Default)]
struct CheckFindings(Vec<String>);

impl CheckFindings {
    /// Adds a sentence about the value at a JSON pointer; an empty pointer is the whole request.
    fn say(&mut self, place: &str, what: impl Display) {
        self.0.push(if place.is_empty() {
            what.to_string()
        } else {
            format!("{place}: {what}")
        });
    }
}

/// The elements of an array, with the pointer of each; nothing when it is none.
fn elements<'a, 'p>(
    place: &'p str,
    array: &'a Value,
) -> impl Iterator<Item = (String, &'a Value)> + use<'a, 'p> {
    let items = array.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .enumerate()
        .map(move |(index, item)| (format!("{place}/{index}"), item))
}

/// A member that is text, or nothing.
fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

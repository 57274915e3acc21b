//! Prefixes that servers keep unasked and do not bill: each request leaves all of its blocks behind.
//!
//! | server | least | step | kept |
//! |---|---|---|---|
//! | Gemini | 4096 tokens, 2048 before Gemini 3 | | five minutes since their last use |
//! | OpenAI before gpt-5.6 | 1024 tokens | 128 tokens | five minutes since their last use |
//! | Ollama, llama.cpp, and other servers of Chat Completions | | | until the model's next request |
//!
//! No lifetime is published for the first two; five minutes are a careful guess. Of Gemini's requests, the choice of
//! tools and the settings of the generation are taken to be no part of the prefix, which is not documented either.

use std::time::Duration;

use serde_json::Value;

use super::{CachePlan, Mark, Retention, digest, openai, prefixes};
use crate::ServedApi;
use crate::check::of_openai;
use crate::check::prefix::blocks;

const FIVE_MINUTES: Duration = Duration::from_secs(5 * 60);

pub(super) fn plan(api: ServedApi, model: &str, body: &Value) -> CachePlan {
    let blocks = blocks(api, body);
    let openai =
        api == ServedApi::OpenaiResponses || (api == ServedApi::OpenaiChat && of_openai(model));
    let (group, settings) = if openai {
        (openai::group(model, body), openai::settings(body))
    } else {
        (digest((api.name(), model)), Value::Null)
    };
    let (least, step, lifetime, keep) = match api {
        ServedApi::Gemini if model.contains("gemini-2") => (2048, 1, FIVE_MINUTES, Retention::All),
        ServedApi::Gemini => (4096, 1, FIVE_MINUTES, Retention::All),
        _ if openai => (openai::LEAST, 128, FIVE_MINUTES, Retention::All),
        _ => (0, 1, Duration::MAX, Retention::OneRequest),
    };
    let (hashes, ends) = prefixes(group, &blocks, [&settings, &Value::Null, &Value::Null]);
    let marks = (0..blocks.len())
        .map(|at| Mark {
            at,
            lifetime,
            long: false,
        })
        .collect();
    CachePlan {
        group,
        hashes,
        ends,
        marks,
        lookback: 1,
        least,
        step,
        billed: false,
        keep,
    }
}

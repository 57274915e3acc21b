//! Reads the list of models.

use serde_json::Value;
use url::form_urlencoded;

use super::super::{
    abilities::{ReasoningKind, StatedAbilities},
    api::ListedModel,
    effort::WORDS,
    openai_list,
};

/// Models per page.
const PAGE_SIZE: u32 = 1000;

/// Path of the page after the model `page`, or of the first page.
pub(super) fn path(page: Option<&str>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &PAGE_SIZE.to_string());
    if let Some(after) = page {
        query.append_pair("after_id", after);
    }
    format!("/v1/models?{}", query.finish())
}

/// Reads a page of the list: the models, and the last id if there is another page.
pub(super) fn read(page: &Value) -> Result<(Vec<ListedModel>, Option<String>), String> {
    let models = page["data"]
        .as_array()
        .ok_or("the list of models has no array `data`")?;
    let listed = models.iter().filter_map(|model| {
        Some(ListedModel {
            model: model["id"].as_str()?.to_owned(),
            abilities: abilities(model),
        })
    });
    let next = page["has_more"].as_bool() == Some(true);
    let next = page["last_id"].as_str().filter(|_| next);
    Ok((listed.collect(), next.map(str::to_owned)))
}

fn abilities(model: &Value) -> StatedAbilities {
    let can = &model["capabilities"];
    let supported = |what: &Value| what["supported"].as_bool();
    let types = &can["thinking"]["types"];
    let structured = supported(&can["structured_outputs"]);
    let effort = &can["effort"];
    let efforts = supported(effort).map(|_| {
        let has = |word: &&str| supported(&effort[*word]) == Some(true);
        WORDS.into_iter().filter(has).map(str::to_owned).collect()
    });
    StatedAbilities {
        context_window: openai_list::context_window(model),
        max_output: model["max_tokens"].as_u64(),
        strict: structured,
        schema: structured,
        images: supported(&can["image_input"]),
        documents: supported(&can["pdf_input"]),
        reasoning: reasoning(
            supported(&types["adaptive"]),
            supported(&types["enabled"]),
            supported(&can["thinking"]),
        ),
        reasoning_off: supported(&types["disabled"]),
        compaction: supported(&can["compaction"]),
        efforts,
        ..StatedAbilities::default()
    }
}

fn reasoning(
    adaptive: Option<bool>,
    enabled: Option<bool>,
    any: Option<bool>,
) -> Option<ReasoningKind> {
    match (adaptive, enabled, any) {
        (Some(true), ..) => Some(ReasoningKind::Adaptive),
        (_, Some(true), _) => Some(ReasoningKind::Budget),
        (.., Some(false)) => Some(ReasoningKind::None),
        _ => None,
    }
}

//! Reads lists of models in OpenAI's format. OpenAI's own list has only names, other servers add details.

use serde_json::Value;

use super::{
    abilities::{ForcedToolSupport, Prices, Rates, ReasoningKind, StatedAbilities},
    api::ListedModel,
};

/// Efforts that every gateway maps to those of its models.
const EFFORTS: [&str; 3] = ["low", "medium", "high"];

/// JSON pointers to the size of the context window, for all APIs. What a server offers comes before what its model
/// could have.
const CONTEXT: [&str; 7] = [
    "/top_provider/context_length",
    "/context_length",
    "/max_context_length",
    "/max_model_len",
    "/meta/n_ctx",
    "/max_input_tokens",
    "/meta/n_ctx_train",
];

/// The context window that an entry of a list states.
pub(super) fn context_window(model: &Value) -> Option<u64> {
    count(model, &CONTEXT)
}

/// The first of these members that is a positive number.
fn count(model: &Value, places: &[&str]) -> Option<u64> {
    let mut found = places.iter().filter_map(|place| model.pointer(place));
    found.find_map(Value::as_u64).filter(|count| *count > 0)
}

/// Reads a list of models.
///
/// # Errors
/// A sentence if the page is not a list of models.
pub(super) fn read(page: &Value) -> Result<Vec<ListedModel>, String> {
    let list = [&page["data"], &page["models"], page]
        .into_iter()
        .find_map(Value::as_array)
        .ok_or("the list of models has no models in it")?;
    Ok(list.iter().filter_map(listed).collect())
}

fn listed(model: &Value) -> Option<ListedModel> {
    let name = model["id"].as_str()?.to_owned();
    if model["capabilities"]["completion_chat"] == false {
        return None;
    }
    let mut stated = StatedAbilities {
        context_window: context_window(model),
        max_output: count(model, &["/top_provider/max_completion_tokens"]),
        prices: prices(&model["pricing"]),
        ..StatedAbilities::default()
    };
    if let Some(parameters) = model["supported_parameters"].as_array() {
        let takes = |name: &str| parameters.iter().any(|parameter| parameter == name);
        stated.tools = Some(takes("tools"));
        stated.schema = Some(takes("structured_outputs"));
        stated.forced_tools = (!takes("tool_choice")).then_some(ForcedToolSupport::No);
        stated.reasoning = Some(kind(takes("reasoning")));
        if takes("reasoning") {
            stated.efforts = Some(EFFORTS.map(str::to_owned).to_vec());
        }
    }
    if let Some(takes) = model["architecture"]["input_modalities"].as_array() {
        stated.images = Some(takes.iter().any(|what| what == "image"));
        stated.documents = Some(takes.iter().any(|what| what == "file"));
    }
    if let Some(can) = model["capabilities"].as_object() {
        let can = |name: &str| can.get(name).and_then(Value::as_bool);
        stated.tools = can("function_calling").or(stated.tools);
        stated.images = can("vision").or(stated.images);
        stated.reasoning = can("reasoning").map(kind).or(stated.reasoning);
    }
    Some(ListedModel {
        model: name,
        abilities: stated,
    })
}

fn kind(reasons: bool) -> ReasoningKind {
    if reasons {
        ReasoningKind::Effort
    } else {
        ReasoningKind::None
    }
}

/// Prices are strings, in US dollars per token; negative ones are ignored.
fn prices(pricing: &Value) -> Option<Prices> {
    let price = |name: &str| -> Option<f64> {
        let price: f64 = match &pricing[name] {
            Value::String(text) => text.parse().ok()?,
            value => value.as_f64()?,
        };
        // Rounded, so that a decimal fraction stays exact.
        (price.is_finite() && price >= 0.0).then(|| (price * 1e12).round() / 1e6)
    };
    Some(Prices {
        rates: Rates {
            input: price("prompt")?,
            output: price("completion")?,
            cache_read: price("input_cache_read"),
            cache_write: price("input_cache_write"),
            cache_write_long: None,
        },
        ..Prices::default()
    })
}

//! The built-in table of models.

use std::{collections::BTreeMap, sync::OnceLock};

use aside_base::api::ApiKind;
use serde::Deserialize;

use super::{
    abilities::{Abilities, ReasoningKind, StatedAbilities},
    apis::traits,
};

/// The built-in table. Its comments explain the rows.
const TABLE: &str = include_str!("models.toml");

/// Abilities of a model, from the built-in table, the provider's list and the configuration. Later ones override.
#[must_use]
pub fn abilities(
    kind: ApiKind,
    model: &str,
    listed: Option<&StatedAbilities>,
    configured: Option<&StatedAbilities>,
) -> Abilities {
    let mut abilities = built_in(kind, model);
    if let Some(listed) = listed {
        let known = abilities.reasoning;
        abilities.take(listed);
        // A list says that a model reasons, but not how it is controlled.
        if known == ReasoningKind::Effort && abilities.reasoning == ReasoningKind::Switch {
            abilities.reasoning = known;
        }
    }
    if let Some(most) = traits(kind).context {
        abilities.context_window = abilities.context_window.map(|all| all.min(most));
    }
    if let Some(configured) = configured {
        abilities.take(configured);
    }
    abilities.documents &= traits(kind).documents;
    abilities
}

/// Knowledge of whether a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownReasoning {
    /// Unknown: requests use the API's usual options.
    Unknown,
    /// The model does not reason.
    No,
    /// The model reasons; no source says that reasoning cannot be turned off.
    Yes,
    /// The model reasons, and reasoning cannot be turned off.
    Always,
}

/// Determines whether a model reasons, from the same sources as [`abilities`].
#[must_use]
pub fn reasoning(
    kind: ApiKind,
    model: &str,
    listed: Option<&StatedAbilities>,
    configured: Option<&StatedAbilities>,
) -> KnownReasoning {
    let section = table().get(traits(kind).models);
    let is_in_table = section.is_some_and(|section| section.row(model).is_some());
    let stated = || listed.into_iter().chain(configured);
    if !is_in_table && stated().all(|stated| stated.reasoning.is_none()) {
        return KnownReasoning::Unknown;
    }
    let found = abilities(kind, model, listed, configured);
    let says_of_off = is_in_table || stated().any(|stated| stated.reasoning_off.is_some());
    match found.reasoning {
        ReasoningKind::None => KnownReasoning::No,
        _ if !found.reasoning_off && says_of_off => KnownReasoning::Always,
        _ => KnownReasoning::Yes,
    }
}

/// Abilities of a model according to the built-in table.
#[must_use]
pub fn built_in(kind: ApiKind, model: &str) -> Abilities {
    let mut abilities = Abilities::default();
    let Some(section) = table().get(traits(kind).models) else {
        return abilities;
    };
    abilities.take(&section.any);
    if let Some((stated, rest)) = section.row(model) {
        abilities.take(stated);
        if !is_same_model(rest) {
            abilities.prices = None;
        }
    }
    abilities
}

/// Default model of a known provider, for users who choose none.
#[must_use]
pub fn default_model(provider: &str) -> Option<&'static str> {
    table().get(provider)?.default.as_deref()
}

/// Models of the table, in no particular order.
pub fn known(kind: ApiKind) -> impl Iterator<Item = &'static str> {
    let section = table().get(traits(kind).models);
    section
        .into_iter()
        .flat_map(|section| section.models.keys().map(String::as_str))
}

/// Models of one API.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    default: Option<String>,
    any: StatedAbilities,
    models: BTreeMap<String, StatedAbilities>,
}

impl Section {
    /// The row with this id or with the longest prefix of it, and the rest of the id.
    fn row<'a>(&self, model: &'a str) -> Option<(&StatedAbilities, &'a str)> {
        let rest = |id: &String| {
            let rest = model.strip_prefix(id.as_str())?;
            (rest.is_empty() || rest.starts_with(['-', ':', '@'])).then_some(rest)
        };
        let rows = self
            .models
            .iter()
            .filter_map(|(id, stated)| Some((stated, rest(id)?)));
        rows.min_by_key(|(_, rest)| rest.len())
    }
}

/// Whether `rest` after a known id only names a tag, a date or the latest version of the same model.
fn is_same_model(rest: &str) -> bool {
    rest.is_empty()
        || rest.starts_with([':', '@'])
        || rest == "-latest"
        || rest
            .strip_prefix('-')
            .is_some_and(|date| date.len() >= 8 && date.bytes().all(is_of_date))
}

fn is_of_date(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'-'
}

fn table() -> &'static BTreeMap<String, Section> {
    static READ: OnceLock<BTreeMap<String, Section>> = OnceLock::new();
    // A test parses the table; if it were broken, no model would be known.
    READ.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{
        super::abilities::{ForcedToolSupport, Prices, Tokens},
        *,
    };

    #[test]
    fn built_in_reasoning_kind_refines_the_listed_one() {
        let listed = |reasoning| StatedAbilities {
            reasoning: Some(reasoning),
            ..StatedAbilities::default()
        };
        for (model, said, expected) in [
            ("gpt-oss:20b", ReasoningKind::Switch, ReasoningKind::Effort),
            ("qwen3:8b", ReasoningKind::Switch, ReasoningKind::Switch),
            ("gpt-oss:20b", ReasoningKind::None, ReasoningKind::None),
        ] {
            let found = abilities(ApiKind::Ollama, model, Some(&listed(said)), None);
            assert_eq!(found.reasoning, expected, "{model}");
        }
    }

    #[test]
    fn media_require_ability_and_api_support() {
        let says = StatedAbilities {
            images: Some(true),
            documents: Some(true),
            ..StatedAbilities::default()
        };
        for (kind, model, unsaid, said) in [
            (ApiKind::Anthropic, "claude-new", (true, true), (true, true)),
            (
                ApiKind::OpenaiResponses,
                "gpt-new",
                (true, true),
                (true, true),
            ),
            (ApiKind::Google, "gemini-new", (true, true), (true, true)),
            (ApiKind::OpenaiChat, "any", (false, false), (true, true)),
            (ApiKind::Ollama, "any", (false, false), (true, false)),
        ] {
            let takes = |listed, own| {
                let found = abilities(kind, model, listed, own);
                (found.images, found.documents)
            };
            assert_eq!(takes(None, None), unsaid, "{model}");
            assert_eq!(takes(Some(&says), None), said, "{model}");
            assert_eq!(takes(None, Some(&says)), said, "{model}");
        }
    }

    #[test]
    fn built_in_table_is_valid() {
        let table: Result<BTreeMap<String, Section>, _> = toml::from_str(TABLE);
        let table = table.unwrap();
        assert_eq!(
            table.keys().collect::<Vec<_>>(),
            ["anthropic", "google", "ollama", "openai", "openai_chat"]
        );
        for (name, section) in &table {
            if let Some(default) = &section.default {
                assert!(section.models.contains_key(default), "{name}");
            }
        }
        assert_eq!(default_model("anthropic"), Some("claude-sonnet-5-5"));
        assert_eq!(default_model("openai"), Some("gpt-6.1-sol"));
        assert_eq!(default_model("google"), Some("gemini-4-argon"));
        assert_eq!(default_model("ollama"), None);
        assert_eq!(default_model("mine"), None);
    }

    /// API, model, input price and output price.
    const PRICED: &[(ApiKind, &str, f64, f64)] = &[
        (ApiKind::Anthropic, "claude-fable-5-2", 8.0, 40.0),
        (ApiKind::Anthropic, "claude-fable-5-1", 10.0, 50.0),
        (ApiKind::Anthropic, "claude-opus-5-5", 4.0, 20.0),
        (ApiKind::Anthropic, "claude-sonnet-5-5", 2.0, 10.0),
        (ApiKind::Anthropic, "claude-haiku-5-5", 0.1, 0.5),
        (ApiKind::Anthropic, "claude-opus-5", 5.0, 25.0),
        (ApiKind::Anthropic, "claude-opus-4-8", 5.0, 25.0),
        (ApiKind::Anthropic, "claude-opus-4-7", 5.0, 25.0),
        (ApiKind::Anthropic, "claude-opus-4-6", 5.0, 25.0),
        (ApiKind::Anthropic, "claude-opus-4-5", 5.0, 25.0),
        (ApiKind::Anthropic, "claude-sonnet-5", 2.0, 10.0),
        (ApiKind::Anthropic, "claude-haiku-4-5", 1.0, 5.0),
        (ApiKind::OpenaiResponses, "gpt-6-astra", 10.0, 50.0),
        (ApiKind::OpenaiResponses, "gpt-6.1-sol", 2.0, 10.0),
        (ApiKind::OpenaiResponses, "gpt-6-sol", 2.0, 10.0),
        (ApiKind::OpenaiResponses, "gpt-6.1-terra", 1.0, 5.0),
        (ApiKind::OpenaiResponses, "gpt-6-luna", 0.1, 0.5),
        (ApiKind::Google, "gemini-4-argon", 2.0, 10.0),
        (ApiKind::Google, "gemini-3.8-flash", 0.75, 3.75),
        (ApiKind::Google, "gemini-3.7-flash", 0.75, 3.75),
        (ApiKind::Google, "gemini-3.1-pro-preview", 2.0, 12.0),
        (ApiKind::Google, "gemini-3.5-flash-lite", 0.3, 2.5),
        (ApiKind::OpenaiChat, "deepseek-v4-pro", 1.32, 3.96),
        (ApiKind::OpenaiChat, "deepseek-v4-flash", 0.3, 1.2),
        (ApiKind::OpenaiChat, "mistral-large-4", 1.36, 4.18),
        (ApiKind::OpenaiChat, "mistral-medium-3-5", 1.5, 7.5),
    ];

    #[test]
    fn sold_models_have_prices_and_sizes() {
        for (kind, model, input, output) in PRICED {
            let found = built_in(*kind, model);
            let prices = found.prices.unwrap_or_default();
            assert_eq!(
                (prices.rates.input, prices.rates.output),
                (*input, *output),
                "{model}"
            );
            assert!(found.context_window >= Some(200_000), "{model}");
            assert!(found.max_output >= Some(64_000), "{model}");
        }
        for model in ["gpt-6.2-sol", "gpt-6.2-astra"] {
            assert!(known(ApiKind::OpenaiResponses).any(|known| known == model));
            assert_eq!(built_in(ApiKind::OpenaiResponses, model).prices, None);
        }
    }

    #[test]
    fn cost_depends_on_the_cache() {
        let kept = Tokens {
            input: 300,
            cache_read: 95_000,
            output: 100,
            ..Tokens::default()
        };
        let lost = Tokens {
            input: 95_300,
            output: 100,
            ..Tokens::default()
        };
        let written = Tokens {
            cache_write: 95_300,
            output: 100,
            ..Tokens::default()
        };
        let check = |kind, model, tokens: &Tokens, expected| {
            let prices = built_in(kind, model).prices.unwrap();
            let cost = format!("{:.6}", tokens.cost(&prices));
            assert_eq!(cost, expected, "{model}");
        };
        use ApiKind::{Anthropic, Google, OpenaiResponses};
        for (kind, model, [on_lost, on_written, on_kept]) in [
            (
                Anthropic,
                "claude-opus-5-5",
                ["0.383200", "0.478500", "0.022200"],
            ),
            (
                Anthropic,
                "claude-sonnet-5-5",
                ["0.191600", "0.239250", "0.011100"],
            ),
            (
                Anthropic,
                "claude-fable-5-1",
                ["0.958000", "1.196250", "0.031750"],
            ),
            (
                Anthropic,
                "claude-opus-5",
                ["0.479000", "0.598125", "0.051500"],
            ),
            (
                OpenaiResponses,
                "gpt-6.1-sol",
                ["0.191600", "0.239250", "0.011100"],
            ),
            (
                OpenaiResponses,
                "gpt-6-astra",
                ["0.958000", "1.196250", "0.103000"],
            ),
        ] {
            check(kind, model, &lost, on_lost);
            check(kind, model, &written, on_written);
            check(kind, model, &kept, on_kept);
        }
        check(Google, "gemini-4-argon", &kept, "0.011100");
        check(Google, "gemini-3.8-flash", &kept, "0.007725");
        check(Anthropic, "claude-haiku-5-5", &lost, "0.009580");
        check(OpenaiResponses, "gpt-6-luna", &lost, "0.009580");
    }

    #[test]
    fn prices_beyond_the_limit_apply_to_the_whole_request() {
        let cost = |kind, model, cache_read| {
            let prices: Prices = built_in(kind, model).prices.unwrap();
            let tokens = Tokens {
                cache_read,
                output: 1_000_000,
                ..Tokens::default()
            };
            format!("{:.4}", tokens.cost(&prices))
        };
        let haiku = |tokens| cost(ApiKind::Anthropic, "claude-haiku-5-5", tokens);
        assert_eq!([haiku(100_000), haiku(100_001)], ["0.5010", "2.5050"]);
        let sol = |tokens| cost(ApiKind::OpenaiResponses, "gpt-6.1-sol", tokens);
        assert_eq!([sol(272_000), sol(272_001)], ["10.0272", "15.0544"]);
        let gemini = |tokens| cost(ApiKind::Google, "gemini-3.1-pro-preview", tokens);
        assert_eq!([gemini(200_000), gemini(200_001)], ["12.0400", "18.0800"]);
    }

    #[test]
    fn dated_ids_match_their_model_and_relatives_have_no_prices() {
        let of = |model| built_in(ApiKind::Anthropic, model);
        let opus = of("claude-opus-4-5");
        for same in [
            "claude-opus-4-5-20251101",
            "claude-opus-4-5@20251101",
            "claude-opus-4-5-latest",
        ] {
            assert_eq!(of(same), opus, "{same}");
        }
        let relative = of("claude-opus-5-6");
        assert_eq!(relative.prices, None);
        assert_eq!(
            (relative.forced_tools, relative.context_window),
            (ForcedToolSupport::Yes, Some(1_000_000))
        );
        assert_eq!(of("claude-opus-50").forced_tools, ForcedToolSupport::No);
        assert_eq!(
            built_in(ApiKind::Ollama, "gpt-oss:20b").reasoning,
            ReasoningKind::Effort
        );
        assert_eq!(
            built_in(ApiKind::OpenaiResponses, "gpt-6.1-sol-2026-10-01").prices,
            built_in(ApiKind::OpenaiResponses, "gpt-6.1-sol").prices
        );
    }

    #[test]
    fn user_overrides_list_overrides_table() {
        let stated = |tokens| StatedAbilities {
            context_window: Some(tokens),
            ..StatedAbilities::default()
        };
        let window = |kind, listed: Option<u64>, configured: Option<u64>| {
            let (listed, configured) = (listed.map(stated), configured.map(stated));
            abilities(kind, "m", listed.as_ref(), configured.as_ref()).context_window
        };
        use ApiKind::{Anthropic, Ollama};
        assert_eq!(window(Anthropic, None, None), None);
        assert_eq!(window(Anthropic, Some(5), None), Some(5));
        assert_eq!(window(Anthropic, Some(5), Some(7)), Some(7));
        assert_eq!(window(Ollama, None, None), Some(32_768));
        assert_eq!(window(Ollama, Some(8192), None), Some(8192));
        assert_eq!(window(Ollama, Some(262_144), None), Some(32_768));
        assert_eq!(window(Ollama, Some(262_144), Some(65_536)), Some(65_536));
    }

    #[test]
    fn forced_tools_and_reasoning_follow_the_model() {
        use ForcedToolSupport::{No, WithoutReasoning, Yes};
        use ReasoningKind::{Adaptive, Budget, Effort, Switch};
        for (kind, model, forced, reasoning, off) in [
            (ApiKind::Anthropic, "claude-fable-5-2", No, Adaptive, false),
            (ApiKind::Anthropic, "claude-mythos-5-1", No, Adaptive, false),
            (ApiKind::Anthropic, "claude-opus-5-5", No, Adaptive, false),
            (ApiKind::Anthropic, "claude-sonnet-5-5", No, Adaptive, false),
            (ApiKind::Anthropic, "claude-haiku-5-5", Yes, Adaptive, true),
            (ApiKind::Anthropic, "claude-fable-5", Yes, Adaptive, false),
            (ApiKind::Anthropic, "claude-opus-5", Yes, Adaptive, true),
            (ApiKind::Anthropic, "claude-opus-4-6", Yes, Adaptive, true),
            (
                ApiKind::Anthropic,
                "claude-haiku-4-5",
                WithoutReasoning,
                Budget,
                true,
            ),
            (ApiKind::Anthropic, "claude-next", No, Adaptive, false),
            (ApiKind::OpenaiResponses, "gpt-6-sol", Yes, Effort, true),
            (ApiKind::OpenaiResponses, "gpt-6.1-sol", Yes, Effort, false),
            (ApiKind::OpenaiChat, "any", Yes, Effort, false),
            (ApiKind::Google, "gemini-4-argon", Yes, Effort, false),
            (ApiKind::Google, "gemini-2.5-flash", Yes, Budget, true),
            (ApiKind::Ollama, "qwen3.5:9b", No, Switch, true),
        ] {
            let found = built_in(kind, model);
            assert_eq!(
                (found.forced_tools, found.reasoning, found.reasoning_off),
                (forced, reasoning, off),
                "{model}"
            );
        }
    }
}

//! What each Claude model takes.

/// The facts about one model, or about a line of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claude {
    /// The start of its ids, without `claude-`.
    pub(crate) name: &'static str,
    /// The types of `thinking` that it takes; the first one is the default.
    pub(crate) thinking: &'static str,
    /// The effort that leaving it out means.
    pub(crate) effort: &'static str,
    /// What else it takes: see [`Claude::takes`].
    takes: &'static str,
    /// Tokens below which no prefix is cached.
    pub(crate) least: u64,
}

impl Claude {
    /// The facts about a model by its id, dated or not. Ids that are not listed give nothing.
    pub(crate) fn find(id: &str) -> Option<&'static Self> {
        let name = id.strip_prefix("claude-")?;
        MODELS
            .iter()
            .filter(|model| {
                name.strip_prefix(model.name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            })
            .max_by_key(|model| model.name.len())
    }

    /// Whether it takes `forced` tools, `system` messages amid the others, `sampling` parameters, or a `prefill`;
    /// and whether its thinking is `bound` to all that comes before it.
    pub(crate) fn takes(&self, what: &str) -> bool {
        self.takes.split_whitespace().any(|word| word == what)
    }

    /// Whether it takes this type of `thinking`.
    pub(crate) fn thinks(&self, kind: &str) -> bool {
        self.thinking.split_whitespace().any(|word| word == kind)
    }

    /// The type of `thinking` that leaving it out means.
    pub(crate) fn default_thinking(&self) -> &'static str {
        self.thinking
            .split_whitespace()
            .next()
            .unwrap_or("disabled")
    }
}

const fn model(
    name: &'static str,
    thinking: &'static str,
    effort: &'static str,
    takes: &'static str,
    least: u64,
) -> Claude {
    Claude {
        name,
        thinking,
        effort,
        takes,
        least,
    }
}

/// Which capabilities a model has can be asked at run time, except forced tools and the least prefix. The least
/// prefix of the newest models is not published and taken to be that of their elders.
#[rustfmt::skip]
const MODELS: &[Claude] = &[
    model("fable-5",        "adaptive",                  "high",   "forced system",           512),
    model("fable-5-1",      "adaptive",                  "high",   "system bound",            512),
    model("fable-5-2",      "adaptive",                  "high",   "system bound",            512),
    model("mythos-5",       "adaptive",                  "high",   "forced system",           512),
    model("mythos-5-1",     "adaptive",                  "high",   "system bound",            512),
    model("mythos-5-2",     "adaptive",                  "high",   "system bound",            512),
    model("mythos-preview", "adaptive enabled disabled", "high",   "sampling",                2048),
    model("opus-5-5",       "adaptive",                  "medium", "system bound",            512),
    model("sonnet-5-5",     "adaptive between_tools",    "high",   "system bound",            512),
    model("haiku-5-5",      "adaptive disabled",         "medium", "forced system bound",     512),
    model("opus-5",         "adaptive disabled",         "high",   "forced system",           512),
    model("sonnet-5",       "adaptive disabled",         "high",   "forced",                  1024),
    model("opus-4-8",       "disabled adaptive",         "high",   "forced system",           1024),
    model("opus-4-7",       "disabled adaptive",         "high",   "forced",                  2048),
    model("opus-4-6",       "disabled adaptive enabled", "high",   "forced sampling",         4096),
    model("sonnet-4-6",     "disabled adaptive enabled", "high",   "forced sampling",         1024),
    model("opus-4-5",       "disabled enabled",          "high",   "forced sampling prefill", 4096),
    model("sonnet-4-5",     "disabled enabled",          "high",   "forced sampling prefill", 1024),
    model("haiku-4-5",      "disabled enabled",          "high",   "forced sampling prefill", 4096),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_that_fits_is_the_model() {
        let name = |id| Claude::find(id).map(|model| model.name);
        assert_eq!(name("claude-opus-5-5"), Some("opus-5-5"));
        assert_eq!(name("claude-opus-5"), Some("opus-5"));
        assert_eq!(name("claude-haiku-4-5-20251001"), Some("haiku-4-5"));
        assert_eq!(name("claude-opus-55"), None);
        assert_eq!(name("gpt-6-sol"), None);
    }

    #[test]
    fn the_models_that_refuse_forced_tools() {
        let refusing: Vec<_> = MODELS
            .iter()
            .filter(|model| !model.takes("forced"))
            .map(|model| model.name)
            .collect();
        let expected =
            "fable-5-1 fable-5-2 mythos-5-1 mythos-5-2 mythos-preview opus-5-5 sonnet-5-5";
        assert_eq!(refusing.join(" "), expected);
    }
}

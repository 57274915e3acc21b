//! Lines that say what the world of a conversation is like.

use std::{collections::BTreeMap, time::Duration};

use serde::de::DeserializeOwned;

use super::ask::{json, words};
use aside_turn::{
    effect::updates::UpdateContext,
    history::fullness::Fullness,
    input::{Prepared, Preview},
    model_text::ModelText,
    record::Event,
    response::{Finish, Usage},
    rules::{
        Assistant, CachePrices, Class, Client, Configured, Detached, Mode, QuestionRules, Rules,
        RunRule, Target, ToolChoice, ToolRules,
    },
};

/// Prices of Claude Sonnet, of which a million tokens cost 3 dollars, 15 where the model says them.
pub(crate) const PRICES: CachePrices = CachePrices {
    read: 300_000,
    write: 3_750_000,
    output: 15_000_000,
};

/// Rules, client, and what preparing each tool's calls finds.
#[derive(Clone)]
pub(crate) struct World {
    /// The rules of the turn.
    pub(crate) rules: Rules,
    /// Who can ask a human.
    pub(crate) client: Option<Client>,
    /// The sentences for the model.
    pub(crate) model_text: ModelText,
    /// Whether updates without a decision in them are shown too.
    pub(super) updates: bool,
    /// The conversation before the turn.
    pub(super) before: Fullness,
    found: BTreeMap<String, Prepared>,
    manual: Vec<String>,
}

impl Default for World {
    fn default() -> Self {
        let mut rules = Rules {
            trusted: true,
            ..Rules::default()
        };
        rules.model.id = "house/model".into();
        Self {
            rules,
            client: None,
            model_text: ModelText::default(),
            updates: false,
            before: Fullness::default(),
            found: BTreeMap::new(),
            manual: Vec::new(),
        }
    }
}

impl UpdateContext for World {
    fn hides(&self, tool: &str) -> bool {
        self.rules.tools.get(tool).is_some_and(|tool| tool.hidden)
    }

    fn context_window(&self) -> Option<u64> {
        self.rules.model.context_window
    }
}

impl World {
    /// What preparing a call of this tool finds.
    pub(super) fn prepare(&self, tool: &str) -> Prepared {
        self.found.get(tool).cloned().unwrap_or_default()
    }

    /// Whether the conversation itself says what preparing finds.
    pub(super) fn is_manual(&self, tool: &str) -> bool {
        self.manual.iter().any(|manual| manual == tool)
    }

    /// Takes a line in; false where it is not about the world.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let words = words(line);
        let (verb, rest) = (words[0].as_str(), &words[1..]);
        match verb {
            "client" => self.client = Some(client(!rest.iter().any(|word| word == "no-secret"))),
            "no-client" => self.client = None,
            "mode" => self.rules.mode = mode(&rest[0]),
            "untrusted" => self.rules.trusted = false,
            "tool" => self.tool(&rest[0], &rest[1..]),
            "question" => self.question(&rest[0], &rest[1..]),
            "choice" => self.rules.tool_choice = choice(&rest[0]),
            "model" => self.model(rest),
            "before" => self.before(rest),
            "inquiry" => self.inquiry(rest),
            "limit" => self.limit(rest),
            "schema" => self.rules.schema = true,
            "updates" => self.updates = true,
            _ => return false,
        }
        true
    }

    /// Declares a tool, or changes what is known of it.
    pub(crate) fn tool(&mut self, name: &str, words: &[String]) {
        let rules = self.rules.tools.entry(name.into()).or_default();
        let found = self.found.entry(name.into()).or_insert_with(|| Prepared {
            title: format!("{name} it"),
            hash: format!("hash of {name}"),
            ..Prepared::default()
        });
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if key == "manual" {
                self.manual.push(name.into());
            } else if !prepared(found, key, value) && !tool_rule(rules, key, value) {
                panic!("`{key}` says nothing of a tool");
            }
        }
        rules.class = found.class;
    }

    fn question(&mut self, name: &str, words: &[String]) {
        let (tool, id) = name.split_once('.').expect("a tool and a question");
        let tool = self.rules.tools.entry(tool.into()).or_default();
        let rules: &mut QuestionRules = tool.questions.entry(id.into()).or_default();
        for word in words {
            let (key, value) = word.split_once('=').expect("a key and a value");
            match key {
                "answer" => rules.answer = Some(Configured::Value(json(value))),
                "typed" => rules.answer = Some(Configured::Text(value.trim_matches('"').into())),
                "label" => rules.prompt_label = Some(value.into()),
                "exclusive" => rules.exclusive = Some(value == "true"),
                "target" => {
                    rules.target = match value.split_once(':') {
                        Some((_, model)) => Target::Assistant(Some(assistant(name, model))),
                        None if value == "assistant" => Target::Assistant(None),
                        None => Target::User,
                    };
                }
                _ => panic!("`{key}` says nothing of a question"),
            }
        }
    }

    fn model(&mut self, words: &[String]) {
        let model = &mut self.rules.model;
        for word in words {
            let (key, value) = word.split_once('=').expect("a key and a value");
            match key {
                "id" => model.id = value.into(),
                "forces" => model.forces_tools = value == "yes",
                "forces_while_reasoning" => model.forces_while_reasoning = value == "yes",
                "reasoning" => model.reasoning = value == "yes",
                "switches" => model.reasoning_switches = value == "yes",
                "price" => {
                    let price = number::<u64>(value) * 1_000_000;
                    self.rules.prices.insert(model.id.clone(), price);
                }
                "window" => model.context_window = value.parse().ok(),
                "natively" => model.compacts_natively = value == "yes",
                "compacts" => model.compacts_at = value.parse().ok(),
                "cache" => model.cache_life = Some(seconds(value)),
                "priced" => model.cache_prices = (value == "yes").then_some(PRICES),
                "compaction" => self.rules.compaction = setting(value),
                _ => panic!("`{key}` says nothing of a model"),
            }
        }
    }

    fn before(&mut self, words: &[String]) {
        let mut summaries = 0;
        for word in words {
            let (key, value) = word.split_once('=').expect("a key and a value");
            match key {
                "tokens" => self.before.apply(&Event::ResponseEnd {
                    finish: Some(Finish::Stop),
                    usage: Usage {
                        input: number(value),
                        ..Usage::default()
                    },
                }),
                "summary" | "asked" => {
                    summaries += 1;
                    self.before.apply(&Event::Compacted {
                        number: summaries,
                        asked: key == "asked",
                        summary: "Summary.".into(),
                        native: None,
                        ledger: String::new(),
                        before: number(value),
                        usage: Usage::default(),
                    });
                }
                "sent" => self.before.apply(&Event::RequestSent {
                    step: number(value),
                }),
                "unanswered" => self.before.apply(&Event::Steer {
                    text: "x".repeat(number(value)),
                }),
                "failed" => self.before.apply(&Event::CompactionFailed {
                    model: self.rules.model.id.clone(),
                    reason: value.into(),
                }),
                _ => panic!("`{key}` says nothing of what was before"),
            }
        }
    }

    fn inquiry(&mut self, words: &[String]) {
        for word in words {
            let (key, value) = word.split_once('=').expect("a key and a value");
            match (key, value) {
                ("strategy", name) => self.rules.inquiry.strategy = setting(name),
                ("max_cost", most) => self.rules.inquiry.max_cost = Some(number(most)),
                ("other", model) => {
                    self.rules.inquiry.assistant = Some(Assistant {
                        differs: true,
                        ..assistant("inquiry", model)
                    });
                }
                ("assistant", model) => {
                    self.rules.inquiry.assistant = Some(assistant("inquiry", model));
                }
                _ => panic!("`{key}` says nothing of inquiries"),
            }
        }
    }

    fn limit(&mut self, words: &[String]) {
        let limits = &mut self.rules.limits;
        for word in words {
            let (key, value) = word.split_once('=').expect("a key and a value");
            match key {
                "steps" => limits.steps = number(value),
                "calls" => limits.calls_in_message = number(value),
                "at_once" => limits.tools_at_once = number(value),
                "retries" => limits.retries = number(value),
                "tool_time" => limits.tool_time = seconds(value),
                "retry_time" => limits.retry_time = seconds(value),
                "turn_time" => limits.turn_time = Some(seconds(value)),
                "cost" => limits.cost = Some(number(value)),
                _ => panic!("`{key}` is no limit"),
            }
        }
    }
}

/// What a word says of a call that was prepared; false where it says nothing of it.
pub(super) fn prepared(found: &mut Prepared, key: &str, value: &str) -> bool {
    match key {
        "class" => found.class = class(value),
        "title" => found.title = value.into(),
        "hash" => found.hash = value.into(),
        "approved" => found.approved = true,
        "sandboxed" => found.sandboxed = true,
        "must" => found.must_ask = Some(value.trim_matches('"').into()),
        "diff" => {
            found.preview = Some(Preview::Diff {
                uri: "file:///w/a.txt".into(),
                version: None,
                old: "old".into(),
                new: "new".into(),
            });
        }
        "command" => {
            let text = value.trim_matches('"').into();
            found.preview = Some(Preview::Command {
                text,
                cwd: "/w".into(),
            });
        }
        _ => return false,
    }
    true
}

fn tool_rule(rules: &mut ToolRules, key: &str, value: &str) -> bool {
    match key {
        "run" => rules.run = (value != "unset").then(|| setting(value)),
        "result" => rules.result = setting(value),
        "detached" => {
            let mode = setting(value);
            rules.detached = Detached {
                run: mode,
                deliver: mode,
                tool: mode,
            };
        }
        "detached.run" => rules.detached.run = setting(value),
        "detached.deliver" => rules.detached.deliver = setting(value),
        "detached.tool" => rules.detached.tool = setting(value),
        "assistant" => rules.asks_for_assistant = true,
        "exclusive" => rules.always_exclusive = true,
        "hidden" => rules.hidden = true,
        "outside" => rules.outside = true,
        "in-client" => rules.in_client = true,
        "server" => rules.server = Some(value.into()),
        _ => return false,
    }
    true
}

/// A client that can ask a human.
pub(crate) fn client(secret: bool) -> Client {
    Client {
        name: "editor".into(),
        version: "1".into(),
        questions: true,
        secret,
    }
}

/// A mode by its word.
pub(crate) fn mode(word: &str) -> Mode {
    setting(word)
}

fn class(word: &str) -> Class {
    match word {
        "reads" => Class::Reads,
        "edits" => Class::Edits,
        "more" => Class::More,
        _ => panic!("`{word}` is no class"),
    }
}

/// A value by its word in the configuration.
fn setting<T: DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(word.into()).unwrap_or_else(|error| panic!("{error}"))
}

/// Rules of the client's tools, as in `show=unattended look=ask`.
pub(crate) fn client_rules(text: &str) -> BTreeMap<String, Option<RunRule>> {
    let rules = text.split_whitespace().map(|rule| {
        let (tool, run) = rule.split_once('=').expect("TOOL=RULE");
        (tool.to_owned(), (run != "unset").then(|| setting(run)))
    });
    rules.collect()
}

fn choice(word: &str) -> ToolChoice {
    match word {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        name => ToolChoice::Name(name.into()),
    }
}

pub(super) fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse()
        .unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// A time such as `50ms` or `2s`.
pub(super) fn seconds(text: &str) -> Duration {
    match text.strip_suffix("ms") {
        Some(milliseconds) => Duration::from_millis(number(milliseconds)),
        None => Duration::from_secs_f64(number(text.trim_end_matches('s'))),
    }
}

fn assistant(name: &str, model: &str) -> Assistant {
    Assistant {
        differs: false,
        name: name.to_owned(),
        model: model.to_owned(),
    }
}

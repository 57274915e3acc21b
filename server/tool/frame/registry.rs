//! The tools of a conversation by name, and the checks that all of them share: arguments fit the schema, and a run is
//! what was shown.

use std::{
    collections::HashMap,
    fmt::Write,
    sync::{Arc, Mutex, OnceLock},
};

use indexmap::IndexMap;
use jsonschema::Validator;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use aside_base::{lock, visible::short_line};
use aside_turn::{
    effect::CallWork,
    input::{Preparation, ToolOutcome, ToolOutput},
    model_text::ModelText,
    record::CallKey,
};

use super::{
    context::ToolContext,
    plan::{Planning, ShownPlan, Unplanned, invalid},
    tool::Tool,
};

/// Error of a call that would not do what was shown.
const CHANGED: &str =
    "What this call would do changed since it was prepared; look again, and call it again.";

/// Misfits that are named at once.
const MISFITS: usize = 3;
/// Characters of one of them: it may quote what the model wrote.
const MISFIT: usize = 200;

/// Tools by name, in the order in which they were added.
#[derive(Default)]
pub struct Registry {
    tools: IndexMap<String, RegisteredTool>,
    /// The plan of each call as it was last shown.
    shown: Mutex<HashMap<CallKey, ShownPlan>>,
}

struct RegisteredTool {
    tool: Arc<dyn Tool>,
    /// Made at the first call: most tools are never called. None where the schema is broken.
    validator: OnceLock<Option<Validator>>,
}

/// A name that no tool can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// The name does not have the form that every provider accepts.
    #[error("a tool's name has 1 to 64 of A-Z, a-z, 0-9, _ and -, which `{0}` is not")]
    Form(String),
    /// Another tool has the name.
    #[error("there are two tools `{0}`; rename one of them")]
    Taken(String),
}

impl Registry {
    /// The tools of a list whose names all differ.
    #[must_use]
    pub fn of(tools: impl Iterator<Item = Arc<dyn Tool>>) -> Self {
        let entry = |tool: Arc<dyn Tool>| (tool.spec().name.clone(), RegisteredTool::new(tool));
        Self {
            tools: tools.map(entry).collect(),
            shown: Mutex::default(),
        }
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Fails if the name does not have the form of a tool's name, or is taken.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), BadName> {
        let name = tool.spec().name.clone();
        if !is_name(&name) {
            return Err(BadName::Form(name));
        }
        if self.tools.contains_key(&name) {
            return Err(BadName::Taken(name));
        }
        self.tools.insert(name, RegisteredTool::new(tool));
        Ok(())
    }

    /// A tool by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// All tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values().map(|entry| &entry.tool)
    }

    /// Prepares a call: checks its arguments against the schema of the tool, and remembers the plan as it is shown.
    pub async fn prepare(&self, work: &CallWork, context: &Arc<ToolContext>) -> Preparation {
        let Some(entry) = self.tools.get(&work.tool) else {
            return Preparation::Error(unknown(&work.tool));
        };
        if let Some(what) = entry.misfit(&work.arguments) {
            return Preparation::Error(invalid(&work.tool, &what));
        }
        let planning = Planning::new(work, context);
        match entry.tool.clone().plan(planning).await {
            Ok(plan) => {
                lock(&self.shown).insert(work.call, plan.shown());
                Preparation::Ready(plan.prepared(entry.tool.spec()))
            }
            Err(unplanned) => unplanned.into(),
        }
    }

    /// Runs a prepared call. It is planned again, and does not run if the plan is not the one that was shown.
    pub async fn run(
        &self,
        work: &CallWork,
        context: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> ToolOutcome {
        let error = |text: String| ToolOutcome::Error(ToolOutput::text(text));
        let Some(tool) = self.get(&work.tool).cloned() else {
            return error(unknown(&work.tool));
        };
        let plan = match tool.plan(Planning::new(work, context)).await {
            Ok(plan) => plan,
            Err(Unplanned::Question(question)) => return ToolOutcome::NeedsInput(*question),
            Err(Unplanned::Error(text)) => return error(text),
            Err(Unplanned::Denied) => return error(CHANGED.to_owned()),
        };
        let shown = lock(&self.shown).remove(&work.call);
        match shown.is_some_and(|shown| plan.is_as_shown(&shown)) {
            true => plan.run(cancelled).await,
            false => error(CHANGED.to_owned()),
        }
    }
}

impl RegisteredTool {
    fn new(tool: Arc<dyn Tool>) -> Self {
        Self {
            tool,
            validator: OnceLock::new(),
        }
    }

    /// Text about the arguments that do not fit the schema.
    fn misfit(&self, arguments: &Value) -> Option<String> {
        let compile = || jsonschema::validator_for(&self.tool.spec().parameters).ok();
        let Some(validator) = self.validator.get_or_init(compile) else {
            return Some("the tool's own schema is broken; do not retry".to_owned());
        };
        let mut text = String::new();
        for error in validator.iter_errors(arguments).take(MISFITS) {
            let separator = if text.is_empty() { "" } else { "; " };
            let place = error.instance_path().to_string();
            let place = place.trim_start_matches('/').replace('/', ".");
            let what = short_line(&error.to_string(), MISFIT);
            let _ = match place.as_str() {
                "" => write!(text, "{separator}{what}"),
                place => write!(text, "{separator}`{}`: {what}", short_line(place, MISFIT)),
            };
        }
        Some(text).filter(|text| !text.is_empty())
    }
}

/// Whether a text can be a tool's name: what every provider takes.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn unknown(name: &str) -> String {
    ModelText::default().no_tool(&short_line(name, 64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{BUILT_IN_FILES, CallPlan, ToolSpec, trial::ToolTrial};

    /// A tool prepares the call, asks, or reports what is wrong with the arguments, whatever they are.
    #[tokio::test]
    async fn fuzzed_arguments_are_taken_or_refused() {
        let trial = ToolTrial::new(&[("a.txt", "one\ntwo\none\n")]);
        for (tool, arguments) in [
            ("read_file", json!({"path": "a.txt", "from": 1, "to": 2})),
            ("list_files", json!({"path": ".", "pattern": "*.txt"})),
            ("search", json!({"pattern": "o[n]e", "path": "."})),
            (
                "edit_file",
                json!({"path": "a.txt", "old_text": "one", "new_text": "1"}),
            ),
            ("write_file", json!({"path": "b.txt", "content": "x"})),
            ("run_command", json!({"command": "echo x"})),
            (
                "ask_user",
                json!({"question": "Go on?", "answer_type": "boolean"}),
            ),
        ] {
            let text = arguments.to_string();
            for damaged in aside_test_fuzz::damaged(text.as_bytes(), 60) {
                if let Ok(arguments) = serde_json::from_slice(&damaged) {
                    trial.prepare(tool, arguments).await;
                }
            }
        }
        assert_eq!(trial.text("b.txt"), None, "nothing was run");
    }

    #[test]
    fn every_built_in_tool_has_a_spec_for_providers() {
        let registry = Registry::builtin();
        let mut names = Vec::new();
        for tool in registry.iter() {
            let spec = tool.spec();
            assert!(is_name(&spec.name));
            assert!(!spec.description.is_empty());
            assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
            assert!(
                jsonschema::validator_for(&spec.parameters).is_ok(),
                "{}",
                spec.name
            );
            names.push(spec.name.as_str());
        }
        let files: Vec<&str> = BUILT_IN_FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, files, "a tool has the name of its file");
    }

    #[tokio::test]
    async fn arguments_that_do_not_fit_teach() {
        let trial = ToolTrial::new(&[("a", "")]);
        let check = async |args: Value, what: &str| {
            let text = format!("error: Invalid arguments for read_file: {what}.");
            trial.check("read_file", args, &text).await;
        };
        check(json!({}), "\"path\" is a required property").await;
        check(json!({"path": 7}), "`path`: 7 is not of type \"string\"").await;
        check(json!([]), "[] is not of type \"object\"").await;
        check(
            json!({"path": "a", "from_line": 0}),
            "`from_line`: 0 is less than the minimum of 1",
        )
        .await;
        check(
            json!({"path": "a", "line": 1}),
            "Additional properties are not allowed ('line' was unexpected)",
        )
        .await;
        let long = trial
            .call("read_file", json!({"path": ["x".repeat(1 << 20)]}))
            .await;
        assert!(long.len() < 600, "{}", long.len());
    }

    #[tokio::test]
    async fn an_unknown_tool_is_said_to_be_none() {
        let trial = ToolTrial::new(&[]);
        trial
            .check("grep", json!({}), "error: There is no tool grep.")
            .await;
    }

    #[test]
    fn names_are_what_every_provider_takes() {
        struct Named(ToolSpec);
        #[async_trait::async_trait]
        impl Tool for Named {
            fn spec(&self) -> &ToolSpec {
                &self.0
            }
            async fn plan(self: Arc<Self>, _: Planning) -> Result<CallPlan, Unplanned> {
                Err(Unplanned::Denied)
            }
        }
        let mut registry = Registry::builtin();
        let mut add =
            |name: &str| registry.add(Arc::new(Named(ToolSpec::new(name, "x", json!({})))));
        assert_eq!(add("git__log-2"), Ok(()));
        assert_eq!(add("git__log-2"), Err(BadName::Taken("git__log-2".into())));
        assert_eq!(add("search"), Err(BadName::Taken("search".into())));
        for name in ["", "a b", "a.b", "ä", &"x".repeat(65)] {
            assert_eq!(add(name), Err(BadName::Form(name.to_owned())));
        }
    }
}

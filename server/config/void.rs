//! What is set and could not count: a setting that is accepted and ignored would pass for one that holds. Pure.

use super::{
    Configuration, Origin, Problem,
    names::dotted,
    settings::{AssistantSettings, Settings, StrategySetting, Target, ToolSettings, ToolSource},
};

/// A key that does not count, and why, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VoidKey {
    path: Vec<String>,
    why: String,
}

impl Configuration {
    /// Every setting that could not count as things are: what is not there yet, and what contradicts another setting.
    #[must_use]
    pub fn void(&self) -> Vec<Problem> {
        let problem = |VoidKey { path, why }: VoidKey| {
            let key = dotted(&path);
            let mut set = self.merged.below(&path);
            let origin = set
                .next()
                .map_or(Origin::BuiltIn, |(.., origin)| origin.clone());
            Problem::new(origin, format!("`{key}` {why}"))
        };
        void_keys(&self.settings).into_iter().map(problem).collect()
    }
}

fn void_keys(settings: &Settings) -> Vec<VoidKey> {
    let tools = settings.conversation.tools.named.iter();
    let mut void: Vec<VoidKey> = tools
        .flat_map(|(name, tool)| of_tool(settings, name, tool))
        .collect();
    void.extend(inquiries(settings));
    for name in settings.mcp.servers.keys() {
        let path = path(&["mcp", "servers", name]);
        let why =
            "starts nothing: servers of the Model Context Protocol are not there yet; take it out";
        void.push(VoidKey {
            path,
            why: why.into(),
        });
    }
    void
}

fn path(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn of_tool(settings: &Settings, name: &str, tool: &ToolSettings) -> Vec<VoidKey> {
    let at = |key: &str| path(&["conversation", "tools", name, key]);
    let missing = match tool.source {
        Some(ToolSource::Local | ToolSource::Mcp) => Some("source"),
        _ if tool.command.is_some() => Some("command"),
        _ if tool.parameters.is_some() => Some("parameters"),
        _ => None,
    };
    let mut void = Vec::new();
    if let Some(key) = missing {
        let why =
            "makes no tool: tools other than the built-in ones are not there yet; take it out";
        void.push(VoidKey {
            path: at(key),
            why: why.into(),
        });
    }
    for (id, question) in &tool.questions {
        if let Some(Target::Assistant(assistant)) = &question.target {
            let target = [at("questions"), path(&[id, "target"])].concat();
            void.extend(of_inquiry_assistant(settings, &target, assistant));
        }
    }
    void
}

fn inquiries(settings: &Settings) -> Vec<VoidKey> {
    let place = path(&["conversation", "inquiry", "assistant"]);
    of_inquiry_assistant(settings, &place, &settings.conversation.inquiry.assistant)
}

/// An assistant of its own answers in a request of its own; the other strategies go to the turn's as it is.
fn of_inquiry_assistant(
    settings: &Settings,
    place: &[String],
    assistant: &AssistantSettings,
) -> Vec<VoidKey> {
    let strategy = match settings.conversation.inquiry.strategy {
        StrategySetting::Auto | StrategySetting::Structured => None,
        StrategySetting::InBand => Some("in_band"),
        StrategySetting::ForcedTool => Some("forced_tool"),
    };
    let mut void = Vec::new();
    if assistant.tool_choice.is_some() {
        let path = [place, &path(&["tool_choice"])].concat();
        let why = "forces nothing: what an inquiry calls is its strategy's; take it out";
        void.push(VoidKey {
            path,
            why: why.into(),
        });
    }
    let is_set = *assistant != AssistantSettings::default();
    if let Some(strategy) = strategy.filter(|_| is_set) {
        let why = format!(
            "does not answer: with conversation.inquiry.strategy = \"{strategy}\" the turn's own assistant is asked; \
             make that \"auto\" or \"structured\", or take this out"
        );
        void.push(VoidKey {
            path: place.to_vec(),
            why,
        });
    }
    void
}

#[cfg(test)]
mod tests {
    use crate::config::{Configuration, SourceFile, Sources, load};

    fn user(text: &str) -> Configuration {
        let file = SourceFile {
            path: "~/aside.toml".into(),
            text: text.into(),
        };
        let sources = Sources {
            user_file: Some(file),
            ..Sources::default()
        };
        load(&sources, &toml::Table::new()).expect("a configuration")
    }

    #[track_caller]
    fn check(toml: &str, expected: &[&str]) {
        let void = user(toml).void();
        let said: Vec<&str> = void.iter().map(super::Problem::what).collect();
        let short: Vec<&str> = said
            .iter()
            .map(|what| what.split_once(':').map_or(*what, |(head, _)| head))
            .collect();
        assert_eq!(short, expected, "{toml}");
    }

    #[test]
    fn what_is_not_there_yet_is_an_error() {
        check(
            "[mcp.servers.db]\ncommand = 'db'\n",
            &["`mcp.servers.db` starts nothing"],
        );
        check(
            "[conversation.tools.mine]\nsource = 'local'\ncommand = ['mine']\n",
            &["`conversation.tools.mine.source` makes no tool"],
        );
        check(
            "[conversation.tools.mine]\nparameters = { type = 'object' }\n",
            &["`conversation.tools.mine.parameters` makes no tool"],
        );
        check("", &[]);
    }

    #[test]
    fn an_assistant_that_no_strategy_asks_is_an_error() {
        let inquiry = |strategy: &str| {
            format!(
                "[conversation.inquiry]\nstrategy = '{strategy}'\n\
                 [conversation.inquiry.assistant]\nmodel = 'a/b'\n"
            )
        };
        check(&inquiry("auto"), &[]);
        check(&inquiry("structured"), &[]);
        let unasked = "`conversation.inquiry.assistant` does not answer";
        check(&inquiry("in_band"), &[unasked]);
        check(&inquiry("forced_tool"), &[unasked]);
        check(
            "[conversation.inquiry]\nstrategy = 'in_band'\n\
             [conversation.tools.edit_file.questions.occurrence]\ntarget = { model = 'a/b' }\n",
            &["`conversation.tools.edit_file.questions.occurrence.target` does not answer"],
        );
        check(
            "[conversation.inquiry.assistant]\ntool_choice = 'none'\n",
            &["`conversation.inquiry.assistant.tool_choice` forces nothing"],
        );
    }
}

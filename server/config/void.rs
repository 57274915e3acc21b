//! Settings that can have no effect, which are refused because a silently ignored one would pass for one that applies.
//! Pure.

use aside_base::visible::short_line;
use aside_turn::rules::{CommandRules, StrategyRule};
use serde_json::{Map, Value};

use super::{
    Configuration, Origin, Problem,
    names::dotted,
    settings::{AssistantSettings, McpServer, Settings, Target, ToolSettings, ToolSource},
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
    void.extend(of_commands(&settings.commands));
    let servers = settings.mcp.servers.iter();
    void.extend(servers.flat_map(|(name, server)| of_server(name, server)));
    void
}

/// Rules that can speak of no command.
fn of_commands(rules: &CommandRules) -> Vec<VoidKey> {
    let lists = [
        ("allow", &rules.allow),
        ("ask", &rules.ask),
        ("deny", &rules.deny),
        ("unsandboxed", &rules.unsandboxed),
    ];
    let void = lists.into_iter().flat_map(|(key, rules)| {
        rules.iter().filter_map(move |rule| {
            let why = not_a_rule(rule)?;
            Some(VoidKey {
                path: path(&["commands", key]),
                why: format!(
                    "has the rule \"{}\", which speaks of no command: {why}",
                    short_line(rule, 80)
                ),
            })
        })
    });
    void.collect()
}

/// The reason why no command begins with these words, and how to write the rule. Characters that a command may have in
/// quotes are left alone.
fn not_a_rule(rule: &str) -> Option<&'static str> {
    let words: Vec<&str> = rule.split_whitespace().collect();
    let Some(program) = words.first() else {
        return Some("it is empty; write a program and its leading arguments, or take it out");
    };
    let any = |is: fn(&str) -> bool| words.iter().any(|word| is(word));
    if any(is_operator) {
        return Some(
            "each command of a line is looked at by itself; write a rule for each, without what a shell puts between them",
        );
    }
    if any(|word| word.contains(['"', '\'', '`', '$'])) {
        return Some(
            "its words are compared as they are, without quotes and what a shell expands; write the words alone",
        );
    }
    if program.contains('*') || any(|word| word.ends_with('*')) {
        return Some(
            "there are no wildcards; write the words that a command begins with, and it speaks of all that follows",
        );
    }
    program
        .contains('=')
        .then_some("variables are no part of a command; begin with the program")
}

/// Whether a word is what a shell puts between commands, or a redirection.
fn is_operator(word: &str) -> bool {
    let is_sign = |c: char| ";|&<>".contains(c);
    word.ends_with(';')
        || (word.contains(is_sign) && word.chars().all(|c| is_sign(c) || c.is_ascii_digit()))
}

fn of_server(name: &str, server: &McpServer) -> Option<VoidKey> {
    let at = |key: &[&str]| path(&[&["mcp", "servers", name], key].concat());
    let void = |key: &[&str], why: &str| {
        let (path, why) = (at(key), why.to_owned());
        Some(VoidKey { path, why })
    };
    let of_network = [
        ("headers", !server.headers.is_empty()),
        ("headers_env", !server.headers_env.is_empty()),
        ("bearer_token_env", server.bearer_token_env.is_some()),
        ("oauth_client_id", server.oauth_client_id.is_some()),
    ];
    let of_program = [
        ("args", !server.args.is_empty()),
        ("cwd", server.cwd.is_some()),
        ("env", !server.env.is_empty()),
        ("env_vars", !server.env_vars.is_empty()),
        ("pid_namespace", server.pid_namespace.is_some()),
    ];
    let first = |keys: &[(&'static str, bool)]| keys.iter().find(|(_, is_set)| *is_set).copied();
    match (&server.command, &server.url) {
        (Some(_), Some(_)) => void(
            &["url"],
            "connects to nothing: the server is a program, its `command`; take one of the two out",
        ),
        (None, None) if server.is_switch() => None,
        (None, None) => void(
            &[],
            "is no server: it has neither a `command` nor a `url`; give it one, or take it out",
        ),
        (Some(_), None) => first(&of_network).and_then(|(key, _)| {
            void(&[key], "is sent nowhere: the server is a program, which gets what it needs by `env` and `env_vars`; take it out")
        }),
        (None, Some(url)) => {
            let is_web = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            if !is_web {
                return void(&["url"], "is no address of a server: it has to begin with https:// or http://");
            }
            if server.oauth_client_id.is_some() && server.bearer_token_env.is_some() {
                return void(&["oauth_client_id"], "counts for nothing: nobody logs in to a server that has its token from `bearer_token_env`; take one of the two out");
            }
            first(&of_program).and_then(|(key, _)| {
                void(&[key], "counts for nothing: the server is on the network, which starts no program; take it out")
            })
        }
    }
}

fn path(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn of_tool(settings: &Settings, name: &str, tool: &ToolSettings) -> Vec<VoidKey> {
    let at = |key: &str| path(&["conversation", "tools", name, key]);
    let mut void: Vec<VoidKey> = of_definition(name, tool)
        .into_iter()
        .map(|(key, why)| VoidKey { path: at(key), why })
        .collect();
    for (id, question) in &tool.questions {
        if let Some(Target::Assistant(assistant)) = &question.target {
            let target = [at("questions"), path(&[id, "target"])].concat();
            void.extend(of_inquiry_assistant(settings, &target, assistant));
        }
    }
    void
}

/// The key and the reason why a definition makes no tool.
fn of_definition(name: &str, tool: &ToolSettings) -> Option<(&'static str, String)> {
    let has_program = tool
        .command
        .as_ref()
        .is_some_and(|command| command.iter().any(|word| !word.is_empty()));
    let defining = [
        ("command", tool.command.is_some()),
        ("parameters", tool.parameters.is_some()),
        ("options", tool.options.is_some()),
    ];
    let first = defining.iter().find(|(_, is_set)| *is_set);
    match tool.source {
        Some(ToolSource::Local) if !has_program => Some((
            "source",
            format!(
                "makes no tool: it names no program; set conversation.tools.{name}.command to a list of the program \
                 and its arguments"
            ),
        )),
        Some(ToolSource::Local) => {
            let why = not_a_schema(tool.parameters.as_ref()?)?;
            Some((
                "parameters",
                format!("is no JSON schema of an object: {why}; correct it"),
            ))
        }
        Some(ToolSource::Mcp) => Some((
            "source",
            "makes no tool: tools of MCP servers come with their server, `[mcp.servers.<name>]`; take it out".to_owned(),
        )),
        Some(ToolSource::Builtin) => first.map(|(key, _)| {
            (
                *key,
                format!("changes nothing: `{name}` is part of Aside; give the tool another name"),
            )
        }),
        None => first.map(|(key, _)| {
            (
                *key,
                "makes no tool: add `source = \"local\"` beside it, or take it out".to_owned(),
            )
        }),
    }
}

/// Reason why arguments cannot be checked against a schema.
fn not_a_schema(parameters: &Map<String, Value>) -> Option<String> {
    if parameters.get("type").and_then(Value::as_str) != Some("object") {
        return Some("its `type` is not \"object\"".to_owned());
    }
    let schema = Value::Object(parameters.clone());
    let error = jsonschema::validator_for(&schema).err()?;
    Some(short_line(&error.to_string(), 200))
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
        StrategyRule::Auto | StrategyRule::Structured => None,
        StrategyRule::InBand => Some("in_band"),
        StrategyRule::ForcedTool => Some("forced_tool"),
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
    use crate::{Configuration, SourceFile, Sources, load};

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
    fn nothing_is_wrong_with_nothing() {
        check("", &[]);
    }

    #[test]
    fn what_makes_no_server_is_an_error() {
        let server = |keys: &str| format!("[mcp.servers.db]\n{keys}\n");
        check(&server("command = 'db'\nargs = ['x']"), &[]);
        check(
            &server("url = 'https://example.com/mcp'\nbearer_token_env = 'T'"),
            &[],
        );
        check(&server("args = ['x']"), &["`mcp.servers.db` is no server"]);
        check(&server("enabled = false"), &[]);
        check(
            &server("command = 'db'\nurl = 'https://example.com'"),
            &["`mcp.servers.db.url` connects to nothing"],
        );
        for url in ["example.com", "ftp://example.com", "https://"] {
            let no_address = ["`mcp.servers.db.url` is no address of a server"];
            check(&server(&format!("url = '{url}'")), &no_address);
        }
        check(
            &server("url = 'https://example.com'\nenv.A = 'b'"),
            &["`mcp.servers.db.env` counts for nothing"],
        );
        check(
            &server("url = 'https://example.com'\noauth_client_id = 'a'"),
            &[],
        );
        check(
            &server("url = 'https://example.com'\noauth_client_id = 'a'\nbearer_token_env = 'T'"),
            &["`mcp.servers.db.oauth_client_id` counts for nothing"],
        );
        check(
            &server("url = 'https://example.com'\ncwd = 'a'"),
            &["`mcp.servers.db.cwd` counts for nothing"],
        );
        check(
            &server("command = 'db'\nheaders.A = 'b'"),
            &["`mcp.servers.db.headers` is sent nowhere"],
        );
    }

    #[test]
    fn a_rule_that_can_speak_of_no_command_is_an_error() {
        for rule in [
            "",
            " ",
            "curl *",
            "*",
            "npm run test:*",
            "curl && x",
            "curl; x",
            "x 2>&1",
            "x | y",
            "git commit -m \"x\"",
            "echo $HOME",
            "A=b curl",
        ] {
            let rules = toml::Value::from(vec!["curl", rule]);
            let void = user(&format!("[commands]\ndeny = {rules}\n")).void();
            let [only] = void.as_slice() else {
                panic!("{rule}: {void:?}");
            };
            let named = format!(
                "`commands.deny` has the rule \"{}\", which speaks of no command: ",
                rule.trim()
            );
            assert!(only.what().starts_with(&named), "{only:?}");
        }
        for rule in [
            "curl",
            "cargo  test",
            "git push --force",
            "find . -name *.rs",
            "/usr/bin/curl",
            "npm run build:all",
            "[ -f x ]",
            "curl https://example.com/?a=b&c=d",
            "env A=b curl",
        ] {
            let rules = toml::Value::from(vec![rule]);
            for key in ["allow", "ask", "deny", "unsandboxed"] {
                check(&format!("[commands]\n{key} = {rules}\n"), &[]);
            }
        }
    }

    #[test]
    fn what_makes_no_tool_is_an_error() {
        let tool = |keys: &str| format!("[conversation.tools.mine]\n{keys}\n");
        let local = |keys: &str| tool(&format!("source = 'local'\ncommand = ['mine']\n{keys}"));
        check(&local(""), &[]);
        check(&local("parameters = { type = 'object' }"), &[]);
        check(&local("options = { deep = { a = 1 } }"), &[]);
        let no_schema = ["`conversation.tools.mine.parameters` is no JSON schema of an object"];
        check(&local("parameters = { }"), &no_schema);
        check(&local("parameters = { type = 'array' }"), &no_schema);
        check(
            &local("parameters = { type = 'object', properties = 3 }"),
            &no_schema,
        );
        let no_program = ["`conversation.tools.mine.source` makes no tool"];
        check(&tool("source = 'local'"), &no_program);
        check(&tool("source = 'local'\ncommand = ['']"), &no_program);
        check(&tool("source = 'mcp'"), &no_program);
        check(
            &tool("parameters = { type = 'object' }"),
            &["`conversation.tools.mine.parameters` makes no tool"],
        );
        check(
            &tool("source = 'builtin'\ncommand = ['x']"),
            &["`conversation.tools.mine.command` changes nothing"],
        );
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

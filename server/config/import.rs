//! MCP servers of other programs' files, as tables of `aside.toml`. Pure: nothing is read, and nothing is started.
//!
//! Known are `mcpServers` of JSON (Claude Code, Gemini CLI, Cursor and others), `servers` of VS Code's `mcp.json`, and
//! `[mcp_servers.NAME]` of Codex. What Aside would do in another way than its owner meant is refused, server by server.

use aside_base::{environment::looks_secret, visible::short_line};
use serde_json::{Map, Value};
use toml::Table;

use super::{known::secret_variables, names::is_name};

/// Keys that change nothing here and are left out without a word.
const EMPTY: [&str; 3] = ["type", "name", "description"];

/// Seconds that a call may take at most, as far as files of others say: a day.
const LONGEST: f64 = 86400.0;

/// Servers of another program's file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedServers {
    /// Each as a table under `mcp.servers`, in the order of their names.
    pub servers: Vec<ImportedServer>,
    /// Entries that cannot be imported, each with the reason.
    pub refused: Vec<String>,
}

/// A server that can be taken.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedServer {
    /// The key of its table, which is what its tools begin with.
    pub name: String,
    /// The table `mcp.servers.NAME`.
    pub table: Table,
    /// Remarks for the user, a sentence each.
    pub warnings: Vec<String>,
    /// Variables with keys of model providers whose values it would get, each with where they would go.
    pub model_keys: Vec<(String, String)>,
}

/// Reads the text of a file.
///
/// # Errors
/// A sentence where there is no server in it, or it cannot be read.
pub fn import(text: &str) -> Result<ImportedServers, String> {
    let file = read(text)?;
    let key = ["mcpServers", "servers", "mcp_servers"]
        .into_iter()
        .find(|key| file[*key].is_object());
    let Some(servers) = key.and_then(|key| file[key].as_object()) else {
        return Err(
            "it has no `mcpServers`, no `servers` and no `[mcp_servers.NAME]`; name a file that has".to_owned(),
        );
    };
    let mut imported = ImportedServers::default();
    for (name, entry) in servers {
        let refused = |why: &str| format!("{} is left out: {why}.", short_line(name, 64));
        match server(name, entry) {
            Ok(server) => imported.servers.push(server),
            Err(why) => imported.refused.push(refused(&why)),
        }
    }
    imported.servers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(imported)
}

fn read(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with('{') {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            format!(
                "it is neither JSON nor TOML: {}",
                short_line(error.message(), 200)
            )
        })?;
        return serde_json::to_value(table).map_err(|error| error.to_string());
    }
    serde_json::from_str(text)
        .map_err(|error| format!("it is no JSON ({error}); take comments out, if it has some"))
}

fn server(name: &str, entry: &Value) -> Result<ImportedServer, String> {
    if !is_name(name) {
        return Err(
            "its name has other characters than letters, digits, `_` and `-`, or more than 64"
                .to_owned(),
        );
    }
    let entry = entry.as_object().ok_or("it is no table")?;
    let mut made = ServerImport::default();
    if let Some(kind) = entry.get("type").and_then(Value::as_str)
        && !matches!(
            kind,
            "stdio" | "http" | "streamable-http" | "streamableHttp"
        )
    {
        return Err(format!(
            "its type is `{}`, and Aside speaks over pipes and streamable HTTP alone",
            short_line(kind, 40)
        ));
    }
    // A program, and something on the network besides, is a contradiction of its own.
    for (key, value) in entry {
        made.take(key, value)?;
    }
    let (has_program, has_url) = (
        made.table.contains_key("command"),
        made.table.contains_key("url"),
    );
    if has_program == has_url {
        return Err("it has not one of a `command` and a `url`".to_owned());
    }
    if has_url && !entry.contains_key("type") && !entry.contains_key("httpUrl") {
        made.warn("does not say how its `url` is spoken with: it is taken for streamable HTTP");
    }
    let table = made.in_order();
    Ok(ImportedServer {
        name: name.to_owned(),
        model_keys: model_keys(&table),
        table,
        warnings: made.warnings,
    })
}

/// The variables of a server with keys of model providers, each with the host or the program that would get its value.
fn model_keys(table: &Table) -> Vec<(String, String)> {
    let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
    let to = match (text("url"), text("command")) {
        (Some(url), _) => url,
        (None, Some(command)) => command,
        (None, None) => "",
    };
    let of_headers = table.get("headers_env").and_then(toml::Value::as_table);
    let of_headers = of_headers.into_iter().flat_map(|all| all.values());
    let named = table.get("env_vars").and_then(toml::Value::as_array);
    let all = of_headers
        .chain(named.into_iter().flatten())
        .filter_map(toml::Value::as_str)
        .chain(text("bearer_token_env"));
    let of_models = all.filter(|name| secret_variables().any(|known| known == *name));
    of_models
        .map(|name| (name.to_owned(), to.to_owned()))
        .collect()
}

/// A server that is being taken over.
#[derive(Default)]
struct ServerImport {
    table: Table,
    env_vars: Vec<String>,
    warnings: Vec<String>,
}

impl ServerImport {
    fn take(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            _ if EMPTY.contains(&key) || value.is_null() => {}
            "command" => self.text("command", value)?,
            "url" | "httpUrl" => self.text("url", value)?,
            "args" => self.texts("args", value)?,
            "env" => self.env(value)?,
            "env_vars" => {
                let names = list(value).ok_or("its `env_vars` are no names")?;
                self.env_vars.extend(names);
            }
            "headers" | "http_headers" => self.headers(value)?,
            "env_http_headers" => {
                for (name, variable) in object(value)? {
                    let variable = variable.as_str().ok_or("a header of it names no variable")?;
                    self.in_table("headers_env", name, variable);
                }
            }
            "bearer_token_env_var" => self.text("bearer_token_env", value)?,
            "enabled" => self.flag(value, true),
            "disabled" => self.flag(value, false),
            "startup_timeout_sec" => self.seconds("startup_seconds", value, 1.0, 600.0),
            "tool_timeout_sec" => self.seconds("tool_seconds", value, 1.0, LONGEST),
            "timeout" => self.seconds("tool_seconds", value, 0.001, LONGEST),
            "oauth" => self.oauth(value)?,
            "enabled_tools" | "includeTools" => self.texts("include_tools", value)?,
            "disabled_tools" | "excludeTools" => self.texts("exclude_tools", value)?,
            "envFile" => return Err("its `envFile` would be read, which Aside does not do; name its variables in `env_vars`".to_owned()),
            "cwd" if value == "." || value == "${workspaceFolder}" => {
                self.table.insert("cwd".to_owned(), ".".into());
            }
            "cwd" => self.text("cwd", value)?,
            other => self.warn(&format!("has `{}`, which Aside does not have; it is left out", short_line(other, 40))),
        }
        Ok(())
    }

    fn warn(&mut self, what: &str) {
        self.warnings.push(what.to_owned());
    }

    fn text(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let text = value
            .as_str()
            .ok_or_else(|| format!("its `{key}` is no text"))?;
        self.table.insert(key.to_owned(), plain(key, text)?.into());
        Ok(())
    }

    fn texts(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let texts = list(value).ok_or_else(|| format!("its `{key}` are no texts"))?;
        let texts: Result<Vec<String>, String> =
            texts.iter().map(|text| plain(key, text)).collect();
        self.table.insert(key.to_owned(), texts?.into());
        Ok(())
    }

    fn flag(&mut self, value: &Value, means: bool) {
        if value.as_bool().is_some_and(|value| value != means) {
            self.table.insert("enabled".to_owned(), false.into());
        }
    }

    /// A time as whole seconds, of something that counts in units of so many seconds.
    fn seconds(&mut self, key: &str, value: &Value, unit: f64, most: f64) {
        let seconds = value.as_f64().map(|it| (it * unit).ceil().clamp(1.0, most));
        if let Some(seconds) = seconds {
            self.table.insert(key.to_owned(), (seconds as i64).into());
        }
    }

    /// Reads the client id for the login. The other members say how a program logs in, which Aside does in its own way.
    fn oauth(&mut self, value: &Value) -> Result<(), String> {
        for (key, value) in object(value)? {
            match key.as_str() {
                "clientId" | "client_id" => self.text("oauth_client_id", value)?,
                other => self.warn(&format!(
                    "has `oauth.{}`, which Aside does not have; it is left out",
                    short_line(other, 40)
                )),
            }
        }
        Ok(())
    }

    fn env(&mut self, value: &Value) -> Result<(), String> {
        for (name, value) in object(value)? {
            let text = scalar(value).ok_or("a variable of its `env` is no text")?;
            match variable(&text) {
                Some(variable) if variable == *name => self.env_vars.push(name.clone()),
                Some(variable) => {
                    return Err(format!(
                        "its `env.{name}` is that of {variable}, and Aside passes variables on by their own names"
                    ));
                }
                None => {
                    let text = plain("env", &text)?;
                    if looks_secret(name) {
                        self.warn(&format!("has what may be a key in `env.{name}`, which now stands in two files; name it in `env_vars` instead"));
                    }
                    self.in_table("env", name, &text);
                }
            }
        }
        Ok(())
    }

    fn headers(&mut self, value: &Value) -> Result<(), String> {
        for (name, value) in object(value)? {
            let text = value.as_str().ok_or("a header of it is no text")?;
            let bearer = text.strip_prefix("Bearer ").and_then(variable);
            if let (true, Some(variable)) = (name.eq_ignore_ascii_case("authorization"), bearer) {
                self.table
                    .insert("bearer_token_env".to_owned(), variable.into());
            } else if let Some(variable) = variable(text) {
                self.in_table("headers_env", name, &variable);
            } else {
                let text = plain("headers", text)?;
                if looks_secret(&name.to_ascii_uppercase()) {
                    self.warn(&format!("has what may be a key in `headers.{name}`, which now stands in two files; name its variable in `headers_env` instead"));
                }
                self.in_table("headers", name, &text);
            }
        }
        Ok(())
    }

    fn in_table(&mut self, table: &str, name: &str, value: &str) {
        let table = self
            .table
            .entry(table)
            .or_insert_with(|| Table::new().into());
        if let Some(table) = table.as_table_mut() {
            table.insert(name.to_owned(), value.into());
        }
    }

    /// Tables last, as TOML wants them.
    fn in_order(&mut self) -> Table {
        let mut table = std::mem::take(&mut self.table);
        if !self.env_vars.is_empty() {
            table.insert(
                "env_vars".to_owned(),
                std::mem::take(&mut self.env_vars).into(),
            );
        }
        table
    }
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| "its `env`, `headers` or `oauth` are no table".to_owned())
}

fn list(value: &Value) -> Option<Vec<String>> {
    let texts = value.as_array()?.iter();
    texts.map(|it| it.as_str().map(ToOwned::to_owned)).collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The variable that a text is the value of, and nothing besides: `${NAME}`, `${env:NAME}` or `$NAME`.
fn variable(text: &str) -> Option<String> {
    let name = match text
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some(name) => name.strip_prefix("env:").unwrap_or(name),
        None => text.strip_prefix('$')?,
    };
    let is_named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_named.then(|| name.to_owned())
}

/// A text in which nothing would be replaced.
fn plain(key: &str, text: &str) -> Result<String, String> {
    if text.contains("${") {
        return Err(format!(
            "its `{key}` has something to be replaced, `{}`, which Aside does not do",
            short_line(text, 80)
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of a file, with what is said of them.
    fn shown(text: &str) -> String {
        let imported = import(text).unwrap();
        let mut shown = String::new();
        for server in imported.servers {
            shown += &format!(
                "[{}]\n{}",
                server.name,
                toml::to_string(&server.table).unwrap()
            );
            for warning in server.warnings {
                shown += &format!("# {warning}\n");
            }
        }
        for why in imported.refused {
            shown += &format!("! {why}\n");
        }
        shown
    }

    #[test]
    fn servers_of_claude_code_keep_their_keys_in_the_environment() {
        let file = r#"{"mcpServers": {
            "db": {"command": "npx", "args": ["-y", "db"], "env": {"DB_KEY": "${DB_KEY}", "MODE": "fast", "A_TOKEN": "t0p"}},
            "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${WEB_TOKEN}", "X-Key": "${OTHER}"}}
        }}"#;
        assert_eq!(
            shown(file),
            "[db]\nargs = [\"-y\", \"db\"]\ncommand = \"npx\"\nenv_vars = [\"DB_KEY\"]\n\n[env]\nA_TOKEN = \"t0p\"\nMODE = \"fast\"\n\
             # has what may be a key in `env.A_TOKEN`, which now stands in two files; name it in `env_vars` instead\n\
             [web]\nbearer_token_env = \"WEB_TOKEN\"\nurl = \"https://example.com/mcp\"\n\n[headers_env]\nX-Key = \"OTHER\"\n"
        );
    }

    #[test]
    fn what_aside_would_do_in_another_way_is_refused() {
        for (entry, why) in [
            (
                r#"{"type": "sse", "url": "https://x"}"#,
                "its type is `sse`",
            ),
            (
                r#"{"command": "a", "args": ["${workspaceFolder}/x"]}"#,
                "its `args` has something to be replaced",
            ),
            (
                r#"{"command": "a", "env": {"A": "${input:key}"}}"#,
                "its `env` has something to be replaced",
            ),
            (
                r#"{"command": "a", "env": {"A": "${B}"}}"#,
                "its `env.A` is that of B",
            ),
            (
                r#"{"command": "a", "env": {"A": "${A:-b}"}}"#,
                "its `env` has something to be replaced",
            ),
            (
                r#"{"command": "a", "envFile": ".env"}"#,
                "its `envFile` would be read",
            ),
            (
                r#"{"command": "a", "url": "https://x"}"#,
                "it has not one of",
            ),
            (r#"{}"#, "it has not one of"),
            ("7", "it is no table"),
        ] {
            let said = shown(&format!(r#"{{"servers": {{"s": {entry}}}}}"#));
            assert!(
                said.starts_with(&format!("! s is left out: {why}")),
                "{said}"
            );
        }
        let named = shown(r#"{"mcpServers": {"a b": {"command": "a"}}}"#);
        assert!(named.contains("its name has other characters"), "{named}");
        assert!(import("{}").is_err() && import("a = 1").is_err() && import("]").is_err());
    }

    #[test]
    fn times_and_registrations_are_taken_in_their_own_units() {
        let file = r#"{"mcpServers": {"s": {"type": "http", "url": "https://s", "timeout": 90500,
            "oauth": {"clientId": "aside", "callbackPort": 8080}}}}"#;
        assert_eq!(
            shown(file),
            "[s]\noauth_client_id = \"aside\"\ntool_seconds = 91\nurl = \"https://s\"\n\
             # has `oauth.callbackPort`, which Aside does not have; it is left out\n"
        );
    }

    #[test]
    fn servers_of_codex_and_gemini_are_taken() {
        let codex = "[mcp_servers.a]\ncommand = 'a'\nenv_vars = ['X']\nstartup_timeout_sec = 2.5\nenabled = false\n\
                     enabled_tools = ['t']\ntool_timeout_sec = 9\ncwd = '/srv/a'\n\
                     [mcp_servers.b]\nurl = 'https://b'\nbearer_token_env_var = 'B'\nhttp_headers = { X-A = 'b' }\n";
        assert_eq!(
            shown(codex),
            "[a]\ncommand = \"a\"\ncwd = \"/srv/a\"\nenabled = false\nenv_vars = [\"X\"]\ninclude_tools = [\"t\"]\nstartup_seconds = 3\n\
             tool_seconds = 9\n\
             [b]\nbearer_token_env = \"B\"\nurl = \"https://b\"\n\n[headers]\nX-A = \"b\"\n\
             # does not say how its `url` is spoken with: it is taken for streamable HTTP\n"
        );
        let gemini = r#"{"mcpServers": {"g": {"httpUrl": "https://g", "excludeTools": ["x"], "trust": true}}}"#;
        assert_eq!(
            shown(gemini),
            "[g]\nexclude_tools = [\"x\"]\nurl = \"https://g\"\n# has `trust`, which Aside does not have; it is left out\n"
        );
    }
}

//! Configured MCP servers.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use aside_config::{
    Configuration,
    hidden::is_variable,
    settings::{McpServer, ProtocolSetting, Settings},
    trust::TrustStore,
    workspace::DefinitionKind,
};
use aside_mcp::{
    ServerLease, ServerTools, begin_login,
    login::{self, BegunLogin},
    settings::{
        HideSecrets, McpDefinition, OfferedNames, ProtocolChoice, ServerAddress, ServerGround,
        ServerHeader, ServerPlace, ServerProgram,
    },
};
use aside_provider::{key::Key, this_computer::is_this_computer};
use aside_tool::sandbox::Walls;
use http::{HeaderName, header::AUTHORIZATION};
use url::Url;

use super::{
    costs::{self, ServerCost},
    watched,
};
use crate::engine::{Engine, models::Models};

/// Default time limit in seconds until a server's tools are known.
const STARTUP_SECONDS: u64 = 30;

/// Folder of logins in the state directory.
const LOGIN_FOLDER: &str = "mcp-logins";

impl Engine {
    /// Starts a login to a remote server.
    ///
    /// # Errors
    /// A sentence with the reason why no login is possible.
    pub async fn begin_login(&self, settings: &Settings, name: &str) -> Result<BegunLogin, String> {
        let (address, hide) = self.server_address(settings, name).await?;
        let begun = begin_login(&address, &hide).await;
        begun.map_err(|why| format!("cannot log in to the MCP server {name}: {why}"))
    }

    /// Deletes the login to a server. Returns whether there was one.
    ///
    /// # Errors
    /// A sentence with the reason why it could not be deleted.
    pub async fn forget_login(&self, settings: &Settings, name: &str) -> Result<bool, String> {
        let (address, _) = self.server_address(settings, name).await?;
        login::forget(&address)
            .map_err(|error| format!("cannot log out of the MCP server {name}: {error}"))
    }

    async fn server_address(
        &self,
        settings: &Settings,
        name: &str,
    ) -> Result<(ServerAddress, HideSecrets), String> {
        let server = settings.mcp.servers.get(name).ok_or_else(|| {
            format!("there is no MCP server {name}; `aside mcp list` lists all servers")
        })?;
        let definition = definition(name, server, &self.models(settings), None).await?;
        match definition.place {
            ServerPlace::Network(address) if address.logins.is_some() => {
                Ok((address, definition.hide))
            }
            ServerPlace::Network(_) => Err(format!(
                "the MCP server {name} has a key in its headers; remove it from your aside.toml to log in"
            )),
            ServerPlace::Program(_) => Err(format!(
                "the MCP server {name} is a local program, which has no login; put its keys into `env` or `env_vars`"
            )),
        }
    }

    /// Returns the tools of all configured servers, and starts servers that do not run yet. For trusted workspaces
    /// only. `lease` holds the servers; `None` for the lease of the workspace.
    pub async fn server_tools(
        &self,
        configuration: &Configuration,
        root: &Path,
        lease: Option<&ServerLease>,
    ) -> Vec<ServerTools> {
        let settings = &configuration.settings;
        let models = self.models(settings);
        let (mut definitions, mut broken) = (Vec::new(), Vec::new());
        for (name, server) in &settings.mcp.servers {
            if !server.is_on() {
                continue;
            }
            let starts = Starts {
                root,
                is_workspaces: configuration
                    .definitions
                    .iter()
                    .any(|it| it.kind == DefinitionKind::McpServer && it.name == *name),
                store: TrustStore::new(self.state_dir()),
            };
            match definition(name, server, &models, Some(starts)).await {
                Ok(definition) => definitions.push(definition),
                Err(why) => broken.push(ServerTools {
                    name: name.clone(),
                    tools: Err(why),
                    log: String::new(),
                }),
            }
        }
        let ground = ServerGround {
            root: root.to_owned(),
            state: self.state_dir().to_owned(),
            holder: self.program().to_owned(),
            walls: self.server_walls(settings, root, &definitions).await,
        };
        let mut offered = self.mcp().tools(definitions, &ground, lease).await;
        let known = offered.iter().filter_map(|server| {
            let (tools, _) = server.tools.as_ref().ok()?;
            Some((server.name.clone(), ServerCost::of(tools)))
        });
        costs::keep(self.state_dir(), known);
        offered.extend(broken);
        offered.sort_by(|a, b| a.name.cmp(&b.name));
        offered
    }
}

impl Engine {
    /// The sandbox that provides PID namespaces, if any server needs it and it works here.
    async fn server_walls(
        &self,
        settings: &Settings,
        root: &Path,
        definitions: &[McpDefinition],
    ) -> Option<Walls> {
        let is_kept =
            |it: &McpDefinition| matches!(&it.place, ServerPlace::Program(it) if it.pid_namespace);
        if !definitions.iter().any(is_kept) {
            return None;
        }
        // Invalid settings of the sandbox are reported by every turn.
        let rules = self.sandbox_rules(settings, settings.unsandboxed).ok()?;
        self.try_namespace(&rules, root).await.ok()
    }
}

/// The surroundings in which a server is started.
struct Starts<'a> {
    /// The workspace.
    root: &'a Path,
    /// Whether the workspace defines the server: trust covers what it names there.
    is_workspaces: bool,
    store: TrustStore,
}

async fn definition(
    name: &str,
    server: &McpServer,
    models: &Models,
    starts: Option<Starts<'_>>,
) -> Result<McpDefinition, String> {
    let mut secrets = Vec::new();
    let place = match (&server.command, &server.url) {
        (Some(command), _) => {
            let mut program = program(command, server, models, &mut secrets);
            if let Some(starts) = starts {
                starts.settle(name, server, &mut program);
            }
            ServerPlace::Program(program)
        }
        (None, Some(url)) => {
            let url = Url::parse(url).map_err(|error| format!("its `url` is invalid: {error}"))?;
            ServerPlace::Network(ServerAddress {
                headers: headers(server, models, &mut secrets)?,
                client: models.http_client(&url).await?,
                logins: has_no_key(server).then(|| models.state_dir().join(LOGIN_FOLDER)),
                client_id: server.oauth_client_id.clone(),
                url,
            })
        }
        (None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
    };
    Ok(McpDefinition {
        name: name.to_owned(),
        place,
        protocol: match server.protocol {
            None | Some(ProtocolSetting::Auto) => ProtocolChoice::Auto,
            Some(ProtocolSetting::Older) => ProtocolChoice::Older,
            Some(ProtocolSetting::Newer) => ProtocolChoice::Newer,
        },
        startup: Duration::from_secs(server.startup_seconds.unwrap_or(STARTUP_SECONDS)),
        call: server.tool_seconds.map(Duration::from_secs),
        offered: OfferedNames {
            only: server.include_tools.clone(),
            but: server.exclude_tools.clone(),
        },
        hide: HideSecrets::new(move |text| {
            let hide = |text: String, secret: &Key| secret.hide(&text);
            secrets.iter().fold(text.to_owned(), hide)
        }),
    })
}

fn program(
    command: &str,
    server: &McpServer,
    models: &Models,
    secrets: &mut Vec<Key>,
) -> ServerProgram {
    let env = models.env();
    let named = server.env_vars.iter();
    let named = named.filter_map(|name| Some((name.clone(), env(name)?)));
    let own = server.env.iter();
    let own = own.map(|(name, value)| (name.clone(), value.reveal().to_owned()));
    let environment: Vec<(String, String)> = named.chain(own).collect();
    let secret = environment
        .iter()
        .filter(|(name, _)| aside_base::environment::looks_secret(name));
    let secret = secret.filter(|(_, value)| !is_word(value));
    secrets.extend(secret.map(|(_, value)| Key::new(value)));
    ServerProgram {
        command: command.to_owned(),
        args: server.args.clone(),
        cwd: server.cwd.as_ref().map(PathBuf::from),
        environment,
        pid_namespace: server.pid_namespace.unwrap_or(true),
        check: None,
    }
}

impl Starts<'_> {
    /// Makes the words of a workspace's server whole paths, as it starts elsewhere, and looks at what a server starts from.
    fn settle(self, name: &str, server: &McpServer, program: &mut ServerProgram) {
        if self.is_workspaces {
            let whole = |word: &mut String| {
                let path = self.root.join(&*word);
                if !word.is_empty() && path.exists() {
                    *word = path.to_string_lossy().into_owned();
                }
            };
            program.args.iter_mut().for_each(whole);
            if program.command.contains('/') {
                whole(&mut program.command);
            }
        }
        if server.may_change != Some(true) {
            let extent = match self.is_workspaces {
                true => watched::WatchedExtent::Named,
                false => watched::WatchedExtent::WithFolders,
            };
            program.check = watched::check(name, program, self.root, self.store, extent);
            if program.check.is_some() {
                // What Python would write beside its modules would be a change of its own.
                let name = "PYTHONDONTWRITEBYTECODE";
                program.environment.push((name.to_owned(), "1".to_owned()));
            }
        }
    }
}

/// Whether no header carries a key, so that a login is possible.
fn has_no_key(server: &McpServer) -> bool {
    let mut names = server.headers.keys().chain(server.headers_env.keys());
    server.bearer_token_env.is_none()
        && !names.any(|name| name.eq_ignore_ascii_case("authorization"))
}

fn headers(
    server: &McpServer,
    models: &Models,
    secrets: &mut Vec<Key>,
) -> Result<Vec<ServerHeader>, String> {
    let of_environment = |variable: &String| {
        let value = (models.env())(variable).filter(|value| !value.trim().is_empty());
        value.ok_or_else(|| match is_variable(variable) {
            true => format!("{variable}, which should hold its key, is not set; set it, or remove it from your aside.toml"),
            // The text may be a key, so it is not repeated.
            false => "what should name the variable with its key is no name of one; put the key into a variable, and the variable's name into your aside.toml".to_owned(),
        })
    };
    let mut all = Vec::new();
    for (name, value) in &server.headers {
        all.push((name.as_str(), "", value.reveal().to_owned(), None));
    }
    for (name, variable) in &server.headers_env {
        all.push((name, "", of_environment(variable)?, Some(variable.clone())));
    }
    if let Some(variable) = &server.bearer_token_env {
        let name = AUTHORIZATION.as_str();
        let value = of_environment(variable)?;
        all.push((name, "Bearer ", value, Some(variable.clone())));
    }
    let headers = all.into_iter().map(|(name, before, value, variable)| {
        let broken = || match &variable {
            Some(variable) => format!("the value of {variable} is not valid in a header; correct it"),
            None => format!(
                "`headers.{name:?}` is not a valid header; correct its name or its value in your aside.toml"
            ),
        };
        let secret = Key::new(&value);
        let header = ServerHeader {
            name: name.trim().parse::<HeaderName>().map_err(|_| broken())?,
            value: secret.header(before).ok_or_else(broken)?,
            variable: variable.clone(),
        };
        if variable.is_some() || !is_word(&value) {
            secrets.push(secret);
        }
        Ok(header)
    });
    headers.collect()
}

/// Whether a value is an ordinary word, which a text may contain for other reasons than a leaked secret.
fn is_word(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || matches!(c, '-' | '_' | '.' | ' ');
    value.chars().all(plain)
}

/// Warnings for the user about servers whose keys are sent unencrypted over a network.
pub(super) fn exposed(settings: &Settings) -> impl Iterator<Item = String> {
    let servers = settings.mcp.servers.iter();
    servers.filter_map(|(name, server)| {
        let url = Url::parse(server.url.as_deref()?).ok()?;
        let is_read = url.scheme() == "http" && !is_this_computer(&url);
        let has_key = server.bearer_token_env.is_some()
            || !server.headers.is_empty()
            || !server.headers_env.is_empty();
        let host = url.host_str().unwrap_or_default();
        (is_read && has_key).then(|| {
            format!(
                "The headers for the MCP server {name} are sent to {host} over plain http, where anybody on the way can read \
                 them; change its url to https, or remove them."
            )
        })
    })
}

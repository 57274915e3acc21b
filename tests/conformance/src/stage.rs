//! A place for one case: a workspace, a home and a state folder that nobody else uses.

use std::{
    cell::Cell,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use aside_test_client::{Server, framing::Frames, server};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use crate::{
    Failure, Step, check,
    client::{Client, Knows},
    ledger::{Breaches, Ledger},
    script::Script,
};

/// What all cases of a run share.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The server and its arguments; at least the program.
    pub server: Vec<String>,
    /// The deadline of each wait.
    pub timeout: Duration,
    /// For what comes in a random order.
    pub seed: u64,
    /// How messages are told apart: over the Agent Client Protocol they are lines.
    pub frames: Frames,
    /// Whether a server may not write to its standard error.
    pub silent: bool,
    /// What the ledgers saw.
    pub breaches: Breaches,
}

/// A place for one case.
#[derive(Debug)]
pub struct Stage {
    case: &'static str,
    setting: Arc<Setting>,
    folder: TempDir,
    /// The standard error of all servers of the case.
    stderr: File,
    /// Whether a server may write to its standard error all the same, since the case gives it a reason.
    may_complain: Cell<bool>,
}

impl Stage {
    /// Lays out the folders.
    pub fn new(case: &'static str, setting: Arc<Setting>) -> Step<Self> {
        let folder = tempfile::Builder::new()
            .prefix("aside-conformance-")
            .tempdir()?;
        for name in ["workspace", "home", "state", "config", "cache"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let stderr = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(folder.path().join("stderr"))?;
        Ok(Self {
            case,
            setting,
            folder,
            stderr,
            may_complain: Cell::new(false),
        })
    }

    /// The root of the workspace that the case is played in.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// The URI of a file of the workspace; of its root where the name is empty.
    pub fn uri(&self, file: &str) -> String {
        let path = match file {
            "" => self.workspace(),
            file => self.workspace().join(file),
        };
        let uri = Url::from_file_path(path).expect("temporary folders are absolute");
        uri.into()
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.setting.seed
    }

    /// Writes the script that the rehearsal model plays.
    pub fn script(&self, script: &Script) -> Step {
        // A client without the protocol cannot name the model: its settings are the workspace's.
        let settings = self.folder.path().join("config/aside");
        fs::create_dir_all(&settings)?;
        let model = format!("assistant.model = {:?}\n", self.model());
        fs::write(settings.join("aside.toml"), model)?;
        Ok(fs::write(self.script_path(), script.toml()?)?)
    }

    fn model(&self) -> String {
        format!("rehearsal/{}", self.script_path().display())
    }

    /// Starts a server that plays this script, and shakes hands with it.
    pub fn with(&self, script: &Script) -> Step<Client> {
        self.script(script)?;
        self.again()
    }

    /// Starts another server in the same place, and shakes hands with it.
    pub fn again(&self) -> Step<Client> {
        self.session(Knows::Aside)
    }

    /// The same, as a client of this kind.
    pub fn session(&self, knows: Knows) -> Step<Client> {
        let mut client = self.start()?;
        client.handshake(&self.initialize(knows))?;
        Ok(client)
    }

    /// What is on record of all conversations, as it is written.
    pub fn record(&self) -> Step<String> {
        let mut record = String::new();
        let mut folders = vec![self.folder.path().join("state")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.ends_with("events.jsonl") {
                    record += &fs::read_to_string(path)?;
                }
            }
        }
        Ok(record)
    }

    /// Starts an agent that plays this script, in a trusted workspace, and opens a session.
    pub fn agent(&self, script: &Script) -> Step<(Client, String)> {
        self.script(script)?;
        let mut client = self.agent_again()?;
        client.trust(&self.workspace())?;
        let session = client.open(&self.workspace())?;
        Ok((client, session))
    }

    /// Starts another agent in the same place, and shakes hands with it.
    pub fn agent_again(&self) -> Step<Client> {
        let mut client = self.start()?;
        client.introduce(1)?;
        Ok(client)
    }

    /// Starts a server and says nothing to it.
    pub fn start(&self) -> Step<Client> {
        let command = self.command();
        let program = command.get_program().to_string_lossy().into_owned();
        let server = Server::start(command, self.stderr.try_clone()?).map_err(|error| {
            Failure(format!("the server `{program}` cannot be started: {error}"))
        })?;
        let breaches = Arc::clone(&self.setting.breaches);
        let frames = self.setting.frames;
        let ledger = match frames {
            Frames::Headers => Ledger::new(self.case, breaches),
            Frames::Lines => Ledger::of_agent(self.case, breaches),
        };
        Ok(Client::new(server, frames, ledger, self.setting.timeout))
    }

    /// From here on a server has a reason to write to its standard error.
    pub fn gives_reason_to_complain(&self) {
        self.may_complain.set(true);
    }

    /// That no server here wrote anything to its standard error, where that is asked of them and nothing gave them a
    /// reason to.
    pub fn is_silent(&self) -> Step {
        let complaint = server::complaint(&self.stderr)?;
        let may = !self.setting.silent || self.may_complain.get();
        check(
            may || complaint.is_empty(),
            format!("the server wrote to its standard error: {complaint}"),
        )
    }

    /// The params of `initialize` for a client of this kind.
    pub fn initialize(&self, knows: Knows) -> Value {
        let root = self.uri("");
        let mut capabilities = json!({
            "general": {"positionEncodings": ["utf-8", "utf-16"]},
            "window": {"showMessage": {"messageActionItem": {"additionalPropertiesSupport": false}}},
        });
        if knows == Knows::Aside {
            capabilities["experimental"] = json!({"aside": {"version": 1, "prompt": true, "secret": true, "save": false, "tools": []}});
        }
        let name = match knows {
            Knows::LspBeside => "Visual Studio Code",
            Knows::Aside | Knows::LspAlone => "conformance",
        };
        json!({
            "processId": null,
            "clientInfo": {"name": name, "version": env!("CARGO_PKG_VERSION")},
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": "workspace"}],
            "capabilities": capabilities,
            "initializationOptions": {
                "config": {"assistant": {"model": self.model()}},
                "trusted": true,
            },
        })
    }

    fn script_path(&self) -> PathBuf {
        self.folder.path().join("script.toml")
    }

    fn command(&self) -> Command {
        let [program, arguments @ ..] = self.setting.server.as_slice() else {
            return Command::new("");
        };
        // A relative path is meant from where the driver was started, not from the workspace.
        let path = Path::new(program);
        let program = if path.components().count() > 1 {
            fs::canonicalize(path).unwrap_or(path.into())
        } else {
            path.into()
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.workspace());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ASIDE_") {
                command.env_remove(name);
            }
        }
        let at = |name: &str| self.folder.path().join(name);
        command
            .env("HOME", at("home"))
            .env("XDG_STATE_HOME", at("state"))
            .env("XDG_CONFIG_HOME", at("config"))
            .env("XDG_CACHE_HOME", at("cache"))
            // The same places, by the names that Windows has for them.
            .env("USERPROFILE", at("home"))
            .env("LOCALAPPDATA", at("state"))
            .env("APPDATA", at("config"))
            // What a server does inside a sandbox, and whether it has one, is its own business.
            .env("ASIDE_SANDBOX", "off");
        command
    }
}

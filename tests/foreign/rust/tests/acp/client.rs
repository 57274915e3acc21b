//! A client on the SDK, in a place of its own, and the person in front of it. Each message of the agent is checked against
//! the protocol's schema as it passes.

use std::{
    fs, io,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ClientCapabilities, CreateElicitationRequest,
            CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction,
            ElicitationCapabilities, ElicitationContentValue, ElicitationFormCapabilities,
            InitializeRequest, NewSessionRequest, PromptRequest, RequestPermissionOutcome,
            RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
            SessionId, SessionNotification, StopReason,
        },
    },
};
use aside_test_client::acp::Messages;
use futures_util::{StreamExt, sink, stream};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

/// How long anything may take before a test gives up on it.
const LONG: Duration = Duration::from_secs(30);

/// What the person is asked.
pub enum Asked {
    Permission(Box<RequestPermissionRequest>),
    Form,
}

/// What the person says to it.
#[derive(Clone, Debug)]
pub enum Said {
    /// This option of a permission.
    Option(&'static str),
    /// This answer of a form; without one where it is null.
    Answer(Value),
    Decline,
    /// The prompt is closed.
    Close,
    /// The client fails to show it.
    Fail,
    /// Nothing, until nobody waits any more; and then this.
    Late(Box<Said>),
}

/// What came of all sessions, in the order in which it came.
#[derive(Default)]
pub struct Seen {
    pub updates: Vec<SessionNotification>,
    /// How often the person was asked.
    pub asked: usize,
    /// Whether what was asked last is not answered before it is withdrawn.
    pub waits: bool,
    /// Prompts that were withdrawn.
    pub withdrawn: usize,
    invalid: Vec<String>,
}

impl Seen {
    fn is_asked(&mut self, said: &Said) {
        self.asked += 1;
        self.waits = matches!(said, Said::Late(_));
    }
}

/// A workspace, state of its own, and what was seen of the agent there.
pub struct World {
    folder: TempDir,
    seen: Arc<Mutex<Seen>>,
    /// Counts what was seen.
    news: watch::Sender<usize>,
    /// Whether the client reads.
    reads: watch::Sender<bool>,
}

/// The connection of a client.
pub struct Connected<'a> {
    pub world: &'a World,
    pub to: ConnectionTo<Agent>,
}

impl World {
    /// With a model that plays this script, in a trusted workspace.
    pub fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["workspace", "home", "config/aside", "state"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let path = folder.path().join("script.toml");
        fs::write(&path, script).unwrap();
        let config = format!("assistant.model = 'rehearsal/{}'\n", path.display());
        fs::write(folder.path().join("config/aside/aside.toml"), config).unwrap();
        let world = Self {
            folder,
            seen: Arc::default(),
            news: watch::channel(0).0,
            reads: watch::channel(true).0,
        };
        let mut trust = std::process::Command::new(std::env::var_os("ASIDE").expect("ASIDE"));
        world.place(&mut trust);
        let trusted = trust.args(["trust", "--yes"]).output().unwrap();
        assert!(trusted.status.success(), "{trusted:?}");
        world
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.workspace().join(file)).ok()
    }

    /// What is on record of all conversations.
    pub fn record(&self) -> String {
        let mut record = String::new();
        let mut folders = vec![self.folder.path().join("state")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.ends_with("events.jsonl") {
                    record += &fs::read_to_string(path).unwrap();
                }
            }
        }
        record
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn place(&self, command: &mut std::process::Command) {
        let at = |name: &str| self.folder.path().join(name);
        command
            .current_dir(self.workspace())
            .env("HOME", at("home"))
            .env("XDG_CONFIG_HOME", at("config"))
            .env("XDG_STATE_HOME", at("state"))
            .env("ASIDE_SANDBOX", "off");
    }

    fn agent(&self) -> Child {
        let mut agent = std::process::Command::new(std::env::var_os("ASKING").expect("ASKING"));
        self.place(agent.arg("acp"));
        let mut agent = Command::from(agent);
        agent
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        agent.spawn().unwrap()
    }

    /// The agent's end, over which each message is looked at.
    fn lines(
        &self,
        agent: &mut Child,
    ) -> Lines<
        impl futures_util::Sink<String, Error = io::Error> + Send + use<>,
        impl futures_util::Stream<Item = io::Result<String>> + Send + use<>,
    > {
        let messages = Arc::new(Mutex::new(Messages::default()));
        let (sent, seen) = (messages.clone(), self.seen.clone());
        let input = agent.stdin.take().unwrap();
        let outgoing = Box::pin(sink::unfold(input, move |mut input, line: String| {
            let message: Value = serde_json::from_str(&line).unwrap();
            let _ = sent.lock().unwrap().check(true, &message);
            async move {
                input.write_all(format!("{line}\n").as_bytes()).await?;
                input.flush().await?;
                io::Result::Ok(input)
            }
        }));
        let output = BufReader::new(agent.stdout.take().unwrap()).lines();
        let reads = self.reads.clone();
        let incoming = stream::unfold(output, move |mut output| {
            let (messages, seen, mut reads) = (messages.clone(), seen.clone(), reads.subscribe());
            async move {
                reads.wait_for(|reads| *reads).await.ok()?;
                let line = output.next_line().await.transpose()?;
                if let Ok(line) = &line {
                    let message: Value = serde_json::from_str(line).unwrap();
                    if let Err(wrong) = messages.lock().unwrap().check(false, &message) {
                        seen.lock().unwrap().invalid.push(wrong);
                    }
                }
                Some((line, output))
            }
        });
        Lines::new(outgoing, incoming.boxed())
    }

    /// Plays what a client of these abilities does while a person says this.
    pub async fn play(
        &self,
        can: ClientCapabilities,
        mut person: impl FnMut(Asked) -> Said + Send + Clone + 'static,
        plays: impl AsyncFnOnce(Connected<'_>),
    ) {
        let mut agent = self.agent();
        let (seen, news) = (self.seen.clone(), self.news.clone());
        let (at_forms, forms_news, mut at_form) = (self.seen.clone(), news.clone(), person.clone());
        let (at_permissions, permission_news) = (self.seen.clone(), news.clone());
        let connected = Client
            .v1()
            .on_receive_notification(
                async move |update: SessionNotification, _| {
                    seen.lock().unwrap().updates.push(update);
                    news.send_modify(|count| *count += 1);
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |asked: RequestPermissionRequest, responder, to: ConnectionTo<Agent>| {
                    let said = person(Asked::Permission(Box::new(asked)));
                    at_permissions.lock().unwrap().is_asked(&said);
                    permission_news.send_modify(|count| *count += 1);
                    let seen = at_permissions.clone();
                    to.spawn(async move {
                        let said = waited(said, &seen, responder.cancellation().cancelled()).await;
                        responder.respond_with_result(permission(said))
                    })
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |_: CreateElicitationRequest, responder, to: ConnectionTo<Agent>| {
                    let said = at_form(Asked::Form);
                    at_forms.lock().unwrap().is_asked(&said);
                    forms_news.send_modify(|count| *count += 1);
                    let seen = at_forms.clone();
                    to.spawn(async move {
                        let said = waited(said, &seen, responder.cancellation().cancelled()).await;
                        responder.respond_with_result(form(said))
                    })
                },
                on_receive_request!(),
            )
            .connect_with(self.lines(&mut agent), async |to: ConnectionTo<Agent>| {
                let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(can);
                let agent = to.send_request(hello).block_task().await?;
                assert_eq!(agent.agent_info.unwrap().name, "aside");
                plays(Connected { world: self, to }).await;
                Ok(())
            });
        timeout(LONG, connected).await.expect("an end").unwrap();
        timeout(LONG, agent.wait())
            .await
            .expect("the agent's end")
            .unwrap();
        assert_eq!(self.seen().invalid, [""; 0]);
    }
}

impl Connected<'_> {
    pub async fn session(&self) -> SessionId {
        let new = NewSessionRequest::new(self.world.workspace());
        self.to
            .send_request(new)
            .block_task()
            .await
            .unwrap()
            .session_id
    }

    /// Sends a prompt, and waits for its end.
    pub async fn prompt(&self, session: &SessionId, text: &str) -> StopReason {
        let prompt = PromptRequest::new(session.clone(), vec![text.into()]);
        let ended = self.to.send_request(prompt).block_task().await;
        ended.unwrap().stop_reason
    }

    /// From now on the client reads nothing.
    pub fn stops_reading(&self) {
        self.world.reads.send_replace(false);
    }

    pub fn cancel(&self, session: &SessionId) {
        let cancel = CancelNotification::new(session.clone());
        self.to.send_notification(cancel).unwrap();
    }

    /// Waits until this is so.
    pub async fn until(&self, is_so: impl Fn(&Seen) -> bool) {
        let mut news = self.world.news.subscribe();
        while !is_so(&self.world.seen()) {
            news.changed().await.unwrap();
        }
    }

    /// The texts of a kind of update of a session, joined.
    pub fn said(&self, session: &SessionId, kind: &str) -> String {
        let texts = self.of_kind(session, kind);
        texts
            .iter()
            .filter_map(|it| it["content"]["text"].as_str())
            .collect()
    }

    /// The updates of a kind of a session, as they were on the wire.
    pub fn of_kind(&self, session: &SessionId, kind: &str) -> Vec<Value> {
        let seen = self.world.seen();
        let updates = seen.updates.iter().filter(|it| it.session_id == *session);
        let updates = updates.map(|it| serde_json::to_value(&it.update).unwrap());
        updates.filter(|it| it["sessionUpdate"] == kind).collect()
    }
}

/// What a client with forms can do.
pub fn forms() -> ClientCapabilities {
    let elicitation = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
    ClientCapabilities::new().elicitation(elicitation)
}

async fn waited(said: Said, seen: &Mutex<Seen>, withdrawn: impl Future<Output = ()>) -> Said {
    let Said::Late(said) = said else {
        return said;
    };
    withdrawn.await;
    seen.lock().unwrap().withdrawn += 1;
    *said
}

fn permission(said: Said) -> Result<RequestPermissionResponse, Error> {
    let outcome = match said {
        Said::Option(id) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id)),
        Said::Close => RequestPermissionOutcome::Cancelled,
        Said::Fail => return Err(Error::internal_error()),
        other => panic!("{other:?} is no answer to a permission"),
    };
    Ok(RequestPermissionResponse::new(outcome))
}

fn form(said: Said) -> Result<CreateElicitationResponse, Error> {
    let action = match said {
        Said::Answer(answer) => {
            let answer: Option<ElicitationContentValue> = serde_json::from_value(answer).unwrap();
            let content = answer
                .map(|it| ("answer".to_owned(), it))
                .into_iter()
                .collect();
            ElicitationAction::Accept(ElicitationAcceptAction::new().content(Some(content)))
        }
        Said::Decline => ElicitationAction::Decline,
        Said::Close => ElicitationAction::Cancel,
        Said::Fail => return Err(Error::internal_error()),
        other => panic!("{other:?} is no answer to a form"),
    };
    Ok(CreateElicitationResponse::new(action))
}

/// A model that calls this tool first, and then says that it is done.
pub fn calls(tool: &str, arguments: &Value) -> String {
    let call = json!({ "call": tool, "id": "call", "arguments": arguments });
    let call = toml_of(&call);
    format!(
        "[[reply]]\nrepeat = true\nwhen = {{ step = 1 }}\nsay = [{call}]\n\
         [[reply]]\nrepeat = true\nsay = [{{ text = 'Done.' }}]\n"
    )
}

/// JSON as an inline value of TOML, which has no null.
fn toml_of(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(toml_of).collect();
            format!("[{}]", list.join(", "))
        }
        Value::Object(object) => {
            let members: Vec<String> = object
                .iter()
                .map(|(name, value)| format!("{name} = {}", toml_of(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}

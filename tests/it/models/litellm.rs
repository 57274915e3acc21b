//! Through LiteLLM, a gateway that many put between a client and their models: three APIs of Aside's, each led to two APIs
//! of the model server. `tests/litellm/run` installs it and plays this; without `ASIDE_LITELLM`, the path of its program,
//! nothing happens here.

use std::{
    fs::{self, File},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use aside_model_server::{
    play::{ModelReply, ReplyItem},
    server::{ModelServer, ServedReply},
};
use serde_json::json;

use super::live::Live;
use crate::world::TestWorld;

/// Requests of a turn: all but the last end with a call.
const STEPS: usize = 4;
/// How long LiteLLM may take to begin.
const BEGINS: Duration = Duration::from_secs(120);

/// A model server that reads a file again and again, and then says that it is done.
fn reader(steps: &Arc<AtomicUsize>) -> ModelServer {
    let steps = Arc::clone(steps);
    ModelServer::start(move |received| {
        let Some(api) = received.api else {
            return ServedReply::json(404, json!({"error": {"message": "not here"}}));
        };
        let step = steps.fetch_add(1, Ordering::Relaxed) + 1;
        let reply = ModelReply::new(&step.to_string());
        let said = if step < STEPS {
            let call = ReplyItem::call(&format!("call_{step}"), "read_file", r#"{"path":"a.txt"}"#);
            reply.text("I read it.").say(call)
        } else {
            reply.text("It is read.")
        };
        said.number(step).reply(api)
    })
}

/// LiteLLM, which is ended when this is dropped.
struct Gateway(Child);

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it in front of the server, and returns its port.
fn start(program: &str, world: &TestWorld, server: &ModelServer) -> (Gateway, u16) {
    let address = server.address();
    let models = json!({"model_list": [
        {"model_name": "chat", "litellm_params":
            {"model": "openai/m", "api_base": format!("http://{address}/v1"), "api_key": "none"}},
        {"model_name": "messages", "litellm_params":
            {"model": "anthropic/claude-opus-5-5", "api_base": format!("http://{address}"), "api_key": "none"}},
    ]});
    let config = world.folder().join("litellm.yaml");
    // JSON is YAML.
    fs::write(&config, models.to_string()).unwrap();
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let said = File::create(world.folder().join("litellm.log")).unwrap();
    let mut command = Command::new(program);
    command
        .args(["--host", "127.0.0.1", "--telemetry", "False", "--config"])
        .arg(&config)
        .args(["--port", &port.to_string()])
        .current_dir(world.folder())
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        // It listens on this computer alone, and has no keys.
        .env(
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY",
            "true",
        )
        .env("NO_PROXY", "*")
        .stdout(said.try_clone().unwrap())
        .stderr(said);
    let mut gateway = Gateway(command.spawn().unwrap());
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let ended = gateway.0.try_wait().unwrap();
        assert!(
            ended.is_none() && begin.elapsed() < BEGINS,
            "LiteLLM does not begin: {}",
            fs::read_to_string(world.folder().join("litellm.log")).unwrap()
        );
        std::thread::park_timeout(Duration::from_millis(50));
    }
    (gateway, port)
}

#[test]
fn a_loop_of_tools_goes_through_litellm() {
    let Ok(program) = std::env::var("ASIDE_LITELLM") else {
        return;
    };
    let steps = Arc::new(AtomicUsize::new(0));
    let (world, server) = (TestWorld::new(), reader(&steps));
    world.write("a.txt", "One line.\n");
    let (_gateway, port) = start(&program, &world, &server);
    let mut providers = String::new();
    for (name, path) in [
        ("openai-chat", "/v1"),
        ("openai-responses", "/v1"),
        ("anthropic", ""),
    ] {
        providers += &format!(
            "[providers.by-{name}]\napi = '{name}'\nbase_url = 'http://127.0.0.1:{port}{path}'\n"
        );
    }
    world.user_config(&providers);
    for provider in ["by-openai-chat", "by-openai-responses", "by-anthropic"] {
        for model in ["chat", "messages"] {
            steps.store(0, Ordering::Relaxed);
            let id = format!("{provider}/{model}");
            let args = ["run", "--output", "jsonl", "--trust", "-m", &id, "Read."];
            let done = Live::start(world.command(&args)).end();
            let log = fs::read_to_string(world.folder().join("litellm.log")).unwrap();
            assert_eq!(done.code, 0, "{id}: {done:#?}\n{log}");
            let count = |text: &str| done.stdout.matches(text).count();
            assert_eq!(count(r#""answer":"It is read.""#), 1, "{id}: {done:#?}");
            assert_eq!(
                count(r#""kind":"toolResult""#),
                STEPS - 1,
                "{id}: {done:#?}"
            );
            assert_eq!(count(r#""kind":"retry""#), 0, "{id}: {done:#?}");
        }
    }
}

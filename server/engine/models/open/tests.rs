use aside_model_server::{
    self as model_server,
    server::{ModelServer, ServedReply},
};
use aside_test_table::rows;
use serde_json::{Value, json};

use super::*;

/// An environment with these variables, as `NAME=value`.
fn outside(set: &[&'static str], state_dir: &std::path::Path) -> Models {
    let set = set.to_vec();
    let env: Env = Arc::new(move |name| {
        let found = set.iter().filter_map(|set| set.split_once('='));
        let mut found = found.filter(|(known, _)| *known == name);
        found.next().map(|(_, value)| value.to_owned())
    });
    let settings = Settings::default();
    let entered = EnteredKeys::default();
    Models::new(
        &settings,
        env,
        entered,
        PathBuf::new(),
        state_dir.to_owned(),
    )
}

/// Checks a table: a line is a model, settings, the environment's variables, and the endpoint or the error.
#[track_caller]
fn check_endpoints(table: &'static str) {
    for [model, settings, set, expected] in rows(table) {
        let set: Vec<&'static str> = set.split_whitespace().collect();
        assert_eq!(endpoint(model, settings, &set), expected, "{settings}");
    }
}

fn settings(text: &str) -> Settings {
    toml::from_str(text).unwrap()
}

/// Address and key source of the requests for a model.
fn endpoint(model: &str, text: &str, set: &[&'static str]) -> String {
    let settings = settings(text);
    let outside = outside(set, std::path::Path::new("/nowhere"));
    let found = ModelId::parse(model, &settings).and_then(|id| outside.endpoint(&id, &settings));
    match found {
        Ok(Endpoint { kind, options, .. }) => {
            let key = match (options.key_source.as_str(), options.bearer) {
                ("", _) => "no key".to_owned(),
                (source, true) => format!("{source} as bearer"),
                (source, false) => source.to_owned(),
            };
            format!("{kind:?} {} {key}", options.base)
        }
        Err(error) => error,
    }
}

#[test]
fn keys_in_place_of_names_are_not_repeated() {
    for key in [
        "sk-ant-REDACTED",
        "AIzaSyA0123456789abcdefghij",
        "sk_live_9f8e7d6c5b4a",
    ] {
        let text = format!(
            "providers.mine = {{ api = 'openai-chat', base_url = 'http://localhost', api_key_env = '{key}' }}"
        );
        let why = endpoint("mine/m", &text, &[]);
        assert!(why.contains("must name an environment variable"), "{why}");
        assert!(!why.contains(key), "{why}");
    }
}

#[test]
fn unencrypted_keys_are_reported() {
    for (base, expected) in [
        ("http://box.example:8000/v1", true),
        ("https://box.example/v1", false),
        ("http://127.0.0.1:8000/v1", false),
        ("http://localhost:8000/v1", false),
    ] {
        let text = format!(
            "providers.lan = {{ api = 'openai-chat', base_url = '{base}', api_key_env = 'LAN_KEY' }}"
        );
        let settings = settings(&text);
        let outside = outside(&["LAN_KEY=sk"], std::path::Path::new("/nowhere"));
        let model = ModelId::parse("lan/m", &settings).unwrap();
        let told = outside.endpoint(&model, &settings).unwrap().exposed_key();
        assert_eq!(told.is_some(), expected, "{base}: {told:?}");
        assert!(
            told.is_none_or(|told| told.contains("LAN_KEY is sent to box.example over plain http"))
        );
    }
}

#[test]
fn known_providers_have_their_endpoints() {
    check_endpoints("
        anthropic/m |  | ANTHROPIC_API_KEY=k | Anthropic https://api.anthropic.com/ ANTHROPIC_API_KEY
        anthropic/m |  | ANTHROPIC_AUTH_TOKEN=k | Anthropic https://api.anthropic.com/ ANTHROPIC_AUTH_TOKEN as bearer
        openai/m |  | OPENAI_API_KEY=k | OpenaiResponses https://api.openai.com/v1 OPENAI_API_KEY
        google/m |  | GEMINI_API_KEY=k | Google https://generativelanguage.googleapis.com/ GEMINI_API_KEY
        ollama/m |  |  | Ollama http://127.0.0.1:11434/ no key
        openrouter/a/m |  | OPENROUTER_API_KEY=k | OpenaiChat https://openrouter.ai/api/v1 OPENROUTER_API_KEY
        deepseek/m |  | DEEPSEEK_API_KEY=k | OpenaiChat https://api.deepseek.com/ DEEPSEEK_API_KEY
        mistral/m |  | MISTRAL_API_KEY=k | OpenaiChat https://api.mistral.ai/v1 MISTRAL_API_KEY
        cerebras/m |  | CEREBRAS_API_KEY=k | OpenaiChat https://api.cerebras.ai/v1 CEREBRAS_API_KEY
    ");
    for (model, place) in [
        ("llamacpp/m", "http://localhost:8080/v1"),
        ("vllm/m", "http://localhost:8000/v1"),
        ("lmstudio/m", "http://localhost:1234/v1"),
    ] {
        let expected = format!("OpenaiChat {place} no key");
        assert_eq!(endpoint(model, "", &[]), expected);
    }
}

#[test]
fn missing_key_errors_name_the_variable() {
    check_endpoints("
        anthropic/m |  | ANTHROPIC_API_KEY= OPENAI_API_KEY=k | there is no key for the provider anthropic; set ANTHROPIC_API_KEY, or providers.anthropic.api_key_env or api_key_command in your aside.toml
        google/m | providers.google.api_key_env = 'MINE' | GEMINI_API_KEY=k | there is no key for the provider google: the variable MINE of its api_key_env is not set; set it
        # A server at another address may need no key.
        anthropic/m |  | ANTHROPIC_BASE_URL=http://localhost:1234 | Anthropic http://localhost:1234/ no key
    ");
}

#[test]
fn settings_override_the_environment() {
    check_endpoints("
        openai/m |  | OPENAI_API_KEY=k OPENAI_BASE_URL=http://env/v1 MINE=k | OpenaiResponses http://env/v1 OPENAI_API_KEY
        openai/m | providers.openai = { base_url = 'https://own/v1/', api_key_env = 'MINE' } | OPENAI_API_KEY=k OPENAI_BASE_URL=http://env/v1 MINE=k | OpenaiResponses https://own/v1/ MINE
        openai/m | providers.openai.api = 'openai-chat' | OPENAI_API_KEY=k OPENAI_BASE_URL=http://env/v1 MINE=k | OpenaiChat http://env/v1 OPENAI_API_KEY
        # These variables apply only to the provider of that name.
        mine/m | providers.mine = { api = 'openai-responses', api_key_env = 'MINE' } | OPENAI_API_KEY=k OPENAI_BASE_URL=http://env/v1 MINE=k | OpenaiResponses https://api.openai.com/v1 MINE
        mine/m | providers.mine = { api = 'openai-chat', base_url = 'http://here' } | OPENAI_API_KEY=k OPENAI_BASE_URL=http://env/v1 MINE=k | OpenaiChat http://here/ no key
        mine/m | providers.mine.api = 'openai-chat' | OPENAI_API_KEY=k OPENAI_BASE_URL=http://env/v1 MINE=k | providers.mine has no address of its API; set its `base_url`
        openai/m | providers.openai.api = 'anthropic' | OPENAI_API_KEY=k OPENAI_BASE_URL=http://env/v1 MINE=k | Anthropic https://api.anthropic.com/ no key
    ");
}

#[test]
fn addresses_are_http_urls_without_secrets() {
    for (url, why) in [
        (
            "nonsense",
            "is not a valid address (relative URL without a base)",
        ),
        ("file:///etc/passwd", "is not an http or https address"),
        ("https://me:secret@host", "contains a name or password"),
        ("https://host/v1?key=secret", "has a key in its query"),
        (
            "https://host/v1?a=b&api-key=secret",
            "has a key in its query",
        ),
        ("https://host/v1#a", "has a fragment after its path"),
    ] {
        let text = format!("providers.mine = {{ api = 'google', base_url = '{url}' }}");
        assert_eq!(
            endpoint("mine/m", &text, &[]),
            format!("providers.mine.base_url {why}; write it as https://host/path")
        );
    }
}

#[test]
fn ollama_host_has_many_forms() {
    for (text, expected) in [
        ("box", "http://box:11434/"),
        ("box:1234", "http://box:1234/"),
        ("http://box:1234", "http://box:1234/"),
        ("https://box", "https://box/"),
        ("http://box", "http://box/"),
        ("https://box/ollama/", "https://box/ollama/"),
        ("0.0.0.0", "http://127.0.0.1:11434/"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
        (":8080", "http://127.0.0.1:8080/"),
        ("192.168.1.7", "http://192.168.1.7:11434/"),
        ("::1", "http://[::1]:11434/"),
        ("[::]:8080", "http://[::1]:8080/"),
        ("[::1]", "http://[::1]:11434/"),
        (" box ", "http://box:11434/"),
    ] {
        let url = address(&ollama_host(text), "OLLAMA_HOST").unwrap();
        assert_eq!(url.as_str(), expected, "{text}");
    }
    assert_eq!(
        endpoint("ollama/m", "", &["OLLAMA_HOST=ftp://box"]),
        "OLLAMA_HOST is not an http or https address; write it as https://host/path"
    );
    let remote = &["OLLAMA_HOST=https://ollama.com", "OLLAMA_API_KEY=k"];
    assert_eq!(
        endpoint("ollama/m", "", remote),
        "Ollama https://ollama.com/ OLLAMA_API_KEY"
    );
}

#[test]
fn every_key_of_a_model_can_be_configured() {
    let text = "
        [providers.mine]
        api = 'openai-chat'
        base_url = 'http://here'
        [providers.mine.models.'org/m:8b']
        context_window = 1
        max_output = 2
        tools = false
        forced_tools = 'without_reasoning'
        strict = true
        schema = false
        images = true
        documents = true
        system_messages = true
        reasoning = 'switch'
        reasoning_off = true
        interleaves = true
        compaction = true
        efforts = ['little', 'much']
        prices = { input = 1, output = 2, cache_write = 3, up_to = 9, beyond = { input = 4, output = 5 } }
    ";
    let settings = settings(text);
    let id = ModelId::parse("mine/org/m:8b", &settings).unwrap();
    let outside = outside(&[], std::path::Path::new("/nowhere"));
    let listed = StatedAbilities {
        context_window: Some(7),
        ..StatedAbilities::default()
    };
    let found = outside.abilities(&id, Some(&listed), &settings);
    let configured: toml::Value = toml::from_str(text).unwrap();
    let configured = configured["providers"]["mine"]["models"]["org/m:8b"].clone();
    let mut expected = Abilities::default();
    expected.take(&configured.try_into::<StatedAbilities>().unwrap());
    assert_eq!(found, expected);
    let prices = found.prices.unwrap();
    assert_eq!(
        (prices.rates.cache_read(), prices.rates.cache_write_long()),
        (1.0, 3.0),
        "what is not said of the cache is as without it"
    );
    assert_eq!(prices.beyond.unwrap().cache_read(), 4.0);
    let other = ModelId::parse("mine/other", &settings).unwrap();
    let found = outside.abilities(&other, Some(&listed), &settings);
    assert_eq!((found.context_window, found.tools), (Some(7), true));
}

#[tokio::test]
async fn default_model_comes_from_the_table() {
    let outside = outside(&[], std::path::Path::new("/nowhere"));
    let settings = Settings::default();
    for (provider, expected) in [
        ("anthropic", "anthropic/claude-sonnet-5-5"),
        ("openai", "openai/gpt-6.1-sol"),
        ("google", "google/gemini-4-argon"),
    ] {
        let chosen = outside.choose(ModelChoice::DefaultOf(provider), &settings);
        assert_eq!(chosen.await.unwrap().to_string(), expected);
    }
}

#[tokio::test]
async fn missing_key_and_ollama_is_explained() {
    // A port without a listener.
    let outside = outside(
        &["OLLAMA_HOST=127.0.0.1:1"],
        std::path::Path::new("/nowhere"),
    );
    let settings = Settings::default();
    let chosen = outside.choose(ModelChoice::FirstOfOllama, &settings).await;
    assert_eq!(chosen, Err(ChoiceError::NothingFound));
}

#[tokio::test]
async fn ollama_is_asked_for_details_missing_from_its_list() {
    let sample = |name: &str| -> Value {
        let path = format!(
            "{}/tests/model_server/wire/ollama/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let server = ModelServer::start(move |received| match received.path.as_str() {
        "/api/tags" => ServedReply::json(200, sample("08_tags.json")),
        "/api/show" => ServedReply::json(200, sample("09_show.json")),
        _ => ServedReply::json(404, json!({"error": "not found"})),
    });
    let text = format!(
        "providers.ollama.base_url = '{}'",
        server.url(model_server::ServedApi::Ollama)
    );
    let settings = settings(&text);
    let outside = outside(&[], std::path::Path::new("/nowhere"));
    let any = ModelId::of_provider("ollama", &settings).unwrap();
    let endpoint = outside.endpoint(&any, &settings).unwrap();
    let mut models = outside.list(&endpoint).await.unwrap();
    assert!(!models.is_empty());
    assert_eq!(models[0].1.context_window, None);
    outside.describe(&endpoint, &mut models).await;
    for (model, told) in models {
        assert_eq!(told.context_window, Some(262_144), "{model}");
    }
}

#[tokio::test]
async fn configured_headers_override_the_providers() {
    let server = ModelServer::start(|received| {
        let own = received.header("x-team").unwrap_or("nothing");
        let message = format!("no {own} here");
        ServedReply::json(401, json!({"error": {"type": "x", "message": message}}))
    });
    let url = server.url(model_server::ServedApi::OpenaiChat);
    let asked = |headers: &str| {
        let text = format!(
            "providers.work = {{ api = 'openai-chat', base_url = '{url}', headers = {headers} }}"
        );
        let settings = settings(&text);
        let outside = outside(&[], std::path::Path::new("/nowhere"));
        let any = ModelId::of_provider("work", &settings).unwrap();
        let endpoint = outside.endpoint(&any, &settings);
        async move {
            match endpoint {
                Ok(endpoint) => outside.list(&endpoint).await.unwrap_err(),
                Err(why) => why,
            }
        }
    };
    let why = asked("{ X-Team = 'hunter2-hunter2', Content-Type = 'text/json' }").await;
    assert!(why.contains("(no [hidden] here)"), "{why}");
    assert_eq!(
        server.received()[0].header("content-type"),
        Some("text/json")
    );
    for broken in ["{ 'a b' = 'x' }", "{ 'a b' = \"x\\ny\" }"] {
        assert_eq!(
            asked(broken).await,
            "providers.work.headers.\"a b\" is not a valid header; correct its name or its value in your aside.toml"
        );
    }
}

#[tokio::test]
async fn configured_headers_are_sent_and_their_values_redacted() {
    let server = ModelServer::start(|received| {
        let own = received.header("x-team").unwrap_or("nothing").to_owned();
        ServedReply::json(
            401,
            json!({"error": {"type": "x", "message": format!("no {own} here")}}),
        )
    });
    let text = format!(
        "providers.anthropic.base_url = '{}'",
        server.url(model_server::ServedApi::Anthropic)
    );
    let settings = settings(&text);
    let any = ModelId::of_provider("anthropic", &settings).unwrap();
    let asked = |set: &[&'static str]| {
        let outside = outside(set, std::path::Path::new("/nowhere"));
        let endpoint = outside.endpoint(&any, &settings);
        async move { outside.list(&endpoint?).await }
    };
    let found =
        asked(&["ANTHROPIC_CUSTOM_HEADERS= X-Team: hunter2-hunter2 \n\nanthropic-version: 1\n"])
            .await;
    let why = found.unwrap_err();
    assert!(why.contains("(no [hidden] here)"), "{why}");
    assert_eq!(server.received()[0].header("anthropic-version"), Some("1"));
    for broken in [
        "ANTHROPIC_CUSTOM_HEADERS=secret",
        "ANTHROPIC_CUSTOM_HEADERS=a b: secret",
    ] {
        let found = asked(&[broken]).await;
        assert_eq!(
            found.unwrap_err(),
            "ANTHROPIC_CUSTOM_HEADERS: every line must have the form `Name: value`; correct or unset it"
        );
    }
}

#[test]
fn error_names_exactly_the_keys_that_are_tried() {
    for known in KNOWN {
        let is_looked_at = !known.local && models::default_model(known.name).is_some();
        for key in known.key_env {
            assert_eq!(NO_MODEL.contains(key), is_looked_at, "{key}");
        }
    }
    assert!(!NO_MODEL.contains("--"), "not every front end has flags");
}

//! What one guest brings in costs only that guest: a tool whose schema a server refuses, an image that it refuses, and
//! reasoning that it wants back.

use std::fs;

use aside_model_server::{
    ServedApi,
    play::{ChatServer, ModelReply},
    server::{ModelServer, Received, ServedReply},
};
use aside_test_table::rows;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    column,
    shown::shown,
    stage::{AUTO, ModelStage, PlayedReply, PlayedStep, row, says},
};
use crate::{
    grown::body::{RequestPurpose, SentBody, grown},
    mcp::config,
    world::{ProgramResult, TestWorld, start},
};

const PNG: &[u8] = include_bytes!("../../media/red.png");

/// A tool of the user's with this schema.
fn guest(name: &str, schema: &Value) -> String {
    let tool = json!({
        "source": "local", "command": ["true"], "description": "A guest.", "parameters": schema,
    });
    toml::to_string(&json!({ "conversation": { "tools": { name: tool } } })).unwrap()
}

/// A stage with these lines in the user's configuration.
fn stage(api: ServedApi, more: &str, script: Vec<PlayedStep>) -> ModelStage {
    let stage = ModelStage::new(api, script);
    let servers = column::configuration(&stage.server.address().to_string());
    stage.world.user_config(&(servers + more));
    stage
}

fn answer(text: &str) -> PlayedStep {
    says(ModelReply::new(text).text(text))
}

/// The tools of a request: name and schema, in order.
fn tools(request: &Received) -> Vec<(String, Value)> {
    let body = &request.json;
    let declared = match request.api {
        Some(ServedApi::Gemini) => &body["tools"][0]["functionDeclarations"],
        _ => &body["tools"],
    };
    let tools = declared.as_array().into_iter().flatten();
    let tool = |tool: &Value| {
        let tool = tool.get("function").unwrap_or(tool);
        let members = ["parameters", "input_schema", "parametersJsonSchema"];
        let schema = members.iter().find_map(|member| tool.get(member));
        (
            tool["name"].as_str().unwrap().to_owned(),
            schema.cloned().unwrap_or_default(),
        )
    };
    tools.map(tool).collect()
}

fn place_of(request: &Received, name: &str) -> usize {
    let tools = tools(request);
    tools.iter().position(|(tool, _)| tool == name).unwrap()
}

/// The refusal of a request as its API writes it.
fn refusal(api: ServedApi, param: &str, message: &str) -> ServedReply {
    let body = match api {
        ServedApi::Anthropic => {
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        }
        ServedApi::OpenaiResponses | ServedApi::OpenaiChat => json!({"error": {
            "message": message, "type": "invalid_request_error", "param": param, "code": null,
        }}),
        ServedApi::Gemini => {
            json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
        }
        ServedApi::Ollama => json!({"error": message}),
    };
    ServedReply::json(400, body)
}

/// Schemas as tools bring them, and the same as they are sent.
const SCHEMAS: &str = r#"
    {"properties":{"a":{"type":"array"}}}                          | {"properties":{"a":{"type":"array","items":{}}}}
    {"properties":{"a":{"type":"object"}}}                         | {"properties":{"a":{"type":"object","properties":{}}}}
    {"properties":{"a":{"type":["array","null"]}}}                 | {"properties":{"a":{"type":["array","null"],"items":{}}}}
    {"properties":{"a":{"anyOf":[{"type":"array"}]}}}              | {"properties":{"a":{"anyOf":[{"type":"array","items":{}}]}}}
    {"properties":{"a":{"items":{"type":"array"},"type":"array"}}} | {"properties":{"a":{"items":{"type":"array","items":{}},"type":"array"}}}
    {"properties":{"a":{"properties":{"b":{"type":"string"}}}}}    | {"properties":{"a":{"properties":{"b":{"type":"string"}},"type":"object"}}}
    {}                                                             | {"properties":{}}
"#;

#[test]
fn schemas_are_completed_before_they_are_sent() {
    for [brought, expected] in rows(SCHEMAS) {
        let mut schema: Value = serde_json::from_str(brought).unwrap();
        schema["type"] = "object".into();
        let expected: Value = serde_json::from_str(expected).unwrap();
        row(|api| {
            let stage = stage(api, &guest("guest", &schema), vec![answer("Fine.")]);
            stage.run("Go.", &[]).exits(0);
            let requests = stage.requests();
            let tools = tools(&requests[0]);
            let (_, sent) = tools.iter().find(|(name, _)| name == "guest").unwrap();
            assert_eq!(sent["type"], "object", "{api:?}: {sent}");
            assert_eq!(
                sent["properties"], expected["properties"],
                "{api:?}: {sent}"
            );
            stage.is_clean();
        });
    }
}

/// Schemas of 19 servers that people use.
const OF_OTHERS: &str = include_str!("../../mcp/many/schemas.jsonl");

/// Every place of a schema that lacks what some API insists on.
fn incomplete(schema: &Value) -> Vec<&Value> {
    let lacks = |kind: &str, word: &str| {
        let kinds = &schema["type"];
        let may_be = kinds == kind
            || kinds
                .as_array()
                .is_some_and(|all| all.contains(&kind.into()));
        may_be && schema.get(word).is_none()
    };
    let is_one = lacks("array", "items") || lacks("object", "properties");
    let named = ["properties", "$defs", "definitions"];
    let named = named.iter().filter_map(|word| schema[word].as_object());
    let listed = ["anyOf", "oneOf", "allOf", "prefixItems"];
    let listed = listed.iter().filter_map(|word| schema[word].as_array());
    let one = ["items", "additionalProperties"];
    let one = one.iter().filter_map(|word| schema.get(word));
    let inner = named.flat_map(|map| map.values());
    let inner = inner.chain(listed.flatten()).chain(one);
    let inner = inner.flat_map(incomplete);
    is_one.then_some(schema).into_iter().chain(inner).collect()
}

#[test]
fn schemas_of_many_servers_are_completed_and_taken_by_every_api() {
    let count = OF_OTHERS.lines().count();
    assert!(count > 200, "{count}");
    row(|api| {
        let stage = stage(api, &config("of others", ""), vec![answer("Fine.")]);
        let done = stage.run("Go.", &[]).exits(0);
        assert_eq!(shown(&done), "text Fine.\ncompleted Fine.\n", "{api:?}");
        let requests = stage.requests();
        let tools = tools(&requests[0]);
        let tools = tools.iter().filter(|(name, _)| name.starts_with("srv__"));
        let mut all = 0;
        for (name, schema) in tools {
            assert_eq!(schema["type"], "object", "{api:?}: {name}");
            let lacking = incomplete(schema);
            assert!(lacking.is_empty(), "{api:?}: {name}: {lacking:?}");
            all += 1;
        }
        assert_eq!(all, count, "{api:?}");
        stage.is_clean();
    });
}

/// Refuses the tool, in the words of its API.
fn refuses(name: &'static str) -> PlayedStep {
    Box::new(move |received, api| {
        let at = place_of(received, name);
        let (param, message) = match api {
            ServedApi::Anthropic => (
                String::new(),
                format!(
                    "tools.{at}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
                ),
            ),
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => (
                format!("tools[{at}].function.parameters"),
                format!(
                    "Invalid schema for function '{name}': In context=('properties', 'reasoning'), array schema missing items."
                ),
            ),
            ServedApi::Gemini => (
                String::new(),
                format!(
                    "* GenerateContentRequest.tools[0].function_declarations[{at}].parameters_json_schema: unknown format"
                ),
            ),
            ServedApi::Ollama => (
                String::new(),
                format!("invalid schema of the parameters of {name}"),
            ),
        };
        PlayedReply::Http(refusal(api, &param, &message))
    })
}

#[test]
fn a_tool_that_is_refused_by_name_is_left_out_and_the_turn_goes_on() {
    row(|api| {
        let schema = json!({"type": "object", "properties": {"reasoning": {"type": "string"}}});
        let more = guest("odd_one", &schema) + &guest("odd", &schema);
        let script = vec![refuses("odd"), answer("Fine."), answer("Still fine.")];
        let stage = stage(api, &more, script);
        let done = stage.run("Go.", &[]).exits(0);
        let lines = shown(&done);
        let says = format!(
            "notice {}: 127.0.0.1 does not take the tool odd (",
            column::model(api)
        );
        assert!(lines.starts_with(&says), "{api:?}: {lines}");
        assert!(lines.ends_with("text Fine.\ncompleted Fine.\n"), "{lines}");

        stage.run("And now?", &["--continue"]).exits(0);
        let requests = stage.requests();
        let names = requests.iter().map(|request| {
            let all = tools(request).into_iter().map(|(name, _)| name);
            all.filter(|name| name.starts_with("odd"))
                .collect::<Vec<_>>()
        });
        let names: Vec<Vec<String>> = names.collect();
        assert_eq!(names[0].len(), 2, "{api:?}: {names:?}");
        assert_eq!(names[1..], [["odd_one"], ["odd_one"]], "{api:?}");
        // The model is told with the very next request.
        let tells = "The tool `odd` is no longer available";
        for (number, request) in requests.iter().enumerate() {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            assert_eq!(
                body.matches(tells).count(),
                usize::from(number > 0),
                "{body}"
            );
        }
        let log = stage.world.log();
        let learned = log.one("learned");
        assert_eq!(
            (&learned["refuses"], &learned["name"]),
            (&json!("tool"), &json!("odd"))
        );
        stage.is_clean();
    });
}

#[test]
fn a_tool_that_the_turn_is_about_is_not_left_out() {
    row(|api| {
        let schema = json!({"type": "object", "properties": {}});
        let stage = stage(api, &guest("odd", &schema), vec![refuses("odd")]);
        let done = stage.run("Go.", &["--tool-choice", "odd"]);
        assert_eq!(done.code, 1, "{api:?}: {done:?}");
        assert_eq!(stage.requests().len(), 1, "{api:?}");
    });
}

/// A picture that no server refuses for what it is, of so many bytes.
fn picture(bytes: usize) -> Vec<u8> {
    let mut picture = PNG.to_vec();
    picture.resize(bytes, 0);
    picture
}

/// Refuses the image of the first message, in the words of its API.
fn refuses_image(api: ServedApi) -> PlayedStep {
    let (param, message) = match api {
        ServedApi::Anthropic => (
            "",
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5764224 bytes > 5242880 bytes",
        ),
        ServedApi::OpenaiResponses => ("input[0].content[1].image_url", "Invalid image data."),
        ServedApi::OpenaiChat => ("messages[1].content[1]", "The image is too large."),
        ServedApi::Gemini => ("", "Unable to process input image. Please retry or report."),
        ServedApi::Ollama => ("", "failed to decode image: unknown format"),
    };
    let reply = refusal(api, param, message);
    Box::new(move |_, _| PlayedReply::Http(reply))
}

fn holds(request: &Received, bytes: &[u8]) -> bool {
    String::from_utf8_lossy(&request.body).contains(&STANDARD.encode(bytes))
}

#[test]
fn an_image_that_is_refused_is_left_out_and_bricks_no_conversation() {
    row(|api| {
        let (provider, model) = column::model(api).split_once('/').unwrap();
        let more = format!("[providers.{provider}.models.'{model}']\nimages = true\n");
        let script = vec![
            answer("Red."),
            refuses_image(api),
            answer("I see no image."),
            answer("Still none."),
        ];
        let stage = stage(api, &more, script);
        fs::write(stage.world.at("menu.png"), picture(100)).unwrap();
        stage.run("What is it?", &["--attach", "menu.png"]).exits(0);
        let lines = shown(&stage.run("And now?", &["--continue"]).exits(0));
        let says = format!(
            "notice {}: 127.0.0.1 does not take menu.png (",
            column::model(api)
        );
        assert!(lines.starts_with(&says), "{api:?}: {lines}");
        stage.run("And then?", &["--continue"]).exits(0);
        let holding = stage
            .requests()
            .iter()
            .map(|it| holds(it, &picture(100)))
            .collect::<Vec<_>>();
        assert_eq!(holding, [true, true, false, false], "{api:?}");
        let heard = stage.heard();
        let note = "<attachment name=\"menu.png\" type=\"image/png\">\n[left out: the provider refused it]\n</attachment>";
        assert!(heard.contains(note), "{api:?}: {heard}");
        assert_eq!(
            stage.world.log().one("learned")["refuses"],
            "media",
            "{api:?}"
        );
        stage.is_clean();
    });
}

#[test]
fn an_image_that_is_too_large_for_the_model_is_refused_before_the_turn() {
    row(|api| {
        let (provider, model) = column::model(api).split_once('/').unwrap();
        let bound =
            format!("[providers.{provider}.models.'{model}']\nimages = true\nimage_bytes = 1000\n");
        let stage = stage(api, "", vec![answer("Red."), answer("Gone.")]);
        let servers = column::configuration(&stage.server.address().to_string());
        let free = format!("[providers.{provider}.models.'{model}']\nimages = true\n");
        let (small, large) = (picture(750), picture(753));
        fs::write(stage.world.at("small.png"), &small).unwrap();
        fs::write(stage.world.at("menu.png"), &large).unwrap();

        stage.world.user_config(&format!("{servers}{bound}"));
        let done = stage.run("What is it?", &["--attach", "menu.png"]);
        assert_eq!(done.code, 2, "{api:?}: {done:?}");
        let says = format!(
            "menu.png is an image of 753 bytes, and {} takes none of more than 750 bytes; attach a smaller one",
            column::model(api)
        );
        assert!(done.stderr.contains(&says), "{done:?}");
        assert_eq!(stage.requests().len(), 0, "{api:?}");

        // What is in the history already is left out.
        stage.world.user_config(&format!("{servers}{free}"));
        let both = ["--attach", "menu.png", "--attach", "small.png"];
        stage.run("What is it?", &both).exits(0);
        stage.world.user_config(&format!("{servers}{bound}"));
        stage.run("And now?", &["--continue"]).exits(0);
        let requests = stage.requests();
        assert!(
            holds(&requests[0], &large) && holds(&requests[0], &small),
            "{api:?}"
        );
        assert!(
            !holds(&requests[1], &large) && holds(&requests[1], &small),
            "{api:?}"
        );
        stage.is_clean();
    });
}

/// A tool that returns an image: its name, what it is called with, and what the model reads beside the image.
const PICTURES: [(&str, &str, &str); 2] = [
    ("srv__echo", "{}", "Taken.\n[image image/png, 69 bytes]"),
    (
        "read_file",
        r#"{"path":"red.png"}"#,
        "[image/png, 69 bytes]",
    ),
];

#[test]
fn images_of_tools_reach_models_that_see() {
    for (tool, arguments, beside) in PICTURES {
        for sees in [true, false] {
            row(|api| {
                let (provider, model) = column::model(api).split_once('/').unwrap();
                let allowed = "[conversation.tools.srv__echo]\nrun = 'unattended'\n";
                let more = format!(
                    "[providers.{provider}.models.'{model}']\nimages = {sees}\n{}",
                    config("picture", allowed)
                );
                let call = ModelReply::new("call").call("call_1", tool, arguments);
                let script = vec![says(call), answer("Red."), answer("Still red.")];
                let stage = stage(api, &more, script);
                fs::write(stage.world.at("red.png"), PNG).unwrap();
                stage.run("Take a picture.", &AUTO).exits(0);
                stage
                    .run("And now?", &[&AUTO[..], &["--continue"]].concat())
                    .exits(0);
                let requests = stage.requests();
                for request in &requests[1..] {
                    assert_eq!(holds(request, PNG), sees, "{api:?}: {tool}");
                }
                let heard = stage.heard();
                assert!(heard.contains(beside), "{api:?}: {heard}");
                let not_shown = heard.contains("[not shown: this model does not accept images]");
                assert_eq!(not_shown, !sees, "{api:?}: {heard}");
                let bodies = [1, 2].map(|number: usize| SentBody {
                    kind: RequestPurpose::Turn,
                    body: String::from_utf8(requests[number].body.to_vec()).unwrap(),
                });
                assert_eq!(grown(&bodies), Ok(()), "{api:?}: {tool}");
                stage.is_clean();
            });
        }
    }
}

/// Whether each message with calls brings back the reasoning that came with them.
fn comes_back(body: &Value, member: &str) -> bool {
    let messages = body["messages"].as_array().into_iter().flatten();
    let mut calling = messages.filter(|message| message.get("tool_calls").is_some());
    calling.all(|message| {
        message[member]
            .as_str()
            .is_some_and(|text| text.starts_with("So "))
    })
}

/// A server that wants its reasoning back beside calls, known by this name to the user, and what it was asked.
fn wants_it_back(provider: &str, chat: ChatServer, member: &'static str) -> (ProgramResult, usize) {
    let server = ModelServer::start(move |request| {
        if !comes_back(&request.json, member) {
            let message =
                format!("The `{member}` in the thinking mode must be passed back to the API.");
            return refusal(ServedApi::OpenaiChat, "", &message);
        }
        let last = request.json["messages"].as_array().unwrap().last().unwrap();
        let reply = ModelReply::new("reply")
            .number(request.number + 1)
            .chat_server(chat);
        let reply = if last["role"] == "user" {
            let id = format!("call_{}", request.number);
            let list = r#"{"path":"."}"#;
            reply
                .reasoning(format!("So {id}."))
                .call(&id, "list_files", list)
                .call(&format!("{id}b"), "list_files", list)
        } else {
            reply.reasoning("So it is.").text("Done.")
        };
        reply.reply(ServedApi::OpenaiChat)
    });
    let world = TestWorld::new();
    world.user_config(&format!(
        "[providers.{provider}]\napi = 'openai-chat'\nbase_url = 'http://{}/v1'\n",
        server.address()
    ));
    let model = format!("{provider}/thinker");
    world.listed(&model, &server.url(ServedApi::OpenaiChat));
    let run = |message: &str, args: &[&str]| {
        let all = [&["run", "--trust", "-m", model.as_str()], args, &[message]].concat();
        start(&mut world.command(&all)).end().exits(0)
    };
    run("Go.", &[]);
    let done = run("On.", &["--continue"]);
    (done, server.received().len())
}

#[test]
fn reasoning_goes_back_to_whoever_sent_it_in_the_member_in_which_it_came() {
    for provider in ["deepseek", "gateway", "local"] {
        for (chat, member) in [
            (ChatServer::LlamaCpp, "reasoning_content"),
            (ChatServer::Vllm, "reasoning"),
        ] {
            let (done, requests) = wants_it_back(provider, chat, member);
            assert_eq!(done.stdout, "Done.\n", "{provider} {member}");
            assert_eq!(requests, 4, "{provider} {member}: {}", done.stderr);
        }
    }
}

//! What a tool is given, and whom it asks.

use serde_json::{Value, json};

use super::{ALLOWED, calls, define, example, told, with_text, world};
use crate::{
    lsp::client::{Client, answer, nobody, prompts},
    world::TestWorld,
};

/// Asks for a place, and says what it was told.
const ASKS: &str = r#"
    call=$(cat)
    case $call in
    *'"answers":{}'*) printf '%s' '{"type":"needs_input","question":{"id":"to","text":"Where?\nThe second line.","answer_type":{"type":"select","options":["a","b"]},"default":"a"}}' ;;
    *) printf '%s' "$call" ;;
    esac
"#;

/// Unasked, in the editor.
fn unasked(keys: &str) -> String {
    format!("unsandboxed = true\nconversation.mode = 'auto'\n{keys}")
}

/// The world of the example in Python, whose tool asks in the editor.
fn deploy(keys: &str) -> TestWorld {
    let world = TestWorld::new();
    define(&world, "deploy", &["python3", &example("deploy.py")], keys);
    let config = world.folder().join("config/aside/aside.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    world.user_config(&unasked(&text));
    world
}

#[test]
fn the_example_in_python_asks_in_the_editor() {
    let world = deploy(
        "options.places = ['here', 'production']\nquestions.place.prompt_label = 'Destination'",
    );
    let script = calls("deploy", &[json!({"service": "web"})]);
    let mut client = Client::start(&world, &script, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let mut seen = Vec::new();
    let (_, end) = client.play(&turn, |prompt| {
        seen.push(prompt.clone());
        match seen.len() {
            1 => answer("production"),
            _ => answer(true),
        }
    });
    assert_eq!(end["answer"], "Done.");
    let [place, sure] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(place["text"], "Where should web go?");
    assert_eq!(place["label"], "Destination");
    assert_eq!(place["source"], json!({"type": "tool", "name": "deploy"}));
    assert_eq!(
        place["answerType"]["options"],
        json!(["here", "production"])
    );
    assert_eq!(sure["exclusive"], true);
    assert_eq!(world.log().told("call1"), "web is in production.");
}

#[test]
fn an_exclusive_question_fails_where_nobody_is_there() {
    let world = deploy("questions.place.answer = 'production'");
    let script = calls("deploy", &[json!({"service": "web"})]);
    world.run(&script, &ALLOWED).exits(0);
    let log = world.log();
    let nobody = "deploy cannot run because no interactive client is attached.";
    log.told_begins("call1", nobody);
    let ends: Vec<&Value> = log.all("inquiry_response");
    assert_eq!(
        [&ends[0]["by"], &ends[1]["reason"]],
        ["config", "no_prompt_backend"]
    );
}

#[test]
fn arguments_are_checked_before_the_program_starts() {
    let world = TestWorld::new();
    define(&world, "mine", &["touch", "started"], "");
    let config = world.folder().join("config/aside/aside.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let parameters = "parameters = { type = 'object', required = ['n'] }";
    world.user_config(&text.replace("parameters = { type = 'object' }", parameters));
    assert_eq!(
        told(&world, &[]),
        "Invalid arguments for mine: \"n\" is a required property."
    );
    assert!(!world.at("started").exists());
}

#[test]
fn a_tool_is_given_the_call_its_answers_and_its_options() {
    let world = world(ASKS, "options = { deep = { n = 1 } }");
    let script = calls("mine", &[json!({"n": 3})]);
    let args = [&ALLOWED[..], &["--answer", "mine.to=b"]].concat();
    world.run(&script, &args).exits(0);
    let log = world.log();
    let given: Value = serde_json::from_str(log.told("call1")).unwrap();
    let turn = log.one("turn_start")["turn"].clone();
    let root = world.at("").canonicalize().unwrap();
    let expected = json!({
        "name": "mine",
        "arguments": {"n": 3},
        "answers": {"to": "b"},
        "options": {"deep": {"n": 1}},
        "context": {"root": root, "conversation": world.conversation(), "turn": turn},
    });
    assert_eq!(given, expected);
    let asked = &log.one("inquiry_request")["question"];
    assert_eq!(
        [&asked["text"], &asked["context"]],
        ["Where?", "The second line."]
    );
}

#[test]
fn what_is_set_of_a_question_counts() {
    let check = |keys: &str, args: &[&str], expected: &str| {
        let told = told(&world(ASKS, keys), args);
        assert!(told.contains(expected), "{keys} {args:?}: {told}");
    };
    check("questions.to.answer = 'b'", &[], r#""answers":{"to":"b"}"#);
    check(
        "questions.to.answer = 'c'",
        &[],
        "the configured conversation.tools.mine.questions.to.answer value does not match",
    );
    check(
        "questions.to = { exclusive = true, target = 'assistant' }",
        &[],
        "mine requires a human answer and cannot be routed to the assistant.",
    );
    check(
        "",
        &["--detached", "tool=defaults"],
        r#""answers":{"to":"a"}"#,
    );
    check(
        "detached.tool = 'deny'",
        &[],
        "mine needs an answer that the current policy does not allow.",
    );
}

#[test]
fn permission_is_asked_for_what_is_shown_and_always_holds_for_that_alone() {
    let world = world("echo done", "");
    let script = calls("mine", &[json!({"n": 1}), json!({"n": 1}), json!({"n": 2})]);
    let mut client = Client::start(&world, &script, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let mut seen = Vec::new();
    client.play(&turn, |prompt| {
        seen.push(prompt.clone());
        answer("always")
    });
    assert_eq!(seen.len(), 2, "{seen:?}");
    let shown = seen[0]["preview"]["text"].as_str().unwrap();
    let script = world.folder().join("scripts/mine.sh");
    let root = world.at("").canonicalize().unwrap();
    let expected = format!(
        "sh {}\nin {}\nwith {{\n  \"n\": 1\n}}",
        script.display(),
        root.display()
    );
    assert_eq!(shown, expected);
    assert_eq!(world.log().told("call3"), "done");
    client.leave();

    // The same call needs no person any more, unless the definition is another one.
    let mut client = Client::start(&world, &calls("mine", &[json!({"n": 2})]), prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(&turn, nobody);
    client.leave();
    define(
        &world,
        "mine",
        &["sh", script.to_str().unwrap()],
        "options = { force = true }",
    );
    let mut client = Client::start(&world, &calls("mine", &[json!({"n": 2})]), prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let mut asked = 0;
    client.play(&turn, |_| {
        asked += 1;
        answer("no")
    });
    assert_eq!(asked, 1);
}

#[test]
fn before_trust_no_tool_of_a_workspace_is_there_and_none_of_the_users_runs() {
    let check = |args: &[&str], theirs: &str, own: &str| {
        let world = world("touch own; echo own", "");
        let lint = "[conversation.tools.lint]\nsource = 'local'\ncommand = ['sh', 'lint.sh']\n";
        world.write("aside.toml", lint);
        world.write("lint.sh", "touch theirs; echo theirs");
        let script = r#"
            [[reply]]
            say = [{ call = "lint", id = "theirs", arguments = {} }, { call = "mine", id = "own", arguments = {} }]
            [[reply]]
            say = [{ text = "Done." }]
        "#;
        world.run(script, args).exits(0);
        let log = world.log();
        assert_eq!([log.told("theirs"), log.told("own")], [theirs, own]);
        assert_eq!(world.at("theirs").exists(), theirs == "theirs");
        assert_eq!(world.at("own").exists(), own == "own");
    };
    check(&ALLOWED, "theirs", "own");
    check(
        &ALLOWED[1..],
        "There is no tool lint.",
        "mine is not allowed here (workspace not trusted). Do not retry it in this turn.",
    );
}

#[test]
fn a_secret_reaches_the_tool_and_nothing_else() {
    const SECRET: &str = "canary-4711";
    // It says it in every way, and more than is shown to the model.
    const TELLS: &str = r#"
        call=$(cat)
        secret=$(echo "$call" | sed -n 's/.*"pw":"\([^"]*\)".*/\1/p')
        case $call in
        *'"sure":'*) seq 1 9000; echo "it is $secret"; seq 1 9000; echo "err $secret" >&2; printf '%s' "$secret" | wc -c ;;
        *'"pw":'*) echo "{\"type\":\"needs_input\",\"question\":{\"id\":\"sure\",\"text\":\"Is $secret right?\",\"answer_type\":{\"type\":\"select\",\"options\":[\"yes\",\"$secret\"]}}}" ;;
        *) echo '{"type":"needs_input","question":{"id":"pw","text":"Password?","answer_type":"Secret"}}' ;;
        esac
    "#;
    let tells = TELLS.replace(
        "\"answer_type\":\"Secret\"",
        "\"answer_type\":{\"type\":\"secret\"}",
    );
    let world = world(&tells, "");
    let config = world.folder().join("config/aside/aside.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    world.user_config(&unasked(&text));
    let script = calls("mine", &[json!({}), json!({})]);
    let hides =
        json!({ "experimental": { "aside": { "version": 1, "prompt": true, "secret": true } } });
    let mut client = Client::traced(&world, &script, hides);
    let turn = client.turn(json!({ "message": "Go" }));
    let mut seen = String::new();
    let (updates, _) = client.play(&turn, |prompt| {
        seen += &prompt.to_string();
        match prompt["answerType"]["type"].as_str() {
            Some("secret") => answer(SECRET),
            _ => answer("yes"),
        }
    });
    seen += &json!(updates).to_string();
    assert!(seen.contains("Is [secret] right?"), "{seen}");
    assert!(!seen.contains(SECRET), "{seen}");
    client.leave();
    assert!(
        world.log().told("call1").ends_with("\n11"),
        "{}",
        world.log().told("call1")
    );
    let logged = std::fs::read_to_string(world.folder().join("trace.log")).unwrap();
    assert!(logged.contains(" INFO aside"), "{logged}");
    assert_eq!(with_text(world.folder(), SECRET), [""; 0]);
}

#[test]
fn a_secret_cannot_be_given_beforehand() {
    const ASKS: &str = r#"echo '{"type":"needs_input","question":{"id":"pw","text":"?","answer_type":{"type":"secret"}}}'"#;
    let world = world(ASKS, "");
    let told = told(&world, &["--answer", "mine.pw=hunter2"]);
    assert_eq!(
        told,
        "mine: conversation.tools.mine.questions.pw.answer cannot answer the question: a secret cannot be given \
         beforehand, there or with --answer. Take it out, and type it when it is asked for, at a terminal or in an \
         editor. Update the configuration; do not retry."
    );
}

#[test]
fn a_secret_that_is_in_the_words_of_the_protocol_breaks_nothing() {
    const TELLS: &str = r#"
        case $(cat) in
        *'"sure":'*) echo '{"type":"success","content":"Bob1 has 1 text."}' ;;
        *'"pw":'*) echo '{"type":"needs_input","question":{"id":"sure","text":"Is the text right?","answer_type":{"type":"boolean"}}}' ;;
        *) echo '{"type":"needs_input","question":{"id":"pw","text":"Password?","answer_type":{"type":"secret"}}}' ;;
        esac
    "#;
    let hides =
        json!({ "experimental": { "aside": { "version": 1, "prompt": true, "secret": true } } });
    for (secret, asked, told) in [
        ("e", "Is the text right?", "Bob1 has 1 text."),
        ("1", "Is the text right?", "Bob1 has [secret] text."),
        ("text", "Is the [secret] right?", "Bob1 has 1 [secret]."),
    ] {
        let world = world(TELLS, "");
        let config = world.folder().join("config/aside/aside.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        world.user_config(&unasked(&text));
        let mut client = Client::start(&world, &calls("mine", &[json!({})]), hides.clone());
        let turn = client.turn(json!({ "message": "Go" }));
        let mut seen = vec![];
        client.play(&turn, |prompt| {
            seen.push(prompt["text"].as_str().unwrap().to_owned());
            match prompt["answerType"]["type"].as_str() {
                Some("secret") => answer(secret),
                _ => answer(true),
            }
        });
        client.leave();
        assert_eq!(seen, ["Password?", asked], "{secret}");
        assert_eq!(world.log().told("call1"), told, "{secret}");
    }
}

#[test]
fn what_is_set_for_a_question_that_nobody_asks_is_named_with_those_that_are_asked() {
    let script = calls("mine", &[json!({})]);
    let unasked = [&ALLOWED[..], &["--detached", "defaults"]].concat();
    let run =
        |keys: &str, args: &[&str]| world(ASKS, keys).run(&script, &[&unasked, args].concat());
    let misspelt = "refused: mine: --answer mine.too was not used: mine asked to; correct the id";
    run("", &["--answer", "mine.too=b"]).exits(0).says(misspelt);
    run("", &["--answer", "mine.too=b", "--strict"])
        .exits(3)
        .says(misspelt);
    let right = run("", &["--answer", "mine.to=b", "--strict"]).exits(0);
    assert!(!right.stderr.contains("was not used"), "{right:?}");
    let json = run("", &["--answer", "mine.too=b", "--output", "json"]).exits(0);
    assert_eq!(json.json()["refusals"][0]["reason"], "unused_answer");

    let key = "questions.too.prompt_label = 'X'";
    run(key, &["--strict"])
        .exits(3)
        .says("conversation.tools.mine.questions.too was not used: mine asked to; correct the id");
    // It may be asked another time.
    let both = format!("{key}\nquestions.to.prompt_label = 'Y'");
    run(&both, &["--strict"]).exits(0);
}

#[test]
fn questions_of_one_step_share_one_request_however_slowly_their_tools_begin_to_ask() {
    const ASKS_LATE: &str = r#"
        call=$(cat)
        case $call in
        *'"answers":{}'*)
            sleep "$(echo "$call" | sed -n 's/.*"wait":\([0-9.]*\).*/\1/p')"
            echo '{"type":"needs_input","question":{"id":"to","text":"Where?","answer_type":{"type":"select","options":["a","b"]}}}' ;;
        *) echo '{"type":"success","content":"done"}' ;;
        esac
    "#;
    let asked = |waits: [f64; 3]| {
        let world = world(ASKS_LATE, "questions.to.target = 'assistant'");
        let usage = json!({ "input": 1000, "output": 5, "cost": 0.05 });
        let call = |wait| json!({ "call": "mine", "arguments": { "wait": wait } });
        let script = json!({ "reply": [
            { "say": waits.map(call), "usage": usage },
            { "repeat": true, "answer": "a", "usage": usage },
            { "say": [{ "text": "Done." }], "usage": usage },
        ] });
        let args = [&ALLOWED[..], &["--output", "json"]].concat();
        let done = world
            .run(&toml::to_string(&script).unwrap(), &args)
            .exits(0);
        let told: Value = serde_json::from_str(&done.stdout).unwrap();
        told["usage"]["inputTokens"].clone()
    };
    // The call, one inquiry, and the end.
    assert_eq!(asked([0.0, 0.3, 0.6]), 3000);
}

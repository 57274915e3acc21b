//! Settings that could not count, and money that could not be bounded.

use serde_json::{Value, json};

use crate::world::TestWorld;

const SAYS: &str = "9 times 'Done.'";

#[track_caller]
fn refused(config: &str, args: &[&str], says: &str) {
    let world = TestWorld::new();
    world.user_config(config);
    let done = world.run(SAYS, args).exits(2).says(says);
    assert!(world.conversations().is_empty(), "{done:?}");
}

#[test]
fn what_could_not_count_says_so_wherever_the_configuration_is_read() {
    let server = "[mcp.servers.db]\ncommand = 'db'\nurl = 'https://example.com'\n";
    let says = "`mcp.servers.db.url` connects to nothing: the server is a program, its `command`";
    refused(server, &[], says);
    let world = TestWorld::new();
    world.user_config(server);
    world.aside(&["config", "show"]).exits(2).says(says);
    let doctor = world.aside(&["doctor"]).exits(1);
    assert!(doctor.stdout.contains(says), "{doctor:?}");
    let tool = "[conversation.tools.mine]\nsource = 'local'\n";
    refused(
        tool,
        &[],
        "`conversation.tools.mine.source` makes no tool: it names no program",
    );
    let taken = "[conversation.tools.search]\nsource = 'local'\ncommand = ['true']\n";
    refused(
        taken,
        &[],
        "there are two tools `search`; rename one of them",
    );
}

#[test]
fn a_name_that_is_mistyped_sets_nothing_and_says_so() {
    refused(
        "",
        &["--answer", "edit_file.occurence=2"],
        "--answer edit_file.occurence=… answers no question: `edit_file` has no question `occurence`; did you mean `occurrence`?",
    );
    refused(
        "",
        &["--answer", "read_file.which=2"],
        "--answer read_file.which=… answers no question: `read_file` asks no questions",
    );
    refused(
        "[conversation.tools.edit_file.questions.occurence]\nanswer = 'all'\n",
        &[],
        "conversation.tools.edit_file.questions.occurence has no effect",
    );
    refused(
        "[conversation.tools.run_comand]\nrun = 'deny'\n",
        &[],
        "conversation.tools.run_comand has no effect: there is no tool `run_comand`; did you mean `run_command`?",
    );
}

#[test]
fn what_is_set_of_a_tool_that_is_not_there_is_said() {
    let said = |name: &str| {
        let world = TestWorld::new();
        world.user_config(&format!("[conversation.tools.{name}]\nrun = 'deny'\n"));
        let done = world.run(SAYS, &[]).exits(0);
        done.stderr.contains(&format!(
            "conversation.tools.{name} has no effect here: there is no tool `{name}`"
        ))
    };
    assert!(said("run_shell"));
    assert!(!said("run_command"));
    assert!(!said("forge__push"));
    assert!(!said("editor_symbols"));
}

#[test]
fn a_command_rule_that_can_speak_of_no_command_is_wrong_configuration() {
    let world = TestWorld::new();
    world.user_config("[commands]\ndeny = ['curl *']\n");
    let done = world.run(SAYS, &[]).exits(2);
    let said = "`commands.deny` has the rule \"curl *\", which speaks of no command: there are no wildcards";
    assert!(done.stderr.contains(said), "{done:?}");
}

#[test]
fn two_answers_for_one_prompt_are_wrong_usage() {
    let world = TestWorld::new();
    let twice = |one: &str, other: &str, id: &str, args: &[&str]| {
        let args = [&["run", "--answer", one, "--answer", other], args].concat();
        let done = world.aside(&args).exits(2);
        let said = format!("--answer {id} was given twice");
        assert!(done.stderr.contains(&said), "{done:?}");
    };
    twice("p1=yes", "p1=no", "p1", &["--resume"]);
    twice(
        "ask_user.answer=a",
        "ask_user.answer=b",
        "ask_user.answer",
        &["Go"],
    );
}

#[test]
fn all_tools_are_turned_off_but_those_that_are_named() {
    let tools = |config: &str| -> Vec<String> {
        let world = TestWorld::new();
        world.user_config(config);
        world.run(SAYS, &[]).exits(0);
        let first = world.log().one("conversation").clone();
        let tools = first["tools"].as_array().unwrap().iter();
        tools
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(tools("").contains(&"read_file".to_owned()));
    let off = "[conversation.tools.defaults.enable]\nstate = false\n";
    let left = tools(off);
    assert!(left.contains(&"ask_user".to_owned()), "{left:?}");
    assert!(!left.contains(&"read_file".to_owned()), "{left:?}");
    let one = tools(&format!(
        "{off}[conversation.tools.search]\nenable = true\n"
    ));
    assert!(one.contains(&"search".to_owned()), "{one:?}");
}

#[test]
fn a_bound_of_the_cost_is_refused_where_no_price_is_known() {
    let world = TestWorld::new();
    let provider = "[providers.mine]\napi = 'openai-chat'\nbase_url = 'http://127.0.0.1:9'\n";
    world.user_config(provider);
    let run = |args: &[&str]| {
        let model = [
            "run",
            "-m",
            "mine/m",
            "--set",
            "conversation.limits.retries=0",
            "Go",
        ];
        world.aside(&[&model[..], args].concat())
    };
    let done = run(&["--max-cost", "0.5", "--output", "json"]).exits(2);
    let end = done.json();
    assert_eq!(end["error"]["code"], "usage");
    let message = end["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "the cost limit of $0.5 (conversation.limits.cost_usd, --max-cost) cannot be enforced with mine/m"
        ),
        "{message}"
    );
    assert!(world.conversations().is_empty());
    // With a price, and without the bound, it is asked, and is not there.
    run(&[]).exits(1);
    world.user_config(&format!(
        "{provider}[providers.mine.models.m]\nprices = {{ input = 1, output = 2 }}\n"
    ));
    run(&["--max-cost", "0.5"]).exits(1);
    // What answers questions is paid for, too.
    let other = ["--set", "conversation.inquiry.assistant.model=mine/other"];
    run(&[&other[..], &["--max-cost", "0.5"]].concat())
        .exits(2)
        .says("cannot be enforced with mine/other");
}

#[test]
fn a_model_that_an_untrusted_workspace_names_is_said_to_be_ignored() {
    let world = TestWorld::new();
    world.write("aside.toml", "[assistant]\nmodel = 'rehearsal/hello'\n");
    world.aside(&["run", "Go"]).exits(6).says(
        "the workspace's own `assistant.model` is ignored, because the workspace is not trusted",
    );
    world.aside(&["run", "--trust", "Go"]).exits(0);
}

/// Questions that nobody is asked are updates like any other, and say who answered.
#[test]
fn answers_by_configuration_and_by_default_are_told() {
    let script = r#"
        ask_user { question = "Which?", answer_type = "select", options = ["red", "blue"] }
        "Well."
    "#;
    let told = |args: &[&str]| -> Vec<Value> {
        let world = TestWorld::new();
        let done = world
            .run(script, &[args, &["--output", "jsonl"]].concat())
            .exits(0);
        let lines = done.lines();
        let updates = lines.iter().map(|line| line["params"]["update"].clone());
        let told: Vec<Value> = updates.filter(|it| it["kind"] == "question").collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(
            [&told[0]["label"], &told[0]["text"]],
            ["Assistant", "Which?"]
        );
        assert_eq!(told[0]["promptId"], told[1]["promptId"]);
        told
    };
    let fits = told(&["--answer", "ask_user.answer=red"]);
    assert_eq!(
        [&fits[1]["answer"], &fits[1]["by"]],
        [&json!("red"), &json!("config")]
    );
    let unfit = told(&["--answer", "ask_user.answer=green"]);
    assert_eq!(unfit[1]["reason"], "invalid_static_answer");

    let world = TestWorld::new();
    world
        .run(script, &["--answer", "ask_user.answer=green"])
        .exits(0)
        .says("? Assistant: Which? no answer (the configured answer does not fit)");
    world
        .run(script, &["--answer", "ask_user.answer=red"])
        .exits(0)
        .says("? Assistant: Which? red (configured)");
}

/// What the assistant wants to know is asked at once: nobody is asked whether somebody may be asked.
#[test]
fn the_assistant_s_question_needs_no_permission_whatever_the_defaults_are() {
    let world = TestWorld::new();
    world.user_config("[conversation.tools.defaults]\nrun = 'ask'\nresult = 'ask'\n");
    let script = r#"
        ask_user { question = "Which?" }
        "Well."
    "#;
    let flags = ["--detached", "stop", "--output", "json"];
    let end = world.run(script, &flags).exits(4).json();
    let prompts = end["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 1, "{end:#}");
    assert_eq!(prompts[0]["kind"], "question");
    let answer = format!("{}=this", prompts[0]["promptId"].as_str().unwrap());
    world
        .aside(&["run", "--resume", "--answer", &answer])
        .exits(0)
        .writes("Well.\n");
}

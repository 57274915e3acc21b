use aside_config::flags::DetachedKind;
use aside_test_table::rows;
use aside_turn::rules::DetachedMode;

use super::*;

/// Splits a line at blanks and parses it; `_` in a word stands for a blank.
fn line(line: &str) -> Result<Cli, Stop> {
    let words = line
        .split(' ')
        .map(|word| OsString::from(word.replace('_', " ")));
    parse([OsString::from("aside")].into_iter().chain(words))
}

#[track_caller]
fn run(text: &str) -> RunArgs {
    match line(&format!("run {text}")) {
        Ok(Cli {
            command: Command::Run(run),
            ..
        }) => *run,
        other => panic!("{text}: {other:?}"),
    }
}

/// Checks a table of command lines and the error that each is.
#[track_caller]
fn wrong(table: &str) {
    for [text, expected] in rows(table) {
        match line(text) {
            Err(Stop::Usage(said)) => assert_eq!(said, expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

fn on(name: &str) -> Toggle {
    Toggle::On(name.into())
}

fn off(name: &str) -> Toggle {
    Toggle::Off(name.into())
}

#[test]
fn definition_is_valid() {
    Cli::command().debug_assert();
}

#[test]
fn tools_are_turned_on_and_off_in_order() {
    use Toggle::AllOff;
    let check = |text, expected: &[Toggle], prompt: Option<&str>| {
        let run = run(text);
        assert_eq!(run.tools.0, expected, "{text}");
        assert_eq!(run.message.as_deref(), prompt, "{text}");
    };
    check("hello", &[], Some("hello"));
    check("-t search hello", &[on("search")], Some("hello"));
    check(
        "-T -t search -- hello",
        &[AllOff, on("search")],
        Some("hello"),
    );
    check("-t search -T hello", &[on("search"), off("hello")], None);
    check(
        "-t search -T -- hello",
        &[on("search"), AllOff],
        Some("hello"),
    );
    check(
        "-t a -T b -t c -T -t d hello",
        &[on("a"), off("b"), on("c"), AllOff, on("d")],
        Some("hello"),
    );
    check("-T -T -t a", &[AllOff, AllOff, on("a")], None);
    check(
        "--no-tool --tool a --no-tool=b",
        &[AllOff, on("a"), off("b")],
        None,
    );
    check("hello -T", &[AllOff], Some("hello"));
    check("-Tb -ta", &[off("b"), on("a")], None);
    check("-T -- -", &[AllOff], Some("-"));
}

#[test]
fn invalid_tool_names_are_rejected() {
    wrong("
        run -t fix_it | invalid value 'fix it' for '--tool <NAME>': a tool name has 1 to 64 letters, digits, underscores and hyphens
        run -T fix_the_bug | invalid value 'fix the bug' for '--no-tool [<NAME>]': a tool name has 1 to 64 letters, digits, underscores and hyphens; write -T -- to turn off all tools before the message
        run -T - | invalid value '-' for '--no-tool [<NAME>]': write -T -- to turn off all tools before the message
    ");
    assert!(matches!(
        line(&format!("run -t {}", "x".repeat(65))),
        Err(Stop::Usage(_))
    ));
}

#[test]
fn answers_name_a_question_or_an_open_prompt() {
    let question = |tool: &str, question: &str, value: &str| AnswerFlag::Configured {
        tool: tool.into(),
        question: question.into(),
        text: value.into(),
    };
    assert_eq!(
        run("--answer edit.backup=true").answers,
        [question("edit", "backup", "true")]
    );
    assert_eq!(
        run("--answer edit.a.b=c=d.e x").answers,
        [question("edit", "a.b", "c=d.e")]
    );
    assert_eq!(
        run("--answer edit.note=").answers,
        [question("edit", "note", "")]
    );
    assert_eq!(
        run("--resume --answer p17=yes.no --answer edit.a=b").answers,
        [
            AnswerFlag::Prompt {
                id: "p17".into(),
                text: "yes.no".into()
            },
            question("edit", "a", "b")
        ],
    );
    wrong(
        "run --answer p17=yes | --answer p17=… answers an open prompt and needs --resume; to answer in advance, write --answer TOOL.QUESTION=VALUE",
    );
    for bad in ["yes", "=yes", "edit.=yes", ".backup=yes"] {
        assert!(
            matches!(line(&format!("run --answer {bad}")), Err(Stop::Usage(_))),
            "{bad}"
        );
    }
}

#[test]
fn detached_policies_are_set_by_kind() {
    use DetachedMode::{Deny, Stop as StopThere};
    let rule = |kind, mode| DetachedFlag { kind, mode };
    assert_eq!(
        run("--detached stop --detached run=deny").detached,
        [rule(None, StopThere), rule(Some(DetachedKind::Run), Deny)],
    );
    wrong("
        run --detached ask=deny | invalid value 'ask=deny' for '--detached <MODE | KIND=MODE>': `ask` is not a kind of prompt; use run, deliver or tool
        run --detached yes | invalid value 'yes' for '--detached <MODE | KIND=MODE>': `yes` is not a mode; use auto, defaults, deny or stop
    ");
}

#[test]
fn files_are_attached_whole_or_by_lines() {
    let check = |text: &str, path: &str, lines| {
        let attach = vec![Attach {
            path: path.into(),
            lines,
        }];
        assert_eq!(run(&format!("--attach {text}")).attach, attach, "{text}");
    };
    check("src/main.rs", "src/main.rs", None);
    check("src/main.rs:3-10", "src/main.rs", Some((3, 10)));
    check("C:notes:7-7", "C:notes", Some((7, 7)));
    check("odd:name", "odd:name", None);
    check("odd:3", "odd:3", None);
    check("odd:a-b", "odd:a-b", None);
    check(":1-2", ":1-2", None);
    for bad in ["a:0-1", "a:5-4", "a:1-99999999999"] {
        wrong(&format!(
            "run --attach {bad} | invalid value '{bad}' for '--attach <PATH[:FROM-TO]>': line numbers start \
             at 1, and FROM must not exceed TO"
        ));
    }
}

#[test]
fn limits_are_parsed_with_units() {
    let Err(Stop::Usage(nothing)) = line("run --timeout 0s") else {
        panic!("no time is no time");
    };
    assert!(nothing.contains("a positive duration"), "{nothing}");
    assert_eq!(run("--timeout 90s").timeout, Some(Duration::from_secs(90)));
    assert_eq!(run("--timeout 5m").timeout, Some(Duration::from_secs(300)));
    assert_eq!(
        run("--timeout 1h30m").timeout,
        Some(Duration::from_secs(5400))
    );
    for bad in ["90", "0s", "-5m", "soon"] {
        assert!(
            matches!(line(&format!("run --timeout={bad}")), Err(Stop::Usage(_))),
            "{bad}"
        );
    }
    assert_eq!(run("--max-cost 0.5").max_cost, Some(0.5));
    for bad in ["0", "-1", "NaN", "inf", "much"] {
        assert!(
            matches!(line(&format!("run --max-cost={bad}")), Err(Stop::Usage(_))),
            "{bad}"
        );
    }
    assert_eq!(run("--max-steps 7").max_steps, Some(7));
    assert!(matches!(line("run --max-steps 0"), Err(Stop::Usage(_))));
}

#[test]
fn other_values_are_parsed() {
    let all = run(
        "--tool-choice required --mode plan --output jsonl --set a.b=c=d -m x/y --strict fix_it",
    );
    assert_eq!(all.tool_choice, Some(ToolChoice::Required));
    assert_eq!(all.mode, Some(Mode::Plan));
    assert_eq!(all.output, Output::Jsonl);
    assert_eq!(all.settings, ["a.b=c=d"]);
    assert_eq!(all.model.as_deref(), Some("x/y"));
    assert!(all.strict);
    assert_eq!(all.message.as_deref(), Some("fix it"));
    assert_eq!(
        run("--tool-choice search").tool_choice,
        Some(ToolChoice::Name("search".into()))
    );
    assert_eq!(
        run("--schema answer.json").schema,
        Some(Schema::File("answer.json".into()))
    );
    let schema = serde_json::json!({"type": "object"});
    assert_eq!(
        run(r#"--schema {"type":"object"}"#).schema,
        Some(Schema::Json(schema))
    );
    assert!(matches!(line("run --schema {"), Err(Stop::Usage(_))));
    wrong(
        "run --mode yolo | invalid value 'yolo' for '--mode <MODE>' [possible values: ask, edits, plan, auto]",
    );
}

#[test]
fn turns_belong_to_one_conversation() {
    assert_eq!(run("-c c1 hello").which.conversation.as_deref(), Some("c1"));
    assert!(run("--continue hello").which.r#continue);
    assert!(run("--resume").which.resume);
    let both = run("-c c1 --resume").which;
    assert!(both.resume && both.conversation.as_deref() == Some("c1"));
    wrong("
        run --continue --resume | the argument '--continue' cannot be used with '--resume'
        run -c c1 --continue | the argument '--conversation <ID>' cannot be used with '--continue'
        run --resume hello | --resume continues the interrupted turn and accepts no message; to send a message, use --continue
    ");
}

#[test]
fn every_command_is_parsed() {
    for text in [
        "demo",
        "conversation list",
        "conversation show",
        "conversation show c1",
        "conversation export c1 -o x.md",
        "conversation rename c1 title",
        "conversation fork c1 --turn t1",
        "conversation undo",
        "conversation undo c1 --turn t1",
        "conversation delete c1",
        "config show",
        "config show assistant.model",
        "config schema",
        "model list",
        "trust",
        "trust --revoke",
        "trust --yes",
        "approvals list",
        "approvals revoke 3f2a",
        "doctor",
        "completions bash",
        "man pages",
        "doctor --cwd elsewhere --log-file log",
    ] {
        assert!(line(text).is_ok(), "{text}: {:?}", line(text));
    }
}

#[test]
fn errors_are_one_sentence() {
    wrong(
        r#"
        run --stirct | unexpected argument '--stirct' found; a similar argument exists: '--strict'
        conversation delete | the following required arguments were not provided: <ID>; aside conversation delete --help says what it takes
        hi | unrecognized subcommand 'hi'; a message goes behind run, in quotes: aside run "…"
        conversation rename | the following required arguments were not provided: <ID>; <TITLE>; aside conversation rename --help says what it takes
        conversation hi | unrecognized subcommand 'hi'; aside conversation --help says what it takes
        doctor --zz | unexpected argument '--zz' found; aside doctor --help says what it takes
        rum | unrecognized subcommand 'rum'; a similar subcommand exists: 'run'
        run one two | unexpected argument 'two' found; put a message of several words in quotes: aside run "…"
        run --output xml | invalid value 'xml' for '--output <OUTPUT>' [possible values: text, json, jsonl]
    "#,
    );
    for (command, first) in [
        ("aside", "run"),
        ("aside mcp", "list"),
        ("aside config", "show"),
    ] {
        let given = command.split(' ').map(OsString::from);
        let expected = format!(
            "a command is missing, such as {command} {first}; {command} --help lists all commands"
        );
        match parse(given) {
            Err(Stop::Usage(said)) => assert_eq!(said, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn help_and_version_are_not_errors() {
    let version = format!("aside {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(line("--version").err(), Some(Stop::Show(version)));
    assert!(
        matches!(line("run --help"), Err(Stop::Show(text)) if text.contains("--non-interactive"))
    );
}

#[test]
fn completions_name_the_commands() {
    let script = String::from_utf8(completions(clap_complete::Shell::Bash)).expect("text");
    assert!(script.contains("conversation") && script.contains("--non-interactive"));
}

#[test]
fn each_command_has_a_man_page() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("share/man1");
    man_pages(&folder).expect("pages");
    for (page, part) in [
        ("aside.1", "aside\\-run(1)"),
        ("aside-run.1", "non\\-interactive"),
        ("aside-conversation-list.1", "List"),
    ] {
        let text = fs::read_to_string(folder.join(page)).expect(page);
        assert!(text.contains(part), "{page}: {text}");
    }
}

#[test]
fn quick_lsp_parser_agrees_with_the_complete_one() {
    let read = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
    for text in ["aside lsp", "aside lsp --stdio"] {
        let (args, parsed) = (read(text), Cli::try_parse_from(read(text)).unwrap());
        let found = plain_lsp(&args).map(|cli| format!("{cli:?}"));
        assert_eq!(found, Some(format!("{parsed:?}")));
    }
    for text in [
        "aside",
        "aside run",
        "aside lsp --help",
        "aside lsp --stdio --stdio",
    ] {
        assert!(plain_lsp(&read(text)).is_none(), "{text}");
    }
}

#[test]
fn output_format_is_known_for_invalid_command_lines() {
    let check = |line: &str, expected| {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert_eq!(wanted_output(&words), expected, "{line}");
    };
    check("aside run Go", Output::Text);
    check("aside run --output json Go", Output::Json);
    check("aside run Go --output=jsonl --nonsense", Output::Jsonl);
    check("aside --cwd run run --no --output json", Output::Json);
    check("aside run --output json --output text", Output::Text);
    check("aside run --output xml", Output::Text);
    check("aside run --output", Output::Text);
    check("aside run -- --output json", Output::Text);
    check("aside model run --output json", Output::Text);
    check("aside", Output::Text);
}

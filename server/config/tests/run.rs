//! From settings to what counts for a run: which tools are on, the rules of a turn.

use std::collections::BTreeMap;

use aside_turn::rules;

use super::{
    super::flags::{AnswerFlag, DetachedFlag},
    *,
};

/// The tools that are on after directives such as `-T -t read_file`, or what is wrong.
#[track_caller]
fn check_tools(user: &str, directives: &str, expected: &str) {
    let settings = configure(&[("user", user)]).unwrap().settings;
    let mut toggles = Vec::new();
    let mut words = directives.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let name = words
            .next_if(|next| !next.starts_with('-'))
            .map(ToOwned::to_owned);
        toggles.push(match (word, name) {
            ("-t", Some(name)) => Toggle::On(name),
            ("-T", Some(name)) => Toggle::Off(name),
            ("-T", None) => Toggle::AllOff,
            other => panic!("{other:?}"),
        });
    }
    let known = ["ask_user", "read_file", "run_command"].map(ToOwned::to_owned);
    let found = enabled_tools(&settings, &toggles, &known);
    assert_eq!(
        found.map_or_else(|error| error, |names| names.join(" ")),
        expected,
        "{directives}"
    );
}

#[test]
fn directives_are_followed_in_order() {
    let rows = [
        ("", "ask_user read_file run_command"),
        ("-T", "ask_user"),
        ("-T -T ask_user", ""),
        ("-T ask_user", "read_file run_command"),
        ("-T -t read_file", "ask_user read_file"),
        ("-t read_file -T", "ask_user"),
        ("-T read_file", "ask_user run_command"),
        ("-T ask_user -t ask_user", "ask_user read_file run_command"),
        (
            "-T ask_usr",
            "there is no tool `ask_usr`; did you mean `ask_user`?",
        ),
        (
            "-t compile",
            "there is no tool `compile`; `aside config show conversation.tools` has the names of those there are",
        ),
    ];
    for (directives, expected) in rows {
        check_tools("", directives, expected);
    }
}

#[test]
fn never_cannot_be_toggled() {
    let off = "conversation.tools.run_command.enable = { state = false, allow_toggle = 'never' }";
    let fixed = |is: &str| {
        format!(
            "the tool `run_command` is {is} and stays so for any run, as \
             conversation.tools.run_command.enable.allow_toggle is \"never\"; change it in your aside.toml"
        )
    };
    check_tools(off, "", "ask_user read_file");
    check_tools(off, "-t run_command", &fixed("off"));
    check_tools(off, "-T run_command", &fixed("off"));
    check_tools(
        &format!("{off}\nassistant.tool_choice = 'run_command'"),
        "",
        &fixed("off"),
    );
    let on = "conversation.tools.run_command.enable.allow_toggle = 'never'";
    check_tools(on, "-T", "ask_user run_command");
    check_tools(on, "-T run_command", &fixed("on"));
    check_tools(
        &format!("{on}\nassistant.tool_choice = 'run_command'"),
        "-T",
        "ask_user run_command",
    );
}

#[test]
fn what_is_off_comes_back_by_name_or_by_a_forced_choice() {
    let off = "conversation.tools.defaults.enable = false";
    check_tools(off, "", "ask_user");
    check_tools(off, "-t read_file", "ask_user read_file");
    check_tools(
        &format!("{off}\nassistant.tool_choice = 'read_file'"),
        "",
        "ask_user read_file",
    );
    check_tools(
        &format!("{off}\nassistant.tool_choice = 'required'"),
        "",
        "ask_user",
    );
    check_tools(
        "assistant.tool_choice = 'red_file'",
        "",
        "there is no tool `red_file`; did you mean `read_file`?",
    );
    check_tools("conversation.tools.ask_user.enable = false", "-T", "");
    check_tools(
        "conversation.tools.read_file.enable.allow_toggle = 'always'",
        "-T",
        "ask_user",
    );
    check_tools(
        "conversation.tools.read_file.enable.allow_toggle = 'if_named'",
        "-T",
        "ask_user read_file",
    );
}

fn rules_of(user: &str, run: RunContext) -> rules::Rules {
    let tools = BTreeMap::from([("edit".to_owned(), ToolFacts::default())]);
    configure(&[("user", user)])
        .unwrap()
        .settings
        .rules(&RunContext { tools, ..run })
}

/// The detached modes of the tool `edit`, as `run deliver tool`.
#[track_caller]
fn check_detached(user: &str, flags: &[&str], expected: &str) {
    let detached = flags
        .iter()
        .map(|flag| DetachedFlag::parse(flag).unwrap())
        .collect();
    let rules = rules_of(
        user,
        RunContext {
            detached,
            ..RunContext::default()
        },
    );
    let rules::Detached { run, deliver, tool } = rules.tools["edit"].detached;
    assert_eq!(
        format!("{run:?} {deliver:?} {tool:?}").to_lowercase(),
        expected,
        "{user} {flags:?}"
    );
}

#[test]
fn of_detached_modes_the_first_match_wins() {
    check_detached("", &[], "deny deny auto");
    check_detached(
        "conversation.tools.defaults.detached = 'stop'",
        &[],
        "stop stop stop",
    );
    check_detached(
        "conversation.tools.defaults.detached.run = 'stop'",
        &[],
        "stop deny auto",
    );
    let both = "conversation.tools.defaults.detached = 'stop'\nconversation.tools.edit.detached.tool = 'defaults'";
    check_detached(both, &[], "stop stop defaults");
    check_detached(both, &["tool=deny"], "stop stop deny");
    check_detached(both, &["auto"], "auto auto auto");
    check_detached(both, &["auto", "run=deny"], "deny auto auto");
    check_detached(both, &["run=deny", "auto"], "auto auto auto");
    check_detached(
        "conversation.tools.other.detached = 'stop'",
        &[],
        "deny deny auto",
    );
}

#[test]
fn settings_become_the_rules_of_a_turn() {
    let user = "
        assistant.tool_choice = 'edit'
        conversation.mode = 'plan'
        conversation.limits = { steps = 3, cost_usd = 1.5, turn_seconds = 60 }
        conversation.inquiry = { strategy = 'forced_tool', assistant.model = 'a/small' }
        conversation.tools.defaults = { run = 'ask', result = 'ask' }
        [conversation.tools.edit]
        run = 'deny'
        questions.a = { answer = true, exclusive = false, prompt_label = 'A' }
        questions.b.target = 'assistant'
        questions.c.target.model = 'a/b'
    ";
    let answers = vec![
        AnswerFlag::parse("edit.a=no").unwrap(),
        AnswerFlag::parse("edit.d=2").unwrap(),
        AnswerFlag::parse("other.a=2").unwrap(),
        AnswerFlag::parse("p1=2").unwrap(),
    ];
    let rules = rules_of(
        user,
        RunContext {
            answers,
            ..RunContext::default()
        },
    );
    assert_eq!((rules.mode, rules.trusted), (rules::Mode::Plan, false));
    assert_eq!(rules.tool_choice, rules::ToolChoice::Name("edit".into()));
    assert_eq!((rules.limits.steps, rules.limits.cost), (3, Some(1.5)));
    assert_eq!(rules.limits.turn_time.map(|time| time.as_secs()), Some(60));
    let strategy = rules::StrategyRule::ForcedTool;
    assert_eq!(
        (rules.inquiry.strategy, rules.inquiry.assistant.clone()),
        (strategy, Some(assistant("inquiry", "a/small")))
    );
    let edit = &rules.tools["edit"];
    assert_eq!(
        (edit.run, edit.result),
        (Some(rules::RunRule::Deny), rules::ResultRule::Ask)
    );
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|id| rules.question("edit", id));
    assert_eq!(
        (a.answer, a.exclusive, a.prompt_label.as_deref()),
        (
            Some(rules::Configured::Text("no".into())),
            Some(false),
            Some("A")
        )
    );
    assert_eq!(b.target, rules::Target::Assistant(None));
    assert_eq!(
        c.target,
        rules::Target::Assistant(Some(assistant("edit.c", "a/b")))
    );
    assert_eq!(d.answer, Some(rules::Configured::Text("2".into())));

    let mode = Some(rules::Mode::Auto);
    let rules = rules_of(
        user,
        RunContext {
            mode,
            trusted: true,
            ..RunContext::default()
        },
    );
    assert_eq!((rules.mode, rules.trusted), (rules::Mode::Auto, true));
}

fn assistant(name: &str, model: &str) -> rules::Assistant {
    rules::Assistant {
        name: name.into(),
        model: model.into(),
        differs: false,
    }
}

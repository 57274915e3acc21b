//! Random rules: everything that a user's configuration can decide for a turn.

use std::time::Duration;

use aside_turn::{
    inquiry::ANSWER_INQUIRY,
    limits::Limits,
    rules::{
        Assistant, Class, Client, CompactionRule, Configured, Detached, DetachedMode, InquiryRules,
        Mode, Model, QuestionRules, ResultRule, Rules, RunRule, StrategyRule, Target, ToolChoice,
        ToolRules,
    },
};
use serde_json::{Value, json};

use super::tape::Tape;

/// The tools of every world.
pub(crate) const TOOLS: [&str; 4] = ["look", "edit", "shell", "query"];
/// The ids of all questions.
pub(crate) const QUESTIONS: [&str; 3] = ["q0", "q1", "q2"];
/// The model of every turn.
pub(crate) const MODEL: &str = "rehearsal/model";

/// What a tool does, by its name.
pub(crate) fn class(tool: &str) -> Class {
    match tool {
        "edit" => Class::Edits,
        "shell" => Class::More,
        _ => Class::Reads,
    }
}

pub(crate) fn rules(tape: &mut Tape) -> Rules {
    let mut tools: Vec<(String, ToolRules)> = TOOLS
        .iter()
        .map(|name| ((*name).to_owned(), tool(tape, name)))
        .collect();
    tools.push((ANSWER_INQUIRY.to_owned(), ToolRules::default()));
    Rules {
        prices: std::collections::BTreeMap::new(),
        mode: [Mode::Ask, Mode::Edits, Mode::Auto, Mode::Plan][tape.weighted(&[8, 4, 3, 1])],
        trusted: !tape.one_in(16),
        tools: tools.into_iter().collect(),
        tool_choice: tool_choice(tape),
        model: model(tape),
        left_out: Default::default(),
        refused: std::collections::BTreeSet::new(),
        inquiry: inquiry(tape),
        schema: tape.one_in(12),
        limits: limits(tape),
        compaction: match tape.one_in(12) {
            true => CompactionRule::Off,
            false => CompactionRule::Auto,
        },
    }
}

/// What the user may have changed before an interrupted turn is resumed.
pub(crate) fn changed(tape: &mut Tape, rules: &mut Rules) {
    let name = *tape.of(&TOOLS);
    rules.tools.insert(name.to_owned(), tool(tape, name));
    if tape.one_in(2) {
        for rules in rules.tools.values_mut() {
            let id = (*tape.of(&QUESTIONS)).to_owned();
            rules.questions.entry(id).or_default().answer = Some(configured(tape));
        }
    }
    rules.inquiry = inquiry(tape);
    if tape.one_in(4) {
        rules.mode = *tape.of(&[Mode::Ask, Mode::Edits, Mode::Auto, Mode::Plan]);
        rules.trusted = !tape.one_in(8);
    }
}

pub(crate) fn client(tape: &mut Tape) -> Client {
    Client {
        name: "editor".into(),
        version: "1".into(),
        questions: true,
        secret: !tape.one_in(8),
    }
}

fn tool(tape: &mut Tape, name: &str) -> ToolRules {
    let mut rules = ToolRules {
        class: class(name),
        run: [
            None,
            Some(RunRule::Unattended),
            Some(RunRule::Ask),
            Some(RunRule::Deny),
        ][tape.weighted(&[12, 5, 4, 1])],
        result: [ResultRule::Unattended, ResultRule::Ask][tape.weighted(&[7, 1])],
        detached: detached(tape),
        asks_for_assistant: tape.one_in(12),
        always_exclusive: tape.one_in(12),
        hidden: tape.one_in(12),
        outside: tape.one_in(4),
        ..ToolRules::default()
    };
    for id in QUESTIONS {
        if tape.one_in(4) {
            rules.questions.insert(id.to_owned(), question(tape));
        }
    }
    rules
}

fn detached(tape: &mut Tape) -> Detached {
    let modes = [
        DetachedMode::Auto,
        DetachedMode::Stop,
        DetachedMode::Deny,
        DetachedMode::Defaults,
    ];
    if tape.one_in(3) {
        return Detached::default();
    }
    Detached {
        run: *tape.of(&modes),
        deliver: *tape.of(&modes),
        tool: modes[tape.weighted(&[4, 3, 1, 2])],
    }
}

fn question(tape: &mut Tape) -> QuestionRules {
    let mut rules = QuestionRules::default();
    match tape.weighted(&[3, 3, 1]) {
        0 => rules.answer = Some(configured(tape)),
        1 => {
            rules.target = Target::Assistant(tape.one_in(3).then(|| assistant("rehearsal/other")));
        }
        _ => rules.exclusive = Some(!tape.one_in(2)),
    }
    if tape.one_in(6) {
        rules.prompt_label = Some("Label".into());
    }
    rules
}

fn configured(tape: &mut Tape) -> Configured {
    let values: [Value; 4] = [json!(true), json!("left"), json!("anything"), json!(7)];
    let texts = ["true", "left", "anything"];
    if tape.one_in(2) {
        Configured::Text((*tape.of(&texts)).to_owned())
    } else {
        Configured::Value(tape.of(&values).clone())
    }
}

fn tool_choice(tape: &mut Tape) -> ToolChoice {
    match tape.weighted(&[12, 2, 2, 1]) {
        0 => ToolChoice::Auto,
        1 => ToolChoice::Required,
        2 => ToolChoice::Name((*tape.of(&TOOLS)).to_owned()),
        _ => ToolChoice::None,
    }
}

fn model(tape: &mut Tape) -> Model {
    let mut model = Model {
        id: MODEL.into(),
        forces_tools: !tape.one_in(4),
        forces_while_reasoning: !tape.one_in(3),
        reasoning: tape.one_in(2),
        reasoning_switches: !tape.one_in(4),
        compacts_at: tape.one_in(6).then_some(6),
        ..Model::default()
    };
    model.compacts_natively = model.compacts_at.is_some() && tape.one_in(2);
    model
}

fn inquiry(tape: &mut Tape) -> InquiryRules {
    let named = [
        StrategyRule::InBand,
        StrategyRule::ForcedTool,
        StrategyRule::Structured,
    ];
    InquiryRules {
        max_cost: None,
        strategy: if tape.one_in(2) {
            *tape.of(&named)
        } else {
            StrategyRule::Auto
        },
        assistant: tape.one_in(6).then(|| assistant("rehearsal/small")),
    }
}

fn limits(tape: &mut Tape) -> Limits {
    Limits {
        steps: [6, 3, 1][tape.weighted(&[12, 3, 1])],
        tool_time: Duration::from_millis([10_000, 40][tape.weighted(&[10, 1])]),
        tools_at_once: [16, 1, 2][tape.weighted(&[6, 1, 1])],
        calls_in_message: [256, 2][tape.weighted(&[12, 1])],
        retries: [3, 0][tape.weighted(&[4, 1])],
        retry_time: Duration::from_secs(60),
        turn_time: tape.one_in(24).then(|| Duration::from_millis(150)),
        cost: tape.one_in(8).then_some(1.0),
        ..Limits::default()
    }
}

fn assistant(model: &str) -> Assistant {
    Assistant {
        differs: false,
        name: model.to_owned(),
        model: model.to_owned(),
    }
}

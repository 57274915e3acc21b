//! How questions, permissions and results end, and what the model is told.

use crate::play::Play;

const CASES: &str = include_str!("tables/ends.txt");

#[test]
fn the_model_is_told_exactly_this() {
    let mut failures = Vec::new();
    let cases: Vec<_> = CASES.split("\n== ").skip(1).collect();
    for case in &cases {
        let (name, case) = case.split_once('\n').expect("a name");
        let mut parts = case.split("-> ");
        let (conversation, record) = (
            parts.next().unwrap_or(""),
            parts.next().unwrap_or("").trim(),
        );
        let outcome = parts.next().unwrap_or("").trim();
        let play = Play::of(conversation);
        let found = (play.on_record("c").0, self::outcome(&play));
        if found.0 != record || !fits(outcome, &found.1) {
            failures.push(format!(
                "{name}: {record}\n{outcome}\nbut it is {}\n{}\n\n{}",
                found.0, found.1, play.out
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases fail\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
}

fn outcome(play: &Play) -> String {
    match (play.result("c"), play.answers("c")) {
        (Some((status, text)), _) => format!("{status}\n{text}"),
        (None, _) if play.is_parked() => "parks".into(),
        (None, Some(answers)) => format!("runs {answers}"),
        (None, None) => "waits".into(),
    }
}

/// `…` stands for any words.
fn fits(expected: &str, found: &str) -> bool {
    match expected.split_once('…') {
        Some((before, after)) => {
            found.len() > before.len() + after.len()
                && found.starts_with(before)
                && found.ends_with(after)
        }
        None => expected == found,
    }
}

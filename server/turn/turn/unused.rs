//! Answers and rules for questions that no tool asked: whoever misspelt an id is told, with the ids that exist.
//!
//! Which questions a tool of the user's or of a server asks is known only from its calls.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    history::TurnHistory,
    record::Refusal,
    rules::{Configured, Rules, ToolRules},
};

/// What is set for questions that nobody asked in this turn. An answer from a command line is for this turn alone, so
/// it was to be used; other rules may be for questions that come another time, unless one was asked that no rule is for and
/// whose id is nearly the same.
pub(super) fn unused(rules: &Rules, history: &TurnHistory) -> Vec<Refusal> {
    let mut asked: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for call in history.calls() {
        asked.entry(call.tool()).or_default();
    }
    for question in history.questions() {
        if let Some(call) = history.call(question.call()) {
            let of_tool = asked.entry(call.tool()).or_default();
            of_tool.insert(&question.question().id);
        }
    }
    let of_tools = rules.tools.iter().flat_map(|(name, tool)| {
        let asked = asked.get(name.as_str());
        of_tool(name, tool, asked)
    });
    of_tools.collect()
}

fn of_tool(name: &str, tool: &ToolRules, asked: Option<&BTreeSet<&str>>) -> Vec<Refusal> {
    let nothing = BTreeSet::new();
    let ids = asked.unwrap_or(&nothing);
    let without_rule = || ids.iter().filter(|id| !tool.questions.contains_key(**id));
    let unused = tool.questions.iter().filter_map(|(id, question)| {
        if ids.contains(id.as_str()) {
            return None;
        }
        let set = match question.answer {
            Some(Configured::Text(_)) => format!("--answer {name}.{id}"),
            _ if without_rule().any(|asked| is_near(id, asked)) => {
                format!("conversation.tools.{name}.questions.{id}")
            }
            _ => return None,
        };
        let why = match asked {
            None => format!("{name} was not called"),
            Some(ids) if ids.is_empty() => format!("{name} asked nothing"),
            Some(ids) => {
                let ids: Vec<&str> = ids.iter().copied().collect();
                format!("{name} asked {}; correct the id", ids.join(", "))
            }
        };
        Some(Refusal::unused(name, format!("{set} was not used: {why}")))
    });
    unused.collect()
}

/// Whether one id may be a misspelling of the other.
fn is_near(one: &str, other: &str) -> bool {
    let most = one.len().max(other.len()).div_ceil(3);
    strsim::damerau_levenshtein(one, other) <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::QuestionRules;

    fn check(asked: Option<&[&str]>, typed: &[&str], set: &[&str], expected: &[&str]) {
        let rule = |id: &&str, answer: Option<Configured>| {
            let rules = QuestionRules {
                answer,
                ..QuestionRules::default()
            };
            ((*id).to_owned(), rules)
        };
        let typed = typed
            .iter()
            .map(|id| rule(id, Some(Configured::Text("x".into()))));
        let tool = ToolRules {
            questions: typed.chain(set.iter().map(|id| rule(id, None))).collect(),
            ..ToolRules::default()
        };
        let asked: Option<BTreeSet<&str>> = asked.map(|ids| ids.iter().copied().collect());
        let unused = of_tool("deploy", &tool, asked.as_ref());
        let texts: Vec<String> = unused.iter().map(Refusal::why).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_was_not_asked_is_named_with_what_was() {
        let place = Some(["place"].as_slice());
        check(place, &["place"], &[], &[]);
        check(
            place,
            &["plce"],
            &[],
            &["--answer deploy.plce was not used: deploy asked place; correct the id"],
        );
        check(
            Some(&[]),
            &["place"],
            &[],
            &["--answer deploy.place was not used: deploy asked nothing"],
        );
        check(
            None,
            &["place"],
            &[],
            &["--answer deploy.place was not used: deploy was not called"],
        );
        check(
            Some(&["form.place", "sure"]),
            &[],
            &["form.plce", "sure"],
            &[
                "conversation.tools.deploy.questions.form.plce was not used: deploy asked form.place, sure; correct the id",
            ],
        );
        // It may ask it another time.
        check(place, &[], &["place", "sure"], &[]);
        check(None, &[], &["plce"], &[]);
        check(place, &[], &["labelled"], &[]);
    }
}

//! Plays cases side by side, and says what became of them.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{
    cases::Case,
    ledger::{Breach, Rule},
    stage::{Setting, Stage},
};

/// Breaches of a rule that are told.
const TOLD: usize = 3;

/// What became of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The name of the case.
    pub name: &'static str,
    /// What has to hold.
    pub sentence: &'static str,
    /// Whether it does.
    pub passed: bool,
    /// Why the case failed; `None` if it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Milliseconds that it took.
    pub ms: u128,
}

/// Plays these cases, so many at once. A rule of the ledger that was broken fails its case, also one that was not
/// chosen; `all` are the cases that there are.
pub fn play(chosen: &[Case], all: &[Case], setting: &Arc<Setting>, jobs: usize) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let played = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, chosen.len().max(1)) {
            scope.spawn(|| {
                while let Some(case) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = one(case, setting);
                    played
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(verdict);
                }
            });
        }
    });
    let mut verdicts = played.into_inner().unwrap_or_else(PoisonError::into_inner);
    let breaches = setting
        .breaches
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    judge(&mut verdicts, &breaches, all);
    verdicts.sort_by_key(|verdict| all.iter().position(|case| case.name == verdict.name));
    verdicts
}

fn one(case: &Case, setting: &Arc<Setting>) -> Verdict {
    let started = Instant::now();
    let played = Stage::new(case.name, Arc::clone(setting)).and_then(|stage| {
        (case.play)(&stage)?;
        stage.is_silent()
    });
    verdict(
        case,
        played.err().map(|failure| failure.to_string()),
        started.elapsed(),
    )
}

fn verdict(case: &Case, why: Option<String>, took: Duration) -> Verdict {
    Verdict {
        name: case.name,
        sentence: case.sentence,
        passed: why.is_none(),
        why,
        ms: took.as_millis(),
    }
}

fn judge(verdicts: &mut Vec<Verdict>, breaches: &[Breach], all: &[Case]) {
    for rule in Rule::ALL {
        let broken: Vec<_> = breaches
            .iter()
            .filter(|breach| breach.rule == rule)
            .collect();
        if broken.is_empty() {
            continue;
        }
        let mut why: Vec<_> = broken
            .iter()
            .map(|breach| format!("{} (in {})", breach.what, breach.case))
            .collect();
        why.sort_unstable();
        why.dedup();
        let more = why.len().saturating_sub(TOLD);
        why.truncate(TOLD);
        let mut why = why.join("; ");
        if more > 0 {
            // Writing to a string does not fail.
            let _ = write!(why, "; and {more} more");
        }
        match verdicts
            .iter_mut()
            .find(|verdict| verdict.name == rule.case())
        {
            Some(verdict) => {
                verdict.passed = false;
                verdict.why = Some(
                    verdict
                        .why
                        .take()
                        .map_or(why.clone(), |first| format!("{first}; {why}")),
                );
            }
            None => {
                let case = all.iter().find(|case| case.name == rule.case());
                verdicts.extend(case.map(|case| verdict(case, Some(why), Duration::ZERO)));
            }
        }
    }
}

/// The verdicts as a table for people.
pub fn table(verdicts: &[Verdict]) -> String {
    let width = verdicts
        .iter()
        .map(|verdict| verdict.name.len())
        .max()
        .unwrap_or_default();
    let mut table = String::new();
    for verdict in verdicts {
        let word = if verdict.passed { "passed" } else { "FAILED" };
        let _ = writeln!(
            table,
            "{word}  {:width$}  {:>6} ms",
            verdict.name, verdict.ms
        );
        if let Some(why) = &verdict.why {
            let _ = writeln!(table, "        {}", verdict.sentence);
            let _ = writeln!(table, "        but: {why}");
        }
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.passed).count();
    let _ = writeln!(table, "{} passed, {failed} failed", verdicts.len() - failed);
    table
}

/// The verdicts as JSON for machines.
pub fn json(verdicts: &[Verdict]) -> serde_json::Value {
    let failed = verdicts.iter().filter(|verdict| !verdict.passed).count();
    serde_json::json!({"passed": verdicts.len() - failed, "failed": failed, "cases": verdicts})
}

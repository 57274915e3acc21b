//! What must hold of a turn's history holds of each prefix of the logs, those with damaged lines included.

use aside_session::{lines, replay};

use super::invariants;

#[test]
fn what_must_hold_of_a_history_holds_of_each_prefix_of_the_logs() {
    let (mut prefixes, mut prompts) = (0, 0);
    for log in super::all() {
        let folder = tempfile::tempdir().unwrap();
        for count in 1..=log.lines.len() {
            let path = folder.path().join(lines::EVENTS);
            std::fs::write(path, log.lines[..count].concat()).unwrap();
            let read = lines::read_all(folder.path()).unwrap();
            // What came before the last turn was checked with the prefix that it was the last of.
            for turn in replay::turns(&read.records).iter().rev().take(1) {
                let name = format!("{}, {count} lines", log.name());
                prompts += invariants::check(&name, &turn.events);
                prefixes += 1;
            }
        }
    }
    assert!(prefixes > 600, "only {prefixes} prefixes");
    assert!(prompts > 100, "only {prompts} open prompts were looked at");
}

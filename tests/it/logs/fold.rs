//! What must hold of a turn's history holds of each prefix of the logs, those with damaged lines included. What is read of
//! a part of a log is what the whole of it says.

use aside_session::{
    lines,
    page::read_page,
    replay::{self, conversation::ConversationFold, outline::outline},
};

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

#[test]
fn what_is_read_of_the_heads_of_lines_is_what_the_whole_log_says() {
    let (mut prefixes, mut outlined) = (0, 0);
    for log in super::all() {
        let folder = tempfile::tempdir().unwrap();
        for count in 1..=log.lines.len() {
            let text = log.lines[..count].concat();
            std::fs::write(folder.path().join(lines::EVENTS), &text).unwrap();
            let read = lines::read_all(folder.path()).unwrap();
            let turns = replay::turns(&read.records);
            let page = read_page(folder.path(), None, usize::MAX).unwrap().unwrap();
            assert_eq!((page.turns, page.more), (turns, false), "{}", log.name());
            prefixes += 1;
            let Some(outline) = outline(folder.path(), text.len() as u64).unwrap() else {
                continue;
            };
            assert_eq!(read.faults, [], "{}", log.name());
            let fold: ConversationFold = read.records.into_iter().collect();
            let folded = fold.end();
            let name = format!("{}, {count} lines", log.name());
            assert_eq!(outline.frozen, folded.frozen, "{name}");
            assert_eq!(outline.learned, folded.learned, "{name}");
            assert_eq!(outline.turns, folded.turns, "{name}");
            assert_eq!(&outline.fullness, folded.transcript.fullness(), "{name}");
            assert_eq!(outline.asked_at, folded.asked_at, "{name}");
            assert_eq!(outline.last, folded.last, "{name}");
            outlined += 1;
        }
    }
    assert!(prefixes > 600, "only {prefixes} prefixes");
    assert!(
        outlined > 500,
        "only {outlined} of {prefixes} prefixes are undamaged"
    );
}

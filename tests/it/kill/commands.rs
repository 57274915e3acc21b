//! `aside conversation` is killed at each step it takes on disk.

use std::{fs, time::Duration};

use aside_session::{conversation::ConversationActivity, replay, store::Store};

use super::{
    story::{STORY, StoryGround},
    strace::{At, kill},
    whole::names,
};

/// Kills a command at each change that it is about to make, and checks what is there after that. Returns the kills.
fn check(
    command: &str,
    more: &[&str],
    interrupted: bool,
    after: impl Fn(&StoryGround, &[u8]),
) -> usize {
    for n in 1.. {
        let ground = told(interrupted);
        let before = fs::read(ground.log()).unwrap();
        let args = ["conversation", command, ground.conversation.id()];
        let args: Vec<String> = args.iter().chain(more).map(ToString::to_string).collect();
        let outcome = kill(&ground, &args, At::Change(n));
        ground.world.aside(&["conversation", "list"]).exits(0);
        after(&ground, &before);
        if outcome.next.is_none() {
            outcome.done.exits(0);
            return n - 1;
        }
        assert!(n < 1000, "it does not end");
    }
    0
}

/// A conversation with a turn that ended, or one that waits for a person.
fn told(interrupted: bool) -> StoryGround {
    let ground = StoryGround::new();
    let turn = &STORY[if interrupted { 2 } else { 1 }];
    let args = ground.args(turn, false);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ground
        .world
        .aside(&args)
        .exits(if interrupted { 4 } else { 0 });
    ground
}

#[test]
fn a_rename_happens_or_does_not() {
    let kills = check("rename", &["Another title"], false, |ground, before| {
        let now = fs::read(ground.log()).unwrap();
        assert!(now.starts_with(before));
        let title = &ground.store.list().unwrap()[0].title;
        let expected = if now.len() == before.len() {
            "Call a tool"
        } else {
            "Another title"
        };
        assert_eq!(title, expected);
        assert_eq!(ground.conversation.read_all().unwrap().faults, []);
    });
    assert!(kills >= 5, "{kills}");
}

#[test]
fn a_fork_is_there_whole_or_not_at_all() {
    let kills = check("fork", &[], true, |ground, before| {
        assert_eq!(
            fs::read(ground.log()).unwrap(),
            before,
            "the source is as it was"
        );
        for listed in ground.store.list().unwrap() {
            let conversation = ground.store.find(&listed.id).unwrap();
            let lines = conversation.read_all().unwrap();
            assert_eq!(lines.faults, []);
            let open = replay::turns(&lines.records).pop().unwrap().standing.open;
            if listed.id == ground.conversation.id() {
                assert_eq!(
                    (listed.status, open.len()),
                    (ConversationActivity::Interrupted, 2)
                );
            } else {
                assert_eq!(
                    (listed.status, open.len()),
                    (ConversationActivity::Idle, 0),
                    "its prompts belong to the other"
                );
            }
        }
    });
    assert!(kills >= 5, "{kills}");
}

#[test]
fn a_conversation_is_deleted_or_is_not() {
    let kills = check("delete", &[], false, |ground, before| {
        let id = ground.conversation.id();
        match ground.store.find(id) {
            Ok(_) => {
                assert_eq!(fs::read(ground.log()).unwrap(), before);
                assert_eq!(ground.store.list().unwrap()[0].turns, 1);
                ground.world.aside(&["conversation", "delete", id]).exits(0);
            }
            Err(_) => drop(ground.world.aside(&["conversation", "delete", id]).exits(2)),
        }
        assert!(ground.store.list().unwrap().is_empty());
        // What a crash left of it goes with the next that a later process makes.
        let later = Store::open(
            &ground.world.folder().join("state/aside"),
            &ground.world.at(""),
        );
        let next = later.unwrap().create(None, Duration::ZERO).unwrap();
        let folder = ground.conversation.folder().parent().unwrap();
        let mut left = names(folder);
        // Which one a turn began in last is no part of any.
        left.retain(|name| name != "last");
        assert_eq!(left, [next.id()]);
    });
    assert!(kills >= 5, "{kills}");
}

//! A file takes its place at once, so that it is written beside that first. Killed in between, the program leaves it there;
//! the next start of any command takes it away.

use std::fs;

use super::{
    story::{STORY, StoryGround},
    strace::{At, kill},
    whole::names,
};

/// Kills a command as it is about to put a file in its place for the first time, the second, and so on, until it comes to
/// its end. Returns in how many kills something lay beside a file of the workspace.
fn left(ground: impl Fn() -> StoryGround, args: impl Fn(&StoryGround) -> Vec<String>) -> usize {
    let mut left = 0;
    for n in 1.. {
        let ground = ground();
        let work = ground.world.at("");
        fs::write(work.join(".notes.txt.0123456789abcdef.tmp"), "the user's").unwrap();
        let outcome = kill(&ground, &args(&ground), At::Place(n));
        let is_ours = |name: &String| name.starts_with(".aside-");
        left += usize::from(names(&work).iter().any(is_ours));

        ground.world.aside(&["conversation", "list"]).exits(0);
        assert_eq!(
            names(&work),
            [".notes.txt.0123456789abcdef.tmp", "count", "notes.txt"],
            "kill {n}"
        );
        let notes = ground.world.read("notes.txt");
        assert!(["x\nx\n", "y\ny\n"].contains(&notes.as_str()), "{notes:?}");
        if outcome.next.is_none() {
            outcome.done.exits(0);
            return left;
        }
        assert!(n < 100, "it does not end");
    }
    left
}

#[test]
fn an_edit_that_was_killed_leaves_nothing_beside_its_file() {
    let counted = || {
        let ground = StoryGround::new();
        ground.world.write("count", "");
        ground
    };
    let left = left(counted, |ground| ground.args(&STORY[0], false));
    assert_eq!(left, 1, "the new text lay there");
}

#[test]
fn an_undo_that_was_killed_leaves_nothing_beside_the_files() {
    let edited = || {
        let ground = StoryGround::new();
        let args = ground.args(&STORY[0], false);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        ground.world.aside(&args).exits(0);
        ground
    };
    let undo = |ground: &StoryGround| {
        let args = ["conversation", "undo", ground.conversation.id()];
        args.map(str::to_owned).to_vec()
    };
    assert_eq!(left(edited, undo), 1, "the old text lay there");
}

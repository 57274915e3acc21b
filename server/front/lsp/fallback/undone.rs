//! Report of an undone turn. Pure.

use super::messages::asked;
use crate::engine::undo::{UndoneTurn, listed};

/// Files that are named.
const NAMED: usize = 3;

/// The turn, the state of its files, and the remaining work.
pub(in crate::front::lsp) fn report(back: &UndoneTurn) -> String {
    let prompt = back.prompt.trim().lines().next().unwrap_or_default();
    let turn = match prompt {
        "" => "turn".to_owned(),
        prompt => format!("turn “{}”", asked(prompt)),
    };
    let files = listed(back.files.iter().take(NAMED));
    let mut text = match back.files.len() {
        0 => format!("There was nothing to undo of the {turn}."),
        1 => format!("The {turn} was undone: {files} is as it was before."),
        count if count > NAMED => {
            let more = count - NAMED;
            format!("The {turn} was undone: {files} and {more} more are as they were before.")
        }
        _ => format!("The {turn} was undone: {files} are as they were before."),
    };
    if !back.unsaved.is_empty() {
        let unsaved = listed(back.unsaved.iter());
        text += &format!(" Not saved in the editor: {unsaved}.");
    }
    if back.untracked {
        text += " What commands changed is as they left it.";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_which_turn_and_which_files() {
        for (prompt, count, unsaved, untracked, expected) in [
            (
                "Go\nnow",
                0,
                0,
                false,
                "There was nothing to undo of the turn “Go”.",
            ),
            (
                "",
                1,
                0,
                false,
                "The turn was undone: 1.rs is as it was before.",
            ),
            (
                "Go",
                3,
                1,
                false,
                "The turn “Go” was undone: 1.rs, 2.rs, 3.rs are as they were before. \
                 Not saved in the editor: 1.rs.",
            ),
            (
                "Go",
                5,
                0,
                true,
                "The turn “Go” was undone: 1.rs, 2.rs, 3.rs and 2 more are as they were before. \
                 What commands changed is as they left it.",
            ),
        ] {
            let files: Vec<String> = (1..=count).map(|n| format!("{n}.rs")).collect();
            let back = UndoneTurn {
                prompt: prompt.into(),
                unsaved: files[..unsaved].to_vec(),
                files,
                untracked,
            };
            assert_eq!(report(&back), expected);
        }
    }
}

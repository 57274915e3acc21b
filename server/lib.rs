//! Aside: an assistant for the editor that asks good questions.
//!
//! One program, `aside`, runs an agent's turn (a model, tools, files) and asks where it must. This page is the map.
//! This crate performs turns and shows them to people. A module uses only those below it:
//!
//! | module | what lives there |
//! |---|---|
//! | [`front`] | the views of a turn: `headless` for terminals and CI, `lsp` for editors, `acp` for clients of the Agent Client Protocol, and their parts |
//! | [`engine`] | performs what the turn decides: the only owner of tasks, time and cancellation |
//!
//! Each other room is a crate in a folder beside this file. `front` and `engine` may use all of them:
//!
//! | crate | what lives there | uses |
//! |---|---|---|
//! | [`aside_config`] | `aside.toml` and its layers, the origin of each value, trust, the JSON schema | `base`, `turn` |
//! | [`aside_provider`] | models: the trait, five wire APIs behind it, abilities and prices of models, and `rehearsal`, which plays a script | `base`, `turn` |
//! | [`aside_session`] | the log on disk: append, lock, repair, replay, export, undo | `base`, `turn` |
//! | [`aside_mcp`] | servers of the Model Context Protocol, whose tools join the others | `base`, `tool`, `turn` |
//! | [`aside_tool`] | the built-in tools, the path gate, the one way to start a child process | `base`, `turn` |
//! | [`aside_turn`] | the turn, its calls and inquiries as pure state machines: all that is *decided* | |
//! | [`aside_base`] | small modules that every room may use: digests, the environment, files opened with care, hidden characters | |
//!
//! | to change | begin in |
//! |---|---|
//! | who answers a question when nobody is there | `server/turn/call/route.rs`; what may run then: `server/turn/call/permit.rs` |
//! | a new provider | its row in `server/config/known.rs`; a new API: its name in `server/base/api.rs`, its row in `server/provider/apis.rs`, and a folder |
//! | a new tool | its line in `server/tool/lib.rs`, and a file beside it |
//! | a new method or notification | its row in `server/front/wire/methods.rs` |
//!
//! `.github/CONTRIBUTING.md` walks through each of these, file by file.
//!
//! The words are those of the glossary at the top of `server/turn/lib.rs`.

pub mod engine;
pub mod front;

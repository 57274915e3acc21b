//! Aside: an assistant for the editor that asks good questions.
//!
//! One program, `aside`, runs an agent's turn — a model, tools, files — and asks where it must. This page is
//! the map. Arrows point one way: `front → engine → {provider, tool, mcp, session} → turn`, and
//! `mcp → tool`; a test keeps them so.
//! [`config`] is known to `front` and `engine`, and of the others knows only the table of APIs in [`provider`];
//! [`digest`], [`environment`], [`folder`], [`regular`], [`under_way`] and [`visible`] are known to all.
//!
//! | module | what lives there |
//! |---|---|
//! | `aside_turn` (`server/turn`) | the turn, its calls and inquiries as pure state machines: all that is *decided* |
//! | [`config`] | `aside.toml` and its layers, where each value comes from, trust, the JSON schema |
//! | [`provider`] | models: the trait, five wire APIs behind it, what models can do and cost, and `rehearsal`, which plays a script |
//! | [`tool`] | the built-in tools, the path gate, the one way to start a child process |
//! | [`mcp`] | servers of the Model Context Protocol, whose tools join the others |
//! | [`session`] | the log on disk: append, lock, repair, replay, export, undo |
//! | [`engine`] | performs what the turn decides: the only owner of tasks, time and cancellation |
//! | [`digest`] | SHA-256 in hex: what files, blobs and approvals are known by |
//! | [`environment`] | the environment of the process: its secrets taken out, and what child processes get of it |
//! | [`folder`] | which folder a path leads to, whatever it is called |
//! | [`regular`] | regular files opened, and nothing that could hold us up in their place |
//! | [`under_way`] | files on their way into a workspace, and what a killed process left of them |
//! | [`visible`] | which characters are hidden, and text made safe to look at |
//! | [`front`] | what people see: `headless` for terminals and CI, `lsp` for editors, `acp` for clients of the Agent Client Protocol, and what they are made of |
//!
//! | to change | begin in |
//! |---|---|
//! | who answers a question when nobody is there | `server/turn/call/route.rs`; what may run then: `server/turn/call/permit.rs` |
//! | a new provider | its row in `server/config/known.rs`; a new API: its row in `server/provider/apis.rs`, and a folder |
//! | a new tool | its line in `server/tool/mod.rs`, and a file beside it |
//! | a new method or notification | its row in `server/front/wire/methods.rs` |
//!
//! `.github/CONTRIBUTING.md` walks through each of these, file by file.
//!
//! The words are those of the glossary at the top of `server/turn/lib.rs`.

pub use aside_turn as turn;

pub mod config;
pub mod digest;
pub mod engine;
pub mod environment;
pub mod folder;
pub mod front;
#[cfg(test)]
mod fuzz;
pub mod mcp;
pub mod provider;
pub mod regular;
pub mod session;
pub mod tool;
pub mod under_way;
pub mod visible;

//! Aside: an assistant for the editor that asks good questions.
//!
//! One program, `aside`, runs an agent's turn — a model, tools, files — and asks where it must. This page is
//! the map. Arrows point one way: `front → engine → {provider, tool, mcp, session} → turn`, and
//! `mcp → tool`; a test keeps them so.
//! [`config`] is known to `front` and `engine`; `aside_base` to all.
//!
//! | module | what lives there |
//! |---|---|
//! | `aside_base` (`server/base`) | small modules that every room may use: digests, the environment, files opened with care, hidden characters |
//! | `aside_turn` (`server/turn`) | the turn, its calls and inquiries as pure state machines: all that is *decided* |
//! | [`config`] | `aside.toml` and its layers, where each value comes from, trust, the JSON schema |
//! | [`provider`] | models: the trait, five wire APIs behind it, what models can do and cost, and `rehearsal`, which plays a script |
//! | [`tool`] | the built-in tools, the path gate, the one way to start a child process |
//! | [`mcp`] | servers of the Model Context Protocol, whose tools join the others |
//! | [`session`] | the log on disk: append, lock, repair, replay, export, undo |
//! | [`engine`] | performs what the turn decides: the only owner of tasks, time and cancellation |
//! | [`front`] | what people see: `headless` for terminals and CI, `lsp` for editors, `acp` for clients of the Agent Client Protocol, and what they are made of |
//!
//! | to change | begin in |
//! |---|---|
//! | who answers a question when nobody is there | `server/turn/call/route.rs`; what may run then: `server/turn/call/permit.rs` |
//! | a new provider | its row in `server/config/known.rs`; a new API: its name in `server/base/api.rs`, its row in `server/provider/apis.rs`, and a folder |
//! | a new tool | its line in `server/tool/mod.rs`, and a file beside it |
//! | a new method or notification | its row in `server/front/wire/methods.rs` |
//!
//! `.github/CONTRIBUTING.md` walks through each of these, file by file.
//!
//! The words are those of the glossary at the top of `server/turn/lib.rs`.

pub use aside_turn as turn;

pub mod config;
pub mod engine;
pub mod front;
pub mod mcp;
pub mod provider;
pub mod session;
pub mod tool;

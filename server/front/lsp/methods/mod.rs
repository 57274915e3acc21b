//! The handlers, one file a group of methods. A handler that waits for a client, a provider, a tool or a human does not
//! block the next one. Each makes its changes before it waits, so that messages take effect in order.
//!
//! | module | contents |
//! |---|---|
//! | [`raw_params`] | params that were not read yet; an error names the field |
//! | [`initialize`] | the client's introduction and the server's capabilities |
//! | [`documents`] | opened, changed, saved and closed documents |
//! | [`turns`] | `aside/turn/…`, from params to a running turn |
//! | [`undo`] | `aside/turn/undo` |
//! | [`prompts`] | `aside/prompt/…` |
//! | [`conversations`] | `aside/conversation/…` |
//! | [`settings`] | the client's settings, and `aside/config/read` |
//! | [`mcp`] | `aside/mcp/list` |
//! | [`models`] | `aside/model/list` |
//! | [`keys`] | `aside/key/…` |
//! | [`trust`] | `aside/workspace/preview` and `aside/workspace/trust` |
//! | [`approvals`] | `aside/approval/…` |
//! | [`commands`] | `aside.server.…`: commands for every client |
//! | [`code_actions`] | questions about a selection, and instructions in comments |
//!
//! A handler is a function of the connection and its params. The route in `server` names the row of the protocol's table.

pub(super) mod approvals;
pub(super) mod code_actions;
pub(super) mod commands;
pub(super) mod conversations;
pub(super) mod documents;
pub(super) mod initialize;
pub(super) mod keys;
pub(super) mod mcp;
pub(super) mod models;
pub(super) mod prompts;
pub(super) mod raw_params;
pub(super) mod settings;
pub(super) mod trust;
pub(super) mod turns;
pub(super) mod undo;

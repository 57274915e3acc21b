//! The handlers, one file a group of methods. None holds the next one up while a client, a provider, a tool or a human is
//! waited for: each changes what there is to change before that, so that messages take effect in the order in which
//! they came.
//!
//! | module | what lives there |
//! |---|---|
//! | [`raw_params`] | params that were not read yet; an error names the field |
//! | [`initialize`] | what the client says of itself, and what the server can do |
//! | [`documents`] | documents that are opened, changed, saved and closed |
//! | [`turns`] | `aside/turn/…`, from params to a running turn |
//! | [`undo`] | `aside/turn/undo` |
//! | [`prompts`] | `aside/prompt/…` |
//! | [`conversations`] | `aside/conversation/…` |
//! | [`settings`] | the client's settings, and `aside/config/read` |
//! | [`models`] | `aside/model/list` |
//! | [`trust`] | `aside/workspace/preview` and `aside/workspace/trust` |
//! | [`approvals`] | `aside/approval/…` |
//! | [`commands`] | `aside.server.…`: what a person can do from any client's command line |
//! | [`code_actions`] | what can be asked about a selection, and instructions in comments |
//!
//! A handler is a function of the connection and its params. The route in `server` names the row of the protocol's table.

pub(super) mod approvals;
pub(super) mod code_actions;
pub(super) mod commands;
pub(super) mod conversations;
pub(super) mod documents;
pub(super) mod initialize;
pub(super) mod models;
pub(super) mod prompts;
pub(super) mod raw_params;
pub(super) mod settings;
pub(super) mod trust;
pub(super) mod turns;
pub(super) mod undo;

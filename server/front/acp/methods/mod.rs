//! The handlers, one file a group of methods. A handler that waits does not block the next one.
//!
//! | module | contents |
//! |---|---|
//! | [`prompts`] | `session/prompt`, `session/cancel` and `_session/steering` |
//! | [`options`] | `session/set_mode` and `session/set_config_option` |
//! | [`sessions`] | `session/new`, `session/load` and other methods on a session |
//!
//! A handler is a function of the connection and its params; `service` names its method.

pub(super) mod options;
pub(super) mod prompts;
pub(super) mod sessions;

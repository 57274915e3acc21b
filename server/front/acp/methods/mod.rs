//! The handlers, one file a group of methods. None holds the next one up while something is waited for.
//!
//! | module | what lives there |
//! |---|---|
//! | [`prompts`] | `session/prompt`, `session/cancel` and `_session/steering` |
//! | [`options`] | `session/set_mode` and `session/set_config_option` |
//! | [`sessions`] | `session/new`, `session/load` and what else is done with a session |
//!
//! A handler is a function of the connection and its params; `service` names its method.

pub(super) mod options;
pub(super) mod prompts;
pub(super) mod sessions;

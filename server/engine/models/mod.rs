//! Models: addresses, keys, abilities, lists.
//!
//! | module | contents |
//! |---|---|
//! | [`open`] | [`Models`]: from the configuration of a model to the model itself |
//! | `headers` | configured headers for every request |
//! | [`key`] | sources of providers' keys |
//! | [`listed`] | the last lists of providers' models |
//! | [`known`] | known models of the usable providers |

mod headers;
pub mod key;
pub mod known;
pub mod listed;
pub mod open;

pub use open::{ChoiceError, Endpoint, Models};

//! Models: where they are, their keys, what they can do, and which ones there are.
//!
//! | module | what lives there |
//! |---|---|
//! | [`open`] | [`Models`]: from what is configured of a model to the model itself |
//! | `headers` | the headers that the user wants in every request |
//! | [`key`] | where a provider's key comes from |
//! | [`listed`] | what providers said of their models when they were last asked |
//! | [`known`] | the models of the usable providers, as far as they are known |

mod headers;
pub mod key;
pub mod known;
pub mod listed;
pub mod open;

pub use open::{Endpoint, Models, NO_MODEL};

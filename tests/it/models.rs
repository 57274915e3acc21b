//! Models: what a user lives through, the same with each API.
//!
//! Each test is a row of a table, and each API a column: the real program against a model server on loopback, and
//! one text that says what is shown, what the model hears and how it ends. Where an API cannot do a thing, the row
//! says so. Every request is held to the rules of its API, with all that was signed before.
//!
//! | module | what lives there |
//! |---|---|
//! | `column` | the five APIs: how the program is told of each |
//! | `stage` | a world, a model server with a script, and the rules of the requests |
//! | `live`, `without_time` | a run of the program while it goes on; one in which no time passes |
//! | `heard` | what a request says, in words that belong to no API |
//! | `shown` | what a user is shown, a line each |
//! | `replied` | what a response gave, as its API's rules want it noted |
//! | the others | the rows |

mod attached;
mod bills;
mod cancel;
mod cleared;
mod column;
mod compaction;
mod connections;
mod cuts;
mod damaged;
mod failures;
mod forgetful;
mod guests;
mod heard;
mod idle;
mod kept;
mod limits;
mod litellm;
mod live;
mod native;
mod nothing;
mod passes;
mod questions;
mod refusals;
mod repeated;
mod replied;
mod restart;
mod shown;
mod stage;
mod steer;
mod storage;
mod streams;
mod switch;
pub(crate) mod without_time;

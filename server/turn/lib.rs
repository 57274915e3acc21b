//! One turn of the agent, as three small state machines: the turn, its calls, its inquiries.
//!
//! Invariant: nothing here reads a clock, a file, a socket or the environment. Time comes in with each
//! [`Input`]; work goes out as an [`Effect`].
//!
//! Each room uses only those above it.
//!
//! | room | what lives there |
//! |---|---|
//! | [`swapped`] | the door by which a test plays the whole program with other sentences |
//! | `word` | words of closed lists, known or kept as they were read |
//! | [`question`] | what a tool asks, and what counts as an answer |
//! | [`rules`] | what configuration decides for a turn, and the bounds that it keeps |
//! | [`model`] | a provider's response, what was attached for it, and when a request is sent again |
//! | [`record`] | what goes on record: the events and the words in them |
//! | [`model_text`] | every sentence for a model, rendered from data |
//! | [`history`] | what the events of a turn add up to; what providers are sent |
//! | [`input`], [`effect`] | what can happen to a turn, and what it wants done |
//! | `context` | what the machines share: rules, client, history, and the way out |
//! | [`inquiry`] | a model's answering of questions, in side requests |
//! | [`call`] | one call of a tool: prepared, permitted, run, asked about, delivered |
//! | [`clearing`] | which outputs of old calls are left out of requests |
//! | `compaction` | when a conversation is summarised, and what counts as a summary |
//! | [`idle`] | when it is summarised while nobody writes |
//! | [`turn`] | the turn around them |
//!
//! # Words
//!
//! One word means one thing, here, on the wire, in the log and in prose. The words in the last column are never used
//! for it in a name; a test sees to that.
//!
//! | word | means | never |
//! |---|---|---|
//! | conversation | the log of one dialogue | dialogue |
//! | turn | from one user message to the final answer | |
//! | step | one provider request and the calls it returned | cycle, iteration |
//! | message | what the user sends | utterance |
//! | prompt | anything that waits for a person: a question, `runTool` or `deliverResult` | dialog, popup |
//! | question | what a tool asks in place of a result; its pair in the log is `inquiry_request`, `inquiry_response` | |
//! | inquiry | a question put to a model, in a side request | subquery |
//! | answer, decline, cancel | what a person did with a prompt | dismissal, rejection |
//! | compaction | a summary of the conversation, which later requests begin with in its place | condensation |
//! | clearing | outputs of old calls are left out of the requests from then on | pruning |
//! | ledger | what people said, answered, allowed and refused, printed from the log | |
//! | permission | a person's decision whether a call may run: once, for the turn, always, no | grant |
//! | approval | a permission that is kept for the workspace | allowance |
//! | trust | the user's decision that a workspace's own configuration counts | |
//! | client | the program that shows prompts to a person | |
//! | model text | a sentence made for a model, rendered from data and never compared | told |
//! | reason | why something is so, as an enum; a word on disk and on the wire | |
//! | parked | of a prompt: it waits for a person who is not there | suspended |
//! | live question | one that a tool asks while it runs on | |
//! | held result | one that is on record and that the model may not see yet | |

pub mod call;
pub mod clearing;
mod compaction;
mod context;
pub mod effect;
pub mod history;
pub mod idle;
pub mod input;
pub mod inquiry;
pub mod model;
pub mod model_text;
pub mod question;
pub mod record;
pub mod rules;
pub mod swapped;
pub mod turn;
mod word;

pub use call::{permit, route};
pub use effect::Effect;
pub use history::transcript;
pub use input::Input;
pub use model::{attachment, response, retry};
pub use record::Event;
pub use rules::limits;
pub use turn::{Setup, Turn, force, resume};

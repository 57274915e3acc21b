//! Hard clients for any server that speaks the Aside protocol.
//!
//! A case is a small function in [`cases`]: it lays out a throwaway [`stage`] with a script for the rehearsal
//! model, starts the server there as a [`client`] does, says what a hard client would say, and judges what
//! comes back. Beside the cases a [`ledger`] watches all traffic for rules that hold at every moment.
//!
//! | module | what lives there |
//! |---|---|
//! | [`cases`] | the cases, by what they are about |
//! | [`client`] | one session: requests, replies, waits with a deadline |
//! | [`ledger`] | what every message has to keep: shape, sequence, the end of a turn, prompts |
//! | [`wire`] | the protocol's messages, read strictly |
//! | [`script`] | the part of a rehearsal script that cases need |
//! | [`stage`] | a workspace, a home and a state folder of its own for each case |
//! | [`run`] | plays cases side by side and says what became of them |
//!
//! `Content-Length`, the threads on the pipes and the server as a child are those of `aside-test-client`.
//!
//! Invariant: nothing sleeps. Every wait has a deadline, so a server that hangs fails its case and not the driver.

pub mod cases;
pub mod client;
pub mod ledger;
pub mod run;
pub mod script;
pub mod stage;
pub mod wire;

use std::fmt;

/// Why a case failed: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

/// The outcome of a step of a case. One that fails says what did not come, or what came in its place.
pub type Step<T = ()> = Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(format!("the driver itself failed: {error}"))
    }
}

/// Fails with `why` unless `holds`.
pub fn check(holds: bool, why: impl Into<String>) -> Step {
    if holds {
        Ok(())
    } else {
        Err(Failure(why.into()))
    }
}

/// Fails unless `found` is what was due; `what` is a noun for it.
pub fn same<T, U>(what: &str, found: &T, due: &U) -> Step
where
    T: fmt::Debug + PartialEq<U> + ?Sized,
    U: fmt::Debug + ?Sized,
{
    check(
        found == due,
        format!("{what}: {found:?} where {due:?} was due"),
    )
}

//! Errors of the store of conversations.

use std::{io, path::PathBuf};

use aside_base::system::environment::STATE_VARIABLE;

use super::log::OpenError;

/// Ids that a sentence names where there are many.
const NAMED: usize = 3;

/// Error of the store of conversations.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No variable that names a place for state is an absolute path.
    #[error(
        "there is no place for conversations; set HOME or {STATE_VARIABLE} to an absolute path"
    )]
    NoPlace,
    /// The state directory cannot be read or written.
    #[error(
        "cannot use the state directory {}: {source}; make it writable, or set {STATE_VARIABLE} to one that is",
        folder.display()
    )]
    Unusable {
        /// The folder that cannot be used.
        folder: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// No conversation has an id that begins so.
    #[error("there is no conversation {0}; `aside conversation list` shows those that there are")]
    Unknown(String),
    /// Several conversations have ids that begin so.
    #[error("{prefix} could be {}; write more of the id", some_of(ids))]
    Several {
        /// The beginning of an id, as it was given.
        prefix: String,
        /// The ids that begin with it.
        ids: Vec<String>,
    },
    /// The conversation has no such turn.
    #[error(
        "conversation {id} has no turn {turn}; `aside conversation show {id}` shows those it has"
    )]
    NoTurn {
        /// The id of the conversation.
        id: String,
        /// The turn that was named, by id or number.
        turn: String,
    },
    /// The conversation cannot be opened for writing.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file of it cannot be read or written.
    #[error("cannot read or write conversation {id}: {source}; check its folder and its disk")]
    Io {
        /// The id of the conversation.
        id: String,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// The first of many ids, and how many more there are.
fn some_of(ids: &[String]) -> String {
    match ids.split_at_checked(NAMED) {
        Some((first, rest)) if rest.len() > 1 => {
            format!("{} or one of {} more", first.join(", "), rest.len())
        }
        _ => ids.join(" or "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_ids_the_first_are_named() {
        let said = |count: usize| {
            let ids = (1..=count).map(|at| format!("c{at}")).collect();
            let prefix = "c".to_owned();
            StoreError::Several { prefix, ids }.to_string()
        };
        assert_eq!(said(2), "c could be c1 or c2; write more of the id");
        assert_eq!(
            said(4),
            "c could be c1 or c2 or c3 or c4; write more of the id"
        );
        assert_eq!(
            said(60),
            "c could be c1, c2, c3 or one of 57 more; write more of the id"
        );
    }
}

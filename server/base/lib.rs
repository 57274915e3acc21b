//! The base: small modules that every room may use. None of them knows a room.
//!
//! | module | what lives there |
//! |---|---|
//! | [`api`] | the APIs that providers speak, by name: words of `aside.toml` |
//! | [`diff`] | differences between two texts, by lines |
//! | [`digest`] | SHA-256 in hex: the names of files, blobs and approvals |
//! | [`environment`] | the environment of the process without its secrets, and the part that child processes get |
//! | [`folder`] | the identity of the folder that a path leads to |
//! | [`homes`] | the home folders of the user, as the environment and the user database have them |
//! | [`incoming`] | a content on its way into the place of a file, which stays what it is besides |
//! | [`model`] | abilities and prices of models, reasoning and caching: words of `aside.toml` |
//! | [`name_table`] | tables of names of files and folders, in which a `*` stands for anything |
//! | [`open_places`] | folders in which programs inside the sandbox may write, and programs found outside of them |
//! | [`private`] | files and folders for the user alone, and their replacement as a whole |
//! | [`regular`] | regular files, opened without waiting for a FIFO or a device in their place |
//! | [`secrets`] | files that may hold secrets, by their names and their places |
//! | [`system`] | all that differs between operating systems |
//! | [`under_way`] | files on their way into a workspace, and the rest that a killed process left of them |
//! | [`unfinished`] | marks of commands that could make settings of a workspace, and that nobody saw end |
//! | [`visible`] | hidden characters, and text made safe to display |

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod api;
pub mod diff;
pub mod digest;
pub mod environment;
pub mod folder;
pub mod homes;
pub mod incoming;
pub mod model;
pub mod name_table;
pub mod open_places;
pub mod private;
pub mod regular;
pub mod secrets;
pub mod system;
pub mod under_way;
pub mod unfinished;
pub mod visible;

/// Locks a mutex, also after a holder panicked: for values that are whole at every moment.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

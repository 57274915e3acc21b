//! The door by which a test plays the whole program with other sentences. Nothing in the program opens it, which a
//! test of the code sees to, and nothing decides by what a sentence says, which the played program shows.

use std::sync::OnceLock;

/// Places by which the sentences of this process are moved; none where nobody swapped them.
static PLACES: OnceLock<usize> = OnceLock::new();

/// Swaps every sentence of this process from now on: those for models stand `by` places further in their table, and
/// those for people are spelled backwards. Returns false if they were swapped before.
pub fn swap_all_sentences(by: usize) -> bool {
    PLACES.set(by).is_ok()
}

/// Places by which the table of sentences for models is moved.
pub(crate) fn places() -> usize {
    PLACES.get().copied().unwrap_or_default()
}

/// A sentence for a person, as this process says it.
pub(crate) fn for_people(sentence: String) -> String {
    if PLACES.get().is_some() {
        return sentence.chars().rev().collect();
    }
    sentence
}

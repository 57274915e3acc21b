//! Words of closed lists, where a newer version may have written one that this version does not know.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An enum each of whose values has one word, the same on disk and on the wire.
pub trait Vocabulary: Copy + 'static {
    /// Every value of the list.
    const ALL: &'static [Self];

    /// The word of this value: `snake_case`, and unlike any other of the list.
    fn word(self) -> &'static str;

    /// The value of a word; `None` for a word that is not in the list.
    #[must_use]
    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.word() == word)
    }
}

/// A word on record: a value that this version knows, or the word as it was read, which is written back unchanged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word<T> {
    /// A value of this version's list.
    Known(T),
    /// A word that is not in the list.
    Unknown(String),
}

impl<T: Vocabulary> Word<T> {
    /// Looks a word up in the list.
    #[must_use]
    pub fn of(word: &str) -> Self {
        T::of(word).map_or_else(|| Self::Unknown(word.to_owned()), Self::Known)
    }

    /// The word, as it stands on record.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(known) => known.word(),
            Self::Unknown(word) => word,
        }
    }

    /// The value, if this version knows the word.
    #[must_use]
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(known) => Some(*known),
            Self::Unknown(_) => None,
        }
    }
}

impl<T> Default for Word<T> {
    /// No word at all.
    fn default() -> Self {
        Self::Unknown(String::new())
    }
}

impl<T> From<T> for Word<T> {
    fn from(known: T) -> Self {
        Self::Known(known)
    }
}

impl<T: Vocabulary> std::fmt::Display for Word<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<T: Vocabulary> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de, T: Vocabulary> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self::of(&String::deserialize(from)?))
    }
}

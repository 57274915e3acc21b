//! What a model refused of a request: a feature, or a part by its name.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    rules::{Feature, LeftOut, Rules},
    word::Word,
};

/// What a model refused. It is not sent again in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "RefusedFields", into = "RefusedFields")]
pub enum Refused {
    /// Something that not every model takes.
    Feature(Word<Feature>),
    /// One part, by its name.
    Part(LeftOut),
}

/// A [`Refused`] on record: a word, and the name of the part where it has one.
#[derive(Serialize, Deserialize)]
struct RefusedFields {
    refuses: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
}

impl Refused {
    /// The refused feature; none for a part, and for a feature that this version does not know.
    #[must_use]
    pub fn known(&self) -> Option<Feature> {
        match self {
            Self::Feature(feature) => feature.known(),
            Self::Part(_) => None,
        }
    }
}

impl Refused {
    /// Takes in again what this model refused earlier in the conversation.
    pub fn recall(&self, model: &str, rules: &mut Rules) {
        match self {
            Self::Feature(feature) => {
                if let Some(feature) = feature.known() {
                    rules.refuse(model, feature);
                }
            }
            Self::Part(part) => {
                rules.leave_out(model, part.clone());
            }
        }
    }
}

impl From<RefusedFields> for Refused {
    fn from(RefusedFields { refuses, name }: RefusedFields) -> Self {
        match LeftOut::named(&refuses, name) {
            Some(part) => Self::Part(part),
            None => Self::Feature(Word::of(&refuses)),
        }
    }
}

impl From<Refused> for RefusedFields {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Feature(feature) => Self {
                refuses: feature.as_str().to_owned(),
                name: String::new(),
            },
            Refused::Part(part) => Self {
                refuses: part.word().to_owned(),
                name: part.name().to_owned(),
            },
        }
    }
}

impl From<Feature> for Refused {
    fn from(feature: Feature) -> Self {
        Self::Feature(feature.into())
    }
}

impl From<LeftOut> for Refused {
    fn from(part: LeftOut) -> Self {
        Self::Part(part)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feature(feature) => f.write_str(feature.as_str()),
            Self::Part(part) => write!(f, "{} {}", part.word(), part.name()),
        }
    }
}

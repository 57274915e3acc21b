//! The types of answers: values that fit, texts that stand for them, and the words for both.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use super::{
    answer::{Answer, Misfit, Secret},
    format::TextFormat,
    number::{has_number_between, is_less, number_of, whole},
};

/// The type that an answer to a question must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnswerType {
    /// `true` or `false`.
    Boolean,
    /// One of the options, exactly.
    Select {
        /// At least one, none twice.
        options: Vec<String>,
    },
    /// Any number of different options. The answer is an array in the options' order.
    MultiSelect {
        /// At least one, none twice.
        options: Vec<String>,
        /// Minimum number of chosen options; `None` for no bound.
        #[serde(skip_serializing_if = "Option::is_none")]
        minimum: Option<u32>,
        /// Maximum number of chosen options; `None` for no bound.
        #[serde(skip_serializing_if = "Option::is_none")]
        maximum: Option<u32>,
    },
    /// A JSON number.
    Number {
        /// Whether only whole numbers fit. `3.0` is the whole number 3.
        integer: bool,
        /// The smallest that fits.
        #[serde(skip_serializing_if = "Option::is_none")]
        minimum: Option<Number>,
        /// The largest that fits.
        #[serde(skip_serializing_if = "Option::is_none")]
        maximum: Option<Number>,
    },
    /// Any text within these bounds.
    Text {
        /// Minimum length in characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        minimum: Option<u32>,
        /// Maximum length in characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        maximum: Option<u32>,
        /// The form that the text must have.
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<TextFormat>,
    },
    /// Text that is typed unseen and reaches only the tool that asked. Implies `exclusive`.
    Secret,
}

impl AnswerType {
    /// Text of any length and form.
    #[must_use]
    pub const fn text() -> Self {
        Self::Text {
            minimum: None,
            maximum: None,
            format: None,
        }
    }

    /// Checks the type itself. The error says why no value, or an unintended one, would fit.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if let Self::Select { options } | Self::MultiSelect { options, .. } = self {
            if options.is_empty() {
                return Err("it has no options");
            }
            if has_twice(options) {
                return Err("it has an option twice");
            }
        }
        let can_fit = match self {
            Self::MultiSelect {
                options,
                minimum,
                maximum,
            } => minimum.is_none_or(|least| {
                is_within(options.len(), Some(least), None)
                    && maximum.is_none_or(|most| least <= most)
            }),
            Self::Text {
                minimum: Some(least),
                maximum: Some(most),
                ..
            } => least <= most,
            Self::Number {
                integer,
                minimum: Some(least),
                maximum: Some(most),
            } => has_number_between(least, most, *integer),
            _ => true,
        };
        if can_fit {
            Ok(())
        } else {
            Err("no answer is within its bounds")
        }
    }

    /// Reads a value as an answer. [`super::Question::accept`] also accepts an answer that is left out.
    ///
    /// # Errors
    /// A [`Misfit`] that names what would fit. The value, which may be a secret, is never repeated.
    pub fn accept(&self, value: &Value) -> Result<Answer, Misfit> {
        let accepted = match (self, value) {
            (Self::Boolean, Value::Bool(_)) => Some(value.clone()),
            (Self::Select { options }, Value::String(text)) => {
                options.contains(text).then(|| value.clone())
            }
            (
                Self::MultiSelect {
                    options,
                    minimum,
                    maximum,
                },
                Value::Array(chosen),
            ) => in_order(options, chosen)
                .filter(|_| is_within(chosen.len(), *minimum, *maximum))
                .map(Value::from),
            (
                Self::Number {
                    integer,
                    minimum,
                    maximum,
                },
                Value::Number(number),
            ) => {
                let number = if *integer {
                    whole(number)
                } else {
                    Some(number.clone())
                };
                number
                    .filter(|number| {
                        minimum.as_ref().is_none_or(|least| !is_less(number, least))
                            && maximum.as_ref().is_none_or(|most| !is_less(most, number))
                    })
                    .map(Value::Number)
            }
            (
                Self::Text {
                    minimum,
                    maximum,
                    format,
                },
                Value::String(text),
            ) => (is_within(text.chars().count(), *minimum, *maximum)
                && format.is_none_or(|format| format.is_met_by(text)))
            .then(|| value.clone()),
            (Self::Secret, Value::String(text)) if !text.is_empty() => {
                return Ok(Answer::Secret(Secret::new(text.clone())));
            }
            _ => None,
        };
        accepted
            .map(Answer::Value)
            .ok_or_else(|| Misfit(self.expectation()))
    }

    /// The value that a model's text stands for. A text that cannot be of this type stays text, and then does not fit.
    pub(super) fn of_model(&self, text: &str) -> Option<Value> {
        match self {
            Self::Boolean => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Select { options } => option_of(options, text).map(Value::from),
            Self::MultiSelect { options, .. } => {
                let chosen: Vec<String> = serde_json::from_str(text.trim()).ok()?;
                let known = |text: &String| option_of(options, text).map(Value::from);
                chosen.iter().map(known).collect()
            }
            Self::Number { .. } => number_of(text),
            Self::Text { .. } => Some(text).filter(|text| !text.is_empty()).map(Value::from),
            // No model may answer a secret. The routing never asks one; this arm refuses an answer all the same.
            Self::Secret => None,
        }
    }

    /// The value that a text from a command line, a terminal or a page stands for. A text that stands for no value is
    /// returned as text, and then does not fit.
    ///
    /// Several options are given by text or number, separated by commas or line ends. Only line ends separate if an
    /// option contains a comma. Blanks separate if the other separators give no options. `none` chooses no option. A
    /// JSON array is accepted too.
    #[must_use]
    pub fn of_person(&self, text: &str) -> Value {
        let trimmed = text.trim();
        let value = match self {
            Self::Boolean => match trimmed {
                "true" | "yes" | "y" => Some(true.into()),
                "false" | "no" | "n" => Some(false.into()),
                _ => None,
            },
            Self::Number { .. } => number_of(trimmed),
            Self::MultiSelect { options, .. } => several(options, trimmed),
            Self::Select { .. } | Self::Text { .. } | Self::Secret => None,
        };
        value.unwrap_or_else(|| text.into())
    }

    /// One sentence that says which answers fit.
    #[must_use]
    pub fn expectation(&self) -> String {
        match self {
            Self::Boolean => "The answer must be exactly true or false.".into(),
            Self::Select { options } => {
                format!("The answer must be exactly one of: {}.", options.join(", "))
            }
            Self::MultiSelect {
                options,
                minimum,
                maximum,
            } => {
                let count = count(*minimum, *maximum).unwrap_or_else(|| "any".into());
                let options = options.join(", ");
                format!("The answer must be a list of {count} of: {options}.")
            }
            Self::Number { .. } | Self::Text { .. } => match self.phrase() {
                Some(phrase) => format!("The answer must be {phrase}."),
                None => "The answer must be a text that is not empty.".into(),
            },
            Self::Secret => "The answer must be a text that is not empty.".into(),
        }
    }

    /// A number or text with its article and bounds, for the middle of a sentence. `None` for a text without bounds and
    /// for the other types.
    #[must_use]
    pub fn phrase(&self) -> Option<String> {
        match self {
            Self::Number {
                integer,
                minimum,
                maximum,
            } => {
                let number = if *integer {
                    "a whole number"
                } else {
                    "a number"
                };
                Some(match (minimum, maximum) {
                    (Some(least), Some(most)) => format!("{number} between {least} and {most}"),
                    (Some(least), None) => format!("{number} of at least {least}"),
                    (None, Some(most)) => format!("{number} of at most {most}"),
                    (None, None) => number.to_owned(),
                })
            }
            Self::Text {
                minimum,
                maximum,
                format,
            } => {
                let text = format.map_or("text", TextFormat::phrase);
                match count(*minimum, *maximum) {
                    Some(count) => Some(format!("{text} of {count} characters")),
                    None => format.map(|format| format.phrase().to_owned()),
                }
            }
            _ => None,
        }
    }

    /// The number of options to choose, such as `at least 1 and at most 3`. `None` for no bound.
    #[must_use]
    pub fn how_many(&self) -> Option<String> {
        match self {
            Self::MultiSelect {
                minimum, maximum, ..
            } => count(*minimum, *maximum),
            _ => None,
        }
    }

    /// The word of the type, as in the tagged form.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Select { .. } => "select",
            Self::MultiSelect { .. } => "multi_select",
            Self::Number { .. } => "number",
            Self::Text { .. } => "text",
            Self::Secret => "secret",
        }
    }
}

fn has_twice(options: &[String]) -> bool {
    options
        .iter()
        .enumerate()
        .any(|(at, option)| options[..at].contains(option))
}

fn is_within(count: usize, minimum: Option<u32>, maximum: Option<u32>) -> bool {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    minimum.is_none_or(|least| count >= least) && maximum.is_none_or(|most| count <= most)
}

fn count(minimum: Option<u32>, maximum: Option<u32>) -> Option<String> {
    match (minimum.filter(|least| *least > 0), maximum) {
        (Some(least), Some(most)) if least == most => Some(format!("exactly {least}")),
        (Some(least), Some(most)) => Some(format!("at least {least} and at most {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

/// The chosen options in the order of `options`. `None` if one is unknown or chosen twice.
fn in_order(options: &[String], chosen: &[Value]) -> Option<Vec<String>> {
    let mut places = chosen
        .iter()
        .map(|value| options.iter().position(|option| value == option))
        .collect::<Option<Vec<usize>>>()?;
    places.sort_unstable();
    let are_different = places.windows(2).all(|two| two[0] != two[1]);
    are_different.then(|| places.into_iter().map(|at| options[at].clone()).collect())
}

/// The option that a text names: exactly, or else the only one that matches in any case. APIs may change the case of
/// an enum, and people type as they like.
fn option_of<'a>(options: &'a [String], text: &str) -> Option<&'a str> {
    if let Some(exactly) = options.iter().find(|option| *option == text) {
        return Some(exactly);
    }
    let folded = text.trim().to_lowercase();
    let mut near = options
        .iter()
        .filter(|option| option.trim().to_lowercase() == folded);
    match (near.next(), near.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Whether a number can name an option by its place, counted from 1. False if an option is itself the number of
/// another one.
#[must_use]
pub fn has_clear_numbers(options: &[String]) -> bool {
    options.iter().enumerate().all(|(at, option)| {
        let number = option.trim().parse().ok();
        number
            .is_none_or(|number: usize| number == at + 1 || !(1..=options.len()).contains(&number))
    })
}

/// Parses several options as a person types them.
fn several(options: &[String], text: &str) -> Option<Value> {
    if let Ok(array @ Value::Array(_)) = serde_json::from_str(text) {
        return Some(array);
    }
    if text.eq_ignore_ascii_case("none") && option_of(options, text).is_none() {
        return Some(Value::Array(Vec::new()));
    }
    let by_number = has_clear_numbers(options);
    let has_commas = options.iter().any(|option| option.contains(','));
    let mut parts = text.split(|letter| letter == '\n' || (letter == ',' && !has_commas));
    let chosen = |part: &str| {
        let number = || {
            let number: usize = part.trim_end_matches('.').parse().ok()?;
            options.get(number.checked_sub(1)?).map(String::as_str)
        };
        let by_number = || by_number.then(number).flatten();
        option_of(options, part).or_else(by_number).map(Value::from)
    };
    let all = |parts: &mut dyn Iterator<Item = &str>| {
        let parts = parts.map(str::trim).filter(|part| !part.is_empty());
        let all: Vec<Value> = parts.map(chosen).collect::<Option<_>>()?;
        (!all.is_empty()).then_some(Value::Array(all))
    };
    let is_between = |letter: char| letter == ',' || letter.is_whitespace();
    all(&mut parts).or_else(|| all(&mut text.split(is_between)))
}

impl<'de> Deserialize<'de> for AnswerType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Tagged {
            Boolean,
            Select {
                options: Vec<String>,
            },
            MultiSelect {
                options: Vec<String>,
                minimum: Option<u32>,
                maximum: Option<u32>,
            },
            Number {
                #[serde(default)]
                integer: bool,
                minimum: Option<Number>,
                maximum: Option<Number>,
            },
            Text {
                minimum: Option<u32>,
                maximum: Option<u32>,
                format: Option<TextFormat>,
            },
            Secret,
        }
        #[derive(Deserialize)]
        enum Old {
            Boolean,
            Select { options: Vec<String> },
            Text,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Tagged(Tagged),
            Old(Old),
        }
        Ok(match Spelling::deserialize(deserializer)? {
            Spelling::Tagged(Tagged::Boolean) | Spelling::Old(Old::Boolean) => Self::Boolean,
            Spelling::Tagged(Tagged::Select { options })
            | Spelling::Old(Old::Select { options }) => Self::Select { options },
            Spelling::Tagged(Tagged::MultiSelect {
                options,
                minimum,
                maximum,
            }) => Self::MultiSelect {
                options,
                minimum,
                maximum,
            },
            Spelling::Tagged(Tagged::Number {
                integer,
                minimum,
                maximum,
            }) => Self::Number {
                integer,
                minimum,
                maximum,
            },
            Spelling::Tagged(Tagged::Text {
                minimum,
                maximum,
                format,
            }) => Self::Text {
                minimum,
                maximum,
                format,
            },
            Spelling::Old(Old::Text) => Self::text(),
            Spelling::Tagged(Tagged::Secret) => Self::Secret,
        })
    }
}

#[cfg(test)]
mod tests;

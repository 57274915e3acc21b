//! Formats of texts, as the forms of MCP and ACP name them.

use serde::{Deserialize, Serialize};

/// The form of a text, named as in JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    /// `name@host`, without display name or quotes.
    Email,
    /// A scheme, a colon, and no blank: RFC 3986.
    Uri,
    /// `2025-05-30`, a day that exists.
    Date,
    /// `2025-05-30T09:00:00Z`, with an offset: RFC 3339.
    DateTime,
}

impl TextFormat {
    /// Whether a text has this form.
    #[must_use]
    pub fn is_met_by(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
        }
    }

    /// The form with its article, for the middle of a sentence.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Uri => "a URI",
            Self::Date => "a date (YYYY-MM-DD)",
            Self::DateTime => "a date and time (YYYY-MM-DDThh:mm:ssZ)",
        }
    }
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else {
        return false;
    };
    let of_name =
        |letter: char| letter.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~.-".contains(letter);
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '-')
    };
    name.split('.').all(|part| !part.is_empty())
        && name.chars().all(of_name)
        && host.split('.').all(is_label)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut of_scheme = scheme.chars();
    of_scheme
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && of_scheme.all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
        && !rest.is_empty()
        && rest.chars().all(|letter| {
            letter.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(letter)
        })
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    match (number(year, 4), number(month, 2), number(day, 2)) {
        (Some(year), Some(month @ 1..=12), Some(day)) => (1..=days(year, month)).contains(&day),
        _ => false,
    }
}

fn days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let Some((clock, offset)) = time.find(['Z', 'z', '+', '-']).map(|at| time.split_at(at)) else {
        return false;
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let clock: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = clock.as_slice() else {
        return false;
    };
    is_date(date)
        && is_clock(hour, minute)
        && number(second, 2).is_some_and(|second| second <= 60)
        && !fraction.is_empty()
        && fraction.bytes().all(|digit| digit.is_ascii_digit())
        && is_offset(offset)
}

fn is_offset(offset: &str) -> bool {
    match offset.split_at_checked(1) {
        Some(("Z" | "z", "")) => true,
        Some(("+" | "-", rest)) => rest
            .split_once(':')
            .is_some_and(|(hour, minute)| is_clock(hour, minute)),
        _ => false,
    }
}

fn is_clock(hour: &str, minute: &str) -> bool {
    number(hour, 2).is_some_and(|hour| hour < 24)
        && number(minute, 2).is_some_and(|minute| minute < 60)
}

/// Parses a text of exactly this many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    (text.len() == digits && text.bytes().all(|digit| digit.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_its_format_or_not() {
        let check = |format: TextFormat, fits: &[&str], does_not: &[&str]| {
            for text in fits {
                assert!(format.is_met_by(text), "{text} is {}", format.phrase());
            }
            for text in does_not {
                assert!(!format.is_met_by(text), "{text} is not {}", format.phrase());
            }
        };
        check(
            TextFormat::Email,
            &[
                "ada@example.org",
                "a.b+c@x-y.org",
                "root@localhost",
                "jörg@müller.de",
            ],
            &[
                "",
                "ada",
                "@x.org",
                "ada@",
                "a..b@x.org",
                ".a@x.org",
                "a b@x.org",
                "a@x..org",
                "a@-x.org",
                "A <a@x.org>",
                "a@b@c.org",
            ],
        );
        check(
            TextFormat::Uri,
            &[
                "https://example.org/a?b=c#d",
                "mailto:ada@example.org",
                "urn:x",
                "a+b-c.d:%20",
            ],
            &[
                "",
                "example.org",
                "://x",
                "1a:b",
                "http:",
                "http://a b",
                "http://ä",
            ],
        );
        check(
            TextFormat::Date,
            &["2025-05-30", "2024-02-29", "2000-02-29", "2025-12-31"],
            &[
                "",
                "2025-5-30",
                "2025-02-29",
                "1900-02-29",
                "2025-04-31",
                "2025-13-01",
                "2025-00-10",
                "2025-01-00",
                "30.05.2025",
                "2025-05-30T00:00:00Z",
                "+025-05-30",
            ],
        );
        check(
            TextFormat::DateTime,
            &[
                "2025-05-30T09:00:00Z",
                "2025-05-30t09:00:00.25z",
                "2016-12-31T23:59:60+00:00",
                "2025-05-30T09:00:00-07:30",
            ],
            &[
                "",
                "2025-05-30",
                "2025-05-30T09:00:00",
                "2025-05-30 09:00:00Z",
                "2025-05-30T24:00:00Z",
                "2025-05-30T09:60:00Z",
                "2025-05-30T09:00Z",
                "2025-05-30T09:00:61Z",
                "2025-05-30T09:00:00.Z",
                "2025-05-30T09:00:00+7:00",
                "2025-05-30T09:00:00Zx",
                "2025-02-30T09:00:00Z",
            ],
        );
    }
}

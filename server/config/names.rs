//! Names and keys: which are taken, how they are shown, which one was probably meant.

use aside_base::visible::is_hidden;

/// Pattern of names for the schema, equal to [`is_name`].
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9_-]{1,64}$";

/// May a tool, a provider or a server be called so?
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// The candidate that was probably meant, if any is near enough.
pub(crate) fn nearest<'a>(
    wrong: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(wrong, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(wrong.len()).div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean …?`, or nothing.
#[must_use]
pub fn did_you_mean<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, candidates)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default()
}

/// A key as it is written in TOML, quoted where it must be. Hidden characters come out as their numbers.
pub(crate) fn dotted(path: &[String]) -> String {
    let bare = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let parts = path.iter().map(|part| {
        if bare(part) {
            part.clone()
        } else {
            quoted(part)
        }
    });
    parts.collect::<Vec<_>>().join(".")
}

/// A text as TOML quotes it, on one line. Hidden characters come out as their numbers.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            _ if is_hidden(char) => quoted += &format!("\\U{:08X}", u32::from(char)),
            _ => quoted.push(char),
        }
    }
    quoted + "\""
}

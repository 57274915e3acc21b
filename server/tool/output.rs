//! How tools word and bound what they return.

use super::ToolContext;
use crate::turn::question::Secret;

/// Bytes of a result that are kept for `read_output`.
const KEPT: usize = 16 << 20;
/// What stands for a secret in what a tool says.
const REDACTED: &str = "[secret]";

/// What a tool says, without the secrets that it was given.
pub fn without_secrets(text: String, secrets: &[Secret]) -> String {
    let cut = |text: String, secret: &Secret| text.replace(secret.reveal(), REDACTED);
    secrets.iter().fold(text, cut)
}

/// The text for the model: whole where it fits, else its beginning and its end, and where the rest is.
/// # Errors
/// Where it is too long and cannot be kept.
pub fn fitted(host: &ToolContext, text: String) -> Result<String, String> {
    let (head, tail) = (host.limits.head, host.limits.tail);
    if text.len() <= head + tail {
        return Ok(text);
    }
    let kept = &text.as_bytes()[..text.len().min(KEPT)];
    let id = (host.keep_blob)(kept)
        .map_err(|error| format!("The result is too long and cannot be kept: {error}."))?;
    let (start, end) = (
        text.floor_char_boundary(head),
        text.ceil_char_boundary(text.len() - tail),
    );
    let call = format!("read_output {{\"id\":\"{id}\",\"from\":{start}}}");
    let left_out = end - start;
    Ok(format!(
        "{}\n[{left_out} of {} bytes are left out here: {call}]\n{}",
        &text[..start],
        text.len(),
        &text[end..]
    ))
}

/// Cuts a text to at most `bytes` and appends the note; a text that fits stays as it is.
pub(super) fn cut(text: &mut String, bytes: usize, note: &str) {
    if text.len() <= bytes {
        return;
    }
    let whole = (0..=bytes).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(whole.unwrap_or_default());
    text.push_str(note);
}

/// A number of things, in words: `1 file`, `3 matches`.
pub(super) fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ if thing.ends_with("ch") => format!("{count} {thing}es"),
        _ => format!("{count} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        let check = |bytes: usize, expected: &str| {
            let mut text = "aäb".to_owned();
            cut(&mut text, bytes, "…");
            assert_eq!(text, expected);
        };
        check(4, "aäb");
        check(3, "aä…");
        check(2, "a…");
        check(0, "…");
    }
}

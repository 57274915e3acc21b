//! Values that may hold secrets, as they are shown. Pure.

use aside_base::environment::looks_secret;
use serde_json::Value;

use super::{layers::Origin, settings::HIDDEN};

/// Whether the text can be the name of a variable and does not look like a key.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    is_one_word(name) && !name.contains('-') && !looks_random(name)
}

fn is_one_word(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    text.chars().all(is_plain)
}

/// Whether letters and digits alternate, or the case, as in keys and in no name that a person gives.
fn looks_random(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let pairs = word.as_bytes().windows(2);
    let changes = pairs.filter(|pair| match pair {
        [one, other] if one.is_ascii_digit() => other.is_ascii_alphabetic(),
        [one, other] => one.is_ascii_alphabetic() && other.is_ascii_digit(),
        _ => false,
    });
    changes.count() >= 4
        || word.starts_with("sk_")
        || word.len() >= 20 && has(u8::is_ascii_digit) && is_mixed
        || word.len() >= 32 && !word.contains(['_', '-'])
}

/// Whether an option, a header or a part of a query is called like a secret.
fn names_secret(name: &str) -> bool {
    looks_secret(&name.to_ascii_uppercase())
}

/// A program and its arguments as they are shown: what an option, a variable, a header or an address says of a secret is
/// hidden.
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut follows = false;
    let words = words.into_iter().map(|word| {
        let is_option = word.starts_with('-');
        if std::mem::replace(&mut follows, false) && !is_option {
            return HIDDEN.to_owned();
        }
        let at = word.find(['=', ':']).filter(|_| !word.contains("://"));
        match at {
            Some(at) if names_secret(&word[..at]) => format!("{}{HIDDEN}", &word[..=at]),
            _ if is_option => {
                follows = names_secret(word);
                word.to_owned()
            }
            _ if is_one_word(word) && looks_random(word) => HIDDEN.to_owned(),
            _ => address(word),
        }
    });
    words.collect()
}

/// An address as it is shown: without its password, and without what its query says of a secret.
#[must_use]
pub fn address(text: &str) -> String {
    let (before, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => return text.to_owned(),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((person, host)) => match person.split_once(':') {
            Some((name, _)) => format!("{name}:{HIDDEN}@{host}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    let (path, query) = rest
        .split_once('?')
        .map_or((rest, None), |(path, query)| (path, Some(query)));
    let part = |part: &str| match part.split_once('=') {
        Some((name, _)) if names_secret(name) => format!("{name}={HIDDEN}"),
        _ => part.to_owned(),
    };
    let query = query.map(|query| {
        let parts: Vec<String> = query.split('&').map(part).collect();
        format!("?{}", parts.join("&"))
    });
    format!("{before}{authority}{path}{}", query.unwrap_or_default())
}

/// A value as it is shown. What stands in a workspace's file is no secret, and decides what is started.
pub(super) fn shown(path: &[String], value: &Value, origin: &Origin) -> Value {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match (&parts[..], value) {
        _ if matches!(origin, Origin::WorkspaceFile(..)) => value.clone(),
        (["mcp", "servers", _, "env" | "headers", _] | ["providers", _, "headers", _], _) => {
            HIDDEN.into()
        }
        (
            ["providers", _, "api_key_env"]
            | ["mcp", "servers", _, "bearer_token_env"]
            | ["mcp", "servers", _, "headers_env", _],
            Value::String(name),
        ) if !is_variable(name) => HIDDEN.into(),
        (["providers", _, "base_url"] | ["mcp", "servers", _, "url"], Value::String(text)) => {
            address(text).into()
        }
        (
            ["providers", _, "api_key_command"]
            | ["mcp", "servers", _, "args"]
            | ["conversation", "tools", _, "command"],
            Value::Array(words),
        ) => command(words.iter().filter_map(Value::as_str)).into(),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_no_name_of_a_variable() {
        for name in [
            "MINE",
            "OPENAI_API_KEY",
            "key2",
            "AZURE_KEY_2024_B",
            "http_proxy",
        ] {
            assert!(is_variable(name), "{name}");
        }
        for key in [
            "sk_live_9f8e7d6c5b4a",
            "sk-0123456789abcdef",
            "9f8e7d6c5b4a3210",
            "gsk_aB3dE5fG7hI9jK1l",
            "abcdefabcdefabcdefabcdefabcdefab",
            "a b",
        ] {
            assert!(!is_variable(key), "{key}");
        }
    }

    #[test]
    fn what_names_a_secret_is_hidden_in_commands() {
        let shown = |text: &str| command(text.split(' ')).join(" ");
        for (given, expected) in [
            (
                "npx -y @scope/server@1.2.3 --port 8080",
                "npx -y @scope/server@1.2.3 --port 8080",
            ),
            (
                "db --access-token canary-1 x",
                "db --access-token [hidden] x",
            ),
            ("db --api-key=canary-1 x", "db --api-key=[hidden] x"),
            ("env DB_PASSWORD=canary-1 db", "env DB_PASSWORD=[hidden] db"),
            (
                "mcp-remote https://h/mcp?api_key=c&x=1 --header Authorization:c",
                "mcp-remote https://h/mcp?api_key=[hidden]&x=1 --header Authorization:[hidden]",
            ),
            (
                "db postgres://me:canary@host/db?sslmode=on",
                "db postgres://me:[hidden]@host/db?sslmode=on",
            ),
            ("db ghp_a1b2c3d4e5f6", "db [hidden]"),
            ("docker run -v /a:/b image:2", "docker run -v /a:/b image:2"),
        ] {
            assert_eq!(shown(given), expected);
        }
    }
}

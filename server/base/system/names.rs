//! Names of files that mean something else than they say.
//!
//! Windows takes some names for devices, cuts blanks and dots off others, and finds a second content of a file behind a
//! colon. A path with such a name leads elsewhere than whoever reads it thinks, so it is none. Short names, as `PROGRA~1`,
//! and those in another case are names of what they lead to, which is found out once that is open.

use std::{
    borrow::Cow,
    path::{MAIN_SEPARATOR, PathBuf},
};

/// Names of devices, whatever the name of a file ends with behind them.
const DEVICES: [&str; 10] = [
    "con", "prn", "aux", "nul", "conin$", "conout$", "clock$", "com", "lpt", "config$",
];

/// The reason why a path is none here, with what to write instead. None where it is one.
#[must_use]
pub fn strange(path: &str) -> Option<&'static str> {
    match cfg!(windows) {
        true => strange_to_windows(path),
        false => None,
    }
}

/// The same path, with slashes between its names.
#[must_use]
pub fn with_slashes(path: PathBuf) -> PathBuf {
    match path.to_str().map(slashed) {
        Some(Cow::Owned(text)) => text.into(),
        Some(Cow::Borrowed(_)) | None => path,
    }
}

/// The same for the text of a path.
#[must_use]
pub fn slashed(path: &str) -> Cow<'_, str> {
    match MAIN_SEPARATOR {
        '/' => Cow::Borrowed(path),
        other => Cow::Owned(path.replace(other, "/")),
    }
}

/// The reason why a path is none to Windows.
#[must_use]
pub fn strange_to_windows(path: &str) -> Option<&'static str> {
    let is_part = |c: char| c == '/' || c == '\\';
    if path.starts_with(r"\\?\") || path.starts_with(r"\\.\") || path.starts_with(r"\??\") {
        return Some("it bypasses the names of Windows; write it without its prefix");
    }
    if path.contains("//?/") || path.contains("//./") {
        return Some("it bypasses the names of Windows; write it without its prefix");
    }
    let mut parts = path.split(is_part);
    // The letter of a drive may stand at the begin of a path, which then goes on behind it.
    let first = parts.next().unwrap_or_default();
    let drive = first.as_bytes();
    let rest = match drive {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => {
            if drive.len() > 2 || !path[2..].starts_with(is_part) {
                return Some("it depends on the folder of a drive; write it from the root");
            }
            None
        }
        _ => Some(first),
    };
    rest.into_iter().chain(parts).find_map(strange_name)
}

/// The reason why Windows takes a name for another.
fn strange_name(name: &str) -> Option<&'static str> {
    if matches!(name, "" | "." | "..") {
        return None;
    }
    if name.contains(':') {
        return Some("a colon leads to another content of the file; write a name without it");
    }
    if name.chars().any(|c| c < ' ' || "<>\"|?*".contains(c)) {
        return Some("it has a character that Windows keeps for itself; write another name");
    }
    if name.ends_with([' ', '.']) {
        return Some("Windows drops the blank or dot at its end; write it without that");
    }
    is_device(name).then_some("Windows keeps that name for a device; write another one")
}

/// Whether Windows keeps a name for a device: one of those, also with an end, blanks, or a number where that belongs to
/// it.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.trim_end_matches(' ').to_lowercase();
    let number = |rest: &str| {
        let mut letters = rest.chars();
        let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '\u{b9}' | '\u{b2}' | '\u{b3}');
        letters.next().is_some_and(is_digit) && letters.next().is_none()
    };
    DEVICES
        .iter()
        .any(|device| match stem.strip_prefix(device) {
            Some("") => !matches!(*device, "com" | "lpt"),
            Some(rest) => matches!(*device, "com" | "lpt") && number(rest),
            None => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_means_to_windows() {
        let kind = |path: &str| match strange_to_windows(path) {
            None => "",
            Some(why) if why.contains("device") => "device",
            Some(why) if why.contains("colon") => "stream",
            Some(why) if why.contains("drops") => "end",
            Some(why) if why.contains("bypasses") => "prefix",
            Some(why) if why.contains("drive") => "drive",
            Some(_) => "character",
        };
        for (path, expected) in [
            ("", ""),
            (".", ""),
            ("..", ""),
            ("../a", ""),
            ("a", ""),
            ("a.txt", ""),
            ("src/main.rs", ""),
            (r"src\main.rs", ""),
            ("C:/work/a", ""),
            (r"c:\work\a", ""),
            (r"\\server\share\a", ""),
            ("PROGRA~1/a", ""),
            (".git", ""),
            (".env", ""),
            ("a b", ""),
            (" a", ""),
            ("console", ""),
            ("con1", ""),
            ("common", ""),
            ("com", ""),
            ("com10", ""),
            ("lpt", ""),
            ("nul_", ""),
            ("a.con", ""),
            ("null", ""),
            ("auxiliary.c", ""),
            ("\u{e9}t\u{e9}.txt", ""),
            ("con", "device"),
            ("CON", "device"),
            ("Con.txt", "device"),
            ("con .txt", "device"),
            ("nul", "device"),
            ("NUL.tar.gz", "device"),
            ("a/nul", "device"),
            ("nul/a", "device"),
            ("aux", "device"),
            ("aux.h", "device"),
            ("prn", "device"),
            ("com1", "device"),
            ("COM9.log", "device"),
            ("com0", "device"),
            ("com\u{b9}", "device"),
            ("lpt3", "device"),
            ("LPT\u{b2}.x", "device"),
            ("CONIN$", "device"),
            ("conout$", "device"),
            ("clock$", "device"),
            ("a.txt:x", "stream"),
            ("a.c::$DATA", "stream"),
            ("a::$DATA", "drive"),
            (".git::$INDEX_ALLOCATION/config", "stream"),
            ("a/b:c/d", "stream"),
            ("a.", "end"),
            ("a ", "end"),
            ("a./b", "end"),
            (".git ", "end"),
            (".git./config", "end"),
            ("...", "end"),
            ("a. . ", "end"),
            (r"\\?\C:\a", "prefix"),
            (r"\\.\COM1", "prefix"),
            (r"\??\C:\a", "prefix"),
            ("//?/C:/a", "prefix"),
            ("//./pipe/a", "prefix"),
            ("C:", "drive"),
            ("C:a", "drive"),
            ("a<b", "character"),
            ("a|b", "character"),
            ("a?", "character"),
            ("a*", "character"),
            ("a\"b", "character"),
            ("a\u{1}b", "character"),
        ] {
            assert_eq!(kind(path), expected, "{path:?}");
        }
    }
}

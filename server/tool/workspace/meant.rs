//! The file that a name means. Models and people write names as shells, editors and chats do: with a home, a variable or
//! a scheme before them, with marks around them, with a line behind them.
//!
//! A name that is really there means itself, and so does each name in a folder that is.

use std::path::{Component, Path, PathBuf};

use url::Url;

/// What is known of the place in which names are looked for.
pub(super) struct NameGround<'a> {
    /// Whether there is something at a path, relative to the root or absolute.
    pub(super) exists: &'a dyn Fn(&Path) -> bool,
    /// The root of the workspace.
    pub(super) root: &'a Path,
    /// The home of the user.
    pub(super) home: Option<&'a Path>,
}

/// Reason why a name means no file here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaningless {
    /// It leads out of the workspace.
    Outside,
    /// Nobody would name a file so. The reason follows "is no name of a file here: ".
    Unlikely(&'static str),
}

/// The path that a name means: relative to the root, or absolute.
///
/// # Errors
/// [`Meaningless`], if it means a place elsewhere.
pub(super) fn meant(name: &str, ground: &NameGround<'_>) -> Result<PathBuf, Meaningless> {
    let bare = bare(name);
    let candidates = [
        Some(name),
        Some(bare),
        bare.strip_prefix('@'),
        without_lines(bare),
    ];
    let mut candidates = candidates.into_iter().flatten().map(Path::new);
    if let Some(real) = candidates.find(|it| (ground.exists)(it)) {
        return Ok(real.to_owned());
    }
    let path = Path::new(name);
    if begins_there(path, ground) {
        return Ok(path.to_owned());
    }
    if let Some(file) = of_uri(bare) {
        return file;
    }
    if let Some(file) = of_shorthand(bare, ground) {
        return file;
    }
    Ok(path.to_owned())
}

/// The reason why nobody would give a new file this name; `None` for an ordinary one.
pub(super) fn unlikely(path: &Path) -> Option<&'static str> {
    let name = path.to_str()?;
    let parts = || {
        path.components()
            .filter_map(|part| part.as_os_str().to_str())
    };
    if name.chars().any(char::is_control) {
        Some("it has a control character; leave that out")
    } else if parts().any(|part| part.trim() != part) {
        Some("a part of it begins or ends with a blank; leave that out")
    } else if bare(name) != name {
        Some("marks stand around it; leave them out")
    } else if name.starts_with('@') && !name.contains('/') {
        Some("it begins with the sign by which messages name files; leave that out")
    } else if name.contains(['\\', '*']) {
        Some("it has a backslash or an asterisk; write the file's own name, with slashes")
    } else if name.contains("$(") || name.contains('`') {
        Some("it has a command of a shell in it; write out what that stands for")
    } else if name.ends_with('/') {
        Some("a slash at its end stands for a folder; leave that out")
    } else if without_lines(name).is_some() {
        Some("a line number follows it; leave that out")
    } else {
        None
    }
}

/// Whether the folder is there that a name begins with.
fn begins_there(path: &Path, ground: &NameGround<'_>) -> bool {
    let mut parts = path.components();
    let first = match (parts.next(), parts.next()) {
        (Some(Component::Normal(first)), Some(_)) => Some(Path::new(first)),
        _ => None,
    };
    first.is_some_and(|first| (ground.exists)(first))
}

/// A name without blanks and marks around it.
fn bare(name: &str) -> &str {
    let name = name.trim();
    let pairs = [('`', '`'), ('"', '"'), ('\'', '\''), ('<', '>')];
    let inner = pairs.iter().find_map(|(open, close)| {
        let inner = name.strip_prefix(*open)?.strip_suffix(*close)?;
        (!inner.is_empty()).then_some(inner)
    });
    inner.unwrap_or(name)
}

/// A name without the lines behind it, as in `a.rs:3`, `a.rs:3:5`, `a.rs:3-5`, `a.rs#L3` and `a.rs#L3-L5`.
fn without_lines(name: &str) -> Option<&str> {
    let is_lines = |text: &str| {
        let text = text.replace('L', "");
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || "-:".contains(c))
    };
    let (before, lines) = name.split_once("#L").or_else(|| {
        let at = name.rfind('/').map_or(0, |at| at + 1);
        let (file, lines) = name[at..].split_once(':')?;
        Some((&name[..at + file.len()], lines))
    })?;
    (!before.is_empty() && is_lines(lines)).then_some(before)
}

/// The file of a URI; none where the name is no URI.
fn of_uri(name: &str) -> Option<Result<PathBuf, Meaningless>> {
    let (scheme, rest) = name.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if scheme.eq_ignore_ascii_case("file") && !rest.starts_with('/') {
        let why = "it begins as the address of a file; write its path alone";
        return Some(Err(Meaningless::Unlikely(why)));
    }
    if !is_scheme || !rest.starts_with('/') {
        return None;
    }
    if !scheme.eq_ignore_ascii_case("file") {
        return Some(Err(Meaningless::Unlikely(
            "it is the address of something else",
        )));
    }
    let file = Url::parse(name)
        .ok()
        .and_then(|uri| uri.to_file_path().ok());
    Some(file.ok_or(Meaningless::Outside))
}

/// The file of a name with a home or a variable in front; none where it has neither.
fn of_shorthand(name: &str, ground: &NameGround<'_>) -> Option<Result<PathBuf, Meaningless>> {
    let (first, rest) = name.split_once(['/', '\\']).unwrap_or((name, ""));
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let variable = first
        .strip_prefix("${")
        .and_then(|word| word.strip_suffix('}'))
        .or_else(|| first.strip_prefix("$env:"))
        .or_else(|| first.strip_prefix('$'))
        .or_else(|| {
            first
                .strip_prefix('%')
                .and_then(|word| word.strip_suffix('%'))
        })
        .filter(|word| is_word(word));
    let folder = match (first, variable) {
        ("~", _) | (_, Some("HOME" | "USERPROFILE")) => ground.home,
        ("~+", _) | (_, Some("PWD" | "CWD")) => Some(ground.root),
        (_, Some(_)) => {
            return Some(Err(Meaningless::Unlikely(
                "it begins with a variable of a shell; write out what that stands for",
            )));
        }
        // The home of somebody else.
        (user, None) if user.starts_with('~') && name.len() > user.len() => None,
        _ => return is_drive_elsewhere(name).then_some(Err(Meaningless::Outside)),
    };
    Some(
        folder
            .map(|folder| folder.join(rest))
            .ok_or(Meaningless::Outside),
    )
}

/// Whether a name begins with a drive of Windows, where that is no path.
fn is_drive_elsewhere(name: &str) -> bool {
    if Path::new(name).is_absolute() {
        return false;
    }
    let mut letters = name.chars();
    let drive = letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic());
    drive && letters.next() == Some(':') && letters.next().is_some_and(|c| c == '\\' || c == '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a name means where `a.rs`, `src/b.rs` and a folder named `$odd` are.
    #[cfg(unix)]
    #[track_caller]
    fn check(name: &str, expected: Result<&str, Meaningless>) {
        let there = ["a.rs", "src", "src/b.rs", "$odd", "#L1"];
        let ground = NameGround {
            exists: &|path| there.iter().any(|it| Path::new(it) == path),
            root: Path::new("/home/ada/work"),
            home: Some(Path::new("/home/ada")),
        };
        let expected = expected.map(PathBuf::from);
        assert_eq!(meant(name, &ground), expected, "{name:?}");
    }

    #[cfg(unix)]
    #[test]
    fn names_mean_the_files_that_people_mean() {
        for name in [
            "a.rs",
            "new.rs",
            "$id.tsx",
            "$odd/new",
            "#L1",
            "src/~/x",
            "[slug].ts",
            "it's.md",
            "a:b",
        ] {
            check(name, Ok(name));
        }
        check("~/notes.md", Ok("/home/ada/notes.md"));
        check("~", Ok("/home/ada/"));
        check("$HOME/notes.md", Ok("/home/ada/notes.md"));
        check("${HOME}/notes.md", Ok("/home/ada/notes.md"));
        check("%USERPROFILE%\\notes.md", Ok("/home/ada/notes.md"));
        check("$PWD/a.rs", Ok("/home/ada/work/a.rs"));
        check(
            "file:///home/ada/work/a%20b.rs#L3",
            Ok("/home/ada/work/a b.rs"),
        );
        check("file://localhost/x", Ok("/x"));
        check("file://far/x", Err(Meaningless::Outside));
        let address = "it begins as the address of a file; write its path alone";
        check("file:x", Err(Meaningless::Unlikely(address)));
        check("~bob/x", Err(Meaningless::Outside));
        check("C:\\work\\a.rs", Err(Meaningless::Outside));
        for name in [
            "`a.rs`",
            " a.rs\n",
            "\"a.rs\"",
            "<a.rs>",
            "@a.rs",
            "a.rs:3",
            "a.rs:3:5",
            "a.rs#L3-L5",
            "`a.rs:3`",
        ] {
            check(name, Ok("a.rs"));
        }
        check("src/b.rs:10-12", Ok("src/b.rs"));
        for name in ["https://example.org/x", "git:/x", "zed:///agent"] {
            let why = Meaningless::Unlikely("it is the address of something else");
            check(name, Err(why));
        }
        assert!(matches!(
            meant(
                "$TMPDIR/x",
                &NameGround {
                    exists: &|_| false,
                    root: Path::new("/w"),
                    home: None
                }
            ),
            Err(Meaningless::Unlikely(_))
        ));
    }

    #[test]
    fn new_files_have_names_that_somebody_would_give() {
        for name in [
            "a.rs",
            "src/a b.rs",
            "$id.tsx",
            "[slug]/page.tsx",
            "it's.md",
            "a:b",
            "@types/x.d.ts",
            "src/@x.md",
            "C#.md",
            "12:30 notes.md",
        ] {
            assert_eq!(unlikely(Path::new(name)), None, "{name}");
        }
        for name in [
            "a\n.rs",
            "`a.rs`",
            "\"a.rs\"",
            "<a.rs>",
            "src/ a.rs",
            "a.rs ",
            "src\\a.rs",
            "*.rs",
            "a.rs:3",
            "a.rs#L3",
            "$(pwd)/a.rs",
            "src/",
            "a`date`.rs",
            "@n.md",
        ] {
            assert!(unlikely(Path::new(name)).is_some(), "{name}");
        }
    }
}

//! Which names are special: what tools never write, and what they ask for before they read.

use std::path::{Component, Path};

use crate::visible::is_hidden;

/// Version control, Aside's own settings, and settings by which an editor or a shell is made to run
/// something. A folder's name protects all beneath it.
const PROTECTED: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".svn",
    "aside.toml",
    ".aside",
    ".vscode",
    ".vs",
    ".idea",
    ".fleet",
    ".zed",
    ".helix",
    ".devcontainer",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".lvimrc",
    ".kakrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".envrc",
];

const SECRET_NAMES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
];

const SECRET_ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".ppk",
    ".jks",
    ".keystore",
    ".kdbx",
    ".age",
];

/// Whether nothing may be written at this path.
pub(super) fn is_protected(path: &Path) -> bool {
    names(path).any(|name| {
        PROTECTED.contains(&name.as_str())
            || name.ends_with(".code-workspace")
            // The short name of `.git` on file systems that make those.
            || name.starts_with("git~")
    })
}

/// Whether reading this path must be asked for.
pub(super) fn is_secret(path: &Path) -> bool {
    let Some(name) = names(path).last() else {
        return false;
    };
    name.starts_with(".env")
        || SECRET_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The names of a path as a forgiving file system would compare them: lower case, without invisible
/// characters, without dots and spaces at the end, without a stream's name.
fn names(path: &Path) -> impl Iterator<Item = String> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => {
            let name: String = name
                .to_string_lossy()
                .chars()
                .filter(|c| !is_hidden(*c))
                .collect();
            let name = name
                .split(':')
                .next()
                .unwrap_or_default()
                .trim_end_matches(['.', ' ']);
            Some(name.to_lowercase())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_histories_are_protected() {
        let check = |path: &str, protected: bool| {
            assert_eq!(is_protected(Path::new(path)), protected, "{path}");
        };
        check(".git/hooks/pre-commit", true);
        check(".git", true);
        check("sub/.GIT/config", true);
        check(".g\u{200c}it/config", true);
        check(".git./config", true);
        check("git~1/config", true);
        check("aside.toml", true);
        check("Aside.toml", true);
        check(".aside/x", true);
        check(".vscode/tasks.json", true);
        check("x.code-workspace", true);
        check(".exrc", true);
        check(".gitignore", false);
        check(".github/workflows/ci.yml", false);
        check("src/git.rs", false);
        check("aside.toml.md", false);
    }

    #[test]
    fn what_holds_secrets_is_asked_for() {
        let check =
            |path: &str, secret: bool| assert_eq!(is_secret(Path::new(path)), secret, "{path}");
        check(".env", true);
        check("a/.env.local", true);
        check("a/.ENV", true);
        check(".ssh/id_rsa", true);
        check(".ssh/id_rsa.pub", false);
        check("tls/server.PEM", true);
        check("server.key", true);
        check("src/key.rs", false);
        check(".env/src/a.rs", false);
        check("environment.rs", false);
    }
}

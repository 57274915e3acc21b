//! What of our environment a child process gets: an allow-list, and never what looks like a key.

use std::ffi::OsString;

const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "TMPDIR",
    "CI",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "JAVA_HOME",
    "VIRTUAL_ENV",
    "PYENV_ROOT",
    "NVM_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
];

/// The variables that a child process gets.
pub(super) fn allowed(
    all: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    all.into_iter()
        .filter(|(name, _)| name.to_str().is_some_and(is_allowed))
        .collect()
}

fn is_allowed(name: &str) -> bool {
    let looks_secret = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"]
        .iter()
        .any(|word| name.contains(word));
    !looks_secret && (ALLOWED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_get_what_is_listed_and_no_key() {
        let all = [
            "PATH",
            "LC_ALL",
            "LC_TOKEN",
            "ANTHROPIC_API_KEY",
            "LD_PRELOAD",
            "ASIDE_LOG",
            "HOME",
        ];
        let given = allowed(all.map(|name| (name.into(), "x".into())));
        let names: Vec<_> = given
            .iter()
            .map(|(name, _)| name.to_str().unwrap())
            .collect();
        assert_eq!(names, ["PATH", "LC_ALL", "HOME"]);
    }
}

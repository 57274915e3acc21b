//! Rules of the code itself: which module may use which.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A module and those that it must not know. The turn is a crate of its own, which cannot use any of them.
const ARROWS: [(&str, &[&str]); 6] = [
    (
        "digest.rs",
        &["config", "engine", "front", "provider", "session", "tool"],
    ),
    (
        "provider",
        &["config", "engine", "front", "session", "tool"],
    ),
    (
        "tool",
        &["config", "engine", "front", "provider", "session"],
    ),
    (
        "session",
        &["config", "engine", "front", "provider", "tool"],
    ),
    (
        "config",
        &["engine", "front", "provider", "session", "tool"],
    ),
    ("engine", &["front"]),
];

#[test]
fn arrows_between_modules_point_one_way() {
    for (module, unknown) in ARROWS {
        for file in sources(&root().join("server").join(module)) {
            let text = fs::read_to_string(&file).unwrap();
            for other in unknown {
                for spelling in [
                    format!("crate::{other}::"),
                    format!("    {other}::"),
                    format!("aside::{other}::"),
                    format!("crate::{{{other}::"),
                    format!(", {other}::"),
                ] {
                    let used = text
                        .lines()
                        .find(|line| line.contains(&spelling) && !is_comment(line));
                    assert!(
                        used.is_none(),
                        "{} uses {other}: {}",
                        file.display(),
                        used.unwrap_or_default()
                    );
                }
            }
        }
    }
}

#[test]
fn the_turn_depends_on_no_runtime_clock_or_file() {
    let manifest = fs::read_to_string(root().join("server/turn/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut uses: Vec<&str> = manifest["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    uses.sort_unstable();
    assert_eq!(uses, ["serde", "serde_json", "thiserror"]);
    for file in sources(&root().join("server/turn")) {
        if file.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for absent in [
            "std::fs",
            "std::net",
            "std::env",
            "std::thread",
            "Instant::now",
            "SystemTime",
            "std::process",
        ] {
            assert!(!text.contains(absent), "{} knows {absent}", file.display());
        }
    }
}

/// What only one place of the front ends may call, so that each task has an owner and no future of a request to the
/// client is dropped. The second is the file or folder that may.
const ONLY_THERE: [(&str, &str); 3] = [
    ("tokio::spawn(", "front/transport/tasks.rs"),
    (".send_request", "front/lsp/client/"),
    (".send_notification", "front/lsp/client/"),
];

#[test]
fn tasks_and_requests_to_the_client_begin_in_one_place() {
    let server = root().join("server");
    for file in sources(&server.join("front")) {
        let place = file.strip_prefix(&server).unwrap().display().to_string();
        if place.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        for (call, home) in ONLY_THERE {
            assert!(
                !code.contains(call) || place.starts_with(home),
                "{place} calls {call}; that is for {home}"
            );
        }
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

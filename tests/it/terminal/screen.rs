//! Screens as they stand in the files beside this one.

use std::{fs, path::Path};

use crate::world::TestWorld;

/// Checks a screen against the file of this name, or writes it.
#[track_caller]
pub(super) fn matches(name: &str, screen: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/terminal")
        .join(name);
    if std::env::var_os("ASIDE_TEST_WRITE").is_some() {
        fs::write(&path, screen).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if screen != expected {
        let diff = similar::TextDiff::from_lines(expected.as_str(), screen);
        let diff = diff.unified_diff().header(name, "the screen").to_string();
        panic!("{diff}");
    }
}

/// The screen without what differs from run to run: where the world is, and how much the model was told of it.
pub(super) fn settled(world: &TestWorld, screen: &str) -> String {
    let real = fs::canonicalize(world.folder()).unwrap();
    let screen = screen.replace(real.to_str().unwrap(), "");
    let lines = screen
        .lines()
        .map(|line| match line.split_once("tokens: ") {
            Some((before, _)) => format!("{before}tokens: …\n"),
            None => format!("{}\n", line.trim_end()),
        });
    lines.collect()
}

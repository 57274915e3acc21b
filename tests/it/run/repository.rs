//! A turn on a copy of this repository itself.

use std::{fs, path::Path};

use ignore::WalkBuilder;

use crate::world::TestWorld;

/// Copies what belongs to the checkout; what it ignores stays behind.
fn copy_checkout(into: &Path) -> usize {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let walk = WalkBuilder::new(checkout)
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut copied = 0;
    for entry in walk.map(Result::unwrap) {
        let target = into.join(entry.path().strip_prefix(checkout).unwrap());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
            copied += 1;
        }
    }
    copied
}

#[test]
fn it_is_searched_read_edited_and_tried() {
    let world = TestWorld::new();
    assert!(copy_checkout(&world.at("")) > 100);
    let script = r##"
        "I look around."
        + search found { pattern = "fn main\\(\\)", path = "server" }
        + read_file about { path = "README.md" }
        + read_file map { path = "server/lib.rs" }
        { step = 2, result = { tool = "search", contains = "server/main.rs:" } } => write_file notes { path = "notes/rehearsed.md", content = "# Rehearsed\n" }
        + edit_file first { path = "Cargo.toml", old_text = "name = \"aside\"\nversion", new_text = "name = \"besides\"\nversion" }
        + edit_file second { path = "README.md", old_text = "# Aside", new_text = "# Besides" }
        { step = 3, result = { tool = "edit_file", contains = "read" } } => read_file manifest { path = "Cargo.toml" }
        edit_file again { path = "Cargo.toml", old_text = "name = \"aside\"\nversion", new_text = "name = \"besides\"\nversion" }
        run_command tried { command = "grep -n besides Cargo.toml; head -n 1 README.md; ls server | wc -l" }
        { step = 6, result = { tool = "run_command", contains = "Exit status 0" } } => "It has another name now."
    "##;
    let before = fs::read_to_string(world.at("Cargo.toml")).unwrap();
    world
        .run(script, &["--trust", "--mode", "auto", "--unsandboxed"])
        .exits(0)
        .writes("It has another name now.\n")
        .says("Commands run without a sandbox.");
    let log = world.log();
    assert_eq!(
        world.read("Cargo.toml"),
        before.replacen(
            "name = \"aside\"\nversion",
            "name = \"besides\"\nversion",
            1
        )
    );
    assert!(world.read("README.md").starts_with("# Besides\n"));
    assert_eq!(world.read("notes/rehearsed.md"), "# Rehearsed\n");
    let output = log.told("tried");
    assert!(output.starts_with("Exit status 0.\n"), "{output}");
    assert!(
        output.contains(":name = \"besides\"\n# Besides\n"),
        "{output}"
    );
}

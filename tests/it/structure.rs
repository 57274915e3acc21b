//! Rules of the code itself: which module may use which, and what a room's page says.

mod imports;
mod rooms;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

pub(crate) use self::imports::{Crate, ModulePath, documentation, is_test};
use self::{imports::Texts, rooms::Arrow};

/// Up to so many modules are seen at a glance.
const FEW: usize = 6;

#[test]
fn the_map_says_what_each_crate_uses() {
    let map = &program().files[&ModulePath::new()].head;
    let mut crates = 0;
    for (name, folder) in rooms() {
        let uses = dependencies(&folder);
        let uses = uses.iter().filter_map(|it| it.strip_prefix("aside-"));
        let uses: Vec<&str> = uses.collect();
        let row = map.lines().find(|row| names(row, &format!("aside_{name}")));
        let row = row.unwrap_or_else(|| panic!("the map has no row for {name}"));
        let cell = row.rsplit('|').nth(1).unwrap_or_default();
        let mapped: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert_eq!(mapped, uses, "{name}");
        crates += 1;
    }
    assert!(crates >= 7, "only {crates} crates were read");
}

#[test]
fn no_room_has_an_import_cycle() {
    let arrows = rooms::arrows(program());
    assert!(arrows.len() > 100, "only {} arrows were read", arrows.len());
    let cycle = rooms::cycle(arrows.keys());
    if let Some(cycle) = cycle {
        let lines: Vec<String> = cycle.iter().map(|it| described(it, &arrows)).collect();
        panic!("a cycle; cut one of these imports:\n{}", lines.join("\n"));
    }
}

fn described(arrow: &Arrow, arrows: &rooms::Arrows) -> String {
    let imports = &arrows[arrow];
    let first = &imports[0];
    format!(
        "    {arrow}: {} in {}{}",
        first.path,
        first.from.join("::"),
        match imports.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        }
    )
}

#[test]
fn a_cycle_of_files_is_seen_through_rooms_re_exports_and_macros() {
    let read = |lines: &[(&str, &str)]| {
        let texts = lines
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
        let arrows = rooms::arrows(&Crate::read(&texts.collect(), Path::new("lib.rs")));
        let cycle = rooms::cycle(arrows.keys());
        cycle.map(|it| {
            it.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    let root = ("lib.rs", "mod a; mod b;");
    for (b, cycle) in [
        // No import: a name of one's own, of another crate, of a test, of a visibility, of a module alone.
        ("pub struct A; fn f() { A; a::A; }", false),
        ("#[cfg(test)] mod tests { use crate::a::A; }", false),
        ("pub(in crate::a) struct B;", false),
        ("use crate::a;", false),
        ("use crate::a::A;", true),
        (
            "use super::{a::{self as other}}; fn f() { other::A; }",
            true,
        ),
        ("use crate::a; type B = Vec<a::A>;", true),
        ("fn f() { use super::a::*; let it: A; }", true),
        ("fn f() { vec![Box::new(crate::a::A)]; }", true),
        ("mod inner { fn f() -> super::super::a::A {} }", true),
        // Through the re-export in the root, to the file of the type.
        ("use crate::Renamed;", true),
    ] {
        let root = (root.0, "mod a; mod b; pub use a::A as Renamed;");
        let found = read(&[
            root,
            ("a/mod.rs", "pub struct A; use crate::b::B;"),
            ("b.rs", &format!("{b} pub enum B {{}}")),
        ]);
        assert_eq!(found.is_some(), cycle, "{b}: {found:?}");
    }
    // In a room: a file and the file of the folder that it lies in; two folders by way of different files.
    let inner = [
        root,
        ("a/mod.rs", "mod c; pub struct A; fn f() { c::g(); }"),
        ("b.rs", ""),
    ];
    let c = ("a/c.rs", "pub fn g() -> super::A {}");
    assert_eq!(
        read(&[inner[0], inner[1], inner[2], c]).unwrap(),
        r#"("a", "c", "mod") ("a", "mod", "c")"#
    );
    let folders = [
        root,
        ("a/mod.rs", "mod c; mod d;"),
        ("b/mod.rs", "mod e; mod f;"),
    ];
    let [c, d] = [
        ("a/c.rs", "use crate::b::e::E;"),
        ("a/d.rs", "pub struct D;"),
    ];
    let [e, f] = [
        ("b/e.rs", "pub struct E;"),
        ("b/f.rs", "use crate::a::d::D;"),
    ];
    assert_eq!(
        read(&[folders[0], folders[1], folders[2], c, d, e, f]).unwrap(),
        r#"("", "a", "b") ("", "b", "a")"#
    );
    assert_eq!(
        read(&[folders[0], folders[1], folders[2], c, d, e, ("b/f.rs", "")]),
        None
    );
}

#[test]
fn a_room_of_many_modules_has_a_table_of_them_at_its_head() {
    let mut without = Vec::new();
    for file in program().files.values() {
        let rows: Vec<&str> = file
            .head
            .lines()
            .filter(|line| line.starts_with(" |"))
            .collect();
        let named = |module: &String| rows.iter().any(|row| names(row, module));
        if !file.test && file.modules.len() > FEW && !file.modules.iter().all(named) {
            let path = file.path.strip_prefix(root()).unwrap();
            without.push(path.to_str().unwrap().to_owned());
        }
    }
    assert!(
        without.is_empty(),
        "the table is missing, or does not name each module: {without:?}"
    );
}

/// How the head of a room says that its table is an order, and whether a member uses those above it.
const ORDERS: [(&str, bool); 2] = [
    ("uses only those below it", false),
    ("uses only those above it", true),
];

/// The rooms whose tables are orders, at least.
const ORDERED: [&str; 6] = ["", "front", "front::lsp", "engine", "engine::start", "turn"];

#[test]
fn a_member_of_a_room_uses_only_those_that_the_rooms_table_says() {
    let mut ordered = Vec::new();
    let mut wrong = Vec::new();
    let arrows = rooms::arrows(program());
    for (room, file) in &program().files {
        let head = file.head.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((_, above)) = ORDERS.iter().find(|(says, _)| head.contains(says)) else {
            continue;
        };
        let mut rows: Vec<&str> = first_table(&file.head);
        if !above {
            rows.reverse();
        }
        let room = room.join("::");
        // What stands further down in `rows` uses what stands further up; the room's own file uses them all.
        let place = |member: &str| match member {
            rooms::OWN => Some(rows.len()),
            member => rows.iter().position(|row| names(row, member)),
        };
        for (arrow, imports) in arrows.iter().filter(|(it, _)| it.room == room) {
            if !(place(&arrow.from).is_some() && place(&arrow.from) >= place(&arrow.to)) {
                let import = &imports[0];
                wrong.push(format!("{arrow}: {}", import.path));
            }
        }
        ordered.push(room);
    }
    assert!(
        wrong.is_empty(),
        "against the order of the table: {wrong:#?}"
    );
    for room in ORDERED {
        assert!(ordered.iter().any(|it| it == room), "{room}: {ordered:?}");
    }
}

/// The rows of the first table in the head of a file.
fn first_table(head: &str) -> Vec<&str> {
    let rows = head.lines().skip_while(|line| !line.starts_with(" |"));
    rows.take_while(|line| line.starts_with(" |")).collect()
}

/// Whether the first cell of a table's row names a module, as `name` or [`name`].
fn names(row: &str, module: &str) -> bool {
    let cell = row.split('|').nth(1).unwrap_or_default();
    cell.split('`')
        .skip(1)
        .step_by(2)
        .any(|it| it.trim_end_matches(".rs") == module)
}

#[test]
fn the_turn_depends_on_no_runtime_clock_or_file() {
    let folder = root().join("server/turn");
    let mut uses = dependencies(&folder);
    uses.sort_unstable();
    assert_eq!(
        uses,
        ["schemars", "serde", "serde_json", "strsim", "thiserror"]
    );
    for (file, text) in texts(&folder) {
        if file.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let absent = "std::fs std::net std::env std::thread std::process Instant::now SystemTime";
        for absent in absent.split_whitespace() {
            assert!(!text.contains(absent), "{} knows {absent}", file.display());
        }
    }
}

#[test]
fn the_map_and_the_page_for_contributors_name_files_that_exist() {
    for (page, count) in [(".github/CONTRIBUTING.md", 30), ("server/lib.rs", 5)] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let names = paths_in(&text);
        assert!(names.len() >= count, "{page}: {names:?}");
        let gone: Vec<&&str> = names
            .iter()
            .filter(|it| !root().join(it).exists())
            .collect();
        assert!(gone.is_empty(), "{page}: {gone:?}");
    }
    assert_eq!(
        paths_in("`cargo x` and `tests/run`, `server/tool/<name>.rs`: `Cargo.toml`, `a::b`"),
        ["tests/run", "Cargo.toml"]
    );
}

/// What a page names in backticks and is a path from the root: it begins with a folder or file that lies there.
fn paths_in(page: &str) -> Vec<&str> {
    let spans = page.split('`').skip(1).step_by(2);
    let tops = "server/ tests/ editors/ .ci/ .github/ Cargo.toml README.md CHANGELOG.md";
    let tops = tops.split_whitespace();
    spans
        .filter(|it| tops.clone().any(|top| it.starts_with(top)) && !it.contains(['<', ' ']))
        .collect()
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
    for (file, text) in texts(&server.join("front")) {
        let place = file.strip_prefix(&server).unwrap().display().to_string();
        if place.ends_with("tests.rs") {
            continue;
        }
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

/// The program: its own crate, and the crates of its rooms as modules named like their folders.
pub(crate) fn program() -> &'static Crate {
    static PROGRAM: OnceLock<Crate> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut program = read(&root().join("server"));
        for (name, folder) in rooms() {
            program.add(&name, read(&folder));
        }
        program
    })
}

/// The crates that the crate in a folder depends on.
fn dependencies(folder: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let uses = manifest["dependencies"].as_table().unwrap().keys();
    uses.cloned().collect()
}

/// The rooms that are crates of their own, by name, and their folders.
fn rooms() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(root().join("server")).unwrap();
    let folders = entries.map(|it| it.unwrap());
    let crates = folders.filter(|it| it.path().join("Cargo.toml").exists());
    crates
        .map(|it| (it.file_name().into_string().unwrap(), it.path()))
        .collect()
}

fn read(folder: &Path) -> Crate {
    Crate::read(&texts(folder), &folder.join("lib.rs"))
}

/// Whether a word is in a list of words between spaces.
pub(crate) fn lists(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|it| it == word)
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files in a folder and all folders in it.
pub(crate) fn texts(folder: &Path) -> Texts {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.append(&mut self::texts(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            texts.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
    texts
}

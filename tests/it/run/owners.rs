//! What a file is besides its text stays, and what its owner protects is a reason to ask.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
    process::Command,
};

use crate::{
    open::program,
    traced::with_files_seen,
    world::{ProgramResult, TestWorld, start},
};

/// Users of whom nothing else is here.
const USER: u32 = 4321;
const OTHER: u32 = 4322;

const EDIT: &str = r#"
    read_file read { path = "d/f.txt" }
    edit_file edit { path = "d/f.txt", old_text = "one", new_text = "two" }
    "Done."
"#;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Gives all of a folder to a user.
fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// The program with these arguments, as a user who is not the system's own.
fn as_user(world: &TestWorld, args: &[&str]) -> Command {
    let program = program().to_str().unwrap();
    if !is_root() {
        return world.command(args);
    }
    let user = USER.to_string();
    let identity = [
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
        program,
    ];
    world.within("setpriv", &[&identity, args].concat())
}

/// A workspace with a file, which belongs to the user who is to work there.
fn world() -> TestWorld {
    let world = TestWorld::new();
    world.write("d/f.txt", "one\n");
    world
}

/// Plays the edit in the mode `edits` with nobody there to ask.
fn edits(world: &TestWorld, script: &str) -> ProgramResult {
    let model = world.script(script);
    if is_root() {
        give(&world.at("..").canonicalize().unwrap(), USER);
    }
    let args = [
        "run",
        "--trust",
        "--non-interactive",
        "--mode",
        "edits",
        "-m",
        &model,
        "Go",
    ];
    start(&mut as_user(world, &args)).end()
}

/// The person and the model are told why somebody would be asked.
fn says_why(world: &TestWorld, ended: &ProgramResult, why: &str) {
    let refused = format!(": nobody was there to approve it: {why}\n");
    assert!(ended.stderr.contains(&refused), "{}", ended.stderr);
    let log = world.log();
    let told = log.told("edit");
    assert!(told.contains(&format!("as {why}.")), "{told}");
}

#[test]
fn a_read_only_file_is_asked_for() {
    for tool in ["edit_file", "write_file"] {
        let world = world();
        set_mode(&world.at("d/f.txt"), 0o444);
        let script = match tool {
            "edit_file" => EDIT.to_owned(),
            _ => r#"
                read_file read { path = "d/f.txt" }
                write_file edit { path = "d/f.txt", content = "two\n" }
                "Done."
            "#
            .to_owned(),
        };
        let ended = edits(&world, &script);
        says_why(&world, &ended, "d/f.txt is read-only");
        assert_eq!(world.read("d/f.txt"), "one\n");
    }
}

#[test]
fn a_file_in_a_folder_that_cannot_be_written_is_written_itself() {
    let world = world();
    set_mode(&world.at("d"), 0o555);
    let ended = edits(&world, EDIT);
    assert_eq!(world.read("d/f.txt"), "two\n", "{}", ended.stderr);
    let undone = start(&mut as_user(&world, &["conversation", "undo"])).end();
    assert_eq!(world.read("d/f.txt"), "one\n", "{}", undone.stderr);
    set_mode(&world.at("d"), 0o755);
}

/// Only the system's own user can make such files.
#[test]
fn a_file_of_another_user_is_asked_for() {
    if !is_root() {
        return;
    }
    let world = world();
    let model = world.script(EDIT);
    give(&world.at("..").canonicalize().unwrap(), USER);
    chown(world.at("d/f.txt"), Some(OTHER), Some(OTHER)).unwrap();
    let args = [
        "run",
        "--trust",
        "--non-interactive",
        "--mode",
        "edits",
        "-m",
        &model,
        "Go",
    ];
    let ended = start(&mut as_user(&world, &args)).end();
    let why = "d/f.txt belongs to another user, and a changed one would be yours";
    says_why(&world, &ended, why);
    assert_eq!(world.read("d/f.txt"), "one\n");
    assert_eq!(fs::metadata(world.at("d/f.txt")).unwrap().uid(), OTHER);
}

#[test]
fn owner_and_names_stay_as_they_are_also_behind_an_undo() {
    let world = world();
    let path = world.at("d/f.txt");
    fs::hard_link(&path, world.at("second")).unwrap();
    if is_root() {
        chown(&path, Some(USER), Some(OTHER)).unwrap();
    }
    set_mode(&path, 0o664);
    let about = || {
        let about = fs::metadata(&path).unwrap();
        (
            about.ino(),
            about.uid(),
            about.gid(),
            about.mode(),
            about.nlink(),
        )
    };
    let before = about();
    let args = ["--trust", "--non-interactive", "--mode", "edits"];
    world.run(EDIT, &args).exits(0);
    assert_eq!((world.read("second"), about()), ("two\n".into(), before));
    world.aside(&["conversation", "undo"]).exits(0);
    assert_eq!((world.read("second"), about()), ("one\n".into(), before));
}

/// Runs the edit in a namespace of mounts, where this is done first; and this afterwards, whatever came of it.
fn edits_among_mounts(world: &TestWorld, script: &str, first: &str, afterwards: &str) -> String {
    let model = world.script(script);
    let line = format!("{first} && \"$@\"; {afterwards}");
    let program = program().to_str().unwrap();
    let run = [
        "run",
        "--trust",
        "--non-interactive",
        "--mode",
        "edits",
        "-m",
        &model,
        "Go",
    ];
    let mounts = ["unshare", "--mount", "sh", "-c", &line, "sh", program];
    let args = with_files_seen(&[&mounts[..], &run].concat());
    start(&mut world.within(args[0], &args[1..])).end().stderr
}

/// As files are that a container was given: another file is mounted there, which nothing can take the place of.
#[test]
fn a_mounted_file_is_written_itself() {
    let world = world();
    fs::write(world.folder().join("mounted"), "one\n").unwrap();
    let told = edits_among_mounts(&world, EDIT, "mount --bind ../mounted d/f.txt", ":");
    let mounted = fs::read_to_string(world.folder().join("mounted")).unwrap();
    assert_eq!(mounted, "two\n", "{told}");
    assert_eq!(fs::read_dir(world.at("d")).unwrap().count(), 1);
}

/// A file of two names is written itself, and there is no room for it.
#[test]
fn a_file_for_which_there_is_no_room_stays_as_it_is() {
    let world = world();
    let long = "x".repeat(200_000);
    let script = EDIT.replace("\"two\"", &format!("\"{long}\""));
    let first = "mount -t tmpfs -o size=64k none d && echo one >d/f.txt && ln d/f.txt d/second";
    let told = edits_among_mounts(
        &world,
        &script,
        first,
        "cp d/f.txt ../after; ls d >../names",
    );
    let after = |name: &str| fs::read_to_string(world.folder().join(name)).unwrap();
    assert_eq!(after("after"), "one\n", "{told}");
    assert_eq!(after("names"), "f.txt\nsecond\n");
    world.log().told_has("edit", "No space left on device");
}

/// One row of what is tried at random on the tools: bytes that nobody named stay.
#[test]
fn line_ends_and_the_mark_stay() {
    let world = TestWorld::new();
    world.write("crlf.txt", "a();\r\nb();\r\nc();\r\n");
    world.write("whole.txt", "a\r\nb\r\nc\r\n");
    world.write("mark.txt", "\u{feff}a\nb\n");
    let script = r#"
        read_file r1 { path = "crlf.txt" }
        + read_file r2 { path = "whole.txt" }
        + read_file r3 { path = "mark.txt" }
        edit_file e1 { path = "crlf.txt", old_text = "b();", new_text = "b();\nextra();" }
        + write_file e2 { path = "whole.txt", content = "a\nB\nc\n" }
        + write_file e3 { path = "mark.txt", content = "a\nB\n" }
        edit_file e4 { path = "crlf.txt", old_text = "b();\nextra();\nc", new_text = "d" }
        "Done."
    "#;
    world
        .run(script, &["--trust", "--non-interactive", "--mode", "edits"])
        .exits(0);
    assert_eq!(world.read("crlf.txt"), "a();\r\nd();\r\n");
    assert_eq!(world.read("whole.txt"), "a\r\nB\r\nc\r\n");
    assert_eq!(world.read("mark.txt"), "\u{feff}a\nB\n");
    assert_eq!(world.log().told("r3"), "a\nb\n");
    world.aside(&["conversation", "undo"]).exits(0);
    assert_eq!(world.read("crlf.txt"), "a();\r\nb();\r\nc();\r\n");
    assert_eq!(world.read("mark.txt"), "\u{feff}a\nb\n");
}

/// The text begins at two places, which overlap: the model that was asked says which is meant.
#[test]
fn places_that_overlap_are_asked_for() {
    let world = TestWorld::new();
    world.write("f.txt", "x = 1\nx = 1\nx = 1\n");
    let script = r#"
        read_file read { path = "f.txt" }
        edit_file edit { path = "f.txt", old_text = "x = 1\nx = 1", new_text = "y = 2\ny = 2" }
        "Done."
    "#;
    let ended = world.run(script, &["--trust", "--non-interactive", "--mode", "edits"]);
    let asked = world
        .log()
        .events()
        .iter()
        .any(|event| event["type"] == "inquiry_request");
    assert!(asked, "{}", ended.stderr);
}

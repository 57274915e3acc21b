//! A client with buffers: whose text counts, who is asked, what the model is told, and which bytes are on disk.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use super::client::{Client, choose};
use crate::world::TestWorld;

/// What the client does with texts.
#[derive(Clone, Copy, Default)]
struct Habits {
    /// It keeps line ends and the byte order mark aside, and puts them there as it saves. Others write what they are given.
    keeps_ends: bool,
    /// It takes blanks at the ends of lines away as it saves.
    formats: bool,
    /// It says that it wrote, and does not.
    pretends: bool,
    /// It has an error for each read.
    fails: bool,
}

/// What became of a turn.
struct Outcome {
    disk: String,
    /// The reasons of the permissions that were asked for.
    asked: Vec<String>,
    world: TestWorld,
}

/// Plays the script in the mode `edits`. `typed` is given the number of each read, and says what the buffer holds from then
/// on.
fn play(
    disk: &str,
    buffer: Option<&str>,
    habits: Habits,
    script: &str,
    mut typed: impl FnMut(usize, &str) -> Option<String>,
) -> Outcome {
    let world = TestWorld::new();
    world.write("f.txt", disk);
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut client = Client::start(&world, script, fs);
    let mode = client.of_session(json!({ "modeId": "edits" }));
    client.request("session/set_mode", mode);
    let (mut asked, mut reads) = (Vec::new(), 0);
    let mut buffer = buffer.map(str::to_owned);
    let path = world.at("f.txt");
    let (_, reason) = client.play("Go", |request| {
        let on_disk = fs::read_to_string(&path).unwrap();
        match request["method"].as_str().unwrap() {
            "fs/read_text_file" if habits.fails => json!({ "no": "content" }),
            "fs/read_text_file" => {
                reads += 1;
                if let Some(text) = typed(reads, &on_disk) {
                    buffer = Some(text);
                }
                let plain = on_disk.trim_start_matches('\u{feff}').replace("\r\n", "\n");
                json!({ "content": buffer.clone().unwrap_or(plain) })
            }
            "fs/write_text_file" if habits.pretends => json!({}),
            "fs/write_text_file" => {
                let mut text = request["params"]["content"].as_str().unwrap().to_owned();
                if habits.formats {
                    let lines = text.split('\n').map(|line| line.trim_end_matches(' '));
                    text = lines.collect::<Vec<_>>().join("\n");
                }
                if habits.keeps_ends {
                    buffer = Some(text.clone());
                    let mark = if on_disk.starts_with('\u{feff}') {
                        "\u{feff}"
                    } else {
                        ""
                    };
                    if on_disk.contains("\r\n") {
                        text = text.replace('\n', "\r\n");
                    }
                    text.insert_str(0, mark);
                } else {
                    buffer = Some(text.clone());
                }
                fs::write(&path, text).unwrap();
                json!({})
            }
            "session/request_permission" => {
                asked.push(texts(&request["params"]["toolCall"]["content"]));
                choose("once")
            }
            other => panic!("{other} came"),
        }
    });
    assert_eq!(reason, "end_turn");
    client.leave();
    Outcome {
        disk: fs::read_to_string(&path).unwrap(),
        asked,
        world,
    }
}

/// All texts in what a permission shows beside its diff.
fn texts(content: &Value) -> String {
    let blocks = content.as_array().unwrap().iter();
    let texts = blocks.filter_map(|block| block["content"]["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn nothing(_: usize, _: &str) -> Option<String> {
    None
}

fn edit(id: &str, old: &str, new: &str) -> String {
    let (old, new) = (json!(old), json!(new));
    format!("edit_file {id} {{ path = \"f.txt\", old_text = {old}, new_text = {new} }}\n")
}

const READ: &str = "read_file read { path = \"f.txt\" }\n";

#[test]
fn a_clean_file_is_nobodys_change_however_it_is_written() {
    for keeps_ends in [true, false] {
        for (disk, after) in [
            ("alpha\r\nbeta\r\n", "alpha\r\nBETA\r\n"),
            ("\u{feff}alpha\nbeta\n", "\u{feff}alpha\nBETA\n"),
            ("\u{feff}alpha\r\nbeta", "\u{feff}alpha\r\nBETA"),
            ("alpha\r\nbeta\n", "alpha\r\nBETA\n"),
        ] {
            let habits = Habits {
                keeps_ends,
                ..Habits::default()
            };
            let script = format!("{READ}{}'Done.'", edit("edit", "beta", "BETA"));
            let played = play(disk, None, habits, &script, nothing);
            assert_eq!(played.disk, after, "{disk:?}");
            assert!(played.asked.is_empty(), "{:?}", played.asked);
            assert_eq!(played.world.log().told("edit"), "Changed `f.txt`.");
        }
    }
}

#[test]
fn what_was_not_saved_goes_to_the_file_with_the_files_line_ends() {
    for keeps_ends in [true, false] {
        let habits = Habits {
            keeps_ends,
            ..Habits::default()
        };
        let script = format!(
            "{READ}{}{}'Done.'",
            edit("edit", "beta", "BETA"),
            edit("again", "alpha", "ALPHA")
        );
        let unsaved = "alpha\nbeta\nunsaved\n";
        let disk = "\u{feff}alpha\r\nbeta\r\n";
        let played = play(disk, Some(unsaved), habits, &script, nothing);
        assert_eq!(
            played.disk, "\u{feff}ALPHA\r\nBETA\r\nunsaved\r\n",
            "{keeps_ends}"
        );
        assert!(played.asked[0].contains("f.txt has changes in the editor that are not saved"));
        // All of it is saved by then.
        assert_eq!(played.asked.len(), 1, "{:?}", played.asked);
        let log = played.world.log();
        assert_eq!(
            (log.told("edit"), log.told("again")),
            ("Changed `f.txt`.", "Changed `f.txt`.")
        );
    }
}

#[test]
fn a_client_that_formats_as_it_saves_has_made_the_edit() {
    let script = format!("{READ}{}'Done.'", edit("edit", "fn b() {}", "fn b() { 1 }"));
    let disk = "fn a() {}  \nfn b() {}\n";
    let unsaved = "fn a() {}  \nfn b() {}\n// mine\n";
    let formats = Habits {
        formats: true,
        ..Habits::default()
    };
    let played = play(disk, Some(unsaved), formats, &script, nothing);
    assert_eq!(played.disk, "fn a() {}\nfn b() { 1 }\n// mine\n");
    assert_eq!(
        played.world.log().told("edit"),
        "Changed `f.txt`.\nThe editor changed it when it saved it; read the file again before you change it."
    );
    // One that writes nothing has not.
    let pretends = Habits {
        pretends: true,
        ..Habits::default()
    };
    let played = play(disk, Some(unsaved), pretends, &script, nothing);
    assert_eq!(played.disk, disk);
    assert_eq!(
        played.world.log().told("edit"),
        "`f.txt`: the editor did not confirm the edit; read the file again."
    );
}

#[test]
fn a_client_that_says_nothing_of_its_text_is_a_reason_to_ask() {
    let script = format!("{READ}{}'Done.'", edit("edit", "beta", "BETA"));
    let disk = "alpha\nbeta\n";
    let fails = Habits {
        fails: true,
        ..Habits::default()
    };
    let played = play(disk, None, fails, &script, nothing);
    let reason = "the editor did not say whether f.txt has changes that are not saved";
    assert!(played.asked[0].contains(reason), "{:?}", played.asked);
    assert_eq!(played.disk, "alpha\nBETA\n");
    played
        .world
        .log()
        .told_has("read", "the editor may have changes of the user's");
    let played = play(disk, Some(""), Habits::default(), &script, nothing);
    assert!(
        played.asked[0].contains("the editor gave no text of f.txt"),
        "{:?}",
        played.asked
    );
}

/// The person types after the turn's own first edit of the same file, in other lines than the second one.
#[test]
fn what_is_typed_behind_asides_own_edit_stays_beside_the_next_one() {
    let script = format!(
        "{READ}{}{}'Done.'",
        edit("first", "alpha", "ALPHA"),
        edit("second", "beta", "BETA")
    );
    let typed = |_: usize, disk: &str| {
        disk.starts_with("ALPHA")
            .then(|| format!("{disk}typed meanwhile\n"))
    };
    let played = play("alpha\nbeta\n", None, Habits::default(), &script, typed);
    assert_eq!(played.disk, "ALPHA\nBETA\ntyped meanwhile\n");
    assert_eq!(played.world.log().told("first"), "Changed `f.txt`.");
    played.world.log().told_has("second", "Changed `f.txt`");
}

/// A client that does not load a file again, which was changed on disk.
#[test]
fn an_older_buffer_does_not_count() {
    let script = format!(
        "{READ}{}{}'Done.'",
        edit("first", "alpha", "ALPHA"),
        edit("second", "beta", "BETA")
    );
    let old = "alpha\nbeta\n";
    let played = play(old, Some(old), Habits::default(), &script, nothing);
    assert_eq!(played.disk, "ALPHA\nBETA\n");
    assert!(played.asked.is_empty(), "{:?}", played.asked);
}

#[test]
fn a_workspace_behind_a_link_is_called_as_the_client_calls_it() {
    let world = TestWorld::new();
    world.write("f.txt", "alpha\nbeta\n");
    let (real, link) = (
        world.at("").canonicalize().unwrap(),
        world.folder().join("link"),
    );
    symlink(&real, &link).unwrap();
    let by_link = json!(link.join("f.txt"));
    let script = format!(
        "read_file read {{ path = {by_link} }}\n{}run_command run {{ command = 'true' }}\n'Done.'",
        edit("edit", "beta", "BETA")
    );
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let model = world.script(&script);
    world.user_config(&format!("assistant.model = '{model}'\n"));
    world.aside(&["trust", "--yes"]).exits(0);
    let mut client = Client::spawn(&world);
    client.initialize(fs);
    client.session = client.new_session(&link);
    let (mut buffer, mut asked) = ("alpha\nbeta\nunsaved\n".to_owned(), Vec::new());
    let (updates, reason) = client.play("Go", |request| {
        asked.push(request.clone());
        match request["method"].as_str().unwrap() {
            "fs/read_text_file" if request["params"]["path"] == by_link => {
                json!({ "content": buffer })
            }
            "fs/write_text_file" if request["params"]["path"] == by_link => {
                buffer = request["params"]["content"].as_str().unwrap().to_owned();
                json!({})
            }
            "session/request_permission" => choose("once"),
            other => panic!("{other} came: {request}"),
        }
    });
    assert_eq!(reason, "end_turn");
    assert_eq!(buffer, "alpha\nBETA\nunsaved\n");
    assert_eq!(world.read("f.txt"), "alpha\nbeta\n");
    assert_eq!(world.log().told("read"), "alpha\nbeta\nunsaved\n");
    let listed = client.request("session/list", json!({}));
    let real = real.display().to_string();
    for message in updates.iter().chain(&asked).chain([&listed]) {
        assert!(!message.to_string().contains(&real), "{message}");
    }
    let places = json!(asked).to_string();
    assert!(
        places.contains(&format!("in the folder {}", link.display())),
        "{places}"
    );
    client.leave();
}

//! `aside demo`, where nobody can be asked.

use crate::world::{EventLog, TestWorld, conversations};

const REFUSED: &str = "ask_user cannot run because no interactive client is attached. Do not retry this tool call in \
                       this turn; continue without user input or explain what information is missing.";

#[test]
fn the_account_is_rendered_from_the_log() {
    let world = TestWorld::new();
    let into = world.folder().join("demo");
    let done = world
        .aside(&["demo", "--into", into.to_str().unwrap()])
        .exits(0);
    let account = &done.stdout;

    let log = EventLog::read(&conversations(&into.join("state"))[0]);
    // A tool asked, and the model answered.
    let asked = &log.all("inquiry_request")[0];
    assert_eq!(asked["source"]["name"], "edit_file");
    let answered = &log.all("inquiry_response")[0];
    assert_eq!([&answered["answer"], &answered["by"]], ["18", "assistant"]);
    assert!(
        account.contains(asked["question"]["text"].as_str().unwrap()),
        "{account}"
    );
    // The model asked, and nobody was there; the turn went on to its end.
    assert!(account.contains(REFUSED), "{account}");
    assert_eq!(
        log.all("inquiry_response")[1]["reason"],
        "no_prompt_backend"
    );
    assert_eq!(log.one("turn_end")["outcome"], "completed");
    let answer = log.one("turn_end")["answer"].as_str().unwrap();
    assert!(account.contains(answer), "{account}");
    // What the account shows of the file is what is on disk.
    let file = std::fs::read_to_string(into.join("project/transfer.py")).unwrap();
    assert_eq!(file.lines().nth(17).unwrap().trim(), "attempts = 5");
    assert_eq!(file.matches("attempts = 3").count(), 1);
    assert!(account.contains("transfer.py on disk:"), "{account}");
}

#[test]
fn another_script_is_another_account_file_and_log() {
    let world = TestWorld::new();
    world.script(
        r#"
        read_file { path = "settings.toml" }
        edit_file { path = "settings.toml", old_text = "wait_seconds = 0", new_text = "wait_seconds = 9" }
        "Nine seconds it is."
        "#,
    );
    let into = world.folder().join("demo");
    let script = world.folder().join("scripts/script.toml");
    let args = [
        "demo",
        "--script",
        script.to_str().unwrap(),
        "--into",
        into.to_str().unwrap(),
    ];
    let account = world.aside(&args).exits(0).stdout;

    assert!(account.contains("\nNine seconds it is.\n"), "{account}");
    assert!(
        account.contains("\n-wait_seconds = 0\n+wait_seconds = 9\n"),
        "{account}"
    );
    assert!(!account.contains("transfer.py on disk"), "{account}");
    let project = |file: &str| std::fs::read_to_string(into.join("project").join(file)).unwrap();
    assert!(project("settings.toml").contains("wait_seconds = 9\n"));
    assert_eq!(project("transfer.py").matches("attempts = 3").count(), 2);
    let log = EventLog::read(&conversations(&into.join("state"))[0]);
    assert_eq!(log.one("edit")["path"], "settings.toml");
    assert_eq!(log.one("turn_end")["answer"], "Nine seconds it is.");
    assert!(log.all("inquiry_request").is_empty());

    // What is there is not written over.
    world.aside(&args).exits(1).says("project already exists");
    assert!(project("settings.toml").contains("wait_seconds = 9\n"));
}

#[test]
fn the_folder_is_thrown_away_and_nothing_of_the_user_counts() {
    let world = TestWorld::new();
    world.user_config("assistant.model = 'nonsense/nonsense'\nnonsense = true\n");
    world.aside(&["demo"]).exits(0);
    assert!(world.conversations().is_empty());
    let left = std::fs::read_dir(world.folder()).unwrap().count();
    assert_eq!(left, 5, "the folders of the test alone");
}

#[test]
fn a_script_that_cannot_be_played_is_said() {
    let world = TestWorld::new();
    let done = world
        .aside(&["demo", "--script", "nowhere.toml"])
        .exits(6)
        .writes("");
    assert!(done.stderr.contains("nowhere.toml"), "{done:?}");
}

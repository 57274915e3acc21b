//! `aside demo`, where nobody can be asked.

use crate::world::{Log, World, conversations};

const REFUSED: &str = "ask_user cannot run because no interactive client is attached. Do not retry this tool call in \
                       this turn; continue without user input or explain what information is missing.";

#[test]
fn the_account_is_rendered_from_the_log() {
    let world = World::new();
    let into = world.folder().join("demo");
    let done = world
        .aside(&["demo", "--into", into.to_str().unwrap()])
        .exits(0);
    let account = &done.stdout;
    println!("{account}");

    let log = Log::read(&conversations(&into.join("state"))[0]);
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

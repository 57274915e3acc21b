//! What an editor attaches to a message.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, nobody, prompts, uri};
use crate::world::TestWorld;

const PNG: &[u8] = include_bytes!("../../media/red.png");

/// The model says what it is shown.
const SEES: &str = r#"
    { attached = "red.png (image/png, 69 bytes)" } => "An image."
    always "Something else."
"#;

fn world() -> TestWorld {
    let world = TestWorld::new();
    fs::write(world.at("red.png"), PNG).unwrap();
    world
}

fn range() -> Value {
    json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 1, "character": 0 } })
}

#[test]
fn an_image_is_attached_and_stands_in_the_transcript() {
    let world = world();
    let mut client = Client::start(&world, SEES, prompts());
    let image = json!([{ "uri": uri(&world, "red.png") }]);
    let turn = client.turn(json!({ "message": "What is it?", "attachments": image }));
    let (_, end) = client.play(&turn, nobody);
    assert_eq!(end["answer"], "An image.");

    let conversation = json!({ "conversationId": turn["conversationId"] });
    let transcript = client.request("aside/conversation/transcript", conversation.clone());
    let attached = "/red.png` (image/png, 69 bytes).";
    let text = transcript["text"].as_str().unwrap();
    assert!(
        text.contains("Attached: `") && text.contains(attached),
        "{text}"
    );
    let log = world.log();
    let kept = &log.one("user_message")["attachments"][0];
    assert_eq!(kept["name"], world.at("red.png").display().to_string());
    assert_eq!(kept["media"]["media_type"], "image/png");
    let blob = kept["media"]["blob"].as_str().unwrap();
    let path = world.conversations()[0].join("blobs").join(blob);
    assert_eq!(fs::read(path).unwrap(), PNG);

    let fork = client.request("aside/conversation/fork", conversation.clone());
    client.request("aside/conversation/delete", conversation);
    let blobs = world.conversations()[0].join("blobs");
    assert_eq!(fs::read(blobs.join(blob)).unwrap(), PNG);
    client.request("aside/conversation/delete", fork);
    assert!(!blobs.exists());
}

#[test]
fn an_open_document_goes_as_its_text_and_so_does_what_the_client_gives() {
    let world = world();
    let mut client = Client::start(&world, SEES, prompts());
    let red = uri(&world, "red.png");
    let document =
        json!({ "uri": red, "languageId": "text", "version": 1, "text": "as\nopened\n" });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let attachments = json!([
        { "uri": red },
        { "uri": red, "range": range() },
        { "uri": red, "text": "as given" },
    ]);
    let turn = client.turn(json!({ "message": "Look.", "attachments": attachments }));
    client.play(&turn, nobody);
    let log = world.log();
    let kept = log.one("user_message")["attachments"].as_array().unwrap();
    let texts: Vec<&Value> = kept.iter().map(|one| &one["text"]).collect();
    assert_eq!(texts, ["as\nopened\n", "as\n", "as given"]);
}

#[test]
fn a_model_without_images_is_told_the_name_and_the_user_is_told_so() {
    let world = world();
    let script = format!("& images = false\n{SEES}");
    let mut client = Client::start(&world, &script, prompts());
    let image = json!([{ "uri": uri(&world, "red.png") }]);
    let turn = client.turn(json!({ "message": "What is it?", "attachments": image }));
    let (updates, _) = client.play(&turn, nobody);
    let notices: Vec<&Value> = updates.iter().filter(|it| it["kind"] == "notice").collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0]["level"], "warning");
    let text = notices[0]["text"].as_str().unwrap();
    assert!(
        text.contains("takes no images, so it is told the name alone of /"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_attached_is_refused_and_leaves_no_conversation() {
    let world = world();
    fs::write(world.at("program"), b"\x7fELF\x02\x01\x01\0\xff").unwrap();
    fs::write(world.at("large.gif"), b"GIF89a").unwrap();
    let large = fs::File::options().write(true).open(world.at("large.gif"));
    large.unwrap().set_len(7_500_001).unwrap();
    let mut client = Client::start(&world, SEES, prompts());
    let at = |name: &str| world.at(name).display().to_string();
    for (attachment, expected) in [
        (
            json!({ "uri": uri(&world, "red.png"), "range": range() }),
            format!(
                "{} is an image, which has no lines to choose from; attach it without a range",
                at("red.png")
            ),
        ),
        (
            json!({ "uri": uri(&world, "program") }),
            format!(
                "{} is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image nor a PDF; convert it first",
                at("program")
            ),
        ),
        (
            json!({ "uri": uri(&world, "large.gif") }),
            format!(
                "{} is an image of more than 7500000 bytes, and larger ones are not sent; attach a smaller one",
                at("large.gif")
            ),
        ),
        (
            json!({ "uri": uri(&world, "") }),
            format!(
                "{} cannot be attached: it is no regular file; name a file that can be read",
                at("").trim_end_matches('/')
            ),
        ),
        (
            json!({ "uri": "untitled:1" }),
            "untitled:1 is neither open nor a file; give its text".to_owned(),
        ),
    ] {
        let params = json!({ "message": "Look.", "attachments": [attachment] });
        let refused = client.refused("aside/turn/start", params);
        assert_eq!(refused, (-32602, format!("attachments: {expected}")));
    }
    assert!(world.conversations().is_empty());
}

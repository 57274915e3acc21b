//! Tests of replies that depend on the user's message and its attachments.

use super::check;

#[test]
fn replies_match_the_last_user_message() {
    check(
        r#"
        [[reply]]
        repeat = true
        when = { user = "/(?i)^tidy/" }
        say = [{ text = "tidies" }]
        [[reply]]
        repeat = true
        when = { user = "tests" }
        say = [{ text = "tests" }]
        [[reply]]
        repeat = true
        say = [{ text = "else" }]
        "#,
        "user: Tidy up
         send
         steer: and the tests
         send
         user: thanks
         send",
        "says|tidies| (2/2) Stop
         says|tests| (4/2) Stop
         says|else| (2/1) Stop",
    );
}

#[test]
fn replies_match_attachments() {
    check(
        r#"
        [[reply]]
        when = { attached = "shot.png (image/png, 12 KiB)" }
        say = [{ text = "an image" }]
        [[reply]]
        when = { attached = "/^notes.txt\\nWords of/" }
        say = [{ text = "a text" }]
        [[reply]]
        when = { attached = "" }
        say = [{ text = "something" }]
        [[reply]]
        repeat = true
        say = [{ text = "nothing" }]
        "#,
        "user notes.txt shot.png: Look
         send
         user notes.txt shot.png: Look
         send
         user shot.png: Look
         send
         user: Look
         send",
        "says|an image| (8/2) Stop
         says|a text| (8/2) Stop
         says|something| (3/3) Stop
         says|nothing| (1/2) Stop",
    );
}

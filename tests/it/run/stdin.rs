//! Standard input that a shell hands on: it is announced, never waited for without a word, and no wait is without a limit.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
    time::{Duration, Instant},
};

use crate::world::{ASIDE, ProgramResult, TestWorld, start};

const SHARED: &str = "the shell that runs this has it open, too";

/// Runs a script of a shell's, which knows the program as `$ASIDE` and the model as `$MODEL`.
fn shell(args: &[&str], input: &str) -> ProgramResult {
    let world = TestWorld::new();
    let model = world.script("always 'An answer.'");
    let given = world.folder().join("scripts/given");
    std::fs::write(&given, input).unwrap();
    let mut command = world.within("bash", args);
    command
        .env("ASIDE", ASIDE)
        .env("MODEL", model)
        .env("GIVEN", &given);
    start(command.stdin(std::fs::File::open(&given).unwrap())).end()
}

#[test]
fn what_a_script_or_a_loop_hands_on_is_announced() {
    let rest = "cat \"$GIVEN\" | bash -s";
    let script = "\"$ASIDE\" run -m \"$MODEL\" hi\necho AFTER\n";
    let done = shell(&["-c", rest], script).exits(0);
    done.says("attached: standard input, 11 bytes, about 3 tokens")
        .says(SHARED);
    let each = r#"while read -r line; do "$ASIDE" run -m "$MODEL" "$line"; done <"$GIVEN""#;
    let done = shell(&["-c", each], "one\ntwo\nthree\n").exits(0);
    done.says("attached: standard input, 10 bytes").says(SHARED);
    let saved =
        r#"while read -r line; do "$ASIDE" run -m "$MODEL" "$line" </dev/null; done <"$GIVEN""#;
    let done = shell(&["-c", saved], "one\ntwo\nthree\n").exits(0);
    assert!(!done.stderr.contains("standard input"), "{done:?}");
    assert_eq!(done.stdout, "An answer.\n".repeat(3));
}

#[test]
fn what_is_piped_in_on_purpose_is_announced_without_a_hint() {
    let piped = r#"cat "$GIVEN" | "$ASIDE" run -m "$MODEL" Review"#;
    let done = shell(&["-c", piped], "a diff\n").exits(0);
    assert!(!done.stderr.contains(SHARED), "{done:?}");
    done.says("attached: standard input, 7 bytes, about 2 tokens");
    let message = r#"cat "$GIVEN" | "$ASIDE" run -m "$MODEL""#;
    shell(&["-c", message], "Hello\n")
        .exits(0)
        .says("message: standard input, 6 bytes");
    let named = r#"cat "$GIVEN" | "$ASIDE" run -m "$MODEL" -"#;
    let done = shell(&["-c", named], "Hello\n").exits(0);
    assert!(!done.stderr.contains("standard input"), "{done:?}");
}

#[test]
fn a_diff_with_a_byte_of_latin_1_is_read() {
    let latin = r#"printf -- '-// caf\351\n+// coffee\n' | "$ASIDE" run -m "$MODEL" Review"#;
    shell(&["-c", latin], "").exits(0).says("not UTF-8");
}

/// Each kind of descriptor that stays open, with a message and without one.
#[test]
fn no_wait_for_standard_input_is_without_a_limit() {
    for prompt in [&["hi"][..], &[], &["-"]] {
        for is_socket in [false, true] {
            let world = TestWorld::new();
            let model = world.script("always 'An answer.'");
            let (input, held): (Stdio, OwnedFd) = match is_socket {
                true => {
                    let (ours, its) = UnixStream::pair().unwrap();
                    (OwnedFd::from(its).into(), ours.into())
                }
                false => {
                    let (reader, writer) = std::io::pipe().unwrap();
                    (reader.into(), writer.into())
                }
            };
            let args = ["run", "-m", &model, "--timeout", "2s", "--output", "json"];
            let mut command = world.command(&[&args[..], prompt].concat());
            let begun = Instant::now();
            let done = start(command.stdin(input)).end().exits(5);
            assert!(begun.elapsed() < Duration::from_secs(20), "{prompt:?}");
            assert_eq!(done.json()["error"]["code"], "limit");
            done.says("waiting for the end of standard input");
            drop(held);
        }
    }
}

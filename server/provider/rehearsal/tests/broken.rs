//! Tests of invalid scripts.

use crate::rehearsal::Rehearsal;

/// Checks the error of a script.
#[track_caller]
fn check_broken(script: &str, expected: &str) {
    let error = Rehearsal::parse("test.toml", script).unwrap_err();
    assert_eq!(
        error,
        format!("the rehearsal script cannot be played: test.toml:{expected}")
    );
}

#[test]
fn script_errors_state_line_and_cause() {
    check_broken("", "1: there is no [[reply]]; add at least one");
    check_broken("[[reply]]\nsay = [", "2: unclosed array, expected `]`");
    check_broken(
        "\n[[reply]]\nsya = []",
        "3: unknown key `sya`; did you mean `say`?",
    );
    check_broken(
        "[[reply]]\nsay = [\n  { txt = \"a\" },\n]",
        "3: unknown key `txt`; did you mean `text`?",
    );
    check_broken(
        "[[reply]]\nfinish = \"pausing\"",
        "2: unknown value `pausing`; did you mean `pause`?",
    );
    check_broken(
        "[[reply]]\ntimes = \"2\"",
        "2: invalid type: string \"2\", expected u32",
    );
    check_broken(
        "[[reply]]\n[[reply]]\nonce = true\nrepeat = true",
        "2: `once` and `repeat` contradict each other",
    );
    check_broken(
        "[[reply]]\ntimes = 0",
        "1: `times` is 0; it must be at least 1",
    );
    check_broken(
        "[[reply]]\nsay = [\n  { text = \"a\" },\n  { text = \"a\", call = \"t\" },\n]",
        "4: an item of `say` must have one of `text`, `reasoning` and `call`",
    );
    check_broken(
        "[[reply]]\nsay = [{ text = \"ab\", split = [\"a\"] }]",
        "2: the parts of `split` do not add up to the text",
    );
    check_broken(
        "[[reply]]\nwhen.user = \"/(/\"",
        "1: `/(/` is not a valid regular expression",
    );
    check_broken(
        "[[reply]]\n\nanswer = [1]",
        "3: an answer must be a string, a Boolean, a number or a list of strings",
    );
    check_broken(
        "[[reply]]\nanswer = 1\nwhen.inquiry = false",
        "1: `answer` and `answers` are for inquiries; remove `inquiry = false`",
    );
    check_broken(
        "[[reply]]\nfault.status = 200",
        "1: `fault.status` is 200; it must be between 400 and 599",
    );
    check_broken(
        "[[reply]]\nfault.text = \"a\"",
        "1: `fault.retry_after` and `fault.text` need a `fault.status`",
    );
    check_broken(
        "[[reply]]\ndelay_ms = 3_600_001",
        "1: `delay_ms` exceeds one hour (3600000)",
    );
}

//! Tests of invalid scripts.

use aside_test_table::rows;

use crate::rehearsal::Rehearsal;

#[test]
fn script_errors_state_line_and_cause() {
    let table = r#"
         | 1: there is no [[reply]]; add at least one
        [[reply]]\nsay = [ | 2: unclosed array, expected `]`
        \n[[reply]]\nsya = [] | 3: unknown key `sya`; did you mean `say`?
        [[reply]]\nsay = [\n  { txt = "a" },\n] | 3: unknown key `txt`; did you mean `text`?
        [[reply]]\nfinish = "pausing" | 2: unknown value `pausing`; did you mean `pause`?
        [[reply]]\ntimes = "2" | 2: invalid type: string "2", expected u32
        [[reply]]\n[[reply]]\nonce = true\nrepeat = true | 2: `once` and `repeat` contradict each other
        [[reply]]\ntimes = 0 | 1: `times` is 0; it must be at least 1
        [[reply]]\nsay = [\n  { text = "a" },\n  { text = "a", call = "t" },\n] | 4: an item of `say` must have one of `text`, `reasoning` and `call`
        [[reply]]\nsay = [{ text = "ab", split = ["a"] }] | 2: the parts of `split` do not add up to the text
        [[reply]]\nwhen.user = "/(/" | 1: `/(/` is not a valid regular expression
        [[reply]]\n\nanswer = [1] | 3: an answer must be a string, a Boolean, a number or a list of strings
        [[reply]]\nanswer = 1\nwhen.inquiry = false | 1: `answer` and `answers` are for inquiries; remove `inquiry = false`
        [[reply]]\nfault.status = 200 | 1: `fault.status` is 200; it must be between 400 and 599
        [[reply]]\nfault.text = "a" | 1: `fault.retry_after` and `fault.text` need a `fault.status`
        [[reply]]\ndelay_ms = 3_600_001 | 1: `delay_ms` exceeds one hour (3600000)
    "#;
    for [script, expected] in rows(table) {
        let script = script.replace(r"\n", "\n");
        let error = Rehearsal::parse("test.toml", &script).unwrap_err();
        let expected = format!("the rehearsal script cannot be played: test.toml:{expected}");
        assert_eq!(error, expected, "{script}");
    }
}

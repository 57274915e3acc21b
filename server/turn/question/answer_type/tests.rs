//! What fits each type, what stands for it in text, and how it is put in words.

use aside_test_table::rows;
use serde_json::json;

use super::*;

fn of(answer_type: Value) -> AnswerType {
    serde_json::from_value(answer_type).expect("a type of answer")
}

fn read(answer_type: &str) -> AnswerType {
    serde_json::from_str(answer_type).expect("a type of answer")
}

fn accepted(answer_type: &AnswerType, value: &Value) -> Option<Value> {
    let answer = answer_type.accept(value).ok();
    answer.and_then(|answer| answer.value().cloned())
}

#[test]
fn the_tagged_form_is_read_and_written() {
    for json in [
        r#"{"type":"number","integer":false}"#,
        r#"{"type":"number","integer":true,"minimum":1,"maximum":10}"#,
        r#"{"type":"number","integer":false,"minimum":-0.5}"#,
        r#"{"type":"multi_select","options":["a","b"]}"#,
        r#"{"type":"multi_select","options":["a","b"],"minimum":1,"maximum":2}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"text","minimum":1,"maximum":9,"format":"date-time"}"#,
    ] {
        assert_eq!(serde_json::to_string(&read(json)).expect("JSON"), json);
    }
    let short = of(json!({"type": "number", "minimum": null}));
    assert_eq!(short, of(json!({"type": "number", "integer": false})));
    for unknown in [
        json!({"type": "dream"}),
        json!({"type": "text", "format": "rhyme"}),
        json!({"type": "text", "minimum": -1}),
        json!({"type": "number", "minimum": "1"}),
        json!({"type": "multi_select"}),
    ] {
        let read = serde_json::from_value::<AnswerType>(unknown.clone());
        assert!(read.is_err(), "{unknown}");
    }
}

#[test]
fn bounds_that_leave_nothing_are_broken() {
    let table = r#"
        true  | {"type": "number", "minimum": 1, "maximum": 1}
        false | {"type": "number", "minimum": 2, "maximum": 1}
        true  | {"type": "number", "minimum": 1.2, "maximum": 1.8}
        false | {"type": "number", "integer": true, "minimum": 1.2, "maximum": 1.8}
        true  | {"type": "number", "integer": true, "minimum": 1.2, "maximum": 2}
        true  | {"type": "text", "minimum": 3, "maximum": 3}
        false | {"type": "text", "minimum": 4, "maximum": 3}
        true  | {"type": "multi_select", "options": ["a", "b"], "minimum": 2}
        false | {"type": "multi_select", "options": ["a", "b"], "minimum": 3}
        false | {"type": "multi_select", "options": ["a", "b"], "minimum": 2, "maximum": 1}
        true  | {"type": "multi_select", "options": ["a", "b"], "maximum": 0}
        false | {"type": "multi_select", "options": []}
        false | {"type": "multi_select", "options": ["a", "a"]}
    "#;
    for [is_whole, answer_type] in rows(table) {
        let checked = read(answer_type).check();
        let found = checked.is_ok().to_string();
        assert_eq!(found, is_whole, "{answer_type}: {checked:?}");
    }
}

#[test]
fn a_number_is_within_its_bounds() {
    let check = |answer_type: Value, value: Value, expected: Option<Value>| {
        assert_eq!(accepted(&of(answer_type), &value), expected, "{value}");
    };
    let any = || json!({"type": "number"});
    check(any(), json!(3), Some(json!(3)));
    check(any(), json!(3.5), Some(json!(3.5)));
    check(any(), json!(3.0), Some(json!(3.0)));
    check(any(), json!("3"), None);
    check(any(), json!(null), None);
    let whole = || json!({"type": "number", "integer": true, "minimum": 1, "maximum": 10});
    check(whole(), json!(1), Some(json!(1)));
    check(whole(), json!(10.0), Some(json!(10)));
    check(whole(), json!(-0.0), None);
    check(whole(), json!(0), None);
    check(whole(), json!(11), None);
    check(whole(), json!(2.5), None);
    check(whole(), json!(1e300), None);
    let real = || json!({"type": "number", "minimum": 0.5, "maximum": 2});
    check(real(), json!(0.5), Some(json!(0.5)));
    check(real(), json!(2.0), Some(json!(2.0)));
    check(real(), json!(0.4999), None);
    check(real(), json!(2.0001), None);
    let large = || json!({"type": "number", "integer": true, "maximum": 9_007_199_254_740_993_u64});
    check(
        large(),
        json!(9_007_199_254_740_993_u64),
        Some(json!(9_007_199_254_740_993_u64)),
    );
    check(large(), json!(9_007_199_254_740_994_u64), None);
    check(large(), json!(u64::MAX), None);
    check(large(), json!(i64::MIN), Some(json!(i64::MIN)));
}

#[test]
fn several_options_are_put_in_their_order() {
    let all = || json!({"type": "multi_select", "options": ["a", "b", "c"]});
    let some =
        || json!({"type": "multi_select", "options": ["a", "b", "c"], "minimum": 1, "maximum": 2});
    let check = |answer_type: Value, value: Value, expected: Option<Value>| {
        assert_eq!(accepted(&of(answer_type), &value), expected, "{value}");
    };
    check(all(), json!([]), Some(json!([])));
    check(all(), json!(["c", "a", "b"]), Some(json!(["a", "b", "c"])));
    check(all(), json!(["a", "a"]), None);
    check(all(), json!(["A"]), None);
    check(all(), json!([1]), None);
    check(all(), json!("a"), None);
    check(some(), json!([]), None);
    check(some(), json!(["b"]), Some(json!(["b"])));
    check(some(), json!(["c", "b"]), Some(json!(["b", "c"])));
    check(some(), json!(["a", "b", "c"]), None);
}

#[test]
fn a_text_is_within_its_length_and_has_its_format() {
    let check = |answer_type: Value, text: &str, fits: bool| {
        let accepted = accepted(&of(answer_type), &json!(text));
        assert_eq!(accepted, fits.then(|| json!(text)), "{text}");
    };
    let short = || json!({"type": "text", "minimum": 2, "maximum": 3});
    check(short(), "a", false);
    check(short(), "äö", true);
    check(short(), "äöü", true);
    check(short(), "äöüß", false);
    let day = || json!({"type": "text", "format": "date"});
    check(day(), "2025-05-30", true);
    check(day(), "tomorrow", false);
}

#[test]
fn a_model_writes_numbers_and_arrays_as_text() {
    let check = |answer_type: Value, text: &str, expected: Option<Value>| {
        assert_eq!(of(answer_type).of_model(text), expected, "{text}");
    };
    let number = || json!({"type": "number"});
    check(number(), " 3\n", Some(json!(3)));
    check(number(), "-2.5", Some(json!(-2.5)));
    check(number(), ".5", Some(json!(0.5)));
    check(number(), "three", None);
    check(number(), "inf", None);
    check(number(), "", None);
    let several = || json!({"type": "multi_select", "options": ["Left", "right", "RIGHT"]});
    check(
        several(),
        " [\"left\", \"right\"]\n",
        Some(json!(["Left", "right"])),
    );
    check(several(), "[]", Some(json!([])));
    check(several(), "[\"Right\"]", None);
    check(several(), "left", None);
    check(several(), "[1]", None);
}

#[test]
fn a_person_writes_options_by_text_or_number() {
    let options = |options: &[&str]| of(json!({"type": "multi_select", "options": options}));
    let check = |options: AnswerType, text: &str, expected: Value| {
        assert_eq!(options.of_person(text), expected, "{text}");
    };
    let plain = || options(&["red", "green", "blue"]);
    check(plain(), "red, blue", json!(["red", "blue"]));
    check(plain(), "3,1", json!(["blue", "red"]));
    check(plain(), "1 3", json!(["red", "blue"]));
    check(plain(), " 1, 3  2", json!(["red", "blue", "green"]));
    check(plain(), "red BLUE", json!(["red", "blue"]));
    check(plain(), "red 4", json!("red 4"));
    let with_blanks = || options(&["dark red", "dark", "red"]);
    check(with_blanks(), "dark red", json!(["dark red"]));
    check(with_blanks(), "dark red, red", json!(["dark red", "red"]));
    check(with_blanks(), "1 3", json!(["dark red", "red"]));
    check(plain(), "2.\nBLUE\n", json!(["green", "blue"]));
    check(plain(), "[\"red\"]", json!(["red"]));
    check(plain(), "None", json!([]));
    check(plain(), "pink", json!("pink"));
    check(plain(), "4", json!("4"));
    check(plain(), "0", json!("0"));
    check(plain(), " , ", json!(" , "));
    let with_commas = || options(&["a, b", "c"]);
    check(with_commas(), "a, b\nc", json!(["a, b", "c"]));
    check(with_commas(), "1", json!(["a, b"]));
    check(with_commas(), "1, 2", json!(["a, b", "c"]));
    check(options(&["none", "x"]), "none", json!(["none"]));
    let numbers = || options(&["2", "1"]);
    check(numbers(), "1", json!(["1"]));
    check(options(&["3", "x", "y"]), "1", json!("1"));
    let number = of(json!({"type": "number", "integer": true}));
    check(number.clone(), " +7 ", json!(7.0));
    check(number.clone(), "7", json!(7));
    check(number, "seven", json!("seven"));
}

#[test]
fn what_fits_is_said_with_its_bounds() {
    let table = r#"
        {"type": "number"} | The answer must be a number.
        {"type": "number", "integer": true, "minimum": 1, "maximum": 10} | The answer must be a whole number between 1 and 10.
        {"type": "number", "minimum": 0.5} | The answer must be a number of at least 0.5.
        {"type": "number", "maximum": -3} | The answer must be a number of at most -3.
        {"type": "multi_select", "options": ["a", "b"]} | The answer must be a list of any of: a, b.
        {"type": "multi_select", "options": ["a", "b"], "minimum": 1, "maximum": 2} | The answer must be a list of at least 1 and at most 2 of: a, b.
        {"type": "multi_select", "options": ["a", "b"], "minimum": 1, "maximum": 1} | The answer must be a list of exactly 1 of: a, b.
        {"type": "text", "minimum": 2, "maximum": 5} | The answer must be text of at least 2 and at most 5 characters.
        {"type": "text", "format": "email"} | The answer must be an email address.
        {"type": "text", "format": "uri", "maximum": 80} | The answer must be a URI of at most 80 characters.
        {"type": "text"} | The answer must be a text that is not empty.
    "#;
    for [answer_type, expected] in rows(table) {
        assert_eq!(read(answer_type).expectation(), expected);
    }
}

#[test]
fn options_are_meant_by_their_numbers_unless_one_is_the_number_of_another() {
    let check = |options: &[&str], are_clear: bool| {
        let options: Vec<String> = options.iter().copied().map(str::to_owned).collect();
        assert_eq!(has_clear_numbers(&options), are_clear, "{options:?}");
    };
    check(&["red", "green"], true);
    check(&["1", "2"], true);
    check(&["2", "1"], false);
    check(&["red", "1"], false);
    check(&["red", "2"], true);
    check(&["red", "3"], true);
    check(&["red", "0"], true);
}

#[test]
fn whole_numbers_are_compared_exactly() {
    let large =
        of(json!({"type": "number", "integer": true, "minimum": 9_007_199_254_740_993_u64}));
    assert_eq!(accepted(&large, &json!(9_007_199_254_740_992_u64)), None);
    let exactly = json!(9_007_199_254_740_993_u64);
    assert_eq!(accepted(&large, &exactly), Some(exactly));
}

#[test]
fn a_bound_of_none_at_all_is_no_bound() {
    let options = json!(["a", "b"]);
    for (minimum, how_many) in [(0, None), (1, Some("at least 1"))] {
        let several = of(json!({"type": "multi_select", "options": options, "minimum": minimum}));
        assert_eq!(several.how_many().as_deref(), how_many);
    }
}

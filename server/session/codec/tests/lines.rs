//! What may stand in a line besides, and what is wrong with one.

use super::*;

#[test]
fn what_belongs_to_no_turn_names_none() {
    let line = encode(
        1,
        Duration::ZERO,
        None,
        &Entry::Renamed { title: "T".into() },
    )
    .unwrap();
    let start =
        r#"{"v":1,"seq":1,"time":"1970-01-01T00:00:00.000Z","type":"renamed","title":"T","crc":""#;
    assert!(line.starts_with(start.as_bytes()));
    assert_eq!(decode(&line[..line.len() - 1]).unwrap().turn, None);
}

#[test]
fn unknown_types_and_fields_are_kept_and_ignored() {
    check(
        Entry::Unknown {
            version: 1,
            body: json!({"type": "dream", "of": ["sheep"]}),
        },
        r#"{"type":"dream","of":["sheep"]}"#,
    );
    check_read(
        r#"{"type":"steer","text":"s","loudly":true}"#,
        Event::Steer { text: "s".into() },
    );
    let newer =
        line_of(r#"{"v":3,"seq":1,"time":"2025-01-02T03:04:05.678Z","type":"steer","text":["s"]}"#);
    let record = decode(&newer).unwrap();
    assert_eq!(
        record.entry,
        Entry::Unknown {
            version: 3,
            body: json!({"type": "steer", "text": ["s"]})
        }
    );
    let mut again = encode(1, record.time, None, &record.entry).unwrap();
    assert_eq!(again.pop(), Some(b'\n'));
    assert_eq!(again, newer, "it keeps its version");
}

#[test]
fn a_value_too_deep_to_be_read_again_is_kept_as_its_text() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (depth, is_text) in [(99, false), (120, true)] {
        let details: Value = serde_json::from_str(&nested(depth)).unwrap();
        let event = Event::ToolResult {
            call: CallKey(0),
            end: CallEnd::Success,
            content: String::new(),
            held: false,
            details: Some(details.clone()),
            media: Vec::new(),
            summary: None,
        };
        let line = encode(1, TIME, None, &event.into()).unwrap();
        let Entry::Turn(Event::ToolResult {
            details: Some(read),
            ..
        }) = decode(&line[..line.len() - 1]).unwrap().entry
        else {
            panic!("not a result")
        };
        assert_eq!(
            read,
            if is_text {
                Value::from(nested(depth))
            } else {
                details
            }
        );
    }
}

#[test]
fn what_is_wrong_with_a_line_is_said() {
    let good = encode(1, TIME, None, &Event::Steer { text: "s".into() }.into()).unwrap();
    let good = &good[..good.len() - 1];
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut line = good.to_vec();
            line[at] ^= 1 << bit;
            assert_eq!(
                decode(&line),
                Err(LineError::new(
                    FaultKind::Checksum,
                    "does not match its checksum"
                )),
                "{at} {bit}"
            );
        }
    }
    let start = r#""v":1,"seq":1,"time":"2025-01-02T03:04:05.678Z""#;
    for (text, what, kind) in [
        ("}".to_owned(), "is not JSON", FaultKind::NotJson),
        (
            r#"{"seq":1}"#.into(),
            "has no version",
            FaultKind::Incomplete,
        ),
        (r#"{"v":1}"#.into(), "has no number", FaultKind::Incomplete),
        (
            r#"{"v":1,"seq":1,"time":"today"}"#.into(),
            "has no time",
            FaultKind::Incomplete,
        ),
        (
            format!(r#"{{{start},"turn":4}}"#),
            "has a turn that is no text",
            FaultKind::Incomplete,
        ),
        (
            format!(r#"{{{start}}}"#),
            "is not an event that this version reads",
            FaultKind::Unreadable,
        ),
        (
            format!(r#"{{{start},"type":"steer"}}"#),
            "is not an event that this version reads",
            FaultKind::Unreadable,
        ),
        (
            format!(r#"{{{start},"type":"inquiry_response","id":"i","outcome":"lost"}}"#),
            "is not an event that this version reads",
            FaultKind::Unreadable,
        ),
    ] {
        let error = decode(&line_of(&text)).unwrap_err();
        assert!(error.what.starts_with(what), "{text}: {error:?}");
        assert_eq!(error.kind, kind, "{text}");
    }
}

mod calls;
mod lines;
mod reasons;

use aside_turn::{
    Event,
    attachment::{Attachment, Content, Media, MediaType},
    question::{AnswerType, Persistence, Question, Source},
    record::{
        By, CallEnd, CallKey, ClearedOutput, Closed, DirectiveKind, Effort, ErrorCode,
        InquiryResponse, Level, NativeSummary, Outcome, Permission, PromptId, PromptSubject,
        Reason, Refusal, RefusalReason, Refused, ResultReason, Showing, Status, TurnError, Word,
    },
    response::{Feature, Finish, Usage},
    rules::{Client, LeftOut, Mode},
};
use serde_json::json;

use super::*;
use crate::record::{Changed, Edit, Frozen, FrozenTool, TurnOptions, Undone};

const TIME: Duration = Duration::from_millis(1_735_787_045_678);
const START: &str = r#"{"v":1,"seq":7,"time":"2025-01-02T03:04:05.678Z","turn":"t1","#;

/// An entry is written as this text, frame and checksum left out, and read back as it was.
#[track_caller]
fn check(entry: impl Into<Entry>, text: &str) {
    let entry = entry.into();
    let line = encode(7, TIME, Some("t1"), &entry).unwrap();
    let line = line.strip_suffix(b"\n").unwrap();
    let written = std::str::from_utf8(line).unwrap();
    let body = written.strip_prefix(START).expect(written);
    assert_eq!(format!("{{{}}}", &body[..body.len() - CHECKSUM]), text);
    let record = Record {
        seq: 7,
        time: TIME,
        turn: Some("t1".into()),
        entry,
    };
    assert_eq!(decode(line).unwrap(), record);
}

/// A line with this body is read as this entry.
#[track_caller]
fn check_read(body: &str, entry: impl Into<Entry>) {
    assert_eq!(
        decode(&line_of(&format!("{START}{}", &body[1..])))
            .unwrap()
            .entry,
        entry.into()
    );
}

/// A line with its right checksum.
fn line_of(text: &str) -> Vec<u8> {
    let text = text.strip_suffix('}').unwrap();
    format!(
        "{text},\"crc\":\"{:08x}\"}}",
        crc32fast::hash(text.as_bytes())
    )
    .into_bytes()
}

fn usage() -> Usage {
    Usage {
        input: 1,
        cache_read: 2,
        cache_write: 3,
        output: 4,
        cost: Some(0.25),
        partial: false,
    }
}

fn shown() -> Showing {
    let client = Client {
        name: "nvim".into(),
        version: "0.11".into(),
        questions: true,
        secret: true,
    };
    Showing {
        client,
        shown_at: TIME,
        answered_at: TIME + Duration::from_millis(1),
    }
}

fn effort() -> Effort {
    Effort {
        model: "a/b".into(),
        strategy: Word::of("in_band"),
        tries: 2,
        usage: usage(),
        milliseconds: 7,
    }
}

const SEEN: &str = concat!(
    r#""shown":{"client":{"name":"nvim","version":"0.11","questions":true,"secret":true},"#,
    r#""shown_at":1735787045678,"answered_at":1735787045679}"#
);
const EFFORT: &str = concat!(
    r#""effort":{"model":"a/b","strategy":"in_band","tries":2,"#,
    r#""usage":{"input":1,"cache_read":2,"cache_write":3,"output":4,"cost":0.25},"milliseconds":7}"#
);

#[test]
fn what_freezes_and_changes() {
    let tool = FrozenTool {
        name: "read".into(),
        description: "Reads.".into(),
        parameters: json!({"type": "object", "properties": {}}),
        strict: true,
    };
    let frozen = Frozen {
        system: "Be brief.".into(),
        tools: vec![tool],
        model: "a/b".into(),
        provider: "a".into(),
    };
    check(
        Entry::Conversation(frozen),
        r#"{"type":"conversation","system":"Be brief.","tools":[{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{}},"strict":true}],"model":"a/b","provider":"a"}"#,
    );
    let changed = Changed {
        model: Some("c/d".into()),
        ..Changed::default()
    };
    check(
        Entry::Changed(changed),
        r#"{"type":"changed","model":"c/d"}"#,
    );
}

#[test]
fn the_start_of_a_turn() {
    let mut options = TurnOptions {
        mode: Some(Mode::Edits.into()),
        model: Some("a/b".into()),
        tool_choice: Some("required".into()),
        schema: Some(json!({"type": "object"})),
        root: Some("/w".into()),
        ..TurnOptions::default()
    };
    options.other.insert("later".into(), json!(1));
    check(
        Entry::TurnStart { options },
        r#"{"type":"turn_start","options":{"mode":"edits","model":"a/b","tool_choice":"required","schema":{"type":"object"},"root":"/w","later":1}}"#,
    );
    check(Event::TurnStart, r#"{"type":"turn_start","options":{}}"#);
    check_read(r#"{"type":"turn_start"}"#, Event::TurnStart);
}

#[test]
fn what_is_said() {
    let attachments = vec![Attachment::text("a.rs", "fn a")];
    check(
        Event::UserMessage {
            text: "hi\n\"there\"".into(),
            attachments,
        },
        r#"{"type":"user_message","text":"hi\n\"there\"","attachments":[{"name":"a.rs","text":"fn a"}]}"#,
    );
    let media = |mime: &str| Attachment {
        name: "a".into(),
        content: Content::Media(Media {
            media_type: MediaType::of_mime(mime),
            blob: "00ff".into(),
            size: 12,
        }),
    };
    // One that this version does not know is kept as it is.
    for mime in ["image/png", "application/pdf", "image/avif"] {
        check(
            Event::UserMessage {
                text: "hi".into(),
                attachments: vec![media(mime)],
            },
            &format!(
                r#"{{"type":"user_message","text":"hi","attachments":[{{"name":"a","media":{{"media_type":"{mime}","blob":"00ff","size":12}}}}]}}"#
            ),
        );
    }
    check_read(
        r#"{"type":"user_message","text":"hi","attachments":[{"name":"a","sound":{}}]}"#,
        Event::UserMessage {
            text: "hi".into(),
            attachments: vec![Attachment::text("a", "")],
        },
    );
    check(
        Event::UserMessage {
            text: "ü".into(),
            attachments: vec![],
        },
        r#"{"type":"user_message","text":"ü"}"#,
    );
    check(
        Event::Steer { text: "s".into() },
        r#"{"type":"steer","text":"s"}"#,
    );
    check(
        Event::RequestSent { step: 3 },
        r#"{"type":"request_sent","step":3}"#,
    );
    check(
        Event::Text {
            text: "t".into(),
            opaque: None,
        },
        r#"{"type":"text","text":"t"}"#,
    );
    check(
        Event::Reasoning {
            text: String::new(),
            opaque: Some(r#"{"signature":"x"}"#.into()),
        },
        r#"{"type":"reasoning","text":"","opaque":"{\"signature\":\"x\"}"}"#,
    );
    check(
        Event::ToolCall {
            call: CallKey(2),
            id: "call_a".into(),
            name: "read".into(),
            arguments: "{not json".into(),
            opaque: Some("o".into()),
        },
        r#"{"type":"tool_call","call":2,"id":"call_a","name":"read","arguments":"{not json","opaque":"o"}"#,
    );
    check(
        Event::ResponseEnd {
            finish: Some(Finish::ToolUse),
            usage: usage(),
        },
        r#"{"type":"response_end","finish":"tool_use","usage":{"input":1,"cache_read":2,"cache_write":3,"output":4,"cost":0.25}}"#,
    );
    check(
        Event::ResponseEnd {
            finish: None,
            usage: Usage::default(),
        },
        r#"{"type":"response_end"}"#,
    );
}

#[test]
fn what_was_not_used_is_left_out_and_read_where_it_stands() {
    let used = |input, cost| Usage {
        input,
        cost,
        ..Usage::default()
    };
    for (usage, now, before) in [
        (
            used(0, None),
            "",
            r#","usage":{"input":0,"cache_read":0,"cache_write":0,"output":0}"#,
        ),
        (
            used(5, None),
            r#","usage":{"input":5}"#,
            r#","usage":{"input":5,"cache_read":0,"cache_write":0,"output":0}"#,
        ),
        (
            used(0, Some(0.0)),
            r#","usage":{"cost":0.0}"#,
            r#","usage":{"input":0,"cache_read":0,"cache_write":0,"output":0,"cost":0.0}"#,
        ),
    ] {
        let ends = || Event::ResponseEnd {
            finish: None,
            usage,
        };
        check(ends(), &format!(r#"{{"type":"response_end"{now}}}"#));
        check_read(&format!(r#"{{"type":"response_end"{before}}}"#), ends());
    }
}

#[test]
fn why_a_response_ended() {
    for (finish, word) in [
        (Finish::Stop, "stop"),
        (Finish::ToolUse, "tool_use"),
        (Finish::MaxTokens, "max_tokens"),
        (Finish::StopSequence, "stop_sequence"),
        (Finish::Pause, "pause"),
        (Finish::Refusal, "refusal"),
        (Finish::ContextFull, "context_full"),
        (Finish::ContentFilter, "content_filter"),
        (Finish::MalformedCall, "malformed_call"),
        (Finish::Other("new".into()), "new"),
    ] {
        check_read(
            &format!(r#"{{"type":"response_end","finish":"{word}"}}"#),
            Event::ResponseEnd {
                finish: Some(finish.clone()),
                usage: Usage::default(),
            },
        );
        check(
            Event::ResponseEnd {
                finish: Some(finish),
                usage: Usage::default(),
            },
            &format!(r#"{{"type":"response_end","finish":"{word}"}}"#),
        );
    }
}

#[test]
fn what_happens_to_files_and_titles() {
    let edit = Edit {
        call: 4,
        path: "src/a.rs".into(),
        before: Some("aa".into()),
        after: None,
        mode: Some(0o755),
    };
    check(
        Entry::Edit(edit),
        r#"{"type":"edit","call":4,"path":"src/a.rs","before":"aa","after":null,"mode":493}"#,
    );
    check(
        Entry::Undone(Undone {
            undone: "t0".into(),
            files: vec!["a".into()],
        }),
        r#"{"type":"undone","undone":"t0","files":["a"]}"#,
    );
    check(
        Entry::Renamed { title: "T".into() },
        r#"{"type":"renamed","title":"T"}"#,
    );
    check(
        Event::Compacted {
            number: 2,
            asked: true,
            summary: "S".into(),
            native: Some(NativeSummary {
                model: "p/m".into(),
                opaque: "{}".into(),
            }),
            ledger: "L".into(),
            before: 9,
            usage: Usage::default(),
        },
        r#"{"type":"compacted","number":2,"asked":true,"summary":"S","native":{"model":"p/m","opaque":"{}"},"ledger":"L","before":9}"#,
    );
    check(
        Event::CompactionUndone {
            number: 2,
            context: 9,
        },
        r#"{"type":"compaction_undone","number":2,"context":9}"#,
    );
    check(
        Event::CompactionFailed {
            model: "p/m".into(),
            reason: "the summary was cut off".into(),
        },
        r#"{"type":"compaction_failed","model":"p/m","reason":"the summary was cut off"}"#,
    );
    let cleared = ClearedOutput {
        turn: 2,
        call: CallKey(7),
        bytes: 9,
        text: "T".into(),
    };
    check(
        Event::OutputsCleared {
            outputs: vec![cleared],
            context: 9,
        },
        r#"{"type":"outputs_cleared","outputs":[{"turn":2,"call":7,"bytes":9,"text":"T"}],"context":9}"#,
    );
    check(
        Event::Learned {
            model: "a/b".into(),
            refuses: Feature::ForcedTool.into(),
        },
        r#"{"type":"learned","model":"a/b","refuses":"forced_tool"}"#,
    );
    for (part, word) in [
        (LeftOut::Tool("x".into()), "tool"),
        (LeftOut::Media("x".into()), "media"),
    ] {
        check(
            Event::Learned {
                model: "a/b".into(),
                refuses: part.into(),
            },
            &format!(r#"{{"type":"learned","model":"a/b","refuses":"{word}","name":"x"}}"#),
        );
    }
    for (level, word) in [(Level::Info, "info"), (Level::Warning, "warning")] {
        check(
            Event::Notice {
                level,
                text: "n".into(),
            },
            &format!(r#"{{"type":"notice","level":"{word}","text":"n"}}"#),
        );
    }
}

#[test]
fn the_end_of_a_turn() {
    let end = |outcome| Event::TurnEnd {
        outcome,
        answer: None,
        structured: None,
        error: None,
        usage: Usage::default(),
        refusals: vec![],
    };
    for (outcome, word) in [
        (Outcome::Completed, "completed"),
        (Outcome::Cancelled, "cancelled"),
        (Outcome::Failed, "failed"),
        (Outcome::Interrupted, "interrupted"),
    ] {
        check(
            end(outcome),
            &format!(r#"{{"type":"turn_end","outcome":"{word}"}}"#),
        );
    }
    let refusal = |reason| Refusal {
        tool: "sh".into(),
        arguments: json!({"a": 1}),
        reason,
        key: None,
        cause: None,
        text: "No.".into(),
    };
    check(
        Event::TurnEnd {
            outcome: Outcome::Failed,
            answer: Some("a".into()),
            structured: Some(json!({"b": 1.5})),
            error: Some(TurnError::new(ErrorCode::ContextFull, "Full.")),
            usage: usage(),
            refusals: vec![
                refusal(RefusalReason::NeedsApproval),
                refusal(RefusalReason::Withheld),
            ],
        },
        r#"{"type":"turn_end","outcome":"failed","answer":"a","structured":{"b":1.5},"error":{"code":"context_full","message":"Full."},"usage":{"input":1,"cache_read":2,"cache_write":3,"output":4,"cost":0.25},"refusals":[{"tool":"sh","arguments":{"a":1},"reason":"needs_approval","text":"No."},{"tool":"sh","arguments":{"a":1},"reason":"withheld","text":"No."}]}"#,
    );
}

/// Whatever stands in a line, it is read or refused; what is read is written as it was.
#[test]
fn fuzzed_lines_are_read_or_refused() {
    let mut read = 0;
    for (path, bytes) in aside_test_fuzz::corpus("tests/logs", &["events.jsonl"]) {
        for line in bytes.split(|byte| *byte == b'\n').step_by(5) {
            let Some((text, _)) = line.split_last_chunk::<CHECKSUM>() else {
                continue;
            };
            for mut damaged in aside_test_fuzz::damaged(text, 12) {
                // The checksum alone would refuse it.
                let checksum = format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(&damaged));
                damaged.extend_from_slice(checksum.as_bytes());
                let Ok(record) = decode(&damaged) else {
                    continue;
                };
                read += 1;
                let turn = record.turn.as_deref();
                let again = encode(record.seq, record.time, turn, &record.entry).unwrap();
                let again = decode(again.strip_suffix(b"\n").unwrap());
                let line = String::from_utf8_lossy(&damaged);
                assert_eq!(again, Ok(record), "{}: {line}", path.display());
            }
        }
    }
    assert!(read > 100, "only {read} lines could be read");
}

use std::collections::{BTreeSet, HashSet};

use aside_turn::{
    question::{AnswerType, Question, Source},
    record::{
        CallEnd, CallKey, Closed, DirectiveKind, FaultKind, InquiryResponse, Level, Outcome,
        PromptId, PromptSubject, Word,
    },
    response::{Feature, Finish, Usage},
    transcript::Item,
};

use super::{
    conversation::{ConversationFold, FoldedConversation},
    *,
};

/// Records from a text: a line each, `turn: event`, or `-: event` for what belongs to no turn. Numbers and
/// words after an event's name are its fields.
fn records(text: &str) -> Vec<Record> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let record = |(at, line): (usize, &str)| {
        let (turn, event) = line.split_once(": ").unwrap();
        let seq = at as u64 + 1;
        Record {
            seq,
            time: Duration::from_secs(seq),
            turn: Some(turn.to_owned()).filter(|turn| turn != "-"),
            entry: entry(event),
        }
    };
    lines.enumerate().map(record).collect()
}

fn entry(text: &str) -> Entry {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let call = CallKey(rest.split(' ').next().unwrap().parse().unwrap_or_default());
    let rest = rest.to_owned();
    let result = |held, content| Event::ToolResult {
        call,
        end: CallEnd::Success,
        content,
        held,
        details: None,
        media: Vec::new(),
        summary: None,
    };
    let opened = |subject| {
        let prompt = PromptId(format!("p{}", call.0));
        Event::PromptOpened {
            prompt,
            call,
            subject,
        }
    };
    Entry::from(match name {
        "start" => Event::TurnStart,
        "user" => Event::UserMessage {
            text: rest,
            attachments: vec![],
        },
        "directive" => Event::Directive {
            kind: DirectiveKind::Other {
                kind: String::new(),
            },
            text: rest,
        },
        "sent" => Event::RequestSent { step: 1 },
        "text" => Event::Text {
            text: rest,
            opaque: None,
        },
        "call" => Event::ToolCall {
            call,
            id: format!("id{}", call.0),
            name: "tool".into(),
            arguments: "{}".into(),
            opaque: None,
        },
        "respond" => Event::ResponseEnd {
            finish: Some(Finish::Stop),
            usage: Usage {
                output: 5,
                ..Usage::default()
            },
        },
        "run" => Event::CallStarted {
            call,
            run: 1,
            title: String::new(),
        },
        "ask" => Event::InquiryRequest {
            id: format!("i{}", call.0),
            call,
            source: Source::Assistant,
            question: Question::new("q", "?", AnswerType::text()),
            live: false,
            label: None,
        },
        "prompt" => opened(PromptSubject::Question {
            inquiry: format!("i{}", call.0),
        }),
        "permit" => opened(PromptSubject::RunTool {
            hash: "h".into(),
            diff: false,
            title: String::new(),
        }),
        "permitted" => Event::PromptClosed {
            prompt: PromptId(format!("p{}", call.0)),
            closed: Closed::Withdrawn,
        },
        "answered" => Event::InquiryResponse {
            id: format!("i{}", call.0),
            call,
            response: InquiryResponse::Redacted { shown: None },
        },
        "result" => result(false, rest),
        "held" => result(true, rest),
        "late" => Event::LateAnswer {
            prompt: PromptId("p0".into()),
        },
        "notice" => Event::Notice {
            level: Level::Info,
            text: rest,
        },
        "end" => Event::TurnEnd {
            outcome: serde_json::from_value(rest.into()).unwrap(),
            answer: None,
            structured: None,
            error: None,
            usage: Usage::default(),
            refusals: vec![],
        },
        other => panic!("{other}"),
    })
}

fn folded(records: &[Record]) -> FoldedConversation {
    records.iter().cloned().collect::<ConversationFold>().end()
}

/// What a provider is sent: a word an item, a slash between requests and responses.
#[track_caller]
fn check_transcript(log: &str, expected: &str) {
    let mut transcript = folded(&records(log)).transcript;
    // The next turn's first request takes everything along.
    transcript.push(&Event::RequestSent { step: 1 });
    let fork = transcript.fork();
    let mut links: Vec<String> = fork
        .newest_first()
        .map(|link| {
            let items = link.items.iter().map(|item| match item {
                Item::User { text, .. } | Item::Text { text, .. } => text.clone(),
                Item::Directive(text) | Item::Steer(text) => text.clone(),
                Item::ToolCall { id, .. } => id.clone(),
                Item::ToolResult { id, content, .. } => format!("{id}={content}"),
                other @ Item::Reasoning { .. } => panic!("{other:?}"),
            });
            items.collect::<Vec<_>>().join(" ")
        })
        .collect();
    links.reverse();
    assert_eq!(links.join(" / "), expected);
}

const LOG: &str = "
    t1: start
    t1: user hi
    t1: sent
    t1: text look
    t1: call 0
    t1: call 1
    t1: respond
    t1: run 0
    t1: run 1
    t1: result 1
    t1: result 0
    t1: sent
    t1: text done
    t1: respond
    t1: end completed
    t2: start
    t2: user more";

/// The log without the one line of that text.
fn without(line: &str) -> String {
    assert_eq!(
        LOG.lines().filter(|other| other.trim() == line).count(),
        1,
        "{line}"
    );
    LOG.lines()
        .filter(|other| other.trim() != line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_transcript_is_what_was_sent() {
    check_transcript(LOG, "hi / look id0 id1 / id0=0 id1=1 / done / more");
}

#[test]
fn a_lost_line_leaves_a_transcript_that_can_be_sent() {
    let unknown = "tool was interrupted; its effects are unknown. Look before you run it again.";
    for (lost, expected) in [
        ("t1: start", "hi / look id0 id1 / id0=0 id1=1 / done / more"),
        (
            "t1: user hi",
            "Part of this conversation was lost: what was said here. / look id0 id1 / id0=0 id1=1 / done / more",
        ),
        ("t1: call 1", "hi / look id0 / id0=0 / done / more"),
        (
            "t1: result 1",
            &format!("hi / look id0 id1 / id0=0 id1={unknown} / done / more"),
        ),
        ("t1: text done", "hi / look id0 id1 / id0=0 id1=1 / more"),
        (
            "t1: end completed",
            "hi / look id0 id1 / id0=0 id1=1 / done / more",
        ),
        ("t2: start", "hi / look id0 id1 / id0=0 id1=1 / done / more"),
    ] {
        check_transcript(&without(lost), expected);
    }
}

#[test]
fn a_lost_request_comes_before_what_was_said_to_it() {
    let at = LOG.rfind("t1: sent").unwrap();
    let log = [&LOG[..at], &LOG[at + "t1: sent\n".len()..]].concat();
    check_transcript(&log, "hi / look id0 id1 / id0=0 id1=1 / done / more");
}

#[test]
fn a_call_of_a_closed_turn_that_never_ran_was_cancelled() {
    check_transcript(
        "t1: start
         t1: user hi
         t1: sent
         t1: call 0
         t1: respond
         t2: start
         t2: user more",
        "hi / id0 / id0=Cancelled by the user. / more",
    );
}

#[test]
fn what_is_said_between_turns_comes_with_the_next() {
    check_transcript(
        "t1: start
         t1: user hi
         t1: sent
         t1: text done
         t1: respond
         t1: end completed
         -: directive undone
         t2: start
         t2: user more",
        "hi / done / undone more",
    );
}

/// How far the only turn came: its outcome, and its open prompts.
#[track_caller]
fn check_standing(log: &str, outcome: Option<Outcome>, open: &[&str]) {
    let log: String = log
        .lines()
        .map(|line| format!("t1: {}\n", line.trim()))
        .collect();
    let turns = turns(&records(&log));
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].standing.outcome, outcome);
    let ids: Vec<&str> = turns[0]
        .standing
        .open
        .iter()
        .map(|open| open.prompt.0.as_str())
        .collect();
    assert_eq!(ids, open);
}

#[test]
fn prompts_are_open_until_something_settles_them() {
    let start = "start\ncall 0\ncall 1\nrespond\nask 0\nprompt 0\npermit 1";
    check_standing(start, None, &["p0", "p1"]);
    for (more, outcome, open) in [
        ("answered 0", None, &["p1"][..]),
        ("permitted 1", None, &["p0"]),
        ("result 1", None, &["p0"]),
        ("held 1", None, &["p0", "p1"]),
        ("end interrupted", Some(Outcome::Interrupted), &["p0", "p1"]),
        ("end cancelled", Some(Outcome::Cancelled), &[]),
        (
            "end interrupted\nanswered 0\nrun 0\nend interrupted",
            Some(Outcome::Interrupted),
            &["p1"],
        ),
        (
            "end interrupted\nanswered 0\npermitted 1\nend completed",
            Some(Outcome::Completed),
            &[],
        ),
        (
            "end cancelled\nlate\nnotice n",
            Some(Outcome::Cancelled),
            &[],
        ),
    ] {
        check_standing(&format!("{start}\n{more}"), outcome, open);
    }
}

#[test]
fn a_turn_has_its_prompt_and_events_and_a_late_one_joins_it() {
    let log = "
        t1: start
        t1: user first
        t1: end completed
        -: notice n
        t2: start
        t1: late
        t2: user second";
    let turns = turns(&records(log));
    let about: Vec<_> = turns
        .iter()
        .map(|turn| {
            (
                &*turn.id,
                &*turn.prompt,
                turn.started.as_secs(),
                turn.events.len(),
            )
        })
        .collect();
    assert_eq!(about, [("t1", "first", 1, 4), ("t2", "second", 5, 2)]);
}

#[test]
fn the_last_turn_of_a_conversation_is_the_one_that_was_started_last() {
    let log = "
        t1: start
        t1: user first
        t1: end completed
        t2: start
        t1: late
        t2: user second
        t1: late";
    for count in 1..=7 {
        let mut records = records(log);
        records.truncate(count);
        assert_eq!(folded(&records).last, turns(&records).pop(), "{count}");
    }
}

#[test]
fn faults_that_the_model_was_told_of_are_known() {
    let lost = |line, fault| Record {
        seq: 1,
        time: Duration::ZERO,
        turn: None,
        entry: Entry::from(Event::Directive {
            kind: DirectiveKind::Lost { line, fault },
            text: String::new(),
        }),
    };
    let log = [
        lost(7, FaultKind::Checksum.into()),
        lost(8, Word::Unknown("eaten".into())),
    ];
    let reported = folded(&log).reported;
    assert_eq!(reported, HashSet::from([(7, FaultKind::Checksum)]));
}

#[test]
fn an_interrupted_turn_is_closed_with_an_outcome_for_everything() {
    let log = "
        t1: start
        t1: user hi
        t1: call 0
        t1: call 1
        t1: call 2
        t1: call 3
        t1: respond
        t1: run 0
        t1: ask 0
        t1: prompt 0
        t1: permit 1
        t1: run 2
        t1: run 3
        t1: result 3
        t1: call 4
        t1: end interrupted";
    let mut turn = turns(&records(log)).remove(0);
    let closing = closing(&turn);
    let words: Vec<String> = closing
        .iter()
        .map(|event| match event {
            Event::InquiryResponse {
                id,
                response: InquiryResponse::Cancelled { reason, .. },
                ..
            } => {
                format!("{id} {}", reason.name())
            }
            Event::PromptClosed { prompt, closed } => format!("{} {closed:?}", prompt.0),
            Event::ToolResult { call, content, .. } => format!("{} {content}", call.0),
            Event::TurnEnd { outcome, usage, .. } => format!("{outcome:?} {}", usage.output),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        words,
        [
            "i0 withdrawn",
            "0 Cancelled by the user.",
            "p1 Withdrawn",
            "1 Cancelled by the user.",
            "2 tool was interrupted; its effects are unknown. Look before you run it again.",
            "Cancelled 5",
        ]
    );
    closing
        .iter()
        .for_each(|event| turn.take(event.clone().into()));
    assert!(!turn.is_interrupted() && turn.standing.open.is_empty());
    assert!(super::closing(&turn).is_empty());
}

#[test]
fn what_is_frozen_follows_its_changes() {
    let record = |entry| Record {
        seq: 1,
        time: Duration::ZERO,
        turn: None,
        entry,
    };
    let first = Frozen {
        system: "s".into(),
        model: "m".into(),
        ..Frozen::default()
    };
    let changed = super::super::record::Changed {
        model: Some("n".into()),
        ..Default::default()
    };
    let mut log = vec![];
    assert_eq!(folded(&log).frozen, None);
    log.push(record(Entry::Conversation(first.clone())));
    log.push(record(Entry::Changed(changed)));
    assert_eq!(
        folded(&log).frozen,
        Some(Frozen {
            model: "n".into(),
            ..first
        })
    );
    for _ in 0..2 {
        let (model, refuses) = ("m".to_owned(), Feature::ForcedTool.into());
        log.push(record(Event::Learned { model, refuses }.into()));
    }
    assert_eq!(
        folded(&log).learned,
        BTreeSet::from([("m".into(), Feature::ForcedTool.into())])
    );
}

#[test]
fn a_turn_that_was_cut_off_before_its_message_is_ended_and_not_resumed() {
    let mut turn = turns(&records("t1: start")).remove(0);
    assert!(!turn.is_interrupted() && !turn.has_ended());
    let end = closing(&turn);
    let [Event::TurnEnd { outcome, .. }] = &end[..] else {
        panic!("{end:?}")
    };
    assert_eq!(*outcome, Outcome::Cancelled);
    end.iter().for_each(|event| turn.take(event.clone().into()));
    assert!(turn.has_ended() && closing(&turn).is_empty());
}

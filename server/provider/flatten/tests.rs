use aside_turn::{Event, inquiry::CallResult, response::Usage, transcript::Transcript};

use super::*;

/// The texts of a flattened conversation.
fn texts(fork: &Fork) -> Vec<String> {
    let text = |item: &Item| match item {
        Item::User { text, .. } => text.clone(),
        other => panic!("{other:?}"),
    };
    let links: Vec<&Link> = fork.newest_first().collect();
    assert_eq!(links.len(), 1);
    links[0].items.iter().map(text).collect()
}

fn whole(transcript: &Transcript, window: Option<u64>) -> String {
    texts(&flatten(&transcript.fork(), &[], window).0).concat()
}

fn says(transcript: &mut Transcript, text: &str) {
    let text = text.to_owned();
    transcript.push(&Event::Text { text, opaque: None });
    transcript.push(&Event::ResponseEnd {
        finish: None,
        usage: Usage::default(),
    });
}

fn asks(transcript: &mut Transcript, text: &str) {
    transcript.push(&Event::TurnStart);
    transcript.push(&Event::UserMessage {
        text: text.into(),
        attachments: Vec::new(),
    });
    transcript.push(&Event::RequestSent { step: 1 });
}

#[test]
fn flattened_text_contains_all_but_reasoning() {
    let mut transcript = Transcript::default();
    let log = r#"
        {"type":"turn_start"}
        {"type":"user_message","text":"Look.","attachments":[{"name":"a.txt","text":"one"},{"name":"shot.png","media":{"media_type":"image/png","blob":"00ff","size":12000}}]}
        {"type":"directive","kind":"cut","text":"Hurry."}
        {"type":"request_sent","step":1}
        {"type":"reasoning","text":"Secret thoughts.","opaque":"{}"}
        {"type":"tool_call","call":0,"id":"call_0","name":"search","arguments":"{\"pattern\":\"x\"}"}
        {"type":"tool_call","call":1,"id":"call_1","name":"search","arguments":"{\"pattern\":\"x\"}"}
        {"type":"text","text":"I look."}
        {"type":"response_end"}
        {"type":"tool_result","call":0,"status":"ok","content":"found 0"}
        {"type":"tool_result","call":1,"status":"error","content":"found 1"}
        {"type":"steer","text":"And there."}
        {"type":"request_sent","step":2}
    "#;
    for line in log.lines().map(str::trim).filter(|line| !line.is_empty()) {
        transcript.push(&serde_json::from_str(line).unwrap());
    }
    let called = "[the assistant called search with {\"pattern\":\"x\"}]\n\n";
    assert_eq!(
        texts(&flatten(&transcript.fork(), &[], Some(1_000)).0),
        [
            BEGIN.to_owned(),
            "User: Look.\n[attached: a.txt]\none\n[attached: shot.png (image/png, 12 KiB)]\n\n[note: Hurry.]\n\n".into(),
            format!("{called}{called}Assistant: I look.\n\n"),
            "[result of search]\nfound 0\n\n[error of search]\nfound 1\n\nUser: And there.\n\n"
                .into(),
        ]
    );
}

#[test]
fn results_of_open_calls_precede_the_question() {
    let result = |name: &str, content: &str| CallResult {
        id: "1".into(),
        name: name.into(),
        content: content.into(),
        is_error: false,
    };
    let asked = |results: Vec<CallResult>, text: &str| Message::User {
        results,
        text: text.into(),
    };
    let reply = Message::Assistant(Vec::new());
    let messages = [
        asked(
            vec![result("edit", "Tool paused: Which?"), result("read", "one")],
            "Which?",
        ),
        reply.clone(),
        asked(Vec::new(), "Again: which?"),
    ];
    let (_, flat) = flatten(&Fork::default(), &messages, None);
    assert_eq!(
        flat,
        [
            asked(
                Vec::new(),
                "[edit: Tool paused: Which?]\n[read: one]\n\nWhich?"
            ),
            reply,
            asked(Vec::new(), "Again: which?"),
        ]
    );
}

#[test]
fn oldest_turns_are_omitted_in_steps() {
    for (turns, budget, expected) in [
        (&[][..], 100, 0),
        (&[5_000], 100, 0),
        (&[50, 50], 100, 0),
        (&[50, 51], 100, 1),
        // A step is 10: the cut is after three turns of 4, and stays there.
        (&[4, 4, 4, 4, 85], 100, 3),
        (&[4, 4, 4, 4, 96], 100, 3),
        (&[4, 4, 4, 4, 500], 100, 3),
        (&[4, 4, 4, 4, 4, 4, 500], 100, 6),
        (&[30, 30, 30, 30], 100, 1),
        (&[1, 1, 5_000], 100, 0),
        (&[1, 0, 1], 0, 1),
    ] {
        assert_eq!(cut(turns, budget), expected, "{turns:?} {budget}");
    }
}

/// For conversations that grow by turns of many sizes, the cut moves only if there is no room. It moves by at least a
/// tenth, and never back.
#[test]
fn cut_rarely_moves_while_a_conversation_grows() {
    let budget = 10_000;
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let most = [50, 700, 4_000][seed as usize % 3];
        let mut turns: Vec<u64> = Vec::new();
        let (mut before, mut moves) = (0, 0);
        for _ in 0..120 {
            turns.push(random.u64(1..most));
            for _ in 0..random.u64(1..4) {
                let now = cut(&turns, budget);
                let left: u64 = turns[before..].iter().sum();
                if now != before {
                    assert!(now > before && now < turns.len() && left > budget);
                    let moved: u64 = turns[before..now].iter().sum();
                    assert!(moved >= budget / 10);
                    moves += 1;
                } else {
                    let old: u64 = turns[now..turns.len() - 1].iter().sum();
                    assert!(left <= budget || old < budget / 10);
                }
                before = now;
                *turns.last_mut().unwrap() += random.u64(1..most);
            }
        }
        let all: u64 = turns.iter().sum();
        assert!(moves as u64 <= all / (budget / 10) + 1, "{moves} {all}");
    }
}

#[test]
fn each_text_extends_the_previous_one_until_the_cut_moves() {
    let mut transcript = Transcript::default();
    let (mut before, mut kept, mut moved) = (String::new(), 0, 0);
    for turn in 0..60 {
        asks(
            &mut transcript,
            &format!("{turn} {}", "?".repeat(turn * 7 % 90)),
        );
        for step in 0..3 {
            says(
                &mut transcript,
                &format!("{turn}.{step} {}", "!".repeat(turn % 40)),
            );
            transcript.push(&Event::Steer { text: "On.".into() });
            transcript.push(&Event::RequestSent { step: 1 });
            let now = whole(&transcript, Some(1_000));
            assert!(
                now.len() < 2_640 + BEGIN.len() + LEFT_OUT.len(),
                "{}",
                now.len()
            );
            assert!(
                now.contains(&format!("User: {turn} ")),
                "the turn of now is whole"
            );
            if now.starts_with(&before) {
                kept += 1;
            } else {
                assert!(now.starts_with(&format!("{BEGIN}{LEFT_OUT}User: ")));
                moved += 1;
            }
            before = now;
        }
    }
    assert!(moved > 5 && kept > 5 * moved, "{kept} kept, {moved} moved");
}

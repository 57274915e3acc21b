//! Calls, prompts and questions.

use super::*;

#[test]
fn calls_and_prompts() {
    let prompt = PromptId("p1".into());
    let call = CallKey(0);
    for (title, field) in [("", ""), ("Read a.txt", r#","title":"Read a.txt""#)] {
        let title = title.to_owned();
        check(
            Event::CallStarted {
                call,
                run: 1,
                title,
            },
            &format!(r#"{{"type":"call_started","call":0,"run":1{field}}}"#),
        );
    }
    for (subject, fields) in [
        (
            PromptSubject::Question {
                inquiry: "i.1".into(),
            },
            r#""kind":"question","inquiry":"i.1""#,
        ),
        (
            PromptSubject::RunTool {
                hash: "h".into(),
                diff: false,
                title: String::new(),
            },
            r#""kind":"runTool","hash":"h""#,
        ),
        (
            PromptSubject::RunTool {
                hash: "h".into(),
                diff: true,
                title: "Edit a.txt".into(),
            },
            r#""kind":"runTool","hash":"h","diff":true,"title":"Edit a.txt""#,
        ),
        (PromptSubject::DeliverResult, r#""kind":"deliverResult""#),
    ] {
        check(
            Event::PromptOpened {
                prompt: prompt.clone(),
                call,
                subject,
            },
            &format!(r#"{{"type":"prompt_opened","prompt":"p1","call":0,{fields}}}"#),
        );
    }
    let new_text = Some("new".to_owned());
    for (closed, fields) in [
        (
            Closed::Permitted {
                permission: Permission::Once.into(),
                new_text,
                shown: Some(shown()),
            },
            format!(r#""outcome":"permitted","permission":"once","new_text":"new",{SEEN}"#),
        ),
        (
            Closed::Delivered {
                deliver: false,
                shown: None,
            },
            r#""outcome":"delivered","deliver":false"#.into(),
        ),
        (
            Closed::Declined {
                note: Some("no".into()),
                shown: None,
            },
            r#""outcome":"declined","note":"no""#.into(),
        ),
        (Closed::Withdrawn, r#""outcome":"withdrawn""#.into()),
        (
            Closed::Failed { why: "gone".into() },
            r#""outcome":"failed","why":"gone""#.into(),
        ),
    ] {
        check(
            Event::PromptClosed {
                prompt: prompt.clone(),
                closed,
            },
            &format!(r#"{{"type":"prompt_closed","prompt":"p1",{fields}}}"#),
        );
    }
    check(
        Event::LateAnswer { prompt },
        r#"{"type":"late_answer","prompt":"p1"}"#,
    );
    check(
        Event::ToolResult {
            call,
            end: CallEnd::Failure,
            content: "No.".into(),
            held: true,
            media: Vec::new(),
            details: Some(json!({"files": {"b": 1, "a": null}})),
            summary: Some("n lines".into()),
        },
        r#"{"type":"tool_result","call":0,"status":"error","content":"No.","summary":"n lines","held":true,"details":{"files":{"b":1,"a":null}}}"#,
    );
}

#[test]
fn questions() {
    let mut question = Question::new(
        "occurrence",
        "Which?",
        AnswerType::Select {
            options: vec!["1".into(), "2".into()],
        },
    );
    question.context = Some("a\nb".into());
    question.default = Some(json!("2"));
    question.exclusive = true;
    question.persistence = Persistence::None;
    let id = "tool_call.edit_file.call_a3b7.occurrence.1".to_owned();
    let source = Source::Tool {
        name: "edit_file".into(),
    };
    check(
        Event::InquiryRequest {
            id: id.clone(),
            call: CallKey(1),
            source,
            question,
            live: false,
            label: Some("L".into()),
        },
        r#"{"type":"inquiry_request","id":"tool_call.edit_file.call_a3b7.occurrence.1","call":1,"source":{"type":"tool","name":"edit_file"},"question":{"id":"occurrence","text":"Which?","context":"a\nb","answer_type":{"type":"select","options":["1","2"]},"default":"2","exclusive":true,"persistence":"none"},"label":"L"}"#,
    );
    check(
        Event::InquiryRequest {
            id,
            call: CallKey(1),
            source: Source::Assistant,
            question: Question::new("answer", "Sure?", AnswerType::Boolean),
            live: true,
            label: None,
        },
        r#"{"type":"inquiry_request","id":"tool_call.edit_file.call_a3b7.occurrence.1","call":1,"source":{"type":"assistant"},"question":{"id":"answer","text":"Sure?","answer_type":{"type":"boolean"}},"live":true}"#,
    );
}

/// A response to the question `i.1` of the call 1.
#[track_caller]
fn check_response(response: InquiryResponse, fields: &str) {
    check(
        Event::InquiryResponse {
            id: "i.1".into(),
            call: CallKey(1),
            response,
        },
        &format!(r#"{{"type":"inquiry_response","id":"i.1","call":1,{fields}}}"#),
    );
}

#[test]
fn answers_to_questions() {
    let answered = |answer, by| InquiryResponse::Answered {
        answer,
        by,
        remember: false,
        shown: None,
        effort: None,
    };
    for (by, word) in [
        (By::User, "user"),
        (By::Assistant, "assistant"),
        (By::Config, "config"),
        (By::Remembered, "remembered"),
        (By::Default, "default"),
    ] {
        let fields = format!(r#""outcome":"answered","answer":"2","by":"{word}""#);
        check_response(answered(json!("2"), by), &fields);
    }
    check_response(
        answered(Value::Null, By::User),
        r#""outcome":"answered","answer":null,"by":"user""#,
    );
    check_response(
        InquiryResponse::Answered {
            answer: json!(true),
            by: By::User,
            remember: true,
            shown: Some(shown()),
            effort: Some(effort()),
        },
        &format!(
            r#""outcome":"answered","answer":true,"by":"user","remember":true,{SEEN},{EFFORT}"#
        ),
    );
    check_response(
        InquiryResponse::Redacted {
            shown: Some(shown()),
        },
        &format!(r#""outcome":"redacted",{SEEN}"#),
    );
}

#[test]
fn questions_without_an_answer() {
    for word in [
        "user",
        "withdrawn",
        "backend_error",
        "no_prompt_backend",
        "assistant_routing_denied",
        "invalid_static_answer",
        "detached_policy",
        "invalid_question",
        "limit_reached",
        "not_known_yet",
    ] {
        check_response(
            InquiryResponse::Cancelled {
                reason: serde_json::from_value(word.into()).unwrap(),
                backend: Some(Word::of("inquiry")),
                note: Some("later".into()),
                why: Some("broken".into()),
                shown: Some(shown()),
                effort: Some(effort()),
            },
            &format!(
                r#""outcome":"cancelled","reason":"{word}","backend":"inquiry","note":"later","why":"broken",{SEEN},{EFFORT}"#
            ),
        );
    }
}

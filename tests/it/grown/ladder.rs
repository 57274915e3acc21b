//! The ladder of an inquiry, in the shapes of each API: repaired over the same cache, then the next rung, then a
//! failure that the model is told.

use aside_model_server::{
    ServedApi,
    play::ReplyItem,
    server::{Received, ServedReply},
};
use serde_json::{Value, json};

use super::{
    body::RequestPurpose::{Inquiry, Repair, Turn},
    run::GrownRun,
    side::{SIDES, Side, inquiries, side},
};

/// Reads files that are to be edited, edits them so that each edit asks, and is done.
pub(super) fn edits(side: Side, files: usize, number: usize) -> ServedReply {
    let each = |tool: &str, arguments: &dyn Fn(String) -> Value| {
        let play = side.play(number).reasoning("A tool.");
        let call = |at: usize| {
            let arguments = arguments(format!("asks{at}.txt"));
            ReplyItem::call(&format!("call_{number}_{at}"), tool, arguments.to_string())
        };
        (0..files)
            .map(call)
            .fold(play, |play, call| play.say(call))
            .reply(side.api)
    };
    match number {
        0 => each("read_file", &|path| json!({ "path": path })),
        1 => each(
            "edit_file",
            &|path| json!({"path": path, "old_text": "mark", "new_text": "note"}),
        ),
        _ => side.says(number, "Done."),
    }
}

/// A call that answers the first question of a request.
pub(super) fn answers(side: Side, request: &Received, answer: &Value) -> ServedReply {
    let arguments = json!({"inquiry_id": inquiries(request)[0], "answer": answer});
    side.calls(100 + request.number, "answer_inquiry", &arguments)
}

/// The member that forces a tool, or the one that holds the answer to a schema.
fn rung(api: ServedApi, body: &Value) -> (Value, bool) {
    let [choice, format] = match api {
        ServedApi::Anthropic => ["/tool_choice", "/output_config/format"],
        ServedApi::OpenaiResponses => ["/tool_choice", "/text/format"],
        ServedApi::OpenaiChat => ["/tool_choice", "/response_format"],
        ServedApi::Gemini => [
            "/toolConfig/functionCallingConfig",
            "/generationConfig/responseJsonSchema",
        ],
        ServedApi::Ollama => ["/tool_choice", "/format"],
    };
    let choice = body.pointer(choice).cloned().unwrap_or_default();
    (choice, body.pointer(format).is_some())
}

/// Models that take a forced tool, and what forces it there; and models that do not.
fn rungs() -> Vec<(Side, Option<Value>)> {
    let name = "answer_inquiry";
    vec![
        (
            side(ServedApi::Anthropic, "anthropic/claude-opus-5"),
            Some(json!({"type": "tool", "name": name})),
        ),
        (SIDES[1], Some(json!({"type": "function", "name": name}))),
        (
            SIDES[2],
            Some(json!({"type": "function", "function": {"name": name}})),
        ),
        (
            SIDES[3],
            Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
        ),
        (SIDES[0], None),
        (SIDES[4], None),
    ]
}

#[test]
fn three_misses_lead_to_the_next_rung_and_then_to_a_failure() {
    for (side, forced) in rungs() {
        let run = GrownRun::new(side.model, "", move |request, number| {
            match (inquiries(request).is_empty(), number) {
                (true, step) => edits(side, 1, step),
                (false, 0) => answers(side, request, &json!(7.5)),
                (false, 1) => answers(side, request, &json!("9")),
                (false, 2) => side.says(100 + request.number, "The second one, I think."),
                (false, _)
                    if request
                        .json
                        .to_string()
                        .contains("Reply with the JSON object") =>
                {
                    side.says(100 + request.number, r#"{"answer":"9"}"#)
                }
                (false, _) => side.calls(100 + request.number, "list_files", &json!({"path": "."})),
            }
        });
        run.go(&[]).exits(0).writes("Done.\n");
        run.is_clean();
        // Read, edit, three over the same cache, one more, done.
        run.grows(&[
            (0, Turn),
            (1, Turn),
            (2, Inquiry),
            (3, Repair),
            (4, Repair),
            (6, Turn),
        ]);
        let bodies = run.bodies();
        assert_eq!(bodies.len(), 7, "{}", side.model);
        let (free, _) = rung(side.api, &bodies[1]);
        for body in &bodies[..5] {
            assert_eq!(
                rung(side.api, body),
                (free.clone(), false),
                "{}",
                side.model
            );
        }
        let (choice, schema) = rung(side.api, &bodies[5]);
        assert_eq!(schema, forced.is_none(), "{}", bodies[5]);
        if let Some(forced) = forced {
            assert_eq!(choice, forced, "{}", side.model);
        }
        let told = run.log().told("call_1_0").to_owned();
        let failed = "Inquiry failed: no fitting answer in 4 tries; the last: ";
        assert!(told.starts_with(failed), "{told}");
        assert!(bodies[6].to_string().contains(failed), "{}", bodies[6]);
        assert_eq!(run.world.read("asks0.txt"), "mark\nmark\nmark\n");
    }
}

/// What is not an answer, each repaired at once by one that is.
#[test]
fn each_kind_of_miss_is_repaired_over_the_same_cache() {
    for side in SIDES {
        for miss in 0..4 {
            let run = GrownRun::new(side.model, "", move |request, number| {
                match (inquiries(request).is_empty(), number, miss) {
                    (true, step, _) => edits(side, 1, step),
                    (false, 0, 0) => answers(side, request, &json!(["2"])),
                    (false, 0, 1) => answers(side, request, &json!("second")),
                    (false, 0, 2) => side.says(100, "The second one."),
                    (false, 0, _) => side.calls(100, "list_files", &json!({"path": "."})),
                    (false, ..) => answers(side, request, &json!("2")),
                }
            });
            run.go(&[]).exits(0).writes("Done.\n");
            run.is_clean();
            run.grows(&[(0, Turn), (1, Turn), (2, Inquiry), (3, Repair), (4, Turn)]);
            let said = [
                "must be exactly one of",
                "must be exactly one of",
                "did not call",
                "was not run",
            ];
            let repair = &run.bodies()[3].to_string();
            assert!(
                repair.contains(said[miss]),
                "{} {miss}: {repair}",
                side.model
            );
            assert_eq!(run.world.read("asks0.txt"), "mark\nnote\nmark\n");
            let log = run.log();
            let pair = log.one("inquiry_response");
            assert_eq!(pair["effort"]["tries"], 2, "{pair}");
        }
    }
}

/// Where JSON was asked for, a call of a tool is no answer either, and the request that says so is one that the API takes.
#[test]
fn a_call_in_place_of_json_is_repaired() {
    let settings = "conversation.inquiry.strategy = \"structured\"\n";
    for side in SIDES {
        let run = GrownRun::new(side.model, settings, move |request, number| {
            match (inquiries(request).is_empty(), number) {
                (true, step) => edits(side, 1, step),
                (false, 0) => answers(side, request, &json!("2")),
                (false, 1) => side.calls(100 + request.number, "list_files", &json!({"path": "."})),
                (false, _) => side.says(100 + request.number, r#"{"answer":"2"}"#),
            }
        });
        run.go(&[]).exits(0).writes("Done.\n");
        run.is_clean();
        let bodies = run.bodies();
        assert_eq!(bodies.len(), 6, "{}", side.model);
        for body in &bodies[2..5] {
            assert!(rung(side.api, body).1, "{} {body}", side.model);
        }
        for repair in &bodies[3..5] {
            let repair = repair.to_string();
            assert!(repair.contains("Not accepted."), "{} {repair}", side.model);
        }
        assert_eq!(run.world.read("asks0.txt"), "mark\nnote\nmark\n");
        let log = run.log();
        assert_eq!(
            log.one("inquiry_response")["effort"]["tries"],
            3,
            "{}",
            side.model
        );
    }
}

#[test]
fn the_last_rung_may_be_the_one_that_answers() {
    for (side, forced) in rungs() {
        let run = GrownRun::new(side.model, "", move |request, number| {
            match (inquiries(request).is_empty(), number) {
                (true, step) => edits(side, 1, step),
                (false, 0..3) => side.says(100 + request.number, "Hm."),
                (false, _) if forced.is_none() => side.says(100, r#"{"answer":"3"}"#),
                (false, _) => answers(side, request, &json!("3")),
            }
        });
        run.go(&[]).exits(0).writes("Done.\n");
        run.is_clean();
        assert_eq!(
            run.world.read("asks0.txt"),
            "mark\nmark\nnote\n",
            "{}",
            side.model
        );
    }
}

#[test]
fn ten_open_questions_are_one_request() {
    for side in SIDES {
        let run = GrownRun::new(side.model, "", move |request, number| {
            let ids = inquiries(request);
            if ids.is_empty() {
                return edits(side, 10, number);
            }
            let answer = |(at, id): (usize, &String)| {
                let arguments = json!({"inquiry_id": id, "answer": "2"}).to_string();
                ReplyItem::call(&format!("answer_{at}"), "answer_inquiry", arguments)
            };
            let calls = ids.iter().enumerate().map(answer);
            calls
                .fold(side.play(100), |play, call| play.say(call))
                .reply(side.api)
        });
        run.go(&[]).exits(0).writes("Done.\n");
        run.is_clean();
        run.grows(&[(0, Turn), (1, Turn), (2, Inquiry), (3, Turn)]);
        assert_eq!(inquiries(&run.asked()[0]).len(), 10, "{}", side.model);
        assert_eq!(run.log().all("inquiry_response").len(), 10);
        for number in 0..10 {
            let text = run.world.read(&format!("asks{number}.txt"));
            assert_eq!(text, "mark\nnote\nmark\n", "{} {number}", side.model);
        }
    }
}

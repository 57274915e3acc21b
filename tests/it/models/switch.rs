//! Another model in mid-conversation: each API after each other.

use aside_model_server::{
    ServedApi,
    play::{ModelReply, signature},
};

use super::{
    column,
    heard::tells_reasoning,
    shown::shown,
    stage::{ModelStage, row, says},
};

const NOTICE: &str =
    "notice Since the last turn the model changed, so the prompt cache starts again.\n";

/// The text of an API's reasoning.
fn thought(api: ServedApi) -> String {
    format!("A thought of {}.", api.name())
}

/// One turn: a reasoned call, and a reasoned answer.
fn turn(stage: &ModelStage, api: ServedApi, number: usize) -> String {
    let binding = format!("turn {number}");
    let call = ModelReply::new(&binding).reasoning(thought(api)).call(
        &format!("call_{number}"),
        "read_file",
        r#"{"path":"a.txt"}"#,
    );
    let answer = ModelReply::new(&format!("{binding}, the answer"))
        .reasoning(thought(api))
        .text(format!("Answer {number}."));
    stage.goes_on(vec![says(call), says(answer)]);
    let goes_on: &[&str] = if number == 0 { &[] } else { &["--continue"] };
    let args = [&["-m", column::model(api)], goes_on].concat();
    let done = stage.run(&format!("Question {number}."), &args).exits(0);
    shown(&done)
}

#[test]
fn each_api_goes_on_where_another_began() {
    row(|api| {
        let stage = ModelStage::new(api, Vec::new());
        stage.world.write("a.txt", "A\n");
        let others = ServedApi::ALL.into_iter().filter(|other| *other > api);
        let order: Vec<ServedApi> = others.flat_map(|other| [api, other]).chain([api]).collect();
        let mut before = String::new();
        for (number, api) in order.iter().enumerate() {
            let notice = if number == 0 { "" } else { NOTICE };
            let thought = thought(*api);
            let expected = format!(
                "{notice}reasoning {thought}\ncall Read a.txt: ok\nreasoning {thought}\n\
                 text Answer {number}.\ncompleted Answer {number}.\n"
            );
            assert_eq!(turn(&stage, *api, number), expected, "{order:?} {number}");
            let question = format!("user Question {number}.\n");
            let call = "call read_file {\"path\":\"a.txt\"}\nresult A\n";
            // Of reasoning a model is told its own, of this turn: what was said before it came belongs to another.
            let own = if tells_reasoning(*api) {
                format!("thought {thought}\n")
            } else {
                String::new()
            };
            let expected = format!("{before}{question}{own}{call}");
            assert_eq!(stage.heard(), expected, "{order:?} {number}");
            before = format!("{before}{question}{call}assistant Answer {number}.\n");
        }
        for request in stage.requests() {
            let body = String::from_utf8(request.body.to_vec()).unwrap();
            for other in ServedApi::ALL
                .into_iter()
                .filter(|other| Some(*other) != request.api)
            {
                assert!(!body.contains(&thought(other)), "{:?}: {body}", request.api);
                for number in 0..order.len() {
                    for binding in [
                        format!("turn {number}"),
                        format!("turn {number}, the answer"),
                    ] {
                        let foreign = signature(other, &binding, 0);
                        assert!(!body.contains(&foreign), "{:?}: {body}", request.api);
                    }
                }
            }
        }
        stage.is_clean();
    });
}

//! A fallback client: commands and `window/showMessageRequest` are all it has.
//!
//! What the model was told comes as `window/showMessage` or `window/logMessage`, since this client can show no
//! document.

use serde_json::{Value, json};

use crate::{
    Failure, Step, check,
    client::{Client, Knows, Message, notification},
    same,
    script::{Ask, Script, TOLD_DISMISSED, TOLD_ELSE, TOLD_NO, TOLD_NOT_SHOWN, TOLD_YES},
    stage::Stage,
    wire::ShowMessage,
};

cases! {
    fallback_offers: "`aside.server.ask` starts a turn; its question is a message that offers Later and Answer… alone, whatever its type.";
    fallback_answer: "Answer… answers nothing and says how it is done: by `aside.server.answer`, whose answer counts.";
    fallback_dismiss: "`aside.server.answer` with `dismiss` is a dismissal.";
    fallback_null: "Null, which is how clients say that a message was closed, answers nothing: `aside.server.answer` shows the message again.";
    fallback_later: "Later answers nothing: `aside.server.answer` shows the message again.";
    fallback_wrong_title: "A title that was not offered, such as Yes, is no answer: it may be asked twice again, then the question could not be shown.";
    fallback_error: "A JSON-RPC error to a message is not a person's decision: the question could not be shown.";
    fallback_one_at_a_time: "Of two questions one message is open at a time; the second comes after the reply to the first.";
    beside_yes: "In an editor that is known to show messages beside the text, Yes and No are the actions of a boolean, and Yes counts.";
    beside_select: "There the options of a select are the actions, and the chosen title is the answer.";
    beside_null: "There null is a dismissal.";
}

/// What is asked.
const QUESTION: &str = "Ship it?";

/// Starts a turn; the command has to be answered before anybody answers a question.
fn ask(stage: &Stage, knows: Knows, questions: &[Ask]) -> Step<Client> {
    stage.script(&Script::asks(questions).told("\"answer\":\"soy\"", "The model was told soy."))?;
    let mut client = stage.session(knows)?;
    let params = json!({"command": "aside.server.ask", "arguments": [{"message": "Go"}]});
    client.call("workspace/executeCommand", params)?;
    Ok(client)
}

fn request(message: &Message) -> Option<(Value, ShowMessage)> {
    match message {
        Message::Request(id, method, params) if method == "window/showMessageRequest" => {
            Some((id.clone(), serde_json::from_value(params.clone()).ok()?))
        }
        _ => None,
    }
}

fn message(client: &mut Client) -> Step<(Value, ShowMessage)> {
    client.wait("`window/showMessageRequest`", request)
}

fn titles(shown: &ShowMessage) -> Vec<&str> {
    shown
        .actions
        .iter()
        .map(|action| action.title.as_str())
        .collect()
}

/// Which of the model's last words come.
fn told(text: &str) -> Option<&'static str> {
    [
        TOLD_YES,
        TOLD_NO,
        TOLD_DISMISSED,
        TOLD_NOT_SHOWN,
        TOLD_ELSE,
        "The model was told soy.",
    ]
    .into_iter()
    .find(|words| text.contains(words))
}

fn says(client: &mut Client, due: &str) -> Step {
    let said = client.wait("the model's answer as a message", |message| {
        ["window/showMessage", "window/logMessage"]
            .into_iter()
            .find_map(|method| told(&notification::<ShowMessage>(message, method)?.message))
    })?;
    same("what the model said", &said, &due)
}

fn chooses(client: &mut Client, title: &str) -> Step {
    let (id, shown) = message(client)?;
    check(
        titles(&shown).contains(&title),
        format!("the message offers {:?} and no {title}", titles(&shown)),
    )?;
    client.respond(&id, json!({"title": title}));
    Ok(())
}

fn fallback_offers(stage: &Stage) -> Step {
    for question in [
        Ask::boolean(QUESTION),
        Ask::select(QUESTION, &["oat", "soy"]),
        Ask::text(QUESTION),
    ] {
        let mut client = ask(stage, Knows::LspAlone, &[question])?;
        let (_, shown) = message(&mut client)?;
        check(
            shown.message.contains(QUESTION),
            format!("the message is {:?}", shown.message),
        )?;
        same("what is offered", &titles(&shown), &["Later", "Answer…"])?;
    }
    Ok(())
}

/// Settles the only open prompt by the command.
fn settles(client: &mut Client, mut by: Value) -> Step {
    let pending = client.pending()?;
    let [prompt] = pending.as_slice() else {
        return Err(Failure(format!("{} prompts are pending", pending.len())));
    };
    by["promptId"] = prompt.prompt_id.clone().into();
    let params = json!({"command": "aside.server.answer", "arguments": [by]});
    client.call("workspace/executeCommand", params).map(drop)
}

fn fallback_answer(stage: &Stage) -> Step {
    for (question, answer, told) in [
        (Ask::boolean(QUESTION), json!(true), TOLD_YES),
        (Ask::boolean(QUESTION), json!(false), TOLD_NO),
        (
            Ask::select(QUESTION, &["oat", "soy"]),
            json!("soy"),
            "The model was told soy.",
        ),
    ] {
        let mut client = ask(stage, Knows::LspAlone, &[question])?;
        chooses(&mut client, "Answer…")?;
        client.wait("a message that says how it is answered", |message| {
            notification::<ShowMessage>(message, "window/showMessage")
                .filter(|said| said.message.contains("aside.server.answer {"))
        })?;
        settles(&mut client, json!({"answer": answer}))?;
        says(&mut client, told)?;
    }
    Ok(())
}

fn fallback_dismiss(stage: &Stage) -> Step {
    let mut client = ask(stage, Knows::LspAlone, &[Ask::boolean(QUESTION)])?;
    chooses(&mut client, "Later")?;
    settles(&mut client, json!({"dismiss": true}))?;
    says(&mut client, TOLD_DISMISSED)
}

fn fallback_null(stage: &Stage) -> Step {
    leaves_open(stage, &Value::Null)
}

fn fallback_later(stage: &Stage) -> Step {
    leaves_open(stage, &json!({"title": "Later"}))
}

/// After this reply the question is as open as before, and can be shown and answered again.
fn leaves_open(stage: &Stage, reply: &Value) -> Step {
    let mut client = ask(stage, Knows::LspAlone, &[Ask::boolean(QUESTION)])?;
    let (id, _) = message(&mut client)?;
    client.respond(&id, reply.clone());
    same("the number of open prompts", &client.pending()?.len(), &1)?;
    client.call(
        "workspace/executeCommand",
        json!({"command": "aside.server.answer"}),
    )?;
    message(&mut client)?;
    settles(&mut client, json!({"answer": true}))?;
    says(&mut client, TOLD_YES)
}

fn fallback_wrong_title(stage: &Stage) -> Step {
    let mut client = ask(stage, Knows::LspAlone, &[Ask::boolean(QUESTION)])?;
    let (mut id, _) = message(&mut client)?;
    for _ in 0..3 {
        client.respond(&id, json!({"title": "Yes"}));
        let next = client.wait("the message once more, or the model's answer", |message| {
            request(message).map(Ok).or_else(|| {
                let said = notification::<ShowMessage>(message, "window/showMessage")
                    .or_else(|| notification::<ShowMessage>(message, "window/logMessage"))?;
                told(&said.message).map(Err)
            })
        })?;
        match next {
            Ok((again, _)) => id = again,
            Err(said) => {
                return same("what the model said", &said, &TOLD_NOT_SHOWN);
            }
        }
    }
    Err(Failure(
        "after a wrong title the message came more than twice again".into(),
    ))
}

fn fallback_error(stage: &Stage) -> Step {
    let mut client = ask(stage, Knows::LspAlone, &[Ask::boolean(QUESTION)])?;
    let (id, _) = message(&mut client)?;
    client.respond_error(&id, "the window is gone");
    says(&mut client, TOLD_NOT_SHOWN)
}

fn fallback_one_at_a_time(stage: &Stage) -> Step {
    let questions = [
        Ask::boolean(QUESTION),
        Ask::select("Which?", &["oat", "soy"]),
    ];
    let mut client = ask(stage, Knows::LspBeside, &questions)?;
    let (id, first) = message(&mut client)?;
    check(
        first.message.contains(QUESTION),
        "the second question is asked first",
    )?;
    same("the number of open prompts", &client.pending()?.len(), &2)?;
    check(
        client.take(&request).is_none(),
        "two messages are open at the same time",
    )?;
    client.respond(&id, json!({"title": "Yes"}));
    chooses(&mut client, "soy")?;
    says(&mut client, "The model was told soy.")
}

fn beside_yes(stage: &Stage) -> Step {
    let mut client = ask(stage, Knows::LspBeside, &[Ask::boolean(QUESTION)])?;
    let (id, shown) = message(&mut client)?;
    same("what is offered", &titles(&shown), &["Yes", "No"])?;
    client.respond(&id, json!({"title": "Yes"}));
    says(&mut client, TOLD_YES)
}

fn beside_select(stage: &Stage) -> Step {
    let question = Ask::select("Which?", &["oat", "soy"]);
    let mut client = ask(stage, Knows::LspBeside, &[question])?;
    chooses(&mut client, "soy")?;
    says(&mut client, "The model was told soy.")
}

fn beside_null(stage: &Stage) -> Step {
    let mut client = ask(stage, Knows::LspBeside, &[Ask::boolean(QUESTION)])?;
    let (id, _) = message(&mut client)?;
    client.respond(&id, Value::Null);
    says(&mut client, TOLD_DISMISSED)
}

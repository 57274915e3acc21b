//! A tool loop of sixty steps in three turns: calls side by side, inquiries, a word in between, an answer that is
//! cancelled. What goes out only ever adds to the end of what went out before.

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use aside_model_server::{
    check::{CheckedRequest, EarlierReplies, check},
    play::{ModelReply, ReplyItem},
    server::{ModelServer, Received, ReplyGate, ServedReply},
};
use aside_turn::record::Outcome;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{
    body::{PrefixBreak, RequestPurpose, SentBody, Shape, grown, without_marks},
    cached::check_short,
    loopback::{HALF, Loopback, MidAnswer},
    side::{SIDES, Side, inquiries, items},
};

/// The step in which the user adds something.
const STEERED: usize = 12;
/// The step that is cancelled: the first turn's last.
const CANCELLED: usize = 20;
/// The last steps of the other turns.
const ENDS: [usize; 2] = [45, 60];
/// Steps of 25 calls, beyond what Anthropic looks back for in its cache.
const WIDE: [usize; 5] = [5, 9, 30, 40, 52];
/// Steps with an edit that asks which place is meant. The first reply of the third is no answer, and that of the
/// fourth is another call.
const ASKING: [usize; 4] = [7, 15, 33, 52];

/// A request, and what the response left in the history.
pub(super) struct Exchange {
    pub(super) received: Arc<Received>,
    pub(super) kind: RequestPurpose,
    items: Vec<Value>,
}

/// What the model says in the turn's own steps.
fn step(side: Side, step: usize) -> ModelReply {
    let call = |at: usize, tool: &str, arguments: Value| {
        ReplyItem::call(&format!("call_{step}_{at}"), tool, arguments.to_string())
    };
    let read = |at: usize, path: String| call(at, "read_file", json!({ "path": path }));
    let mut play = side.play(step);
    if step % 4 != 3 {
        play = play.reasoning(format!("What step {step} is for."));
    }
    if step == CANCELLED {
        return play.text([HALF, " of the answer", " and the rest of it"]);
    }
    if ENDS.contains(&step) {
        return play.text("That was all of it.");
    }
    if step.is_multiple_of(3) {
        play = play.text(format!("Now for step {step}."));
    }
    let mut at = 0;
    if ASKING.contains(&step) {
        let arguments =
            json!({"path": format!("asks{step}.txt"), "old_text": "mark", "new_text": "note"});
        play = play.say(call(at, "edit_file", arguments));
        at += 1;
    }
    if ASKING.contains(&(step + 1)) {
        play = play.say(read(at, format!("asks{}.txt", step + 1)));
        at += 1;
    }
    let calls = if WIDE.contains(&step) {
        25
    } else {
        1 + step % 3
    };
    for at in at..calls.max(at + 1) {
        play = match at % 2 {
            // Never twice the same: a turn that repeats a call ends.
            0 => play.say(call(
                at,
                "read_file",
                json!({"path": "small.txt", "to_line": 100 * step + at + 1}),
            )),
            _ => play.say(call(at, "list_files", json!({"path": "."}))),
        };
    }
    play
}

/// How the model answers inquiries: at first not at all, in some steps.
fn answer(side: Side, number: usize, ids: &[String], kind: RequestPurpose) -> ModelReply {
    let play = side.play(1000 + number).reasoning("Which one?");
    let stem = |step: usize| ids[0].contains(&format!("call_{step}_0."));
    let id = format!("answer_{number}");
    if kind == RequestPurpose::Inquiry && stem(ASKING[2]) {
        return play.text("The second one, I should think.");
    }
    if kind == RequestPurpose::Inquiry && stem(ASKING[3]) {
        return play.call(&id, "list_files", r#"{"path":"."}"#);
    }
    let answer = json!({"inquiry_id": ids[0], "answer": "2"});
    play.call(&id, "answer_inquiry", answer.to_string())
}

/// The model, and what it was sent.
struct LongModel {
    side: Side,
    steps: usize,
    /// The inquiry before, where no request of the turn came since.
    asked: Option<String>,
    exchanges: Vec<(RequestPurpose, Vec<Value>)>,
    moments: UnboundedSender<MidAnswer>,
}

impl LongModel {
    fn reply(&mut self, request: &Received) -> ServedReply {
        let ids = inquiries(request);
        let kind = match ids.first() {
            None => RequestPurpose::Turn,
            Some(id) if self.asked.as_ref() == Some(id) => RequestPurpose::Repair,
            Some(_) => RequestPurpose::Inquiry,
        };
        self.asked = ids.first().cloned();
        let play = if kind == RequestPurpose::Turn {
            self.steps += 1;
            step(self.side, self.steps)
        } else {
            answer(self.side, request.number, &ids, kind)
        };
        let stream = play.stream(self.side.api);
        self.exchanges.push((kind, items(self.side.api, &stream)));
        let reply = ServedReply::stream(self.side.api, stream.clone());
        match self.steps {
            STEERED if kind == RequestPurpose::Turn => {
                let gate = ReplyGate::new();
                let _ = self.moments.send(MidAnswer::Steer(gate.clone()));
                reply.wait_at(0, &gate)
            }
            CANCELLED => {
                let text = String::from_utf8_lossy(&stream);
                let half = text.find(HALF).expect("the answer");
                let line = text[half..].find('\n').expect("a line");
                reply.wait_at(half + line + 2, &ReplyGate::new())
            }
            _ => reply,
        }
    }
}

/// Plays the loop.
pub(super) fn play(side: Side, settings: &str) -> Vec<Exchange> {
    let (moments, hear) = unbounded_channel();
    let model = Arc::new(Mutex::new(LongModel {
        side,
        steps: 0,
        asked: None,
        exchanges: Vec::new(),
        moments,
    }));
    let replying = model.clone();
    let server = ModelServer::start(move |request| replying.lock().unwrap().reply(request));
    let mut place = Loopback::new(side, settings, server, hear);
    place.world.write("small.txt", "One small file.\n");
    for step in ASKING {
        place
            .world
            .write(&format!("asks{step}.txt"), "mark\nmark\nmark\n");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let end = place.turn("Do all sixty.").await;
        assert_eq!(end.outcome, Outcome::Cancelled, "{:?}", end.error);
        let end = place.turn("Go on.").await;
        assert_eq!(end.outcome, Outcome::Completed, "{:?}", end.error);
        // As after a restart: what was said is read from the log.
        place.forget();
        let end = place.turn("And the rest?").await;
        assert_eq!(end.outcome, Outcome::Completed, "{:?}", end.error);
    });
    for step in ASKING {
        let text = place.world.read(&format!("asks{step}.txt"));
        assert_eq!(text, "mark\nnote\nmark\n", "{} in step {step}", side.model);
    }
    let exchanges = std::mem::take(&mut model.lock().unwrap().exchanges);
    let received = place.server.received();
    assert_eq!(received.len(), exchanges.len());
    let exchange = |(received, (kind, items))| Exchange {
        received,
        kind,
        items,
    };
    received.into_iter().zip(exchanges).map(exchange).collect()
}

/// The requests as bytes.
pub(super) fn row(exchanges: &[Exchange]) -> Vec<SentBody> {
    let sent = |exchange: &Exchange| SentBody {
        kind: exchange.kind,
        body: String::from_utf8(exchange.received.body.to_vec()).unwrap(),
    };
    exchanges.iter().map(sent).collect()
}

/// Each request keeps the rules of its API, and what was signed comes back unchanged and in its place.
fn is_clean(side: Side, exchanges: &[Exchange]) {
    let mut seen = EarlierReplies::default();
    for (at, exchange) in exchanges.iter().enumerate() {
        let received = &exchange.received;
        let mut request = CheckedRequest::to(side.api, side.wire(), &received.json);
        request.version = received.header("anthropic-version").unwrap_or_default();
        request.beta = received.header("anthropic-beta").unwrap_or_default();
        let wrong = check(&request, &seen);
        assert!(wrong.is_empty(), "{} {at}: {wrong:#?}", side.model);
        seen.response(&request, &exchange.items);
    }
}

fn check_loop(side: Side) -> Vec<SentBody> {
    let exchanges = play(side, "");
    check_short(side, &exchanges);
    let of = |kind| exchanges.iter().filter(|it| it.kind == kind).count();
    let counts = [
        RequestPurpose::Turn,
        RequestPurpose::Inquiry,
        RequestPurpose::Repair,
    ]
    .map(of);
    assert_eq!(counts, [60, 4, 2], "{}", side.model);
    is_clean(side, &exchanges);
    let row = row(&exchanges);
    assert_eq!(grown(&row), Ok(()), "{}", side.model);
    row
}

#[test]
fn anthropic_requests_grow_and_a_changed_byte_is_found() {
    let row = check_loop(SIDES[0]);
    // In the middle, where every kind of thing came before.
    let request = 40;
    let body = without_marks(&row[request].body);
    let shape = Shape::of(&body);
    let named = |name: &str| {
        let member = shape.members.iter().find(|(known, _)| known == name);
        member.unwrap().1.clone()
    };
    let history = shape.history();
    let holds = |text: &str| {
        let found = |element: &Range<usize>| body[element.clone()].find(text);
        let at = history.iter().position(|element| found(element).is_some());
        let at = at.unwrap();
        (
            at,
            history[at].start + found(&history[at]).unwrap() + text.len(),
        )
    };
    let (thinking, signature) = holds(r#""signature":""#);
    let (results, result) = holds(r#""tool_result","tool_use_id":""#);
    for (at, place) in [
        (named("model").start + 3, "model".to_owned()),
        (named("system").start + 40, "system/0".to_owned()),
        (named("tools").start + 12, "tools/0".to_owned()),
        (history[0].end - 10, "messages/0".to_owned()),
        (signature, format!("messages/{thinking}")),
        (result, format!("messages/{results}")),
    ] {
        let mut changed = row.clone();
        changed[request].body = body.clone();
        changed[request].body.replace_range(at..=at, "#");
        assert_eq!(grown(&changed), Err(PrefixBreak { request, place }));
    }
    // Of what no later request may count on, nothing is said.
    let mut changed = row.clone();
    changed[request].body = format!("{}],\"tail\":1}}", &body[..shape.end]);
    assert_eq!(grown(&changed), Ok(()));
}

#[test]
fn responses_requests_grow() {
    check_loop(SIDES[1]);
}

#[test]
fn chat_requests_grow() {
    check_loop(SIDES[2]);
}

#[test]
fn gemini_requests_grow() {
    check_loop(SIDES[3]);
}

#[test]
fn ollama_requests_grow() {
    check_loop(SIDES[4]);
}

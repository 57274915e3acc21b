//! Tests of the progress lines over time.

use serde_json::{Value, json};

use super::*;

/// A turn's events by millisecond, and the lines shown at other times.
struct Scene {
    begin: Instant,
    live: Live,
}

impl Scene {
    fn new() -> Self {
        let begin = Instant::now();
        let live = Live::new(begin);
        Self { begin, live }
    }

    fn at(&self, time: u64) -> Instant {
        self.begin + Duration::from_millis(time)
    }

    fn happens(&mut self, time: u64, update: Value) {
        let update = serde_json::from_value(update).unwrap();
        self.live.update(&update, self.at(time));
    }

    #[track_caller]
    fn shows(&self, time: u64, expected: &[&str]) {
        assert_eq!(self.live.lines(self.at(time)), expected, "at {time}");
    }
}

fn call(status: &str) -> Value {
    json!({"kind": "toolCall", "step": 1, "callId": "c", "name": "run_command",
        "title": "Run `make`", "arguments": {}, "status": status})
}

fn prints(text: &str) -> Value {
    json!({"kind": "toolOutput", "callId": "c", "text": text})
}

fn result() -> Value {
    json!({"kind": "toolResult", "callId": "c", "status": "ok", "summary": "Exit status 0"})
}

#[test]
fn waiting_is_shown_until_the_model_answers() {
    let mut scene = Scene::new();
    scene.shows(299, &[]);
    scene.shows(300, &["⠸ waiting for the model · 0.3 s"]);
    scene.shows(12_400, &["⠼ waiting for the model · 12.4 s"]);
    scene.shows(125_000, &["⠋ waiting for the model · 2 min 5 s"]);
    scene.happens(400, json!({"kind": "reasoning", "step": 1, "text": "Hm"}));
    scene.shows(5_000, &[]);
    assert_eq!(scene.live.next(scene.at(5_000)), None);
}

#[test]
fn how_full_the_context_is_stands_beside_the_wait_for_the_model() {
    let used = |tokens: u64, window: Option<u64>| {
        json!({"kind": "usage", "inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0,
            "contextTokens": tokens, "contextWindow": window})
    };
    let mut scene = Scene::new();
    let wait = "⠸ waiting for the model · 0.3 s";
    for (usage, expected) in [
        (used(9_140, None), ""),
        (used(9_140, Some(200_000)), " · 5 % of the context"),
        (used(150_000, Some(200_000)), " · 75 % of the context"),
    ] {
        scene.happens(0, usage);
        scene.shows(300, &[&format!("{wait}{expected}")]);
    }
    // Right after a summary nobody knows it.
    scene.happens(0, used(0, Some(200_000)));
    scene.shows(300, &[wait]);
}

#[test]
fn running_calls_show_their_last_output_lines() {
    let mut scene = Scene::new();
    scene.happens(100, call("waiting"));
    scene.shows(1_000, &[]);
    scene.happens(1_000, call("running"));
    scene.happens(1_000, prints("one\n\x1b[31mtwo\n\n"));
    scene.shows(1_299, &[]);
    let head = "⠸ run_command: Run `make` · 0.3 s";
    scene.shows(1_300, &[head, "  │ one", "  │ two"]);
    scene.happens(1_300, prints("three\nfour\nfi"));
    scene.happens(1_300, prints("ve"));
    scene.shows(
        1_300,
        &[head, "  │ two", "  │ three", "  │ four", "  │ five"],
    );
    let printed = ["  │ two", "  │ three", "  │ four", "  │ five"];
    assert_eq!(scene.live.printed("c", ON_TERMINAL), printed);
    scene.happens(2_000, result());
    assert_eq!(scene.live.printed("c", ON_TERMINAL), [""; 0]);
    scene.shows(2_299, &[]);
    scene.shows(2_300, &["⠸ waiting for the model · 0.3 s"]);
}

#[test]
fn progress_is_hidden_during_prompts() {
    let mut scene = Scene::new();
    scene.happens(0, call("running"));
    let opened = json!({"kind": "question", "promptId": "p", "callId": "c", "promptKind": "question",
        "label": "l", "text": "t"});
    let closed = json!({"kind": "question", "promptId": "p", "outcome": "answered", "by": "user", "answer": true, "text": "yes (you)"});
    scene.happens(500, opened);
    scene.shows(9_000, &[]);
    assert_eq!(scene.live.next(scene.at(9_000)), None);
    scene.happens(9_000, closed);
    scene.shows(9_000, &["⠋ run_command: Run `make` · 9.0 s"]);
}

#[test]
fn next_redraw_is_scheduled() {
    let mut scene = Scene::new();
    let next = |scene: &Scene, time| scene.live.next(scene.at(time)).map(|at| at - scene.begin);
    assert_eq!(next(&scene, 10), Some(SHOW_AFTER));
    assert_eq!(next(&scene, 300), Some(Duration::from_millis(400)));
    scene.happens(400, call("running"));
    assert_eq!(next(&scene, 500), Some(Duration::from_millis(700)));
}

//! Conversations whose cache has expired: outputs of old calls are not sent any more, and every later request has the
//! same bytes in their place.

use std::{fs, sync::Mutex};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedTokens},
};
use fastrand::Rng;
use rustix::process::Signal;

use super::{
    column,
    heard::heard,
    live::{LONG, Live},
    shown::shown,
    stage::{AUTO, ModelStage, PlayedStep, row, says, stalls},
};
use crate::kill::strace::{At, kill_command};

/// Tokens of every conversation here.
const TOKENS: u64 = 5_000;
/// What stands in place of the first output.
const LEFT_OUT: &str =
    "bytes that `read_file` gave in turn 1. Make the call again if you need them.";
/// A line of that output.
const LINE: &str = "line 300 of it";
/// What the user is told of it.
const TOLD: &str = "notice The provider's cache of this conversation has expired, so one old output of a tool is not sent \
                    any more: about";

/// A stage on which every model has a price, and nothing is cached between two turns, unless that is said otherwise.
fn stage(api: ServedApi, script: Vec<PlayedStep>) -> ModelStage {
    let stage = ModelStage::new(api, script);
    keeps(&stage, 0);
    let lines: String = (1..=400)
        .map(|line| format!("line {line} of it\n"))
        .collect();
    stage.world.write("a.txt", &lines);
    stage.world.write("b.txt", "B\n");
    stage
}

/// Every provider keeps what it cached for so many seconds from now on.
fn keeps(stage: &ModelStage, seconds: u64) {
    let mut config = column::configuration(&stage.server.address().to_string());
    for api in ServedApi::ALL {
        let (provider, model) = column::model(api).split_once('/').unwrap();
        config += &format!(
            "[providers.{provider}.models.\"{model}\"]\ncontext_window = 100000\ncache_seconds = {seconds}\n\
             prices = {{ input = 100, output = 100 }}\n"
        );
    }
    stage.world.user_config(&config);
}

fn holding(reply: ModelReply) -> PlayedStep {
    says(reply.tokens(PlayedTokens {
        input: TOKENS - 50,
        output: 50,
        ..PlayedTokens::default()
    }))
}

fn reads(number: usize, file: &str) -> PlayedStep {
    let id = format!("call_{number}");
    holding(ModelReply::new(&id).reasoning("I look.").call(
        &id,
        "read_file",
        format!(r#"{{"path":"{file}"}}"#),
    ))
}

fn answer(text: &str) -> PlayedStep {
    holding(ModelReply::new(text).reasoning("I know.").text(text))
}

/// A stage after a turn that read a large file, and then three small ones.
fn read_by(api: ServedApi) -> ModelStage {
    let script = vec![
        reads(1, "a.txt"),
        reads(2, "b.txt"),
        reads(3, "b.txt"),
        reads(4, "b.txt"),
        answer("Read."),
    ];
    let stage = stage(api, script);
    let told = shown(&stage.run("Look.", &AUTO).exits(0));
    assert!(!told.contains("expired"), "{api:?}: {told}");
    stage
}

fn count(stage: &ModelStage, what: &str) -> usize {
    let folder = stage.world.conversations().remove(0);
    let log = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    log.matches(what).count()
}

#[test]
fn an_old_output_is_left_out_once_and_later_requests_only_add_to_that() {
    row(|api| {
        let stage = read_by(api);
        stage.goes_on(vec![answer("Second.")]);
        let told = shown(&stage.run("And now?", &["--continue"]).exits(0));
        assert!(told.starts_with(TOLD), "{api:?}: {told}");
        assert_eq!(told.matches(TOLD).count(), 1, "{api:?}: {told}");
        let second = stage.heard();
        assert!(second.contains(LEFT_OUT), "{api:?}: {second}");
        assert!(!second.contains(LINE), "{api:?}: {second}");
        assert!(!second.contains("I look."), "{api:?}: {second}");

        // The file is given whole again: its text does not stand in the conversation any more.
        stage.goes_on(vec![reads(5, "a.txt"), answer("Third.")]);
        let told = shown(&stage.run("And then?", &["--continue"]).exits(0));
        assert!(!told.contains("expired"), "{api:?}: {told}");
        let third = stage.heard();
        assert!(third.starts_with(second.trim_end()), "{api:?}: {third}");
        assert_eq!(third.matches(LINE).count(), 1, "{api:?}: {third}");
        stage.is_clean();
        assert_eq!(count(&stage, "outputs_cleared"), 1, "{api:?}");
    });
}

#[test]
fn nothing_is_left_out_while_the_cache_may_know_it_or_where_summaries_are_off() {
    row(|api| {
        let stage = read_by(api);
        keeps(&stage, 3_600);
        stage.goes_on(vec![answer("Second."), answer("Third.")]);
        stage.run("And now?", &["--continue"]).exits(0);
        assert!(stage.heard().contains(LINE), "{api:?}");
        keeps(&stage, 0);
        let off = ["--continue", "--set", "conversation.compaction=off"];
        stage.run("And then?", &off).exits(0);
        assert!(stage.heard().contains(LINE), "{api:?}");
        stage.is_clean();
        assert_eq!(count(&stage, "outputs_cleared"), 0, "{api:?}");
    });
}

#[test]
fn forks_and_other_models_have_the_same_and_people_see_all_of_it() {
    row(|api| {
        let stage = read_by(api);
        stage.goes_on(vec![answer("Second.")]);
        stage.run("And now?", &["--continue"]).exits(0);
        let second = stage.heard();
        let id = stage.world.conversation();
        for show in ["show", "export"] {
            let done = Live::start(stage.command(&["conversation", show, &id])).end();
            let shown = done.exits(0).stdout;
            assert!(!shown.contains("Left out to save"), "{api:?}: {shown}");
            assert!(shown.contains("line 1 of it"), "{api:?}: {shown}");
        }
        let fork = Live::start(stage.command(&["conversation", "fork", &id])).end();
        let fork = fork.exits(0).stdout.trim().to_owned();
        stage.goes_on(vec![answer("In the fork.")]);
        stage.run("And here?", &["-c", &fork]).exits(0);
        let heard = stage.heard();
        assert!(heard.starts_with(second.trim_end()), "{api:?}: {heard}");
        for other in ServedApi::ALL.into_iter().filter(|other| *other != api) {
            stage.goes_on(vec![answer("Elsewhere.")]);
            stage
                .run("And there?", &["-c", &id, "-m", column::model(other)])
                .exits(0);
            let heard = stage.heard();
            assert!(heard.contains(LEFT_OUT), "{api:?}, {other:?}: {heard}");
            assert!(!heard.contains(LINE), "{api:?}, {other:?}: {heard}");
        }
        stage.is_clean();
    });
}

#[test]
fn a_turn_that_was_killed_goes_on_with_the_bytes_that_it_sent() {
    row(|api| {
        let stage = read_by(api);
        stage.goes_on(vec![stalls()]);
        let run = stage.start("And now?", &["--continue"]);
        assert!(stage.server.wait_for(6, LONG));
        run.signal(Signal::KILL);
        run.end().exits(-1);
        stage.goes_on(vec![answer("Second.")]);
        let args = ["run", "--resume", "--output", "jsonl", "--trust"];
        Live::start(stage.command(&args)).end().exits(0);
        stage.is_clean();
        let requests = stage.requests();
        assert_eq!(requests[5].body, requests[6].body, "{api:?}");
        assert!(heard(&requests[6]).contains(LEFT_OUT), "{api:?}");
        assert_eq!(count(&stage, "outputs_cleared"), 1, "{api:?}");
    });
}

/// Kills with each API, unless `ASIDE_KILLS` says how many.
const KILLS: u64 = 4;

#[test]
fn a_kill_at_any_moment_leaves_it_decided_or_not_and_nothing_in_between() {
    let kills = std::env::var("ASIDE_KILLS");
    let kills = kills.map_or(KILLS, |count| count.parse().expect("a number"));
    let decided = Mutex::new([0, 0]);
    row(|api| {
        for kill in 0..kills {
            let mut random = Rng::with_seed(kill * 8 + api as u64);
            let stage = read_by(api);
            let log = stage.world.conversations().remove(0).join("events.jsonl");
            stage.goes_on(vec![answer("Second.")]);
            let args = ["run", "--output", "jsonl", "--trust", "--continue", "Now?"];
            let at = match random.bool() {
                true => At::Line(random.usize(1..8)),
                false => At::Change(random.usize(1..40)),
            };
            kill_command(&stage.world, &log, &stage.command(&args), at);
            let was_decided = count(&stage, "outputs_cleared");
            decided.lock().unwrap()[was_decided] += 1;
            stage.forgets();
            stage.goes_on(vec![answer("Third."), answer("Fourth.")]);
            for message in ["And now?", "And then?"] {
                stage.run(message, &["--continue"]).exits(0);
            }
            stage.forgets();
            stage.is_clean();
            assert_eq!(count(&stage, "outputs_cleared"), 1, "{api:?}, {at:?}");
            // From the first request without it on, none has it, and each goes on from the one before.
            let said: Vec<String> = stage.requests()[5..].iter().map(|it| heard(it)).collect();
            for pair in said.windows(2) {
                assert!(!pair[1].contains(LINE), "{api:?}, {at:?}: {}", pair[1]);
            }
            let [.., third, fourth] = &said[..] else {
                panic!("{said:?}");
            };
            assert!(third.contains(LEFT_OUT), "{api:?}, {at:?}: {third}");
            assert!(
                fourth.starts_with(third.trim_end()),
                "{api:?}, {at:?}: {fourth}"
            );
        }
    });
    let decided = decided.into_inner().unwrap();
    assert!(decided.iter().all(|count| *count > 0), "{decided:?}");
}

#[test]
fn a_model_without_a_price_is_sent_everything() {
    row(|api| {
        if !matches!(api, ServedApi::OpenaiChat | ServedApi::Ollama) {
            return;
        }
        let stage = read_by(api);
        let config = column::configuration(&stage.server.address().to_string());
        stage.world.user_config(&config);
        stage.goes_on(vec![answer("Second.")]);
        stage.run("And now?", &["--continue"]).exits(0);
        stage.is_clean();
        assert!(stage.heard().contains(LINE), "{api:?}");
    });
}

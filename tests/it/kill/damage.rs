//! A log that was cut off or damaged, and one that somebody else writes.

use std::fs;

use rustix::process::Signal;

use super::{
    Sample,
    story::{STORY, StoryGround, side_by_side},
    teller::StoryTeller,
    whole,
};
use crate::world::until;

/// The log of the whole story, in lines.
fn told() -> Vec<Vec<u8>> {
    let mut teller = StoryTeller::new(false);
    for turn in &STORY {
        teller.begin();
        while !teller.go(turn, None) {}
    }
    let log = fs::read(teller.ground.log()).unwrap();
    log.split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn is(line: &[u8], what: &str) -> bool {
    String::from_utf8_lossy(line).contains(what)
}

fn ends_a_turn(line: &[u8]) -> bool {
    is(line, r#""type":"turn_end""#) && !is(line, r#""outcome":"interrupted""#)
}

#[test]
fn a_conversation_whose_log_is_cut_inside_any_line_goes_on() {
    let lines = told();
    let sample = Sample::one_in(5);
    side_by_side(sample.count(lines.len()), |place| {
        let place = sample.place(place);
        let (kept, torn) = (&lines[..place], &lines[place]);
        let cut = fastrand::usize(1..torn.len());
        let over = kept.iter().filter(|line| ends_a_turn(line)).count();
        let mut teller = StoryTeller::new(true);
        teller.before = kept
            .iter()
            .rposition(|line| ends_a_turn(line))
            .map_or(0, |at| at + 1);
        fs::write(teller.ground.log(), [&kept.concat(), &torn[..cut]].concat()).unwrap();

        let turn = &STORY[over];
        let mut is_over = teller.go(turn, None);
        let notice = format!(
            "The last line of the conversation's log was cut off; its {cut} bytes were set aside in "
        );
        assert!(teller.said.contains(&notice), "{}", teller.said);
        while !is_over {
            is_over = teller.go(turn, None);
        }
        let name = format!("events.torn-{}", kept.concat().len());
        assert_eq!(
            fs::read(teller.ground.conversation.folder().join(name)).unwrap(),
            torn[..cut]
        );
        assert!(
            fs::read(teller.ground.log())
                .unwrap()
                .starts_with(&kept.concat()),
            "what was acknowledged stays"
        );
        whole::histories(&teller.ground, over + 1);
    });
}

/// The log of the story with a flipped bit in a line, in a ground of its own.
fn damaged(lines: &[Vec<u8>], place: usize) -> StoryGround {
    let ground = StoryGround::new();
    let mut lines = lines.to_vec();
    let within = lines[place].len() - 1;
    lines[place][fastrand::usize(..within)] ^= 1 << fastrand::u8(..3);
    fs::write(ground.log(), lines.concat()).unwrap();
    ground
}

#[test]
fn a_flipped_bit_anywhere_is_told_to_user_and_model_and_the_conversation_goes_on() {
    let lines = told();
    let sample = Sample::one_in(8);
    side_by_side(sample.count(lines.len()), |place| {
        let place = sample.place(place);
        let ground = damaged(&lines, place);
        let fault = format!("line {} of the conversation's log ", place + 1);
        for round in 1..=2 {
            let args = ground.args(&STORY[1], false);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let done = ground
                .world
                .aside(&args)
                .exits(0)
                .writes("Counted.\n")
                .says(&fault);
            assert!(done.stderr.contains("; it was left out."), "{done:#?}");
            // The model is told once, and then sees it in its history.
            let log = String::from_utf8_lossy(&fs::read(ground.log()).unwrap()).into_owned();
            let told = log.matches("Part of this conversation was lost: ").count();
            assert!(told >= 1, "{log}");
            assert_eq!(
                log.matches(&format!("was lost: {fault}")).count(),
                1,
                "round {round}: {log}"
            );
        }
    });
}

#[test]
fn an_interrupted_turn_with_a_flipped_bit_goes_on() {
    let lines = told();
    let asked = lines
        .iter()
        .position(|line| is(line, r#""text":"Ask me""#))
        .unwrap();
    let parked = asked
        + lines[asked..]
            .iter()
            .position(|line| is(line, r#""type":"turn_end""#))
            .unwrap();
    let lines = &lines[..=parked];
    let sample = Sample::one_in(3);
    side_by_side(sample.count(parked - asked), |place| {
        let place = asked + sample.place(place);
        let ground = damaged(lines, place);
        let args = ground.args(&STORY[2], true);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let done = ground
            .world
            .aside(&args)
            .says(&format!("line {} of the conversation's log ", place + 1));
        assert!([0, 4].contains(&done.code), "{done:#?}");
        // It can always be left for a new message.
        let args = ground.args(&STORY[1], false);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        ground.world.aside(&args).exits(0).writes("Counted.\n");
    });
}

#[test]
fn a_second_process_is_told_who_has_the_conversation_and_may_read_it() {
    const STALLS: &str = "always 'Begin.'\n& fault = { stall = true }";
    let ground = StoryGround::new();
    let model = ground.world.script(STALLS);
    let id = ground.conversation.id();
    let mut first = ground.world.start(&["run", "-c", id, "-m", &model, "Wait"]);
    let sent = || is(&fs::read(ground.log()).unwrap(), "request_sent");
    until("a request", sent);

    let holder = "the conversation is open in process ";
    ground
        .world
        .aside(&["run", "-c", id, "-m", &model, "Me too"])
        .exits(1)
        .says(holder);
    ground
        .world
        .aside(&["run", "-c", id, "-m", &model, "--resume"])
        .exits(1)
        .says(holder);
    ground
        .world
        .aside(&["conversation", "rename", id, "Mine"])
        .exits(1)
        .says(holder);
    ground
        .world
        .aside(&["conversation", "delete", id])
        .exits(1)
        .says(holder);
    let shown = ground.world.aside(&["conversation", "show", id]).exits(0);
    assert!(shown.stdout.contains("Wait"), "{shown:#?}");
    ground.world.aside(&["conversation", "fork", id]).exits(0);

    first.signal(Signal::KILL);
    assert_eq!(first.end().code, -1);
    let args = ground.args(&STORY[1], false);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ground.world.aside(&args).exits(0).writes("Counted.\n");
}

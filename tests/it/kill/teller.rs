//! One conversation, told turn by turn however often it is killed.

use std::{
    collections::{BTreeMap, HashSet},
    fs, thread,
    time::Duration,
};

use aside_session::{conversation::ConversationActivity, replay};
use aside_turn::{
    Event,
    record::{Outcome, PromptSubject},
};
use rustix::process::Signal;

use super::{
    between::{Pair, enough},
    inside::recorded,
    story::{StoryGround, StoryTurn},
    strace::{At, kill},
    whole::processes,
};
use crate::world::{ProgramResult, until};

/// A conversation that is being told.
pub(super) struct StoryTeller {
    pub(super) ground: StoryGround,
    /// Events before the current turn.
    pub(super) before: usize,
    /// How far the current turn came, as a place in its reference.
    place: usize,
    /// Where it was killed already: a turn's beginning, and a place in it.
    done: HashSet<(usize, usize)>,
    /// The last of these.
    aimed: Option<(usize, usize)>,
    /// What the last run said on standard error.
    pub(super) said: String,
    /// Between which events the last run was killed.
    pub(super) killed: Option<Pair>,
    /// Answers prompts that were shown and not yet parked, too.
    hasty: bool,
}

impl StoryTeller {
    pub(super) fn new(hasty: bool) -> Self {
        Self {
            ground: StoryGround::new(),
            before: 0,
            place: 0,
            done: HashSet::new(),
            aimed: None,
            said: String::new(),
            killed: None,
            hasty,
        }
    }

    pub(super) fn begin(&mut self) {
        self.before = self.kinds().len();
        self.place = 0;
    }

    pub(super) fn kinds(&self) -> Vec<String> {
        let text = fs::read_to_string(self.ground.log()).unwrap();
        let kind = |line: &str| {
            let (_, after) = line.split_once(r#""type":""#).unwrap();
            after.split_once('"').unwrap().0.to_owned()
        };
        text.lines().map(kind).collect()
    }

    /// Where the next kill is wanted, if all goes as it went without kills.
    pub(super) fn next_place(
        &mut self,
        expected: &[String],
        kills: &BTreeMap<Pair, usize>,
    ) -> Option<At> {
        let (now, last) = (self.kinds(), self.before.checked_sub(1));
        let last = last.map(|last| now[last].clone());
        self.place = 0;
        for kind in &now[self.before..] {
            let ahead = expected[self.place..]
                .iter()
                .take(6)
                .position(|other| other == kind);
            self.place += ahead.map_or(0, |ahead| ahead + 1);
        }
        let mut lines = 0;
        for place in self.place..expected.len() {
            let next = &expected[place];
            let before = if place == 0 {
                last.as_ref()
            } else {
                Some(&expected[place - 1])
            };
            let pair = (before.cloned().unwrap_or_default(), next.clone());
            let wanted = kills.get(&pair).is_none_or(|n| *n < enough());
            lines += usize::from(next != "edit");
            if wanted && self.done.insert((self.before, place)) {
                self.aimed = Some((self.before, place));
                return Some(match (pair.0.as_str(), next.as_str()) {
                    (_, "edit") => At::Rename(1),
                    // The file is changed in between: before that, or after.
                    ("edit", _) if kills.get(&pair).is_some_and(|n| n % 2 == 1) => At::Place(1),
                    _ => At::Line(lines),
                });
            }
        }
        None
    }

    /// Begins the turn or goes on with it, and says whether it is over.
    pub(super) fn go(&mut self, turn: &StoryTurn, at: Option<At>) -> bool {
        let args = self.args(turn);
        let (done, next) = match at {
            None => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                (self.ground.world.aside(&args), None)
            }
            Some(at) => {
                let outcome = kill(&self.ground, &args, at);
                (outcome.done, outcome.next)
            }
        };
        let last = self.kinds().pop().unwrap_or_default();
        if let (Some(at), None) = (self.aimed.take(), &next) {
            // It stopped for a person before it came there.
            self.done.remove(&at);
        }
        self.killed = next.map(|next| (last, next));
        self.ended(&args, done) == 0
    }

    /// The same, killed after this time where it lasts so long. All that it told until then is on record. Returns its
    /// exit code.
    pub(super) fn go_for(&mut self, turn: &StoryTurn, time: Duration) -> i32 {
        let mut args = self.args(turn);
        args.extend(["--output".to_owned(), "jsonl".to_owned()]);
        let before = fs::read_to_string(self.ground.log()).unwrap();
        let told: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut program = self.ground.world.start(&told);
        thread::park_timeout(time);
        program.signal(Signal::KILL);
        let done = program.end();
        let now = fs::read_to_string(self.ground.log()).unwrap();
        let added = now.strip_prefix(&before);
        let added = added.expect("what was on record stays");
        let heard: Vec<String> = done.stdout.lines().map(str::to_owned).collect();
        recorded(&heard, added);
        until("no process", || processes(&self.ground).is_empty());
        self.ended(&args, done)
    }

    /// How many turns came to their end.
    pub(super) fn ended_turns(&self) -> usize {
        let lines = self.ground.conversation.read_all().unwrap();
        let turns = replay::turns(&lines.records);
        let ended = turns
            .iter()
            .filter(|turn| turn.standing.outcome == Some(Outcome::Completed));
        ended.count()
    }

    /// Checks how a run ended, and returns its exit code.
    fn ended(&mut self, args: &[String], done: ProgramResult) -> i32 {
        let last = self.kinds().pop().unwrap_or_default();
        assert!(
            [0, 4, -1].contains(&done.code),
            "{args:?} {done:#?} {:?}",
            self.kinds()
        );
        self.listed(&last);
        self.said = done.stderr;
        done.code
    }

    /// The arguments with which it goes on; each open prompt is answered if it was parked.
    fn args(&self, turn: &StoryTurn) -> Vec<String> {
        let records = self.ground.conversation.read_last_turn().unwrap().records;
        let last = replay::turns(&records)
            .pop()
            .filter(replay::Turn::is_interrupted);
        let mut args = self.ground.args(turn, last.is_some());
        let Some(last) = last else { return args };
        if last.standing.outcome.is_some() || self.hasty {
            for open in &last.standing.open {
                let opened = last.events.iter().find_map(|event| match event {
                    Event::PromptOpened {
                        prompt, subject, ..
                    } if *prompt == open.prompt => Some(subject),
                    _ => None,
                });
                let answer = match opened.unwrap() {
                    PromptSubject::Question { .. } => "blue",
                    PromptSubject::RunTool { .. } => "once",
                    PromptSubject::DeliverResult => "true",
                };
                args.extend(["--answer".to_owned(), format!("{}={answer}", open.prompt.0)]);
            }
        }
        args
    }

    /// What the list says of it.
    fn listed(&self, last: &str) {
        let listed = self.ground.store.list().unwrap();
        assert_eq!(listed.len(), 1);
        let begun = self.kinds()[self.before..]
            .iter()
            .any(|kind| kind == "user_message");
        let ended = last == "turn_end" && listed[0].status == ConversationActivity::Idle;
        let expected = if begun && !ended {
            ConversationActivity::Interrupted
        } else {
            ConversationActivity::Idle
        };
        assert_eq!(listed[0].status, expected, "{:?}", self.kinds());
    }
}

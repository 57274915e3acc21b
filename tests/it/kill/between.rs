//! The program is killed between each pair of events, again and again, and the conversation goes on.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use aside::{
    session::{conversation::Status, replay},
    turn::{Event, event::About},
};
use serde_json::Value;

use super::{
    story::{Ground, STORY, Turn},
    strace::{At, kill},
    whole,
};

/// Kills between each pair of kinds, at the least.
const ENOUGH: usize = 10;

/// Conversations at the most, until there are enough.
const MOST: usize = 60;

type Pair = (String, String);

/// The kinds of events that each turn of the story has where nobody kills it.
type Reference = Vec<Vec<String>>;

#[derive(Default)]
struct Kills {
    pairs: BTreeMap<Pair, usize>,
    all: usize,
}

#[test]
fn killed_between_any_two_events_a_conversation_goes_on() {
    let reference = told_once();
    // What runs side by side may come in another order each time; what always comes counts.
    let mut wanted = pairs(&reference);
    for _ in 0..2 {
        let again = pairs(&told_once());
        wanted.retain(|pair| again.contains(pair));
    }
    let kills = Mutex::new(Kills::default());
    let next = AtomicUsize::new(0);
    let enough = |kills: &Kills| wanted.iter().all(|pair| kills.pairs.get(pair).is_some_and(|n| *n >= ENOUGH));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().unwrap().get().min(4) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= MOST || enough(&kills.lock().unwrap()) {
                        break;
                    }
                    tell(&reference, &kills, number % 4 == 3);
                }
            });
        }
    });
    let kills = kills.into_inner().unwrap();
    let told = next.into_inner().min(MOST);
    println!("{} kills in {told} conversations", kills.all);
    for (pair, count) in &kills.pairs {
        let mark = if wanted.contains(pair) { "" } else { "  (only after a kill)" };
        println!("{count:5}  {} → {}{mark}", pair.0, pair.1);
    }
    let lacking: Vec<_> = wanted.iter().filter(|pair| kills.pairs.get(*pair).is_none_or(|n| *n < ENOUGH)).collect();
    assert!(lacking.is_empty(), "not killed {ENOUGH} times between {lacking:?}");
}

/// The story without a kill.
fn told_once() -> Reference {
    let mut teller = Teller::new(false);
    let mut told = Vec::new();
    for turn in &STORY {
        teller.begin();
        while !teller.go(turn, None) {}
        told.push(teller.kinds()[teller.before..].to_vec());
    }
    whole::check(&teller.ground, STORY.len());
    told
}

fn pairs(reference: &Reference) -> HashSet<Pair> {
    let all = reference.concat();
    all.windows(2).map(|two| (two[0].clone(), two[1].clone())).collect()
}

/// Tells the story, and kills it wherever that was not done often enough.
fn tell(reference: &Reference, kills: &Mutex<Kills>, hasty: bool) {
    let mut teller = Teller::new(hasty);
    for (turn, expected) in STORY.iter().zip(reference) {
        teller.begin();
        for tries in 0.. {
            assert!(tries < 200, "it does not get on: {:?}", teller.kinds());
            let at = teller.next_place(expected, &kills.lock().unwrap().pairs);
            if teller.go(turn, at) {
                break;
            }
            if let Some(pair) = teller.killed.take() {
                let mut kills = kills.lock().unwrap();
                kills.all += 1;
                *kills.pairs.entry(pair).or_default() += 1;
            }
        }
    }
    whole::check(&teller.ground, STORY.len());
}

/// A conversation that is being told.
struct Teller {
    ground: Ground,
    /// Events before the current turn.
    before: usize,
    /// How far the current turn came, as a place in its reference.
    place: usize,
    /// Where it was killed already: a turn's beginning, and a place in it.
    done: HashSet<(usize, usize)>,
    /// The last of these.
    aimed: Option<(usize, usize)>,
    /// Between which events the last run was killed.
    killed: Option<Pair>,
    /// Answers prompts that were shown and not yet parked, too.
    hasty: bool,
}

impl Teller {
    fn new(hasty: bool) -> Self {
        Self { ground: Ground::new(), before: 0, place: 0, done: HashSet::new(), aimed: None, killed: None, hasty }
    }

    fn begin(&mut self) {
        self.before = self.kinds().len();
        self.place = 0;
    }

    fn kinds(&self) -> Vec<String> {
        let text = fs::read_to_string(self.ground.log()).unwrap();
        let kind = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["type"].as_str().unwrap().to_owned()
        };
        text.lines().map(kind).collect()
    }

    /// Where the next kill is wanted, if all goes as it went without kills.
    fn next_place(&mut self, expected: &[String], kills: &BTreeMap<Pair, usize>) -> Option<At> {
        let (now, last) = (self.kinds(), self.before.checked_sub(1));
        let last = last.map(|last| now[last].clone());
        self.place = 0;
        for kind in &now[self.before..] {
            let ahead = expected[self.place..].iter().take(6).position(|other| other == kind);
            self.place += ahead.map_or(0, |ahead| ahead + 1);
        }
        let mut lines = 0;
        for place in self.place..expected.len() {
            let next = &expected[place];
            let before = if place == 0 { last.as_ref() } else { Some(&expected[place - 1]) };
            let pair = (before.cloned().unwrap_or_default(), next.clone());
            let wanted = kills.get(&pair).is_none_or(|n| *n < ENOUGH);
            lines += usize::from(next != "edit");
            if wanted && self.done.insert((self.before, place)) {
                self.aimed = Some((self.before, place));
                return Some(match (pair.0.as_str(), next.as_str()) {
                    (_, "edit") => At::Rename(1),
                    // The file is changed in between: before that, or after.
                    ("edit", _) if kills.get(&pair).is_some_and(|n| n % 2 == 1) => At::Rename(2),
                    _ => At::Line(lines),
                });
            }
        }
        None
    }

    /// Begins the turn or goes on with it, and says whether it is over.
    fn go(&mut self, turn: &Turn, at: Option<At>) -> bool {
        let args = self.args(turn);
        let (code, next, said) = match at {
            None => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                let done = self.ground.world.aside(&args);
                (done.code, None, format!("{done:#?}"))
            }
            Some(at) => {
                let outcome = kill(&self.ground, &args, at);
                (outcome.done.code, outcome.next, format!("{:#?}", outcome.done))
            }
        };
        let last = self.kinds().pop().unwrap_or_default();
        if let (Some(at), None) = (self.aimed.take(), &next) {
            // It stopped for a person before it came there.
            self.done.remove(&at);
        }
        self.killed = next.map(|next| (last.clone(), next));
        assert!([0, 4, -1].contains(&code), "{args:?} {said} {:?}", self.kinds());
        self.listed(&last);
        code == 0
    }

    /// The arguments with which it goes on; each open prompt is answered if it was parked.
    fn args(&self, turn: &Turn) -> Vec<String> {
        let records = self.ground.conversation.read_all().unwrap().records;
        let last = replay::turns(&records).pop().filter(replay::Turn::is_interrupted);
        let mut args = self.ground.args(turn, last.is_some());
        let Some(last) = last else { return args };
        if last.standing.outcome.is_some() || self.hasty {
            for open in &last.standing.open {
                let opened = last.events.iter().find_map(|event| match event {
                    Event::PromptOpened { prompt, about, .. } if *prompt == open.prompt => Some(about),
                    _ => None,
                });
                let answer = match opened.unwrap() {
                    About::Question { .. } => "blue",
                    About::RunTool { .. } => "once",
                    About::DeliverResult => "true",
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
        let begun = self.kinds()[self.before..].iter().any(|kind| kind == "user_message");
        let ended = last == "turn_end" && listed[0].status == Status::Idle;
        let expected = if begun && !ended { Status::Interrupted } else { Status::Idle };
        assert_eq!(listed[0].status, expected, "{:?}", self.kinds());
    }
}

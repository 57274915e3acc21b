//! A world around one conversation: it performs effects by queueing what comes of them, and lets it happen in any
//! order, with people, clients, the disk and the process itself in between.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use aside_turn::{
    Effect, Event, Input, Setup, Turn,
    effect::{CallWork, Prompt, Request, RequestKind},
    input::{PromptAnswer, RequestId, Time, ToolOutcome},
    model_text::ModelText,
    question::AnswerType,
    record::{CallKey, PromptId},
    rules::Rules,
};
use serde_json::json;

use super::{
    checker::Checker,
    model::{self, Coming},
    person, rules,
    tape::Tape,
    text,
    tools::{self, Nature, Run},
};

/// Steps after which a sequence counts as one that never ends.
const STEPS: usize = 4_000;

/// What is on its way.
#[derive(Debug)]
pub(crate) enum Pending {
    Prepare(CallWork),
    Stream(RequestId, VecDeque<Coming>),
    /// A run ends.
    Finish(CallKey, ToolOutcome),
    /// A tool asks while it runs.
    Live(CallKey),
    /// A tool takes back what it asked, if nobody has answered yet.
    TakenBack(CallKey, u32),
    /// A person looks at a prompt.
    Person(Box<Prompt>),
    /// An answer that comes too late, or twice.
    Late(PromptId, AnswerType),
    Check,
}

/// How rough a sequence is.
#[derive(Debug, Default)]
struct Temper {
    crashes: bool,
    full_disk: bool,
    cancels: bool,
    steers: bool,
    clients: bool,
    strays: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) tape: Tape,
    pub(crate) checker: Checker,
    /// The conversation as text, where somebody wants to read it.
    pub(crate) text: Option<Vec<String>>,
    pub(crate) rules: Rules,
    temper: Temper,
    pub(crate) now: Time,
    turn: Option<Turn>,
    /// What is on record of the turn.
    pub(crate) log: Vec<Event>,
    pub(crate) turns: u32,
    pub(crate) resumes: u32,
    pool: Vec<Pending>,
    natures: BTreeMap<CallKey, Nature>,
    works: BTreeMap<CallKey, CallWork>,
    kept: BTreeSet<String>,
    live: u32,
}

impl World {
    pub(crate) fn new(mut tape: Tape, read: bool) -> Self {
        let temper = Temper {
            crashes: tape.one_in(3),
            full_disk: tape.one_in(12),
            cancels: tape.one_in(4),
            steers: tape.one_in(4),
            clients: tape.one_in(3),
            strays: tape.one_in(4),
        };
        Self {
            rules: rules::rules(&mut tape),
            tape,
            checker: Checker::default(),
            text: read.then(Vec::new),
            temper,
            now: Duration::from_secs(1),
            turn: None,
            log: Vec::new(),
            turns: 0,
            resumes: 0,
            pool: Vec::new(),
            natures: BTreeMap::new(),
            works: BTreeMap::new(),
            kept: BTreeSet::new(),
            live: 0,
        }
    }

    /// Plays the whole sequence.
    pub(crate) fn play(&mut self) {
        self.start();
        for _ in 0..STEPS {
            if self.checker.failure.is_some() {
                return;
            }
            if self.turn.is_some() {
                self.step();
            } else if !self.go_on() {
                return;
            }
        }
        self.checker.fail("it never ends".into());
    }

    pub(crate) fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(text) = &mut self.text {
            text.extend(Some(line()).filter(|line| !line.is_empty()));
        }
    }

    pub(crate) fn setup(&mut self) -> Setup {
        if self.tape.one_in(3) {
            self.checker.client = None;
        } else {
            self.checker.client = Some(rules::client(&mut self.tape));
        }
        self.checker.rules = self.rules.clone();
        Setup {
            id: format!("t{}", self.turns),
            rules: self.rules.clone(),
            client: self.checker.client.clone(),
            model_text: ModelText::default(),
            fullness: self.checker.transcript.fullness().clone(),
            clearing: None,
        }
    }

    pub(crate) fn start(&mut self) {
        self.turns += 1;
        self.log.clear();
        let setup = self.setup();
        self.checker.begin_turn();
        self.say(|| text::setup("start", &setup));
        let turn = Turn::start(setup, "Go.".into(), Vec::new(), self.now);
        self.live_on(turn);
    }

    /// A turn begins, or goes on.
    pub(crate) fn live_on(&mut self, turn: Turn) {
        self.pool.clear();
        self.natures.clear();
        self.works.clear();
        self.turn = Some(turn);
        self.pump();
    }

    fn step(&mut self) {
        self.now += Duration::from_millis([0, 1, 7, 30][self.tape.weighted(&[6, 2, 2, 1])]);
        let deadline = self.turn.as_ref().and_then(Turn::deadline);
        if self.pool.is_empty() {
            return match deadline {
                Some(at) => self.tick(at),
                None => self.checker.fail("it hangs: nothing is on its way".into()),
            };
        }
        let temper = &self.temper;
        let nobody = self.checker.client.is_none();
        let rare = |yes: bool, weight: usize| if yes { weight } else { 0 };
        let chosen = self.tape.weighted(&[
            100,
            rare(deadline.is_some(), 4),
            rare(temper.cancels, 2),
            rare(temper.steers, 5),
            rare(temper.clients, if nobody { 10 } else { 2 }),
            rare(temper.clients, 1),
            rare(temper.strays, 8),
        ]);
        match chosen {
            0 => self.deliver(),
            1 => self.tick(deadline.unwrap_or(self.now)),
            2 => self.happen(Input::Cancel),
            3 => self.happen(Input::Steer("Mind this.".into())),
            4 => {
                let new = rules::client(&mut self.tape);
                let client = self.checker.client.clone().unwrap_or(new);
                self.happen(Input::ClientCame(client));
            }
            5 => self.happen(Input::ClientLeft),
            _ => self.stray(),
        }
    }

    fn tick(&mut self, at: Time) {
        self.now = self.now.max(at);
        self.happen(Input::Tick);
        let deadline = self.turn.as_ref().and_then(Turn::deadline);
        if deadline.is_some_and(|deadline| deadline <= self.now) {
            self.checker.fail("a deadline does not pass".into());
        }
    }

    /// Something that nobody waits for.
    fn stray(&mut self) {
        let call = CallKey(u32::try_from(self.tape.pick(9)).unwrap_or(0));
        let answer = PromptAnswer::value(true);
        match self.tape.pick(4) {
            0 => self.happen(Input::Answer(PromptId("t9-9".into()), answer)),
            1 => {
                let prompts = self.checker.turn.prompts.len();
                let prompt = PromptId(format!(
                    "t{}-{}",
                    self.turns,
                    1 + self.tape.pick(prompts + 1)
                ));
                if !self.checker.life.on_screen.contains(&prompt) {
                    self.happen(Input::Answer(prompt, answer));
                }
            }
            2 if !self.works.contains_key(&call) => {
                let outcome = ToolOutcome::Stopped;
                self.happen(Input::Finished(call, outcome));
            }
            _ => self.happen(Input::Tick),
        }
    }

    /// One of the things that are on their way arrives.
    fn deliver(&mut self) {
        let at = self.tape.pick(self.pool.len());
        match self.pool.swap_remove(at) {
            Pending::Prepare(work) => {
                let kept = !self.kept.is_empty() && self.tape.one_in(2);
                let preparation = tools::prepare(&mut self.tape, &work, kept);
                self.happen(Input::Prepared(work.call, preparation));
            }
            Pending::Stream(id, pieces) => self.stream(id, pieces),
            Pending::Finish(key, outcome) => {
                self.works.remove(&key);
                self.happen(Input::Finished(key, outcome));
            }
            Pending::Live(key) => self.ask_live(key),
            Pending::TakenBack(key, number) => {
                self.happen(Input::LiveWithdrawn(key, number));
                self.live_answered(key);
            }
            Pending::Person(prompt) => {
                let answer = person::answer(&mut self.tape, &prompt);
                if self.tape.one_in(6) {
                    let late = Pending::Late(prompt.id.clone(), prompt.answer_type.clone());
                    self.pool.push(late);
                }
                self.person_answers(prompt.id, answer);
            }
            Pending::Late(prompt, answer_type) => {
                if !self.checker.life.on_screen.contains(&prompt) {
                    let answer = person::fitting(&mut self.tape, &answer_type);
                    self.happen(Input::Answer(prompt, answer));
                }
            }
            Pending::Check => {
                let checked = if self.tape.one_in(2) {
                    Err("it is no JSON".into())
                } else {
                    Ok(json!({}))
                };
                self.happen(Input::Checked(checked));
            }
        }
    }

    fn stream(&mut self, id: RequestId, mut pieces: VecDeque<Coming>) {
        let many = 1 + self.tape.weighted(&[1, 1, 1, 1]) * 3;
        for _ in 0..many {
            let Some(coming) = pieces.pop_front() else {
                return;
            };
            self.happen(match coming {
                Coming::FirstByte => Input::FirstByte(id),
                Coming::Piece(piece) => Input::Piece(id, piece),
                Coming::Failed(failure) => Input::Failed(id, failure),
            });
            let wanted = self.checker.life.requests.contains(&id) || self.tape.one_in(4);
            if self.turn.is_none() || !wanted {
                return;
            }
        }
        if !pieces.is_empty() {
            self.pool.push(Pending::Stream(id, pieces));
        }
    }

    fn ask_live(&mut self, key: CallKey) {
        let Some(work) = self.works.get(&key).cloned() else {
            return;
        };
        self.live += 1;
        let question = tools::question(&mut self.tape, &work.tool);
        if self.tape.one_in(6) {
            self.pool.push(Pending::TakenBack(key, self.live));
        }
        self.happen(Input::LiveQuestion(key, self.live, question));
    }

    fn person_answers(&mut self, prompt: PromptId, answer: PromptAnswer) {
        let Some(turn) = &mut self.turn else { return };
        let fits = turn.fits(&prompt, &answer);
        let on_screen = self.checker.life.on_screen.contains(&prompt);
        if on_screen != fits.is_some() {
            let what = format!("{} is on a screen: {on_screen}; fits: {fits:?}", prompt.0);
            self.checker.fail(what);
        }
        self.happen(Input::Answer(prompt.clone(), answer));
        if self.turn.is_none() || self.checker.life.broken {
            return;
        }
        let shown = self.checker.life.on_screen.contains(&prompt);
        match fits {
            Some(Ok(())) if shown => self.checker.fail(format!("{} was answered", prompt.0)),
            Some(Err(_)) => self.checker.unfit(&prompt, shown),
            _ => {}
        }
    }

    /// Tells the turn, and performs what it wants.
    fn happen(&mut self, input: Input) {
        let now = self.now;
        self.say(|| text::input(now, &input));
        let Some(turn) = &mut self.turn else { return };
        let late = match &input {
            Input::Answer(prompt, _) => {
                !self.checker.life.on_screen.contains(prompt) && !self.checker.life.broken
            }
            _ => false,
        };
        self.checker.input(&input);
        turn.handle(self.now, input);
        let first = self.pump();
        if late && self.turn.is_some() && !self.checker.life.broken && first != Some(true) {
            self.checker
                .fail("a late answer is not recorded as one".into());
        }
    }

    /// Performs effects until there are none. Says whether the first was a late answer.
    fn pump(&mut self) -> Option<bool> {
        let mut first = None;
        while let Some(effect) = self.turn.as_mut().and_then(Turn::poll_effect) {
            if self.temper.crashes && self.tape.one_in(60) {
                self.crash();
                return first;
            }
            if self.disk_is_full(&effect) {
                continue;
            }
            let late = matches!(effect, Effect::Record(Event::LateAnswer { .. }));
            first.get_or_insert(late);
            self.say(|| text::effect(&effect));
            self.checker.effect(&effect);
            if self.checker.failure.is_some() {
                return first;
            }
            self.perform(effect);
        }
        self.checker.settled_down();
        if self.checker.life.end.is_some() && self.tape.one_in(4) {
            self.late_after_the_end();
        } else if self.checker.life.end.is_some() {
            self.turn = None;
        }
        first
    }

    fn late_after_the_end(&mut self) {
        let Some(mut turn) = self.turn.take() else {
            return;
        };
        turn.handle(self.now, Input::Tick);
        turn.handle(self.now, Input::Cancel);
        if let Some(prompt) = self.checker.turn.prompts.keys().next().cloned() {
            turn.handle(self.now, Input::Answer(prompt, PromptAnswer::value(true)));
        }
        while let Some(effect) = turn.poll_effect() {
            self.say(|| text::effect(&effect));
            self.checker.effect(&effect);
            self.perform(effect);
        }
    }

    fn crash(&mut self) {
        self.say(|| "! Aside is killed".into());
        self.checker.counts.add("crash");
        self.turn = None;
    }

    fn disk_is_full(&mut self, effect: &Effect) -> bool {
        let records = matches!(effect, Effect::Record(_)) && !self.checker.life.broken;
        if !(self.temper.full_disk && records && self.tape.one_in(40)) {
            return false;
        }
        let input = Input::AppendFailed("no space is left".into());
        self.say(|| text::effect(effect));
        self.say(|| text::input(Time::ZERO, &input));
        self.checker.input(&input);
        if let Some(turn) = &mut self.turn {
            turn.handle(self.now, input);
        }
        true
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Record(event) => {
                if let Event::Learned { model, refuses } = &event {
                    self.rules
                        .refuse(model, refuses.known().expect("a known word"));
                }
                self.log.push(event);
            }
            Effect::Prepare(work) => self.pool.push(Pending::Prepare(work)),
            Effect::Send(request) => self.send(&request),
            Effect::Run(work) => self.run(work),
            Effect::Stop(key) => self.stop(key),
            Effect::AnswerLive(key, ..) => self.live_answered(key),
            Effect::OpenPrompt(prompt) => self.pool.push(Pending::Person(prompt)),
            Effect::ClosePrompt(prompt, _) => self.closed(&prompt),
            Effect::KeepApproval(approval) => {
                self.kept.insert(approval.hash);
            }
            Effect::Check(_) => self.pool.push(Pending::Check),
            Effect::Abort(_) | Effect::Tell(_) | Effect::End(_) => {}
        }
    }

    fn send(&mut self, request: &Request) {
        let asked = match &request.kind {
            RequestKind::Inquiry(ask) => self.checker.asked_in(ask),
            RequestKind::Turn { .. }
            | RequestKind::Compaction { .. }
            | RequestKind::NativeCompaction => Vec::new(),
        };
        let pieces = model::reply(&mut self.tape, request, &asked);
        self.pool.push(Pending::Stream(request.id, pieces));
    }

    fn run(&mut self, work: CallWork) {
        let key = work.call;
        let tape = &mut self.tape;
        let nature = self
            .natures
            .entry(key)
            .or_insert_with(|| Nature::new(tape, &work.tool));
        let run = tools::run(tape, &work, nature);
        match run {
            Run::Ends(outcome) => self.pool.push(Pending::Finish(key, outcome)),
            Run::Hangs => {}
            Run::AsksLive => {
                self.pool.push(Pending::Live(key));
                if self.tape.one_in(4) {
                    self.pool.push(Pending::Live(key));
                }
                // It may end without waiting for the answer.
                if self.tape.one_in(6) {
                    let outcome = ToolOutcome::Success(tools::output(&work));
                    self.pool.push(Pending::Finish(key, outcome));
                }
            }
        }
        self.works.insert(key, work);
    }

    /// A run that is stopped ends, with what it had or without; it is not asked any more.
    fn stop(&mut self, key: CallKey) {
        let ends = |pending: &Pending| matches!(pending, Pending::Finish(call, _) if *call == key);
        if !self.pool.iter().any(ends) {
            self.pool.push(Pending::Finish(key, ToolOutcome::Stopped));
        }
    }

    fn live_answered(&mut self, key: CallKey) {
        let ends = |pending: &Pending| matches!(pending, Pending::Finish(call, _) if *call == key);
        if self.pool.iter().any(ends) {
            return;
        }
        let Some(work) = self.works.get(&key) else {
            return;
        };
        let outcome = ToolOutcome::Success(tools::output(work));
        self.pool.push(Pending::Finish(key, outcome));
    }

    /// The prompt leaves the screen; an answer may be on its way already.
    fn closed(&mut self, prompt: &PromptId) {
        let on_it =
            |pending: &Pending| matches!(pending, Pending::Person(open) if open.id == *prompt);
        if let Some(at) = self.pool.iter().position(on_it)
            && let Pending::Person(open) = self.pool.swap_remove(at)
            && self.tape.one_in(2)
        {
            self.pool.push(Pending::Late(open.id, open.answer_type));
        }
    }
}

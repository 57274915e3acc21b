//! A conversation as text: each line tells the turn something, and what it does about it is text again.
//!
//! `conversations/README` lists the lines. What every turn must keep to is watched all the while; see
//! [`watch::Watch`].

mod ask;
mod history;
mod line;
mod record;
mod setup;
mod show;
mod verdict;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use aside_turn::{
    clearing::{Clearing, clearing},
    effect::{Effect, End, Prompt, PromptKind, Request, RequestKind, Update},
    history::TurnHistory,
    input::{Input, Preparation, PromptAnswer, SecretValue, Time, ToolOutcome},
    inquiry::Strategy,
    model_text::ModelText,
    question::{Answer, AnswerType},
    record::{CallKey, Event, Level, PromptId},
    resume::close,
    transcript::Transcript,
    turn::{Setup, Turn},
};
use serde_json::Value;

pub(crate) use setup::{PRICES, World};

/// The moment at which every conversation begins.
const START: Time = Duration::from_secs(1_000);

/// One conversation on its way.
pub(crate) struct Play {
    /// Rules, client, and what preparing each tool's calls finds.
    pub(crate) world: World,
    /// All that was recorded.
    pub(crate) events: Vec<Event>,
    /// All that was done, records included.
    pub(crate) effects: Vec<Effect>,
    /// How the turn ended, if it did.
    pub(crate) end: Option<End>,
    /// What the tool was last run with, by call.
    pub(crate) ran: BTreeMap<CallKey, Vec<(String, Answer)>>,
    /// What was done, as text.
    pub(crate) out: String,
    turn: Option<Turn>,
    now: Time,
    /// When a request to a model was under way last.
    asked_at: Option<Time>,
    calls: Calls,
    prompts: Vec<PromptId>,
    shown: BTreeMap<PromptId, Prompt>,
    requests: Vec<Sent>,
    running: BTreeSet<CallKey>,
    preparing: BTreeSet<CallKey>,
    to_prepare: Vec<CallKey>,
    watch: watch::Watch,
    /// Records that the disk still takes; none where it takes all.
    disk_takes: Option<usize>,
}

/// The names that a conversation has for its calls: the provider's ids, a repeated one with a number.
#[derive(Default)]
struct Calls {
    named: Vec<(String, CallKey, String)>,
}

/// A request that is under way or was.
struct Sent {
    request: Request,
    slots: u32,
    over: bool,
}

impl Play {
    fn new(world: World) -> Self {
        Self {
            world,
            events: Vec::new(),
            effects: Vec::new(),
            end: None,
            ran: BTreeMap::new(),
            out: String::new(),
            turn: None,
            now: START,
            asked_at: None,
            calls: Calls::default(),
            prompts: Vec::new(),
            shown: BTreeMap::new(),
            requests: Vec::new(),
            running: BTreeSet::new(),
            preparing: BTreeSet::new(),
            to_prepare: Vec::new(),
            watch: watch::Watch::default(),
            disk_takes: None,
        }
    }

    /// Plays a whole text.
    pub(crate) fn of(text: &str) -> Self {
        Self::told(text, ModelText::default())
    }

    /// Plays a whole text, with these sentences for the model.
    pub(crate) fn told(text: &str, model_text: ModelText) -> Self {
        let mut play = Self::new(World::default());
        play.world.model_text = model_text;
        for line in text.lines().map(str::trim_end) {
            if !line.is_empty() && !line.starts_with('#') {
                play.line(line);
            }
        }
        play
    }

    /// Plays a text up to the record that the disk does not take, if it comes, and then only ends what runs.
    pub(crate) fn with_full_disk(text: &str, records: usize) -> Self {
        let mut play = Self::new(World::default());
        play.disk_takes = Some(records);
        for line in text.lines().map(str::trim_end) {
            play.line(line);
            if play.watch.is_unwritten() {
                play.wind_down();
                break;
            }
        }
        play
    }

    /// Begins the turn.
    pub(crate) fn start(&mut self, message: &str) {
        self.turn = Some(Turn::start(
            self.setup(),
            message.into(),
            Vec::new(),
            self.now,
        ));
        self.drain();
    }

    /// Begins a turn that summarises the conversation.
    pub(crate) fn summarise(&mut self, words: &str) {
        self.turn = Some(Turn::summarise(self.setup(), words, self.now));
        self.drain();
    }

    /// Begins a turn that summarises the conversation while nobody writes.
    pub(crate) fn summarise_idle(&mut self) {
        self.turn = Some(Turn::summarise_idle(self.setup(), self.now));
        self.drain();
    }

    /// The turn takes the last summary back.
    pub(crate) fn take_summary_back(&mut self) {
        let setup = self.setup();
        let context = setup.fullness.without_summary().expect("a summary before");
        self.turn = Some(Turn::take_summary_back(setup, context, self.now));
        self.drain();
    }

    /// The process is gone: all that is left is what was recorded.
    pub(crate) fn crash(&mut self) {
        self.turn = None;
        self.requests.clear();
        self.to_prepare.clear();
        self.running.clear();
        self.preparing.clear();
        self.shown.clear();
        self.end = None;
        self.watch.crash();
    }

    /// Goes on from what was recorded.
    pub(crate) fn resume(&mut self, answers: Vec<(PromptId, String)>) {
        self.crash();
        match Turn::resume(
            self.setup(),
            TurnHistory::of(&self.events),
            answers,
            self.now,
        ) {
            Ok(turn) => {
                self.turn = Some(turn);
                self.drain();
            }
            Err(error) => self.say(&format!("cannot resume: {error}")),
        }
    }

    /// A new message comes instead of a resume.
    pub(crate) fn close(&mut self) {
        self.crash();
        for event in close(TurnHistory::of(&self.events)) {
            self.record(event);
        }
    }

    /// Tells the turn that something happened, and does what it wants done.
    pub(crate) fn tell(&mut self, input: Input) {
        match &input {
            Input::Finished(call, _) => drop(self.running.take(call)),
            Input::Prepared(call, _) => drop(self.preparing.take(call)),
            Input::Answer(prompt, answer) if self.end.is_none() => {
                return self.tell_answer(prompt.clone(), answer.clone());
            }
            _ => {}
        }
        self.handle(input);
    }

    /// A client is told beforehand whether an answer fits: one that does not is refused, and the user warned.
    fn tell_answer(&mut self, prompt: PromptId, answer: PromptAnswer) {
        let turn = self.turn.as_mut().expect("the turn has begun");
        let fits = turn.fits(&prompt, &answer);
        let (effects, events) = (self.effects.len(), self.events.len());
        self.handle(Input::Answer(prompt, answer));
        let is_warning = |effect: &Effect| matches!(effect, Effect::Tell(Update::Notice { level, .. }) if *level == Level::Warning);
        let is_late = |event: &Event| matches!(event, Event::LateAnswer { .. });
        let as_said = match &fits {
            Some(fits) => fits.is_err() == self.effects[effects..].iter().any(is_warning),
            None => self.events[events..].iter().all(is_late),
        };
        assert!(
            as_said || self.watch.is_unwritten(),
            "{fits:?}\n{}",
            self.out
        );
    }

    fn handle(&mut self, input: Input) {
        self.watch.input(&input);
        let turn = self.turn.as_mut().expect("the turn has begun");
        turn.handle(self.now, input);
        self.drain();
    }

    /// When the turn wants to be woken, as time from now.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let at = self.turn.as_ref()?.deadline()?;
        Some(at.saturating_sub(self.now))
    }

    /// A conversation of which only so many events reached the disk.
    pub(crate) fn cut(of: &Self, count: usize) -> Self {
        let mut play = Self::new(of.world.clone());
        for event in &of.events[..count] {
            play.record(event.clone());
        }
        play
    }

    /// It goes on and is cancelled at once: everything must end, and once.
    pub(crate) fn cancelled(mut self) -> Self {
        self.resume(Vec::new());
        if self.turn.is_some() {
            self.wind_down();
        }
        self
    }

    /// It is cancelled.
    pub(crate) fn wind_down(&mut self) {
        if self.end.is_none() {
            self.tell(Input::Cancel);
        }
        while let Some(call) = self.running.pop_first() {
            self.tell(Input::Finished(call, ToolOutcome::Stopped));
        }
        assert!(self.end.is_some(), "it does not end:\n{}", self.out);
    }

    /// A new message comes instead of a resume: everything must be settled.
    pub(crate) fn closed(mut self) -> Self {
        self.close();
        watch::settled(&self.events);
        let next = [Event::TurnStart, Event::RequestSent { step: 1 }];
        self.events.extend(next);
        history::check(&self.events);
        self
    }

    /// Answers the newest prompt of a call.
    pub(crate) fn answer(&mut self, call: &str, value: Value, remember: bool) {
        let prompt = self.prompt(call);
        if self
            .shown
            .get(&prompt)
            .is_some_and(|shown| shown.answer_type == AnswerType::Secret)
        {
            self.watch.secret(&value);
        }
        let value = SecretValue(value);
        self.tell(Input::Answer(
            prompt,
            PromptAnswer::Answer {
                value,
                remember,
                new_text: None,
            },
        ));
    }

    /// The prompts that are on the screen.
    pub(crate) fn open_prompts(&self) -> impl Iterator<Item = &Prompt> {
        self.shown.values()
    }

    /// The key of a call by its name.
    pub(crate) fn call(&self, name: &str) -> CallKey {
        self.calls.key(name)
    }

    /// Whether a model is being asked.
    pub(crate) fn inquires(&self) -> bool {
        self.requests
            .iter()
            .any(|sent| !sent.over && matches!(sent.request.kind, RequestKind::Inquiry(_)))
    }

    /// The calls whose tools run.
    pub(crate) fn running(&self) -> impl Iterator<Item = String> {
        self.running.iter().map(|call| self.calls.name(*call))
    }

    /// The calls that the conversation itself is to prepare.
    pub(crate) fn preparing(&self) -> impl Iterator<Item = String> {
        self.preparing.iter().map(|call| self.calls.name(*call))
    }

    /// The name of a call.
    pub(crate) fn call_name(&self, call: CallKey) -> String {
        self.calls.name(call)
    }

    /// Any request under way, with its number.
    pub(crate) fn any_request(&self, rng: &mut fastrand::Rng) -> Option<(u32, RequestKind)> {
        let open: Vec<_> = self.requests.iter().filter(|sent| !sent.over).collect();
        let sent = rng.choice(open)?;
        Some((sent.request.id.0, sent.request.kind.clone()))
    }

    fn setup(&self) -> Setup {
        let mut fullness = self.world.before.clone();
        self.events.iter().for_each(|event| fullness.apply(event));
        Setup {
            id: "turn".into(),
            rules: self.world.rules.clone(),
            client: self.world.client.clone(),
            model_text: self.world.model_text.clone(),
            fullness,
            clearing: self.clearing(),
        }
    }

    fn clearing(&self) -> Option<Clearing> {
        let mut transcript = Transcript::default();
        self.events.iter().for_each(|event| transcript.push(event));
        let idle = self.now.saturating_sub(self.asked_at?);
        let World {
            rules, model_text, ..
        } = &self.world;
        clearing(&transcript, rules, model_text, idle)
    }

    fn drain(&mut self) {
        loop {
            while let Some(effect) = self.turn.as_mut().and_then(Turn::poll_effect) {
                if matches!(effect, Effect::Record(_)) && self.disk_takes == Some(0) {
                    self.disk_takes = None;
                    self.handle(Input::AppendFailed("the disk is full".into()));
                    continue;
                }
                self.watch.effect(&effect, &self.events);
                self.perform(effect);
            }
            let Some(call) = self.to_prepare.pop() else {
                break;
            };
            let found = self.world.prepare(self.calls.tool(call));
            let turn = self.turn.as_mut().expect("it wants something prepared");
            turn.handle(self.now, Input::Prepared(call, Preparation::Ready(found)));
        }
    }

    fn perform(&mut self, effect: Effect) {
        self.effects.push(effect.clone());
        if let Effect::Record(event) = effect {
            self.disk_takes = self.disk_takes.map(|left| left - 1);
            self.record(event);
            return;
        }
        if let Effect::OpenPrompt(prompt) = &effect {
            self.number(&prompt.id);
        }
        if let Some(text) = show::effect(self, &effect) {
            self.say(&text);
        }
        match effect {
            Effect::Prepare(work) if !self.world.is_manual(&work.tool) => {
                self.to_prepare.insert(0, work.call);
            }
            Effect::Prepare(work) => {
                self.preparing.insert(work.call);
            }
            Effect::Run(work) => {
                self.running.insert(work.call);
                self.ran.insert(work.call, work.answers);
            }
            Effect::Send(request) => self.requests.push(Sent {
                request,
                slots: 0,
                over: false,
            }),
            Effect::Abort(id) => {
                if let Some(sent) = self.requests.iter_mut().find(|sent| sent.request.id == id) {
                    sent.over = true;
                }
            }
            Effect::OpenPrompt(prompt) => {
                self.shown.insert(prompt.id.clone(), *prompt);
            }
            Effect::ClosePrompt(id, _) => {
                self.shown.remove(&id);
            }
            Effect::End(end) => self.end = Some(end),
            _ => {}
        }
    }

    fn record(&mut self, event: Event) {
        if let Event::ToolCall { call, id, name, .. } = &event {
            self.calls.add(id, *call, name);
        }
        if let Event::PromptOpened { prompt, .. } = &event {
            self.number(prompt);
        }
        if event.is_of_request() {
            self.asked_at = Some(self.now);
        }
        let text = record::event(self, &event);
        self.say(&format!("rec {text}"));
        self.events.push(event);
    }

    fn say(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    fn number(&mut self, prompt: &PromptId) {
        if !self.prompts.contains(prompt) {
            self.prompts.push(prompt.clone());
        }
    }

    /// The name of a prompt.
    pub(crate) fn prompt_name(&self, prompt: &PromptId) -> String {
        match self.prompts.iter().position(|known| known == prompt) {
            Some(at) => format!("p{}", at + 1),
            None => "p?".into(),
        }
    }

    /// A prompt by its name, or the newest prompt of a call.
    fn prompt(&self, name: &str) -> PromptId {
        let numbered = name
            .strip_prefix('p')
            .and_then(|number| number.parse::<usize>().ok());
        if let Some(number) = numbered {
            return self
                .prompts
                .get(number - 1)
                .cloned()
                .unwrap_or(PromptId(name.into()));
        }
        let call = self.calls.key(name);
        let opened = self.events.iter().rev().find_map(|event| match event {
            Event::PromptOpened {
                prompt, call: of, ..
            } if *of == call => Some(prompt.clone()),
            _ => None,
        });
        opened.unwrap_or_else(|| panic!("no prompt of `{name}` was opened\n{}", self.out))
    }

    fn request(&mut self, number: Option<u32>) -> &mut Sent {
        let at = match number {
            Some(number) => self
                .requests
                .iter()
                .position(|sent| sent.request.id.0 == number),
            None => self.requests.iter().rposition(|sent| !sent.over),
        };
        let at = at.or(self.requests.len().checked_sub(1));
        let at = at.unwrap_or_else(|| panic!("no request was sent\n{}", self.out));
        &mut self.requests[at]
    }

    /// The id of the newest question of a call.
    fn pair(&self, call: CallKey) -> String {
        let asked = self.events.iter().rev().find_map(|event| match event {
            Event::InquiryRequest { id, call: of, .. } if *of == call => Some(id.clone()),
            _ => None,
        });
        asked.expect("the call asked something")
    }
}

impl Sent {
    fn is_structured(&self) -> bool {
        matches!(&self.request.kind, RequestKind::Inquiry(ask) if ask.strategy == Strategy::Structured)
    }
}

impl Calls {
    fn add(&mut self, id: &str, call: CallKey, tool: &str) {
        let again = self
            .named
            .iter()
            .filter(|(name, ..)| name.split('\'').next() == Some(id))
            .count();
        self.named
            .push((format!("{id}{}", "'".repeat(again)), call, tool.into()));
    }

    fn key(&self, name: &str) -> CallKey {
        let found = self.named.iter().find(|(known, ..)| known == name);
        found.map_or_else(|| panic!("there is no call `{name}`"), |(_, call, _)| *call)
    }

    fn name(&self, call: CallKey) -> String {
        let found = self.named.iter().find(|(_, known, _)| *known == call);
        found.map_or_else(|| format!("#{}", call.0), |(name, ..)| name.clone())
    }

    fn tool(&self, call: CallKey) -> &str {
        let found = self.named.iter().find(|(_, known, _)| *known == call);
        found.map_or("", |(.., tool)| tool)
    }
}

/// The word of a prompt's kind.
fn kind_name(kind: PromptKind) -> &'static str {
    match kind {
        PromptKind::Question => "question",
        PromptKind::RunTool => "runTool",
        PromptKind::DeliverResult => "deliverResult",
    }
}

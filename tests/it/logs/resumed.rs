//! An interrupted turn that goes on. The model makes all calls of the turn again, says `Done.` and no more; tools,
//! people and inquiries always do the same.

use std::collections::{BTreeMap, VecDeque};

use aside_session::replay::Turn as LoggedTurn;
use aside_turn::{
    Effect, Event, Input, Setup, Turn,
    effect::{CallWork, Prompt, PromptKind, Request, RequestKind},
    history::fullness::Fullness,
    input::{Preparation, Prepared, PromptAnswer, RequestId, Time, ToolOutcome, ToolOutput},
    model_text::ModelText,
    question::AnswerType,
    record::{CallKey, PromptSubject},
    response::{Failure, FailureClass, Finish, Kind, Piece},
    rules::{Class, Client, Rules, ToolRules},
};

/// Inputs after which a turn counts as one that never ends.
const MOST: usize = 1_000;

/// Who is there when a turn goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum People {
    /// A person who says yes to everything.
    Yes,
    /// A person who declines everything.
    No,
    /// Nobody.
    Nobody,
    /// A person who cancels the turn at once.
    Cancels,
}

impl People {
    pub(super) const ALL: [Self; 4] = [Self::Yes, Self::No, Self::Nobody, Self::Cancels];
}

/// All that the turn does when it goes on.
pub(super) fn resumed(turn: &LoggedTurn, people: People, model_text: ModelText) -> Vec<Effect> {
    let calls = calls(&turn.events);
    let tools = calls.iter();
    let tools = tools.map(|(tool, _)| (tool.clone(), ToolRules::default()));
    let setup = Setup {
        id: turn.id.clone(),
        rules: Rules {
            trusted: true,
            tools: tools.collect(),
            ..Rules::default()
        },
        client: (people != People::Nobody).then(|| Client {
            secret: true,
            ..Client::terminal()
        }),
        model_text,
        fullness: Fullness::default(),
        clearing: None,
    };
    let resumed = Turn::resume(setup, turn.history(), Vec::new(), Time::ZERO);
    let mut stage = Stage {
        people,
        turn: resumed.expect("no answers that do not fit"),
        now: Time::ZERO,
        calls,
        hashes: hashes(&turn.events),
        inputs: VecDeque::new(),
        effects: Vec::new(),
    };
    stage.play();
    stage.effects
}

struct Stage {
    people: People,
    turn: Turn,
    now: Time,
    /// Tool and arguments of the calls that the model makes again.
    calls: Vec<(String, String)>,
    hashes: BTreeMap<CallKey, String>,
    inputs: VecDeque<Input>,
    effects: Vec<Effect>,
}

impl Stage {
    fn play(&mut self) {
        if self.people == People::Cancels {
            self.inputs.push_back(Input::Cancel);
        }
        for _ in 0..MOST {
            while let Some(effect) = self.turn.poll_effect() {
                self.perform(&effect);
                self.effects.push(effect);
            }
            if let Some(Effect::End(_)) = self.effects.last() {
                return;
            }
            let input = self.inputs.pop_front().unwrap_or_else(|| {
                // Nothing else is on its way, so time passes.
                self.now = self.now.max(self.turn.deadline().unwrap_or_default());
                Input::Tick
            });
            self.turn.handle(self.now, input);
        }
        panic!("it never ends: {:#?}", self.effects);
    }

    fn perform(&mut self, effect: &Effect) {
        match effect {
            Effect::Prepare(work) => {
                let prepared = Preparation::Ready(self.prepared(work));
                self.inputs.push_back(Input::Prepared(work.call, prepared));
            }
            Effect::Run(work) => {
                let output = ToolOutput::text("Found.");
                let outcome = ToolOutcome::Success(output);
                self.inputs.push_back(Input::Finished(work.call, outcome));
            }
            Effect::Stop(call) => {
                self.inputs
                    .retain(|input| !matches!(input, Input::Finished(of, _) if of == call));
                let stopped = Input::Finished(*call, ToolOutcome::Stopped);
                self.inputs.push_back(stopped);
            }
            Effect::Send(request) => self.respond(request),
            Effect::OpenPrompt(prompt) => {
                let answer = match self.people {
                    People::No => PromptAnswer::Decline { note: None },
                    _ => PromptAnswer::value(yes(prompt)),
                };
                self.inputs
                    .push_back(Input::Answer(prompt.id.clone(), answer));
            }
            Effect::Check(text) => {
                self.inputs
                    .push_back(Input::Checked(Ok(text.as_str().into())));
            }
            _ => {}
        }
    }

    /// A call that has to be approved; one that a person was asked about is as it was then.
    fn prepared(&self, work: &CallWork) -> Prepared {
        let hash = self.hashes.get(&work.call).cloned();
        Prepared {
            class: Class::More,
            title: format!("Call {}", work.tool),
            hash: hash.unwrap_or_else(|| format!("{} {}", work.tool, work.arguments)),
            ..Prepared::default()
        }
    }

    fn respond(&mut self, request: &Request) {
        if let RequestKind::Inquiry(_) = request.kind {
            let failure = Failure {
                class: FailureClass::Other,
                text: "not today".into(),
                advice: None,
                retry_after: None,
            };
            self.inputs.push_back(Input::Failed(request.id, failure));
            return;
        }
        let calls = std::mem::take(&mut self.calls);
        let finish = if calls.is_empty() {
            self.item(request.id, 0, Kind::Text, "Done.");
            Finish::Stop
        } else {
            for (slot, (name, arguments)) in (0..).zip(&calls) {
                let kind = Kind::ToolCall {
                    id: format!("again-{slot}"),
                    name: name.clone(),
                };
                self.item(request.id, slot, kind, arguments);
            }
            Finish::ToolUse
        };
        self.inputs
            .push_back(Input::Piece(request.id, Piece::Finish(finish)));
    }

    fn item(&mut self, request: RequestId, slot: u32, kind: Kind, text: &str) {
        let text = text.to_owned();
        let pieces = [
            Piece::Open { slot, kind },
            Piece::Delta { slot, text },
            Piece::Close {
                slot,
                opaque: None,
                complete: true,
            },
        ];
        self.inputs
            .extend(pieces.map(|piece| Input::Piece(request, piece)));
    }
}

/// Tool and arguments of each call, each once.
fn calls(events: &[Event]) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for event in events {
        if let Event::ToolCall {
            name, arguments, ..
        } = event
        {
            let call = (name.clone(), arguments.clone());
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
    }
    calls
}

/// What a person was last asked to approve, by call.
fn hashes(events: &[Event]) -> BTreeMap<CallKey, String> {
    let hashes = events.iter().filter_map(|event| match event {
        Event::PromptOpened {
            call,
            subject: PromptSubject::RunTool { hash, .. },
            ..
        } => Some((*call, hash.clone())),
        _ => None,
    });
    hashes.collect()
}

/// An answer that says yes, or fits.
fn yes(prompt: &Prompt) -> serde_json::Value {
    match (prompt.kind, &prompt.answer_type) {
        (PromptKind::RunTool, _) => "once".into(),
        (_, AnswerType::Boolean) => true.into(),
        (_, AnswerType::Select { options }) => options[0].as_str().into(),
        (_, AnswerType::MultiSelect { options, .. }) => options.clone().into(),
        (_, AnswerType::Number { .. }) => 1.into(),
        (_, AnswerType::Text { .. } | AnswerType::Secret) => "a word".into(),
    }
}

//! Going on with an interrupted turn, and closing one that is not gone on with: what its events say is all that
//! counts.

use crate::{
    call::{Ending, parse_arguments},
    context::Context,
    cycle::taken_back,
    effect::Effect,
    event::{
        By, CallEnd, CallKey, Closed, DirectiveKind, Event, InquiryResponse, Outcome, Permission,
        PromptId, Reason, RefusalReason, ResultReason, TurnError,
    },
    force::Sending,
    input::Time,
    memory::Declined,
    past::{Next, Past, lost_text},
    response::{Finish, Item, Kind, Response},
    rules::Mode,
    turn::{Conclusion, Phase, Setup, Turn},
};

/// Why a turn cannot be resumed with these answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// No prompt of this id is open in the turn.
    #[error("no prompt {0} is open in this turn; the open ones are: {1}")]
    UnknownPrompt(String, String),
    /// The answer does not fit.
    #[error("the answer to {0} does not fit: {1}")]
    Misfit(String, String),
}

/// What is left of a turn to do.
enum Left {
    /// The last request was not answered: it is sent again.
    Request,
    /// It was answered without calls, and something is owed still.
    Next,
    /// It was answered for good, only the end is not on record.
    Answer(Response),
    /// It was cut with nothing complete in it, and the model was not told.
    Cut,
    /// The provider took the answer back, only the end is not on record.
    Failed(TurnError),
    /// Its calls.
    Calls(Vec<Past>),
}

impl Turn {
    /// Goes on with an interrupted turn, from its events alone. `answers` are for its open prompts, as texts from a
    /// command line; they count as a person's.
    ///
    /// # Errors
    /// A [`ResumeError`] for an answer to a prompt that is not open, or one that does not fit. Nothing was done then.
    pub fn resume(
        setup: Setup,
        events: &[Event],
        answers: Vec<(PromptId, String)>,
        now: Time,
    ) -> Result<Self, ResumeError> {
        let mut turn = Self::new(setup, now);
        let left = turn.read(events);
        let pasts = if let Left::Calls(pasts) = &left {
            pasts.as_slice()
        } else {
            &[]
        };
        turn.take_answers(pasts, answers)?;
        match left {
            Left::Request => {
                turn.cx.cycle = turn.cx.cycle.saturating_sub(1);
                turn.request_again();
            }
            Left::Next => turn.request_again(),
            Left::Cut => turn.was_cut(),
            Left::Failed(error) => turn.conclude(Conclusion::failed(error)),
            Left::Answer(response) => turn.answered(&response),
            Left::Calls(pasts) => turn.go_on(pasts),
        }
        turn.advance();
        Ok(turn)
    }

    /// The retry of a soft force that was not answered goes out as it was.
    fn request_again(&mut self) {
        if self.force.retrying {
            let sending = Sending {
                directive: None,
                ..self.force.retry(&self.cx.rules.model)
            };
            return self.send(sending);
        }
        self.request();
    }

    fn go_on(&mut self, pasts: Vec<Past>) {
        self.phase = Phase::Calls;
        for (place, past) in pasts.into_iter().enumerate() {
            let raw = past.raw.clone();
            let (mut call, next) = past.restore(&mut self.cx);
            let cx = &mut self.cx;
            match next {
                Next::Done => {}
                Next::Begin => call.begin(cx, &raw, place),
                Next::Prepare => call.prepare(cx),
                Next::AskAgain(question) => call.ask(cx, question, None),
                Next::Consider(waiting, before) => call.consider(cx, *waiting, before),
                Next::Show(id) => call.reopen(cx, &id),
            }
            self.calls.push(call);
        }
    }

    /// Reads the events.
    fn read(&mut self, events: &[Event]) -> Left {
        let mut pasts: Vec<Past> = Vec::new();
        let mut items: Vec<&Event> = Vec::new();
        let mut left = Left::Request;
        for event in events {
            match event {
                Event::RequestSent { step } => {
                    self.cx.cycle = *step;
                    self.calls_before += u32::try_from(pasts.len()).unwrap_or(u32::MAX);
                    pasts.clear();
                    items.clear();
                    self.steered = false;
                    left = Left::Request;
                }
                Event::Text { .. } | Event::Reasoning { .. } | Event::ToolCall { .. } => {
                    items.push(event);
                }
                Event::ResponseEnd { finish, usage } => {
                    pasts = items.iter().filter_map(|event| Past::new(event)).collect();
                    for past in &pasts {
                        self.force.called(&past.call.tool);
                        self.cuts = 0;
                    }
                    self.cx.usage.count(usage);
                    self.force.retrying = false;
                    left = answered(&items, finish.as_ref(), &self.cx.rules.model.id);
                }
                Event::Steer { .. } => {
                    self.steered = true;
                    self.cx.memory.lift();
                    left = left.owing();
                }
                Event::Directive { kind, .. } => {
                    self.read_directive(kind);
                    left = left.owing();
                }
                _ => {}
            }
            note(&mut self.cx, &pasts, event);
            if let Some(at) = about(event, &pasts) {
                pasts[at].read(event);
                if matches!(event, Event::InquiryRequest { .. }) {
                    pasts[at].note_before(&self.cx.memory);
                }
            }
        }
        if pasts.is_empty() {
            left
        } else {
            Left::Calls(pasts)
        }
    }

    fn read_directive(&mut self, kind: &DirectiveKind) {
        match kind {
            DirectiveKind::Cut => self.cuts += 1,
            DirectiveKind::SchemaRepair => self.schema_repair = true,
            // A resume may force another tool, or none.
            DirectiveKind::Force { tool } if *tool == self.force.tool() => self.force.asked = true,
            DirectiveKind::ForceAgain { tool } if *tool == self.force.tool() => {
                self.force.retried = true;
                self.force.retrying = true;
            }
            _ => {}
        }
    }

    fn take_answers(
        &mut self,
        pasts: &[Past],
        answers: Vec<(PromptId, String)>,
    ) -> Result<(), ResumeError> {
        for (prompt, text) in answers {
            let Some(past) = pasts
                .iter()
                .find(|past| past.open_prompts().contains(&prompt))
            else {
                let open: Vec<String> = pasts
                    .iter()
                    .flat_map(Past::open_prompts)
                    .map(|id| id.0)
                    .collect();
                let open = if open.is_empty() {
                    "none".to_owned()
                } else {
                    open.join(", ")
                };
                return Err(ResumeError::UnknownPrompt(prompt.0, open));
            };
            let answer = past
                .parse(&prompt, &text)
                .map_err(|what| ResumeError::Misfit(prompt.0.clone(), what))?;
            self.cx.given.insert(prompt, answer);
        }
        Ok(())
    }
}

/// What to append when a new message comes instead of a resume: a result for every open call, an outcome for every
/// open question and prompt, and the end of the turn.
#[must_use]
pub fn close(events: &[Event]) -> Vec<Event> {
    let mut turn = Turn::new(Setup::default(), Time::ZERO);
    if let Left::Calls(pasts) = turn.read(events) {
        for past in pasts {
            let (mut call, _) = past.restore(&mut turn.cx);
            call.end(&mut turn.cx, Ending::Cancelled);
        }
    }
    turn.conclude(Conclusion::of(Outcome::Cancelled));
    let recorded = |effect| match effect {
        Effect::Record(event) => Some(event),
        _ => None,
    };
    std::iter::from_fn(|| turn.poll_effect())
        .filter_map(recorded)
        .collect()
}

impl Left {
    /// Something came after the answer that the model has not seen.
    fn owing(self) -> Self {
        match self {
            Self::Answer(_) | Self::Cut => Self::Next,
            other => other,
        }
    }
}

/// What a response without calls leaves to do.
fn answered(items: &[&Event], finish: Option<&Finish>, model: &str) -> Left {
    match finish {
        Some(Finish::Pause) => return Left::Next,
        Some(Finish::MaxTokens | Finish::MalformedCall) => return Left::Cut,
        _ => {}
    }
    if let Some(error) = finish.and_then(|finish| taken_back(finish, model)) {
        return Left::Failed(error);
    }
    let text = |event: &&&Event| match event {
        Event::Text { text, opaque } => Some(Item {
            kind: Kind::Text,
            text: text.clone(),
            opaque: opaque.clone(),
            complete: true,
        }),
        _ => None,
    };
    Left::Answer(Response {
        items: items.iter().filter_map(|event| text(&event)).collect(),
        ..Response::default()
    })
}

/// What the turn, and not one call alone, learns from an event.
fn note(cx: &mut Context, pasts: &[Past], event: &Event) {
    match event {
        Event::InquiryRequest { id, .. } => cx.memory.recorded_pair(id),
        Event::PromptOpened { prompt, .. } => {
            let number = prompt
                .0
                .rsplit_once('-')
                .and_then(|(_, number)| number.parse().ok());
            cx.last_prompt = cx.last_prompt.max(number.unwrap_or(0));
        }
        Event::PromptClosed {
            prompt,
            closed: Closed::Permitted { permission, .. },
        } => {
            let asked = pasts.iter().find_map(|past| past.permission(prompt));
            match (asked, permission) {
                (Some((_, true)), Permission::Turn) if cx.mode == Mode::Ask => {
                    cx.mode = Mode::Edits;
                }
                (Some((hash, false)), Permission::Turn | Permission::Always) => {
                    cx.memory.approve(hash);
                }
                _ => {}
            }
        }
        Event::InquiryResponse { id, call, response } => {
            note_response(cx, pasts, *call, id, response);
        }
        Event::ToolResult {
            call,
            end: CallEnd::Aside(reason),
            content,
            held: false,
            ..
        } => {
            note_ended(cx, pasts, *call, reason, content);
        }
        Event::Learned { model, refuses } => {
            if let Some(feature) = refuses.known() {
                cx.rules.refuse(model, feature);
            }
        }
        _ => {}
    }
}

fn note_ended(
    cx: &mut Context,
    pasts: &[Past],
    call: CallKey,
    reason: &ResultReason,
    content: &str,
) {
    let Some(past) = pasts.iter().find(|past| past.key() == call) else {
        return;
    };
    let tool = &past.call.tool;
    match reason {
        ResultReason::NeedsApproval => cx.refused(tool, RefusalReason::NeedsApproval, content),
        ResultReason::WithheldUnattended => cx.refused(tool, RefusalReason::Withheld, content),
        _ => {}
    }
    if reason.refuses_repetition() {
        let arguments = parse_arguments(&past.raw).unwrap_or_default();
        cx.memory.refuse(tool, &arguments, reason.clone(), content);
    }
}

fn note_response(
    cx: &mut Context,
    pasts: &[Past],
    call: CallKey,
    pair: &str,
    response: &InquiryResponse,
) {
    if let InquiryResponse::Answered {
        effort: Some(effort),
        ..
    }
    | InquiryResponse::Cancelled {
        effort: Some(effort),
        ..
    } = response
    {
        cx.usage.count(&effort.usage);
    }
    let Some(past) = pasts.iter().find(|past| past.key() == call) else {
        return;
    };
    let Some(question) = past.open_question(pair) else {
        return;
    };
    let tool = &past.call.tool;
    match response {
        InquiryResponse::Answered {
            answer,
            by: By::User,
            remember: true,
            ..
        } => {
            cx.memory.remember(tool, &question.id, answer);
        }
        InquiryResponse::Cancelled { reason, note, .. } if *reason != Reason::Withdrawn => {
            let text = lost_text(tool, question, response);
            match reason {
                Reason::NoPromptBackend => cx.refused(tool, RefusalReason::NoPromptBackend, &text),
                Reason::DetachedPolicy => cx.refused(tool, RefusalReason::DetachedPolicy, &text),
                _ => {}
            }
            if note.is_none() {
                cx.memory.decline(Declined {
                    tool: tool.clone(),
                    question: question.clone(),
                    reason: reason.clone(),
                    text,
                });
            }
        }
        _ => {}
    }
}

/// The place, among these calls, of the one that an event is about.
fn about(event: &Event, pasts: &[Past]) -> Option<usize> {
    let key = match event {
        Event::CallStarted { call, .. }
        | Event::PromptOpened { call, .. }
        | Event::InquiryRequest { call, .. }
        | Event::InquiryResponse { call, .. }
        | Event::ToolResult { call, .. } => *call,
        Event::PromptClosed { prompt, .. } => {
            return pasts.iter().position(|past| past.knows(prompt));
        }
        _ => return None,
    };
    pasts.iter().position(|past| past.key() == key)
}

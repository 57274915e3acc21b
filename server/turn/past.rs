//! What the events of an interrupted turn say of one call, and where that leaves it.

use serde_json::Value;

use crate::{
    ask::{How, Waiting},
    call::{Call, State, parse_arguments},
    context::Context,
    delivery::Held,
    event::{
        Backend, CallEnd, CallKey, Closed, Event, InquiryResponse, Permission, PromptId,
        PromptSubject, Reason, ResultReason, Vocabulary, Word,
    },
    input::{PromptAnswer, SecretValue, ToolOutput},
    memory::{Declined, Memory},
    prompt::Prompted,
    question::{Answer, Question},
    told,
};

/// A call, as its events say.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) call: Call,
    pub(crate) raw: String,
    /// It was started, and neither a result nor a question came.
    started: bool,
    /// A question without an answer on record.
    open: Option<Open>,
    /// Questions without one that were asked while the tool ran.
    live: Vec<Open>,
    /// Secrets that were typed, and are gone.
    secrets: Vec<Question>,
    /// Permission prompts, their hashes, and whether they showed a change of a file.
    permissions: Vec<(PromptId, String, bool)>,
    /// The last permission prompt is not settled.
    permission_open: bool,
    /// How it must end, although its result is not on record.
    ended: Option<(ResultReason, String)>,
    held: Option<(CallEnd, ToolOutput)>,
    delivery: Option<PromptId>,
    delivered: Option<bool>,
    done: Option<(CallEnd, String)>,
    untouched: bool,
}

#[derive(Clone, Debug)]
struct Open {
    pair: String,
    question: Question,
    prompt: Option<PromptId>,
    /// The same question had no answer when this one was asked.
    before: Option<Declined>,
}

/// Where a call goes on.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nowhere: it is done.
    Done,
    /// From the beginning.
    Begin,
    /// From its preparation, with what is known.
    Prepare,
    /// With a secret that is gone.
    AskAgain(Question),
    /// With a prompt that waited for a person.
    Show(PromptId),
    /// With a question whose inquiry was cut off, or that nobody saw to yet.
    Consider(Box<Waiting>, Option<Declined>),
}

impl Past {
    pub(crate) fn new(event: &Event) -> Option<Self> {
        let Event::ToolCall {
            call,
            id,
            name,
            arguments,
            ..
        } = event
        else {
            return None;
        };
        let mut call = Call::new(*call, id.clone(), name.clone());
        call.arguments = parse_arguments(arguments).unwrap_or(Value::Null);
        Some(Self {
            call,
            raw: arguments.clone(),
            started: false,
            open: None,
            live: Vec::new(),
            secrets: Vec::new(),
            permissions: Vec::new(),
            permission_open: false,
            ended: None,
            held: None,
            delivery: None,
            delivered: None,
            done: None,
            untouched: true,
        })
    }

    pub(crate) fn key(&self) -> CallKey {
        self.call.key
    }

    /// Takes in an event of this call.
    pub(crate) fn read(&mut self, event: &Event) {
        self.untouched = false;
        match event {
            Event::CallStarted { run, .. } => {
                self.call.runs = *run;
                self.started = true;
            }
            Event::InquiryRequest {
                id, question, live, ..
            } => {
                self.started = self.started && *live;
                self.call.asked += 1;
                let (pair, question) = (id.clone(), question.clone());
                let open = Open {
                    pair,
                    question,
                    prompt: None,
                    before: None,
                };
                if *live {
                    self.live.push(open);
                } else {
                    self.open = Some(open);
                }
            }
            Event::InquiryResponse { id, response, .. } => self.read_response(id, response),
            Event::PromptOpened {
                prompt, subject, ..
            } => match subject {
                PromptSubject::Question { inquiry } => {
                    let mut open = self.open.iter_mut().chain(&mut self.live);
                    if let Some(open) = open.find(|open| open.pair == *inquiry) {
                        open.prompt = Some(prompt.clone());
                    }
                }
                PromptSubject::RunTool { hash, diff, .. } => {
                    self.permissions.push((prompt.clone(), hash.clone(), *diff));
                    self.permission_open = true;
                }
                PromptSubject::DeliverResult => self.delivery = Some(prompt.clone()),
            },
            Event::PromptClosed { prompt, closed } => self.read_closed(prompt, closed),
            Event::ToolResult {
                end,
                content,
                held: true,
                details,
                ..
            } => {
                self.started = false;
                let details = details.clone();
                let output = ToolOutput {
                    details,
                    ..ToolOutput::text(content.clone())
                };
                self.held = Some((end.clone(), output));
            }
            Event::ToolResult { end, content, .. } => {
                self.done = Some((end.clone(), content.clone()));
            }
            _ => {}
        }
    }

    /// What the turn knows of the question that was just asked.
    pub(crate) fn note_before(&mut self, memory: &Memory) {
        if let Some(open) = &mut self.open {
            open.before = memory.declined(&self.call.tool, &open.question).cloned();
        }
    }

    fn read_response(&mut self, pair: &str, response: &InquiryResponse) {
        if let Some(at) = self.live.iter().position(|open| open.pair == pair) {
            let Open { question, .. } = self.live.remove(at);
            if !matches!(response, InquiryResponse::Cancelled { .. }) {
                self.count_answer(question);
            }
            return;
        }
        let Some(Open { question, .. }) = self.open.take() else {
            return;
        };
        match response {
            InquiryResponse::Answered { answer, .. } => {
                self.call.answers.retain(|(id, _)| *id != question.id);
                self.call
                    .answers
                    .push((question.id.clone(), Answer::Value(answer.clone())));
                self.count_answer(question);
            }
            InquiryResponse::Redacted { .. } => {
                self.count_answer(question.clone());
                self.secrets.retain(|known| known.id != question.id);
                self.secrets.push(question);
            }
            InquiryResponse::Cancelled { reason, .. } => {
                let end = if *reason == Reason::Withdrawn {
                    ResultReason::Cancelled
                } else {
                    ResultReason::Unanswered
                };
                self.ended = Some((end, lost_text(&self.call.tool, &question, response)));
            }
        }
    }

    fn count_answer(&mut self, question: Question) {
        match self
            .call
            .answered
            .iter_mut()
            .find(|(known, _)| known.is_same(&question))
        {
            Some((_, times)) => *times += 1,
            None => self.call.answered.push((question, 1)),
        }
    }

    fn read_closed(&mut self, prompt: &PromptId, closed: &Closed) {
        if self.delivery.as_ref() == Some(prompt) {
            self.read_delivery(closed);
        } else {
            self.permission_open = false;
            self.read_permission(prompt, closed);
        }
    }

    fn read_delivery(&mut self, closed: &Closed) {
        let tool = &self.call.tool;
        self.ended = match closed {
            Closed::Delivered { deliver, .. } => {
                self.delivered = Some(*deliver);
                return;
            }
            // Nobody allowed it: it is asked anew.
            Closed::Permitted { .. } | Closed::Unknown { .. } => {
                self.delivery = None;
                return;
            }
            Closed::Declined { note, .. } => {
                let text = told::withheld(tool, note.as_deref());
                Some((ResultReason::Withheld, text))
            }
            Closed::Withdrawn => Some((ResultReason::Cancelled, told::CANCELLED.into())),
            Closed::Failed { why } => {
                Some((ResultReason::PromptFailed, told::not_shown(tool, why)))
            }
        };
    }

    fn read_permission(&mut self, prompt: &PromptId, closed: &Closed) {
        let tool = &self.call.tool;
        let mut permissions = self.permissions.iter();
        let hash = permissions.find(|(id, ..)| id == prompt);
        match closed {
            Closed::Permitted {
                permission: Permission::No,
                ..
            } => {
                let reason = ResultReason::Declined { noted: false };
                self.ended = Some((reason, told::not_allowed(tool, None)));
            }
            Closed::Permitted { new_text, .. } => {
                self.call.approved = hash.map(|(_, hash, _)| hash.clone());
                self.call.new_text.clone_from(new_text);
            }
            Closed::Declined { note, .. } => {
                let reason = ResultReason::Declined {
                    noted: note.is_some(),
                };
                self.ended = Some((reason, told::not_allowed(tool, note.as_deref())));
            }
            Closed::Failed { why } => {
                self.ended = Some((ResultReason::PromptFailed, told::not_shown(tool, why)));
            }
            // Nobody allowed it: it is prepared again, and asked anew.
            Closed::Withdrawn | Closed::Delivered { .. } | Closed::Unknown { .. } => {}
        }
    }

    /// The prompt is one of this call's `runTool` or `deliverResult` prompts.
    pub(crate) fn knows(&self, prompt: &PromptId) -> bool {
        self.delivery.as_ref() == Some(prompt) || self.permission(prompt).is_some()
    }

    /// The hash of a permission prompt, and whether it showed a change of a file.
    pub(crate) fn permission(&self, prompt: &PromptId) -> Option<(&str, bool)> {
        let (_, hash, diff) = self.permissions.iter().find(|(id, ..)| id == prompt)?;
        Some((hash, *diff))
    }

    /// The question of a pair that has no response yet.
    pub(crate) fn open_question(&self, pair: &str) -> Option<&Question> {
        self.open
            .iter()
            .chain(&self.live)
            .find(|open| open.pair == pair)
            .map(|open| &open.question)
    }

    /// Prompts that wait for a person.
    pub(crate) fn open_prompts(&self) -> Vec<PromptId> {
        if self.done.is_some() || self.ended.is_some() {
            return Vec::new();
        }
        let permission = self.permissions.last().filter(|_| self.permission_open);
        let question = self.open.as_ref();
        [
            permission.map(|(id, ..)| id.clone()),
            question.and_then(|open| open.prompt.clone()),
            self.delivery.clone().filter(|_| self.delivered.is_none()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// An answer to one of the open prompts, from a command line's text.
    pub(crate) fn parse(&self, prompt: &PromptId, text: &str) -> Result<PromptAnswer, String> {
        if let Some((_, diff)) = self.permission(prompt) {
            let offered = Permission::options(diff);
            let permission = Permission::of(text).filter(|known| offered.contains(known));
            let permission = permission.ok_or_else(|| {
                format!("it must be one of {}", Permission::words(diff).join(", "))
            })?;
            return Ok(PromptAnswer::value(permission.word()));
        }
        if self.delivery.as_ref() == Some(prompt) {
            return match text {
                "true" | "yes" => Ok(PromptAnswer::value(true)),
                "false" | "no" => Ok(PromptAnswer::value(false)),
                _ => Err("it must be true or false".into()),
            };
        }
        let question = self.open.as_ref().map(|open| &open.question);
        let value = question.map_or(Value::Null, |question| question.parse(text));
        match question.map(|question| question.accept(&value)) {
            Some(Ok(_)) => Ok(PromptAnswer::Answer {
                value: SecretValue(value),
                remember: false,
                new_text: None,
            }),
            Some(Err(misfit)) => Err(misfit.0),
            None => Err("it is not a question".into()),
        }
    }

    /// Where the call goes on. What is settled already is finished here.
    pub(crate) fn restore(self, cx: &mut Context) -> (Call, Next) {
        let mut call = self.call;
        if let Some((end, content)) = self.done {
            call.state = State::Done { end, content };
            return (call, Next::Done);
        }
        if !self.untouched {
            // Clients know nothing of what was shown before.
            call.tell_call(cx, false, &call.tool.clone());
        }
        if let Some((reason, text)) = self.ended {
            if reason.refuses_repetition() {
                cx.memory
                    .refuse(&call.tool, &call.arguments, reason.clone(), &text);
            }
            call.finish_aside(cx, reason, text);
            return (call, Next::Done);
        }
        if self.permission_open {
            let last = self.permissions.into_iter().next_back();
            call.permission = last.map(|(id, hash, _)| (id, hash));
        }
        if let Some((end, output)) = self.held {
            return restore_delivery(
                cx,
                call,
                Held { end, output },
                self.delivery,
                self.delivered,
            );
        }
        if self.started {
            for open in self.live {
                open.waiting(How::Inquiry).withdraw(cx, call.key);
            }
            let text = told::unknown_effects(&call.tool);
            call.finish_aside(cx, ResultReason::Interrupted, text);
            return (call, Next::Done);
        }
        if let Some(open) = self.open {
            return restore_question(cx, call, open);
        }
        if let Some(question) = self.secrets.into_iter().next() {
            return (call, Next::AskAgain(question));
        }
        let next = if self.untouched {
            Next::Begin
        } else {
            Next::Prepare
        };
        (call, next)
    }
}

impl Open {
    fn waiting(&self, how: How) -> Waiting {
        Waiting {
            pair: self.pair.clone(),
            question: self.question.clone(),
            live: None,
            how,
        }
    }
}

fn restore_delivery(
    cx: &mut Context,
    mut call: Call,
    held: Held,
    prompt: Option<PromptId>,
    delivered: Option<bool>,
) -> (Call, Next) {
    match (delivered, prompt) {
        (Some(true), _) => call.finish(cx, held.end, held.output),
        (Some(false), _) => {
            let text = told::withheld(&call.tool, None);
            call.finish_aside(cx, ResultReason::Withheld, text);
        }
        (None, None) => {
            call.ask_delivery(cx, held);
            return (call, Next::Done);
        }
        (None, Some(id)) => {
            let prompted = Prompted::new(id.clone(), cx.client.is_none(), cx.now);
            call.state = State::Delivery {
                prompted,
                held: Box::new(held),
            };
            return (call, Next::Show(id));
        }
    }
    (call, Next::Done)
}

fn restore_question(cx: &mut Context, mut call: Call, open: Open) -> (Call, Next) {
    let Some(id) = open.prompt.clone() else {
        let waiting = open.waiting(How::Inquiry);
        call.state = State::Asking(waiting.clone());
        return (call, Next::Consider(Box::new(waiting), open.before));
    };
    let parked = !crate::ask::can_show(cx, &open.question);
    let prompted = Prompted::new(id.clone(), parked, cx.now);
    call.state = State::Asking(open.waiting(How::Prompt(prompted)));
    (call, Next::Show(id))
}

/// What the model is told of a question that has no answer, from its record.
pub(crate) fn lost_text(tool: &str, question: &Question, response: &InquiryResponse) -> String {
    let InquiryResponse::Cancelled {
        reason,
        backend,
        note,
        why,
        ..
    } = response
    else {
        return String::new();
    };
    if *backend == Some(Word::Known(Backend::Inquiry)) {
        return told::inquiry_failed(why.as_deref().unwrap_or("unknown"));
    }
    told::unanswered(tool, &question.id, reason, why.as_deref(), note.as_deref())
}

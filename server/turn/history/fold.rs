//! Folds the events of a turn, one after another.

use std::collections::BTreeMap;

use super::{
    CallDetails, CallHistory, CallState, FailedQuestion, Progress, PromptHistory, PromptState,
    QuestionHistory, QuestionState, RecordedAnswer, RecordedResult, RefusedCall, TurnHistory,
    TurnMemory,
};
use crate::{
    model::response::{Finish, Usage},
    question::{Question, Source},
    record::{
        By, CallEnd, CallKey, Closed, DirectiveKind, Event, InquiryResponse, Permission, PromptId,
        PromptSubject, Reason,
    },
};

impl TurnHistory {
    /// Applies the next event of the turn.
    pub fn apply(&mut self, event: &Event) {
        self.standing.apply(event);
        self.context = event.context().or(self.context);
        match event {
            Event::RequestSent { step } => self.begin_step(*step),
            Event::Text { text, .. } => {
                self.begin_response();
                self.text.push_str(text);
            }
            Event::Reasoning { .. } => self.begin_response(),
            Event::ToolCall {
                call,
                id,
                name,
                arguments,
                ..
            } => {
                self.begin_response();
                self.propose(*call, id, name, arguments);
            }
            Event::ResponseEnd { finish, usage } => self.end_response(finish.as_ref(), usage),
            Event::Steer { .. } => {
                self.steered = true;
                self.memory.lift();
                self.repetition.lift();
                self.owe();
            }
            Event::Directive { kind, .. } => {
                self.direct(kind);
                self.owe();
            }
            Event::CallStarted { call, run, title } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.start(*run, title);
                }
            }
            Event::PromptOpened {
                prompt,
                call,
                subject,
            } => self.open_prompt(prompt, *call, subject),
            Event::PromptClosed { prompt, closed } => self.close_prompt(prompt, closed),
            Event::InquiryRequest {
                id,
                call,
                source,
                question,
                label,
                live,
            } => {
                self.ask(id, *call, source, question, *live);
                if let Some(asked) = self.questions.get_mut(id) {
                    asked.label.clone_from(label);
                }
            }
            Event::InquiryResponse { id, response, .. } => self.answer(id, response),
            Event::ToolResult {
                call,
                end,
                content,
                summary,
                held,
                details,
                media,
            } => {
                if *held {
                    if let Some(call) = self.open_call(*call) {
                        let result = RecordedResult {
                            content: content.clone(),
                            summary: summary.clone(),
                            details: details.clone(),
                            media: media.clone(),
                        };
                        call.hold(end, result);
                    }
                } else {
                    self.finish(*call, end, content);
                }
            }
            Event::Learned { model, refuses } => {
                self.learned.push((model.clone(), refuses.clone()));
            }
            Event::Compacted { usage, .. } => {
                self.usage.count(usage);
                // What the summary left out has to be looked up again.
                self.repetition.lift();
            }
            Event::Spent { usage } => self.usage.count(usage),
            Event::TurnStart
            | Event::UserMessage { .. }
            | Event::LateAnswer { .. }
            | Event::CompactionUndone { .. }
            | Event::CompactionFailed { .. }
            | Event::OutputsCleared { .. }
            | Event::Notice { .. }
            | Event::TurnEnd { .. } => {}
        }
        self.applied += 1;
    }

    /// Begins a step with its request. Calls of a response without an end are ignored from here on, and details that
    /// only the last step needed are dropped.
    fn begin_step(&mut self, step: u32) {
        self.repetition.next_step();
        for key in std::mem::take(&mut self.step_calls) {
            if let Some(call) = self.calls.get_mut(&key) {
                call.details = None;
            }
        }
        self.step = step;
        self.text.clear();
        self.steered = false;
        self.progress = Progress::Requested;
    }

    /// Begins a response. A response without a request means that the request's line was lost. Calls without a result
    /// stay in their step, so that they get one.
    fn begin_response(&mut self) {
        if self.progress != Progress::Requested && self.open_calls().next().is_none() {
            self.begin_step(self.step.saturating_add(1));
        }
    }

    fn propose(&mut self, key: CallKey, id: &str, tool: &str, arguments: &str) {
        let details = CallDetails {
            arguments: arguments.to_owned(),
            ..CallDetails::default()
        };
        let call = CallHistory {
            key,
            id: id.into(),
            tool: tool.into(),
            title: "".into(),
            runs: 0,
            first: self.applied,
            state: CallState::Proposed,
            details: Some(Box::new(details)),
        };
        self.calls.insert(key, call);
        if !self.step_calls.contains(&key) {
            self.step_calls.push(key);
        }
    }

    fn end_response(&mut self, finish: Option<&Finish>, usage: &Usage) {
        for key in &self.step_calls {
            if let Some(call) = self.calls.get_mut(key)
                && call.state == CallState::Proposed
            {
                call.state = CallState::Made;
            }
        }
        self.usage.count(usage);
        self.force.retrying = false;
        let cut = matches!(finish, Some(Finish::MaxTokens | Finish::MalformedCall));
        if self.step_calls.is_empty() {
            self.cuts = if cut { self.cuts } else { 0 };
            self.progress = Progress::Answered {
                finish: finish.cloned(),
                owing: false,
            };
        } else {
            self.cuts = 0;
            self.empty = false;
            self.progress = Progress::Calls;
        }
    }

    /// Notes that the model has not seen everything.
    fn owe(&mut self) {
        if let Progress::Answered { owing, .. } = &mut self.progress {
            *owing = true;
        }
    }

    fn direct(&mut self, kind: &DirectiveKind) {
        match kind {
            DirectiveKind::Cut => self.cuts = self.cuts.saturating_add(1),
            DirectiveKind::Empty => self.empty = true,
            DirectiveKind::Repeats { .. } => self.repetition.warn(),
            DirectiveKind::SchemaRepair => self.schema_repair = true,
            DirectiveKind::Force { .. } => self.force.asked = Some(kind.clone()),
            DirectiveKind::ForceAgain { .. } => {
                self.force.asked_again = Some(kind.clone());
                self.force.retrying = true;
            }
            DirectiveKind::LeftOut { .. }
            | DirectiveKind::Lost { .. }
            | DirectiveKind::Undone { .. }
            | DirectiveKind::Moved
            | DirectiveKind::Other { .. } => {}
        }
    }

    fn open_prompt(&mut self, id: &PromptId, key: CallKey, subject: &PromptSubject) {
        self.last_prompt = self.last_prompt.max(id.number().unwrap_or(0));
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        match subject {
            PromptSubject::RunTool { title, .. } => {
                call.name(title);
                call.ask_permission(id);
            }
            PromptSubject::DeliverResult => call.ask_delivery(id),
            PromptSubject::Question { inquiry } => {
                let Some(asked) = self.questions.get_mut(inquiry) else {
                    return;
                };
                asked.prompt = Some(id.clone());
                if asked.is_open() {
                    asked.state = QuestionState::Prompted(id.clone());
                }
            }
        }
        let first = self
            .prompts
            .get(id)
            .map_or(self.applied, |known| known.first);
        let prompt = PromptHistory {
            call: key,
            subject: subject.clone(),
            state: PromptState::Open,
            first,
            last: self.applied,
        };
        self.prompts.insert(id.clone(), prompt);
    }

    fn close_prompt(&mut self, id: &PromptId, closed: &Closed) {
        let Some(prompt) = self.prompts.get_mut(id) else {
            return;
        };
        prompt.state = PromptState::of(&prompt.subject, closed);
        prompt.last = self.applied;
        let Some(call) = self.calls.get_mut(&prompt.call) else {
            return;
        };
        match &prompt.subject {
            PromptSubject::RunTool { hash, diff, .. } => {
                call.permission_closed(id, hash, closed);
                match (&prompt.state, diff) {
                    (PromptState::Permitted(Permission::Turn), true) => self.memory.permit_edits(),
                    (PromptState::Permitted(Permission::Turn | Permission::Always), false) => {
                        self.memory.permit(hash)
                    }
                    _ => {}
                }
            }
            PromptSubject::DeliverResult => call.delivery_closed(id, closed),
            PromptSubject::Question { .. } => {}
        }
    }

    fn ask(&mut self, id: &str, key: CallKey, source: &Source, question: &Question, live: bool) {
        self.memory.count_pair(id);
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        call.ask(id, live);
        let asked = QuestionHistory {
            call: key,
            source: source.clone(),
            question: question.clone(),
            label: None,
            live,
            before: self.memory.failed(&call.tool, question).cloned(),
            prompt: None,
            state: QuestionState::Open,
        };
        self.questions.insert(id.to_owned(), asked);
    }

    fn answer(&mut self, id: &str, response: &InquiryResponse) {
        if let InquiryResponse::Answered {
            effort: Some(effort),
            ..
        }
        | InquiryResponse::Cancelled {
            effort: Some(effort),
            ..
        } = response
        {
            self.usage.count(&effort.usage);
        }
        let Some(asked) = self.questions.get_mut(id).filter(|asked| asked.is_open()) else {
            return;
        };
        if let QuestionState::Prompted(prompt) = &asked.state
            && let Some(prompt) = self.prompts.get_mut(prompt)
        {
            prompt.state = PromptState::of_question(response);
            prompt.last = self.applied;
        }
        asked.state = response.into();
        let Some(call) = self.calls.get_mut(&asked.call) else {
            return;
        };
        match &asked.state {
            QuestionState::Answered {
                answer,
                by,
                remember,
            } => {
                if *by == By::User && *remember {
                    self.memory.remember(&call.tool, &asked.question.id, answer);
                }
                let answer = RecordedAnswer::Value(answer.clone());
                call.answered(id, &asked.question, answer);
            }
            QuestionState::Secret => {
                let answer = RecordedAnswer::Gone(asked.question.clone());
                call.answered(id, &asked.question, answer);
            }
            QuestionState::Unanswered { reason, .. } => {
                call.unanswered(id, reason);
                if let Some(refusal) = reason.refusal() {
                    self.memory.count_refusal(RefusedCall {
                        call: asked.call,
                        tool: call.tool.to_string(),
                        arguments: call.arguments(),
                        reason: refusal,
                        question: Some(asked.question.id.clone()),
                        key: reason.refusing_key(&call.tool, &asked.question.id),
                        cause: None,
                    });
                }
                note_failure(&mut self.memory, &call.tool, asked);
            }
            QuestionState::Open | QuestionState::Prompted(_) => {}
        }
    }

    fn finish(&mut self, key: CallKey, end: &CallEnd, content: &str) {
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        let arguments = call.finish(end, content);
        let raw = call.details().map_or("", |details| &details.arguments);
        self.repetition
            .ended(&call.tool, (&arguments, raw), end, content);
        let Some(reason) = end.reason() else {
            return;
        };
        if let Some(refusal) = reason.refusal() {
            self.memory.count_refusal(RefusedCall {
                call: key,
                tool: call.tool.to_string(),
                arguments: arguments.clone(),
                reason: refusal,
                question: None,
                key: reason.refusing_key(&call.tool),
                cause: reason.cause().map(str::to_owned),
            });
        }
        if reason.refuses_repetition() {
            self.memory.refuse(&call.tool, arguments, reason);
        }
    }

    fn open_call(&mut self, key: CallKey) -> Option<&mut CallHistory> {
        open(&mut self.calls, key)
    }
}

/// The call with this key, unless it has its result or is ignored.
fn open(calls: &mut BTreeMap<CallKey, CallHistory>, key: CallKey) -> Option<&mut CallHistory> {
    calls.get_mut(&key).filter(|call| call.is_open())
}

/// Remembers a question without an answer.
fn note_failure(memory: &mut TurnMemory, tool: &str, asked: &QuestionHistory) {
    let QuestionState::Unanswered {
        reason,
        backend,
        why,
        note,
    } = &asked.state
    else {
        return;
    };
    // A person who left a note may be asked again.
    if *reason != Reason::Withdrawn && note.is_none() {
        memory.fail(FailedQuestion {
            tool: tool.to_owned(),
            question: asked.question.clone(),
            reason: reason.clone(),
            backend: backend.clone(),
            why: why.clone(),
        });
    }
}

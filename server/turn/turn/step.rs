//! One step of the turn: a response, its end, and its calls.

use serde_json::Value;

use crate::{
    call::Call,
    context::Context,
    effect::{Effect, Sending, Update},
    input::PromptAnswer,
    inquiry::{self, InquiryOutcome},
    model::response::{Failure, FailureClass, Feature, Finish, Item, Kind, Piece, Response},
    record::{CallKey, DirectiveKind, ErrorCode, Event, Level, Outcome, PromptId, TurnError},
    rules::{LeftOut, limits},
    turn::{Conclusion, Phase, Turn},
};

impl Turn {
    pub(crate) fn piece(&mut self, piece: Piece) {
        let Phase::Streaming(streaming) = &mut self.phase else {
            return;
        };
        streaming.began = true;
        if let Piece::Finish(finish) = piece {
            let response = std::mem::take(&mut streaming.response);
            return self.response_ended(response, finish);
        }
        let step = self.cx.step;
        if let Piece::Delta { slot, text } = &piece {
            let update = match streaming
                .response
                .items
                .get(*slot as usize)
                .map(|item| &item.kind)
            {
                Some(Kind::Text) => Some(Update::Text {
                    step,
                    text: text.clone(),
                }),
                Some(Kind::Reasoning) => Some(Update::Reasoning {
                    step,
                    text: text.clone(),
                }),
                _ => None,
            };
            if let Some(update) = update {
                streaming.shown = true;
                self.cx.tell(update);
            }
        }
        streaming.response.add(piece);
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        let Phase::Streaming(streaming) = &mut self.phase else {
            return;
        };
        let began = streaming.began || failure.class == FailureClass::Broken;
        self.cx.pay_broken(streaming.response.usage, began);
        let (step, shown) = (self.cx.step, streaming.shown);
        let discard_step = shown.then_some(step);
        if let Some((attempt, after)) =
            streaming
                .retries
                .next(failure, &self.cx.rules.limits, self.cx.now)
        {
            streaming.backoff = Some(self.cx.now + after);
            (streaming.shown, streaming.began) = (false, false);
            streaming.response = Response::default();
            self.retried_for = Some(failure.sentence());
            return self.cx.tell(Update::Retry {
                attempt,
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                reason: failure.text.clone(),
                discard_step,
            });
        }
        if let FailureClass::Refused(feature) = failure.class {
            let (sending, retries) = (streaming.sending.clone(), streaming.retries);
            let model = self.cx.rules.model.id.clone();
            if inquiry::learn(&mut self.cx, &model, feature) {
                // Where a tool is no longer forced, the request goes out with a directive.
                return match self.sending_without(feature, sending) {
                    Some(sending) => self.stream(sending, retries),
                    None => self.request(),
                };
            }
        }
        if let FailureClass::RefusedParts(parts) = &failure.class {
            let (sending, retries) = (streaming.sending.clone(), streaming.retries);
            if self.does_without(parts, &failure.sentence()) {
                let announced = parts.iter().any(|part| matches!(part, LeftOut::Tool(_)));
                // What the model is told of goes out with a request of its own.
                return if announced {
                    self.request()
                } else {
                    self.stream(sending, retries)
                };
            }
        }
        let error = TurnError::new(ErrorCode::of(&failure.class), failure.sentence());
        self.conclude(Conclusion::failed(self.advised(error)));
    }

    /// The error, with what helps against a full context window whose size nobody told.
    pub(crate) fn advised(&self, error: TurnError) -> TurnError {
        let model = &self.cx.rules.model;
        if error.code != ErrorCode::ContextFull || model.context_window.is_some() {
            return error;
        }
        let text = error.message.trim_end_matches('.');
        let text = format!(
            "{text}; nobody says how large that of {} is: set its `context_window` in the configuration, so that \
             conversations are summarised in time.",
            model.id
        );
        TurnError::new(error.code, text)
    }

    /// Leaves out what the model refused by name, unless the turn is about that very tool.
    pub(crate) fn does_without(&mut self, parts: &[LeftOut], why: &str) -> bool {
        let forced = self.force.tool().map(LeftOut::Tool);
        if forced.is_some_and(|forced| parts.contains(&forced)) {
            return false;
        }
        let model = self.cx.rules.model.id.clone();
        inquiry::leave_out(&mut self.cx, &model, parts, why)
    }

    /// Options of the same request without the feature that the model just refused; none where that is a force, which is
    /// soft from here on.
    pub(crate) fn sending_without(&self, feature: Feature, sending: Sending) -> Option<Sending> {
        let model = &self.cx.rules.model;
        match feature {
            Feature::ForcedTool | Feature::ForcedWhileReasoning => None,
            // Reasoning was turned off for this request, so that a tool could be forced.
            Feature::ReasoningOff if model.reasoning && !sending.reasoning => Some(Sending {
                directive: sending.directive,
                ..self.force.retry(model)
            }),
            _ => Some(Sending {
                reasoning: sending.reasoning && model.reasoning,
                ..sending
            }),
        }
    }

    fn response_ended(&mut self, response: Response, finish: Finish) {
        self.retried_for = None;
        self.cx.usage.count(&response.usage);
        self.note_context(&response.usage);
        if let Some(error) = taken_back(&finish, &self.cx.rules.model.id) {
            self.cx.record(Event::ResponseEnd {
                finish: Some(finish),
                usage: response.usage,
            });
            return self.conclude(Conclusion::failed(self.advised(error)));
        }
        // A finish with an open call is malformed.
        let cut =
            matches!(finish, Finish::MaxTokens | Finish::MalformedCall) || response.has_open_call();
        let calls: Vec<Item> = response.complete_calls().cloned().collect();
        let finish = if cut && finish != Finish::MaxTokens && calls.is_empty() {
            Finish::MalformedCall
        } else {
            finish
        };
        // Nobody takes reasoning back that nothing followed.
        let says = finish == Finish::Pause || !response.text().trim().is_empty();
        let keep_reasoning = !calls.is_empty() || !cut && says;
        let first = self.cx.history.next_call();
        self.record_response(&response, keep_reasoning, Some(finish.clone()));
        if !calls.is_empty() {
            return self.begin_calls(first, &calls);
        }
        if cut {
            return self.was_cut();
        }
        if finish == Finish::Pause {
            return self.request();
        }
        self.answered(response.text());
    }

    /// Records the complete items of a response before any call runs, and its end last.
    fn record_response(&mut self, response: &Response, reasoning: bool, finish: Option<Finish>) {
        let mut key = self.cx.history.next_call();
        for item in &response.items {
            let (text, opaque) = (item.text.clone(), item.opaque.clone());
            match &item.kind {
                Kind::Text if !text.is_empty() || opaque.is_some() => {
                    self.cx.record(Event::Text { text, opaque });
                }
                Kind::Reasoning | Kind::Compaction | Kind::Opaque if reasoning && item.complete => {
                    self.cx.record(Event::Reasoning { text, opaque });
                }
                Kind::ToolCall { id, name } if item.complete => {
                    self.cx.record(Event::ToolCall {
                        call: key,
                        id: id.clone(),
                        name: name.clone(),
                        arguments: text,
                        opaque,
                    });
                    key = CallKey(key.0.saturating_add(1));
                }
                _ => {}
            }
        }
        let usage = response.usage;
        self.cx.record(Event::ResponseEnd { finish, usage });
    }

    /// Records a response that was cancelled: text stays, also if incomplete; unfinished reasoning and all calls go.
    pub(crate) fn keep_partial(&mut self) -> Option<String> {
        let Phase::Streaming(streaming) = &mut self.phase else {
            return None;
        };
        let mut response = std::mem::take(&mut streaming.response);
        // A request that waits for its retry has been counted.
        response.usage.partial |= streaming.backoff.is_none();
        self.cx.usage.count(&response.usage);
        let text = response.text();
        // Complete reasoning belongs to the text after it and is dropped without one.
        let kept = |item: &Item| match item.kind {
            Kind::Text => true,
            Kind::Reasoning | Kind::Compaction | Kind::Opaque => item.complete && !text.is_empty(),
            Kind::ToolCall { .. } => false,
        };
        response.items.retain(kept);
        self.record_response(&response, true, None);
        Some(text).filter(|text| !text.is_empty())
    }

    pub(crate) fn was_cut(&mut self) {
        if self.cx.history.cuts() >= limits::CUTS_IN_A_ROW {
            return self.conclude(Conclusion::failed(TurnError::new(
                ErrorCode::CutOff,
                "The model's responses were cut off three times in a row; ask for less at once.",
            )));
        }
        self.cx.record(Event::Directive {
            kind: DirectiveKind::Cut,
            text: self.cx.text().directive(&DirectiveKind::Cut, ""),
        });
        self.cx.notice(
            Level::Warning,
            "The response was cut off; the model is asked to go on.",
        );
        self.request();
    }

    /// Asks once more after a response with neither text nor a call.
    fn was_empty(&mut self) {
        if self.cx.history.is_empty_again() {
            let model = &self.cx.rules.model.id;
            let text = format!(
                "{model} answered nothing, neither text nor a call, also when it was asked once more; send the \
                 message again, or choose another model."
            );
            return self.conclude(Conclusion::failed(TurnError::new(ErrorCode::Empty, text)));
        }
        let kind = DirectiveKind::Empty;
        let text = self.cx.text().directive(&kind, "");
        self.cx.record(Event::Directive { kind, text });
        self.cx.notice(
            Level::Warning,
            "The model answered nothing; it is asked once more.",
        );
        self.request();
    }

    /// Begins the calls of a response; `first` is the key of the first one.
    fn begin_calls(&mut self, first: CallKey, items: &[Item]) {
        self.phase = Phase::Calls;
        for (place, item) in items.iter().enumerate() {
            let Kind::ToolCall { id, name } = &item.kind else {
                continue;
            };
            let key = CallKey(
                first
                    .0
                    .saturating_add(u32::try_from(place).unwrap_or(u32::MAX)),
            );
            self.force.called(name);
            self.calls.push(Call::new(key, id.clone(), name.clone()));
        }
        for (place, item) in items.iter().enumerate() {
            self.calls[place].begin(&mut self.cx, &item.text, place);
        }
    }

    /// Takes a response without calls as the answer, unless the model has not seen everything.
    pub(crate) fn answered(&mut self, text: String) {
        if self.cx.history.is_steered() {
            return self.request();
        }
        if self
            .force
            .is_missed(&self.cx.rules.model, self.cx.history.force())
        {
            let sending = self.force.retry(&self.cx.rules.model);
            return self.send(sending);
        }
        if text.trim().is_empty() && !self.cx.rules.schema {
            return self.was_empty();
        }
        if self.cx.rules.schema {
            self.cx.perform(Effect::Check(text.clone()));
            self.phase = Phase::Checking { text };
            return;
        }
        self.conclude(Conclusion {
            answer: Some(text),
            ..Conclusion::of(Outcome::Completed)
        });
    }

    pub(crate) fn checked(&mut self, checked: Result<Value, String>) {
        let Phase::Checking { text } = &self.phase else {
            return;
        };
        let answer = Some(text.clone());
        match checked {
            _ if self.cx.history.is_steered() => self.request(),
            Ok(value) => self.conclude(Conclusion {
                answer,
                structured: Some(value),
                ..Conclusion::of(Outcome::Completed)
            }),
            Err(why) if !self.cx.history.schema_repair() => {
                let kind = DirectiveKind::SchemaRepair;
                let text = self.cx.text().directive(&kind, &why);
                self.cx.record(Event::Directive { kind, text });
                self.request();
            }
            Err(why) => {
                let text =
                    format!("The answer does not fit the schema, also after one repair: {why}.");
                let error = TurnError::new(ErrorCode::Schema, text);
                self.conclude(Conclusion {
                    answer,
                    ..Conclusion::failed(error)
                });
            }
        }
    }

    /// Starts calls that may run, as far as there are free slots.
    pub(crate) fn start_ready(&mut self) {
        let running = |call: &&Call| call.is_running();
        let mut free = self
            .cx
            .rules
            .limits
            .tools_at_once
            .saturating_sub(self.calls.iter().filter(running).count());
        for call in &mut self.calls {
            if free == 0 {
                break;
            }
            if call.is_ready() {
                call.run(&mut self.cx);
                free -= 1;
            }
        }
    }

    /// Takes the answer to a prompt.
    pub(crate) fn answer(&mut self, prompt: PromptId, answer: PromptAnswer) {
        let mut calls = self.calls.iter_mut();
        let Some(call) = calls.find_map(|call| call.has_open_prompt(&prompt).then_some(call))
        else {
            return self.late(prompt, &answer);
        };
        call.answer_with(&mut self.cx, &prompt, answer, false);
    }

    /// Records an answer that came too late. A client that only took the prompt off its screen gave none.
    pub(crate) fn late(&mut self, prompt: PromptId, answer: &PromptAnswer) {
        if !matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_)) {
            self.cx.record(Event::LateAnswer { prompt });
        }
    }

    /// Closes open prompts for a question that a person just answered for the rest of the turn.
    pub(crate) fn spread_remembered(&mut self) {
        for (tool, question) in std::mem::take(&mut self.cx.newly_remembered) {
            for call in self.calls.iter_mut().filter(|call| call.tool() == tool) {
                call.take_remembered(&mut self.cx, &question);
            }
        }
    }

    /// Decides open permissions again after a person allowed more.
    pub(crate) fn spread_permission(&mut self) {
        if std::mem::take(&mut self.cx.widened) {
            for call in &mut self.calls {
                call.permit_again(&mut self.cx);
            }
        }
    }

    /// Continues prepared calls. New ones continue in call order, so that a person is asked about the first one first.
    pub(crate) fn take_prepared(&mut self) {
        loop {
            let first = self.calls.iter().find(|call| call.is_new()).map(Call::key);
            let is_next = |key: CallKey| first.is_none_or(|first| key <= first);
            let Some(at) = self.prepared.iter().position(|(key, _)| is_next(*key)) else {
                return;
            };
            let (key, preparation) = self.prepared.remove(at);
            self.with_call(key, |call, cx| call.prepared(cx, preparation));
        }
    }

    pub(crate) fn settle(&mut self, settled: Vec<InquiryOutcome>) {
        for outcome in settled {
            self.with_call(outcome.call, |call, cx| call.inquired(cx, outcome));
        }
    }

    pub(crate) fn with_call(&mut self, key: CallKey, act: impl FnOnce(&mut Call, &mut Context)) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.key() == key) {
            act(call, &mut self.cx);
        }
    }
}

/// The error of a response that the provider withdrew.
pub(crate) fn taken_back(finish: &Finish, model: &str) -> Option<TurnError> {
    let (code, text) = match finish {
        Finish::Refusal => (
            ErrorCode::Refused,
            "refused to go on; ask in another way, or choose another model",
        ),
        Finish::ContentFilter => (
            ErrorCode::Refused,
            "was stopped by its provider's content filter; ask in another way, or choose another model",
        ),
        Finish::ContextFull => (
            ErrorCode::ContextFull,
            "has no room left for this conversation in its context window; send `/compact`, start a new one, or fork an \
             earlier turn",
        ),
        _ => return None,
    };
    Some(TurnError::new(code, format!("{model} {text}.")))
}

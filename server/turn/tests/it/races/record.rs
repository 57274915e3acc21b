//! What may go on record, and when.

use aside_turn::{
    Event,
    record::{
        CallEnd, CallKey, Closed, Outcome, Permission, PromptId, PromptSubject, ResultReason,
        Status,
    },
    response::{Feature, Finish},
    rules::{DetachedMode, ResultRule},
};
use serde_json::Value;

use super::{
    checker::Checker,
    seen::{CallSeen, PromptSeen, Said},
};

impl Checker {
    /// An event went on record.
    pub(crate) fn recorded(&mut self, event: &Event) {
        if let Event::CompactionFailed { model, .. } = event
            && self.transcript.fullness().is_given_up(model)
        {
            self.fail(format!(
                "{model} is asked for a summary that it cannot give"
            ));
        }
        self.transcript.push(event);
        self.turn.events += 1;
        match event {
            Event::RequestSent { step } => {
                self.turn.summarised = false;
                self.request_sent(*step);
            }
            Event::ToolCall {
                call,
                id,
                name,
                arguments,
                ..
            } => {
                let seen = CallSeen::new(self.turn.events, id, name, arguments);
                self.turn.fresh.push((*call, seen));
            }
            Event::ResponseEnd { finish, .. } => self.response_ended(finish.as_ref()),
            Event::Steer { .. } => {
                self.turn.declined.clear();
                self.turn.refused.clear();
                self.turn.owing = true;
                self.counts.add("steered");
            }
            Event::Directive { text, .. } => self.directive(text),
            Event::CallStarted { call, run, .. } => self.call_started(*call, *run),
            Event::PromptOpened {
                prompt,
                call,
                subject,
            } => self.prompt_opened(prompt, *call, subject),
            Event::PromptClosed { prompt, closed } => self.prompt_closed(prompt, closed),
            Event::InquiryRequest {
                id,
                call,
                question,
                live,
                ..
            } => self.asked(id, *call, question, *live),
            Event::InquiryResponse { id, call, response } => self.settled(id, *call, response),
            Event::ToolResult {
                call,
                end,
                content,
                held,
                ..
            } => self.result(*call, end, content, *held),
            Event::TurnEnd { outcome, .. } => self.turn_ended(*outcome),
            Event::Compacted { .. } => {
                self.counts.add("summary on record");
                if std::mem::replace(&mut self.turn.summarised, true) {
                    self.fail("summarised twice without a request in between".into());
                }
            }
            Event::Learned { model, refuses } => {
                let feature = refuses.known().expect("a known word");
                let new = self.rules.refuse(model, feature);
                if !new {
                    self.fail(format!("{model} was known to refuse {refuses}"));
                }
                self.counts.add(match feature {
                    Feature::ForcedTool => "forced tools unlearned",
                    _ => "another feature unlearned",
                });
            }
            Event::LateAnswer { .. } if self.life.end.is_some() => {
                self.counts.add("late answer after the end");
            }
            Event::LateAnswer { .. } => self.counts.add("late answer"),
            _ => {}
        }
    }

    fn directive(&mut self, text: &str) {
        self.turn.owing = true;
        if text.starts_with("Call ") {
            self.counts.add("forced softly");
        } else if text.starts_with("You answered without") {
            self.counts.add("forced softly, asked twice");
        } else if text.starts_with("Your answer does not fit") {
            self.counts.add("schema repaired");
        }
    }

    fn request_sent(&mut self, step: u32) {
        let open = self.turn.unfinished().next().map(|(key, _)| *key);
        if let Some(key) = open {
            return self.fail(format!("a request goes out although {key:?} is open"));
        }
        let turn = &mut self.turn;
        turn.fresh.clear();
        turn.step = step;
        turn.answered = false;
        turn.owing = false;
    }

    fn response_ended(&mut self, finish: Option<&Finish>) {
        self.turn.answered = true;
        self.turn.paused = finish == Some(&Finish::Pause);
        self.turn.lost = matches!(
            finish,
            Some(Finish::Refusal | Finish::ContentFilter | Finish::ContextFull)
        );
        if self.turn.paused {
            self.counts.add("response paused");
        }
        if matches!(finish, Some(Finish::MaxTokens | Finish::MalformedCall)) {
            self.counts.add("response cut");
        }
        self.turn.called = !self.turn.fresh.is_empty();
        let fresh = std::mem::take(&mut self.turn.fresh);
        for (place, (key, mut call)) in fresh.into_iter().enumerate() {
            call.place = place;
            if self.turn.calls.values().any(|known| known.id == call.id) {
                self.counts.add("call id used twice");
            }
            if self.turn.calls.insert(key, call).is_some() {
                self.fail(format!("two calls are {key:?}"));
            }
        }
    }

    fn call_started(&mut self, key: CallKey, run: u32) {
        let prompt = self.turn.prompt_of(key).cloned();
        let Some(call) = self.turn.calls.get_mut(&key) else {
            return self.fail(format!("{key:?} starts before its response is whole"));
        };
        let wrong = if call.done.is_some() {
            "it has its result"
        } else if call.lost {
            "what its last run did is unknown"
        } else if !call.open.is_empty() {
            "it waits for an answer"
        } else if prompt.is_some() {
            "it waits for a person"
        } else if run != call.runs + 1 {
            "its runs are miscounted"
        } else {
            call.runs = run;
            call.in_run = true;
            call.to_run = true;
            call.answered = false;
            return;
        };
        self.fail(format!("{key:?} starts although {wrong}"));
    }

    fn prompt_opened(&mut self, prompt: &PromptId, key: CallKey, subject: &PromptSubject) {
        let is_early = self
            .life
            .preparing
            .first()
            .is_some_and(|first| *first < key);
        if is_early && matches!(subject, PromptSubject::RunTool { .. }) {
            self.fail(format!("{key:?} is asked about before an earlier one"));
        }
        if self.call(key).is_none_or(|call| call.done.is_some()) {
            return self.fail(format!("a prompt for {key:?}, which is not open"));
        }
        if let Some(other) = self.turn.prompt_of(key)
            && !matches!(subject, PromptSubject::Question { .. })
        {
            return self.fail(format!("{key:?} waits on {} and {}", other.0, prompt.0));
        }
        if let PromptSubject::Question { inquiry } = subject {
            let Some(pair) = self.turn.pairs.get_mut(inquiry) else {
                return self.fail(format!("a prompt for {inquiry}, which nobody asked"));
            };
            pair.prompt = Some(prompt.clone());
            let (call, at, question) = (pair.call, pair.at, pair.question.clone());
            self.not_again(call, at, &question);
        }
        let seen = PromptSeen {
            call: key,
            subject: subject.clone(),
            closed: false,
            said: Vec::new(),
        };
        if self.turn.prompts.insert(prompt.clone(), seen).is_some() {
            self.fail(format!("two prompts are {}", prompt.0));
        }
    }

    fn prompt_closed(&mut self, prompt: &PromptId, closed: &Closed) {
        let Some(seen) = self.turn.prompts.get_mut(prompt) else {
            return self.fail(format!("{} closes and was never opened", prompt.0));
        };
        if seen.closed || matches!(seen.subject, PromptSubject::Question { .. }) {
            return self.fail(format!("{} closes twice", prompt.0));
        }
        seen.closed = true;
        let (call, subject, said) = (seen.call, seen.subject.clone(), seen.said.clone());
        match closed {
            Closed::Permitted {
                permission,
                new_text,
                shown,
            } => {
                if new_text.is_some() {
                    self.counts.add("text put in place");
                }
                let permission = permission.known().expect("one that this version knows");
                let spread = shown.is_none() && self.has_spread(&subject, permission);
                self.check_answer(prompt, closed, &said, spread);
                self.approve(call, &subject, permission);
            }
            Closed::Delivered { .. } => {
                self.check_answer(prompt, closed, &said, false);
            }
            Closed::Declined { .. } if !said.contains(&Said::No) => {
                self.fail(format!("nobody declined {}", prompt.0));
            }
            Closed::Failed { .. } if said.is_empty() => {
                self.fail(format!("{} failed by itself", prompt.0));
            }
            _ => {}
        }
    }

    /// A person gave this answer, or an approval for the rest of the turn spread to it.
    fn check_answer(&mut self, prompt: &PromptId, closed: &Closed, said: &[Said], spread: bool) {
        let answer = closed.answer().expect("an answer");
        let by_person = said.contains(&Said::Value(answer.clone()));
        if !by_person {
            self.counts.add("approval spread");
        }
        if !by_person && !spread {
            self.fail(format!("nobody answered {answer} to {}", prompt.0));
        }
    }

    fn has_spread(&self, subject: &PromptSubject, permission: Permission) -> bool {
        match subject {
            PromptSubject::RunTool { hash, .. } => {
                permission == Permission::Turn
                    && (self.turn.widened || self.turn.approved.contains(hash))
            }
            _ => false,
        }
    }

    fn approve(&mut self, call: CallKey, subject: &PromptSubject, permission: Permission) {
        let PromptSubject::RunTool { hash, diff, .. } = subject else {
            return;
        };
        match permission {
            Permission::No => return,
            Permission::Turn if *diff => self.turn.widened = true,
            Permission::Turn | Permission::Always => {
                self.turn.approved.insert(hash.clone());
            }
            Permission::Once => {}
        }
        if let Some(call) = self.turn.calls.get_mut(&call) {
            call.approved.push(hash.clone());
        }
    }

    fn result(&mut self, key: CallKey, end: &CallEnd, content: &str, held: bool) {
        let (status, reason) = (end.status(), end.reason());
        let prompt = self.turn.prompt_of(key).cloned();
        let Some(call) = self.turn.calls.get(&key) else {
            return self.fail(format!("a result of {key:?}, which is not there"));
        };
        if call.done.is_some() {
            return self.fail(format!("{key:?} ends twice"));
        }
        if !call.open.is_empty() || prompt.is_some() {
            return self.fail(format!(
                "{key:?} ends and still asks {:?} {prompt:?}",
                call.open
            ));
        }
        if call.lost && reason != Some(&ResultReason::Interrupted) {
            return self.fail(format!("{key:?} was cut off, and is told as {content}"));
        }
        if !held && !self.may_deliver(key, call, content) {
            return self.fail(format!(
                "{key:?} is delivered, and nobody allowed it: {content}"
            ));
        }
        let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
        let mut refused = self.turn.refused.iter();
        let again = refused.any(|(_, asker, with)| *asker == tool && *with == arguments);
        if status == Status::Denied && again {
            self.counts.add("refused again at once");
        }
        let declined = Some(&ResultReason::Declined { noted: false });
        if reason == declined && !again && !self.said_no(key) {
            return self.fail(format!("nobody refused {key:?}: {content}"));
        }
        if reason.is_some_and(ResultReason::refuses_repetition) {
            self.turn
                .refused
                .push((self.turn.events, tool.clone(), arguments));
        }
        if reason == Some(&ResultReason::Withheld) {
            self.counts.add("result withheld");
        }
        let Some(call) = self.turn.calls.get_mut(&key) else {
            return;
        };
        call.in_run = false;
        if held {
            call.held = Some(content.to_owned());
        } else {
            self.life.last_result = Some(key);
            call.done = Some((status, content.to_owned()));
        }
    }

    fn said_no(&self, key: CallKey) -> bool {
        let no = |said: &Said| *said == Said::No || *said == Said::Value("no".into());
        let mut prompts = self.turn.prompts.values();
        prompts.any(|prompt| prompt.call == key && prompt.said.iter().any(no))
    }

    /// What a tool itself said goes to the model only where it may.
    fn may_deliver(&self, key: CallKey, call: &CallSeen, content: &str) -> bool {
        let rules = self.rules.tools.get(&call.tool);
        if !content.starts_with("Result ") && call.held.as_deref() != Some(content) {
            return true;
        }
        let prompt =
            self.turn.prompts.values().find(|prompt| {
                prompt.call == key && prompt.subject == PromptSubject::DeliverResult
            });
        match prompt {
            Some(prompt) => prompt.said.contains(&Said::Value(Value::Bool(true))),
            None if self.closing => false,
            None => rules.is_some_and(|rules| {
                let alone = matches!(
                    rules.detached.deliver,
                    DetachedMode::Auto | DetachedMode::Defaults
                );
                rules.result == ResultRule::Unattended || (self.client.is_none() && alone)
            }),
        }
    }

    fn turn_ended(&mut self, outcome: Outcome) {
        self.turn.end = Some(outcome);
        if outcome == Outcome::Interrupted {
            return;
        }
        let call = self.turn.unfinished().next().map(|(key, _)| *key);
        let prompt = self.turn.open_prompts().into_iter().next();
        let pair = self.turn.pairs.iter().find(|(_, pair)| !pair.closed);
        if call.is_some() || prompt.is_some() || pair.is_some() {
            let pair = pair.map(|(id, _)| id);
            self.fail(format!(
                "the turn is over, open are {call:?} {prompt:?} {pair:?}"
            ));
        }
        if outcome == Outcome::Completed && self.turn.owing {
            self.fail("the turn is complete, and the model has not seen all of it".into());
        }
        if outcome == Outcome::Completed && self.turn.lost {
            self.fail("a response that the provider took back completes the turn".into());
        }
    }

    pub(crate) fn call(&self, key: CallKey) -> Option<&CallSeen> {
        self.turn.calls.get(&key)
    }
}

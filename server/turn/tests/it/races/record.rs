//! What may go on record, and when.

use aside_turn::{
    Event,
    event::{
        About, By, CallKey, Closed, InquiryResponse, Outcome, PromptId, Reason, Status,
    },
    permit::{self, Delivery},
    question::{Answer, Question},
    response::Finish,
    rules::{DetachedMode, Mode, ResultRule},
    told,
};
use serde_json::Value;

use super::{
    checker::Checker,
    count,
    seen::{CallSeen, PairSeen, PromptSeen, Said},
};

impl Checker {
    /// An event went on record.
    pub(crate) fn recorded(&mut self, event: &Event) {
        self.transcript.push(event);
        self.turn.events += 1;
        match event {
            Event::RequestSent { cycle } => self.request_sent(*cycle),
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
            Event::Directive { text } => self.directive(text),
            Event::CallStarted { call, run } => self.call_started(*call, *run),
            Event::PromptOpened {
                prompt,
                call,
                about,
            } => self.prompt_opened(prompt, *call, about),
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
                status,
                content,
                held,
                ..
            } => self.result(*call, *status, content, *held),
            Event::TurnEnd { outcome, .. } => self.turn_ended(*outcome),
            Event::Learned { .. } => {
                self.rules.model.forces_tools = false;
                self.counts.add("forced tools unlearned");
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

    fn request_sent(&mut self, cycle: u32) {
        let open = self.turn.unfinished().next().map(|(key, _)| *key);
        if let Some(key) = open {
            return self.fail(format!("a request goes out although {key:?} is open"));
        }
        let turn = &mut self.turn;
        turn.fresh.clear();
        turn.cycle = cycle;
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
        for (key, call) in std::mem::take(&mut self.turn.fresh) {
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

    fn prompt_opened(&mut self, prompt: &PromptId, key: CallKey, about: &About) {
        if self.call(key).is_none_or(|call| call.done.is_some()) {
            return self.fail(format!("a prompt for {key:?}, which is not open"));
        }
        if let Some(other) = self.turn.prompt_of(key)
            && !matches!(about, About::Question { .. })
        {
            return self.fail(format!("{key:?} waits on {} and {}", other.0, prompt.0));
        }
        if let About::Question { inquiry } = about {
            let Some(pair) = self.turn.pairs.get_mut(inquiry) else {
                return self.fail(format!("a prompt for {inquiry}, which nobody asked"));
            };
            pair.prompt = Some(prompt.clone());
            let (call, at, question) = (pair.call, pair.at, pair.question.clone());
            self.not_again(call, at, &question);
        }
        let seen = PromptSeen {
            call: key,
            about: about.clone(),
            closed: false,
            said: Vec::new(),
        };
        if self.turn.prompts.insert(prompt.clone(), seen).is_some() {
            self.fail(format!("two prompts are {}", prompt.0));
        }
    }

    /// Nobody is asked what has no answer in this turn.
    fn not_again(&mut self, call: CallKey, at: usize, question: &Question) {
        if question.check().is_err() {
            return self.fail(format!("a person is asked a broken question: {question:?}"));
        }
        let Some(tool) = self.call(call).map(|call| call.tool.clone()) else {
            return;
        };
        if self.turn.declined.iter().any(|(when, asker, known, _)| {
            *when < at && *asker == tool && known.is_same(question)
        }) {
            self.fail(format!("asked again although there was no answer: {question:?}"));
        }
    }

    fn prompt_closed(&mut self, prompt: &PromptId, closed: &Closed) {
        let Some(seen) = self.turn.prompts.get_mut(prompt) else {
            return self.fail(format!("{} closes and was never opened", prompt.0));
        };
        if seen.closed || matches!(seen.about, About::Question { .. }) {
            return self.fail(format!("{} closes twice", prompt.0));
        }
        seen.closed = true;
        let (call, about, said) = (seen.call, seen.about.clone(), seen.said.clone());
        match closed {
            Closed::Answered {
                answer,
                new_text,
                seen,
            } => {
                if new_text.is_some() {
                    self.counts.add("text put in place");
                }
                let by_person = said.contains(&Said::Value(answer.clone()));
                if !by_person {
                    self.counts.add("approval spread");
                }
                let spread = seen.is_none() && self.has_spread(&about, answer);
                if !by_person && !spread {
                    return self.fail(format!("nobody answered {answer} to {}", prompt.0));
                }
                self.approve(call, &about, answer);
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

    fn has_spread(&self, about: &About, answer: &Value) -> bool {
        match about {
            About::RunTool { hash, .. } => {
                answer == "turn" && (self.turn.widened || self.turn.approved.contains(hash))
            }
            _ => false,
        }
    }

    fn approve(&mut self, call: CallKey, about: &About, answer: &Value) {
        let About::RunTool { hash, diff } = about else {
            return;
        };
        let answer = answer.as_str().unwrap_or_default();
        if answer == "no" {
            return;
        }
        match answer {
            "turn" if *diff => self.turn.widened |= self.rules.mode == Mode::Ask,
            "turn" | "always" => {
                self.turn.approved.insert(hash.clone());
            }
            _ => {}
        }
        if let Some(call) = self.turn.calls.get_mut(&call) {
            call.approved.push(hash.clone());
        }
    }

    fn asked(&mut self, id: &str, key: CallKey, question: &Question, live: bool) {
        let Some(call) = self.turn.calls.get_mut(&key) else {
            return self.fail(format!("{key:?} asks and is not there"));
        };
        let asked = call.asked.take();
        let (tool, call_id, again) = (
            call.tool.clone(),
            call.id.clone(),
            call.secrets.contains(&question.id),
        );
        let open = call.done.is_some() || (!live && !call.open.is_empty());
        call.in_run = call.in_run && live;
        call.open.push(id.to_owned());
        if open {
            return self.fail(format!("{key:?} may not ask now"));
        }
        match asked {
            Some(asked) if self.effective(&asked, &tool) != *question => {
                return self.fail(format!("{asked:?} went on record as {question:?}"));
            }
            None if !(again && question.is_secret()) => {
                return self.fail(format!("nobody asked {question:?}"));
            }
            _ => {}
        }
        let stem = format!("tool_call.{tool}.{call_id}.{}.", question.id);
        let attempts = self
            .turn
            .pairs
            .keys()
            .filter(|known| {
                known
                    .strip_prefix(&stem)
                    .is_some_and(|attempt| attempt.parse::<u32>().is_ok())
            })
            .count();
        if *id != format!("{stem}{}", attempts + 1) {
            return self.fail(format!("{id} is not attempt {} of {stem}", attempts + 1));
        }
        if self.turn.calls.values().filter(|call| !call.open.is_empty()).count() > 1 {
            self.counts.add("several calls ask at once");
        }
        if live {
            self.counts.add("live question");
        }
        let pair = PairSeen {
            call: key,
            question: question.clone(),
            live,
            at: self.turn.events,
            prompt: None,
            closed: false,
            strategies: Vec::new(),
        };
        self.turn.pairs.insert(id.to_owned(), pair);
    }

    /// The question as it must go on record.
    fn effective(&self, question: &Question, tool: &str) -> Question {
        let Some(rules) = self.rules.tools.get(tool) else {
            return question.clone();
        };
        let mut question = question.clone();
        if rules.outside {
            question = question.from_outside();
        }
        let configured = rules.questions.get(&question.id).and_then(|rules| rules.exclusive);
        question.exclusive = configured.unwrap_or(question.exclusive || rules.always_exclusive);
        question
    }

    fn settled(&mut self, id: &str, key: CallKey, response: &InquiryResponse) {
        let events = self.turn.events;
        let Some(pair) = self.turn.pairs.get_mut(id) else {
            return self.fail(format!("{id} is answered and was never asked"));
        };
        if pair.closed || pair.call != key {
            return self.fail(format!("{id} has two outcomes"));
        }
        pair.closed = true;
        let (question, live) = (pair.question.clone(), pair.live);
        let prompt = pair.prompt.clone();
        let said = prompt
            .and_then(|prompt| self.turn.prompts.get(&prompt))
            .map(|prompt| prompt.said.clone());
        let Some(call) = self.turn.calls.get_mut(&key) else {
            return;
        };
        call.open.retain(|open| open != id);
        let tool = call.tool.clone();
        match response {
            InquiryResponse::Answered {
                answer,
                by,
                remember,
                ..
            } => {
                if !live {
                    call.answered = true;
                    call.answers.retain(|(id, _)| *id != question.id);
                    call.answers.push((question.id.clone(), answer.clone()));
                }
                self.answered(&tool, &question, answer, *by, said.as_deref());
                if *remember {
                    self.remember(&tool, &question, answer, *by);
                }
            }
            InquiryResponse::Redacted { .. } => {
                self.counts.add("redacted");
                if !live {
                    call.answered = true;
                    call.secrets.push(question.id.clone());
                }
                if !question.is_secret() || said.is_none_or(|said| said.is_empty()) {
                    self.fail(format!("{id} is redacted: {question:?}"));
                }
            }
            InquiryResponse::Cancelled { reason, note, .. } => {
                self.lost(&tool, &question, reason, said.as_deref());
                if note.is_none() && *reason != Reason::Withdrawn {
                    let lost = (events, tool, question, reason.clone());
                    self.turn.declined.push(lost);
                }
            }
        }
    }

    fn remember(&mut self, tool: &str, question: &Question, answer: &Value, by: By) {
        if by != By::User || !question.may_be_remembered() {
            return self.fail(format!("{question:?} is not to be remembered"));
        }
        let key = (tool.to_owned(), question.id.clone());
        self.turn.remembered.insert(key, answer.clone());
    }

    fn answered(
        &mut self,
        tool: &str,
        question: &Question,
        answer: &Value,
        by: By,
        said: Option<&[Said]>,
    ) {
        self.counts.add(count::by(by));
        if question.accept(answer) != Ok(Answer::Value(answer.clone())) {
            return self.fail(format!("{answer} does not fit {question:?}"));
        }
        let remembered = (tool.to_owned(), question.id.clone());
        let right = match by {
            By::User => said.is_some_and(|said| said.contains(&Said::Value(answer.clone()))),
            By::Assistant => !question.is_exclusive() && said.is_none(),
            By::Config => self.rules.question(tool, &question.id).answer.is_some(),
            By::Remembered => {
                if said.is_some() {
                    self.counts.add("remembered spread");
                }
                self.turn.remembered.get(&remembered) == Some(answer)
            }
            By::Default => question.default.as_ref() == Some(answer),
        };
        if !right {
            self.fail(format!("{answer} is no answer by {by:?} to {question:?}"));
        }
    }

    fn lost(&mut self, tool: &str, question: &Question, reason: &Reason, said: Option<&[Said]>) {
        self.counts.add(count::reason(reason));
        let copied = self.turn.declined.iter().any(|(_, asker, known, why)| {
            asker == tool && known.is_same(question) && why == reason
        });
        if copied {
            return self.counts.add("not asked again");
        }
        let nobody = self
            .client
            .as_ref()
            .is_none_or(|client| question.is_secret() && !client.secret);
        let right = match reason {
            Reason::User => said.is_some_and(|said| said.contains(&Said::No)),
            Reason::NoPromptBackend => nobody && said.is_none(),
            Reason::DetachedPolicy => nobody && !question.is_exclusive(),
            Reason::AssistantRoutingDenied => question.is_exclusive(),
            Reason::InvalidQuestion => question.check().is_err(),
            Reason::InvalidStaticAnswer => {
                self.rules.question(tool, &question.id).answer.is_some()
            }
            Reason::BackendError => said.is_none_or(|said| !said.is_empty()),
            Reason::Withdrawn | Reason::LimitReached => true,
            Reason::Other(_) => false,
        };
        if !right {
            self.fail(format!("{reason:?} is no outcome of {question:?}"));
        }
    }

    fn result(&mut self, key: CallKey, status: Status, content: &str, held: bool) {
        let prompt = self.turn.prompt_of(key).cloned();
        let Some(call) = self.turn.calls.get(&key) else {
            return self.fail(format!("a result of {key:?}, which is not there"));
        };
        if call.done.is_some() {
            return self.fail(format!("{key:?} ends twice"));
        }
        if !call.open.is_empty() || prompt.is_some() {
            return self.fail(format!("{key:?} ends and still asks {:?} {prompt:?}", call.open));
        }
        if call.lost && content != told::unknown_effects(&call.tool) {
            return self.fail(format!("{key:?} was cut off, and is told as {content}"));
        }
        if !held && !self.may_deliver(key, call, content) {
            return self.fail(format!("{key:?} is delivered, and nobody allowed it: {content}"));
        }
        let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
        let known = |(when, asker, with): &(usize, String, String)| {
            *when < call.at && *asker == tool && *with == arguments
        };
        if status == Status::Denied && self.turn.refused.iter().any(known) {
            self.counts.add("refused again at once");
        }
        if status == Status::Denied && is_refusal(&tool, content) {
            self.turn.refused.push((self.turn.events, tool.clone(), arguments));
        }
        if content.starts_with(&told::withheld(&tool, None)) {
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

    /// What a tool itself said goes to the model only where it may.
    fn may_deliver(&self, key: CallKey, call: &CallSeen, content: &str) -> bool {
        let rules = self.rules.tools.get(&call.tool);
        if !content.starts_with("Result ") && call.held.as_deref() != Some(content) {
            return true;
        }
        let prompt = self.turn.prompts.values().find(|prompt| {
            prompt.call == key && prompt.about == About::DeliverResult
        });
        match prompt {
            Some(prompt) => prompt.said.contains(&Said::Value(Value::Bool(true))),
            None if self.closing => false,
            None => {
                let (rule, detached) = rules.map_or((ResultRule::Ask, DetachedMode::Deny), |rules| {
                    (rules.result, rules.detached.deliver)
                });
                permit::deliver(rule, self.client.is_some(), detached) == Delivery::Deliver
            }
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
            self.fail(format!("the turn is over, open are {call:?} {prompt:?} {pair:?}"));
        }
        if outcome == Outcome::Completed && self.turn.lost {
            self.fail("a response that the provider took back completes the turn".into());
        }
    }

    pub(crate) fn call(&self, key: CallKey) -> Option<&CallSeen> {
        self.turn.calls.get(&key)
    }
}

/// Whether a result says that the call may not run, for good.
fn is_refusal(tool: &str, content: &str) -> bool {
    let modes = [Mode::Ask, Mode::Edits, Mode::Plan, Mode::Auto];
    content == told::not_allowed(tool, None)
        || content == told::needs_approval(tool)
        || content == told::not_trusted(tool)
        || content == told::denied_by_key(tool)
        || modes.iter().any(|mode| content == told::denied_by_mode(tool, *mode))
}


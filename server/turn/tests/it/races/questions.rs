//! What may go on record of questions: each is asked once, and has one outcome that is true.

use aside_turn::{
    question::{Answer, AnswerType, Persistence, Question},
    record::{By, CallKey, InquiryResponse, Reason},
};
use serde_json::Value;

use super::{
    checker::Checker,
    count,
    seen::{PairSeen, Said},
};

impl Checker {
    /// Nobody is asked what has no answer in this turn.
    pub(crate) fn not_again(&mut self, call: CallKey, at: usize, question: &Question) {
        if question.check().is_err() {
            return self.fail(format!("a person is asked a broken question: {question:?}"));
        }
        let Some(tool) = self.call(call).map(|call| call.tool.clone()) else {
            return;
        };
        if self
            .turn
            .declined
            .iter()
            .any(|(when, asker, known, _)| *when < at && *asker == tool && known.is_same(question))
        {
            self.fail(format!(
                "asked again although there was no answer: {question:?}"
            ));
        }
    }

    pub(crate) fn asked(&mut self, id: &str, key: CallKey, question: &Question, live: bool) {
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
        self.attempt(id, &tool, &call_id, &question.id);
        if self
            .turn
            .calls
            .values()
            .filter(|call| !call.open.is_empty())
            .count()
            > 1
        {
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
        let configured = rules
            .questions
            .get(&question.id)
            .and_then(|rules| rules.exclusive);
        let asked = question.exclusive || rules.always_exclusive;
        // What the assistant asks the user can be made exclusive, and not less so.
        let stays = asked && rules.asks_for_assistant;
        question.exclusive = configured.map_or(asked, |exclusive| exclusive || stays);
        question
    }

    pub(crate) fn settled(&mut self, id: &str, key: CallKey, response: &InquiryResponse) {
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
        if by != By::User || !is_memorable(question) || !answer.is_boolean() {
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
            // On record an integer is one, and options are in their order.
            By::User => said.into_iter().flatten().any(|said| {
                matches!(said, Said::Value(said)
                    if question.accept(said) == Ok(Answer::Value(answer.clone())))
            }),
            By::Assistant => !question.is_exclusive() && said.is_none(),
            By::Config => self.rules.question(tool, &question.id).answer.is_some(),
            By::Remembered => {
                if said.is_some() {
                    self.counts.add("remembered spread");
                }
                is_memorable(question) && self.turn.remembered.get(&remembered) == Some(answer)
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
            Reason::InvalidStaticAnswer => self.rules.question(tool, &question.id).answer.is_some(),
            Reason::BackendError => said.is_none_or(|said| !said.is_empty()),
            Reason::Withdrawn | Reason::LimitReached => true,
            Reason::Other(_) => false,
        };
        if !right {
            self.fail(format!("{reason:?} is no outcome of {question:?}"));
        }
    }

    /// Ids count up, so that each is used once in a turn.
    fn attempt(&mut self, id: &str, tool: &str, call_id: &str, question: &str) {
        let stem = format!("tool_call.{tool}.{call_id}.{}.", question);
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
            self.fail(format!("{id} is not attempt {} of {stem}", attempts + 1));
        }
    }
}

/// Whether a person may answer for the rest of the turn.
fn is_memorable(question: &Question) -> bool {
    question.persistence == Persistence::Turn && question.answer_type == AnswerType::Boolean
}

//! Between two lives of a turn: it is resumed, with answers or without, or closed for another.

use aside_turn::{
    Turn,
    history::TurnHistory,
    input::PromptAnswer,
    question::AnswerType,
    record::{Outcome, PromptId, PromptSubject},
    resume::{self, ResumeError},
    rules::{Class, Mode, RunRule},
};
use serde_json::Value;

use super::{
    checker::Checker,
    person, rules,
    seen::{CallSeen, Life, TurnSeen},
    text,
    world::World,
};

impl World {
    /// After an end or a crash. False: the conversation is over.
    pub(crate) fn go_on(&mut self) -> bool {
        let finished = matches!(
            self.ended(),
            Some(Outcome::Completed | Outcome::Cancelled | Outcome::Failed)
        ) && !self.checker.life.broken;
        // A crash may come before the start is on record.
        let nothing = self.log.len() < 2;
        if !finished && !nothing {
            if self.resumes < 5 && !self.tape.one_in(5) {
                self.resumes += 1;
                self.resume();
                return true;
            }
            self.close();
        }
        if self.turns < 2 && self.tape.one_in(4) && self.checker.failure.is_none() {
            self.start();
            return true;
        }
        false
    }

    fn resume(&mut self) {
        if self.tape.one_in(3) {
            rules::changed(&mut self.tape, &mut self.rules);
            self.checker.turn.changed = true;
        }
        let setup = self.setup();
        self.checker.begin_resume();
        self.say(|| text::setup("resume", &setup));
        if self.tape.one_in(8) {
            self.resume_wrongly();
        }
        let is_barred = !setup.rules.trusted || setup.rules.mode == Mode::Plan;
        let mut answers = Vec::new();
        for (prompt, live) in self.checker.turn.open_prompts() {
            let seen = self.checker.turn.prompts.get(&prompt);
            let call = seen.and_then(|seen| self.checker.call(seen.call));
            let lost = call.is_some_and(|call| call.lost);
            // Of a tool that may not run any more no answer is taken.
            let rules = call.and_then(|call| setup.rules.tools.get(&call.tool));
            let in_vain = rules.is_some_and(|rules| rules.run == Some(RunRule::Deny));
            if live || lost || in_vain || !self.tape.one_in(3) {
                continue;
            }
            let (answer, text) = self.given(&prompt);
            self.checker.said(&prompt, &answer);
            self.checker.counts.add("resume: with some answers");
            answers.push((prompt, text));
        }
        self.say(|| format!("  answers {answers:?}"));
        match Turn::resume(setup, TurnHistory::of(&self.log), answers, self.now) {
            Ok(turn) => self.live_on(turn),
            Err(ResumeError::InVain { .. }) if is_barred => {
                self.checker.counts.add("resume: in vain");
                self.close();
            }
            Err(error) => self.checker.fail(format!("it cannot be resumed: {error}")),
        }
    }

    /// Answers that are none: nothing happens.
    fn resume_wrongly(&mut self) {
        let setup = aside_turn::Setup {
            rules: self.rules.clone(),
            ..Default::default()
        };
        let unknown = vec![(PromptId("t9-9".into()), "true".to_owned())];
        let refused = Turn::resume(setup.clone(), TurnHistory::of(&self.log), unknown, self.now);
        if !matches!(refused, Err(ResumeError::UnknownPrompt(..))) {
            self.checker.fail("an unknown prompt was answered".into());
        }
        self.checker.counts.add("resume: unknown prompt");
        let open = self
            .checker
            .turn
            .open_prompts()
            .into_iter()
            .find(|(id, live)| !live && !matches!(self.answer_type(id), AnswerType::Text { .. }));
        let Some((prompt, _)) = open else { return };
        if self.answer_type(&prompt) == AnswerType::Secret {
            return;
        }
        let misfit = vec![(prompt, "perhaps".to_owned())];
        let refused = Turn::resume(setup, TurnHistory::of(&self.log), misfit, self.now);
        if !matches!(refused, Err(ResumeError::Misfit(..))) {
            self.checker
                .fail("an answer that does not fit was taken".into());
        }
        self.checker.counts.add("resume: answer that does not fit");
    }

    fn given(&mut self, prompt: &PromptId) -> (PromptAnswer, String) {
        let answer_type = self.answer_type(prompt);
        let answer = person::fitting(&mut self.tape, &answer_type);
        let text = match &answer {
            PromptAnswer::Answer { value, .. } => match &value.0 {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
            _ => String::new(),
        };
        (answer, text)
    }

    fn answer_type(&self, prompt: &PromptId) -> AnswerType {
        let subject = self
            .checker
            .turn
            .prompts
            .get(prompt)
            .map(|seen| &seen.subject);
        match subject {
            Some(PromptSubject::RunTool { .. }) => AnswerType::Select {
                options: vec!["once".into(), "turn".into(), "no".into()],
            },
            Some(PromptSubject::Question { .. }) => self
                .checker
                .turn
                .question(prompt)
                .map_or(AnswerType::Boolean, |question| question.answer_type.clone()),
            _ => AnswerType::Boolean,
        }
    }

    /// How the last life of the turn ended.
    fn ended(&self) -> Option<Outcome> {
        self.checker.life.end.as_ref().map(|end| end.outcome)
    }

    /// A new message comes instead.
    pub(crate) fn close(&mut self) {
        self.say(|| "> a new message instead of a resume".into());
        let lost = self.checker.turn.unfinished().any(|(_, call)| call.in_run);
        self.checker.counts.add("resume: closed instead");
        if lost {
            self.checker
                .counts
                .add("resume: closed instead, outcome unknown");
        }
        self.checker.mark_lost();
        self.checker.life = Life::default();
        self.checker.closing = true;
        for event in resume::close(TurnHistory::of(&self.log)) {
            self.say(|| text::event(&event));
            self.checker.recorded(&event);
            self.log.push(event);
        }
        self.checker.closing = false;
        if self.checker.turn.end != Some(Outcome::Cancelled) {
            self.checker
                .fail("a turn that was closed has no end".into());
        }
    }
}

impl Checker {
    pub(crate) fn begin_turn(&mut self) {
        self.turn = TurnSeen::default();
        self.life = Life::default();
    }

    pub(crate) fn begin_resume(&mut self) {
        self.count_resume();
        self.life = Life::default();
        self.turn.fresh.clear();
        self.forget_harmless_runs();
        self.mark_lost();
        for call in self.turn.calls.values_mut() {
            call.asked = None;
            call.to_run = false;
        }
    }

    /// A run of Aside's own that changes nothing is made again.
    fn forget_harmless_runs(&mut self) {
        for call in self.turn.calls.values_mut() {
            let rules = self.rules.tools.get(&call.tool);
            let is_harmless =
                rules.is_some_and(|rules| rules.class == Class::Reads && !rules.outside);
            if call.in_run && call.open.is_empty() && is_harmless {
                (call.in_run, call.lost) = (false, false);
            }
        }
    }

    /// What ran when Aside ended, nobody knows the outcome of.
    fn mark_lost(&mut self) {
        for call in self.turn.calls.values_mut() {
            call.lost |= call.in_run && call.done.is_none();
        }
    }

    /// Which cases of a resume this one is.
    fn count_resume(&mut self) {
        let attached = self.client.is_some();
        let mut cases: Vec<&'static str> = Vec::new();
        if !self.turn.answered {
            cases.push("resume: no response end");
        } else if self.turn.unfinished().next().is_none() {
            cases.push(match (self.turn.called, self.turn.owing) {
                (true, _) => "resume: all results there",
                (false, true) => "resume: something owed after the answer",
                (false, false) => "resume: answered, no end",
            });
        }
        for (key, call) in self.turn.unfinished() {
            let prompt = self.turn.prompt_of(*key);
            let subject = prompt
                .and_then(|id| self.turn.prompts.get(id))
                .map(|seen| &seen.subject);
            cases.push(match subject {
                Some(PromptSubject::RunTool { .. }) => "resume: permission open",
                Some(PromptSubject::DeliverResult) => "resume: delivery open",
                Some(PromptSubject::Question { .. }) if call.in_run => {
                    "resume: live question cut off"
                }
                Some(PromptSubject::Question { .. }) if self.is_configured(call) => {
                    "resume: configured meanwhile"
                }
                Some(PromptSubject::Question { .. }) if attached => {
                    "resume: question open, attached"
                }
                Some(PromptSubject::Question { .. }) => "resume: question open, parked",
                None => self.case_without_prompt(call),
            });
        }
        for case in cases {
            self.counts.add(case);
        }
    }

    fn is_configured(&self, call: &CallSeen) -> bool {
        call.open.iter().any(|pair| {
            self.turn.pairs.get(pair).is_some_and(|pair| {
                let rules = self.rules.question(&call.tool, &pair.question.id);
                rules.answer.is_some()
            })
        })
    }

    fn case_without_prompt(&self, call: &CallSeen) -> &'static str {
        if call.in_run && !call.open.is_empty() {
            "resume: live question cut off"
        } else if call.in_run {
            "resume: outcome unknown"
        } else if !call.open.is_empty() {
            "resume: inquiry cut off"
        } else if call.answered && !call.secrets.is_empty() {
            "resume: secret to be typed again"
        } else if call.answered {
            "resume: answered, not started again"
        } else if !call.approved.is_empty() && call.runs == 0 {
            "resume: approved, not started"
        } else {
            "resume: call untouched"
        }
    }
}

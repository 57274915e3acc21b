//! Resumes or closes an interrupted turn, from its history alone.

use crate::{
    call::{Call, permission},
    effect::{Effect, Sending},
    history::{CallState, Progress, PromptHistory, PromptState, TurnHistory},
    input::{PromptAnswer, SecretValue, Time},
    model::response::{Finish, Usage},
    question::Question,
    record::{Event, Outcome, Permission, PromptId, PromptSubject, ResultReason},
    turn::{Conclusion, Phase, Setup, Turn, step::taken_back},
};

/// Reason why a turn cannot be resumed with these answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The turn has no open prompt with this id.
    #[error("no prompt {0} is open in this turn; the open ones are: {1}")]
    UnknownPrompt(String, String),
    /// The prompt was answered already.
    #[error(
        "no prompt {0} is open in this turn: it was answered already, and the answer is on record; go on without it, as with \
         `aside run --resume`"
    )]
    Answered(String),
    /// The answer does not fit.
    #[error("the answer to {0} does not fit: {1}")]
    Misfit(String, String),
    /// The answer would be in vain: the tool may not run under the current rules.
    #[error(
        "the turn was left as it is, for {tool} waits for an answer that would be in vain: {why}"
    )]
    InVain {
        /// The tool whose call waits.
        tool: String,
        /// Reason of the refusal.
        refused: ResultReason,
        /// The refusal in words.
        why: String,
    },
}

impl Turn {
    /// Resumes an interrupted turn. `answers` are texts from a command line for its open prompts, and count as a
    /// person's.
    ///
    /// # Errors
    /// A [`ResumeError`] for an answer to a prompt that is not open, or one that does not fit. Nothing has been done
    /// then.
    pub fn resume(
        setup: Setup,
        history: TurnHistory,
        answers: Vec<(PromptId, String)>,
        now: Time,
    ) -> Result<Self, ResumeError> {
        let mut turn = Self::new(setup, now);
        turn.recall(history);
        turn.take_answers(answers)?;
        turn.refuse_in_vain()?;
        let was_requested = *turn.cx.history.progress() == Progress::Requested;
        if was_requested || turn.compaction_is_due() || turn.may_ask_a_model() {
            // A provider may have begun to answer: the step, the questions, or a summary, of which nothing is on record
            // before it ends. Nobody knows how much it charges for that.
            turn.cx.pay_broken(Usage::default(), true);
        }
        match turn.cx.history.progress().clone() {
            Progress::Begun => turn.request(),
            Progress::Requested => {
                turn.cx.step = turn.cx.step.saturating_sub(1);
                turn.request_again();
            }
            Progress::Answered { finish, owing } => turn.go_on_after(finish.as_ref(), owing),
            Progress::Calls => turn.go_on_with_calls(),
        }
        turn.advance();
        Ok(turn)
    }

    /// Whether a question of the last step was put to no person, and thus perhaps to a model.
    fn may_ask_a_model(&self) -> bool {
        let history = &self.cx.history;
        history.step_calls().any(|past| {
            matches!(past.state(), CallState::Asking(_)) && history.waits_on(past).is_none()
        })
    }

    /// Restores rules that changed while the turn ran.
    fn recall(&mut self, history: TurnHistory) {
        self.cx.usage = history.usage();
        self.cx.step = history.step();
        for (model, refuses) in history.learned() {
            refuses.recall(model, &mut self.cx.rules);
        }
        for call in history.calls() {
            if *call.state() != CallState::Proposed {
                self.force.called(call.tool());
            }
        }
        self.cx.history = history;
    }

    /// Continues after a response without calls.
    fn go_on_after(&mut self, finish: Option<&Finish>, owing: bool) {
        let model = &self.cx.rules.model.id;
        if let Some(error) = finish.and_then(|finish| taken_back(finish, model)) {
            return self.conclude(Conclusion::failed(self.advised(error)));
        }
        match finish {
            Some(Finish::Pause) => self.request_again(),
            _ if owing => self.request_again(),
            Some(Finish::MaxTokens | Finish::MalformedCall) => self.was_cut(),
            _ => self.answered(self.cx.history.text().to_owned()),
        }
    }

    /// Sends the request again, as a retry of the soft force if it was one.
    fn request_again(&mut self) {
        if self.cx.history.force().is_retrying() {
            let sending = Sending {
                directive: None,
                ..self.force.retry(&self.cx.rules.model)
            };
            return self.send(sending);
        }
        self.request();
    }

    fn go_on_with_calls(&mut self) {
        self.phase = Phase::Calls;
        let pasts: Vec<_> = self.cx.history.step_calls().cloned().collect();
        for (place, past) in pasts.iter().enumerate() {
            let call = Call::resume(&mut self.cx, past, place);
            self.calls.push(call);
        }
    }

    fn take_answers(&mut self, answers: Vec<(PromptId, String)>) -> Result<(), ResumeError> {
        let history = &self.cx.history;
        let open: Vec<&PromptId> = history
            .open_calls()
            .filter_map(|call| history.waits_on(call))
            .collect();
        for (prompt, text) in answers {
            if !open.contains(&&prompt) {
                if history.prompt(&prompt).is_some_and(is_answered) {
                    return Err(ResumeError::Answered(prompt.0));
                }
                let open: Vec<&str> = open.iter().map(|id| id.0.as_str()).collect();
                let open = if open.is_empty() {
                    "none".to_owned()
                } else {
                    open.join(", ")
                };
                return Err(ResumeError::UnknownPrompt(prompt.0, open));
            }
            let answer = parse(history, &prompt, &text)
                .map_err(|what| ResumeError::Misfit(prompt.0.clone(), what))?;
            self.cx.given.insert(prompt, answer);
        }
        Ok(())
    }

    /// Fails if a call that waits for a person, or was answered and has not run since, would be refused. The call then
    /// keeps waiting. A refusal by mode or key may be what the user wants, so it counts only together with an answer.
    fn refuse_in_vain(&self) -> Result<(), ResumeError> {
        let history = &self.cx.history;
        for call in history.open_calls() {
            let waits = history.waits_on(call);
            let has_answer = call
                .details()
                .is_some_and(|details| details.permitted.is_some() || !details.answers.is_empty());
            let is_ahead = match call.state() {
                CallState::Permission(_) => true,
                CallState::Asking(_) => waits.is_some() || has_answer,
                CallState::Due => has_answer,
                _ => false,
            };
            if !is_ahead {
                continue;
            }
            let given = waits.is_some_and(|prompt| self.cx.given.contains_key(prompt));
            let refused = permission::refusal_ahead(&self.cx, call.tool());
            if let Some(refused) = refused.filter(|why| given || *why == ResultReason::NotTrusted) {
                return Err(ResumeError::InVain {
                    tool: call.tool().to_owned(),
                    why: refused.in_words(call.tool()),
                    refused,
                });
            }
        }
        Ok(())
    }
}

/// Whether a person's answer is on record. What it led to may be missing, where the log ended there.
fn is_answered(prompt: &PromptHistory) -> bool {
    matches!(
        prompt.state(),
        PromptState::Answered | PromptState::Permitted(_) | PromptState::Delivered(_)
    )
}

/// Parses the answer to an open prompt. The error says what would fit.
fn parse(history: &TurnHistory, prompt: &PromptId, text: &str) -> Result<PromptAnswer, String> {
    match history.prompt(prompt).map(|prompt| prompt.subject()) {
        Some(PromptSubject::RunTool { diff, .. }) => {
            let options = Permission::words(*diff);
            if !options.iter().any(|option| option == text) {
                return Err(format!("it must be one of {}", options.join(", ")));
            }
            Ok(PromptAnswer::value(text))
        }
        Some(PromptSubject::DeliverResult) => match text {
            "true" | "yes" => Ok(PromptAnswer::value(true)),
            "false" | "no" => Ok(PromptAnswer::value(false)),
            _ => Err("it must be true or false".into()),
        },
        Some(PromptSubject::Question { inquiry }) => {
            let asked = history.question(inquiry);
            let asked = asked.ok_or("it is not a question")?;
            parse_answer(asked.question(), text)
        }
        None => Err("it is not a question".into()),
    }
}

fn parse_answer(question: &Question, text: &str) -> Result<PromptAnswer, String> {
    let value = question.parse(text);
    question.accept(&value).map_err(|misfit| misfit.0)?;
    Ok(PromptAnswer::Answer {
        value: SecretValue(value),
        remember: false,
        new_text: None,
    })
}

/// The events that close a turn which is not resumed: a result for every open call, an outcome for every open
/// question and prompt, and the end of the turn.
#[must_use]
pub fn close(history: TurnHistory) -> Vec<Event> {
    let mut turn = Turn::new(Setup::default(), Time::ZERO);
    turn.recall(history);
    let pasts: Vec<_> = turn.cx.history.step_calls().cloned().collect();
    for past in &pasts {
        Call::close(&mut turn.cx, past);
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

//! A question of a call that waits for an answer of a person or a model.

use crate::{
    call::{identity::CallIdentity, prompt::WaitingPrompt},
    context::{Context, InquiryQuestion},
    effect::{Prompt, PromptKind},
    question::Question,
    record::{Event, InquiryResponse, PromptId, PromptSubject, Reason},
    rules::{Target, ToolRules, limits},
};

/// A question that waits for an answer.
#[derive(Clone, Debug)]
pub(super) struct OpenQuestion {
    /// The id of the question's pair on record.
    pair: String,
    /// The question as recorded, with `exclusive` from the configuration.
    question: Question,
    /// The tool's number for a live question.
    live: Option<u32>,
    /// The prompt for a person; `None` if a model is asked.
    prompt: Option<WaitingPrompt>,
}

/// Counts of a call's questions.
#[derive(Clone, Debug, Default)]
pub(super) struct QuestionCount {
    pub(super) asked: u32,
    /// Number of valid answers by question.
    pub(super) answered: Vec<(Question, u32)>,
}

impl QuestionCount {
    /// Counts a valid answer.
    pub(super) fn answered(&mut self, question: &Question) {
        let mut known = self.answered.iter_mut();
        match known.find(|(known, _)| known.is_same(question)) {
            Some((_, times)) => *times += 1,
            None => self.answered.push((question.clone(), 1)),
        }
    }

    /// Whether the call may not ask this question again, or any further one.
    pub(super) fn is_over(&self, question: &Question) -> bool {
        let mut known = self.answered.iter();
        let same = known.find(|(known, _)| known.is_same(question));
        self.asked > limits::QUESTIONS_A_CALL
            || same.is_some_and(|(_, answers)| *answers >= limits::SAME_QUESTION)
    }
}

impl OpenQuestion {
    /// Records the question before anything else happens to it.
    pub(super) fn ask(
        cx: &mut Context,
        identity: &CallIdentity,
        question: Question,
        live: Option<u32>,
    ) -> Self {
        let rules = cx.tool(&identity.tool);
        let question = effective(question, &identity.tool, &rules, cx);
        let pair = cx
            .memory()
            .next_pair(&identity.tool, &identity.id, &question.id);
        cx.record(Event::InquiryRequest {
            id: pair.clone(),
            call: identity.key,
            source: rules.source(&identity.tool),
            question: question.clone(),
            label: label(cx, &identity.tool, &rules, &question.id),
            live: live.is_some(),
        });
        Self {
            live,
            ..Self::recorded(pair, question)
        }
    }

    /// Creates a question that is on record already and was not put to anyone.
    pub(super) fn recorded(pair: String, question: Question) -> Self {
        Self {
            pair,
            question,
            live: None,
            prompt: None,
        }
    }

    /// Attaches a prompt that is on record already.
    pub(super) fn reopen(&mut self, cx: &Context, prompt: PromptId) {
        let parked = !can_show(cx, &self.question);
        self.prompt = Some(WaitingPrompt::new(prompt, parked, cx.now));
    }

    /// Opens a prompt for a person; `parked` if no client can show it.
    pub(super) fn ask_person(&mut self, cx: &mut Context, identity: &CallIdentity, parked: bool) {
        let id = cx.next_prompt_id();
        cx.record(Event::PromptOpened {
            prompt: id.clone(),
            call: identity.key,
            subject: PromptSubject::Question {
                inquiry: self.pair.clone(),
            },
        });
        self.prompt = Some(WaitingPrompt::new(id, parked, cx.now));
    }

    /// Queues the question for an inquiry.
    pub(super) fn inquire(&mut self, cx: &mut Context, identity: &CallIdentity, target: Target) {
        self.prompt = None;
        cx.inquiry_questions.push(InquiryQuestion {
            call: identity.key,
            tool: identity.tool.clone(),
            pair: self.pair.clone(),
            question: self.question.clone(),
            assistant: match target {
                Target::Assistant(assistant) => assistant,
                Target::User => None,
            },
        });
    }

    pub(super) fn pair(&self) -> &str {
        &self.pair
    }

    pub(super) fn question(&self) -> &Question {
        &self.question
    }

    pub(super) fn live(&self) -> Option<u32> {
        self.live
    }

    pub(super) fn waiting(&self) -> Option<&WaitingPrompt> {
        self.prompt.as_ref()
    }

    pub(super) fn waiting_mut(&mut self) -> Option<&mut WaitingPrompt> {
        self.prompt.as_mut()
    }

    pub(super) fn prompt_id(&self) -> Option<PromptId> {
        self.prompt.as_ref().map(|prompt| prompt.id().clone())
    }

    /// Whether the question waits for a person who is absent.
    pub(super) fn is_parked(&self) -> bool {
        self.prompt.as_ref().is_some_and(WaitingPrompt::is_parked)
    }

    /// Withdraws the question, because the call has ended.
    pub(super) fn withdraw(self, cx: &mut Context, identity: &CallIdentity) {
        cx.record(Event::InquiryResponse {
            id: self.pair,
            call: identity.key,
            response: InquiryResponse::Cancelled {
                reason: Reason::Withdrawn,
                backend: None,
                note: None,
                why: None,
                shown: None,
                effort: None,
            },
        });
        if let Some(prompt) = self.prompt {
            prompt.close(cx);
        }
    }

    /// The prompt as a client shows it; `None` if a model is asked.
    pub(super) fn prompt(&self, cx: &Context, identity: &CallIdentity) -> Option<Prompt> {
        let id = self.prompt.as_ref()?.id();
        Some(self.prompt_as(cx, identity, id))
    }

    fn prompt_as(&self, cx: &Context, identity: &CallIdentity, id: &PromptId) -> Prompt {
        let question = &self.question;
        let rules = cx.tool(&identity.tool);
        let mut prompt = identity.prompt(&rules, id, PromptKind::Question, &question.text);
        let configured = cx.rules.question(&identity.tool, &question.id);
        if let Some(label) = configured.prompt_label {
            prompt.label = label;
        }
        prompt.context = question.context.clone();
        prompt.answer_type = question.answer_type.clone();
        prompt.optional = question.optional;
        prompt.default = question.default.clone();
        prompt.remember = question.may_be_remembered();
        prompt.exclusive = question.is_exclusive();
        prompt
    }
}

/// Whether a client is attached that can show this question.
pub(super) fn can_show(cx: &Context, question: &Question) -> bool {
    cx.client
        .as_ref()
        .is_some_and(|client| client.questions && (client.secret || !question.is_secret()))
}

/// The label that does not follow from the question's source: a configured one, or the server's.
fn label(cx: &Context, tool: &str, rules: &ToolRules, question: &str) -> Option<String> {
    let configured = cx.rules.question(tool, question).prompt_label;
    configured.or_else(|| rules.server_label())
}

/// The question as it is recorded and routed, with `exclusive` from tool, source and configuration. A secret always
/// stays exclusive. So does a question of the assistant to the user, because the assistant cannot answer itself.
fn effective(question: Question, tool: &str, rules: &ToolRules, cx: &Context) -> Question {
    let mut question = if rules.outside {
        question.from_outside()
    } else {
        question
    };
    question.exclusive |= rules.always_exclusive;
    if let Some(exclusive) = cx.rules.question(tool, &question.id).exclusive {
        question.exclusive = exclusive || (question.exclusive && rules.asks_for_assistant);
    }
    question
}

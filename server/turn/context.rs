//! State that the three machines share: the rules, the client, the history, and the queue of effects.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde_json::Value;

use crate::{
    effect::{
        Approval, DismissReason, Effect, Prompt, Update,
        updates::{self, UpdateContext},
    },
    history::{RefusedCall, TurnHistory, TurnMemory, fullness::Fullness},
    input::{Prepared, PromptAnswer, RequestId, Time},
    model::response::Usage,
    model_text::ModelText,
    question::Question,
    record::{CallKey, Event, Level, PromptId, Refusal, Showing},
    rules::{Assistant, Client, Mode, Rules, RunRule, ToolRules},
};

/// A question for a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InquiryQuestion {
    pub(crate) call: CallKey,
    pub(crate) tool: String,
    pub(crate) pair: String,
    pub(crate) question: Question,
    /// The assistant that is configured for this question.
    pub(crate) assistant: Option<Assistant>,
}

/// State that the machines of one turn share.
#[derive(Debug)]
pub(crate) struct Context {
    /// Id of the turn; part of its prompts' ids.
    pub(crate) turn: String,
    pub(crate) rules: Rules,
    pub(crate) client: Option<Client>,
    model_text: ModelText,
    /// State folded from everything that was recorded.
    pub(crate) history: TurnHistory,
    /// Tokens of the conversation, and the summaries that failed in a row.
    pub(crate) fullness: Fullness,
    pub(crate) now: Time,
    pub(crate) step: u32,
    pub(crate) usage: Usage,
    /// Answers that were given before their prompt was asked again, on resume.
    pub(crate) given: BTreeMap<PromptId, PromptAnswer>,
    /// Questions on their way to the inquiries.
    pub(crate) inquiry_questions: Vec<InquiryQuestion>,
    /// Tools and questions that a person just answered for the rest of the turn.
    pub(crate) newly_remembered: Vec<(String, String)>,
    /// Whether a person just allowed more, so that other prompts may be unnecessary.
    pub(crate) widened: bool,
    /// Number of prompts on a client's screen.
    pub(crate) open_prompts: usize,
    last_request: u32,
    /// Whether appending to the log failed. Nothing is recorded any more then.
    pub(crate) broken: bool,
    out: VecDeque<Effect>,
}

impl Context {
    pub(crate) fn new(
        turn: String,
        rules: Rules,
        client: Option<Client>,
        model_text: ModelText,
        fullness: Fullness,
        now: Time,
    ) -> Self {
        Self {
            turn,
            rules,
            client,
            model_text,
            history: TurnHistory::default(),
            fullness,
            now,
            step: 0,
            usage: Usage::default(),
            given: BTreeMap::new(),
            inquiry_questions: Vec::new(),
            newly_remembered: Vec::new(),
            widened: false,
            open_prompts: 0,
            last_request: 0,
            broken: false,
            out: VecDeque::new(),
        }
    }

    /// Records an event, applies it to the history and tells the clients. They have pieces of text already.
    pub(crate) fn record(&mut self, event: Event) {
        if !self.broken {
            self.history.apply(&event);
            self.fullness.apply(&event);
            self.out.push_back(Effect::Record(event.clone()));
        }
        if !matches!(event, Event::Text { .. } | Event::Reasoning { .. }) {
            let all = updates::updates(&event, &self.history, self);
            all.into_iter().for_each(|update| self.tell(update));
        }
    }

    /// Records the usage of a broken response, which was paid for all the same. If it `began`, more may have been paid.
    pub(crate) fn pay_broken(&mut self, mut usage: Usage, began: bool) {
        usage.partial |= began;
        if usage != Usage::default() {
            self.usage.count(&usage);
            self.record(Event::Spent { usage });
        }
    }

    pub(crate) fn perform(&mut self, effect: Effect) {
        self.out.push_back(effect);
    }

    pub(crate) fn tell(&mut self, update: Update) {
        self.out.push_back(Effect::Tell(update));
    }

    pub(crate) fn notice(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.record(Event::Notice { level, text });
    }

    pub(crate) fn poll(&mut self) -> Option<Effect> {
        self.out.pop_front()
    }

    /// Stops recording after a failed append. Returns the effects that were not performed.
    pub(crate) fn break_off(&mut self) -> Vec<Effect> {
        self.broken = true;
        self.out.drain(..).collect()
    }

    /// Keeps only the waiting effects that pass the test.
    pub(crate) fn keep(&mut self, passes: impl FnMut(&Effect) -> bool) {
        self.out.retain(passes);
    }

    /// The sentences for the model.
    pub(crate) fn text(&self) -> &ModelText {
        &self.model_text
    }

    /// Replaces the rules of tools that run in the client. A tool without a rule follows the mode.
    pub(crate) fn configure_client_tools(&mut self, by_name: &BTreeMap<String, Option<RunRule>>) {
        let tools = self.rules.tools.iter_mut();
        for (name, tool) in tools.filter(|(_, tool)| tool.in_client) {
            tool.run = by_name.get(name).copied().flatten();
        }
        self.widened = true;
    }

    pub(crate) fn tool(&self, name: &str) -> ToolRules {
        self.rules.tools.get(name).cloned().unwrap_or_default()
    }

    /// Maximum duration of a tool's run.
    pub(crate) fn tool_time(&self, name: &str) -> Duration {
        let own = self.rules.tools.get(name).and_then(|rules| rules.time);
        own.unwrap_or(self.rules.limits.tool_time)
    }

    pub(crate) fn next_request(&mut self) -> RequestId {
        self.last_request += 1;
        RequestId(self.last_request)
    }

    pub(crate) fn next_prompt_id(&mut self) -> PromptId {
        PromptId::numbered(&self.turn, self.history.last_prompt().saturating_add(1))
    }

    pub(crate) fn open_prompt(&mut self, mut prompt: Prompt) {
        self.open_prompts += 1;
        prompt.position = (self.open_prompts, self.open_prompts);
        self.perform(Effect::OpenPrompt(Box::new(prompt)));
    }

    pub(crate) fn close_prompt(&mut self, prompt: &PromptId, reason: DismissReason) {
        self.settle_prompt();
        self.perform(Effect::ClosePrompt(prompt.clone(), reason));
    }

    /// Counts a prompt as off the screen, because the client answered.
    pub(crate) fn settle_prompt(&mut self) {
        self.open_prompts = self.open_prompts.saturating_sub(1);
    }

    /// The turn's memory of answers, refusals and approvals.
    pub(crate) fn memory(&self) -> &TurnMemory {
        self.history.memory()
    }

    /// The mode of the rules, or the wider one that a person allowed for the rest of the turn.
    pub(crate) fn mode(&self) -> Mode {
        match self.rules.mode {
            Mode::Ask if self.memory().edits_permitted() => Mode::Edits,
            mode => mode,
        }
    }

    /// Refusals of the turn, without those by a person.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        let refusals = self.memory().refusals().iter();
        let refusal = |refused: &RefusedCall| {
            let (tool, arguments) = (refused.tool.clone(), refused.arguments.clone());
            let (key, cause) = (refused.key.clone(), refused.cause.clone());
            Refusal::new(tool, arguments, refused.reason, key, cause)
        };
        refusals.map(refusal).collect()
    }

    /// The showing of a prompt since `shown_at` that is answered now.
    pub(crate) fn showing(&self, shown_at: Time) -> Option<Showing> {
        self.client
            .as_ref()
            .map(|client| Showing::new(client, shown_at, self.now))
    }

    /// Keeps an approval for good, so that nobody is asked again.
    pub(crate) fn keep_approval(&mut self, tool: &str, prepared: &Prepared) {
        let approval = Approval {
            hash: prepared.hash.clone(),
            tool: tool.to_owned(),
            title: prepared.title.clone(),
            preview: prepared.preview.clone(),
        };
        self.perform(Effect::KeepApproval(Box::new(approval)));
    }

    pub(crate) fn remembered(&self, tool: &str, question: &str) -> Option<Value> {
        self.memory().remembered(tool, question).cloned()
    }
}

impl UpdateContext for Context {
    fn hides(&self, tool: &str) -> bool {
        self.tool(tool).hidden
    }

    fn context_window(&self) -> Option<u64> {
        self.rules.model.context_window
    }
}

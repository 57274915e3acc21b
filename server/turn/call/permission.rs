//! The `runTool` prompt and its answers. [`crate::call::permit`] decides whether the prompt is needed.

use crate::{
    call::{
        identity::CallIdentity,
        permit::{self, Permit},
        prompt::{CallEnding, NO_FITTING_ANSWER, WaitingPrompt},
    },
    context::Context,
    effect::{DismissReason, Prompt, PromptKind, TurnPermission},
    input::{OwnText, Prepared, Preview, PromptAnswer},
    question::{AnswerType, Misfit},
    record::{
        Closed, Event, Permission, PromptId, PromptSubject, ResultReason, Showing, Vocabulary,
    },
    rules::{DetachedMode, RunRule, ToolRules},
};

/// A `runTool` prompt that waits for a person, with the prepared call.
#[derive(Debug)]
pub(super) struct PermissionPrompt {
    waiting: WaitingPrompt,
    prepared: Box<Prepared>,
    /// Whether a person is asked each time, so that nothing can be permitted for longer.
    each_time: bool,
}

/// A permission prompt that was open before a resume.
#[derive(Debug)]
pub(super) struct KeptPrompt {
    pub(super) id: PromptId,
    /// The hash that the prompt was bound to.
    pub(super) hash: String,
}

/// Next step of a call whose permission prompt was answered.
#[derive(Debug)]
pub(super) enum PermissionStep {
    /// The answer did not fit, so the prompt is shown again.
    ShowAgain,
    /// The call may run.
    Run {
        /// The prepared call that the person approved.
        prepared: Box<Prepared>,
        /// The text that replaces the prepared one.
        new_text: Option<OwnText>,
    },
    /// The call may not run.
    End(CallEnding),
}

impl KeptPrompt {
    /// Drops an answer that was given beforehand. Returns whether there was one.
    pub(super) fn forget_answer(&self, cx: &mut Context) -> bool {
        cx.given.remove(&self.id).is_some()
    }

    /// Withdraws the prompt.
    pub(super) fn withdraw(self, cx: &mut Context) {
        self.forget_answer(cx);
        WaitingPrompt::new(self.id, true, cx.now).withdraw(cx);
    }
}

impl PermissionPrompt {
    /// Opens the prompt. A `kept` prompt is on record already.
    pub(super) fn open(
        cx: &mut Context,
        identity: &CallIdentity,
        prepared: Prepared,
        kept: Option<KeptPrompt>,
        parked: bool,
    ) -> Self {
        let id = match kept {
            Some(kept) => kept.id,
            None => {
                let id = cx.next_prompt_id();
                cx.record(Event::PromptOpened {
                    prompt: id.clone(),
                    call: identity.key,
                    subject: PromptSubject::RunTool {
                        hash: prepared.hash.clone(),
                        diff: shows_diff(&prepared),
                        title: prepared.title.clone(),
                    },
                });
                id
            }
        };
        Self {
            each_time: cx.tool(&identity.tool).run == Some(RunRule::Ask),
            waiting: WaitingPrompt::new(id, parked, cx.now),
            prepared: Box::new(prepared),
        }
    }

    pub(super) fn waiting(&self) -> &WaitingPrompt {
        &self.waiting
    }

    pub(super) fn waiting_mut(&mut self) -> &mut WaitingPrompt {
        &mut self.waiting
    }

    pub(super) fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    pub(super) fn answer(
        &mut self,
        cx: &mut Context,
        identity: &CallIdentity,
        answer: PromptAnswer,
        shown: Option<Showing>,
    ) -> PermissionStep {
        let permission = self.permission(&answer);
        match (answer, permission) {
            (PromptAnswer::Answer { new_text, .. }, Some(permission)) => {
                self.decided(cx, identity, permission, new_text, shown)
            }
            (PromptAnswer::Answer { .. }, None) => {
                let misfit = self.no_permission();
                if self.waiting.refit(cx, &misfit) {
                    return PermissionStep::ShowAgain;
                }
                let why = NO_FITTING_ANSWER.to_owned();
                PermissionStep::End(self.waiting.fail(cx, identity, why))
            }
            (PromptAnswer::Decline { note }, _) => self.declined(cx, identity, note, shown),
            (PromptAnswer::Cancel, _) => self.declined(cx, identity, None, shown),
            (PromptAnswer::Failed(why), _) => {
                PermissionStep::End(self.waiting.fail(cx, identity, why))
            }
        }
    }

    fn decided(
        &mut self,
        cx: &mut Context,
        identity: &CallIdentity,
        permission: Permission,
        new_text: Option<OwnText>,
        shown: Option<Showing>,
    ) -> PermissionStep {
        let closed = Closed::Permitted {
            permission: permission.into(),
            new_text: new_text.as_ref().map(|own| own.text.clone()),
            shown,
        };
        self.waiting.settle(cx, closed);
        match permission {
            Permission::No => return PermissionStep::End(not_allowed(cx, identity, None)),
            Permission::Always => cx.keep_approval(&identity.tool, &self.prepared),
            Permission::Once | Permission::Turn => {}
        }
        // Other permissions may have become unnecessary.
        cx.widened = true;
        PermissionStep::Run {
            prepared: std::mem::take(&mut self.prepared),
            new_text,
        }
    }

    fn declined(
        &self,
        cx: &mut Context,
        identity: &CallIdentity,
        note: Option<String>,
        shown: Option<Showing>,
    ) -> PermissionStep {
        self.waiting.decline(cx, note.clone(), shown);
        PermissionStep::End(not_allowed(cx, identity, note.as_deref()))
    }

    /// Settles this prompt by a permission for the rest of the turn, or by the configuration.
    pub(super) fn settle_unasked(&self, cx: &mut Context, is_configured: bool) {
        let closed = match is_configured {
            true => Closed::Configured,
            false => Closed::Permitted {
                permission: Permission::Turn.into(),
                new_text: None,
                shown: None,
            },
        };
        self.waiting
            .settle_elsewhere(cx, closed, DismissReason::Permitted);
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// The reason why it does not fit.
    pub(super) fn fits(&self, answer: &PromptAnswer) -> Result<(), Misfit> {
        match self.permission(answer) {
            Some(_) => Ok(()),
            None => Err(self.no_permission()),
        }
    }

    /// The prompt as a client shows it.
    pub(super) fn prompt(&self, identity: &CallIdentity, rules: &ToolRules) -> Prompt {
        let text = format!("{}?", self.prepared.title);
        let mut prompt = identity.prompt(rules, self.waiting.id(), PromptKind::RunTool, &text);
        let said = self.prepared.must_ask.iter().chain(&self.prepared.note);
        let said: Vec<&str> = said.map(String::as_str).collect();
        prompt.context = (!said.is_empty()).then(|| said.join("\n"));
        prompt.preview = self.prepared.preview.clone();
        prompt.turn_permits = Some(TurnPermission::of(shows_diff(&self.prepared)));
        prompt.answer_type = AnswerType::Select {
            options: self.options(),
        };
        prompt
    }

    /// The words to choose from.
    fn options(&self) -> Vec<String> {
        let offered = Permission::options(shows_diff(&self.prepared)).iter();
        let offered = offered.filter(|option| !(self.each_time && **option == Permission::Always));
        offered.map(|option| option.word().to_owned()).collect()
    }

    /// The permission that an answer names, if it was offered.
    fn permission(&self, answer: &PromptAnswer) -> Option<Permission> {
        let PromptAnswer::Answer {
            value, new_text, ..
        } = answer
        else {
            return None;
        };
        let word = value.0.as_str()?;
        let permission = Permission::of(word)?;
        let offered = self.options().iter().any(|option| option == word);
        let diff = shows_diff(&self.prepared);
        let text_fits = new_text.is_none() || (diff && permission != Permission::No);
        (offered && text_fits).then_some(permission)
    }

    /// The error for an answer that is not an offered permission.
    fn no_permission(&self) -> Misfit {
        let options = self.options().join(", ");
        Misfit(format!("The answer must be exactly one of: {options}."))
    }
}

/// Decides whether a prepared call may run. `approved`: a person approved exactly this for this call. `was_asked`: a
/// person was asked before; the call then goes on waiting for a person, whatever `detached` says now.
pub(super) fn decide(
    cx: &Context,
    tool: &str,
    prepared: &Prepared,
    approved: bool,
    kept: Option<&KeptPrompt>,
    was_asked: bool,
) -> Permit {
    let rules = cx.tool(tool);
    let fits = |kept: &KeptPrompt| kept.hash == prepared.hash && cx.given.contains_key(&kept.id);
    let given = kept.is_some_and(fits);
    permit::permit(&permit::Facts {
        mode: cx.mode(),
        run: rules.run,
        class: prepared.class,
        trusted: cx.rules.trusted,
        sandboxed: prepared.sandboxed,
        must_ask: prepared.must_ask.as_deref(),
        approved: prepared.approved,
        permitted: approved || cx.memory().is_permitted(&prepared.hash),
        in_client: rules.in_client,
        attached: cx.client.is_some() || given,
        detached: if was_asked {
            DetachedMode::Stop
        } else {
            rules.detached.run
        },
    })
}

/// The reason that refuses all calls of a tool but reading ones, before any person is asked.
pub(crate) fn refusal_ahead(cx: &Context, tool: &str) -> Option<ResultReason> {
    let rules = cx.tool(tool);
    let permit = permit::permit(&permit::Facts {
        mode: cx.mode(),
        run: rules.run,
        class: rules.class,
        trusted: cx.rules.trusted,
        sandboxed: false,
        must_ask: None,
        approved: false,
        permitted: true,
        in_client: rules.in_client,
        attached: true,
        detached: rules.detached.run,
    });
    match permit {
        Permit::Refuse(why) => Some(why),
        Permit::Run | Permit::RunAsConfigured | Permit::Ask | Permit::Park => None,
    }
}

/// The end of a call that a person refused. With a note, or after any message of the user, the person is asked again.
fn not_allowed(cx: &Context, identity: &CallIdentity, note: Option<&str>) -> CallEnding {
    CallEnding {
        reason: ResultReason::Declined {
            noted: note.is_some(),
        },
        text: cx.text().not_allowed(&identity.tool, note),
    }
}

/// Whether the prompt shows a change of a file and so offers other permissions.
fn shows_diff(prepared: &Prepared) -> bool {
    matches!(prepared.preview, Some(Preview::Diff { .. }))
}

//! May this call run? A person's part of it: the prompt, and what its answer says. The decision itself is in
//! [`crate::call::permit`].

use crate::{
    call::{
        identity::CallIdentity,
        permit::{self, Permit, Refused},
        prompt::{CallEnding, NO_FITTING_ANSWER, WaitingPrompt},
    },
    context::Context,
    effect::{DismissReason, Prompt, PromptKind},
    input::{Prepared, Preview, PromptAnswer},
    question::{AnswerType, Misfit},
    record::{
        Closed, Event, Permission, PromptId, PromptSubject, ResultReason, Showing, Vocabulary,
    },
    rules::{DetachedMode, RunRule, ToolRules},
};

/// A `runTool` prompt that waits for a person, and what it asks about.
#[derive(Debug)]
pub(super) struct PermissionPrompt {
    waiting: WaitingPrompt,
    prepared: Box<Prepared>,
    /// A person is asked each time, so that nothing can be permitted for good.
    each_time: bool,
}

/// A permission prompt that was open before a resume.
#[derive(Debug)]
pub(super) struct KeptPrompt {
    pub(super) id: PromptId,
    /// The hash of what it asked about.
    pub(super) hash: String,
}

/// What becomes of a call whose permission prompt was answered.
#[derive(Debug)]
pub(super) enum PermissionStep {
    /// The answer did not fit: the prompt is shown again.
    ShowAgain,
    /// It may run.
    Run {
        /// What the person saw and approved.
        prepared: Box<Prepared>,
        /// The text to run with instead.
        new_text: Option<String>,
    },
    /// It may not.
    End(CallEnding),
}

impl KeptPrompt {
    /// Whether an answer to it was given beforehand, which is of no use now.
    pub(super) fn forget_answer(&self, cx: &mut Context) -> bool {
        cx.given.remove(&self.id).is_some()
    }

    /// It need not be answered any more.
    pub(super) fn withdraw(self, cx: &mut Context) {
        self.forget_answer(cx);
        WaitingPrompt::new(self.id, true, cx.now).withdraw(cx);
    }
}

impl PermissionPrompt {
    /// Asks a person. A prompt that was `kept` is on record already.
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
            each_time: cx.tool(&identity.tool).run == RunRule::Ask,
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
        new_text: Option<String>,
        shown: Option<Showing>,
    ) -> PermissionStep {
        let closed = Closed::Permitted {
            permission,
            new_text: new_text.clone(),
            shown,
        };
        self.waiting.settle(cx, closed);
        match permission {
            Permission::No => return PermissionStep::End(not_allowed(cx, identity, None)),
            Permission::Always => cx.keep_approval(&identity.tool, &self.prepared),
            Permission::Once | Permission::Turn => {}
        }
        // Other permissions may not be needed any more.
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

    /// A permission for the rest of the turn settles this prompt too.
    pub(super) fn settle_for_turn(&self, cx: &mut Context) {
        let closed = Closed::Permitted {
            permission: Permission::Turn,
            new_text: None,
            shown: None,
        };
        self.waiting
            .settle_elsewhere(cx, closed, DismissReason::Permitted);
    }

    /// Whether this answer would be taken.
    ///
    /// # Errors
    /// What is wrong with it.
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
        prompt.answer_type = AnswerType::Select {
            options: self.options(),
        };
        prompt
    }

    /// The words that a person may choose from.
    fn options(&self) -> Vec<String> {
        let offered = Permission::options(shows_diff(&self.prepared)).iter();
        let offered = offered.filter(|option| !(self.each_time && **option == Permission::Always));
        offered.map(|option| option.word().to_owned()).collect()
    }

    /// The permission that an answer is, if it is one that was offered.
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

    /// What is wrong with an answer that is no permission.
    fn no_permission(&self) -> Misfit {
        let options = self.options().join(", ");
        Misfit(format!("The answer must be exactly one of: {options}."))
    }
}

/// Whether a call that was prepared may run. `approved`: a person approved exactly this for this call; `was_asked`: a
/// person was asked of it, and goes on being waited for, whatever `detached` says now and whatever it came to be.
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
        must_ask: prepared.must_ask.is_some(),
        approved: prepared.approved,
        permitted: approved || cx.memory().is_permitted(&prepared.hash),
        attached: cx.client.is_some() || given,
        detached: if was_asked {
            DetachedMode::Stop
        } else {
            rules.detached.run
        },
    })
}

/// What refuses all calls of a tool but those that only read, whatever a person says of one.
pub(crate) fn refusal_ahead(cx: &Context, tool: &str) -> Option<Refused> {
    let rules = cx.tool(tool);
    let permit = permit::permit(&permit::Facts {
        mode: cx.mode(),
        run: rules.run,
        class: rules.class,
        trusted: cx.rules.trusted,
        sandboxed: false,
        must_ask: false,
        approved: false,
        permitted: true,
        attached: true,
        detached: rules.detached.run,
    });
    match permit {
        Permit::Refuse(why) => Some(why),
        Permit::Run | Permit::Ask | Permit::Park => None,
    }
}

/// What refuses calls of a tool, in words.
pub(crate) fn why(cx: &Context, tool: &str, refused: Refused) -> String {
    match refused {
        Refused::Trust => "the workspace is not trusted".into(),
        Refused::Key => format!("conversation.tools.{tool}.run is deny"),
        Refused::Mode => format!("the mode is {}", cx.mode().word()),
        Refused::NeedsApproval => "nobody is there to approve it".into(),
    }
}

/// Why a call ends that may not run.
pub(super) fn refused(cx: &Context, tool: &str, why: Refused) -> CallEnding {
    let (reason, text) = match why {
        Refused::Trust => (ResultReason::NotTrusted, cx.text().not_trusted(tool)),
        Refused::Key => (
            ResultReason::DeniedByConfiguration,
            cx.text().denied_by_key(tool),
        ),
        Refused::Mode => (
            ResultReason::DeniedByMode(Some(cx.mode())),
            cx.text().denied_by_mode(tool, cx.mode()),
        ),
        Refused::NeedsApproval => (ResultReason::NeedsApproval, cx.text().needs_approval(tool)),
    };
    CallEnding { reason, text }
}

/// A person's no. With a note, or after any message of the user's, the person is asked again.
fn not_allowed(cx: &Context, identity: &CallIdentity, note: Option<&str>) -> CallEnding {
    CallEnding {
        reason: ResultReason::Declined {
            noted: note.is_some(),
        },
        text: cx.text().not_allowed(&identity.tool, note),
    }
}

/// It shows a change of a file, so that it offers other permissions.
fn shows_diff(prepared: &Prepared) -> bool {
    matches!(prepared.preview, Some(Preview::Diff { .. }))
}

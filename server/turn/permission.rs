//! May this call run? A person's part of it: the prompt, and what its answer does. The decision itself is in
//! [`crate::permit`].

use serde_json::Value;

use crate::{
    call::{Call, State},
    context::Context,
    effect::{DismissReason, Prompt, PromptKind},
    event::{
        Closed, Event, Permission, PromptId, PromptSubject, ResultReason, Showing, Vocabulary,
    },
    input::{Prepared, Preview, PromptAnswer},
    permit::{self, Permit, Refused},
    prompt::{Prompted, settled_by_user},
    question::{AnswerType, Misfit},
    rules::ToolRules,
};

impl Call {
    pub(crate) fn permit(&mut self, cx: &mut Context, prepared: Prepared) {
        let permit = self.decide(cx, &prepared);
        let asks = matches!(permit, Permit::Ask | Permit::Park);
        if !asks
            || self
                .permission
                .as_ref()
                .is_some_and(|(_, hash)| *hash != prepared.hash)
        {
            self.drop_permission(cx);
        }
        match permit {
            Permit::Run => {
                self.state = State::Ready {
                    title: prepared.title,
                }
            }
            Permit::Ask => self.ask_permission(cx, prepared, false),
            Permit::Park => self.ask_permission(cx, prepared, true),
            Permit::Refuse(why) => self.refuse(cx, why),
        }
    }

    /// A prompt of before the resume need not be answered any more.
    pub(crate) fn drop_permission(&mut self, cx: &mut Context) {
        if let Some((id, _)) = self.permission.take() {
            cx.given.remove(&id);
            Prompted::new(id, true, cx.now).withdraw(cx);
        }
    }

    pub(crate) fn decide(&self, cx: &Context, prepared: &Prepared) -> Permit {
        let rules = cx.tool(&self.tool);
        // A prompt that waited for a person goes on waiting for one, whatever `detached` says now.
        let waited = self
            .permission
            .as_ref()
            .is_some_and(|(_, hash)| *hash == prepared.hash);
        let given = waited
            && self
                .permission
                .as_ref()
                .is_some_and(|(prompt, _)| cx.given.contains_key(prompt));
        permit::permit(&permit::Facts {
            mode: cx.mode(),
            run: rules.run,
            class: prepared.class,
            trusted: cx.rules.trusted,
            sandboxed: prepared.sandboxed,
            must_ask: prepared.must_ask.is_some(),
            approved: prepared.approved
                || self.approved.as_deref() == Some(&prepared.hash)
                || cx.memory().is_permitted(&prepared.hash),
            attached: cx.client.is_some() || given,
            detached: if waited {
                crate::rules::DetachedMode::Stop
            } else {
                rules.detached.run
            },
        })
    }

    pub(crate) fn ask_permission(&mut self, cx: &mut Context, prepared: Prepared, parked: bool) {
        let kept = self.permission.take();
        let recorded = kept.is_some();
        let id = kept.map_or_else(|| cx.next_prompt_id(), |(id, _)| id);
        let prompted = Prompted::new(id.clone(), parked, cx.now);
        if !recorded {
            let diff = shows_diff(&prepared);
            let subject = PromptSubject::RunTool {
                hash: prepared.hash.clone(),
                diff,
                title: prepared.title.clone(),
            };
            cx.record(Event::PromptOpened {
                prompt: id.clone(),
                call: self.key,
                subject,
            });
        }
        self.state = State::Permission {
            prompted,
            prepared: Box::new(prepared),
        };
        self.show(cx, &id);
    }

    /// The mode or an approval widened: a permission that is still being asked for may not be needed any more.
    pub(crate) fn permit_again(&mut self, cx: &mut Context) {
        let State::Permission { prompted, prepared } = &self.state else {
            return;
        };
        if self.decide(cx, prepared) != Permit::Run {
            return;
        }
        let (id, title, parked) = (prompted.id.clone(), prepared.title.clone(), prompted.parked);
        let closed = Closed::Permitted {
            permission: Permission::Turn,
            new_text: None,
            shown: None,
        };
        cx.record(Event::PromptClosed {
            prompt: id.clone(),
            closed,
        });
        if !parked {
            cx.close_prompt(&id, DismissReason::Permitted);
        }
        cx.tell(settled_by_user(&id, Value::from(Permission::Turn.word())));
        self.state = State::Ready { title };
    }

    pub(crate) fn refuse(&mut self, cx: &mut Context, why: Refused) {
        let (reason, text) = match why {
            Refused::Trust => (ResultReason::NotTrusted, cx.text().not_trusted(&self.tool)),
            Refused::Key => (
                ResultReason::DeniedByConfiguration,
                cx.text().denied_by_key(&self.tool),
            ),
            Refused::Mode => (
                ResultReason::DeniedByMode(Some(cx.mode())),
                cx.text().denied_by_mode(&self.tool, cx.mode()),
            ),
            Refused::NeedsApproval => (
                ResultReason::NeedsApproval,
                cx.text().needs_approval(&self.tool),
            ),
        };
        self.finish_aside(cx, reason, text);
    }

    pub(crate) fn permission_answered(
        &mut self,
        cx: &mut Context,
        answer: PromptAnswer,
        shown: Option<Showing>,
    ) {
        let State::Permission { prompted, prepared } = &mut self.state else {
            return;
        };
        let id = prompted.id.clone();
        let chosen = permission_answer(prepared, &answer);
        match answer {
            PromptAnswer::Answer { .. } if chosen.is_none() => {
                let misfit = no_permission(prepared);
                if prompted.refit(cx, &misfit) {
                    return self.show(cx, &id);
                }
                self.not_shown(cx, &id, "no fitting answer came".into());
            }
            PromptAnswer::Answer { new_text, .. } => {
                let permission = chosen.unwrap_or(Permission::No);
                let closed = Closed::Permitted {
                    permission,
                    new_text: new_text.clone(),
                    shown,
                };
                cx.record(Event::PromptClosed {
                    prompt: id.clone(),
                    closed,
                });
                cx.tell(settled_by_user(&id, Value::from(permission.word())));
                let prepared = std::mem::take(prepared);
                self.permitted(cx, permission, *prepared, new_text);
            }
            PromptAnswer::Decline { note } => self.declined(cx, &id, note, shown),
            PromptAnswer::Cancel => self.declined(cx, &id, None, shown),
            PromptAnswer::Failed(why) => self.not_shown(cx, &id, why),
        }
    }

    pub(crate) fn permitted(
        &mut self,
        cx: &mut Context,
        permission: Permission,
        prepared: Prepared,
        new_text: Option<String>,
    ) {
        match permission {
            Permission::No => return self.not_allowed(cx, None),
            Permission::Always => cx.keep_approval(&self.tool, &prepared),
            Permission::Once | Permission::Turn => {}
        }
        // Other permissions may not be needed any more.
        cx.widened = true;
        self.approved = Some(prepared.hash);
        self.new_text = new_text;
        self.state = State::Ready {
            title: prepared.title,
        };
    }

    /// A person's no. With a note, or after any message of the user's, the person is asked again.
    pub(crate) fn not_allowed(&mut self, cx: &mut Context, note: Option<String>) {
        let text = cx.text().not_allowed(&self.tool, note.as_deref());
        let noted = note.is_some();
        self.finish_aside(cx, ResultReason::Declined { noted }, text);
    }

    pub(crate) fn permission_prompt(
        &self,
        rules: &ToolRules,
        id: &PromptId,
        prepared: &Prepared,
    ) -> Prompt {
        let text = format!("{}?", prepared.title);
        let mut prompt = self.bare_prompt(rules, id, PromptKind::RunTool, &text);
        prompt.context = prepared.must_ask.clone();
        prompt.preview = prepared.preview.clone();
        prompt.answer_type = AnswerType::Select {
            options: Permission::words(shows_diff(prepared)),
        };
        prompt
    }
}

/// It shows a change of a file, so that it offers other permissions.
fn shows_diff(prepared: &Prepared) -> bool {
    matches!(prepared.preview, Some(Preview::Diff { .. }))
}

/// What is wrong with an answer that is no permission.
pub(crate) fn no_permission(prepared: &Prepared) -> Misfit {
    let options = Permission::words(shows_diff(prepared)).join(", ");
    Misfit(format!("The answer must be exactly one of: {options}."))
}

/// The permission that an answer to a permission prompt is, if it is one.
pub(crate) fn permission_answer(prepared: &Prepared, answer: &PromptAnswer) -> Option<Permission> {
    let PromptAnswer::Answer {
        value, new_text, ..
    } = answer
    else {
        return None;
    };
    let diff = shows_diff(prepared);
    let permission = Permission::of(value.0.as_str()?)?;
    let offered = Permission::options(diff).contains(&permission);
    let text_fits = new_text.is_none() || (diff && permission != Permission::No);
    (offered && text_fits).then_some(permission)
}

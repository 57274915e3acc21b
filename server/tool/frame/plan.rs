//! The plan of a call: what a person is shown of the call, and the work that follows.
//!
//! A tool plans each call twice: when the call is prepared, and right before it runs. Only the registry makes a
//! [`Planning`], and it runs a plan only if the plan equals the one that was shown. A run opens no file by its path: it
//! reads the files that its plan opened, against the [`ReadPermit`] of the run.

use std::{io, sync::Arc};

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use aside_base::{
    digest::of_parts,
    visible::{in_sight, short_line},
};
use aside_turn::{
    effect::CallWork,
    input::{Preparation, Prepared, Preview, ToolOutcome, ToolOutput},
    model_text::ModelText,
    question::Question,
    rules::Class,
};

use super::{
    context::{FileEdit, ToolContext},
    files::{
        OpenedFiles, ReadPermit, Readable,
        known::{KnownFile, WrittenTo},
    },
    spec::ToolSpec,
};
use crate::{
    sandbox::{CommandDecision, Confinement},
    workspace::PathError,
};

/// A call that a tool plans. Files are opened through it, so that the plan knows them.
pub struct Planning {
    work: CallWork,
    context: Arc<ToolContext>,
    opened: OpenedFiles,
}

/// The plan of a call.
pub struct CallPlan {
    planning: Planning,
    title: String,
    preview: Option<Preview>,
    note: Option<String>,
    reasons: Vec<String>,
    bound_to: Option<Vec<String>>,
    place: Workplace,
    base: Option<EditBase>,
    act: Act,
}

/// Place where the work of a call is done.
enum Workplace {
    /// In Aside, which reads files through the path gate.
    Aside,
    /// In Aside, which changes a file through the path gate.
    File,
    /// In a program that Aside starts.
    Program(CommandDecision),
    /// In a program that Aside does not confine: a client or a server.
    Elsewhere,
}

/// The text that an edit starts from. The edit means the same after other edits of tools.
#[derive(Clone)]
pub struct EditBase {
    /// The real path of the file.
    pub path: String,
    /// The SHA-256 of the text.
    pub hash: String,
    /// Of a file that is open in the editor, the lines that change. The edit means the same after what the user types in
    /// other lines.
    pub lines: Option<[String; 2]>,
}

/// The work of a plan.
type Act = Box<dyn FnOnce(ToolRun) -> BoxFuture<'static, Result<ToolOutcome, String>> + Send>;

/// A run of a planned call.
pub struct ToolRun {
    /// The call that runs.
    pub work: CallWork,
    /// The means of the tools of this conversation.
    pub context: Arc<ToolContext>,
    /// The signal to stop soon.
    pub cancelled: CancellationToken,
    /// Permission to read the files of the plan.
    pub permit: ReadPermit,
    /// Whether the plan was shown as a change of a file.
    changes: bool,
}

/// Reason why a call has no plan.
#[derive(Debug)]
pub enum Unplanned {
    /// A command rule of the user denies the call.
    Denied,
    /// The call has to ask first.
    Question(Box<Question>),
    /// The call cannot run. Text for the model.
    Error(String),
}

/// A plan as it was shown.
pub(super) struct ShownPlan {
    digest: String,
    base: Option<EditBase>,
}

impl Planning {
    pub(super) fn new(work: &CallWork, context: &Arc<ToolContext>) -> Self {
        Self {
            work: work.clone(),
            context: context.clone(),
            opened: OpenedFiles::default(),
        }
    }

    /// The call that is planned.
    #[must_use]
    pub fn work(&self) -> &CallWork {
        &self.work
    }

    /// The means of the tools of this conversation.
    #[must_use]
    pub fn context(&self) -> &Arc<ToolContext> {
        &self.context
    }

    /// The arguments of the call as the tool's own type.
    ///
    /// # Errors
    /// Text for the model that says what does not fit.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(&self.work.arguments).map_err(|error| self.invalid(&error.to_string()))
    }

    /// Text for the model: the arguments do not fit.
    #[must_use]
    pub fn invalid(&self, what: &str) -> String {
        invalid(&self.work.tool, what)
    }

    /// Opens a file for the run to read. A person is asked before a file that may hold secrets is read, and the call
    /// does not run if the path leads to another file by then.
    ///
    /// # Errors
    /// Fails if the path does not lead to a regular file of the workspace.
    pub fn open(&mut self, path: &str) -> Result<Readable, PathError> {
        self.context.files.open(path, &mut self.opened)
    }

    /// Finds a file for the run to change, with the text that the model read. Waits for the edits before.
    ///
    /// # Errors
    /// Text for the model: tools do not write there, or the model does not know the text of the file.
    pub fn known(&self, path: &str) -> Result<KnownFile, String> {
        self.known_before(path)?.unmoved()
    }

    /// Finds a file to change, which the model read; if it is open in the editor, the user may have gone on in it since.
    ///
    /// # Errors
    /// Text for the model: tools do not write there, or the model does not know the text of the file.
    pub fn known_before(&self, path: &str) -> Result<KnownFile, String> {
        let seen = |path: &str| self.context.seen().hash(path).map(str::to_owned);
        self.context.files.known(path, seen)
    }

    /// Plans work that blocks a thread, such as reading files.
    pub fn blocking(
        self,
        title: impl Into<String>,
        act: impl FnOnce(ToolRun) -> Result<ToolOutcome, String> + Send + 'static,
    ) -> CallPlan {
        self.running(title, |run: ToolRun| async move {
            let tool = run.work.tool.clone();
            on_blocking_thread(&tool, move || act(run)).await
        })
    }

    /// Plans work that waits for other programs. An error is text for the model.
    pub fn running<F>(
        self,
        title: impl Into<String>,
        act: impl FnOnce(ToolRun) -> F + Send + 'static,
    ) -> CallPlan
    where
        F: Future<Output = Result<ToolOutcome, String>> + Send + 'static,
    {
        CallPlan {
            planning: self,
            title: title.into(),
            preview: None,
            note: None,
            reasons: Vec::new(),
            bound_to: None,
            place: Workplace::Aside,
            base: None,
            act: Box::new(move |run| Box::pin(act(run))),
        }
    }
}

impl CallPlan {
    /// Shows a preview before the call runs.
    #[must_use]
    pub fn preview(mut self, preview: Preview) -> Self {
        self.preview = Some(preview);
        self
    }

    /// Adds advice for the person who is asked.
    #[must_use]
    pub fn note(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    /// Adds reasons why a person must be asked whatever mode and rules say.
    #[must_use]
    pub fn must_ask(mut self, reasons: impl IntoIterator<Item = String>) -> Self {
        self.reasons.extend(reasons);
        self
    }

    /// Binds an approval that is kept to these parts, in place of the tool, its arguments and the files that it opens.
    /// A run is always bound to all that was shown.
    #[must_use]
    pub fn bound_to<T: Into<String>>(mut self, parts: impl IntoIterator<Item = T>) -> Self {
        self.bound_to = Some(parts.into_iter().map(Into::into).collect());
        self
    }

    /// Does the work in a program that Aside starts as decided.
    #[must_use]
    pub(crate) fn in_program(mut self, decision: CommandDecision) -> Self {
        self.place = Workplace::Program(decision);
        self
    }

    /// Does the work in a program that Aside does not confine: a client or a server. The preview is the arguments, which
    /// are all that Aside knows of the work.
    #[must_use]
    pub fn elsewhere(mut self) -> Self {
        let arguments = &self.planning.work().arguments;
        let shown = serde_json::to_string_pretty(arguments).unwrap_or_default();
        let text = in_sight(&shown).into_owned();
        self.preview = Some(Preview::Text { text });
        self.place = Workplace::Elsewhere;
        self
    }

    /// Changes a file, also after other edits of tools if they began with this text.
    #[must_use]
    pub fn changing(mut self, base: Option<EditBase>) -> Self {
        self.place = Workplace::File;
        self.base = base;
        self
    }

    /// The call as the turn decides about it.
    pub(super) fn prepared(&self, spec: &ToolSpec) -> Prepared {
        let context = &self.planning.context;
        let rules = &context.sandbox.rules;
        let secret = self.planning.opened.secret.iter();
        let mut reasons: Vec<String> = secret
            .map(|path| format!("{} may hold secrets", short_line(path, 80)))
            .chain(self.reasons.iter().cloned())
            .collect();
        let (sandboxed, allowed) = match &self.place {
            Workplace::Aside | Workplace::File => (spec.class != Class::More, false),
            Workplace::Program(decision) => {
                let why = decision.must_ask.clone();
                reasons.extend(why.map(|why| context.sandbox.with_made(why)));
                let is_outside = matches!(decision.held, Confinement::Outside(_));
                (!is_outside, decision.approved)
            }
            Workplace::Elsewhere => (
                spec.server.is_some() && rules.unsandboxed,
                !spec.in_client && context.allowed.contains(&spec.name),
            ),
        };
        let hash = self.hash();
        Prepared {
            class: self.class(spec),
            title: self.title.clone(),
            preview: self.preview.clone(),
            approved: allowed || context.sandbox.is_let_out(&hash) || (context.approved)(&hash),
            hash,
            must_ask: (!reasons.is_empty()).then(|| reasons.join("; ")),
            note: self.note.clone(),
            sandboxed,
        }
    }

    /// Effects of the call: those of its tool, and never less than those of the place where its work is done.
    fn class(&self, spec: &ToolSpec) -> Class {
        match (&self.place, spec.class) {
            (Workplace::Program(_) | Workplace::Elsewhere, _) | (_, Class::More) => Class::More,
            (Workplace::File, _) | (_, Class::Edits) => Class::Edits,
            (Workplace::Aside, Class::Reads) => Class::Reads,
        }
    }

    pub(super) fn shown(&self) -> ShownPlan {
        let (hash, arguments) = (self.hash(), self.planning.work.arguments.to_string());
        let mut parts = vec![self.title.as_str(), &hash, &arguments];
        match &self.preview {
            Some(Preview::Command { text, cwd }) => parts.extend([text.as_str(), cwd]),
            Some(Preview::Diff { old, new, .. }) => parts.extend([old.as_str(), new]),
            Some(Preview::Text { text }) => parts.push(text),
            None => {}
        }
        let OpenedFiles { plain, secret } = &self.planning.opened;
        parts.extend(plain.iter().map(String::as_str));
        parts.push("secret");
        parts.extend(secret.iter().map(String::as_str));
        ShownPlan {
            digest: of_parts(&parts),
            base: self.base.clone(),
        }
    }

    /// Whether running this plan is what was shown.
    pub(super) fn is_as_shown(&self, shown: &ShownPlan) -> bool {
        self.has_named_base() && (self.shown().digest == shown.digest || self.follows(shown))
    }

    /// Whether the text of the file is the one that a person's own text is for, where that names one.
    fn has_named_base(&self) -> bool {
        let own = self.planning.work.new_text.as_ref();
        let named = own.and_then(|own| own.base.as_deref());
        named.is_none_or(
            |named| matches!(&self.preview, Some(Preview::Diff { old, .. }) if old == named),
        )
    }

    /// Whether only edits of tools lie between the shown plan and this one, or in an open document what the user typed in
    /// other lines. A person's own text is for the very text that was shown, or for the one that it names.
    fn follows(&self, shown: &ShownPlan) -> bool {
        let Planning { work, context, .. } = &self.planning;
        let (Some(now), Some(before)) = (&self.base, &shown.base) else {
            return false;
        };
        now.path == before.path
            && match &work.new_text {
                Some(own) => own.base.is_some(),
                None => {
                    now.lines.is_some() && now.lines == before.lines
                        || context.seen().leads(&now.path, &before.hash, &now.hash)
                }
            }
    }

    /// Does the work.
    pub(super) async fn run(self, cancelled: &CancellationToken) -> ToolOutcome {
        let Planning {
            work,
            context,
            opened,
        } = self.planning;
        let run = ToolRun {
            work,
            context,
            cancelled: cancelled.clone(),
            permit: opened.permit(),
            changes: matches!(self.place, Workplace::File),
        };
        let outcome = (self.act)(run).await;
        outcome.unwrap_or_else(|text| ToolOutcome::Error(ToolOutput::text(text)))
    }

    /// The hash that a kept approval is bound to.
    fn hash(&self) -> String {
        let Planning { work, opened, .. } = &self.planning;
        if let Some(parts) = &self.bound_to {
            return of_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let arguments = work.arguments.to_string();
        let mut parts = vec![work.tool.as_str(), &arguments];
        parts.extend(
            opened
                .plain
                .iter()
                .chain(&opened.secret)
                .map(String::as_str),
        );
        of_parts(&parts)
    }
}

impl ToolRun {
    /// Writes a text in the place of the known one, and returns the hash of what is there now. The edit is put on record
    /// before the file changes.
    ///
    /// # Errors
    /// Text for the model. The file was not changed, unless the editor did not confirm the change.
    pub fn write(&self, file: &KnownFile, text: &str) -> Result<(WrittenTo, String), String> {
        let failed = |error: io::Error| format!("`{}` was not changed: {error}.", file.path);
        if !self.changes {
            return Err(failed(io::Error::other(
                "the call was planned as no change",
            )));
        }
        let keep = |text: &str| (self.context.keep_blob)(text.as_bytes());
        let before = file.old.as_ref().map(|old| keep(&old.text));
        let edit = FileEdit {
            call: self.work.call,
            path: file.path.clone(),
            before: before.transpose().map_err(failed)?,
            after: Some(keep(text).map_err(failed)?),
        };
        (self.context.record_edit)(&edit).map_err(failed)?;
        file.put(&self.context.files, text, &self.cancelled)
    }
}

impl From<String> for Unplanned {
    fn from(text: String) -> Self {
        Self::Error(text)
    }
}

impl From<PathError> for Unplanned {
    fn from(error: PathError) -> Self {
        Self::Error(error.into())
    }
}

impl From<Unplanned> for Preparation {
    fn from(unplanned: Unplanned) -> Self {
        match unplanned {
            Unplanned::Denied => Self::DeniedByRule,
            Unplanned::Question(question) => Self::Question(*question),
            Unplanned::Error(text) => Self::Error(text),
        }
    }
}

/// The error of a call whose arguments do not fit.
pub(crate) fn invalid(tool: &str, what: &str) -> String {
    ModelText::default().invalid_arguments(tool, what)
}

/// Runs what blocks off the async threads. A panic in it becomes the error of its call.
pub(super) async fn on_blocking_thread<T: Send + 'static>(
    tool: &str,
    act: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|_| format!("{tool} failed inside Aside; this is a defect, do not retry."))?
}

/// Runs a part of a call that blocks off the async threads.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: &CallWork,
    context: &Arc<ToolContext>,
    act: impl FnOnce(&CallWork, &ToolContext) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (own, context) = (work.clone(), context.clone());
    on_blocking_thread(&work.tool, move || act(&own, &context)).await
}

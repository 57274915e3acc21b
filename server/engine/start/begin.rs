//! Opens a conversation and starts a turn in it, or resumes the interrupted one.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::PathBuf,
    sync::Arc,
};

use aside_session::{
    approvals::Approvals,
    attach::{AttachedContent, AttachedFile},
    blobs::Blobs,
    conversation::Conversation,
    record::{Entry, Frozen, TurnLimits, TurnOptions},
    replay,
};
use aside_tool::workspace::Workspace;
use aside_turn::{
    Setup, Turn,
    attachment::{self, Attachment},
    clearing::{Clearing, clearing, is_cold},
    effect::Update,
    history::TurnHistory,
    model_text::ModelText,
    record::{DirectiveKind, Event},
    response::{Feature, Usage},
    rules::{Model, Rules},
};
use tokio::{runtime::Handle, sync::mpsc, task::JoinHandle};

use super::{
    config::TurnConfig,
    error::StartError,
    head::{change, freeze, head},
    moved::moved,
    parts::TurnParts,
    request::{ConversationTarget, TurnRequest, TurnStart},
    sandbox::own_folders,
};
use crate::engine::{
    Engine,
    clock::Clock,
    conversations::running::Lease,
    drive::{
        TurnDriver,
        durable::Durability,
        growing::GrowingTranscript,
        handle::{QUEUE, TurnHandle, TurnMessage},
        hooks::{Edits, Hooks, Secrets},
        live::LiveQuestions,
        notice::TurnNotice,
        performer::Performer,
        state::ConversationState,
        step_room::StepRoom,
        tasks::TurnTasks,
        trace::Trace,
        writer::LogWriter,
    },
    look_for_thread,
};

/// A turn that runs in a task of its own. Dropping this frees its conversation.
pub struct StartedTurn {
    /// Handle for answering, steering and cancelling the turn.
    pub handle: TurnHandle,
    /// Id of the turn's model.
    pub model: String,
    /// Root of the workspace.
    pub root: PathBuf,
    /// Blobs of the conversation.
    pub blobs: Blobs,
    /// Tokens that the turn used before it was interrupted.
    pub used_before: Usage,
    /// Messages of the turn, up to [`TurnMessage::End`].
    pub messages: mpsc::Receiver<TurnMessage>,
    task: JoinHandle<Option<ConversationState>>,
    lease: Lease,
}

impl StartedTurn {
    /// Waits for the turn's task, frees the conversation, and keeps its state for the next turn. Must be called after
    /// [`TurnMessage::End`]. The returned receiver yields the notices after the end, and closes when none can follow.
    pub async fn finish(mut self) -> mpsc::Receiver<TurnMessage> {
        // After a panic there is no state: the next turn reads the log.
        let state = self.task.await.unwrap_or_default();
        self.lease.keep(state);
        self.messages
    }
}

impl Engine {
    /// Starts a turn. Finds the model if it is not known yet. A new conversation is created here, and removed again if
    /// the turn cannot start.
    ///
    /// # Errors
    /// A [`StartError`]. The answers for a resumption are not used up then.
    pub async fn begin(&self, mut config: TurnConfig) -> Result<StartedTurn, StartError> {
        look_for_thread()?;
        let tasks = Handle::current().metrics().num_alive_tasks();
        tracing::debug!(target: "aside::turn", tasks, "a turn begins");
        let parts = TurnParts::new(self, &mut config).await?;
        let mut notices = config.notices();
        let warnings = parts.warnings.iter().cloned();
        notices.extend(warnings.map(TurnNotice::Configuration));
        notices.extend(parts.missing.iter().cloned());
        let TurnConfig { request, lease, .. } = config;
        fits(&request.start, &parts.rules.model)?;
        let store = self.conversations().store(&request.root)?;
        let (conversation, is_new) = match &request.target {
            ConversationTarget::New => (store.create(None, Clock::start().now())?, true),
            ConversationTarget::Existing(conversation) => (conversation.clone(), false),
        };
        let mut lease = match lease {
            Some(lease) => lease,
            None if matches!(request.start, TurnStart::SummariseIdle) => {
                self.conversations().reserve_meanwhile(conversation.id())?
            }
            None => self.conversations().reserve(conversation.id())?,
        };
        let (front, messages) = mpsc::channel(QUEUE);
        tell(&front, notices).await;
        let setup = DriverSetup {
            conversation: conversation.clone(),
            options: TurnOptions {
                mode: Some(parts.rules.mode.into()),
                model: Some(parts.rules.model.id.clone()),
                root: Some(request.root.display().to_string()),
                limits: TurnLimits::of(&parts.rules.limits),
                unsandboxed: parts.sandbox.unsandboxed,
                ..request.options.clone()
            },
            request,
            parts,
            approvals: store.approvals(),
            state_dir: self.state_dir().to_owned(),
            program: self.program().to_owned(),
            durability: self.durability().clone(),
            front,
        };
        let model = setup.parts.rules.model.id.clone();
        let root = setup.request.root.clone();
        let driver = Box::pin(setup.driver(lease.take_state())).await;
        if driver.is_err()
            && is_new
            && let Err(error) = store.delete(&conversation, Clock::start().now())
        {
            tracing::warn!(%error, "an empty conversation stays");
        }
        let ((driver, handle), used_before) = driver?;
        store.begins(&conversation);
        lease.runs(&handle);
        Ok(StartedTurn {
            handle,
            model,
            root,
            blobs: conversation.blobs(),
            used_before,
            messages,
            task: tokio::spawn(driver.run()),
            lease,
        })
    }

    /// The id of the model that a turn would use.
    ///
    /// # Errors
    /// [`StartError::Usage`] or [`StartError::NoProvider`] if no turn could start.
    pub async fn check(&self, mut config: TurnConfig) -> Result<String, StartError> {
        let parts = TurnParts::new(self, &mut config).await?;
        Ok(parts.provider.model().id.clone())
    }
}

/// Fails if an image is larger than the model accepts: once it is in the conversation, it would fail every request.
fn fits(start: &TurnStart, model: &Model) -> Result<(), StartError> {
    let attachments = match start {
        TurnStart::Message { attachments, .. } => attachments.as_slice(),
        TurnStart::Summarise { .. }
        | TurnStart::SummariseIdle
        | TurnStart::TakeSummaryBack
        | TurnStart::Resume { .. } => &[],
    };
    let too_large = attachments.iter().find_map(|file| match &file.content {
        AttachedContent::Media(media_type, bytes) => {
            attachment::too_large(&file.name, media_type, bytes.len() as u64, model)
        }
        AttachedContent::Text(_) => None,
    });
    too_large.map_or(Ok(()), |why| Err(StartError::Usage(why)))
}

async fn tell(front: &mpsc::Sender<TurnMessage>, notices: Vec<TurnNotice>) {
    for notice in notices {
        // An error means that the front end is gone.
        let _ = front.send(TurnMessage::Notice(notice)).await;
    }
}

/// Everything needed for a turn's driver.
pub(super) struct DriverSetup {
    pub(super) conversation: Conversation,
    pub(super) request: TurnRequest,
    /// Options to record.
    options: TurnOptions,
    pub(super) parts: TurnParts,
    pub(super) approvals: Approvals,
    /// The state directory.
    pub(super) state_dir: PathBuf,
    /// The executable that supervises child processes.
    pub(super) program: PathBuf,
    durability: Durability,
    front: mpsc::Sender<TurnMessage>,
}

impl DriverSetup {
    /// Opens the log, resumes or closes the interrupted turn, and creates the driver. Also returns the tokens that a
    /// resumed turn used before. `kept` is the conversation's
    /// state after the last turn; it is used if nobody has written to the log since.
    async fn driver(
        mut self,
        kept: Option<ConversationState>,
    ) -> Result<((TurnDriver, TurnHandle), Usage), StartError> {
        let clock = Clock::start();
        let log = self.conversation.log(clock.now())?;
        let repaired = log.repaired().map(str::to_owned);
        let mut state = match kept.filter(|kept| kept.is_of(log.mark())) {
            Some(kept) => kept,
            None => {
                let read = ConversationState::read(&self.conversation, log.length()).await;
                read.map_err(|error| unusable(&self.conversation, &error))?
            }
        };
        let resumed = match &self.request.start {
            TurnStart::Summarise { .. } if state.turns.is_empty() => {
                let text = "there is nothing to summarise yet; send a message first";
                return Err(StartError::Usage(text.into()));
            }
            TurnStart::TakeSummaryBack
                if state.transcript.fullness().without_summary().is_none() =>
            {
                let text = "there is no summary to take back; `/compact` makes one";
                return Err(StartError::Usage(text.into()));
            }
            TurnStart::Message { .. }
            | TurnStart::Summarise { .. }
            | TurnStart::SummariseIdle
            | TurnStart::TakeSummaryBack => None,
            TurnStart::Resume { .. } => Some(self.last_interrupted(&mut state)?),
        };
        refuse(&mut self.parts.rules, &state);
        let id = match &resumed {
            Some(turn) => turn.id.clone(),
            None => turn_id(self.request.turn.take(), &state.turns)?,
        };
        let frozen = freeze(
            &self.parts.system,
            &self.parts.tools.specs,
            &mut self.parts.rules,
            state.frozen.as_ref(),
        );
        if matches!(self.request.start, TurnStart::SummariseIdle)
            && state
                .frozen
                .as_ref()
                .and_then(|before| change(before, &frozen))
                .is_some()
        {
            let text = "tools, instructions or the model are not those of the last request, so the provider's cache \
                        would not know this one";
            return Err(StartError::Usage(text.into()));
        }
        let attachments = self.keep_attachments().await?;
        let clearing = self.clearing(&mut state, clock).await?;
        let setup = Setup {
            id: id.clone(),
            rules: self.parts.rules.clone(),
            client: self.request.client.clone(),
            model_text: ModelText::default(),
            fullness: state.transcript.fullness().clone(),
            clearing,
        };
        let turn = self.turn(setup, resumed.as_ref(), attachments, clock)?;

        let writer = Arc::new(LogWriter::new(log, id.clone(), clock));
        let last = state.unended.take();
        let workspace = self.workspace()?;
        let preface = Preface {
            writer: &writer,
            conversation: &self.conversation,
        };
        if let Some(last) = &last {
            preface.close(last, &mut state.transcript)?;
        }
        let mut notices: Vec<TurnNotice> = repaired.into_iter().map(TurnNotice::Damage).collect();
        let changed = preface.settle_head(&frozen, &mut state)?;
        notices.extend(preface.report(&mut state)?);
        let root = &self.request.root;
        let editor = self.request.editor.as_deref();
        let moved = resumed.as_ref().map(|turn| moved(root, turn, editor));
        notices.extend(preface.tell_moved(moved.unwrap_or_default(), &mut state)?);
        notices.extend(changed);
        tell(&self.front, notices).await;
        if let (false, TurnStart::Message { text, .. }) =
            (!state.turns.is_empty(), &self.request.start)
        {
            let title = text.lines().next().unwrap_or_default().trim().to_owned();
            let update = Update::Title { title };
            let _ = self.front.send(TurnMessage::Update(update)).await;
        }

        state.turns.insert(id.clone());
        let conversation = self.conversation.id().to_owned();
        let performer = self.performer(frozen, writer, state, workspace);
        let used = resumed.map_or_else(Usage::default, |turn| turn.history().usage());
        Ok((
            TurnDriver::new(turn, id, conversation, performer, clock),
            used,
        ))
    }

    fn last_interrupted(&self, state: &mut ConversationState) -> Result<replay::Turn, StartError> {
        let last = state.unended.take();
        let last = last.filter(replay::Turn::is_interrupted);
        last.ok_or_else(|| StartError::NothingToResume(self.conversation.id().to_owned()))
    }

    /// Stores images and PDFs beside the log, on a blocking thread, before any event refers to them.
    async fn keep_attachments(&mut self) -> Result<Vec<Attachment>, StartError> {
        let given = match &mut self.request.start {
            TurnStart::Message { attachments, .. } => std::mem::take(attachments),
            TurnStart::Summarise { .. }
            | TurnStart::SummariseIdle
            | TurnStart::TakeSummaryBack
            | TurnStart::Resume { .. } => Vec::new(),
        };
        let blobs = self.conversation.blobs();
        let any = given.iter().any(AttachedFile::is_media);
        let keep = move || given.into_iter().map(|one| one.keep(&blobs)).collect();
        let kept: io::Result<Vec<Attachment>> = if any {
            let kept = tokio::task::spawn_blocking(keep).await;
            kept.unwrap_or_else(|failed| Err(io::Error::other(failed)))
        } else {
            keep()
        };
        kept.map_err(|error| StartError::Log {
            id: self.conversation.id().to_owned(),
            why: format!("cannot store an attachment: {error}"),
        })
    }

    /// The outputs that the turn leaves out of its requests. What was said is waited for only where there may be some.
    async fn clearing(
        &self,
        state: &mut ConversationState,
        clock: Clock,
    ) -> Result<Option<Clearing>, StartError> {
        let rules = &self.parts.rules;
        let idle = state.asked_at.map(|at| clock.now().saturating_sub(at));
        let Some(idle) = idle.filter(|idle| is_cold(rules, *idle)) else {
            return Ok(None);
        };
        let arrived = state.arrive().await;
        arrived.map_err(|error| unusable(&self.conversation, &error))?;
        let transcript = state.transcript.here();
        Ok(clearing(transcript, rules, &ModelText::default(), idle))
    }

    fn turn(
        &self,
        mut setup: Setup,
        resumed: Option<&replay::Turn>,
        attachments: Vec<Attachment>,
        clock: Clock,
    ) -> Result<Turn, StartError> {
        // What was spent before the turn began counts too.
        if let Some(time) = &mut setup.rules.limits.turn_time {
            *time = time.saturating_sub(self.request.since.elapsed());
        }
        match (&self.request.start, resumed) {
            (TurnStart::Resume { answers }, Some(turn)) => {
                let history = turn.history();
                self.refuse_walls(&turn.options, &history)?;
                Ok(Turn::resume(setup, history, answers.clone(), clock.now())?)
            }
            (TurnStart::Summarise { words }, _) => Ok(Turn::summarise(setup, words, clock.now())),
            (TurnStart::SummariseIdle, _) => Ok(Turn::summarise_idle(setup, clock.now())),
            (TurnStart::TakeSummaryBack, _) => {
                let context = setup.fullness.without_summary().unwrap_or(0);
                Ok(Turn::take_summary_back(setup, context, clock.now()))
            }
            (TurnStart::Message { text, .. }, _) => {
                Ok(Turn::start(setup, text.clone(), attachments, clock.now()))
            }
            (TurnStart::Resume { .. }, None) => Err(StartError::NothingToResume(
                self.conversation.id().to_owned(),
            )),
        }
    }

    /// Permission to run a command without a sandbox does not apply inside a sandbox, where the command behaves
    /// differently. Such a call keeps waiting if nobody can be asked again.
    fn refuse_walls(&self, before: &TurnOptions, history: &TurnHistory) -> Result<(), StartError> {
        let is_other = before.unsandboxed && !self.parts.sandbox.unsandboxed;
        if !is_other || self.request.client.is_some() {
            return Ok(());
        }
        let runs_commands = |tool: &str| {
            let tool = self.parts.tools.registry.get(tool);
            tool.is_some_and(|tool| tool.spec().runs_commands)
        };
        match history
            .permission_calls()
            .find(|call| runs_commands(call.tool()))
        {
            None => Ok(()),
            Some(call) => Err(StartError::Usage(format!(
                "the turn was not resumed, because {} waits for permission to run a command without a sandbox; \
                 add --unsandboxed again, or cancel the turn with a new message",
                call.tool()
            ))),
        }
    }

    fn workspace(&self) -> Result<Workspace, StartError> {
        let root = &self.request.root;
        let workspace = Workspace::open(root).map_err(|source| StartError::Workspace {
            folder: root.display().to_string(),
            source,
        })?;
        let workspace = workspace.with_own_folders(own_folders(&self.state_dir));
        Ok(workspace.with_notes(self.conversation.under_way()))
    }

    fn performer(
        self,
        frozen: Frozen,
        writer: Arc<LogWriter>,
        state: ConversationState,
        workspace: Workspace,
    ) -> Performer {
        let (say, happenings) = mpsc::channel(QUEUE);
        let (secrets, edits) = (Secrets::default(), Edits::default());
        let hooks = Hooks {
            writer: Arc::downgrade(&writer),
            happenings: say.clone(),
            secrets: secrets.clone(),
            edits: edits.clone(),
        };
        let live = LiveQuestions::default();
        live.attend(self.request.client.is_some());
        let context = self.context(&writer, hooks, live.clone(), workspace, state.seen);
        // What waits are results of the step that a resumed turn goes on with.
        let waiting = state.transcript.fullness().waiting();
        let room = StepRoom::of(self.parts.provider.model().context_window, waiting);
        Performer {
            writer,
            durability: self.durability,
            transcript: state.transcript,
            turns: state.turns,
            asked_at: state.asked_at,
            head: Arc::new(head(&frozen)),
            frozen,
            learned: state.learned,
            schema: self.options.schema.clone(),
            options: self.options,
            provider: self.parts.provider,
            assistants: self.parts.assistants,
            shared: state.shared,
            registry: self.parts.tools.registry,
            context: Arc::new(context),
            approvals: self.approvals,
            secrets,
            room,
            edits,
            live,
            front: self.front,
            happenings,
            tasks: TurnTasks::new(say),
            call_ids: HashMap::new(),
            trace: Trace::default(),
            end: None,
            took_summary_back: false,
        }
    }
}

/// Records before the turn's own events.
struct Preface<'a> {
    writer: &'a LogWriter,
    conversation: &'a Conversation,
}

impl Preface<'_> {
    /// Closes the interrupted turn, because a new message was sent instead of resuming it.
    fn close(
        &self,
        last: &replay::Turn,
        transcript: &mut GrowingTranscript,
    ) -> Result<(), StartError> {
        for event in replay::closing(last) {
            transcript.push(&event);
            self.append(Some(&last.id), &event.into())?;
        }
        Ok(())
    }

    /// Records the system text and tools of the first request, or their changes since.
    fn settle_head(
        &self,
        now: &Frozen,
        state: &mut ConversationState,
    ) -> Result<Option<TurnNotice>, StartError> {
        let Some(before) = state.frozen.replace(now.clone()) else {
            self.append(None, &Entry::Conversation(now.clone()))?;
            return Ok(None);
        };
        let Some((changed, notice)) = change(&before, now) else {
            return Ok(None);
        };
        self.append(None, &Entry::Changed(changed))?;
        state.transcript.change();
        Ok(Some(notice))
    }

    /// Reports unreadable parts: to the user every time, and to the model once.
    fn report(&self, state: &mut ConversationState) -> Result<Vec<TurnNotice>, StartError> {
        let mut notices = Vec::new();
        for lost in std::mem::take(&mut state.faults) {
            if let Some(event) = lost.report {
                state.transcript.push(&event);
                self.append(None, &event.into())?;
            }
            notices.push(TurnNotice::Damage(lost.text));
        }
        Ok(notices)
    }

    /// Tells the model that files are not as the resumed turn left them.
    fn tell_moved(
        &self,
        files: Vec<String>,
        state: &mut ConversationState,
    ) -> Result<Option<TurnNotice>, StartError> {
        if files.is_empty() {
            return Ok(None);
        }
        let kind = DirectiveKind::Moved;
        let text = ModelText::default().directive(&kind, &files.join(", "));
        let event = Event::Directive { kind, text };
        state.transcript.push(&event);
        self.append(None, &event.into())?;
        Ok(Some(TurnNotice::Moved(files)))
    }

    fn append(&self, turn: Option<&str>, entry: &Entry) -> Result<(), StartError> {
        self.writer
            .append_for(turn, entry)
            .map_err(|error| unusable(self.conversation, &error))
    }
}

/// Applies what models refused earlier in the conversation.
fn refuse(rules: &mut Rules, state: &ConversationState) {
    for (model, refuses) in &state.learned {
        // Refused earlier reasoning is not sent again anyway.
        if refuses.known() != Some(Feature::History) {
            refuses.recall(model, rules);
        }
    }
}

/// Id of a new turn: the given one, which must not be used in the conversation yet, or a random one.
fn turn_id(given: Option<String>, known: &HashSet<String>) -> Result<String, StartError> {
    match given {
        Some(id) if known.contains(&id) => Err(StartError::Usage(format!(
            "turnId: {id:?} is the id of an earlier turn of this conversation; choose another one"
        ))),
        Some(id) => Ok(id),
        None => {
            let ids = std::iter::repeat_with(new_turn_id);
            let mut unknown = ids.filter(|id| !known.contains(id));
            Ok(unknown.next().unwrap_or_else(new_turn_id))
        }
    }
}

/// A random turn id, short enough to type and without a dot.
fn new_turn_id() -> String {
    let letters = b"abcdefghijkmnpqrstuvwxyz23456789";
    let id = (0..8).map(|_| char::from(letters[fastrand::usize(..letters.len())]));
    std::iter::once('t').chain(id).collect()
}

fn unusable(conversation: &Conversation, error: &io::Error) -> StartError {
    StartError::Log {
        id: conversation.id().to_owned(),
        why: error.to_string(),
    }
}

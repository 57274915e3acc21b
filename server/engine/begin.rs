//! Opens a conversation and begins a turn in it, or goes on with the one that was interrupted.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    assemble::Assembled,
    clock::Clock,
    drive::{
        TurnDriver,
        assistants::Assistants,
        handle::{QUEUE, TurnHandle, TurnMessage},
        hooks::{Hooks, Secrets},
        performer::{Calls, Performer},
        state::ConversationState,
        tasks::Tasks,
        trace::Trace,
        writer::Writer,
    },
};
use crate::{
    provider::{Head, ToolSpec},
    session::{
        approvals::Approvals,
        attach::Given,
        conversation::Conversation,
        log::OpenError,
        record::{Changed, Entry, Frozen, FrozenTool, TurnOptions},
        replay,
    },
    tool::{Host, Seen, editor::Editor, workspace::Workspace},
    turn::{
        Setup, Turn,
        attachment::Attachment,
        effect::Update,
        event::{Level, PromptId},
        response::Feature,
        resume::ResumeError,
        rules::{Client, Rules, RunRule, ToolRules},
        transcript::Transcript,
    },
};

/// A turn to begin.
pub struct Plan {
    /// Where.
    pub conversation: Conversation,
    /// With what.
    pub start: Start,
    /// The turn's id, where a client chose one; without a dot.
    pub turn: Option<String>,
    /// How it was started, for the record and a resume.
    pub options: TurnOptions,
    /// The client that is there, if any.
    pub client: Option<Client>,
    /// What the configuration comes to.
    pub assembled: Assembled,
    /// The workspace.
    pub root: PathBuf,
    /// Approvals that were kept.
    pub approvals: Approvals,
    /// The program that holds child processes: `aside` itself.
    pub supervisor: PathBuf,
    /// The editor whose open documents stand for their files.
    pub editor: Option<Arc<dyn Editor>>,
}

/// What a turn begins with.
#[derive(Debug)]
pub enum Start {
    /// A user's message. An interrupted turn before it is closed.
    Message {
        /// The message.
        text: String,
        /// What goes along with it.
        attachments: Vec<Given>,
    },
    /// The last turn goes on. The answers are for its open prompts, by id.
    Resume {
        /// Texts, read by the prompts' types.
        answers: Vec<(PromptId, String)>,
    },
}

/// Why a turn could not begin. Nothing was changed then, but for a repaired log and blobs that nothing names.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read or written.
    #[error("conversation {id} cannot be used: {why}")]
    Log {
        /// Which.
        id: String,
        /// Why.
        why: String,
    },
    /// Its last turn is over.
    #[error(
        "there is nothing to resume in conversation {0}: its last turn has ended; send a new message instead"
    )]
    NothingToResume(String),
    /// An answer does not fit.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The workspace cannot be opened.
    #[error("the workspace {folder} cannot be opened: {source}")]
    Workspace {
        /// Which.
        folder: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Begins a turn and drives it in a task of its own. Messages to the front end end with [`TurnMessage::End`]. `kept` is
/// what the task of the conversation's turn before gave, if it is at hand; it counts if nobody wrote since.
///
/// # Errors
/// A [`BeginError`]; what was given for a resume can then be given again.
pub async fn begin(
    mut plan: Plan,
    kept: Option<ConversationState>,
    front: mpsc::Sender<TurnMessage>,
) -> Result<(TurnHandle, JoinHandle<Option<ConversationState>>), BeginError> {
    let clock = Clock::start();
    let log = plan.conversation.log(clock.now())?;
    let repaired = log.repaired().map(str::to_owned);
    let mut before = match kept.filter(|kept| kept.next == log.next()) {
        Some(kept) => kept,
        None => {
            let read = ConversationState::read(&plan.conversation, log.next()).await;
            read.map_err(|error| unusable(&plan.conversation, &error))?
        }
    };
    let resumed = match &plan.start {
        Start::Message { .. } => None,
        Start::Resume { .. } => Some(last_interrupted(&plan.conversation, &mut before)?),
    };
    refuse(&mut plan.assembled.rules, &before);
    let id = match &resumed {
        Some(turn) => turn.id.clone(),
        None => plan.turn.take().unwrap_or_else(new_turn_id),
    };
    let head = freeze(&mut plan, before.frozen.as_ref());
    let attachments = keep_attachments(&mut plan).await?;
    let turn = make_turn(&plan, &id, resumed.as_ref(), attachments, clock)?;

    let writer = Arc::new(Writer::new(log, id.clone(), clock));
    let opening = Opening {
        writer: &writer,
        conversation: &plan.conversation,
    };
    let workspace = open_workspace(&plan, before.interrupted.as_ref().or(resumed.as_ref()))?;
    let mut notices: Vec<String> = repaired.into_iter().collect();
    if let Some(last) = before.interrupted.take() {
        opening.close(&last, &mut before.transcript)?;
    }
    let changed = opening.settle_head(&head, &mut before)?;
    notices.extend(opening.report(&mut before)?);
    notices.extend(changed);
    for text in notices {
        let notice = Update::Notice {
            level: Level::Warning,
            text,
        };
        let _ = front.send(TurnMessage::Update(notice)).await;
    }
    if let (false, Start::Message { text, .. }) = (before.begun, &plan.start) {
        let title = text.lines().next().unwrap_or_default().trim().to_owned();
        let _ = front.send(TurnMessage::Title(title)).await;
    }

    let conversation = plan.conversation.id().to_owned();
    let performer = performer(plan, head, writer, before, workspace, front);
    let (driver, handle) = TurnDriver::new(turn, id, conversation, performer, clock);
    let task = tokio::spawn(driver.run());
    Ok((handle, task))
}

fn unusable(conversation: &Conversation, error: &std::io::Error) -> BeginError {
    BeginError::Log {
        id: conversation.id().to_owned(),
        why: error.to_string(),
    }
}

/// Puts images and PDFs beside the log, on a thread that may wait: they are there before an event names them.
async fn keep_attachments(plan: &mut Plan) -> Result<Vec<Attachment>, BeginError> {
    let given = match &mut plan.start {
        Start::Message { attachments, .. } => std::mem::take(attachments),
        Start::Resume { .. } => Vec::new(),
    };
    let blobs = plan.conversation.blobs();
    let any = given.iter().any(Given::is_media);
    let keep = move || given.into_iter().map(|one| one.keep(&blobs)).collect();
    let kept: std::io::Result<Vec<Attachment>> = if any {
        let kept = tokio::task::spawn_blocking(keep).await;
        kept.unwrap_or_else(|failed| Err(std::io::Error::other(failed)))
    } else {
        keep()
    };
    kept.map_err(|error| BeginError::Log {
        id: plan.conversation.id().to_owned(),
        why: format!("an attachment cannot be kept: {error}"),
    })
}

/// What models refused earlier in the conversation is not asked for again.
fn refuse(rules: &mut Rules, before: &ConversationState) {
    for (model, refuses) in &before.learned {
        // What earlier reasoning was refused for is over: it is not sent again.
        if let Some(feature) = refuses.known().filter(|of| *of != Feature::History) {
            rules.refuse(model, feature);
        }
    }
}

/// A new turn's id: short enough to type, without a dot.
fn new_turn_id() -> String {
    let letters = b"abcdefghijkmnpqrstuvwxyz23456789";
    let id = (0..8).map(|_| char::from(letters[fastrand::usize(..letters.len())]));
    std::iter::once('t').chain(id).collect()
}

fn last_interrupted(
    conversation: &Conversation,
    before: &mut ConversationState,
) -> Result<replay::Turn, BeginError> {
    let last = before.interrupted.take();
    last.ok_or_else(|| BeginError::NothingToResume(conversation.id().to_owned()))
}

fn make_turn(
    plan: &Plan,
    id: &str,
    resumed: Option<&replay::Turn>,
    attachments: Vec<Attachment>,
    clock: Clock,
) -> Result<Turn, BeginError> {
    let setup = Setup {
        id: id.to_owned(),
        rules: plan.assembled.rules.clone(),
        client: plan.client.clone(),
    };
    match (&plan.start, resumed) {
        (Start::Resume { answers }, Some(turn)) => Ok(Turn::resume(
            setup,
            &turn.events,
            answers.clone(),
            clock.now(),
        )?),
        (Start::Message { text, .. }, _) => {
            Ok(Turn::start(setup, text.clone(), attachments, clock.now()))
        }
        (Start::Resume { .. }, None) => Err(BeginError::NothingToResume(
            plan.conversation.id().to_owned(),
        )),
    }
}

/// The system text and tools that requests begin with. Tools that were taken away since stay in the array, which
/// caches rely on, and are refused when they are called.
fn freeze(plan: &mut Plan, before: Option<&Frozen>) -> Frozen {
    let model = plan.assembled.rules.model.id.clone();
    let provider = model.split('/').next().unwrap_or_default().to_owned();
    let mut tools: Vec<FrozenTool> = plan
        .assembled
        .specs
        .iter()
        .cloned()
        .map(frozen_tool)
        .collect();
    if let Some(before) = before {
        let now: Vec<FrozenTool> = std::mem::take(&mut tools);
        let known = |tool: &FrozenTool| before.tools.iter().any(|other| other.name == tool.name);
        let gone = |tool: &&FrozenTool| now.iter().all(|other| other.name != tool.name);
        for tool in before.tools.iter().filter(gone) {
            let denied = ToolRules {
                run: RunRule::Deny,
                ..ToolRules::default()
            };
            plan.assembled.rules.tools.insert(tool.name.clone(), denied);
        }
        let kept = before.tools.iter().map(|tool| {
            now.iter()
                .find(|other| other.name == tool.name)
                .unwrap_or(tool)
                .clone()
        });
        tools = kept
            .chain(now.iter().filter(|tool| !known(tool)).cloned())
            .collect();
    }
    Frozen {
        system: plan.assembled.system.clone(),
        tools,
        model,
        provider,
    }
}

fn frozen_tool(spec: ToolSpec) -> FrozenTool {
    let ToolSpec {
        name,
        description,
        parameters,
        strict,
    } = spec;
    FrozenTool {
        name,
        description,
        parameters,
        strict,
    }
}

fn spec(tool: &FrozenTool) -> ToolSpec {
    ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
        strict: tool.strict,
    }
}

/// What is recorded before the turn's own events.
struct Opening<'a> {
    writer: &'a Writer,
    conversation: &'a Conversation,
}

impl Opening<'_> {
    /// A new message instead of a resume closes the interrupted turn.
    fn close(&self, last: &replay::Turn, transcript: &mut Transcript) -> Result<(), BeginError> {
        for event in replay::closing(last) {
            transcript.push(&event);
            self.append(Some(&last.id), &event.into())?;
        }
        Ok(())
    }

    /// The first request freezes system text and tools; what is different later is a change on record.
    /// Says so, where it is: the prompt cache starts again there.
    fn settle_head(
        &self,
        head: &Frozen,
        before: &mut ConversationState,
    ) -> Result<Option<String>, BeginError> {
        let Some(frozen) = before.frozen.replace(head.clone()) else {
            self.append(None, &Entry::Conversation(head.clone()))?;
            return Ok(None);
        };
        let changed = Changed {
            system: Some(head.system.clone()).filter(|now| *now != frozen.system),
            tools: Some(head.tools.clone()).filter(|now| *now != frozen.tools),
            model: Some(head.model.clone()).filter(|now| *now != frozen.model),
            provider: Some(head.provider.clone()).filter(|now| *now != frozen.provider),
        };
        if changed == Changed::default() {
            return Ok(None);
        }
        let parts = [
            (
                "the model",
                changed.model.is_some() || changed.provider.is_some(),
            ),
            ("the tools", changed.tools.is_some()),
            ("the instructions", changed.system.is_some()),
        ];
        let parts: Vec<&str> = parts
            .iter()
            .filter(|(_, is)| *is)
            .map(|(part, _)| *part)
            .collect();
        self.append(None, &Entry::Changed(changed))?;
        before.transcript.change();
        let parts = parts.join(" and ");
        Ok(Some(format!(
            "Since the last turn {parts} changed, so the prompt cache starts again."
        )))
    }

    /// What could not be read is told to the user each time it was found, and to the model once.
    fn report(&self, before: &mut ConversationState) -> Result<Vec<String>, BeginError> {
        let mut notices = Vec::new();
        for lost in std::mem::take(&mut before.faults) {
            if let Some(event) = lost.untold {
                before.transcript.push(&event);
                self.append(None, &event.into())?;
            }
            notices.push(lost.text);
        }
        Ok(notices)
    }

    fn append(&self, turn: Option<&str>, entry: &Entry) -> Result<(), BeginError> {
        self.writer
            .append_for(turn, entry)
            .map_err(|error| unusable(self.conversation, &error))
    }
}

fn performer(
    plan: Plan,
    frozen: Frozen,
    writer: Arc<Writer>,
    before: ConversationState,
    workspace: Workspace,
    front: mpsc::Sender<TurnMessage>,
) -> Performer {
    let (say, happenings) = mpsc::channel(QUEUE);
    let secrets = Secrets::default();
    let hooks = Hooks {
        writer: writer.clone(),
        happenings: say.clone(),
        secrets: secrets.clone(),
    };
    let host = host(&plan, hooks, workspace, before.seen);
    let head = Head {
        system: frozen.system.clone(),
        tools: frozen.tools.iter().map(spec).collect(),
    };
    Performer {
        writer,
        transcript: before.transcript,
        head: Arc::new(head),
        frozen,
        learned: before.learned,
        schema: plan.options.schema.clone(),
        options: plan.options,
        provider: plan.assembled.provider,
        assistants: Assistants::new(plan.assembled.find_assistant),
        shared: before.shared,
        registry: plan.assembled.registry,
        host: Arc::new(host),
        approvals: plan.approvals,
        secrets,
        front,
        happenings,
        tasks: Tasks::new(say),
        calls: Calls::default(),
        trace: Trace::default(),
        end: None,
    }
}

fn open_workspace(plan: &Plan, last: Option<&replay::Turn>) -> Result<Workspace, BeginError> {
    let workspace = Workspace::open(&plan.root).map_err(|source| BeginError::Workspace {
        folder: plan.root.display().to_string(),
        source,
    })?;
    // The last turn may have been killed in the middle of a write.
    for edit in last.into_iter().flat_map(|turn| &turn.edits) {
        workspace.sweep(&edit.path);
    }
    Ok(workspace)
}

fn host(plan: &Plan, hooks: Hooks, workspace: Workspace, seen: Seen) -> Host {
    let approved = plan.approvals.read().unwrap_or_default();
    let blobs = plan.conversation.blobs();
    let (keep, read) = (blobs.clone(), blobs);
    let root = plan.root.clone();
    let edits = hooks.clone();
    Host {
        workspace,
        editor: plan.editor.clone(),
        seen: Mutex::new(seen),
        record_edit: Box::new(move |edit| edits.record_edit(&root, edit)),
        keep_blob: Box::new(move |bytes| keep.keep(bytes)),
        read_blob: Box::new(move |id, range| read.read(id, range)),
        output: Box::new(move |call, text| hooks.output(call, text)),
        approved: Box::new(move |hash| approved.contains(hash)),
        unsandboxed: plan.assembled.unsandboxed,
        limits: plan.assembled.limits,
        tools: plan.assembled.descriptions.clone(),
        supervisor: plan.supervisor.clone(),
    }
}

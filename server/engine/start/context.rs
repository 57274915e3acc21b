//! Builds the context of a turn's tools.

use std::{
    collections::VecDeque,
    io,
    path::Path,
    sync::{Arc, Mutex},
};

use super::begin::DriverSetup;
use crate::engine::drive::{hooks::Hooks, live::LiveQuestions, writer::LogWriter};
use aside_config::trust::TrustStore;
use aside_session::{
    conversation::Conversation,
    record::{Entry, Record, time_text},
};
use aside_tool::{FileSnapshots, Files, ToolContext, sandbox::Sandbox, workspace::Workspace};
use aside_turn::{
    history::passage::{Passage, PassageFold},
    record::Event,
};

/// Passages of a conversation that a search gives, at most.
const PASSAGES: usize = 200;

impl DriverSetup {
    pub(super) fn context(
        &self,
        writer: &LogWriter,
        hooks: Hooks,
        questions: LiveQuestions,
        workspace: Workspace,
        seen: FileSnapshots,
    ) -> ToolContext {
        let happenings = hooks.happenings.clone();
        let approved = self.approvals.read().unwrap_or_default();
        let blobs = self.conversation.blobs();
        let (keep, read) = (blobs.clone(), blobs);
        let log = self.conversation.clone();
        let (edits, live) = (hooks.clone(), hooks.clone());
        let state_dir = self.state_dir.clone();
        let (kept, clock, people) = (self.approvals.clone(), writer.clock(), questions.clone());
        ToolContext {
            files: Files::new(workspace, self.request.editor.clone()),
            seen: Mutex::new(seen),
            record_edit: Box::new(move |edit| edits.record_edit(edit)),
            keep_blob: Box::new(move |bytes| keep.keep(bytes)),
            read_blob: Box::new(move |id, range| read.read(id, range)),
            said: Box::new(move |keep| search_passages(&log, keep)),
            output: Box::new(move |call, text| live.output(call, text)),
            progress: Box::new(move |call, text| hooks.progress(call, text)),
            approved: Box::new(move |hash| approved.contains(hash)),
            keep_approval: Box::new(move |approval| {
                if let Err(error) = kept.keep(approval, clock.now()) {
                    tracing::warn!(%error, "the approval was not kept; it holds for this turn");
                }
            }),
            attended: Box::new(move || people.is_attended()),
            distrust: Box::new(move |folder| distrust(&state_dir, folder)),
            ask_live: Arc::new(move |call, question| {
                questions.ask(happenings.clone(), call, question)
            }),
            allowed: self.parts.tools.allowed.clone(),
            sandbox: Sandbox::new(self.parts.sandbox.clone()),
            limits: self.parts.limits,
            tools: self.parts.tools.descriptions.clone(),
            conversation: self.conversation.id().to_owned(),
            turn: writer.turn().to_owned(),
            supervisor: self.program.clone(),
        }
    }
}

/// The newest passages of a conversation that are kept, as far as they can all be shown.
fn search_passages(
    conversation: &Conversation,
    keep: &dyn Fn(&Passage, &str) -> Option<String>,
) -> io::Result<Vec<String>> {
    let take = |(passages, found): &mut (PassageFold, VecDeque<String>), record: Record| {
        let time = time_text(record.time);
        let said = match &record.entry {
            Entry::TurnStart { .. } => passages.push(&Event::TurnStart),
            Entry::Turn(event) => passages.push(event),
            _ => None,
        };
        found.extend(said.and_then(|said| keep(&said, &time)));
        if found.len() > PASSAGES {
            found.pop_front();
        }
    };
    let ((_, found), _) = conversation.read_into(u64::MAX, take)?;
    Ok(found.into())
}

/// Ends trust in a folder whose settings a command has created, until a person has checked them. Returns whether that was
/// kept.
fn distrust(state_dir: &Path, root: &Path) -> bool {
    let noted = TrustStore::new(state_dir).note_made(root);
    if let Err(error) = &noted {
        tracing::warn!(%error, "a command made aside.toml, and that could not be kept");
    }
    noted.is_ok()
}

//! Builds the context of a turn's tools.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
};

use super::begin::DriverSetup;
use crate::engine::drive::{hooks::Hooks, live::LiveQuestions, writer::LogWriter};
use aside_base::regular;
use aside_config::{FILE_NAME, trust::TrustStore};
use aside_tool::{FileSnapshots, Files, ToolContext, sandbox::Sandbox, workspace::Workspace};

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
        let (edits, live) = (hooks.clone(), hooks.clone());
        let (state_dir, folder) = (self.state_dir.clone(), self.request.root.clone());
        let (kept, clock, people) = (self.approvals.clone(), writer.clock(), questions.clone());
        ToolContext {
            files: Files::new(workspace, self.request.editor.clone()),
            seen: Mutex::new(seen),
            record_edit: Box::new(move |edit| edits.record_edit(edit)),
            keep_blob: Box::new(move |bytes| keep.keep(bytes)),
            read_blob: Box::new(move |id, range| read.read(id, range)),
            output: Box::new(move |call, text| live.output(call, text)),
            progress: Box::new(move |call, text| hooks.progress(call, text)),
            approved: Box::new(move |hash| approved.contains(hash)),
            keep_approval: Box::new(move |approval| {
                if let Err(error) = kept.keep(approval, clock.now()) {
                    tracing::warn!(%error, "the approval was not kept; it holds for this turn");
                }
            }),
            attended: Box::new(move || people.is_attended()),
            distrust: Box::new(move || distrust(&state_dir, &folder)),
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

/// Ends trust in a workspace whose settings a command has created, until a person has checked them.
fn distrust(state_dir: &Path, root: &Path) {
    let text = regular::open(&root.join(FILE_NAME)).and_then(io::read_to_string);
    let noted = text.and_then(|text| TrustStore::new(state_dir).note_made(root, &text));
    if let Err(error) = noted {
        tracing::warn!(%error, "a command made aside.toml, and that could not be kept");
    }
}

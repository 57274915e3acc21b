//! For tests: a workspace with files, and calls in it as text.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::{
    collections::HashMap,
    fs, io,
    sync::{Arc, Mutex, MutexGuard},
};

use aside_turn::{
    effect::CallWork,
    history::passage::Passage,
    input::{OwnText, Preparation, Prepared, ToolOutcome},
    question::Answer,
    record::CallKey,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{
    FileEdit, FileSnapshots, Files, ToolContext, ToolLimits,
    editor::Editor,
    registry::Registry,
    sandbox::{Sandbox, SandboxRules},
    workspace::Workspace,
};

/// Edits that were put on record, each with what the file held at that moment.
type Edits = Vec<(FileEdit, Option<String>)>;

/// A workspace in a folder of its own, beside which lies nothing.
pub(super) struct ToolTrial {
    folder: TempDir,
    pub(super) context: Arc<ToolContext>,
    pub(super) registry: Registry,
    pub(super) cancelled: CancellationToken,
    pub(super) answers: Vec<(String, Answer)>,
    pub(super) new_text: Option<OwnText>,
    pub(super) call: CallKey,
    pub(super) edits: Arc<Mutex<Edits>>,
    said: Arc<Mutex<Vec<(Passage, String)>>>,
}

impl ToolTrial {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        Self::in_editor(files, None)
    }

    /// With an editor that has some files open.
    pub(super) fn in_editor(files: &[(&str, &str)], editor: Option<Arc<dyn Editor>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let edits = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::new(Mutex::new(Vec::new()));
        let mut tools = context(&folder, edits.clone(), editor);
        let log = said.clone();
        tools.said = Box::new(move |keep| {
            let said: MutexGuard<'_, Vec<(Passage, String)>> = log.lock().unwrap();
            Ok(said
                .iter()
                .filter_map(|(said, time)| keep(said, time))
                .collect())
        });
        let context = Arc::new(tools);
        let trial = Self {
            folder,
            context,
            registry: Registry::builtin(),
            cancelled: CancellationToken::new(),
            answers: vec![],
            new_text: None,
            call: CallKey(0),
            edits,
            said,
        };
        for (path, text) in files {
            trial.put(path, text);
        }
        trial
    }

    /// Puts a passage into the log of the conversation.
    pub(super) fn says(&mut self, turn: u32, time: &str, who: &str, text: &str) {
        let said = Passage {
            turn,
            who: who.into(),
            tool: who.contains("recall").then(|| "recall".into()),
            text: text.into(),
        };
        self.said.lock().unwrap().push((said, time.into()));
    }

    pub(super) fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.path().join(path)).ok()
    }

    #[cfg(unix)]
    pub(super) fn link(&self, path: &str, to: &str) {
        symlink(to, self.folder.path().join(path)).unwrap();
    }

    #[cfg(unix)]
    pub(super) fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).unwrap();
    }

    pub(super) fn work(&self, tool: &str, arguments: Value) -> CallWork {
        CallWork {
            call: self.call,
            id: "call_1".into(),
            tool: tool.into(),
            arguments,
            answers: self.answers.clone(),
            new_text: self.new_text.clone(),
        }
    }

    pub(super) async fn prepare(&self, tool: &str, arguments: Value) -> Preparation {
        self.registry
            .prepare(&self.work(tool, arguments), &self.context)
            .await
    }

    pub(super) async fn prepared(&self, tool: &str, arguments: Value) -> Prepared {
        match self.prepare(tool, arguments).await {
            Preparation::Ready(prepared) => prepared,
            other => panic!("not ready: {other:?}"),
        }
    }

    pub(super) async fn run(&self, tool: &str, arguments: Value) -> ToolOutcome {
        self.registry
            .run(&self.work(tool, arguments), &self.context, &self.cancelled)
            .await
    }

    pub(super) async fn run_text(&self, tool: &str, arguments: Value) -> String {
        match self.run(tool, arguments).await {
            ToolOutcome::Success(output) => format!("ok: {}", output.content),
            ToolOutcome::Error(output) => format!("error: {}", output.content),
            ToolOutcome::NeedsInput(question) => {
                format!("asks: {}", serde_json::to_string(&question).unwrap())
            }
            ToolOutcome::Stopped => "stopped".into(),
        }
    }

    /// Prepares, then runs; what came of it as text.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> String {
        match self.prepare(tool, arguments.clone()).await {
            Preparation::Error(text) => format!("error: {text}"),
            Preparation::DeniedByRule => "denied by a rule".into(),
            Preparation::Question(question) => {
                format!("asks: {}", serde_json::to_string(&question).unwrap())
            }
            Preparation::Ready(_) => self.run_text(tool, arguments).await,
        }
    }

    #[track_caller]
    pub(super) fn check(
        &self,
        tool: &str,
        arguments: Value,
        outcome: &str,
    ) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move { assert_eq!(self.call(tool, arguments).await, outcome, "at {caller}") }
    }
}

fn context(
    folder: &TempDir,
    edits: Arc<Mutex<Edits>>,
    editor: Option<Arc<dyn Editor>>,
) -> ToolContext {
    let blobs = Arc::new(Mutex::new(HashMap::<String, Vec<u8>>::new()));
    let kept = blobs.clone();
    let root = folder.path().to_owned();
    ToolContext {
        files: Files::new(Workspace::open(folder.path()).unwrap(), editor),
        seen: Mutex::new(FileSnapshots::default()),
        record_edit: Box::new(move |edit| {
            let now = fs::read_to_string(root.join(&edit.path)).ok();
            edits.lock().unwrap().push((edit.clone(), now));
            Ok(())
        }),
        keep_blob: Box::new(move |bytes| {
            kept.lock()
                .unwrap()
                .insert(aside_base::digest::sha256(bytes), bytes.to_owned());
            Ok(aside_base::digest::sha256(bytes))
        }),
        read_blob: Box::new(move |id, range| {
            let blobs = blobs.lock().unwrap();
            let blob = blobs.get(id).ok_or(io::ErrorKind::NotFound)?;
            let at = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(blob.len());
            Ok(blob[at(range.start)..at(range.end)].to_owned())
        }),
        said: Box::new(|_| Ok(Vec::new())),
        output: Box::new(|_, _| ()),
        progress: Box::new(|_, _| ()),
        approved: Box::new(|_| false),
        keep_approval: Box::new(|_| ()),
        ask_live: Arc::new(|_, _| Box::pin(std::future::ready(Err("Nobody is there.".to_owned())))),
        attended: Box::new(|| false),
        distrust: Box::new(|_| true),
        allowed: [].into(),
        sandbox: Sandbox::new(SandboxRules {
            off: true,
            ..SandboxRules::default()
        }),
        limits: ToolLimits::default(),
        tools: [("first".to_owned(), "The first tool.".to_owned())]
            .into_iter()
            .collect(),
        conversation: "c1".into(),
        turn: "t1".into(),
        supervisor: "aside".into(),
    }
}

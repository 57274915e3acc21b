//! What tools reach of the engine: the log for edits, blobs, live output; and the secrets that must reach the tool
//! that asked for them and nothing else.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use aside_turn::{
    effect::CallWork,
    input::{ToolOutcome, ToolOutput},
    question::{Answer, Secret},
    record::CallKey,
};
use tokio::sync::mpsc;

use super::{tasks::Happening, writer::LogWriter};
use crate::{
    session::record::{self, Entry},
    tool::{
        FileEdit, question_without_secrets, value_without_secrets, without_secrets,
        workspace::file_uri,
    },
};

/// The secrets that calls were given. Never printed.
#[derive(Clone, Default)]
pub(in crate::engine) struct Secrets(Arc<Mutex<HashMap<CallKey, Vec<Secret>>>>);

impl Secrets {
    /// Takes in what a call was given.
    pub(in crate::engine) fn of(&self, work: &CallWork) {
        let secrets = work.answers.iter().filter_map(|(_, answer)| match answer {
            Answer::Secret(secret) => Some(secret.clone()),
            Answer::Value(_) => None,
        });
        let secrets: Vec<Secret> = secrets.collect();
        if !secrets.is_empty() {
            self.lock().insert(work.call, secrets);
        }
    }

    /// Takes in what a call was given while it ran.
    pub(in crate::engine) fn add(&self, call: CallKey, secret: Secret) {
        self.lock().entry(call).or_default().push(secret);
    }

    /// The call knows a secret: its output is not shown before it is whole and clean.
    fn has(&self, call: CallKey) -> bool {
        self.lock().contains_key(&call)
    }

    /// What a call says, without the secrets that it was given.
    pub(in crate::engine) fn redact(&self, call: CallKey, outcome: ToolOutcome) -> ToolOutcome {
        let Some(secrets) = self.lock().get(&call).cloned() else {
            return outcome;
        };
        let clean = |text: String| without_secrets(text, &secrets);
        let output = |output: ToolOutput| ToolOutput {
            content: clean(output.content),
            summary: clean(output.summary),
            details: output.details.map(|it| value_without_secrets(it, &secrets)),
            diff: output.diff.map(clean),
        };
        match outcome {
            ToolOutcome::Success(done) => ToolOutcome::Success(output(done)),
            ToolOutcome::Error(done) => ToolOutcome::Error(output(done)),
            ToolOutcome::NeedsInput(question) => {
                ToolOutcome::NeedsInput(question_without_secrets(question, &secrets))
            }
            ToolOutcome::Stopped => ToolOutcome::Stopped,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CallKey, Vec<Secret>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hooks of a turn's tools.
#[derive(Clone)]
pub(in crate::engine) struct Hooks {
    pub(in crate::engine) writer: Arc<LogWriter>,
    pub(in crate::engine) happenings: mpsc::Sender<Happening>,
    pub(in crate::engine) secrets: Secrets,
}

impl Hooks {
    /// An edit goes on record before its file changes.
    pub(in crate::engine) fn record_edit(
        &self,
        root: &Path,
        edit: &FileEdit,
    ) -> std::io::Result<()> {
        let entry = Entry::Edit(record::Edit {
            call: edit.call.0,
            path: edit.path.clone(),
            before: edit.before.clone(),
            after: edit.after.clone(),
            mode: None,
        });
        self.writer.append(&entry)?;
        let uri = file_uri(&root.join(&edit.path));
        self.say(Happening::Edit(edit.call, uri));
        Ok(())
    }

    /// A piece of a running call's output, unless the call knows a secret.
    pub(in crate::engine) fn output(&self, call: CallKey, text: &str) {
        if !self.secrets.has(call) {
            self.say(Happening::Output(call, text.to_owned()));
        }
    }

    /// Live output is for looking at: where the way is full, a piece is left out, for the result has it all.
    fn say(&self, happening: Happening) {
        if let Err(error) = self.happenings.try_send(happening) {
            tracing::debug!(%error, "a piece of live output was left out");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_cut_out_of_all_that_its_call_says() {
        let secrets = Secrets::default();
        let work = CallWork {
            call: CallKey(1),
            id: "c".into(),
            tool: "login".into(),
            arguments: json!({}),
            answers: vec![("pw".into(), Answer::Secret(Secret::new("hunter2".into())))],
            new_text: None,
        };
        secrets.of(&work);
        let said = ToolOutput {
            content: "got hunter2, hunter2".into(),
            summary: "hunter2".into(),
            details: Some(json!({"k": "hunter2"})),
            diff: Some("+hunter2".into()),
        };
        let clean = format!(
            "{:?}",
            secrets.redact(CallKey(1), ToolOutcome::Success(said.clone()))
        );
        assert!(
            !clean.contains("hunter2") && clean.contains("got [secret], [secret]"),
            "{clean}"
        );
        let other = secrets.redact(CallKey(2), ToolOutcome::Success(said.clone()));
        assert_eq!(
            other,
            ToolOutcome::Success(said),
            "another call was not given it"
        );
    }
}

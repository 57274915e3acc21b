//! Engine services for tools: the log of edits and live output. Also keeps secrets from reaching anything but the tool
//! that asked for them.

use aside_session::record::{Edit, Entry};
use aside_tool::FileEdit;
use aside_tool::question_without_secrets;
use aside_tool::value_without_secrets;
use aside_tool::without_secrets;
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, Weak},
};

use aside_base::lock;
use aside_turn::{
    effect::CallWork,
    input::{Input, ToolOutcome, ToolOutput},
    question::{Answer, Secret},
    record::CallKey,
};
use tokio::sync::mpsc;

use super::{tasks::Happening, writer::LogWriter};

/// Secrets given to calls. Never printed.
#[derive(Clone, Default)]
pub(in crate::engine) struct Secrets(Arc<Mutex<HashMap<CallKey, Vec<Secret>>>>);

impl Secrets {
    /// Adds the secrets among a call's answers.
    pub(in crate::engine) fn of(&self, work: &CallWork) {
        let secrets = work.answers.iter().filter_map(|(_, answer)| match answer {
            Answer::Secret(secret) => Some(secret.clone()),
            Answer::Value(_) => None,
        });
        let secrets: Vec<Secret> = secrets.collect();
        if !secrets.is_empty() {
            lock(&self.0).insert(work.call, secrets);
        }
    }

    /// Adds a secret that was given to a running call.
    pub(in crate::engine) fn add(&self, call: CallKey, secret: Secret) {
        lock(&self.0).entry(call).or_default().push(secret);
    }

    /// Whether the call was given a secret. Its output is then not shown before it is complete and redacted.
    fn has(&self, call: CallKey) -> bool {
        lock(&self.0).contains_key(&call)
    }

    /// Removes the secrets given to a call from its outcome.
    pub(in crate::engine) fn redact(&self, call: CallKey, outcome: ToolOutcome) -> ToolOutcome {
        let Some(secrets) = lock(&self.0).get(&call).cloned() else {
            return outcome;
        };
        let clean = |text: String| without_secrets(text, &secrets);
        let output = |output: ToolOutput| ToolOutput {
            content: clean(output.content),
            summary: clean(output.summary),
            details: output.details.map(|it| value_without_secrets(it, &secrets)),
            // What an image shows cannot be told.
            media: Vec::new(),
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
}

/// Changes of files by calls whose results are not on record yet.
#[derive(Clone, Default)]
pub(in crate::engine) struct Edits(Arc<Mutex<HashMap<CallKey, Vec<Edit>>>>);

impl Edits {
    /// Adds a change.
    pub(in crate::engine) fn add(&self, edit: Edit) {
        let call = CallKey(edit.call);
        lock(&self.0).entry(call).or_default().push(edit);
    }

    /// The changes that a call made, at its result.
    pub(in crate::engine) fn take(&self, call: CallKey) -> Vec<Edit> {
        lock(&self.0).remove(&call).unwrap_or_default()
    }
}

/// Services for the tools of a turn.
#[derive(Clone)]
pub(in crate::engine) struct Hooks {
    /// The log, which ends with the turn whatever a tool left behind: who holds it holds the conversation.
    pub(in crate::engine) writer: Weak<LogWriter>,
    pub(in crate::engine) happenings: mpsc::Sender<Happening>,
    pub(in crate::engine) secrets: Secrets,
    pub(in crate::engine) edits: Edits,
}

impl Hooks {
    /// Records an edit, before the file is changed.
    pub(in crate::engine) fn record_edit(&self, edit: &FileEdit) -> io::Result<()> {
        let edit = Edit {
            call: edit.call.0,
            path: edit.path.clone(),
            before: edit.before.clone(),
            after: edit.after.clone(),
            mode: None,
        };
        let over = || io::Error::other("the turn has ended");
        let writer = self.writer.upgrade().ok_or_else(over)?;
        writer.append(&Entry::Edit(edit.clone()))?;
        self.edits.add(edit);
        Ok(())
    }

    /// Passes on a line on the progress of a running call.
    pub(in crate::engine) fn progress(&self, call: CallKey, text: &str) {
        self.output(call, text);
        // Where the queue is full, what is in it shows that the call is alive.
        let _ = self
            .happenings
            .try_send(Happening::Turn(Input::Progress(call)));
    }

    /// Passes on output of a running call, unless the call was given a secret.
    pub(in crate::engine) fn output(&self, call: CallKey, text: &str) {
        if !self.secrets.has(call) {
            // A piece is dropped if the queue is full, because the result contains all output.
            let piece = Happening::Output(call, text.to_owned());
            if let Err(error) = self.happenings.try_send(piece) {
                tracing::debug!(%error, "a piece of live output was left out");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_removed_from_all_output_of_their_call() {
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
            media: Vec::new(),
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

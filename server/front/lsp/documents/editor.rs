//! Open documents as tools reach them: read as they are, changed through `workspace/applyEdit`, saved by the client.
//!
//! What a client says of an edit is not enough: some say `applied` of what was not. What counts is the state that
//! the document is in next.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower_lsp::lsp_types::{
    ApplyWorkspaceEditParams, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit, TextEdit, Url, WorkspaceEdit,
    request::{ApplyWorkspaceEdit, Request},
};

use super::{
    super::hub::{SharedHub, Told},
    Changed, Documents, real,
    splices::Splices,
};
use crate::{
    front::wire::requests::{Empty, SaveParams},
    tool::{
        editor::{Buffer, BufferEdit, EditError, Editor, OpenDocument},
        visible::one_line,
    },
};

/// How long an edit may take to be seen.
const CONFIRMED: Duration = Duration::from_secs(2);
/// How long saving may take: it may format.
const SAVED: Duration = Duration::from_secs(5);
/// Characters of a client's reason.
const REASON: usize = 200;

/// `aside/document/save`.
struct SaveDocument;

impl Request for SaveDocument {
    type Params = SaveParams;
    type Result = Empty;
    const METHOD: &'static str = "aside/document/save";
}

/// The client's documents, for tools.
pub(in super::super) struct OpenEditor(pub(in super::super) SharedHub);

impl Editor for OpenEditor {
    fn document(&self, path: &Path) -> Option<OpenDocument> {
        let (uri, state, file) = self.0.documents.of_file(path)?;
        let buffer = Buffer {
            uri: uri.into(),
            version: state.version,
            dirty: state.changed != Changed::No,
            users: state.changed == Changed::ByUser,
            file,
        };
        Some(OpenDocument {
            text: state.text,
            buffer,
        })
    }

    fn unsaved(&self) -> Vec<PathBuf> {
        self.0.documents.unsaved()
    }

    fn applies_edits(&self) -> bool {
        self.0.told.get().is_some_and(applies_edits)
    }

    fn apply(&self, edit: &BufferEdit<'_>, cancelled: &CancellationToken) -> Result<(), EditError> {
        Handle::current().block_on(apply(&self.0, edit, cancelled))
    }

    fn save(&self, path: &Path, cancelled: &CancellationToken) -> Result<(), String> {
        Handle::current().block_on(save(&self.0, path, cancelled))
    }
}

/// What the client says of an edit.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Applied,
    Refused(Option<String>),
}

async fn apply(
    hub: &SharedHub,
    edit: &BufferEdit<'_>,
    cancelled: &CancellationToken,
) -> Result<(), EditError> {
    let told = hub.told.get().ok_or(EditError::Incapable)?;
    let uri = document(&hub.documents, edit.path).ok_or(EditError::Stale)?;
    if !applies_edits(told) {
        return Err(EditError::Incapable);
    }
    if cancelled.is_cancelled() {
        return Err(EditError::Cancelled);
    }
    let splices = Splices::between(edit.base, edit.new);
    let edits = splices.text_edits(told.utf8);
    let seen = hub
        .documents
        .await_change(&uri, edit.version, edit.base, splices)
        .ok_or(EditError::Stale)?;
    let params = ApplyWorkspaceEditParams {
        label: Some("Aside".into()),
        edit: workspace_edit(&uri, edit.version, edits, takes_versions(told)),
    };
    let (reply, replied) = oneshot::channel();
    let client = hub.client.clone();
    // The task owns the request to its end: a reply to one that was dropped would end the process.
    tokio::spawn(async move {
        let said = match client.send_request::<ApplyWorkspaceEdit>(params).await {
            Ok(said) if said.applied => Reply::Applied,
            Ok(said) => Reply::Refused(said.failure_reason),
            Err(error) => Reply::Refused(Some(error.message.into_owned())),
        };
        // Nobody waits for a late one.
        let _ = reply.send(said);
    });
    let confirmed = confirmed(seen, replied, cancelled).await;
    hub.documents.give_up(&uri);
    confirmed
}

/// Waits until the client has shown that it made an edit: by the state of the document, else by a refusal, else not.
async fn confirmed(
    mut seen: oneshot::Receiver<bool>,
    mut replied: oneshot::Receiver<Reply>,
    cancelled: &CancellationToken,
) -> Result<(), EditError> {
    let late = sleep(CONFIRMED);
    tokio::pin!(late);
    // The document is in another state, or closed: only a refusal can still say what that means.
    let mut otherwise = false;
    let mut applied = false;
    while !(otherwise && applied) {
        tokio::select! {
            biased;
            state = &mut seen, if !otherwise => match state {
                Ok(true) => return Ok(()),
                _ => otherwise = true,
            },
            reply = &mut replied, if !applied => match reply {
                Ok(Reply::Refused(why)) => {
                    return Err(EditError::Refused(why.map(|why| one_line(&why, REASON))));
                }
                _ => applied = true,
            },
            () = cancelled.cancelled() => return Err(EditError::Cancelled),
            () = &mut late => break,
        }
    }
    Err(EditError::Unconfirmed)
}

async fn save(hub: &SharedHub, path: &Path, cancelled: &CancellationToken) -> Result<(), String> {
    let told = hub.told.get();
    let saves = told.and_then(|told| told.aside.as_ref());
    if !saves.is_some_and(|aside| aside.save) {
        return Err("this editor cannot be told to save".into());
    }
    let uri = document(&hub.documents, path).ok_or_else(|| "it is not open any more".to_owned())?;
    let (reply, replied) = oneshot::channel();
    let (client, params) = (
        hub.client.clone(),
        SaveParams {
            uri: uri.to_string(),
        },
    );
    // As above: owned to its end.
    tokio::spawn(async move {
        let _ = reply.send(client.send_request::<SaveDocument>(params).await);
    });
    let replied = tokio::select! {
        replied = timeout(SAVED, replied) => replied,
        () = cancelled.cancelled() => return Err("the call was cancelled".into()),
    };
    match replied {
        Ok(Ok(Ok(Empty {}))) => {
            hub.documents.saved_for_tools(&uri);
            Ok(())
        }
        Ok(Ok(Err(error))) => Err(one_line(&error.message, REASON)),
        Ok(Err(_)) | Err(_) => Err("the editor did not say that it was saved".into()),
    }
}

/// The document of a real path. A link that leads elsewhere by now does not count: what is saved there would be
/// another file.
fn document(documents: &Documents, path: &Path) -> Option<Url> {
    let uri = documents.uri_of(path)?;
    let leads_there = uri.to_file_path().is_ok_and(|named| real(&named) == path);
    leads_there.then_some(uri)
}

fn applies_edits(told: &Told) -> bool {
    let workspace = told.lsp.workspace.as_ref();
    workspace.is_some_and(|workspace| workspace.apply_edit == Some(true))
}

/// Not all that take versions say so; what counts is that none says no.
fn takes_versions(told: &Told) -> bool {
    let workspace = told.lsp.workspace.as_ref();
    let edits = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
    edits.and_then(|edits| edits.document_changes) != Some(false)
}

fn workspace_edit(uri: &Url, version: i32, edits: Vec<TextEdit>, versions: bool) -> WorkspaceEdit {
    if !versions {
        return WorkspaceEdit::new(HashMap::from([(uri.clone(), edits)]));
    }
    let edit = TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier {
            uri: uri.clone(),
            version: Some(version),
        },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    };
    WorkspaceEdit {
        document_changes: Some(DocumentChanges::Edits(vec![edit])),
        ..WorkspaceEdit::default()
    }
}

#[cfg(test)]
mod tests;

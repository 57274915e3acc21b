//! Open documents for tools: read in their current state, changed by `workspace/applyEdit`, saved by the client.
//!
//! A client's reply to an edit is not sufficient, because some report `applied` for an edit that they did not make. The
//! next state of the document counts.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aside_base::visible::short_line;
use aside_tool::editor::{
    Applied, Buffer, BufferEdit, Doubt, EditError, Editor, EditorView, OpenDocument, is_kept,
};
use futures_util::FutureExt;
use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower_lsp::lsp_types::{
    ApplyWorkspaceEditParams, ApplyWorkspaceEditResponse, DocumentChanges, OneOf,
    OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit, Url, WorkspaceEdit,
    request::ApplyWorkspaceEdit,
};

use super::{
    super::client::{LspClient, reply::ReplyError},
    Documents, UnsavedChanges, is_same_file,
    positions::is_doubtful,
    real,
    splices::Splices,
};
use crate::front::wire::{
    methods::SaveDocument,
    requests::{Empty, SaveParams},
};

/// Time limit for an edit to show in the document.
const CONFIRMED: Duration = Duration::from_secs(2);
/// Time limit for saving, which may format the document.
const SAVED: Duration = Duration::from_secs(5);
/// Maximum length in characters of a client's reason.
const REASON: usize = 200;

/// The client's documents as tools use them.
pub(in super::super) struct OpenEditor {
    pub(in super::super) client: LspClient,
    pub(in super::super) documents: Arc<Documents>,
}

impl Editor for OpenEditor {
    fn look(&self, path: &Path) -> EditorView {
        let Some((uri, state, file)) = self.documents.of_file(path) else {
            return EditorView::Closed;
        };
        if state.doubtful {
            return EditorView::Doubtful(Doubt::Lines);
        }
        if state.behind {
            return EditorView::Older;
        }
        let buffer = Buffer {
            uri: uri.into(),
            version: state.version,
            dirty: state.changed != UnsavedChanges::No,
            users: state.changed == UnsavedChanges::ByUser,
            file,
        };
        EditorView::Document(OpenDocument {
            text: state.text,
            buffer,
        })
    }

    fn unsaved(&self) -> Vec<PathBuf> {
        self.documents.unsaved()
    }

    fn applies_edits(&self) -> bool {
        self.client.can().applies_edits()
    }

    fn apply(
        &self,
        edit: &BufferEdit<'_>,
        cancelled: &CancellationToken,
    ) -> Result<Applied, EditError> {
        Handle::current().block_on(apply(self, edit, cancelled))?;
        Ok(Applied::InDocument)
    }

    fn save(&self, path: &Path, cancelled: &CancellationToken) -> Result<(), String> {
        Handle::current().block_on(save(self, path, cancelled))
    }
}

/// The client's reply to an edit.
#[derive(Debug, PartialEq, Eq)]
enum EditReply {
    Applied,
    /// The client refused, perhaps with a reason.
    Refused(Option<String>),
}

async fn apply(
    open: &OpenEditor,
    edit: &BufferEdit<'_>,
    cancelled: &CancellationToken,
) -> Result<(), EditError> {
    let OpenEditor { client, documents } = open;
    let uri = document(documents, edit.path).ok_or(EditError::Stale)?;
    if !client.can().applies_edits() {
        return Err(EditError::Incapable);
    }
    if cancelled.is_cancelled() {
        return Err(EditError::Cancelled);
    }
    let splices = Splices::between(edit.base, edit.new);
    let counting = client.can().counting();
    // The document would be compared with the edit by the same wrong positions.
    if is_doubtful(edit.base, counting) || is_doubtful(edit.new, counting) {
        return Err(EditError::UnknownLines);
    }
    if splices.brings_returns() && !client.can().keeps_returns() {
        return Err(EditError::OtherEnds);
    }
    let edits = splices.text_edits(counting);
    let seen = documents
        .await_change(&uri, edit.version, edit.base, splices)
        .ok_or(EditError::Stale)?;
    let versions = client.can().takes_versions();
    let reply = client.request::<ApplyWorkspaceEdit>(ApplyWorkspaceEditParams {
        label: Some("Aside".into()),
        edit: workspace_edit(&uri, edit.version, edits, versions),
    });
    let confirmed = confirmed(seen, reply.map(edit_reply), cancelled).await;
    documents.give_up(&uri);
    match confirmed {
        // The client told of the edit together with what the user typed.
        Err(EditError::Unconfirmed) => {
            let now = documents.get(&uri);
            match now.is_some_and(|now| is_kept(edit.base, edit.new, &now.text)) {
                true => Ok(()),
                false => Err(EditError::Unconfirmed),
            }
        }
        other => other,
    }
}

fn edit_reply(
    reply: Result<ApplyWorkspaceEditResponse, ReplyError>,
) -> Result<EditReply, ReplyError> {
    match reply {
        Ok(reply) if reply.applied => Ok(EditReply::Applied),
        Ok(reply) => Ok(EditReply::Refused(reply.failure_reason)),
        Err(ReplyError::Failed(why)) => Ok(EditReply::Refused(Some(why))),
        Err(why @ ReplyError::Unknown) => Ok(EditReply::Refused(Some(why.to_string()))),
        Err(over) => Err(over),
    }
}

/// Waits until the state of the document shows that the client made an edit, or the client refuses.
async fn confirmed<E>(
    mut seen: oneshot::Receiver<bool>,
    replied: impl Future<Output = Result<EditReply, E>>,
    cancelled: &CancellationToken,
) -> Result<(), EditError> {
    let late = sleep(CONFIRMED);
    tokio::pin!(late, replied);
    // The document has another state or was closed; only a refusal can explain that.
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
                Ok(EditReply::Refused(why)) => {
                    return Err(EditError::Refused(why.map(|why| short_line(&why, REASON))));
                }
                _ => applied = true,
            },
            () = cancelled.cancelled() => return Err(EditError::Cancelled),
            () = &mut late => break,
        }
    }
    Err(EditError::Unconfirmed)
}

async fn save(open: &OpenEditor, path: &Path, cancelled: &CancellationToken) -> Result<(), String> {
    let OpenEditor { client, documents } = open;
    if !client.can().saves() {
        return Err("this editor cannot be told to save".into());
    }
    let uri = document(documents, path).ok_or_else(|| "it is not open any more".to_owned())?;
    let reply = client.request::<SaveDocument>(SaveParams {
        uri: uri.to_string(),
    });
    let replied = tokio::select! {
        replied = timeout(SAVED, reply) => replied,
        () = cancelled.cancelled() => return Err("the call was cancelled".into()),
    };
    match replied {
        Ok(Ok(Empty {})) => {
            documents.saved_for_tools(&uri);
            Ok(())
        }
        Ok(Err(ReplyError::Failed(why))) => Err(short_line(&why, REASON)),
        Ok(Err(why @ ReplyError::Unknown)) => Err(why.to_string()),
        Ok(Err(ReplyError::ConnectionOver)) | Err(_) => {
            Err("the editor did not say that it was saved".into())
        }
    }
}

/// The document of a real path. A link that now leads elsewhere does not count, because saving would write another
/// file.
fn document(documents: &Documents, path: &Path) -> Option<Url> {
    let uri = documents.uri_of(path)?;
    let named = crate::front::uri::file_of(&uri);
    let leads_there = named.is_some_and(|named| is_same_file(&real(&named), path));
    leads_there.then_some(uri)
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

//! `textDocument/did…`: opened, changed, saved and closed documents.

use tokio::task::spawn_blocking;
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams,
};

use super::super::{connection::LspConnection, documents::Documents, fallback::waiting};

/// Takes an opened document. The first one triggers the check of the configuration.
pub(in super::super) fn opened(at: &LspConnection, params: DidOpenTextDocumentParams) {
    at.status.look_once();
    waiting::document_opened(&at.fallback);
    let document = params.text_document;
    at.fallback.opened(&document.uri);
    at.documents
        .open(document.uri, document.version, document.text);
}

/// Takes a changed document.
pub(in super::super) fn changed(at: &LspConnection, params: DidChangeTextDocumentParams) {
    let document = params.text_document;
    at.documents.change(
        &document.uri,
        document.version,
        params.content_changes,
        at.client.can().counting(),
    );
}

/// Takes a saved document.
pub(in super::super) fn saved(at: &LspConnection, params: &DidSaveTextDocumentParams) {
    at.documents.saved(&params.text_document.uri);
    at.fallback.read_pages();
}

/// Takes a closed document.
pub(in super::super) fn closed(at: &LspConnection, params: &DidCloseTextDocumentParams) {
    if at.documents.close(&params.text_document.uri) {
        at.tasks.spawn("memory", async {
            let given_back = spawn_blocking(Documents::give_back).await;
            if let Err(error) = given_back {
                tracing::warn!(%error, "memory was not given back");
            }
        });
    }
}

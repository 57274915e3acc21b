//! What the client can do, as it said in `initialize`.

use tower_lsp::lsp_types::{self, WindowClientCapabilities, WorkspaceClientCapabilities};

use crate::{front::wire::introduction::ClientCapabilities, turn::rules};

/// What the client said of itself.
#[derive(Debug)]
pub(in super::super) struct EditorCapabilities {
    /// Its name and version, and whether it can hide what is typed.
    pub(in super::super) client: rules::Client,
    /// Its part of the protocol; none for a fallback client.
    pub(in super::super) aside: Option<ClientCapabilities>,
    /// What it can do of LSP.
    pub(in super::super) lsp: lsp_types::ClientCapabilities,
    /// Positions count UTF-8 bytes, not UTF-16 units.
    pub(in super::super) utf8: bool,
}

impl EditorCapabilities {
    /// It takes part in the protocol.
    pub(in super::super) fn speaks_aside(&self) -> bool {
        self.aside.is_some()
    }

    /// It shows prompts by `aside/prompt`.
    pub(in super::super) fn shows_prompts(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.prompt)
    }

    /// It saves documents when it is told to, by `aside/document/save`.
    pub(in super::super) fn saves(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.save)
    }

    /// It shows messages beside the text, where they take a click: VS Code and what is built from its source do.
    pub(in super::super) fn shows_messages_beside(&self) -> bool {
        let name = self.client.name.as_str();
        name.starts_with("Visual Studio Code")
            || name.starts_with("Code - OSS")
            || ["VSCodium", "code-server"].contains(&name)
    }

    /// It can show a file.
    pub(in super::super) fn shows_pages(&self) -> bool {
        let shows = self
            .window()
            .and_then(|window| window.show_document.as_ref());
        shows.is_some_and(|shows| shows.support)
    }

    /// It can show the progress of work.
    pub(in super::super) fn shows_progress(&self) -> bool {
        self.window().and_then(|window| window.work_done_progress) == Some(true)
    }

    /// It can change documents when it is told to.
    pub(in super::super) fn applies_edits(&self) -> bool {
        self.workspace().and_then(|workspace| workspace.apply_edit) == Some(true)
    }

    /// Edits may name the version of the document. Not all clients that take versions say so; what counts is that none
    /// says no.
    pub(in super::super) fn takes_versions(&self) -> bool {
        let edits = self
            .workspace()
            .and_then(|workspace| workspace.workspace_edit.as_ref());
        edits.and_then(|edits| edits.document_changes) != Some(false)
    }

    /// It can be asked for its settings.
    pub(in super::super) fn has_settings(&self) -> bool {
        self.workspace()
            .and_then(|workspace| workspace.configuration)
            == Some(true)
    }

    /// It says when its settings change, once that is registered.
    pub(in super::super) fn registers_settings(&self) -> bool {
        let changes = self
            .workspace()
            .and_then(|workspace| workspace.did_change_configuration.as_ref());
        changes.and_then(|changes| changes.dynamic_registration) == Some(true)
    }

    /// It takes code actions as such, not only commands.
    pub(in super::super) fn takes_action_literals(&self) -> bool {
        let document = self.lsp.text_document.as_ref();
        let actions = document.and_then(|document| document.code_action.as_ref());
        actions.is_some_and(|actions| actions.code_action_literal_support.is_some())
    }

    fn window(&self) -> Option<&WindowClientCapabilities> {
        self.lsp.window.as_ref()
    }

    fn workspace(&self) -> Option<&WorkspaceClientCapabilities> {
        self.lsp.workspace.as_ref()
    }
}

//! Capabilities of the client, from `initialize`.

use aside_turn::rules;
use tower_lsp::lsp_types::{self, WindowClientCapabilities, WorkspaceClientCapabilities};

use super::counting::{self, Counting, LoneReturn};
use crate::front::wire::introduction::ClientCapabilities;

/// Capabilities of the client.
#[derive(Debug)]
pub(in super::super) struct EditorCapabilities {
    /// Name and version of the client, and whether it can hide typed text.
    pub(in super::super) client: rules::Client,
    /// Capabilities in Aside's protocol; `None` for a fallback client.
    pub(in super::super) aside: Option<ClientCapabilities>,
    /// Capabilities in LSP.
    pub(in super::super) lsp: lsp_types::ClientCapabilities,
    /// Whether positions count UTF-8 bytes instead of UTF-16 units.
    pub(in super::super) utf8: bool,
}

impl EditorCapabilities {
    /// Whether the client speaks Aside's protocol.
    pub(in super::super) fn speaks_aside(&self) -> bool {
        self.aside.is_some()
    }

    /// Whether the client supports `aside/prompt`.
    pub(in super::super) fn shows_prompts(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.prompt)
    }

    /// Whether the client supports `aside/document/save`.
    pub(in super::super) fn saves(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.save)
    }

    /// Whether the client shows messages beside the text, where they need a click, as VS Code and its forks do.
    pub(in super::super) fn shows_messages_beside(&self) -> bool {
        counting::is_code(&self.client.name)
    }

    /// How the client counts lines and characters.
    pub(in super::super) fn counting(&self) -> Counting {
        Counting {
            utf8: self.utf8,
            returns: LoneReturn::of(&self.client.name),
        }
    }

    /// Whether the client writes a carriage return of an edit as it stands there. Aside's own adapter does.
    pub(in super::super) fn keeps_returns(&self) -> bool {
        self.speaks_aside() || !counting::drops_returns(&self.client.name)
    }

    /// Whether the client can show a file.
    pub(in super::super) fn shows_pages(&self) -> bool {
        let shows = self
            .window()
            .and_then(|window| window.show_document.as_ref());
        shows.is_some_and(|shows| shows.support)
    }

    /// Whether the client can show progress.
    pub(in super::super) fn shows_progress(&self) -> bool {
        self.window().and_then(|window| window.work_done_progress) == Some(true)
    }

    /// Whether the client supports `workspace/applyEdit`.
    pub(in super::super) fn applies_edits(&self) -> bool {
        self.workspace().and_then(|workspace| workspace.apply_edit) == Some(true)
    }

    /// Whether edits may name the version of the document. Some clients accept versions without saying so, so only an
    /// explicit no counts.
    pub(in super::super) fn takes_versions(&self) -> bool {
        let edits = self
            .workspace()
            .and_then(|workspace| workspace.workspace_edit.as_ref());
        edits.and_then(|edits| edits.document_changes) != Some(false)
    }

    /// Whether the client can be asked for its settings.
    pub(in super::super) fn has_settings(&self) -> bool {
        self.workspace()
            .and_then(|workspace| workspace.configuration)
            == Some(true)
    }

    /// Whether the client supports registration for changes of its settings.
    pub(in super::super) fn registers_settings(&self) -> bool {
        let changes = self
            .workspace()
            .and_then(|workspace| workspace.did_change_configuration.as_ref());
        changes.and_then(|changes| changes.dynamic_registration) == Some(true)
    }

    /// Whether the client supports registration for changes of files.
    pub(in super::super) fn watches_files(&self) -> bool {
        let watching = self
            .workspace()
            .and_then(|workspace| workspace.did_change_watched_files.as_ref());
        watching.and_then(|watching| watching.dynamic_registration) == Some(true)
    }

    /// Whether the client accepts code action literals and not only commands.
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

//! `initialize`: the client's introduction and the server's capabilities.

use std::path::PathBuf;

use aside_turn::rules;
use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, ExecuteCommandOptions,
    InitializeParams, InitializeResult, OneOf, PositionEncodingKind, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use super::{
    super::{
        client::{capabilities::EditorCapabilities, tools},
        connection::Introduction,
        settings::ClientSettings,
    },
    code_actions,
};
use crate::front::{
    error::{Result, invalid},
    wire::{
        introduction::{self, InitializationOptions, VERSION},
        methods::commands,
    },
};

/// Reads the client's introduction.
///
/// # Errors
/// [`InvalidParams`](crate::front::error::RequestError::InvalidParams), which names the field.
pub(in super::super) fn read(mut params: InitializeParams) -> Result<Introduction> {
    let options = match params.initialization_options {
        None | Some(Value::Null) => InitializationOptions::default(),
        Some(options) => serde_json::from_value(options)
            .map_err(|why| invalid(format!("initializationOptions: {why}")))?,
    };
    let aside = params
        .capabilities
        .experimental
        .as_mut()
        .and_then(|experimental| experimental.get_mut("aside"))
        .map(|aside| serde_json::from_value(aside.take()))
        .transpose()
        .map_err(|why| invalid(format!("capabilities.experimental.aside: {why}")))?;
    let mut aside: Option<introduction::ClientCapabilities> = aside;
    aside.as_mut().map_or(Ok(()), tools::collect)?;
    let info = params.client_info;
    let client = rules::Client {
        name: info
            .as_ref()
            .map_or_else(|| "an LSP client".into(), |info| info.name.clone()),
        version: info.and_then(|info| info.version).unwrap_or_default(),
        questions: true,
        secret: aside
            .as_ref()
            .is_some_and(|aside| aside.prompt && aside.secret),
    };
    let encodings = params
        .capabilities
        .general
        .as_ref()
        .and_then(|general| general.position_encodings.as_ref());
    let utf8 = encodings.is_some_and(|known| known.contains(&PositionEncodingKind::UTF8));
    // Older clients name only a root.
    let root = params.root_uri;
    let speaks_aside = aside.is_some();
    let folders = params.workspace_folders.unwrap_or_default();
    let folders = folders.into_iter().map(|folder| folder.uri).chain(root);
    Ok(Introduction {
        capabilities: EditorCapabilities {
            client,
            aside,
            lsp: params.capabilities,
            utf8,
        },
        folders: folders.collect(),
        state_dir: Some(&options)
            .filter(|_| speaks_aside)
            .and_then(|options| options.state_dir.as_ref())
            .map(PathBuf::from),
        settings: ClientSettings::of(options, speaks_aside),
        process: params.process_id,
    })
}

/// The server's capabilities for this client.
pub(in super::super) fn result(client: &EditorCapabilities) -> InitializeResult {
    let version = env!("CARGO_PKG_VERSION");
    let aside = introduction::ServerCapabilities {
        version: client
            .aside
            .as_ref()
            .map_or(VERSION, |aside| aside.version.clamp(1, VERSION)),
        server: version.to_owned(),
    };
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(if client.utf8 {
                PositionEncodingKind::UTF8
            } else {
                PositionEncodingKind::UTF16
            }),
            text_document_sync: Some(TextDocumentSyncCapability::Options(
                TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(SaveOptions::default().into()),
                    ..TextDocumentSyncOptions::default()
                },
            )),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                file_operations: None,
            }),
            execute_command_provider: Some(ExecuteCommandOptions {
                commands: commands::ALL.map(str::to_owned).to_vec(),
                ..ExecuteCommandOptions::default()
            }),
            code_action_provider: Some(actions(client)),
            experimental: Some(json!({ "aside": aside })),
            ..ServerCapabilities::default()
        },
        server_info: Some(ServerInfo {
            name: "aside".into(),
            version: Some(version.into()),
        }),
    }
}

fn actions(client: &EditorCapabilities) -> CodeActionProviderCapability {
    if !client.takes_action_literals() {
        return CodeActionProviderCapability::Simple(true);
    }
    CodeActionProviderCapability::Options(CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, code_actions::KIND]),
        ..CodeActionOptions::default()
    })
}

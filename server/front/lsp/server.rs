//! The handlers. None holds the next one up while a client, a provider, a tool or a human is waited for: each changes
//! what there is to change before that, so that messages take effect in the order in which they came.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use tower_lsp::{
    Client, ClientSocket, LanguageServer, LspService, jsonrpc,
    lsp_types::{
        CodeActionParams, CodeActionResponse, DidChangeConfigurationParams,
        DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
        DidOpenTextDocumentParams, DidSaveTextDocumentParams, ExecuteCommandParams,
        InitializeParams, InitializeResult, InitializedParams, OneOf, PositionEncodingKind,
        SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability,
        TextDocumentSyncKind, TextDocumentSyncOptions, Url, WorkDoneProgressCancelParams,
        WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
    },
};

use super::{
    client_tools::check,
    configured::client_settings,
    hub::{Hub, SharedHub, Told, lock},
    params::Given,
    plain,
    settings::ClientSettings,
    start::begin_turn,
};
use crate::{
    engine::blocking,
    front::{
        error::{RequestError, Result, invalid},
        transport::{in_order::to_the_end, parent},
        wire::{
            PromptAnswer,
            requests::{
                self, AnswerParams, ConversationRef, Empty, InitializationOptions, PendingResult,
                StartParams, StartResult, SteerParams, TurnId, VERSION,
            },
        },
    },
    turn::{question::AnswerType, rules},
};

/// The server's side of a connection.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) hub: SharedHub,
}

/// A service and the way to its client.
pub(super) fn service(hub: impl Fn(Client) -> Hub) -> (LspService<Server>, ClientSocket) {
    let build = |client| Server {
        hub: Arc::new(hub(client)),
    };
    LspService::build(build)
        .custom_method("aside/conversation/create", Server::conversation_create)
        .custom_method("aside/conversation/list", Server::conversation_list)
        .custom_method("aside/conversation/read", Server::conversation_read)
        .custom_method(
            "aside/conversation/transcript",
            Server::conversation_transcript,
        )
        .custom_method("aside/conversation/fork", Server::conversation_fork)
        .custom_method("aside/conversation/rename", Server::conversation_rename)
        .custom_method("aside/conversation/delete", Server::conversation_delete)
        .custom_method("aside/turn/start", Server::turn_start)
        .custom_method("aside/turn/resume", Server::turn_resume)
        .custom_method("aside/turn/steer", Server::turn_steer)
        .custom_method("aside/turn/cancel", Server::turn_cancel)
        .custom_method("aside/turn/undo", Server::turn_undo)
        .custom_method("aside/prompt/pending", Server::prompt_pending)
        .custom_method("aside/prompt/answer", Server::prompt_answer)
        .custom_method("aside/model/list", Server::model_list)
        .custom_method("aside/config/read", Server::config_read)
        .custom_method("aside/workspace/trust", Server::workspace_trust)
        .custom_method("window/workDoneProgress/cancel", Server::progress_cancel)
        .finish()
}

#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> jsonrpc::Result<InitializeResult> {
        let process = params.process_id;
        let (told, settings, folders) = read(params)?;
        let aside = requests::ServerCapabilities {
            version: told
                .aside
                .as_ref()
                .map_or(VERSION, |aside| aside.version.clamp(1, VERSION)),
            server: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let mut capabilities = capabilities(told.utf8, &aside);
        plain::declare(&mut capabilities, &told);
        *lock(&self.hub.settings) = settings;
        *lock(&self.hub.folders) = folders;
        if let Some(process) = process
            && let Err(error) = parent::watch(process, self.hub.ends.clone())
        {
            tracing::warn!(%error, "the client's process is not watched");
        }
        // A second `initialize` is refused by tower-lsp.
        let _ = self.hub.told.set(told);
        Ok(InitializeResult {
            capabilities,
            server_info: Some(ServerInfo {
                name: "aside".into(),
                version: Some(env!("CARGO_PKG_VERSION").into()),
            }),
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.hub.begin();
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        // The turns end on their own time; that they have is waited for at the end of the connection.
        for turn in self.hub.turns.all() {
            turn.leave().await;
        }
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.hub.look_once();
        plain::document_opened(&self.hub);
        let document = params.text_document;
        self.hub
            .documents
            .open(document.uri, document.version, document.text);
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let utf8 = self.hub.told.get().is_some_and(|told| told.utf8);
        let document = params.text_document;
        self.hub.documents.change(
            &document.uri,
            document.version,
            params.content_changes,
            utf8,
        );
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.hub.documents.saved(&params.text_document.uri);
        self.hub.plain.saved();
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.hub.documents.close(&params.text_document.uri);
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.configuration_changed(params);
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let mut folders = lock(&self.hub.folders);
        for removed in params.event.removed {
            let path = removed.uri.to_file_path();
            folders.retain(|folder| folder.to_file_path() != path);
        }
        let added = params.event.added.into_iter();
        folders.extend(added.map(|folder| folder.uri));
        drop(folders);
        self.hub.look_again();
    }

    async fn execute_command(
        &self,
        params: ExecuteCommandParams,
    ) -> jsonrpc::Result<Option<Value>> {
        let server = self.clone();
        Ok(to_the_end(async move { server.perform(params).await }).await?)
    }

    async fn code_action(
        &self,
        params: CodeActionParams,
    ) -> jsonrpc::Result<Option<CodeActionResponse>> {
        Ok(Some(plain::actions::offered(&self.hub, params)))
    }
}

impl Server {
    async fn turn_start(&self, params: Given<StartParams>) -> jsonrpc::Result<StartResult> {
        let params = params.read()?;
        let hub = self.hub.clone();
        let handle = to_the_end(async move {
            let wanted = hub.wanted(params)?;
            begin_turn(&hub, wanted).await
        })
        .await?;
        Ok(StartResult {
            conversation_id: handle.conversation,
            turn_id: handle.turn,
        })
    }

    async fn turn_resume(&self, params: Given<ConversationRef>) -> jsonrpc::Result<TurnId> {
        let params = params.read()?;
        let hub = self.hub.clone();
        let handle = to_the_end(async move {
            let wanted = hub.wanted_resume(&params.conversation_id)?;
            begin_turn(&hub, wanted).await
        })
        .await?;
        Ok(TurnId {
            turn_id: handle.turn,
        })
    }

    async fn turn_steer(&self, params: Given<SteerParams>) -> jsonrpc::Result<Empty> {
        let params = params.read()?;
        let turn = self.hub.turns.get(&params.turn_id);
        let turn = turn.ok_or_else(|| RequestError::UnknownTurn(params.turn_id.clone()))?;
        turn.steer(params.prompt).await;
        Ok(Empty {})
    }

    async fn turn_cancel(&self, params: Given<TurnId>) -> jsonrpc::Result<Empty> {
        let params = params.read()?;
        match self.hub.turns.get(&params.turn_id) {
            Some(turn) => turn.cancel().await,
            // Cancelling a finished turn does nothing.
            None if self.hub.turns.conversation_of(&params.turn_id).is_some() => {}
            None => return Err(RequestError::UnknownTurn(params.turn_id).into()),
        }
        Ok(Empty {})
    }

    async fn prompt_pending(&self, _: Given<Empty>) -> jsonrpc::Result<PendingResult> {
        let mut prompts = self.hub.prompts.all();
        let hub = self.hub.clone();
        let resumable = blocking(move || hub.resumable());
        prompts.extend(resumable.await?);
        Ok(PendingResult { prompts })
    }

    async fn progress_cancel(&self, params: WorkDoneProgressCancelParams) {
        let turn = plain::cancelled_turn(&params.token);
        if let Some(turn) = turn.and_then(|turn| self.hub.turns.get(turn)) {
            turn.cancel().await;
        }
    }

    async fn prompt_answer(&self, params: Given<AnswerParams>) -> jsonrpc::Result<Empty> {
        let params = params.read_unseen()?;
        let id = &params.prompt_id;
        let open = self
            .hub
            .prompts
            .get(id)
            .ok_or_else(|| RequestError::UnknownPrompt(id.clone()))?;
        if open.prompt.answer_type == AnswerType::Secret
            && matches!(params.answer, PromptAnswer::Answer { .. })
        {
            let why = "answer: a secret is typed where it was asked for, and nowhere else";
            return Err(invalid(why).into());
        }
        self.hub.answer(&open, params.answer.into()).await?;
        Ok(Empty {})
    }
}

/// What `initialize` tells.
fn read(mut params: InitializeParams) -> Result<(Told, ClientSettings, Vec<Url>)> {
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
    let aside: Option<requests::ClientCapabilities> = aside;
    check(aside.as_ref().map_or(&[], |aside| aside.tools.as_slice()))?;
    let info = params.client_info;
    let client = rules::Client {
        name: info
            .as_ref()
            .map_or_else(|| "an LSP client".into(), |info| info.name.clone()),
        version: info.and_then(|info| info.version).unwrap_or_default(),
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
    // Older clients name no folders.
    let root = params.root_uri;
    let folders = params.workspace_folders.unwrap_or_default();
    let folders = folders.into_iter().map(|folder| folder.uri).chain(root);
    let folders = folders.collect();
    let told = Told {
        client,
        aside,
        lsp: params.capabilities,
        utf8,
        state_dir: options.state_dir.as_ref().map(PathBuf::from),
    };
    Ok((told, client_settings(options), folders))
}

fn capabilities(utf8: bool, aside: &requests::ServerCapabilities) -> ServerCapabilities {
    let encoding = if utf8 {
        PositionEncodingKind::UTF8
    } else {
        PositionEncodingKind::UTF16
    };
    ServerCapabilities {
        position_encoding: Some(encoding),
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
        experimental: Some(json!({ "aside": aside })),
        ..ServerCapabilities::default()
    }
}

//! The handlers. None holds the next one up while a client, a provider, a tool or a human is waited for: each changes
//! what there is to change before that, so that messages take effect in the order in which they came.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use tower_lsp::{
    Client, ClientSocket, LanguageServer, LspService, LspServiceBuilder,
    jsonrpc::{self, Method},
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
    client::{capabilities::EditorCapabilities, tools::check},
    configured::client_settings,
    fallback,
    hub::{Hub, SharedHub, lock},
    params::Given,
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
            methods::{
                AnswerPrompt, CancelTurn, CreateConversation, DeleteConversation, ForkConversation,
                ListConversations, ListModels, ListPrompts, ReadConfig, ReadConversation,
                ReadTranscript, RenameConversation, ResumeTurn, ServerRequest, StartTurn,
                SteerTurn, TrustWorkspace, UndoTurn,
            },
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
    routes(LspService::build(build))
        .service
        .custom_method("window/workDoneProgress/cancel", Server::progress_cancel)
        .finish()
}

/// Handlers by the rows of the protocol's table, whose params and results they have.
struct Routes {
    service: LspServiceBuilder<Server>,
    names: Vec<&'static str>,
}

impl Routes {
    fn add<M: ServerRequest, F>(mut self, handler: F) -> Self
    where
        F: for<'a> Method<&'a Server, (Given<M::Params>,), jsonrpc::Result<M::Result>>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.service = self.service.custom_method(M::NAME, handler);
        self.names.push(M::NAME);
        self
    }
}

fn routes(service: LspServiceBuilder<Server>) -> Routes {
    let names = Vec::new();
    Routes { service, names }
        .add::<ReadConfig, _>(Server::config_read)
        .add::<CreateConversation, _>(Server::conversation_create)
        .add::<DeleteConversation, _>(Server::conversation_delete)
        .add::<ForkConversation, _>(Server::conversation_fork)
        .add::<ListConversations, _>(Server::conversation_list)
        .add::<ReadConversation, _>(Server::conversation_read)
        .add::<RenameConversation, _>(Server::conversation_rename)
        .add::<ReadTranscript, _>(Server::conversation_transcript)
        .add::<ListModels, _>(Server::model_list)
        .add::<AnswerPrompt, _>(Server::prompt_answer)
        .add::<ListPrompts, _>(Server::prompt_pending)
        .add::<CancelTurn, _>(Server::turn_cancel)
        .add::<ResumeTurn, _>(Server::turn_resume)
        .add::<StartTurn, _>(Server::turn_start)
        .add::<SteerTurn, _>(Server::turn_steer)
        .add::<UndoTurn, _>(Server::turn_undo)
        .add::<TrustWorkspace, _>(Server::workspace_trust)
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
        fallback::prompts::declare(&mut capabilities, &told);
        *lock(&self.hub.settings) = settings;
        *lock(&self.hub.folders) = folders;
        if let Some(process) = process
            && let Err(error) = parent::watch(process, self.hub.ends.clone())
        {
            tracing::warn!(%error, "the client's process is not watched");
        }
        // A second `initialize` is refused by tower-lsp.
        let _ = self.hub.told.set(Arc::new(told));
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
        fallback::waiting::document_opened(&self.hub);
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
        self.hub.fallback.saved();
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
        Ok(Some(fallback::actions::offered(&self.hub, params)))
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
        let turn = fallback::progress::cancelled_turn(&params.token);
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
fn read(mut params: InitializeParams) -> Result<(EditorCapabilities, ClientSettings, Vec<Url>)> {
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
    let told = EditorCapabilities {
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::front::{
        lsp::tower::content_length::ContentLength,
        transport::pump::Pump,
        wire::methods::{ALL, Recipient},
    };

    #[tokio::test]
    async fn every_method_of_the_table_that_clients_call_has_a_handler() {
        let pump = Pump::start(ContentLength::default(), io::empty(), io::sink()).unwrap();
        let end = (pump.ends, pump.signals);
        let build = |client| Server {
            hub: Arc::new(Hub::new(client, Vec::new(), pump.output, end)),
        };
        let mut names = routes(LspService::build(build)).names;
        names.sort_unstable();
        let rows = ALL.iter().filter(|row| row.to == Recipient::Server);
        assert_eq!(names, rows.map(|row| row.name).collect::<Vec<_>>());
    }
}

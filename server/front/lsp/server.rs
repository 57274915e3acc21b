//! The service for tower-lsp: LSP's methods, and the routes of the protocol's own.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::{
    ClientSocket, LanguageServer, LspService, LspServiceBuilder, jsonrpc,
    lsp_types::{
        CodeActionParams, CodeActionResponse, DidChangeConfigurationParams,
        DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
        DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
        ExecuteCommandParams, InitializeParams, InitializeResult, InitializedParams,
        WorkDoneProgressCancelParams,
    },
};

use super::{
    connection::{LspConnection, Server},
    methods::{
        approvals, code_actions, commands, conversations, documents, initialize, keys, mcp, models,
        prompts, raw_params::RawParams, settings, trust, turns, undo,
    },
};
use crate::front::{
    error::Result,
    wire::methods::{
        AnswerPrompt, CancelTurn, CreateConversation, DeleteConversation, ForkConversation,
        ListApprovals, ListConversations, ListKeys, ListMcpServers, ListModels, ListPrompts,
        PreviewWorkspace, ReadConfig, ReadConversation, ReadLedger, ReadTranscript,
        RenameConversation, ResumeTurn, RevokeApproval, ServerRequest, SetKey, StartTurn,
        SteerTurn, TrustWorkspace, UndoTurn,
    },
};

/// Creates a service and the socket of its client.
pub(super) fn service(
    server: impl FnOnce(tower_lsp::Client) -> Server,
) -> (LspService<Server>, ClientSocket) {
    routes(LspService::build(server))
        .service
        .custom_method("window/workDoneProgress/cancel", Server::progress_cancel)
        .finish()
}

/// Handlers for the rows of the protocol's table.
struct Routes {
    service: LspServiceBuilder<Server>,
    names: Vec<&'static str>,
}

fn routes(service: LspServiceBuilder<Server>) -> Routes {
    let names = Vec::new();
    Routes { service, names }
        .add::<ListApprovals, _, _>(approvals::list)
        .add::<RevokeApproval, _, _>(approvals::revoke)
        .add::<ReadConfig, _, _>(settings::read)
        .add::<CreateConversation, _, _>(conversations::create)
        .add::<DeleteConversation, _, _>(conversations::delete)
        .add::<ForkConversation, _, _>(conversations::fork)
        .add::<ReadLedger, _, _>(conversations::ledger)
        .add::<ListConversations, _, _>(conversations::list)
        .add::<ReadConversation, _, _>(conversations::read)
        .add::<RenameConversation, _, _>(conversations::rename)
        .add::<ReadTranscript, _, _>(conversations::transcript)
        .add::<ListKeys, _, _>(keys::list)
        .add::<SetKey, _, _>(keys::set)
        .add::<ListMcpServers, _, _>(mcp::list)
        .add::<ListModels, _, _>(models::list)
        .add::<AnswerPrompt, _, _>(prompts::answer)
        .add::<ListPrompts, _, _>(prompts::pending)
        .add::<CancelTurn, _, _>(turns::cancel)
        .add::<ResumeTurn, _, _>(turns::resume)
        .add::<StartTurn, _, _>(turns::start)
        .add::<SteerTurn, _, _>(turns::steer)
        .add::<UndoTurn, _, _>(undo::undo)
        .add::<PreviewWorkspace, _, _>(trust::preview)
        .add::<TrustWorkspace, _, _>(trust::trust)
}

impl Routes {
    /// Routes the method `M` to `handler`. Params and result must have the same types.
    fn add<M, H, F>(mut self, handler: H) -> Self
    where
        M: ServerRequest,
        H: Fn(Arc<LspConnection>, M::Params) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<M::Result>> + Send + 'static,
    {
        let route = move |server: &Server, params: RawParams<M::Params>| {
            let (at, handler) = (server.connection(), handler.clone());
            async move {
                let params = params.read(M::IS_SECRET)?;
                let result = handler(at?, params).await?;
                Ok::<M::Result, jsonrpc::Error>(result)
            }
        };
        self.service = self.service.custom_method(M::NAME, route);
        self.names.push(M::NAME);
        self
    }
}

impl Server {
    async fn progress_cancel(&self, params: WorkDoneProgressCancelParams) {
        if let Some(at) = self.connected() {
            turns::progress_cancelled(at, &params.token).await;
        }
    }
}

/// tower-lsp answers requests that come before `initialize`, and drops notifications.
#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> jsonrpc::Result<InitializeResult> {
        let introduction = initialize::read(params)?;
        let result = initialize::result(&introduction.capabilities);
        self.connect(introduction)?;
        Ok(result)
    }

    async fn initialized(&self, _: InitializedParams) {
        if let Some(at) = self.connected() {
            settings::initialized(at);
        }
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        if let Some(at) = self.connected() {
            at.ending.cancel();
            // The end of the connection waits for these turns.
            for turn in at.engine.conversations().running().all() {
                turn.leave().await;
            }
        }
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        if let Some(at) = self.connected() {
            documents::opened(at, params);
        }
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        if let Some(at) = self.connected() {
            documents::changed(at, params);
        }
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        if let Some(at) = self.connected() {
            documents::saved(at, &params);
        }
    }

    async fn did_change_watched_files(&self, _: DidChangeWatchedFilesParams) {
        if let Some(at) = self.connected() {
            at.fallback.read_pages();
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        if let Some(at) = self.connected() {
            documents::closed(at, &params);
        }
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        if let Some(at) = self.connected() {
            settings::changed(at, params);
        }
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        if let Some(at) = self.connected() {
            at.workspace.folders_changed(params.event);
            at.status.look_again();
        }
    }

    async fn execute_command(
        &self,
        params: ExecuteCommandParams,
    ) -> jsonrpc::Result<Option<Value>> {
        Ok(commands::execute(self.connection()?, params).await?)
    }

    async fn code_action(
        &self,
        params: CodeActionParams,
    ) -> jsonrpc::Result<Option<CodeActionResponse>> {
        Ok(Some(code_actions::offered(&*self.connection()?, params)))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::front::{
        lsp::{connection::Pipes, tower::content_length::ContentLength},
        transport::{pump::Pump, tasks::Tasks},
        wire::methods::{ALL, Recipient},
    };

    #[tokio::test]
    async fn every_method_of_the_table_that_clients_call_has_a_handler() {
        let pump = Pump::start(ContentLength::default(), io::empty(), io::sink()).unwrap();
        let server = |raw| {
            Server::new(Pipes {
                raw,
                state_dir: None,
                own_tools: Vec::new(),
                output: pump.output,
                ends: pump.ends,
                signals: pump.signals,
                tasks: Tasks::default(),
            })
        };
        let mut names = routes(LspService::build(server)).names;
        names.sort_unstable();
        let rows = ALL.iter().filter(|row| row.to == Recipient::Server);
        assert_eq!(names, rows.map(|row| row.name).collect::<Vec<_>>());
    }
}

//! Capabilities of the client, from its `initialize`, and of Aside.

use agent_client_protocol_schema::{
    ProtocolVersion,
    v1::{
        AgentCapabilities, Implementation, InitializeRequest, InitializeResponse, McpCapabilities,
        Meta, PromptCapabilities, SessionCapabilities, SessionCloseCapabilities,
        SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities,
        SessionResumeCapabilities, SessionTitleCapabilities,
    },
};
use aside_turn::rules::Client;
use serde_json::{Value, json};

/// Capabilities of a client. A client is never sent anything that it did not announce.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientAbilities {
    /// Whether the client shows forms.
    pub(super) forms: bool,
    /// Whether the client shows notices.
    pub(super) notices: bool,
    /// Whether the client shows that the conversation is summarised.
    pub(super) summaries: bool,
    /// Whether the client shows a command's output piece by piece, although Aside runs the command.
    pub(super) terminal_output: bool,
    /// Whether the client can read files with unsaved changes.
    pub(super) reads_files: bool,
    /// Whether the client can change files.
    pub(super) writes_files: bool,
}

impl ClientAbilities {
    /// Reads the capabilities from `initialize`.
    pub(super) fn of(said: &InitializeRequest) -> Self {
        let said = &said.client_capabilities;
        let elicitation = said.elicitation.as_ref();
        let session = said.session.as_ref();
        let marked = |key: &str| said.meta.as_ref()?.get(key)?.as_bool();
        Self {
            forms: elicitation.is_some_and(|it| it.form.is_some()),
            notices: session.is_some_and(|it| it.notices.is_some()),
            summaries: session.is_some_and(|it| it.compaction.is_some()),
            terminal_output: marked("terminal_output") == Some(true),
            reads_files: said.fs.read_text_file,
            writes_files: said.fs.write_text_file,
        }
    }

    /// The client as the turn knows it. ACP has no hidden input, so secrets are never asked for.
    pub(super) fn client(self, said: &InitializeRequest) -> Client {
        let info = said.client_info.as_ref();
        Client {
            name: info.map_or_else(|| "an ACP client".into(), |info| info.name.clone()),
            version: info.map(|info| info.version.clone()).unwrap_or_default(),
            questions: self.forms,
            secret: false,
        }
    }
}

/// Aside's answer to `initialize`.
pub(super) fn introduction() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .title(SessionTitleCapabilities::new());
    let prompts = PromptCapabilities::new().image(true).embedded_context(true);
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(prompts)
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    let info = Implementation::new("aside", env!("CARGO_PKG_VERSION")).title("Aside".to_owned());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(info)
        .meta(steering())
}

fn steering() -> Meta {
    let mut meta = Meta::new();
    let supported: Value = json!({ "supported": true });
    meta.insert("steering".into(), supported);
    meta
}

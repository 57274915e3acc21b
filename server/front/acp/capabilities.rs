//! What the client can do, as it said in `initialize`, and what Aside can.

use agent_client_protocol_schema::{
    ProtocolVersion,
    v1::{
        AgentCapabilities, Implementation, InitializeRequest, InitializeResponse, McpCapabilities,
        Meta, PromptCapabilities, SessionCapabilities, SessionCloseCapabilities,
        SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities,
        SessionResumeCapabilities, SessionTitleCapabilities,
    },
};
use serde_json::{Value, json};

use crate::turn::rules::Client;

/// What a client can do. What it did not announce it is never sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientAbilities {
    /// It shows forms.
    pub(super) forms: bool,
    /// It shows notices.
    pub(super) notices: bool,
    /// It shows the output of commands piece by piece, though it runs none of them.
    pub(super) terminal_output: bool,
    /// It reads files as its user has them.
    pub(super) reads_files: bool,
    /// It changes files.
    pub(super) writes_files: bool,
}

impl ClientAbilities {
    /// What a client says of itself.
    pub(super) fn of(said: &InitializeRequest) -> Self {
        let said = &said.client_capabilities;
        let elicitation = said.elicitation.as_ref();
        let session = said.session.as_ref();
        let marked = |key: &str| said.meta.as_ref()?.get(key)?.as_bool();
        Self {
            forms: elicitation.is_some_and(|it| it.form.is_some()),
            notices: session.is_some_and(|it| it.notices.is_some()),
            terminal_output: marked("terminal_output") == Some(true),
            reads_files: said.fs.read_text_file,
            writes_files: said.fs.write_text_file,
        }
    }

    /// The client as the turn knows it. Nothing that it shows hides what is typed.
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

/// What Aside says of itself.
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

//! The one table of the protocol's methods: names, params and results.
//!
//! The server's routes, the calls to the client, the test of the protocol's page and `editors/methods.json` all come from
//! it. A new method is one row here, and a handler or a call.

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Prompt, PromptAnswer, TurnCompleted, TurnUpdate,
    consent::{
        ApprovalListParams, ApprovalListResult, ApprovalRevokeParams, PreviewParams, PreviewResult,
    },
    requests::{
        AnswerParams, ConfigReadParams, ConfigReadResult, ConversationRef, CreateParams,
        DismissParams, Empty, ForkParams, KeySetParams, KeysResult, ListParams, ListResult,
        MarkdownResult, McpListParams, McpResult, ModelsResult, PendingResult, ReadParams,
        ReadResult, RenameParams, SaveParams, StartParams, StartResult, StatusParams, SteerParams,
        ToolCallParams, ToolCallResult, TrustParams, TurnId, UndoParams, UndoResult,
    },
};

/// A request that clients send.
pub trait ServerRequest: 'static {
    /// The method's name on the wire.
    const NAME: &'static str;
    /// The params may hold a secret: an error repeats nothing of them.
    const IS_SECRET: bool;
    /// The params of the method, as they are on the wire.
    type Params: DeserializeOwned + Send + 'static;
    /// The result of the method, as it is on the wire.
    type Result: Serialize + Send + 'static;
}

/// A request that the server sends.
pub trait ClientRequest: 'static {
    /// The method's name on the wire.
    const NAME: &'static str;
    /// The result may hold a secret: an error repeats nothing of it.
    const IS_SECRET: bool;
    /// The params of the method, as they are on the wire.
    type Params: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The result of the method, as it is on the wire.
    type Result: DeserializeOwned + Send + 'static;
}

/// A notification that the server sends.
pub trait ClientNotification: 'static {
    /// The method's name on the wire.
    const NAME: &'static str;
    /// The params of the method, as they are on the wire.
    type Params: Serialize + DeserializeOwned + Send + Sync + 'static;
}

/// A JSON-RPC notification, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notification<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

impl<P: Serialize> Notification<P> {
    /// A notification of the method `M`.
    pub fn of<M: ClientNotification>(params: P) -> Self {
        Self {
            jsonrpc: "2.0",
            method: M::NAME,
            params,
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// The method's name on the wire.
    pub name: &'static str,
    /// Whether it is answered.
    pub kind: MethodKind,
    /// The receiver of the message.
    pub to: Recipient,
}

/// Whether a method is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MethodKind {
    /// Each has one response.
    Request,
    /// A notification: no result.
    Notification,
}

/// Receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Recipient {
    /// The program at the other end.
    Client,
    /// The server: this program.
    Server,
}

/// Writes a type for each row, which has the row's name, params and result, and `ALL`.
macro_rules! methods {
    ($(
        $(#[$doc:meta])*
        $method:ident = $kind:ident to $side:ident $name:literal ($params:ty) $(-> $result:ty)?;
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $method {}
            methods!(@method $kind $side $method $name $params $(, $result)?);
        )+

        /// All methods, by name.
        pub const ALL: &[MethodRow] = &[$(MethodRow {
            name: $name,
            kind: methods!(@kind $kind),
            to: methods!(@side $side),
        }),+];

        /// Functions that read the params and the result of each method and write them again.
        #[cfg(test)]
        pub(super) const REWRITES: &[(&str, Rewrite, Option<Rewrite>)] = &[$(
            ($name, rewrite::<$params>, methods!(@rewrite $($result)?)),
        )+];
    };
    (@method request server $method:ident $name:literal $params:ty, $result:ty) => {
        methods!(@server $method $name $params, $result, false);
    };
    (@method secret server $method:ident $name:literal $params:ty, $result:ty) => {
        methods!(@server $method $name $params, $result, true);
    };
    (@method request client $method:ident $name:literal $params:ty, $result:ty) => {
        methods!(@client $method $name $params, $result, false);
    };
    (@method secret client $method:ident $name:literal $params:ty, $result:ty) => {
        methods!(@client $method $name $params, $result, true);
    };
    (@method notification client $method:ident $name:literal $params:ty) => {
        impl ClientNotification for $method {
            const NAME: &'static str = $name;
            type Params = $params;
        }
    };
    (@server $method:ident $name:literal $params:ty, $result:ty, $secret:literal) => {
        impl ServerRequest for $method {
            const NAME: &'static str = $name;
            const IS_SECRET: bool = $secret;
            type Params = $params;
            type Result = $result;
        }
    };
    (@client $method:ident $name:literal $params:ty, $result:ty, $secret:literal) => {
        impl ClientRequest for $method {
            const NAME: &'static str = $name;
            const IS_SECRET: bool = $secret;
            type Params = $params;
            type Result = $result;
        }
    };
    (@kind notification) => { MethodKind::Notification };
    (@kind $request:ident) => { MethodKind::Request };
    (@side server) => { Recipient::Server };
    (@side client) => { Recipient::Client };
    (@rewrite) => { None };
    (@rewrite $result:ty) => { Some(rewrite::<$result>) };
}

// A `secret` is a request of which an error repeats nothing.
methods! {
    /// Lists what the user approved for good.
    ListApprovals = request to server "aside/approval/list" (ApprovalListParams) -> ApprovalListResult;
    /// Takes an approval back.
    RevokeApproval = request to server "aside/approval/revoke" (ApprovalRevokeParams) -> Empty;
    /// Reads the values of the configuration that count, and where each comes from.
    ReadConfig = request to server "aside/config/read" (ConfigReadParams) -> ConfigReadResult;
    /// A conversation was made, renamed or deleted, or a turn changed it.
    ConversationChanged = notification to client "aside/conversation/changed" (ConversationRef);
    /// Makes an empty conversation.
    CreateConversation = request to server "aside/conversation/create" (CreateParams) -> ConversationRef;
    /// Deletes a conversation.
    DeleteConversation = request to server "aside/conversation/delete" (ConversationRef) -> Empty;
    /// Makes a conversation that begins with turns of another.
    ForkConversation = request to server "aside/conversation/fork" (ForkParams) -> ConversationRef;
    /// Gives what was said, answered, allowed and refused in a conversation.
    ReadLedger = request to server "aside/conversation/ledger" (ConversationRef) -> MarkdownResult;
    /// Lists conversations, newest first.
    ListConversations = request to server "aside/conversation/list" (ListParams) -> ListResult;
    /// Reads turns of a conversation.
    ReadConversation = request to server "aside/conversation/read" (ReadParams) -> ReadResult;
    /// Gives a conversation another title.
    RenameConversation = request to server "aside/conversation/rename" (RenameParams) -> Empty;
    /// Gives a conversation as markdown.
    ReadTranscript = request to server "aside/conversation/transcript" (ConversationRef) -> MarkdownResult;
    /// Saves an open document.
    SaveDocument = request to client "aside/document/save" (SaveParams) -> Empty;
    /// Lists the providers that can have a key, and where theirs comes from.
    ListKeys = request to server "aside/key/list" (Empty) -> KeysResult;
    /// Gives the server a key that a person entered.
    SetKey = secret to server "aside/key/set" (KeySetParams) -> Empty;
    /// Lists the MCP servers of a workspace, their tools and what they wrote.
    ListMcpServers = request to server "aside/mcp/list" (McpListParams) -> McpResult;
    /// Lists the models of the usable providers.
    ListModels = request to server "aside/model/list" (Empty) -> ModelsResult;
    /// Puts a prompt to a person.
    ShowPrompt = secret to client "aside/prompt" (Prompt) -> PromptAnswer;
    /// Answers an open prompt in another way than where it was shown.
    AnswerPrompt = secret to server "aside/prompt/answer" (AnswerParams) -> Empty;
    /// Takes a prompt off the screen.
    DismissPrompt = notification to client "aside/prompt/dismiss" (DismissParams);
    /// Lists open prompts, and those of interrupted turns.
    ListPrompts = request to server "aside/prompt/pending" (Empty) -> PendingResult;
    /// The state of the server, for a status line.
    StatusChanged = notification to client "aside/status" (StatusParams);
    /// Calls a tool that runs in the editor.
    CallClientTool = request to client "aside/tool/call" (ToolCallParams) -> ToolCallResult;
    /// Ends a running turn.
    CancelTurn = request to server "aside/turn/cancel" (TurnId) -> Empty;
    /// The last message of a turn.
    TurnEnded = notification to client "aside/turn/completed" (TurnCompleted);
    /// Goes on with the interrupted turn of a conversation.
    ResumeTurn = request to server "aside/turn/resume" (ConversationRef) -> TurnId;
    /// Begins a turn.
    StartTurn = request to server "aside/turn/start" (StartParams) -> StartResult;
    /// Adds to a running turn.
    SteerTurn = request to server "aside/turn/steer" (SteerParams) -> Empty;
    /// Takes back what a turn changed in files.
    UndoTurn = request to server "aside/turn/undo" (UndoParams) -> UndoResult;
    /// Something happened in a turn.
    TurnUpdated = notification to client "aside/turn/update" (TurnUpdate);
    /// Says what trust in a folder would change.
    PreviewWorkspace = request to server "aside/workspace/preview" (PreviewParams) -> PreviewResult;
    /// Trusts a folder as it is now, or no more.
    TrustWorkspace = request to server "aside/workspace/trust" (TrustParams) -> Empty;
}

/// The names of commands: what a person can do from any client's command line. The prefix is one that no adapter uses for
/// its own, since some clients register a server's commands by themselves.
pub mod commands {
    /// Asks the model.
    pub const ASK: &str = "aside.server.ask";
    /// Ends running turns.
    pub const CANCEL: &str = "aside.server.cancel";
    /// Answers an open prompt, or shows the open prompts again.
    pub const ANSWER: &str = "aside.server.answer";
    /// Takes back what a turn changed in files.
    pub const UNDO: &str = "aside.server.undo";
    /// Goes on with an interrupted turn.
    pub const RESUME: &str = "aside.server.resume";
    /// Shows a conversation.
    pub const TRANSCRIPT: &str = "aside.server.transcript";

    /// The names of all commands.
    pub const ALL: [&str; 6] = [ASK, CANCEL, ANSWER, UNDO, RESUME, TRANSCRIPT];
}

#[cfg(test)]
pub(super) use tests::{Rewrite, rewrite};

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;

    pub(in super::super) type Rewrite = fn(&Value) -> Result<String, serde_json::Error>;

    /// Reads a part of a message as this type and gives the text that the type writes.
    pub(in super::super) fn rewrite<T: DeserializeOwned + Serialize>(
        part: &Value,
    ) -> Result<String, serde_json::Error> {
        let typed: T = serde_json::from_value(part.clone())?;
        serde_json::to_string(&typed)
    }

    #[test]
    fn the_table_for_programs_in_other_languages_is_this_one() {
        let row = |row: &MethodRow| {
            let (name, kind, to) = (json!(row.name), json!(row.kind), json!(row.to));
            format!("  {{ \"method\": {name}, \"kind\": {kind}, \"to\": {to} }}")
        };
        let rows: Vec<String> = ALL.iter().map(row).collect();
        let expected = format!("[\n{}\n]\n", rows.join(",\n"));
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("editors/methods.json");
        let file = std::fs::read_to_string(path).expect("editors/methods.json");
        assert_eq!(file, expected, "write this to editors/methods.json");
    }

    #[test]
    fn each_name_is_there_once_in_order() {
        assert!(ALL.is_sorted_by(|one, next| one.name < next.name));
    }
}

//! Permissions: the request and the reading of the client's answer. Pure.

use agent_client_protocol_schema::v1::{
    Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionId, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use aside_base::visible::{in_sight, visible};
use aside_session::export::fenced;
use aside_turn::{
    input::PromptAnswer,
    question::AnswerType,
    record::{Permission, Vocabulary},
};
use serde_json::Value;

use super::{root::SessionRoot, updates::text};
use crate::front::uri::file_path;
use crate::front::wire::{Preview, Prompt, PromptKind, TurnPermission};

/// Id of the option that delivers a result to the model.
const DELIVER: &str = "deliver";

/// The request for a prompt. `call` is the client's id of the call.
pub(super) fn request(
    session: &SessionId,
    call: String,
    prompt: &Prompt,
    root: &SessionRoot,
) -> RequestPermissionRequest {
    let mut fields = ToolCallUpdateFields::new().title(title(prompt));
    if prompt.kind == PromptKind::RunTool {
        fields = fields.status(ToolCallStatus::Pending);
    }
    if let Some(Preview::Diff { uri, .. }) = &prompt.preview
        && let Some(path) = file_path(uri)
    {
        fields = fields.locations(vec![ToolCallLocation::new(root.called(&path))]);
    }
    let fields = fields
        .content(content(prompt, root))
        .raw_input(prompt.tool.arguments.clone());
    let call = ToolCallUpdate::new(call, fields);
    RequestPermissionRequest::new(session.clone(), call, options(prompt))
}

/// Reads the client's answer. An option that was not offered is a no. An unreadable answer is a failure of the client
/// and never a person's decision.
pub(super) fn read(prompt: &Prompt, reply: Result<Value, String>) -> PromptAnswer {
    let reply = match reply {
        Ok(reply) => reply,
        Err(why) => return PromptAnswer::Failed(why),
    };
    let Ok(reply) = serde_json::from_value::<RequestPermissionResponse>(reply) else {
        return PromptAnswer::Failed("the client's reply is no answer".into());
    };
    let chosen = match reply.outcome {
        RequestPermissionOutcome::Selected(selected) => selected.option_id,
        RequestPermissionOutcome::Cancelled => return PromptAnswer::Cancel,
        _ => return PromptAnswer::Failed("the client's reply is no answer".into()),
    };
    let offered = options(prompt).iter().any(|it| it.option_id == chosen);
    match prompt.kind {
        PromptKind::DeliverResult => PromptAnswer::value(&*chosen.0 == DELIVER),
        _ if offered => PromptAnswer::value(&*chosen.0),
        _ => PromptAnswer::value(Permission::No.word()),
    }
}

/// A title that is complete if possible, because some clients show nothing else.
fn title(prompt: &Prompt) -> String {
    match (&prompt.kind, &prompt.preview) {
        (PromptKind::RunTool, Some(Preview::Command { text, .. })) => in_sight(text).into_owned(),
        (PromptKind::RunTool, _) => {
            let text = prompt.text.strip_suffix('?').unwrap_or(&prompt.text);
            in_sight(text).into_owned()
        }
        _ => in_sight(&prompt.text).into_owned(),
    }
}

/// The content: the diff first, because some clients show nothing else, and then the details.
fn content(prompt: &Prompt, root: &SessionRoot) -> Vec<ToolCallContent> {
    let mut content = Vec::new();
    match &prompt.preview {
        Some(Preview::Diff { uri, old, new, .. }) => content.extend(file_path(uri).map(|path| {
            let old = Some(old.clone()).filter(|old| !old.is_empty());
            ToolCallContent::Diff(Diff::new(root.called(&path), new.clone()).old_text(old))
        })),
        Some(Preview::Command { text: command, cwd }) => {
            let command = fenced("sh", &in_sight(command));
            let cwd = root.called_text(cwd);
            content.push(text(format!("{command}\nin the folder {}", visible(&cwd))));
        }
        Some(Preview::Text { text: shown }) => content.push(text(fenced("", &in_sight(shown)))),
        None => {}
    }
    if let Some(context) = &prompt.context {
        content.push(text(in_sight(context).into_owned()));
    }
    if let Some(server) = &prompt.tool.server {
        let server = visible(server);
        content.push(text(format!("A tool of the MCP server {server}.")));
    }
    content
}

/// The options: at most one of each kind, because clients label options and bind keys by kind.
fn options(prompt: &Prompt) -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let option = |id: &str, name: &str, kind| PermissionOption::new(id.to_owned(), name, kind);
    if prompt.kind == PromptKind::DeliverResult {
        return vec![
            option(DELIVER, "Let the model see it", AllowOnce),
            option(Permission::No.word(), "Withhold it", RejectOnce),
        ];
    }
    let offers = |permission: Permission| match &prompt.answer_type {
        AnswerType::Select { options } => options.iter().any(|word| word == permission.word()),
        _ => false,
    };
    let mut options = vec![option(Permission::Once.word(), "Allow once", AllowOnce)];
    // The kind that clients label "always" should mean always, if that is offered.
    if offers(Permission::Always) {
        let name = "Always allow exactly this here";
        options.push(option(Permission::Always.word(), name, AllowAlways));
    } else if offers(Permission::Turn) {
        let name = match prompt.turn_permits {
            Some(TurnPermission::Edits) => "Allow all edits of this turn",
            Some(TurnPermission::SameCall) | None => "Allow exactly this in this turn",
        };
        options.push(option(Permission::Turn.word(), name, AllowAlways));
    }
    options.push(option(Permission::No.word(), "No", RejectOnce));
    options
}

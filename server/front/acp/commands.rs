//! Slash commands, for actions that the protocol has no method for.

use std::{path::PathBuf, sync::Arc};

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate,
    ContentChunk, SessionUpdate, UnstructuredCommandInput,
};
use aside_base::visible::{one_line, visible};
use aside_config::{Sources, preview::TrustPreview, trust::TrustStore};
use aside_session::replay;

use super::{connection::AcpConnection, options, session::Session};
use crate::{
    engine::{
        start::{request::COMPACT, tools::tool_defaults},
        undo::TurnToUndo,
    },
    front::{
        error::{RequestError, Result, internal, invalid, not_found},
        transport::in_order::answered,
        trusting::page,
    },
};

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Undo the file changes of the last turn.
    Undo,
    /// Resume the interrupted turn.
    Resume,
    /// Show what trusting the workspace would change. With the code that was shown, trust it.
    Trust(Option<String>),
}

impl Command {
    /// Parses a message as a command.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let command = words.next()?;
        let rest = words.next().map(str::to_owned);
        let ends = words.next().is_none();
        match (command, rest) {
            ("/undo", None) => Some(Self::Undo),
            ("/resume", None) => Some(Self::Resume),
            ("/trust", rest) if ends => Some(Self::Trust(rest)),
            _ => None,
        }
    }
}

/// The list of commands for the client.
pub(super) fn available() -> SessionUpdate {
    let code = UnstructuredCommandInput::new("the code that /trust shows");
    let keep = UnstructuredCommandInput::new("what the summary has to keep, or undo");
    let commands = vec![
        AvailableCommand::new("undo", "Take back what the last turn changed in files"),
        AvailableCommand::new("resume", "Go on with the turn that was interrupted"),
        AvailableCommand::new(
            COMPACT.trim_start_matches('/'),
            "Summarise the conversation, so that it goes on with fewer tokens",
        )
        .input(AvailableCommandInput::Unstructured(keep)),
        AvailableCommand::new("trust", "Show what trust in this workspace would change")
            .input(AvailableCommandInput::Unstructured(code)),
    ];
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
}

/// Performs a command that needs no model, and returns a sentence about the outcome.
///
/// # Errors
/// A sentence that says why nothing was done.
pub(super) async fn perform(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
    command: Command,
) -> Result<()> {
    let (connection, of) = (at.clone(), session.clone());
    let done = at.disk.of_conversation(&session.id.0, move || {
        let said = match &command {
            Command::Undo => undo(&connection, &of)?,
            Command::Trust(code) => trust(&connection, &of, code.as_deref())?,
            Command::Resume => return Err(RequestError::NothingToResume),
        };
        Ok((said, options::read(&connection, &of).ok()))
    });
    let (said, options) = done.await?;
    let chunk = ContentChunk::new(visible(&said).into_owned().into());
    let tell = |update| at.client.update(&session.id, update);
    tell(SessionUpdate::AgentMessageChunk(chunk));
    if let Some(options) = options {
        // More modes are available in a trusted workspace.
        let all = ConfigOptionUpdate::new(options.options());
        tell(SessionUpdate::ConfigOptionUpdate(all));
    }
    Ok(())
}

/// Undoes the changes of the last turn and lists them. Blocks on files.
///
/// # Errors
/// A sentence that says why nothing was undone.
fn undo(at: &AcpConnection, session: &Session) -> Result<String> {
    let conversations = at.engine.conversations();
    let found = conversations.find(vec![session.root.real.clone()], &session.id.0);
    let (conversation, root) = found.map_err(not_found)?;
    let mut lease = conversations.reserve(conversation.id())?;
    let lines = conversation.read_last_turn().map_err(internal)?;
    let last = replay::turns(&lines.records).pop();
    let undo = TurnToUndo {
        turn: last.ok_or(RequestError::NothingToUndo)?.id,
        conversation,
        root,
        only: None,
    };
    let undone = undo.take_back(None).map_err(internal)?;
    lease.forget();
    let mut said = if undone.files.is_empty() {
        "There is nothing to undo: no file is other than before the last turn.".to_owned()
    } else {
        let files: String = undone
            .files
            .iter()
            .map(|it| format!("\n- {}", one_line(it)))
            .collect();
        format!("These files are as they were before the last turn:\n{files}")
    };
    if undone.untracked {
        said += "\n\nCommands ran in it, too: what they changed is as they left it.";
    }
    Ok(said)
}

/// Shows what trusting the workspace would change, with a code for it. Given that code, trusts the workspace as it was
/// shown. So a client that approves everything cannot trust a workspace by itself. Blocks on files.
///
/// # Errors
/// Fails if the configuration is invalid, the code is for another state, or the state directory cannot be written.
fn trust(at: &AcpConnection, session: &Session, code: Option<&str>) -> Result<String> {
    let root: &PathBuf = &session.root.real;
    let broken = |problems: aside_config::Problems| invalid(problems.to_string());
    let sources = Sources::from_process(Some(root)).map_err(broken)?;
    let preview = TrustPreview::of(&sources, &tool_defaults()).map_err(broken)?;
    let (_, now) = at.engine.trust(root, &sources)?;
    let id = now.id();
    let short = id.get(..12).unwrap_or(&id).to_owned();
    let folder = one_line(&root.to_string_lossy());
    match code {
        Some(code) if code == short => {
            TrustStore::new(at.engine.state_dir())
                .give(root, now)
                .map_err(internal)?;
            Ok(format!(
                "{folder} is trusted. This ends when aside.toml or a program that it names changes, or with \
                 `aside trust --revoke`."
            ))
        }
        Some(_) => Err(invalid(
            "the workspace is not what that code was shown for; send /trust to see it as it is now",
        )),
        None => Ok(format!(
            "{}\nSend `/trust {short}` to trust {folder}, so that tools may change files and run commands here as the \
             mode allows.",
            page(&preview, "would count")
        )),
    }
}

/// Sends the list of commands, after the answer that introduced the session.
pub(super) fn announce(at: &Arc<AcpConnection>, session: &Arc<Session>) {
    let answered = answered();
    let (connection, id) = (at.clone(), session.id.clone());
    at.tasks.spawn("commands", async move {
        answered.await;
        connection.client.update(&id, available());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_command_only_where_it_is_nothing_else() {
        for (text, command) in [
            ("/undo", Some(Command::Undo)),
            (" /resume\n", Some(Command::Resume)),
            ("/trust", Some(Command::Trust(None))),
            ("/trust 1f", Some(Command::Trust(Some("1f".into())))),
            ("/trust 1f now", None),
            ("/undo the rest", None),
            ("undo", None),
            ("/tmp is full", None),
            ("", None),
        ] {
            assert_eq!(Command::of(text), command, "{text:?}");
        }
    }
}

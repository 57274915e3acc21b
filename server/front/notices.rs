//! Notices for a person at the start of a turn.

use crate::engine::TurnNotice;

/// Words that say what to do next in this front end.
pub struct NextWords {
    /// Said of a workspace that is not trusted.
    pub never: &'static str,
    /// Advice after trust ended, as the rest of "look at it, then …".
    pub again: &'static str,
    /// Advice on an MCP server that is not connected, as a sentence.
    pub servers: &'static str,
}

/// The notice as a sentence.
#[must_use]
pub fn notice_text(notice: &TurnNotice, next: &NextWords) -> String {
    match notice {
        TurnNotice::Configuration(text) | TurnNotice::Damage(text) => text.clone(),
        TurnNotice::ServerMissing { server, why } => {
            let again = next.servers;
            format!("The tools of the MCP server {server} are unavailable: {why}. {again}")
        }
        TurnNotice::TrustEnded(changed) => format!(
            "This workspace is no longer trusted, as {} changed or was made by a command, so only tools that read will run; \
             look at it, {}.",
            changed.join(", "),
            next.again
        ),
        TurnNotice::Moved(files) => format!(
            "Since the turn was interrupted, files that it changed became other than it left them: {}. The model is told; \
             carry the changes over with the conversation, or send a new message.",
            files.join(", ")
        ),
        TurnNotice::NotTrusted => next.never.to_owned(),
        TurnNotice::NoWorkspace => {
            "No folder is open, so there are no tools; open one to work in it.".to_owned()
        }
        TurnNotice::NotDurable(why) => format!(
            "The conversation's log could not be made to survive a loss of power ({why}); look at the disk that it is on."
        ),
        TurnNotice::Unsandboxed => "Commands run without a sandbox.".to_owned(),
        TurnNotice::HeadChanged {
            model,
            tools,
            system,
        } => {
            let parts = [
                ("the model", *model),
                ("the tools", *tools),
                ("the instructions", *system),
            ];
            let parts = parts.iter().filter(|(_, is)| *is);
            let parts: Vec<&str> = parts.map(|(part, _)| *part).collect();
            format!(
                "Since the last turn {} changed, so the prompt cache starts again.",
                parts.join(" and ")
            )
        }
    }
}

//! The system text of a turn.

use std::path::{Path, PathBuf};

use aside_config::settings::{AssistantSettings, Settings};

use super::instructions::{INSTRUCTIONS, Instructions, opened};

/// Default system text. The workspace's folder follows it.
const SYSTEM: &str = include_str!("system.md");
/// Default system text of separate assistants for inquiries.
const INQUIRY_SYSTEM: &str = "You answer questions that an assistant's tools ask while it works for its user. You \
are given the conversation between the two, then a question. Answer what the user would want, from the conversation.";

/// System text of a separate assistant for inquiries.
pub(super) fn inquiry_system(assistant: &AssistantSettings) -> String {
    let own = assistant.system_prompt.as_deref();
    let mut text = own.unwrap_or(INQUIRY_SYSTEM).trim_end().to_owned();
    if let Some(instructions) = &assistant.instructions {
        text += &format!("\n\n{}", instructions.trim_end());
    }
    text
}

/// System text of a turn, and a warning about the instructions of the workspace. The text depends only on the
/// configuration and the workspace, because caches depend on it. `own` are folders of Aside's own.
pub(super) fn system_text(
    settings: &Settings,
    root: Option<&Path>,
    own: Vec<PathBuf>,
) -> (String, Option<String>) {
    let mut text = settings
        .assistant
        .system_prompt
        .clone()
        .unwrap_or_else(|| SYSTEM.trim_end().to_owned());
    text += &match root {
        Some(root) => format!("\n\nThe workspace is the folder {}.", root.display()),
        None => {
            "\n\nNo folder is open, so there is no workspace and there are no tools.".to_owned()
        }
    };
    if let Some(instructions) = &settings.assistant.instructions {
        text += &format!("\n\n{}", instructions.trim_end());
    }
    let workspace = root.and_then(|root| opened(root, own).ok());
    let found = workspace.map(|workspace| Instructions::of(&workspace));
    let found = found.unwrap_or_default();
    if let Some(instructions) = found.text {
        text += &format!(
            "\n\nInstructions from {INSTRUCTIONS}:\n{}",
            instructions.trim_end()
        );
    }
    (text, found.warning)
}

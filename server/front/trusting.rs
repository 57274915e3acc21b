//! Description of the effects of trust in a workspace.

use aside_base::visible::one_line;
use aside_config::{
    preview::{Startable, TrustPreview, TrustedSetting},
    workspace::DefinitionKind,
};

/// Effects of trust: settings that begin to count, programs that can be started, and keys that never count.
pub(in crate::front) fn page(preview: &TrustPreview, count: &str) -> String {
    let Some(file) = &preview.file else {
        return "It has no aside.toml, so no setting changes.\n".to_owned();
    };
    let file = one_line(&file.to_string_lossy());
    let mut page = if preview.settings.is_empty() {
        format!("{file} has no setting that needs trust.\n")
    } else {
        let settings: String = preview.settings.iter().map(setting).collect();
        format!("These settings of {file} {count}:\n{settings}")
    };
    if !preview.starts.is_empty() {
        let starts: String = preview.starts.iter().map(startable).collect();
        page += &format!("With them, this can be started:\n{starts}");
    }
    if !preview.ignored.is_empty() {
        let ignored = preview.ignored.join(", ");
        page += &format!("Only you can set these, so they do not count: {ignored}\n");
    }
    page
}

fn setting(of: &TrustedSetting) -> String {
    let stronger = if of.is_overruled {
        " (which is stronger)"
    } else {
        ""
    };
    format!("  {}{stronger}\n", of.setting)
}

fn startable(of: &Startable) -> String {
    let kind = match of.kind {
        DefinitionKind::Tool => "tool",
        DefinitionKind::McpServer => "MCP server",
    };
    let what = match &of.url {
        Some(url) => format!("connects to {url}"),
        None => serde_json::to_string(&of.command).unwrap_or_default(),
    };
    let environment = match of.environment.as_slice() {
        [] => String::new(),
        set => format!(", with {} set", one_line(&set.join(", "))),
    };
    let program = match &of.program {
        None => String::new(),
        Some(program) => format!(", which is {}", one_line(&program.to_string_lossy())),
    };
    format!("  {kind} {}: {what}{program}{environment}\n", of.name)
}

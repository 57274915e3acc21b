//! `list_files`: the files beneath a folder.

use serde::Deserialize;
use serde_json::json;

use aside_base::visible::{short_line, visible};
use aside_turn::input::{ToolOutcome, ToolOutput};

use super::{
    BlockingTool, CallPlan, Planning, ToolRun, ToolSpec, Unplanned,
    output::counted,
    walk::{RULES_CUT, WalkEnd, WalkedFile},
};

/// Files that are listed at once.
const FILES: usize = 1000;

/// The tool `list_files`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct ListFiles {
    path: Option<String>,
    glob: Option<String>,
}

impl BlockingTool for ListFiles {
    fn spec() -> ToolSpec {
        ToolSpec::new(
            "list_files",
            "List the files beneath a folder, a path a line, without those that .gitignore names.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The folder, from the workspace's root. Default: the root."},
                    "glob": {"type": "string", "description": "Only files that match, such as `*.rs` or `src/**/test_*.py`."}
                },
                "additionalProperties": false
            }),
        )
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        let folder = self.path.as_deref().unwrap_or(".");
        let title = format!("List {}", short_line(folder, 80));
        Ok(planning.blocking(title, move |run| list(&self, &run)))
    }
}

fn list(args: &ListFiles, run: &ToolRun) -> Result<ToolOutcome, String> {
    let folder = args.path.as_deref().unwrap_or(".");
    let files = &run.context.files;
    let walk = files.walk(folder, args.glob.as_deref(), &run.cancelled);
    let mut content = String::new();
    let mut count = 0;
    let walked = walk.each(|WalkedFile { path, .. }| {
        let line = visible(path);
        if count >= FILES || content.len() + line.len() > run.context.room() {
            return false;
        }
        content.push_str(&line);
        content.push('\n');
        count += 1;
        true
    })?;
    match walked.end {
        WalkEnd::Cancelled => return Ok(ToolOutcome::Stopped),
        WalkEnd::Cut => content.push_str("[there are more; name a folder or a glob]\n"),
        WalkEnd::Complete if count == 0 => content.push_str("No files.\n"),
        WalkEnd::Complete => {}
    }
    if walked.rules_cut {
        content.push_str(RULES_CUT);
    }
    let summary = counted(count, "file");
    Ok(ToolOutcome::Success(ToolOutput {
        content,
        summary,
        ..ToolOutput::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

    const FILES: &[(&str, &str)] = &[
        ("src/b.rs", ""),
        ("src/a.rs", ""),
        ("src/deep/c.py", ""),
        (".github/ci.yml", ""),
        (".git/config", ""),
        (".gitignore", "target\n*.log\n"),
        ("target/out", ""),
        ("x.log", ""),
    ];

    async fn check(args: serde_json::Value, outcome: &str) {
        ToolTrial::new(FILES)
            .check("list_files", args, outcome)
            .await;
    }

    #[tokio::test]
    async fn lists_what_is_not_ignored_in_order() {
        check(
            json!({}),
            "ok: .github/ci.yml\n.gitignore\nsrc/a.rs\nsrc/b.rs\nsrc/deep/c.py\n",
        )
        .await;
    }

    #[tokio::test]
    async fn lists_a_folder_and_a_glob() {
        check(
            json!({"path": "src", "glob": "*.rs"}),
            "ok: src/a.rs\nsrc/b.rs\n",
        )
        .await;
        check(json!({"glob": "src/**/*.py"}), "ok: src/deep/c.py\n").await;
        check(json!({"glob": "*.log"}), "ok: No files.\n").await;
        check(
            json!({"path": "nowhere"}),
            "error: There is no `nowhere`; look with list_files.",
        )
        .await;
        check(
            json!({"path": "src/a.rs"}),
            "error: `src/a.rs` is not a folder.",
        )
        .await;
        check(
            json!({"path": ".."}),
            "error: `..` is outside the workspace; use a path inside it.",
        )
        .await;
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_is_no_way_out() {
        let trial = ToolTrial::new(&[("a", "")]);
        trial.link("out", "/");
        trial.check("list_files", json!({}), "ok: a\n").await;
        trial
            .check(
                "list_files",
                json!({"path": "out"}),
                "error: `out` is outside the workspace; use a path inside it.",
            )
            .await;
    }

    #[tokio::test]
    async fn a_long_list_is_cut() {
        let names: Vec<String> = (0..1001).map(|n| format!("{n:04}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let text = ToolTrial::new(&files).call("list_files", json!({})).await;
        assert!(
            text.ends_with("0999\n[there are more; name a folder or a glob]\n"),
            "{text}"
        );
    }
}

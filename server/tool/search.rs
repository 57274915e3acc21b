//! `search`: lines that match a regular expression, by ripgrep's libraries.

use serde::Deserialize;
use serde_json::json;

use aside_base::visible::short_line;
use aside_turn::input::{ToolOutcome, ToolOutput};

mod found;
mod walked;

use self::{
    found::{CONTEXT, FileFindings, FileSearcher, MATCHES, matcher},
    walked::search_walked,
};
use super::{
    BlockingTool, CallPlan, Planning, ToolRun, ToolSpec, Unplanned,
    frame::Readable,
    output::counted,
    walk::{RULES_CUT, WalkEnd},
    workspace::PathError,
};

/// The tool `search`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct Search {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    context: usize,
}

impl BlockingTool for Search {
    fn spec() -> ToolSpec {
        ToolSpec::new(
            "search",
            "Search text files for a regular expression (Rust's syntax), line by line. Gives \
             `path:line:text` for lines that match, `path-line-text` for lines around them. Leaves out what \
             .gitignore names, binary files, and files that may hold secrets.",
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "The regular expression. `(?i)` in front ignores case."},
                    "path": {"type": "string", "description": "A folder or a file, from the workspace's root. Default: the root."},
                    "glob": {"type": "string", "description": "Only files that match, such as `*.rs`."},
                    "context": {"type": "integer", "minimum": 0, "maximum": CONTEXT, "description": "Lines to show before and after each match. Default: 0."}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
        )
    }

    fn plan(self, mut planning: Planning) -> Result<CallPlan, Unplanned> {
        matcher(&self.pattern)?;
        let file = match planning.open(self.path.as_deref().unwrap_or(".")) {
            Ok(file) => Some(file),
            // A folder is walked.
            Err(PathError::IsFolder(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let title = format!("Search for {}", short_line(&self.pattern, 80));
        Ok(planning.blocking(title, move |run| search(&self, file, &run)))
    }
}

fn search(args: &Search, file: Option<Readable>, run: &ToolRun) -> Result<ToolOutcome, String> {
    let room = run.context.room();
    let mut search = SearchOutput::new(room);
    let mut searcher = FileSearcher::new(&args.pattern, args.context, room)?;
    let end = match file {
        Some(file) => match search.take(searcher.in_readable(Ok(file), &run.permit)) {
            true => WalkEnd::Complete,
            false => WalkEnd::Cut,
        },
        None => search.folder(args, &searcher, run)?,
    };
    if end == WalkEnd::Cancelled {
        return Ok(ToolOutcome::Stopped);
    }
    Ok(ToolOutcome::Success(search.output(end)))
}

/// Findings so far.
struct SearchOutput {
    room: usize,
    text: String,
    matches: usize,
    files: usize,
    secrets: usize,
    unread: usize,
    rules_cut: bool,
}

impl SearchOutput {
    fn new(room: usize) -> Self {
        Self {
            room,
            text: String::new(),
            matches: 0,
            files: 0,
            secrets: 0,
            unread: 0,
            rules_cut: false,
        }
    }

    fn folder(
        &mut self,
        args: &Search,
        searcher: &FileSearcher,
        run: &ToolRun,
    ) -> Result<WalkEnd, String> {
        let folder = args.path.as_deref().unwrap_or(".");
        let files = &run.context.files;
        let walk = files.walk(folder, args.glob.as_deref(), &run.cancelled);
        let walked = search_walked(&walk, searcher, run, |found| self.take(found))?;
        self.rules_cut = walked.rules_cut;
        let end = walked.end;
        if end != WalkEnd::Complete {
            return Ok(end);
        }
        for (path, document) in files.never_saved() {
            if walk.covers(&path)? {
                let found = searcher.clone().in_readable(document, &run.permit);
                if !self.take(found) {
                    return Ok(WalkEnd::Cut);
                }
            }
        }
        Ok(end)
    }

    /// Adds the findings of a file. Returns false once there are enough.
    fn take(&mut self, found: FileFindings) -> bool {
        let before = self.matches;
        match found {
            FileFindings::Secret => self.secrets += 1,
            FileFindings::Unread => self.unread += 1,
            FileFindings::Lines { lines, whole } => {
                for line in lines {
                    if self.is_full() {
                        break;
                    }
                    self.matches += usize::from(line.is_match);
                    self.text.push_str(&line.text);
                }
                self.unread += usize::from(!whole);
            }
        }
        self.files += usize::from(self.matches > before);
        !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.matches >= MATCHES || self.text.len() >= self.room
    }

    fn output(mut self, end: WalkEnd) -> ToolOutput {
        if self.matches == 0 {
            self.text.push_str("No matches.\n");
        }
        let mut note = |text: String| self.text.push_str(&text);
        if end == WalkEnd::Cut {
            note("[there may be more; narrow it by path, glob or pattern]\n".into());
        }
        if self.secrets > 0 {
            note(format!(
                "[{} files that may hold secrets were left out]\n",
                self.secrets
            ));
        }
        if self.unread > 0 {
            note(format!("[{} files could not be read]\n", self.unread));
        }
        if self.rules_cut {
            note(RULES_CUT.into());
        }
        let summary = format!(
            "{} in {}",
            counted(self.matches, "match"),
            counted(self.files, "file")
        );
        ToolOutput {
            content: self.text,
            summary,
            ..ToolOutput::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

    const FILES: &[(&str, &str)] = &[
        ("a.rs", "fn one() {}\nfn two() {}\n// end\n"),
        ("sub/b.py", "def one():\r\n    pass\n"),
        (".env", "one=secret\n"),
        ("binary", "one\0one\n"),
        (".gitignore", "out\n"),
        ("out/x", "one\n"),
    ];

    async fn check(args: serde_json::Value, outcome: &str) {
        ToolTrial::new(FILES).check("search", args, outcome).await;
    }

    #[tokio::test]
    async fn finds_lines() {
        check(
            json!({"pattern": r"one\(\)"}),
            "ok: a.rs:1:fn one() {}\nsub/b.py:1:def one():\n\
             [1 files that may hold secrets were left out]\n",
        )
        .await;
        check(
            json!({"pattern": "ONE", "path": "sub"}),
            "ok: No matches.\n",
        )
        .await;
        check(
            json!({"pattern": "(?i)ONE", "path": "a.rs"}),
            "ok: a.rs:1:fn one() {}\n",
        )
        .await;
        check(
            json!({"pattern": "one", "glob": "*.py"}),
            "ok: sub/b.py:1:def one():\n",
        )
        .await;
    }

    #[tokio::test]
    async fn shows_what_is_around() {
        check(
            json!({"pattern": "two", "path": "a.rs", "context": 1}),
            "ok: a.rs-1-fn one() {}\na.rs:2:fn two() {}\na.rs-3-// end\n",
        )
        .await;
    }

    #[tokio::test]
    async fn a_broken_pattern_teaches() {
        let text = ToolTrial::new(FILES)
            .call("search", json!({"pattern": "a("}))
            .await;
        assert!(
            text.starts_with("error: `pattern` is not a regular expression: "),
            "{text}"
        );
    }

    #[tokio::test]
    async fn a_file_with_secrets_is_searched_when_a_person_says_so() {
        let trial = ToolTrial::new(FILES);
        let args = json!({"pattern": "one", "path": ".env"});
        let prepared = trial.prepared("search", args.clone()).await;
        assert_eq!(prepared.must_ask.as_deref(), Some(".env may hold secrets"));
        assert_eq!(
            trial.run_text("search", args).await,
            "ok: .env:1:one=secret\n"
        );
    }

    #[tokio::test]
    async fn many_and_long_lines_are_cut() {
        let trial = ToolTrial::new(&[
            ("many", &"match\n".repeat(300)),
            ("wide", &"w".repeat(5000)),
        ]);
        let text = trial.call("search", json!({"pattern": "match"})).await;
        assert_eq!(text.matches("match").count(), MATCHES);
        assert!(text.ends_with("[there may be more; narrow it by path, glob or pattern]\n"));
        let text = trial
            .call("search", json!({"pattern": "w+", "path": "wide"}))
            .await;
        assert_eq!(text, format!("ok: wide:1:{}…\n", "w".repeat(400)));
    }

    #[tokio::test]
    async fn many_files_are_searched_side_by_side_and_named_in_order() {
        let names: Vec<String> = (0..700)
            .map(|n| format!("folder-{:02}/file-{n:03}", n % 40))
            .collect();
        let files: Vec<(&str, &str)> = names
            .iter()
            .map(|name| (name.as_str(), "x\nfound\n"))
            .collect();
        let trial = ToolTrial::new(&files);
        let mut sorted = names.clone();
        sorted.sort();
        let lines = |names: &[String]| -> String {
            names
                .iter()
                .map(|name| format!("{name}:2:found\n"))
                .collect()
        };
        let text = trial.call("search", json!({"pattern": "found"})).await;
        let cut = "[there may be more; narrow it by path, glob or pattern]\n";
        assert_eq!(text, format!("ok: {}{cut}", lines(&sorted[..MATCHES])));
        let text = trial
            .call(
                "search",
                json!({"pattern": "found", "glob": "folder-3*/**"}),
            )
            .await;
        let few: Vec<String> = sorted
            .into_iter()
            .filter(|name| name.starts_with("folder-3"))
            .collect();
        assert_eq!(text, format!("ok: {}", lines(&few)));
    }

    #[tokio::test]
    async fn stops_when_it_is_cancelled() {
        let trial = ToolTrial::new(FILES);
        trial.cancelled.cancel();
        trial
            .check("search", json!({"pattern": "one"}), "stopped")
            .await;
    }
}

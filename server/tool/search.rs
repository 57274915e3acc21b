//! `search`: lines that match a regular expression, by ripgrep's libraries.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use aside_turn::{effect::CallWork, input::{Preparation, Prepared, ToolOutcome, ToolOutput}};
use aside_base::visible::short_line;


mod found;
mod walked;

use self::{
    found::{CONTEXT, FileFindings, FileSearcher, MATCHES, SearchArguments, matcher},
    walked::search_walked,
};
use super::{
    Tool, ToolContext, ToolSpec, arguments,
    change::sentence,
    host::PreparedCall,
    off_thread, outcome,
    output::counted,
    preparation,
    readable::Readable,
    walk::{FileWalk, RULES_CUT, WalkEnd},
    workspace::PathError,
};

/// The tool `search`.
pub(super) struct Search(ToolSpec);

impl Search {
    pub(super) fn new() -> Self {
        Self(ToolSpec::new(
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
        ))
    }
}

/// The file, where a file is named; a folder is walked.
fn named_file(args: &SearchArguments, host: &ToolContext) -> Result<Option<Readable>, String> {
    let path = args.path.as_deref().unwrap_or(".");
    match host.readable(path) {
        Ok(opened) => Ok(Some(opened)),
        Err(PathError::IsFolder(_)) => Ok(None),
        Err(refusal) => Err(sentence(refusal)),
    }
}

/// What a search is: its arguments, and the file that they lead to, if any.
fn hash(work: &CallWork, file: Option<&Readable>) -> String {
    let path = file.map_or("", |opened| &opened.path);
    aside_base::digest::of_parts(&["search", &work.arguments.to_string(), path])
}

fn prepare(work: &CallWork, host: &ToolContext) -> Result<Preparation, String> {
    let args: SearchArguments = arguments(work)?;
    matcher(&args.pattern)?;
    let file = named_file(&args, host)?;
    let secret = file.as_ref().filter(|opened| opened.secret);
    let hash = hash(work, file.as_ref());
    let as_prepared = PreparedCall {
        hash: hash.clone(),
        ..PreparedCall::default()
    };
    host.seen().prepared(work.call, as_prepared);
    Ok(Preparation::Ready(Prepared {
        title: format!("Search for {}", short_line(&args.pattern, 80)),
        approved: (host.approved)(&hash),
        hash,
        must_ask: secret.map(|opened| format!("{} may hold secrets", short_line(&opened.path, 80))),
        sandboxed: true,
        ..Prepared::default()
    }))
}

fn run(
    work: &CallWork,
    host: &ToolContext,
    cancelled: &CancellationToken,
) -> Result<ToolOutcome, String> {
    let args: SearchArguments = arguments(work)?;
    let file = named_file(&args, host)?;
    if !host
        .seen()
        .is_as_prepared(work.call, &hash(work, file.as_ref()))
    {
        return Err("What is searched leads to another file by now; try again.".into());
    }
    let mut search = SearchOutput::new(host);
    let end = match file {
        Some(opened) => match search.take(FileSearcher::new(&args, host)?.in_text(opened)) {
            true => WalkEnd::Complete,
            false => WalkEnd::Cut,
        },
        None => search.folder(&args, host, cancelled)?,
    };
    if end == WalkEnd::Cancelled {
        return Ok(ToolOutcome::Stopped);
    }
    Ok(ToolOutcome::Success(search.output(end)))
}

/// What was found so far.
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
    fn new(host: &ToolContext) -> Self {
        Self {
            room: host.room(),
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
        args: &SearchArguments,
        host: &ToolContext,
        cancelled: &CancellationToken,
    ) -> Result<WalkEnd, String> {
        let folder = args.path.as_deref().unwrap_or(".");
        let glob = args.glob.as_deref();
        let walk = FileWalk {
            workspace: &host.workspace,
            folder,
            glob,
            cancelled,
        };
        let searcher = FileSearcher::new(args, host)?;
        let walked = search_walked(&walk, &searcher, host, |found| self.take(found))?;
        self.rules_cut = walked.rules_cut;
        let end = walked.end;
        if end != WalkEnd::Complete {
            return Ok(end);
        }
        // The walk does not come to documents whose files were never saved.
        for path in host.unsaved() {
            let is_file = host.workspace.file(&path).is_ok();
            if !is_file && walk.covers(&path)? {
                let found = searcher.clone().in_readable(host.readable(&path));
                if !self.take(found) {
                    return Ok(WalkEnd::Cut);
                }
            }
        }
        Ok(end)
    }

    /// Takes in what was found in a file. False once it is enough.
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

#[async_trait]
impl Tool for Search {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, work: &CallWork, host: &Arc<ToolContext>) -> Preparation {
        preparation(off_thread(work, host, prepare).await)
    }

    async fn run(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> ToolOutcome {
        let token = cancelled.clone();
        outcome(off_thread(work, host, move |work, host| run(work, host, &token)).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::trial::ToolTrial;

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

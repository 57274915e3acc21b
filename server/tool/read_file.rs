//! `read_file`: a text file, or some of its lines, or an image or a PDF.

use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use aside_base::visible::short_line;
use aside_turn::{
    attachment::{self, Attachment, Content, Media, MediaType},
    input::{ToolOutcome, ToolOutput},
};

use super::{
    BlockingTool, CallPlan, Planning, ToolRun, ToolSpec, Unplanned,
    frame::{FileSnapshots, GivenLines, LinesRead, ReadPermit, Readable, TextSource},
    line_ends::split_mark,
    output::cut,
    workspace::{PathError, TextFile},
};

/// Text behind a line that was cut.
const LONG_LINE: &str = "\n[this line is longer and was cut; use search to find what is in it]";

/// The tool `read_file`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct ReadFile {
    path: String,
    from_line: Option<usize>,
    to_line: Option<usize>,
    #[serde(default)]
    line_numbers: bool,
}

impl BlockingTool for ReadFile {
    fn spec() -> ToolSpec {
        ToolSpec::new(
            "read_file",
            "Read a file of the workspace: text, or an image or a PDF, which is shown to you if you can see such files. \
             A long text is given in parts: the result says how to go on. It comes exactly as it is in the file, so that \
             it can be copied into an edit; with `line_numbers` each line is led by its number and a tab.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, from the workspace's root."},
                    "from_line": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1."},
                    "to_line": {"type": "integer", "minimum": 1, "description": "The last line."},
                    "line_numbers": {"type": "boolean", "description": "Lead each line by its number. Default: false."}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
        )
    }

    fn plan(self, mut planning: Planning) -> Result<CallPlan, Unplanned> {
        if self
            .to_line
            .is_some_and(|to| to < self.from_line.unwrap_or(1))
        {
            return Err(planning.invalid("`to_line` is before `from_line`").into());
        }
        let file = planning.open(&self.path)?;
        let title = format!("Read {}", short_line(file.path(), 80));
        let parts = ["read_file", file.path()].map(str::to_owned);
        let plan = planning.blocking(title, move |run| read(&self, file, &run));
        // What is allowed for longer counts for all lines of the file.
        Ok(plan.bound_to(parts))
    }
}

fn read(args: &ReadFile, mut file: Readable, run: &ToolRun) -> Result<ToolOutcome, String> {
    let room = run.context.room();
    if let Some((media_type, bytes)) = file.media(&run.permit)? {
        return picture(file.path(), media_type, &bytes, run).map(ToolOutcome::Success);
    }
    if file.is_large() {
        let (content, summary) = lines_of_large(args, file, run, room)?;
        // Nothing is noted: no tool changes such a file.
        return Ok(ToolOutcome::Success(ToolOutput {
            content,
            summary,
            ..ToolOutput::default()
        }));
    }
    let file = file.text(&run.permit)?;
    let Excerpt {
        mut content,
        mut summary,
        lines,
    } = excerpt(args, &file, room)?;
    if let Some(note) = file.note {
        let end = if content.ends_with('\n') { "" } else { "\n" };
        content.push_str(&format!("{end}[{note}]"));
    }
    let mut seen = run.context.seen();
    let mut details = match lines {
        Some(lines) => seen.note_lines(&file.path, &file.hash, lines),
        None => seen.note(&file.path, &file.hash),
    };
    if let Some(lines) = lines.filter(|lines| !lines.is_cut) {
        let given = GivenLines {
            from: lines.from,
            to: lines.to,
            numbered: args.line_numbers,
        };
        let before = seen.given_in(&file.path, &file.hash, given);
        let line = given_before(&file.path, &summary, before.unwrap_or(0));
        match before {
            // A few words are given as they are.
            _ if content.len() <= line.len() => {}
            Some(_) => {
                content = line;
                summary.push_str(", unchanged");
            }
            None => FileSnapshots::note_given(&mut details, &file.path, given),
        }
    }
    let output = ToolOutput {
        content,
        summary,
        details: Some(details),
        ..ToolOutput::default()
    };
    Ok(ToolOutcome::Success(output))
}

/// The answer where a result that still stands in the conversation gave the same lines.
fn given_before(path: &str, lines: &str, turn: u32) -> String {
    format!(
        "[`{path}` is as you read it in turn {turn}: the result of that call of read_file has {lines}; where a summary \
         stands for it now, read it again]"
    )
}

/// An image or PDF, which models that take it see.
fn picture(
    path: &str,
    media_type: MediaType,
    bytes: &[u8],
    run: &ToolRun,
) -> Result<ToolOutput, String> {
    let failed = |error| format!("`{path}` cannot be kept for the model: {error}.");
    let blob = (run.context.keep_blob)(bytes).map_err(failed)?;
    let size = bytes.len() as u64;
    let about = format!("[{}, {}]", media_type.mime(), attachment::size(size));
    let media = Media {
        media_type,
        blob,
        size,
    };
    Ok(ToolOutput {
        media: vec![Attachment {
            name: path.to_owned(),
            content: Content::Media(media),
        }],
        ..ToolOutput::text(about)
    })
}

/// Lines of a file, as the model is given them.
struct Excerpt {
    content: String,
    summary: String,
    /// None where the file is empty.
    lines: Option<LinesRead>,
}

/// The lines that are wanted, as far as there is room, and how to go on.
fn excerpt(args: &ReadFile, file: &TextFile, room: usize) -> Result<Excerpt, String> {
    let path = &file.path;
    let (_, text) = split_mark(&file.text);
    let total = text.lines().count();
    let from = args.from_line.unwrap_or(1);
    if total == 0 {
        return Ok(Excerpt {
            content: format!("[`{path}` is empty]"),
            summary: "empty".into(),
            lines: None,
        });
    }
    if from > total {
        return Err(format!("`{path}` has {total} lines only."));
    }
    let wanted = args.to_line.unwrap_or(total).min(total);
    let mut content = String::new();
    let (mut to, mut is_cut) = (from - 1, false);
    for line in text.split_inclusive('\n').take(wanted).skip(from - 1) {
        let number = if args.line_numbers {
            format!("{}\t", to + 1)
        } else {
            String::new()
        };
        if content.len() + number.len() + line.len() > room && to >= from {
            break;
        }
        content.push_str(&number);
        content.push_str(line);
        to += 1;
        is_cut |= content.len() > room;
        cut(&mut content, room, LONG_LINE);
    }
    if to < wanted {
        let end = if content.ends_with('\n') { "" } else { "\n" };
        content.push_str(&format!(
            "{end}[lines {from} to {to} of {total}; go on with from_line={}]",
            to + 1
        ));
    }
    Ok(Excerpt {
        content,
        summary: format!("lines {from} to {to} of {total}"),
        lines: Some(LinesRead {
            from,
            to,
            of: total,
            is_cut,
        }),
    })
}

/// The lines that are wanted of a file that is too large to be held, as far as there is room. How many it has is not
/// known.
fn lines_of_large(
    args: &ReadFile,
    file: Readable,
    run: &ToolRun,
    room: usize,
) -> Result<(String, String), String> {
    let path = file.path().to_owned();
    let mut lines = LargeText::new(file, &run.permit)?;
    let from = args.from_line.unwrap_or(1);
    let failed = |error: io::Error| format!("`{path}` cannot be read: {error}.");
    let skipped = lines.skip(from - 1, &run.cancelled).map_err(failed)?;
    if skipped < from - 1 {
        return Err(format!("`{path}` has {skipped} lines only."));
    }
    let (mut content, mut is_last) = (Vec::new(), false);
    let mut to = from - 1;
    while to < args.to_line.unwrap_or(usize::MAX) && content.len() < room {
        let number = match args.line_numbers {
            true => format!("{}\t", to + 1),
            false => String::new(),
        };
        let Some(line) = lines.next(room).map_err(failed)? else {
            is_last = true;
            break;
        };
        if content.len() + number.len() + line.len() > room && to >= from {
            break;
        }
        content.extend_from_slice(number.as_bytes());
        content.extend_from_slice(&line);
        to += 1;
    }
    if to < from {
        return Err(format!("`{path}` has {to} lines only."));
    }
    let mut content = text_of(content).ok_or_else(|| PathError::Binary(path.clone()))?;
    cut(&mut content, room, LONG_LINE);
    let end = if content.ends_with('\n') { "" } else { "\n" };
    let further = match is_last {
        true => "there are no more".to_owned(),
        false => format!("go on with from_line={}", to + 1),
    };
    content.push_str(&format!(
        "{end}[lines {from} to {to} of a file larger than 16 MiB; {further}]"
    ));
    Ok((content, format!("lines {from} to {to}")))
}

/// Text, where it is any; a letter that was cut at the end does not count.
fn text_of(mut bytes: Vec<u8>) -> Option<String> {
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// A large file, read from its beginning and never held.
struct LargeText(BufReader<Box<dyn Read>>);

impl LargeText {
    fn new(file: Readable, permit: &ReadPermit) -> Result<Self, PathError> {
        let path = file.path().to_owned();
        let TextSource::File(file, _) = file.source(permit)? else {
            return Err(PathError::TooLarge(path));
        };
        let file: Box<dyn Read> = Box::new(file.into_file());
        let mut file = BufReader::with_capacity(1 << 18, file);
        // No line of it need be looked for. What cannot be read is told of where that is wanted.
        match file.fill_buf() {
            Ok(first) if first.contains(&0) => Err(PathError::Binary(path)),
            _ => Ok(Self(file)),
        }
    }

    /// Passes over so many lines; fewer where the file ends or the call is cancelled.
    fn skip(&mut self, lines: usize, cancelled: &CancellationToken) -> io::Result<usize> {
        let (mut left, mut within) = (lines, false);
        while left > 0 && !cancelled.is_cancelled() {
            let bytes = self.0.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            let count = bytes.iter().filter(|byte| **byte == b'\n').count();
            let passed = match count < left {
                true => bytes.len(),
                false => {
                    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                    ends.nth(left - 1).map_or(bytes.len(), |(at, _)| at + 1)
                }
            };
            within = passed == bytes.len() && bytes.last() != Some(&b'\n');
            left -= count.min(left);
            self.0.consume(passed);
        }
        // What the last line has no end of is a line, too.
        Ok(lines - left + usize::from(within && left > 0))
    }

    /// The next line, none at the end. One that is longer than there is room for is cut, and passed over.
    fn next(&mut self, room: usize) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let most = room as u64 + 1;
        if self.0.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            self.skip(1, &CancellationToken::new())?;
        }
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;
    use aside_base::digest::sha256;
    use aside_turn::record::{CallEnd, CallKey, Event};

    async fn check(text: &str, args: serde_json::Value, outcome: &str) {
        let mut args = args;
        args["path"] = "a.txt".into();
        ToolTrial::new(&[("a.txt", text)])
            .check("read_file", args, outcome)
            .await;
    }

    #[tokio::test]
    async fn gives_the_text_as_it_is() {
        check("one\r\n\ttwo\n", json!({}), "ok: one\r\n\ttwo\n").await;
        check("one\ntwo", json!({}), "ok: one\ntwo").await;
        check("", json!({}), "ok: [`a.txt` is empty]").await;
    }

    #[tokio::test]
    async fn gives_some_lines() {
        check(
            "1\n2\n3\n4\n",
            json!({"from_line": 2, "to_line": 3}),
            "ok: 2\n3\n",
        )
        .await;
        check(
            "a\nb\n",
            json!({"from_line": 2, "line_numbers": true}),
            "ok: 2\tb\n",
        )
        .await;
        check("a\n", json!({"to_line": 99}), "ok: a\n").await;
        check(
            "a\n",
            json!({"from_line": 2}),
            "error: `a.txt` has 1 lines only.",
        )
        .await;
        check(
            "a\n",
            json!({"from_line": 3, "to_line": 2}),
            "error: Invalid arguments for read_file: `to_line` is before `from_line`.",
        )
        .await;
    }

    #[tokio::test]
    async fn lines_that_stand_in_the_conversation_unchanged_are_not_given_again() {
        let text = "a line\n".repeat(100);
        let trial = ToolTrial::new(&[("a.txt", &text), ("b.txt", "short\n")]);
        let given = FileSnapshots::note_given;
        let follow = |path: &str, text: &str, to: usize| {
            let mut details = json!({ "read": { path: sha256(text.as_bytes()) } });
            let lines = GivenLines {
                from: 1,
                to,
                numbered: false,
            };
            given(&mut details, path, lines);
            let event = Event::ToolResult {
                call: CallKey(1),
                end: CallEnd::Success,
                content: text.to_owned(),
                summary: None,
                held: false,
                details: Some(details),
                media: Vec::new(),
            };
            trial.context.seen().follow(&Event::TurnStart);
            trial.context.seen().follow(&event);
        };
        let check = async |path: &str, more: serde_json::Value, outcome: &str| {
            let mut args = more;
            args["path"] = path.into();
            trial.check("read_file", args, outcome).await;
        };
        let whole = format!("ok: {text}");
        check("a.txt", json!({}), &whole).await;
        follow("a.txt", &text, 100);
        follow("b.txt", "short\n", 1);
        let line = "ok: [`a.txt` is as you read it in turn 1: the result of that call of read_file has lines 1 to 100 of \
                    100; where a summary stands for it now, read it again]";
        check("a.txt", json!({}), line).await;
        check("a.txt", json!({"from_line": 1, "to_line": 100}), line).await;
        check("a.txt", json!({"to_line": 2}), "ok: a line\na line\n").await;
        check("b.txt", json!({}), "ok: short\n").await;
        trial.context.seen().forget_given();
        check("a.txt", json!({}), &whole).await;
    }

    #[tokio::test]
    async fn a_long_file_comes_in_parts() {
        let line = "x".repeat(999) + "\n";
        let trial = ToolTrial::new(&[("a.txt", &line.repeat(100))]);
        let room = trial.context.room();
        let text = trial.call("read_file", json!({"path": "a.txt"})).await;
        assert!(
            text.ends_with("\n[lines 1 to 32 of 100; go on with from_line=33]"),
            "{text}"
        );
        assert!(text.len() < room + 100);
        let text = trial
            .call("read_file", json!({"path": "a.txt", "from_line": 90}))
            .await;
        assert_eq!(text, format!("ok: {}", line.repeat(11)));
    }

    #[tokio::test]
    async fn an_image_is_shown_by_its_content_and_not_by_its_name() {
        let trial = ToolTrial::new(&[("a.txt", ""), ("b.png", "text\n")]);
        let path = trial.context.files.root().join("a.txt");
        std::fs::write(&path, b"\x89PNG\r\n\x1a\n\0\0").unwrap();
        let check = async |path: &str, outcome: &str| {
            trial
                .check("read_file", json!({ "path": path }), outcome)
                .await;
        };
        check("a.txt", "ok: [image/png, 10 bytes]").await;
        check("b.png", "ok: text\n").await;
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(17 << 20)
            .unwrap();
        check("a.txt", "error: `a.txt` is binary, not UTF-8 text.").await;
    }

    #[tokio::test]
    async fn a_large_file_is_binary_by_its_beginning() {
        let trial = ToolTrial::new(&[("a.bin", "")]);
        let path = trial.context.files.root().join("a.bin");
        std::fs::File::create(&path)
            .unwrap()
            .set_len(17 << 20)
            .unwrap();
        // A line of it that is looked for is not there.
        for from in [1, 2] {
            trial
                .check(
                    "read_file",
                    json!({"path": "a.bin", "from_line": from}),
                    "error: `a.bin` is binary, not UTF-8 text.",
                )
                .await;
        }
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_to_be_held_is_read_by_lines() {
        let trial = ToolTrial::new(&[("a.txt", "one\n")]);
        let path = trial.context.files.root().join("a.txt");
        let line = "x".repeat(1023) + "\n";
        let mut text = line.repeat(17 << 10);
        text.push_str("the last");
        std::fs::write(&path, &text).unwrap();
        let read = async |from: usize, to: usize| {
            let args = json!({"path": "a.txt", "from_line": from, "to_line": to});
            trial.call("read_file", args).await
        };
        let of = |from, to| {
            format!(
                "[lines {from} to {to} of a file larger than 16 MiB; go on with from_line={}]",
                to + 1
            )
        };
        assert_eq!(
            read(17_000, 17_001).await,
            format!("ok: {}{}", line.repeat(2), of(17_000, 17_001))
        );
        assert_eq!(
            read(17_409, 99_999).await,
            "ok: the last\n[lines 17409 to 17409 of a file larger than 16 MiB; there are no more]"
        );
        assert_eq!(
            read(17_410, 17_410).await,
            "error: `a.txt` has 17409 lines only."
        );
        let text = trial.call("read_file", json!({"path": "a.txt"})).await;
        assert!(
            text.ends_with(&of(1, 32)) && text.len() < trial.context.room() + 100,
            "{}",
            text.len()
        );
        std::fs::write(&path, vec![b'x'; 17 << 20]).unwrap();
        let text = trial.call("read_file", json!({"path": "a.txt"})).await;
        assert!(text.len() < trial.context.room() + 200, "{}", text.len());
        assert!(text.ends_with(&of(1, 1)), "{}", &text[text.len() - 200..]);
    }

    #[tokio::test]
    async fn one_endless_line_is_cut() {
        let trial = ToolTrial::new(&[("a.txt", &"ä".repeat(1 << 20))]);
        let text = trial.call("read_file", json!({"path": "a.txt"})).await;
        assert!(
            text.ends_with("use search to find what is in it]"),
            "{}",
            text.len()
        );
        assert!(text.len() < trial.context.room() + 100);
    }

    #[tokio::test]
    async fn the_content_that_was_read_is_known_and_on_record() {
        let trial = ToolTrial::new(&[("sub/a.txt", "text")]);
        let args = json!({"path": "./sub/../sub/a.txt"});
        trial.prepared("read_file", args.clone()).await;
        let ToolOutcome::Success(output) = trial.run("read_file", args).await else {
            panic!("it is there")
        };
        let hash = sha256(b"text");
        assert_eq!(output.details, Some(json!({"read": {"sub/a.txt": hash}})));
        assert_eq!(trial.context.seen().hash("sub/a.txt"), Some(hash.as_str()));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_may_hold_secrets_asks() {
        let trial = ToolTrial::new(&[("a.txt", ""), ("sub/.env", "KEY=1")]);
        trial.link("plain", "sub/.env");
        let asks = async |path: &str| {
            trial
                .prepared("read_file", json!({"path": path}))
                .await
                .must_ask
        };
        assert_eq!(asks("a.txt").await, None);
        assert_eq!(
            asks("sub/.env").await.as_deref(),
            Some("sub/.env may hold secrets")
        );
        assert_eq!(
            asks("plain").await.as_deref(),
            Some("sub/.env may hold secrets")
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_that_was_exchanged_after_it_was_looked_at_is_not_read() {
        let trial = ToolTrial::new(&[("a.txt", "plain"), (".env", "KEY=1")]);
        let args = json!({"path": "a.txt"});
        assert_eq!(
            trial.prepared("read_file", args.clone()).await.must_ask,
            None
        );
        trial.remove("a.txt");
        trial.link("a.txt", ".env");
        let text = trial.run_text("read_file", args).await;
        assert_eq!(
            text,
            "error: What this call would do changed since it was prepared; look again, and call it again."
        );
    }
}

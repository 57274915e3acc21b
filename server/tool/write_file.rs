//! `write_file`: a whole file, new or in place of one that the model read.

use serde::Deserialize;
use serde_json::json;

use aside_base::visible::short_line;
use aside_turn::rules::Class;

use super::{
    BlockingTool, CallPlan, Planning, ToolSpec, Unplanned, change::FileChange, frame::TextGap,
    hold::asked, line_ends, workspace::MAX_FILE,
};

/// The tool `write_file`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct WriteFile {
    path: String,
    content: String,
}

impl BlockingTool for WriteFile {
    fn spec() -> ToolSpec {
        let mut spec = ToolSpec::new(
            "write_file",
            "Write a whole file. Folders that are missing are made. To replace a file that exists, read \
             all of it first; for a small change in it use edit_file. Its line ends and its byte order mark stay.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, from the workspace's root."},
                    "content": {"type": "string", "description": "All of its text."}
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
        );
        spec.class = Class::Edits;
        spec
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        if self.content.len() as u64 > MAX_FILE {
            return Err(planning.invalid("`content` is larger than 16 MiB").into());
        }
        let file = asked(planning.known(&self.path)?, planning.context());
        let new = match &file.old {
            Some(old) => line_ends::for_whole(&old.text, &self.content),
            None => self.content,
        };
        let gap = match file.old {
            Some(_) => planning.context().seen().gap(&file.path),
            None => None,
        };
        let path = file.path.clone();
        if gap == Some(TextGap::Unread) {
            return Err(format!(
                "You have read only some lines of `{path}`, and this would replace all of it; read the rest of it first, or \
                 change single places with edit_file."
            ).into());
        }
        let cut = gap.map(|_| {
            let path = short_line(&path, 80);
            format!("{path} has lines of which the model saw only the start, and it would replace them whole")
        });
        let mut change = FileChange::new(file, new);
        change.is_whole = true;
        Ok(change.plan(planning).must_ask(cut))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::trial::ToolTrial;

    fn read(from: usize, to: usize) -> Value {
        json!({"path": "a.txt", "from_line": from, "to_line": to})
    }

    fn write() -> Value {
        json!({"path": "a.txt", "content": "new\n"})
    }

    #[tokio::test]
    async fn a_text_is_replaced_only_where_all_of_it_was_read() {
        let trial = ToolTrial::new(&[("a.txt", "1\n2\n3\n")]);
        let refused = "error: You have read only some lines of `a.txt`, and this would replace all of it; read the \
                       rest of it first, or change single places with edit_file.";
        trial.call("read_file", read(1, 2)).await;
        trial.check("write_file", write(), refused).await;
        let edit = json!({"path": "a.txt", "old_text": "2", "new_text": "two"});
        trial.check("edit_file", edit, "ok: Changed `a.txt`.").await;
        trial.call("read_file", read(3, 3)).await;
        trial.check("write_file", write(), refused).await;
        assert_eq!(trial.text("a.txt").as_deref(), Some("1\ntwo\n3\n"));
        trial.call("read_file", read(1, 2)).await;
        trial
            .check("write_file", write(), "ok: Changed `a.txt`.")
            .await;
        // What the model wrote whole it knows, also behind an edit of it.
        let edit = json!({"path": "a.txt", "old_text": "new", "new_text": "newer"});
        trial.check("edit_file", edit, "ok: Changed `a.txt`.").await;
        trial
            .check("write_file", write(), "ok: Changed `a.txt`.")
            .await;
    }

    #[tokio::test]
    async fn lines_of_which_only_the_start_was_shown_are_asked_for() {
        let long = format!("{}\nend\n", "x".repeat(100_000));
        let trial = ToolTrial::new(&[("a.txt", &long)]);
        trial.call("read_file", json!({"path": "a.txt"})).await;
        trial.call("read_file", read(2, 2)).await;
        let prepared = trial.prepared("write_file", write()).await;
        let reason = "a.txt has lines of which the model saw only the start, and it would replace them whole";
        assert_eq!(prepared.must_ask.as_deref(), Some(reason));
    }
}

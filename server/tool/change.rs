//! A change of one file, as `edit_file` and `write_file` make it: only over the text that the model knows, and with a
//! person's own text if there is one.

use serde_json::json;

use super::{
    CallPlan, Planning, ToolRun,
    editor::{changed_lines, place_of},
    frame::{EditBase, KnownFile, WrittenTo},
    line_ends,
    workspace::TextFile,
};
use aside_base::{
    diff::unified,
    visible::{hidden_added, short_line},
};
use aside_turn::{
    effect::CallWork,
    input::{OwnText, Preview, ToolOutcome, ToolOutput},
};

/// A change that can be made.
pub(super) struct FileChange {
    file: KnownFile,
    /// The text that the model wants there.
    new: String,
    /// Whether the change means the same after other edits of the file.
    pub(super) follows: bool,
    /// Whether the model gave the whole text, so that it knows all of it.
    pub(super) is_whole: bool,
}

impl FileChange {
    pub(super) fn new(file: KnownFile, new: String) -> Self {
        Self {
            new: fitted(file.old.as_ref(), new),
            file,
            follows: false,
            is_whole: false,
        }
    }

    /// The plan to make this change. A person sees the whole change.
    pub(super) fn plan(self, planning: Planning) -> CallPlan {
        let KnownFile {
            path,
            old,
            must_ask,
            ..
        } = &self.file;
        let buffer = old.as_ref().and_then(|file| file.buffer.clone());
        let text = old.as_ref().map_or("", |file| &file.text);
        let verb = if old.is_some() { "Edit" } else { "Create" };
        let mut title = format!("{verb} {}", short_line(path, 80));
        if old.is_some() {
            title.push_str(&format!(", {}", place_of(text, &self.new)));
        }
        // The diff itself stays as it is, since a person may take it over; so it is said here.
        let hidden = hidden_added(text, &self.new);
        if !hidden.is_empty() {
            title.push_str(&format!(
                " (adds invisible characters: {})",
                hidden.join(", ")
            ));
        }
        let unsaved = buffer.as_ref().filter(|buffer| buffer.users).map(|_| {
            let path = short_line(path, 80);
            format!("{path} has changes in the editor that are not saved")
        });
        let reasons = must_ask.clone().into_iter().chain(unsaved);
        let preview = Preview::Diff {
            version: buffer.as_ref().map(|buffer| buffer.version),
            uri: match buffer {
                Some(buffer) => buffer.uri,
                None => planning.context().files.uri(path),
            },
            old: text.to_owned(),
            new: self.new.clone(),
        };
        let there = json!(old.is_some()).to_string();
        let mut parts = vec!["edit", path, &there, text, &self.new];
        // What needs no asking when it is prepared is not written once it does.
        parts.extend(must_ask.as_deref());
        let parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
        let base = old.as_ref().filter(|_| self.follows).map(|old| EditBase {
            path: path.clone(),
            hash: old.hash.clone(),
            lines: old
                .buffer
                .as_ref()
                .map(|_| changed_lines(&old.text, &self.new)),
        });
        let reasons: Vec<String> = reasons.collect();
        planning
            .blocking(title, move |run| self.apply(&run))
            .preview(preview)
            .bound_to(parts)
            .must_ask(reasons)
            .changing(base)
    }

    /// Makes the change.
    ///
    /// # Errors
    /// Text for the model. The file was not changed, unless the editor did not confirm the change.
    fn apply(self, run: &ToolRun) -> Result<ToolOutcome, String> {
        let text = self.wanted(&run.work);
        let old = self.file.old.as_ref();
        if old.is_some_and(|file| file.text == text) {
            return Ok(self.kept_as_it_was(&run.work));
        }
        let (put, after) = run.write(&self.file, &text)?;
        if put == WrittenTo::Cancelled {
            return Ok(ToolOutcome::Stopped);
        }
        let mut output = self.output_for_model(&text, &put);
        // What the user typed, the model has not read.
        if !self.file.moved && put != WrittenTo::BesideTyping {
            let mut seen = run.context.seen();
            if let Some(before) = old {
                seen.edited(&self.file.path, &before.hash, &after);
            }
            output.details = Some(match self.is_whole {
                true => seen.note(&self.file.path, &after),
                false => seen.note_change(&self.file.path, &after),
            });
        }
        Ok(ToolOutcome::Success(output))
    }

    fn old_text(&self) -> &str {
        self.file.old.as_ref().map_or("", |file| &file.text)
    }

    /// The text to write: the person's own, if there is one.
    fn wanted(&self, work: &CallWork) -> String {
        match &work.new_text {
            // Editors write it with line ends and marks of their own.
            Some(OwnText { text: own, .. }) => {
                let shown = if self.new.is_empty() {
                    self.old_text()
                } else {
                    &self.new
                };
                fitted(self.file.old.as_ref(), line_ends::for_whole(shown, own))
            }
            None => self.new.clone(),
        }
    }

    /// The result for the model, which says how the file is now if it is not as the model wanted it.
    fn output_for_model(&self, text: &str, put: &WrittenTo) -> ToolOutput {
        let verb = if self.file.old.is_some() {
            "Changed"
        } else {
            "Created"
        };
        let mut content = format!("{verb} `{}`.", self.file.path);
        match put {
            WrittenTo::OnDisk | WrittenTo::Saved | WrittenTo::Cancelled if self.file.moved => content
                .push_str("\nIt has other changes since you read it; read it again before you rely on other parts."),
            WrittenTo::OnDisk | WrittenTo::Saved | WrittenTo::Cancelled => {}
            WrittenTo::BesideTyping => content.push_str(
                "\nThe user types in it, so it has other changes, too, and is not saved; read it again before you rely on other parts.",
            ),
            WrittenTo::SavedOtherwise => content.push_str(
                "\nThe editor changed it when it saved it; read the file again before you change it.",
            ),
            WrittenTo::Unsaved(why) => {
                content.push_str(&format!("\nIt is not saved in the editor: {why}."));
            }
        }
        if *text != self.new {
            content.push_str(
                "\nThe user changed your text before it was written. From your text to what is in the file now:\n",
            );
            content.push_str(&unified(&self.file.path, &self.new, text));
        }
        ToolOutput::text(content)
    }

    fn kept_as_it_was(&self, work: &CallWork) -> ToolOutcome {
        let path = &self.file.path;
        let why = match work.new_text {
            Some(_) => format!("The user kept `{path}` as it was."),
            None => format!("`{path}` has this text already; nothing was changed."),
        };
        ToolOutcome::Success(ToolOutput::text(why))
    }
}

/// The text of a file or of an open document. The text of a file stays as it is.
fn fitted(old: Option<&TextFile>, text: String) -> String {
    match old.filter(|file| file.buffer.is_some()) {
        Some(document) => line_ends::for_document(&document.text, text),
        None => text,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;

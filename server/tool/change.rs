//! A change of one file, as `edit_file` and `write_file` make it: only over the text that the model knows,
//! on record before it happens, and with a person's own text where there is one.

use std::sync::Arc;

use aside_base::{
    digest::sha256,
    visible::{hidden_added, short_line},
};
use aside_turn::{
    effect::CallWork,
    input::{Prepared, Preview, ToolOutcome, ToolOutput},
    rules::Class,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    FileEdit, ToolContext,
    editor::{Buffer, BufferEdit, EditError},
    host::PreparedCall,
    output::cut,
    readable::TextSource,
    workspace::{PathError, TextFile},
};

/// Bytes of a diff that goes to the model or to clients.
const DIFF: usize = 64 << 10;

/// A change that can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileChange {
    /// The file's real path from the root.
    pub(super) path: String,
    /// What is there.
    pub(super) old: Option<TextFile>,
    /// What the model wants there.
    pub(super) new: String,
    /// It means the same after other edits of the file.
    pub(super) follows: bool,
    /// Why a person must be asked, whatever the mode.
    pub(super) must_ask: Option<String>,
}

/// The file that the model is about to change.
pub(super) struct KnownFile {
    /// Its real path from the root.
    pub(super) path: String,
    /// Its text, which the model read; none where no file is.
    pub(super) text: Option<TextFile>,
    /// Why a person must be asked, whatever the mode.
    pub(super) must_ask: Option<String>,
}

/// Where a text was put.
#[derive(Debug, PartialEq, Eq)]
enum WrittenTo {
    OnDisk,
    /// In the editor, which saved it.
    Saved,
    /// In the editor, which changed it once more when it saved it.
    SavedOtherwise,
    /// In the editor only; why.
    Unsaved(String),
    /// The call was cancelled while the editor was asked, so that nobody knows.
    Cancelled,
}

/// Finds the file that the model is about to change, with the text that it read.
pub(super) fn known(host: &ToolContext, path: &str) -> Result<KnownFile, String> {
    let place = host.workspace.place(path).map_err(sentence)?;
    let must_ask = place.must_ask;
    let source = match (host.document(&place.path), place.old) {
        (Some(document), _) => TextSource::Document(document),
        (None, Some(opened)) => TextSource::File(opened),
        (None, None) => {
            return Ok(KnownFile {
                path: place.path,
                text: None,
                must_ask,
            });
        }
    };
    // Looked at before the text is: what was never read is not compared with anything either.
    let Some(seen) = host.seen().hash(&place.path).map(str::to_owned) else {
        return Err(format!(
            "You have not read `{}`; read the file first.",
            place.path
        ));
    };
    let file = source.text(place.path).map_err(sentence)?;
    if file.hash != seen {
        return Err(sentence(PathError::Stale(file.path)));
    }
    Ok(KnownFile {
        path: file.path.clone(),
        text: Some(file),
        must_ask,
    })
}

impl FileChange {
    pub(super) fn new(file: KnownFile, new: String) -> Self {
        Self {
            new: fitted(file.text.as_ref(), new),
            path: file.path,
            old: file.text,
            follows: false,
            must_ask: file.must_ask,
        }
    }

    /// What a person sees, and what an approval is bound to.
    pub(super) fn prepared(self, host: &ToolContext, work: &CallWork) -> Prepared {
        let hash = self.hash();
        let base = self.old.as_ref().map(|file| file.hash.clone());
        let as_prepared = PreparedCall {
            hash: hash.clone(),
            base,
            follows: self.follows,
        };
        host.seen().prepared(work.call, as_prepared);
        let buffer = self.old.as_ref().and_then(|file| file.buffer.clone());
        let old = self.old.map(|file| file.text);
        let verb = if old.is_some() { "Edit" } else { "Create" };
        let old = old.unwrap_or_default();
        let mut title = format!("{verb} {}", short_line(&self.path, 80));
        // The diff itself stays as it is, since a person may take it over; so it is said here.
        let hidden = hidden_added(&old, &self.new);
        if !hidden.is_empty() {
            title.push_str(&format!(
                " (adds invisible characters: {})",
                hidden.join(", ")
            ));
        }
        let unsaved = buffer.as_ref().filter(|buffer| buffer.users).map(|_| {
            let path = short_line(&self.path, 80);
            format!("{path} has changes in the editor that are not saved")
        });
        let reasons: Vec<String> = self.must_ask.into_iter().chain(unsaved).collect();
        let must_ask = (!reasons.is_empty()).then(|| reasons.join("; "));
        let version = buffer.as_ref().map(|buffer| buffer.version);
        let uri = match buffer {
            Some(buffer) => buffer.uri,
            None => host.workspace.uri(&self.path),
        };
        Prepared {
            class: Class::Edits,
            title,
            preview: Some(Preview::Diff {
                uri,
                version,
                old,
                new: self.new,
            }),
            approved: (host.approved)(&hash),
            hash,
            must_ask,
            note: None,
            // The gate holds it inside the workspace.
            sandboxed: true,
        }
    }

    /// Makes it.
    ///
    /// # Errors
    /// The sentence for the model; nothing was changed then, but where the editor did not confirm it.
    pub(super) fn apply(
        self,
        host: &ToolContext,
        work: &CallWork,
        cancelled: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        if !self.is_what_was_shown(host, work) {
            return Err(sentence(PathError::Stale(self.path)));
        }
        let text = self.wanted(work);
        let old = self.old.as_ref();
        if old.is_some_and(|file| file.text == text) {
            return Ok(self.kept_as_it_was(work));
        }
        let failed = |error| format!("`{}` was not changed: {error}.", self.path);
        let before = old
            .map(|file| (host.keep_blob)(file.text.as_bytes()))
            .transpose();
        let after = sha256(text.as_bytes());
        let edit = FileEdit {
            call: work.call,
            path: self.path.clone(),
            before: before.map_err(failed)?,
            after: Some(after.clone()),
        };
        (host.record_edit)(&edit).map_err(failed)?;
        let put = match old.and_then(|file| file.buffer.as_ref()) {
            None => self.put_on_disk(host, &text)?,
            Some(buffer) => self.put_in_editor(host, buffer, &text, cancelled)?,
        };
        if put == WrittenTo::Cancelled {
            return Ok(ToolOutcome::Stopped);
        }
        if let Some(before) = old {
            host.seen().edited(&self.path, &before.hash, &after);
        }
        let details = host.seen().note(&self.path, &after);
        let mut output = self.output_for_model(&text, &put);
        output.details = Some(details);
        Ok(ToolOutcome::Success(output))
    }

    /// The text that is to be there: the person's own, where there is one.
    fn wanted(&self, work: &CallWork) -> String {
        match &work.new_text {
            Some(own) => fitted(self.old.as_ref(), own.clone()),
            None => self.new.clone(),
        }
    }

    fn put_on_disk(&self, host: &ToolContext, text: &str) -> Result<WrittenTo, String> {
        let expected = self.old.as_ref().map(|file| file.hash.as_str());
        host.workspace
            .write(&self.path, expected, text.as_bytes())
            .map_err(sentence)?;
        Ok(WrittenTo::OnDisk)
    }

    /// What the user did not save stays unsaved; what was clean is clean again.
    fn put_in_editor(
        &self,
        host: &ToolContext,
        buffer: &Buffer,
        text: &str,
        cancelled: &CancellationToken,
    ) -> Result<WrittenTo, String> {
        let Some(editor) = host.editor.as_ref() else {
            return Err(sentence(PathError::Stale(self.path.clone())));
        };
        let path = host.workspace.root().join(&self.path);
        let edit = BufferEdit {
            path: &path,
            version: buffer.version,
            base: self.old.as_ref().map_or("", |file| &file.text),
            new: text,
        };
        match editor.apply(&edit, cancelled) {
            Ok(()) => {}
            Err(EditError::Stale) => return Err(sentence(PathError::Stale(self.path.clone()))),
            Err(EditError::Cancelled) => return Ok(WrittenTo::Cancelled),
            Err(error) => return Err(format!("`{}`: {error}.", self.path)),
        }
        if buffer.users {
            let why = "it has changes of the user's that are not saved".to_owned();
            return Ok(WrittenTo::Unsaved(why));
        }
        if let Err(why) = editor.save(&path, cancelled) {
            return Ok(WrittenTo::Unsaved(why));
        }
        let now = editor.document(&path);
        Ok(match now.is_none_or(|now| now.text == text) {
            true => WrittenTo::Saved,
            false => WrittenTo::SavedOtherwise,
        })
    }

    /// The model is told how the file is now, where it is not as it wanted it.
    fn output_for_model(&self, text: &str, put: &WrittenTo) -> ToolOutput {
        let old = self.old.as_ref().map_or("", |file| &file.text);
        let verb = if self.old.is_some() {
            "Changed"
        } else {
            "Created"
        };
        let mut content = format!("{verb} `{}`.", self.path);
        match put {
            WrittenTo::OnDisk | WrittenTo::Saved | WrittenTo::Cancelled => {}
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
            content.push_str(&unified(&self.path, &self.new, text));
        }
        let mut output = ToolOutput::text(content);
        output.diff = Some(unified(&self.path, old, text));
        output
    }

    fn kept_as_it_was(&self, work: &CallWork) -> ToolOutcome {
        let path = &self.path;
        let why = match work.new_text {
            Some(_) => format!("The user kept `{path}` as it was."),
            None => format!("`{path}` has this text already; nothing was changed."),
        };
        ToolOutcome::Success(ToolOutput::text(why))
    }

    /// A person's own text is for the very file that was shown.
    fn is_what_was_shown(&self, host: &ToolContext, work: &CallWork) -> bool {
        let seen = host.seen();
        let base = self
            .old
            .as_ref()
            .filter(|_| self.follows && work.new_text.is_none());
        seen.is_as_prepared(work.call, &self.hash())
            || base.is_some_and(|file| seen.follows(work.call, &self.path, &file.hash))
    }

    fn hash(&self) -> String {
        let old = self.old.as_ref();
        let there = json!(old.is_some()).to_string();
        let old = old.map_or("", |file| &file.text);
        let mut parts = vec!["edit", &self.path, &there, old, &self.new];
        // What needs no asking when it is prepared is not written once it does.
        parts.extend(self.must_ask.as_deref());
        aside_base::digest::of_parts(&parts)
    }
}

/// A new text of an open document in its line breaks, the last one included: editors know one kind for a document,
/// and some no text without the last one. The text of a file stays as it is.
fn fitted(old: Option<&TextFile>, text: String) -> String {
    let Some(document) = old.filter(|file| file.buffer.is_some()) else {
        return text;
    };
    let old = &document.text;
    let (all, wide) = (old.matches('\n').count(), old.matches("\r\n").count());
    let narrow = |text: String| text.replace("\r\n", "\n");
    let (mut text, end) = match wide {
        _ if all == 0 => return text,
        0 => (narrow(text), "\n"),
        _ if wide == all => (narrow(text).replace('\n', "\r\n"), "\r\n"),
        _ => (text, "\n"),
    };
    if old.ends_with('\n') && !text.is_empty() && !text.ends_with('\n') {
        text.push_str(end);
    }
    text
}

/// Plans a change, or makes it, off the async threads.
pub(super) async fn in_turn<T: Send + 'static>(
    work: &CallWork,
    host: &Arc<ToolContext>,
    act: impl FnOnce(&CallWork, &ToolContext) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    super::off_thread(work, host, |work, host| {
        // One after another: each starts from the text that the one before left.
        let _turn = host.workspace.edit_turn();
        act(work, host)
    })
    .await
}

/// A refusal as a whole sentence.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn sentence(refusal: PathError) -> String {
    let text = refusal.to_string();
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|first| first.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// A unified diff, cut where it is very long.
fn unified(path: &str, old: &str, new: &str) -> String {
    let diff = similar::TextDiff::configure()
        .timeout(std::time::Duration::from_millis(500))
        .diff_lines(old, new);
    let (from, to) = (format!("a/{path}"), format!("b/{path}"));
    let mut text = diff
        .unified_diff()
        .context_radius(3)
        .header(&from, &to)
        .to_string();
    cut(&mut text, DIFF, "\n[the rest of the diff is left out]\n");
    text
}

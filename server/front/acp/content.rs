//! Content of a prompt: the user's text and its attachments.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource};
use aside_session::attach::{AttachError, AttachedFile, together};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::front::{
    error::{Result, invalid},
    uri::{file_path, lines_of},
};

/// A prompt whose files have not been read yet.
#[derive(Debug, Default)]
pub(super) struct PromptContent {
    pub(super) text: String,
    attached: Vec<Attached>,
}

/// An attachment of a prompt.
#[derive(Debug)]
enum Attached {
    Known(AttachedFile),
    Bytes(String, Vec<u8>),
    /// A linked file, which is read if possible. The text names it in any case.
    Linked(PathBuf, Option<(u32, u32)>),
}

impl PromptContent {
    /// Reads the blocks one by one. A block of an unknown kind is left out, and the text says so.
    ///
    /// # Errors
    /// Fails for a malformed block and for an empty prompt. The message does not repeat values.
    pub(super) fn read(blocks: Vec<Value>) -> Result<Self> {
        let mut content = Self::default();
        for (place, block) in blocks.into_iter().enumerate() {
            let kind = block
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if !["text", "image", "audio", "resource_link", "resource"].contains(&kind) {
                content.text += "[something of a kind that Aside does not know was left out here]";
                continue;
            }
            let block = serde_json::from_value(block)
                .map_err(|_| invalid(format!("prompt[{place}] is not what this method takes")))?;
            content.add(place, block)?;
        }
        if content.text.trim().is_empty() && content.attached.is_empty() {
            return Err(invalid("prompt: it says nothing"));
        }
        Ok(content)
    }

    /// The text and the attachments. Blocks on files.
    ///
    /// # Errors
    /// Fails if the attachments are too large.
    pub(super) fn attachments(self) -> Result<(String, Vec<AttachedFile>)> {
        let read = self.attached.into_iter().filter_map(Attached::read);
        let attached = together(read).map_err(|why| invalid(format!("prompt: {why}")))?;
        Ok((self.text, attached))
    }

    fn add(&mut self, place: usize, block: ContentBlock) -> Result<()> {
        match block {
            ContentBlock::Text(text) => self.text += &text.text,
            ContentBlock::ResourceLink(link) => {
                let (path, lines) = (file_path(&link.uri), lines_of(&link.uri));
                self.text += &named(&link.uri, path.as_deref());
                self.attached
                    .extend(path.map(|path| Attached::Linked(path, lines)));
            }
            ContentBlock::Image(image) => {
                let name = image.uri.as_deref().map_or_else(
                    || format!("image {}", place + 1),
                    |uri| named(uri, file_path(uri).as_deref()),
                );
                self.bytes(place, name, &image.data)?;
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(given) => {
                    let name = named(&given.uri, file_path(&given.uri).as_deref());
                    self.text += &name;
                    let file = AttachedFile::text(name, given.text);
                    self.attached.push(Attached::Known(file));
                }
                EmbeddedResourceResource::BlobResourceContents(given) => {
                    let name = named(&given.uri, file_path(&given.uri).as_deref());
                    self.text += &name;
                    self.bytes(place, name, &given.blob)?;
                }
                _ => return Err(invalid(format!("prompt[{place}]: it is no resource"))),
            },
            _ => {
                return Err(invalid(format!(
                    "prompt[{place}]: Aside takes text, images and resources, and no audio"
                )));
            }
        }
        Ok(())
    }

    fn bytes(&mut self, place: usize, name: String, data: &str) -> Result<()> {
        let bytes = STANDARD
            .decode(data)
            .map_err(|_| invalid(format!("prompt[{place}]: it is not base64")))?;
        self.attached.push(Attached::Bytes(name, bytes));
        Ok(())
    }
}

impl Attached {
    /// Reads an attachment. `None` for a file that cannot be attached, such as a folder; a tool may still read it.
    fn read(self) -> Option<Result<AttachedFile, AttachError>> {
        match self {
            Self::Known(file) => Some(Ok(file)),
            Self::Bytes(name, bytes) => Some(AttachedFile::read(&name, &*bytes)),
            Self::Linked(path, lines) => {
                let is_file = std::fs::metadata(&path).is_ok_and(|it| it.is_file());
                let read = || AttachedFile::read_file(&path.display().to_string(), &path).ok();
                let whole = is_file.then(read).flatten()?;
                let part = lines.map(|(from, to)| whole.clone().lines(from, to));
                // Lines that are not there are those of another state of the file.
                Some(Ok(part.and_then(Result::ok).unwrap_or(whole)))
            }
        }
    }
}

/// The words by which the text names an attachment.
fn named(uri: &str, path: Option<&Path>) -> String {
    match (path, lines_of(uri)) {
        (None, _) => uri.to_owned(),
        (Some(path), None) => path.display().to_string(),
        (Some(path), Some((from, to))) => format!("{}:{from}-{to}", path.display()),
    }
}

//! Renders attachments of a user's message for a model: text between tags that name the file, images and PDFs each
//! after such a tag.

use std::borrow::Cow;

use aside_turn::{
    attachment::{Attachment, Content, Media, MediaType, in_base64},
    rules::LeftOut,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::api::{Encoder, RequestContents};

/// A part of a user's message.
#[derive(Debug, PartialEq)]
pub(super) enum UserPart {
    /// Text; adjacent texts are joined.
    Text(String),
    /// An image, encoded for the request.
    Image(Encoded),
    /// A PDF, and a file name for it that ends in `.pdf`.
    Document(Encoded, String),
}

/// An image or PDF.
#[derive(Debug, PartialEq)]
pub(super) struct Encoded {
    /// The MIME type.
    pub(super) mime: &'static str,
    /// The content in base64.
    pub(super) data: String,
}

impl Encoded {
    /// Writes a `data:` URL as a JSON string. It needs no escaping.
    pub(super) fn write_url(&self, out: &mut Encoder) {
        for text in ["\"data:", self.mime, ";base64,", &self.data, "\""] {
            out.raw(text);
        }
    }
}

/// Splits a user's message into parts: attachments first, then the text. Without an image or PDF the result is one
/// text, which may be empty.
pub(super) fn parts(
    text: &str,
    attachments: &[Attachment],
    ask: &RequestContents<'_>,
) -> Vec<UserPart> {
    let (mut parts, mut words) = (Vec::new(), String::new());
    for Attachment { name, content } in attachments {
        let tag = format!("<attachment name=\"{}\"", name.replace('"', "&quot;"));
        let media = match content {
            Content::Text(text) => {
                words += &holding(&tag, text);
                continue;
            }
            Content::Media(media) => media,
        };
        let mime = media.media_type.mime().replace('"', "&quot;");
        let tag = format!("{tag} type=\"{mime}\"");
        match encoded(media, name, ask) {
            Ok(part) => {
                words += &format!("{tag}/>\n");
                parts.push(UserPart::Text(std::mem::take(&mut words)));
                parts.push(part);
            }
            Err(why) => words += &holding(&tag, why),
        }
    }
    words += text;
    if parts.is_empty() || !words.is_empty() {
        parts.push(UserPart::Text(words));
    }
    parts
}

/// The result of a call as a model reads it: its text, and its images and documents, each after a text that names it.
/// What the model does not take is named in the text.
pub(super) fn result_parts<'a>(
    content: &'a str,
    media: &[Attachment],
    ask: &RequestContents<'_>,
) -> (Cow<'a, str>, Vec<UserPart>) {
    if media.is_empty() {
        return (content.into(), Vec::new());
    }
    let mut parts = parts("", media, ask);
    let words = match parts.last() {
        Some(UserPart::Text(_)) => parts.pop(),
        _ => None,
    };
    let text = match words {
        Some(UserPart::Text(words)) => format!("{content}\n{words}").into(),
        _ => content.into(),
    };
    (text, parts)
}

fn holding(tag: &str, text: &str) -> String {
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    format!("{tag}>\n{text}{newline}</attachment>\n")
}

/// Encodes an image or PDF, or returns a note for the model if that is not possible.
fn encoded(media: &Media, name: &str, ask: &RequestContents<'_>) -> Result<UserPart, &'static str> {
    let abilities = &ask.options.abilities;
    let mime = match &media.media_type {
        MediaType::Png => "image/png",
        MediaType::Jpeg => "image/jpeg",
        MediaType::Gif => "image/gif",
        MediaType::Webp => "image/webp",
        MediaType::Pdf => "application/pdf",
        MediaType::Other(_) => return Err("[not shown: files of this type are not supported]"),
    };
    let (images, documents) = (abilities.images, abilities.documents);
    if !media.media_type.is_taken_by(images, documents) {
        return Err(match media.media_type {
            MediaType::Pdf => "[not shown: this model does not accept PDF documents]",
            _ => "[not shown: this model does not accept images]",
        });
    }
    if ask.leaves_out(&LeftOut::Media(media.blob.clone())) {
        return Err("[left out: the provider refused it]");
    }
    let most = abilities
        .image_bytes
        .filter(|_| media.media_type.is_image());
    if most.is_some_and(|most| in_base64(media.size) > most) {
        return Err("[left out: the image is too large for this model]");
    }
    let bytes = ask.media.read(media);
    let data = BASE64_STANDARD.encode(bytes.ok_or("[not shown: the content is lost]")?);
    let encoded = Encoded { mime, data };
    Ok(match media.media_type {
        MediaType::Pdf => UserPart::Document(encoded, file_name(name)),
        _ => UserPart::Image(encoded),
    })
}

/// The last part of a path, with `.pdf` appended if missing: some servers need the extension.
fn file_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    if name.to_ascii_lowercase().ends_with(".pdf") {
        return name.to_owned();
    }
    format!("{name}.pdf")
}

#[cfg(test)]
mod tests;

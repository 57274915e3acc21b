//! What is attached to a user's message, as a model is told it: text between tags that name it, images and PDFs as
//! such, each behind a tag that names it.

use aside_turn::attachment::{Attachment, Content, Media, MediaType};
use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::api::{Encoder, RequestContents};

/// A part of a user's message.
#[derive(Debug, PartialEq)]
pub(super) enum UserPart {
    /// Words; those of neighbours are one.
    Text(String),
    /// An image, encoded for the request.
    Image(Encoded),
    /// A PDF, and a name for it that ends in `.pdf`.
    Document(Encoded, String),
}

/// An image or PDF.
#[derive(Debug, PartialEq)]
pub(super) struct Encoded {
    /// Its MIME name.
    pub(super) mime: &'static str,
    /// Its bytes in base64.
    pub(super) data: String,
}

impl Encoded {
    /// Writes a `data:` URL, a JSON string. Nothing of it has to be escaped.
    pub(super) fn write_url(&self, out: &mut Encoder) {
        for text in ["\"data:", self.mime, ";base64,", &self.data, "\""] {
            out.raw(text);
        }
    }
}

/// A message of the user's: what is attached, then the words. Without an image or PDF that is sent it is one text,
/// which may be empty.
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

fn holding(tag: &str, text: &str) -> String {
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    format!("{tag}>\n{text}{newline}</attachment>\n")
}

/// An image or PDF for a model that takes it, or what it is told instead.
fn encoded(media: &Media, name: &str, ask: &RequestContents<'_>) -> Result<UserPart, &'static str> {
    let abilities = &ask.options.abilities;
    let mime = match &media.media_type {
        MediaType::Png => "image/png",
        MediaType::Jpeg => "image/jpeg",
        MediaType::Gif => "image/gif",
        MediaType::Webp => "image/webp",
        MediaType::Pdf => "application/pdf",
        MediaType::Other(_) => return Err("[not shown: files of this type are not known here]"),
    };
    let (images, documents) = (abilities.images, abilities.documents);
    if !media.media_type.is_taken_by(images, documents) {
        return Err(match media.media_type {
            MediaType::Pdf => "[not shown: you take no PDF]",
            _ => "[not shown: you take no images]",
        });
    }
    let bytes = ask.media.read(media);
    let data = BASE64_STANDARD.encode(bytes.ok_or("[not shown: its content was lost]")?);
    let encoded = Encoded { mime, data };
    Ok(match media.media_type {
        MediaType::Pdf => UserPart::Document(encoded, file_name(name)),
        _ => UserPart::Image(encoded),
    })
}

/// The last part of a path, as the name of a PDF: some servers go by it.
fn file_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    if name.to_ascii_lowercase().ends_with(".pdf") {
        return name.to_owned();
    }
    format!("{name}.pdf")
}

#[cfg(test)]
mod tests;

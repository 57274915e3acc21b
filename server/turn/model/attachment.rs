//! Attachments of a user's message: text, or an image or PDF, whose bytes are stored beside the log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rules::Model;

/// Maximum size of an image in bytes: 10 MB in base64, the limit of the strictest provider.
const IMAGE: u64 = 7_500_000;
/// Maximum size of a PDF in bytes.
const DOCUMENT: u64 = 16 * 1024 * 1024;

/// An attachment of a user's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// A path, or `stdin`.
    pub name: String,
    /// The attached content.
    #[serde(flatten)]
    pub content: Content,
}

/// Content of an attachment. Content of a kind that this version does not know is read as an empty text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "ContentFields")]
pub enum Content {
    /// Text, whole and in UTF-8.
    Text(String),
    /// An image or a PDF.
    Media(Media),
}

/// Fields of a recorded attachment, of which one is there.
#[derive(Deserialize)]
struct ContentFields {
    #[serde(default)]
    text: String,
    media: Option<Media>,
}

impl From<ContentFields> for Content {
    fn from(ContentFields { text, media }: ContentFields) -> Self {
        media.map_or(Self::Text(text), Self::Media)
    }
}

/// An image or a PDF, whose bytes are a blob of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Type of the image or document.
    pub media_type: MediaType,
    /// The blob's name: the SHA-256 of the bytes, in hex.
    pub blob: String,
    /// Size in bytes.
    pub size: u64,
}

/// Type of an image or document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MediaType {
    /// A PNG image.
    Png,
    /// A JPEG image.
    Jpeg,
    /// A GIF image.
    Gif,
    /// A WebP image.
    Webp,
    /// A PDF document.
    Pdf,
    /// The MIME type of a kind that this version does not know, kept as it is.
    Other(String),
}

impl Attachment {
    /// Creates a text attachment.
    #[must_use]
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            content: Content::Text(text.into()),
        }
    }

    /// Bytes of the text; 0 for an image or PDF.
    #[must_use]
    pub fn text_len(&self) -> usize {
        match &self.content {
            Content::Text(text) => text.len(),
            Content::Media(_) => 0,
        }
    }

    /// The image or PDF; `None` for a text.
    #[must_use]
    pub fn media(&self) -> Option<&Media> {
        match &self.content {
            Content::Text(_) => None,
            Content::Media(media) => Some(media),
        }
    }
}

impl From<String> for MediaType {
    fn from(name: String) -> Self {
        Self::of_mime(&name)
    }
}

impl From<MediaType> for String {
    fn from(media_type: MediaType) -> Self {
        media_type.mime().to_owned()
    }
}

impl fmt::Display for Media {
    /// Formats type and size: `image/png, 12 KiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.media_type.mime(), size(self.size))
    }
}

impl MediaType {
    /// Detects the type by the first bytes; 16 are enough. File names are ignored. `None` if they are neither a known
    /// image nor a PDF.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Option<Self> {
        let is = |bytes: &[u8]| beginning.starts_with(bytes);
        if is(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if is(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if is(b"GIF87a") || is(b"GIF89a") {
            Some(Self::Gif)
        } else if is(b"RIFF") && beginning.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else if is(b"%PDF-") {
            Some(Self::Pdf)
        } else {
            None
        }
    }

    /// The type with this MIME name.
    #[must_use]
    pub fn of_mime(name: &str) -> Self {
        let known = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp, Self::Pdf];
        let found = known.into_iter().find(|one| one.mime() == name);
        found.unwrap_or_else(|| Self::Other(name.to_owned()))
    }

    /// The MIME name of the type.
    #[must_use]
    pub fn mime(&self) -> &str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
            Self::Other(name) => name,
        }
    }

    /// Whether this is an image of a known kind.
    #[must_use]
    pub fn is_image(&self) -> bool {
        !matches!(self, Self::Pdf | Self::Other(_))
    }

    /// Maximum size in bytes for this type.
    #[must_use]
    pub fn most(&self) -> u64 {
        if self.is_image() { IMAGE } else { DOCUMENT }
    }

    /// `an image` or `a PDF`.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Pdf => "a PDF",
            Self::Other(_) => "a file of an unknown type",
            _ => "an image",
        }
    }

    /// Whether a model that accepts images or documents accepts this type.
    #[must_use]
    pub fn is_taken_by(&self, images: bool, documents: bool) -> bool {
        match self {
            Self::Pdf => documents,
            Self::Other(_) => false,
            _ => images,
        }
    }
}

/// Size in base64 of so many bytes.
#[must_use]
pub fn in_base64(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// The message to the user if an image is larger than the model accepts.
#[must_use]
pub fn too_large(name: &str, media_type: &MediaType, bytes: u64, model: &Model) -> Option<String> {
    let most = model.image_bytes.filter(|_| model.images)?;
    (media_type.is_image() && in_base64(bytes) > most).then(|| {
        format!(
            "{name} is an image of {}, and {} takes none of more than {}; attach a smaller one",
            size(bytes),
            model.id,
            size(most / 4 * 3)
        )
    })
}

/// The message to the user if the model does not accept all attachments.
#[must_use]
pub fn not_taken(attachments: &[Attachment], model: &Model) -> Option<String> {
    let untaken = attachments.iter().filter_map(|attachment| {
        let media = attachment.media()?;
        let taken = media.media_type.is_taken_by(model.images, model.documents);
        (!taken).then_some((attachment.name.as_str(), &media.media_type))
    });
    let (names, types): (Vec<&str>, Vec<&MediaType>) = untaken.unzip();
    let images = types.iter().any(|one| one.is_image());
    let (kinds, instead) = match (images, types.iter().all(|one| one.is_image())) {
        (false, true) => return None,
        (true, true) => ("images", IMAGES_ARE_TAKEN),
        (true, false) => ("images and no PDF", IMAGES_ARE_TAKEN),
        (false, false) => ("PDF", ", or attach the text"),
    };
    Some(format!(
        "As far as is known, {} takes no {kinds}, so it is told the name alone of {}; choose a model that does{instead}.",
        model.id,
        names.join(", ")
    ))
}

/// Advice for a model that accepts images although its data says otherwise.
const IMAGES_ARE_TAKEN: &str = "; if this one does, ask its provider with `aside model list`, or set `images = true` \
                                among the `models` of its provider in your aside.toml";

/// Formats a number of bytes for people: `70 bytes`, `12 KiB`, `2.3 MiB`. Rounded up.
#[must_use]
pub fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    match bytes {
        1 => "1 byte".into(),
        0..KIB => format!("{bytes} bytes"),
        KIB..MIB => format!("{} KiB", bytes.div_ceil(KIB)),
        _ => {
            let tenths = bytes.saturating_mul(10).div_ceil(MIB);
            format!("{}.{} MiB", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bytes_are_follows_from_how_they_begin() {
        for (beginning, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some("image/jpeg")),
            (b"GIF87a\x01\0", Some("image/gif")),
            (b"GIF89a\x01\0", Some("image/gif")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"RIFF", None),
            (b"%PDF-1.4\n%", Some("application/pdf")),
            (b"PDF-1.4", None),
            (b"\x89PNG\n", None),
            (b"fn main() {}", None),
            (b"", None),
        ] {
            let found = MediaType::of(beginning);
            let mime = found.as_ref().map(MediaType::mime);
            assert_eq!(mime, expected, "{beginning:?}");
            if let Some(found) = &found {
                assert_eq!(MediaType::of_mime(found.mime()), *found);
            }
        }
        let other = MediaType::of_mime("image/avif");
        assert_eq!(other, MediaType::Other("image/avif".into()));
        assert_eq!(other.mime(), "image/avif");
    }

    #[test]
    fn kinds_differ_in_size_words_and_who_takes_them() {
        for (mime, most, words, by_images, by_documents) in [
            ("image/png", 7_500_000, "an image", true, false),
            ("image/webp", 7_500_000, "an image", true, false),
            ("application/pdf", 16_777_216, "a PDF", false, true),
            (
                "image/avif",
                16_777_216,
                "a file of an unknown type",
                false,
                false,
            ),
        ] {
            let kind = MediaType::of_mime(mime);
            assert_eq!((kind.most(), kind.noun()), (most, words), "{mime}");
            assert_eq!(kind.is_taken_by(true, false), by_images, "{mime}");
            assert_eq!(kind.is_taken_by(false, true), by_documents, "{mime}");
            assert!(!kind.is_taken_by(false, false), "{mime}");
        }
        let media = Media {
            media_type: MediaType::Png,
            blob: "abc".into(),
            size: 12_000,
        };
        assert_eq!(media.to_string(), "image/png, 12 KiB");
    }

    #[test]
    fn sizes_are_put_in_words() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1_023, "1023 bytes"),
            (1_024, "1 KiB"),
            (1_025, "2 KiB"),
            (12_000, "12 KiB"),
            (1_048_576, "1.0 MiB"),
            (1_048_577, "1.1 MiB"),
            (2_400_000, "2.3 MiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn what_a_model_does_not_take_is_named_once() {
        let given = |name: &str| {
            let extension = name.split_once('.').unwrap_or_default().1;
            let media_type = match extension {
                "txt" => return Attachment::text(name, "Text."),
                "pdf" => MediaType::Pdf,
                _ => MediaType::of_mime(&format!("image/{extension}")),
            };
            let content = Content::Media(Media {
                media_type,
                blob: String::new(),
                size: 1,
            });
            Attachment {
                name: name.to_owned(),
                content,
            }
        };
        let notice = |names: &[&str], images, documents| {
            let attachments: Vec<Attachment> = names.iter().map(|name| given(name)).collect();
            let model = Model {
                id: "local/small".into(),
                images,
                documents,
                ..Model::default()
            };
            not_taken(&attachments, &model).unwrap_or_default()
        };
        let all = ["a.txt", "b.png", "c.pdf", "d.gif"];
        assert_eq!(notice(&all, true, true), "");
        assert_eq!(notice(&["a.txt"], false, false), "");
        let begin = "As far as is known, local/small takes no";
        let better = "choose a model that does; if this one does, ask its provider with `aside model list`, or set \
                      `images = true` among the `models` of its provider in your aside.toml.";
        assert_eq!(
            notice(&all, false, true),
            format!("{begin} images, so it is told the name alone of b.png, d.gif; {better}")
        );
        assert_eq!(
            notice(&all, false, false),
            format!(
                "{begin} images and no PDF, so it is told the name alone of b.png, c.pdf, d.gif; {better}"
            )
        );
        assert_eq!(
            notice(&all, true, false),
            format!(
                "{begin} PDF, so it is told the name alone of c.pdf; choose a model that does, or attach the text."
            )
        );
    }
}

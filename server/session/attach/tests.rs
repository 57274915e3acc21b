use std::{fs, path::PathBuf};

use super::*;

const PNG: &[u8] = include_bytes!("../../../tests/media/red.png");
const PDF: &[u8] = include_bytes!("../../../tests/media/page.pdf");

/// A file with this name and content, and its folder.
fn file(name: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// What reading comes to: the type or text, or what is wrong.
fn told(given: Result<AttachedFile, AttachError>) -> String {
    match given {
        Err(error) => error.to_string(),
        Ok(given) => match given.content {
            AttachedContent::Text(text) => format!("text {text}"),
            AttachedContent::Media(media, bytes) => format!("{} {}", media.mime(), bytes.len()),
        },
    }
}

#[test]
fn what_it_holds_counts_and_not_what_it_is_called() {
    let neither =
        "x is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image nor a PDF; convert it first";
    for (name, content, expected) in [
        ("red.png", PNG, "image/png 69"),
        ("red.txt", PNG, "image/png 69"),
        ("page", PDF, "application/pdf 327"),
        ("notes.png", b"Just text.", "text Just text."),
        ("empty.pdf", b"", "text "),
        ("gr\u{fc}n.txt", "gr\u{fc}n".as_bytes(), "text gr\u{fc}n"),
        ("old.txt", b"gr\xfcn", neither),
        (
            "program",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\xff",
            neither,
        ),
    ] {
        let (_folder, path) = file(name, content);
        assert_eq!(
            told(AttachedFile::read_file("x", &path)),
            expected,
            "{name}"
        );
        // Nobody can convert what comes from a pipe.
        let piped = match name {
            "old.txt" => "text gr\u{fffd}n",
            _ => expected,
        };
        assert_eq!(told(AttachedFile::read("x", content)), piped, "{name}");
    }
    let (folder, _) = file("a", b"");
    assert!(
        told(AttachedFile::read_file("x", folder.path())).starts_with("x cannot be attached: ")
    );
    let missing = folder.path().join("b");
    assert!(told(AttachedFile::read_file("x", &missing)).starts_with("x cannot be attached: "));
}

/// Gives a beginning and then zeros, and fails where more is read than may be.
struct EndlessReader {
    beginning: &'static [u8],
    left: u64,
}

impl Read for EndlessReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("read too far"));
        }
        let length = out.len().min(self.left as usize);
        out[..length].fill(0);
        let begun = self.beginning.len().min(length);
        out[..begun].copy_from_slice(&self.beginning[..begun]);
        self.beginning = &self.beginning[begun..];
        self.left -= length as u64;
        Ok(length)
    }
}

#[test]
fn no_more_is_read_than_may_be_attached() {
    let image = "x is an image of more than 7500000 bytes, and larger ones are not sent; attach a smaller one";
    let pdf =
        "x is a PDF of more than 16777216 bytes, and larger ones are not sent; attach fewer pages";
    let text = "x is a file of more than 16777216 bytes, and larger ones are not sent; attach a part of it";
    for (beginning, most, expected) in [
        (&b"\x89PNG\r\n\x1a\n"[..], 7_500_000, image),
        (b"%PDF-1.7\n", 16 << 20, pdf),
        (b"Words", 16 << 20, text),
    ] {
        let left = most + 1;
        assert_eq!(
            told(AttachedFile::read("x", EndlessReader { beginning, left })),
            expected
        );
        let whole = EndlessReader {
            beginning,
            left: most,
        };
        let given = AttachedFile::read("x", whole.take(most)).unwrap();
        assert_eq!(given.size(), most, "just as much is taken");

        // Of a file the length tells it before it is read.
        let (_folder, path) = file("x", beginning);
        let long = File::options().write(true).open(&path).unwrap();
        long.set_len(most + 1).unwrap();
        assert_eq!(told(AttachedFile::read_file("x", &path)), expected);
    }
}

#[test]
fn all_of_a_message_has_a_bound() {
    let part = || Ok(AttachedFile::text("part", "x".repeat(16 << 20)));
    assert_eq!(together((0..4).map(|_| part())).unwrap().len(), 4);
    let mut read = 0;
    let many = (0..9).map(|_| {
        read += 1;
        part()
    });
    let error = together(many).unwrap_err().to_string();
    assert_eq!(
        error,
        "part makes the attachments more than 64 MiB together; attach fewer"
    );
    assert_eq!(read, 5, "what comes after it is not read");
}

#[test]
fn only_text_has_parts() {
    let half = |text: &str| text[..text.len() / 2].to_owned();
    assert_eq!(told(AttachedFile::text("x", "abcd").part(half)), "text ab");
    for (content, expected) in [
        (
            PNG,
            "x is an image, which has no lines to choose from; attach it without a range",
        ),
        (
            PDF,
            "x is a PDF, which has no lines to choose from; attach it without a range",
        ),
    ] {
        assert_eq!(
            told(AttachedFile::read("x", content).and_then(|it| it.part(half))),
            expected
        );
    }
}

#[test]
fn bytes_are_kept_beside_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::of(folder.path());
    let kept = AttachedFile::read("red.png", PNG)
        .unwrap()
        .keep(&blobs)
        .unwrap();
    let media = kept.media().unwrap();
    assert_eq!((&media.media_type, media.size), (&MediaType::Png, 69));
    assert_eq!(blobs.read_whole(&media.blob, media.size).unwrap(), PNG);
    let text = AttachedFile::text("a.txt", "A").keep(&blobs).unwrap();
    assert_eq!(text, Attachment::text("a.txt", "A"));
}

#[test]
fn a_link_to_a_secret_is_not_attached_and_the_secret_itself_is() {
    let (folder, secret) = file(".env", b"TOKEN=canary");
    let link = folder.path().join("notes.md");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let told_of = |path: &Path| told(AttachedFile::read_file("x", path));
    assert!(told_of(&link).contains("which may hold secrets"));
    assert_eq!(told_of(&secret), "text TOKEN=canary");
}

//! Images and documents that stand in a request: their base64, and whether it is of the type that it is said to be.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{CheckFindings, shape::shape, text};

/// The images that every API takes.
pub(super) const IMAGES: &str = "image/png image/jpeg image/gif image/webp";
/// The only media type of documents.
pub(super) const DOCUMENTS: &str = "application/pdf";

/// How the bytes of a type begin.
const BEGINNINGS: [(&str, &[u8]); 5] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
    ("application/pdf", b"%PDF-"),
];

/// Data of one of these types.
pub(super) fn data(found: &mut CheckFindings, place: &str, mime: &str, data: &str, types: &str) {
    if !types.split(' ').any(|one| one == mime) {
        found.say(place, format_args!("the type `{mime}` is not taken here"));
        return;
    }
    let Some(bytes) = bytes(found, place, data) else {
        return;
    };
    let begins = |(name, begin): &(&str, &[u8])| *name == mime && bytes.starts_with(begin);
    if !BEGINNINGS.iter().any(begins) {
        found.say(place, format_args!("the data is no {mime}"));
    }
}

/// Base64 alone, of any image.
pub(super) fn image(found: &mut CheckFindings, place: &str, data: &Value) {
    let Some(data) = data.as_str().filter(|data| !data.starts_with("data:")) else {
        return found.say(place, "an image is plain base64");
    };
    let Some(bytes) = bytes(found, place, data) else {
        return;
    };
    let images = BEGINNINGS.iter().filter(|(name, _)| *name != DOCUMENTS);
    if !images
        .into_iter()
        .any(|(_, begin)| bytes.starts_with(begin))
    {
        found.say(place, "the data is no image");
    }
}

/// A `data:` URL of one of these types.
pub(super) fn data_url(found: &mut CheckFindings, place: &str, url: &str, types: &str) {
    let split = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    match split {
        Some((mime, base64)) => data(found, place, mime, base64, types),
        None => found.say(place, "this is no `data:` URL in base64"),
    }
}

fn bytes(found: &mut CheckFindings, place: &str, data: &str) -> Option<Vec<u8>> {
    match STANDARD.decode(data) {
        Ok(bytes) if bytes.is_empty() => found.say(place, "the data is empty"),
        Ok(bytes) => return Some(bytes),
        Err(_) => found.say(place, "the data is not valid base64"),
    }
    None
}

/// The `source` of a block of Anthropic's.
pub(super) fn source(found: &mut CheckFindings, place: &str, block: &Value) {
    let (kind, source) = (text(block, "type"), &block["source"]);
    let place = format!("{place}/source");
    match (kind, text(source, "type")) {
        (_, "base64") => {
            shape(
                found,
                &place,
                source,
                "type media_type:string data:string",
                "",
            );
            let types = if kind == "image" { IMAGES } else { DOCUMENTS };
            data(
                found,
                &place,
                text(source, "media_type"),
                text(source, "data"),
                types,
            );
        }
        (_, "url") => shape(found, &place, source, "type url:string", ""),
        (_, "file") => shape(found, &place, source, "type file_id:string", ""),
        ("document", "text") => {
            shape(
                found,
                &place,
                source,
                "type media_type=text/plain data:string",
                "",
            );
        }
        ("document", "content") => {
            shape(found, &place, source, "type content:string/array", "");
        }
        (_, other) => found.say(
            &place,
            format_args!("a source of type `{other}` is not known"),
        ),
    }
}

/// A part of Responses.
pub(super) fn input_part(found: &mut CheckFindings, place: &str, part: &Value) {
    match text(part, "type") {
        "input_image" => {
            let may = "image_url:string/null file_id:string/null prompt_cache_breakpoint:object";
            shape(
                found,
                place,
                part,
                "type detail=low,high,auto,original",
                may,
            );
            one_of(found, place, part, &["image_url", "file_id"]);
            url_or_data(found, place, text(part, "image_url"), IMAGES);
        }
        "input_file" => {
            let may = "filename:string file_data:string file_url:string file_id:string/null \
                prompt_cache_breakpoint:object";
            shape(found, place, part, "type", may);
            one_of(found, place, part, &["file_data", "file_url", "file_id"]);
            file(found, place, part);
        }
        _ => {}
    }
}

/// A part of Chat Completions.
pub(super) fn chat_part(found: &mut CheckFindings, place: &str, part: &Value) {
    match text(part, "type") {
        "image_url" => {
            let may = "cache_control:object prompt_cache_breakpoint:object";
            shape(found, place, part, "type image_url:object", may);
            let place = format!("{place}/image_url");
            let image = &part["image_url"];
            shape(found, &place, image, "url:string", "detail=low,high,auto");
            url_or_data(found, &place, text(image, "url"), IMAGES);
        }
        "file" => {
            let may = "cache_control:object prompt_cache_breakpoint:object";
            shape(found, place, part, "type file:object", may);
            let place = format!("{place}/file");
            let inner = &part["file"];
            shape(
                found,
                &place,
                inner,
                "",
                "filename:string file_data:string file_id:string",
            );
            one_of(found, &place, inner, &["file_data", "file_id"]);
            file(found, &place, inner);
        }
        _ => {}
    }
}

/// A part of Gemini's.
pub(super) fn inline(found: &mut CheckFindings, place: &str, inline: &Value) {
    shape(found, place, inline, "mimeType:string data:string", "");
    let types = format!("{IMAGES} {DOCUMENTS}");
    data(
        found,
        place,
        text(inline, "mimeType"),
        text(inline, "data"),
        &types,
    );
}

fn file(found: &mut CheckFindings, place: &str, file: &Value) {
    let Some(data) = file["file_data"].as_str() else {
        return;
    };
    data_url(found, place, data, DOCUMENTS);
    if !text(file, "filename").ends_with(".pdf") {
        found.say(place, "`filename` must name a PDF");
    }
}

fn url_or_data(found: &mut CheckFindings, place: &str, url: &str, types: &str) {
    if !url.is_empty() && !url.starts_with("https://") {
        data_url(found, place, url, types);
    }
}

fn one_of(found: &mut CheckFindings, place: &str, part: &Value, names: &[&str]) {
    let given = names.iter().filter(|name| part[**name].is_string()).count();
    if given != 1 {
        let names = names.join("`, `");
        found.say(place, format_args!("one of `{names}` must be given"));
    }
}

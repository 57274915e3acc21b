use aside_base::digest;
use aside_turn::Event;
use serde_json::{Value, json};

use super::super::{
    SharedBody,
    abilities::Abilities,
    anthropic::Anthropic,
    api::WireApi,
    google::Google,
    media::ReadMedia,
    ollama::Ollama,
    openai_chat::OpenaiChat,
    openai_responses::OpenaiResponses,
    trial::{ProviderTrial, options},
};
use super::*;

/// A PNG of one red pixel, and a PDF of one empty page.
const PNG: &[u8] = include_bytes!("../../../tests/media/red.png");
const PDF: &[u8] = include_bytes!("../../../tests/media/page.pdf");

fn attached(name: &str, media_type: MediaType, bytes: &[u8]) -> Attachment {
    let content = Content::Media(Media {
        media_type,
        blob: digest::sha256(bytes),
        size: bytes.len() as u64,
    });
    Attachment {
        name: name.into(),
        content,
    }
}

fn png() -> Attachment {
    attached("shots/red.png", MediaType::Png, PNG)
}

fn pdf() -> Attachment {
    attached("/docs/page.pdf", MediaType::Pdf, PDF)
}

fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn reader() -> ReadMedia {
    ReadMedia::new(|media| {
        let known = [PNG, PDF].into_iter();
        let mut found = known.filter(|bytes| digest::sha256(bytes) == media.blob);
        found.next().map(<[u8]>::to_vec)
    })
}

fn trial(images: bool, documents: bool) -> ProviderTrial {
    let abilities = Abilities {
        images,
        documents,
        ..Abilities::default()
    };
    let mut trial = ProviderTrial::new(options("test/model", abilities), "", Vec::new());
    trial.shared = SharedBody::with_media("conv-5f1c", reader());
    trial
}

fn say(trial: &mut ProviderTrial, text: &str, attachments: Vec<Attachment>) {
    trial.transcript.push(&Event::UserMessage {
        text: text.into(),
        attachments,
    });
    trial.request();
}

fn chat() -> OpenaiChat {
    OpenaiChat::new(&"http://127.0.0.1:9/v1".parse().unwrap())
}

/// Every API, with the pointer to its messages.
fn apis() -> [(Box<dyn WireApi>, &'static str); 5] {
    [
        (Box::new(Anthropic), "messages"),
        (Box::new(OpenaiResponses), "input"),
        (Box::new(chat()), "messages"),
        (Box::new(Google), "contents"),
        (Box::new(Ollama), "messages"),
    ]
}

/// The messages of a request without cache breakpoints.
fn messages(trial: &ProviderTrial, api: &dyn WireApi, member: &str) -> Value {
    fn without_marks(value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(without_marks),
            Value::Object(all) => {
                all.shift_remove("cache_control");
                all.values_mut().for_each(without_marks);
            }
            _ => {}
        }
    }
    let mut messages = trial.body(api)[member].take();
    without_marks(&mut messages);
    messages
}

#[test]
fn images_and_documents_are_encoded_for_each_api() {
    let (image, document) = (base64(PNG), base64(PDF));
    let image_url = format!("data:image/png;base64,{image}");
    let document_url = format!("data:application/pdf;base64,{document}");
    let first = "<attachment name=\"a.txt\">\nA\n</attachment>\n\
                 <attachment name=\"shots/red.png\" type=\"image/png\"/>\n";
    let second = "<attachment name=\"/docs/page.pdf\" type=\"application/pdf\"/>\n";
    let expected = [
        json!([{"role": "user", "content": [
            {"type": "text", "text": first},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}},
            {"type": "text", "text": second},
            {"type": "document",
             "source": {"type": "base64", "media_type": "application/pdf", "data": document}},
            {"type": "text", "text": "Why?"},
        ]}]),
        json!([{"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": first},
            {"type": "input_image", "detail": "auto", "image_url": image_url},
            {"type": "input_text", "text": second},
            {"type": "input_file", "filename": "page.pdf", "file_data": document_url},
            {"type": "input_text", "text": "Why?"},
        ]}]),
        json!([{"role": "user", "content": [
            {"type": "text", "text": first},
            {"type": "image_url", "image_url": {"url": image_url}},
            {"type": "text", "text": second},
            {"type": "file", "file": {"filename": "page.pdf", "file_data": document_url}},
            {"type": "text", "text": "Why?"},
        ]}]),
        json!([{"role": "user", "parts": [
            {"text": first},
            {"inlineData": {"mimeType": "image/png", "data": image}},
            {"text": second},
            {"inlineData": {"mimeType": "application/pdf", "data": document}},
            {"text": "Why?"},
        ]}]),
    ];
    for ((api, member), expected) in apis().into_iter().zip(expected) {
        let mut trial = trial(true, true);
        let given = vec![Attachment::text("a.txt", "A\n"), png(), pdf()];
        say(&mut trial, "Why?", given);
        assert_eq!(messages(&trial, api.as_ref(), member), expected);
    }
    // All images of a message share one text.
    let mut trial = trial(true, false);
    say(&mut trial, "Why?", vec![png(), pdf(), png()]);
    let tag = "<attachment name=\"shots/red.png\" type=\"image/png\"/>\n";
    let no_pdf = "<attachment name=\"/docs/page.pdf\" type=\"application/pdf\">\n\
                  [not shown: this model does not accept PDF documents]\n</attachment>\n";
    let expected = json!([{
        "role": "user", "content": format!("{tag}{no_pdf}{tag}Why?"), "images": [image, image],
    }]);
    assert_eq!(messages(&trial, &Ollama, "messages"), expected);
}

#[test]
fn unsent_attachments_are_named_in_the_text() {
    let lost = attached("gone.gif", MediaType::Gif, b"GIF89a");
    let unknown = attached("new.avif", MediaType::of_mime("image/avif"), PNG);
    let name = |name: &str, mime: &str, why: &str| {
        format!("<attachment name=\"{name}\" type=\"{mime}\">\n[not shown: {why}]\n</attachment>\n")
    };
    let table = [
        (
            false,
            false,
            png(),
            name(
                "shots/red.png",
                "image/png",
                "this model does not accept images",
            ),
        ),
        (
            true,
            false,
            pdf(),
            name(
                "/docs/page.pdf",
                "application/pdf",
                "this model does not accept PDF documents",
            ),
        ),
        (
            true,
            true,
            lost,
            name("gone.gif", "image/gif", "the content is lost"),
        ),
        (
            true,
            true,
            unknown,
            name(
                "new.avif",
                "image/avif",
                "files of this type are not supported",
            ),
        ),
    ];
    for (images, documents, attachment, named) in table {
        for (api, member) in apis() {
            let (mut told, mut plain) = (trial(images, documents), trial(images, documents));
            say(&mut told, "Why?", vec![attachment.clone()]);
            say(&mut plain, &format!("{named}Why?"), Vec::new());
            assert_eq!(
                told.bytes(api.as_ref()),
                plain.bytes(api.as_ref()),
                "{member} {named}"
            );
        }
    }
}

#[test]
fn encoding_is_deterministic_and_appends() {
    for (api, member) in apis() {
        let sent = |trial: &ProviderTrial| -> Vec<String> {
            let messages = messages(trial, api.as_ref(), member);
            let messages = messages.as_array().unwrap().iter();
            messages.map(Value::to_string).collect()
        };
        let mut first = trial(true, true);
        say(&mut first, "One.", vec![png()]);
        let before = sent(&first);
        say(&mut first, "Two.", vec![png(), pdf()]);
        let after = sent(&first);
        assert_eq!(after[..before.len()], before);
        assert!(after.len() > before.len());
        // As after a restart: everything is read and encoded again.
        let mut again = trial(true, true);
        say(&mut again, "One.", vec![png()]);
        say(&mut again, "Two.", vec![png(), pdf()]);
        assert_eq!(sent(&again), after);
    }
}

#[test]
fn messages_with_only_an_image_are_encoded() {
    for (api, member) in apis() {
        let mut trial = trial(true, true);
        say(&mut trial, "", vec![png()]);
        let sent = messages(&trial, api.as_ref(), member);
        assert_eq!(sent.as_array().map(Vec::len), Some(1), "{sent}");
        assert!(sent.to_string().contains(&base64(PNG)), "{sent}");
        assert!(!sent.to_string().contains(r#""text":"""#), "{sent}");
    }
}

#[test]
fn adjacent_user_messages_are_merged_if_roles_must_alternate() {
    let mut trial = trial(true, true);
    trial.directive("Mind.");
    trial.transcript.push(&Event::UserMessage {
        text: "Look.".into(),
        attachments: vec![png()],
    });
    trial.steer("Closely.").request();
    let tag = "<attachment name=\"shots/red.png\" type=\"image/png\"/>\n";
    let url = format!("data:image/png;base64,{}", base64(PNG));
    let expected = json!([{"role": "user", "content": [
        {"type": "text", "text": format!("Mind.\n\n{tag}")},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "Look.\n\nClosely."},
    ]}]);
    assert_eq!(messages(&trial, &chat(), "messages"), expected);
}

#[test]
fn pdf_names_end_in_pdf() {
    for (path, expected) in [
        ("stdin", "stdin.pdf"),
        ("/a/b/Report.PDF", "Report.PDF"),
        ("c:\\docs\\x.bin", "x.bin.pdf"),
    ] {
        assert_eq!(file_name(path), expected);
    }
}

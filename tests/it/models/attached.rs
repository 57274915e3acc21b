//! Images and documents that go along with a message.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use aside_model_server::{ServedApi, play::ModelReply};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{
    column,
    shown::shown,
    stage::{ModelStage, PlayedStep, row, says},
};
use crate::{
    grown::body::{RequestPurpose, SentBody, grown},
    world::{ProgramResult, start},
};

const PNG: &[u8] = include_bytes!("../../media/red.png");
const PDF: &[u8] = include_bytes!("../../media/page.pdf");

/// A stage whose model takes so much, with both files in the workspace.
fn stage(api: ServedApi, images: bool, documents: bool, script: Vec<PlayedStep>) -> ModelStage {
    let stage = ModelStage::new(api, script);
    let (provider, model) = column::model(api).split_once('/').unwrap();
    let servers = column::configuration(&stage.server.address().to_string());
    let own = format!(
        "[providers.{provider}.models.'{model}']\nimages = {images}\ndocuments = {documents}\n"
    );
    stage.world.user_config(&(servers + &own));
    fs::write(stage.world.at("red.png"), PNG).unwrap();
    fs::write(stage.world.at("page.pdf"), PDF).unwrap();
    stage
}

fn answer(text: &str) -> PlayedStep {
    says(ModelReply::new(text).text(text))
}

fn body(stage: &ModelStage, number: usize) -> String {
    String::from_utf8(stage.requests()[number].body.to_vec()).unwrap()
}

/// How often bytes stand in a request.
fn count(stage: &ModelStage, number: usize, bytes: &[u8]) -> usize {
    body(stage, number).matches(&STANDARD.encode(bytes)).count()
}

/// The blobs of all conversations.
fn blobs(stage: &ModelStage) -> Vec<PathBuf> {
    let folders = stage.world.conversations().into_iter();
    let within =
        folders.flat_map(|folder| fs::read_dir(folder.join("blobs")).into_iter().flatten());
    within.map(|entry| entry.unwrap().path()).collect()
}

const BOTH: [&str; 4] = ["--attach", "red.png", "--attach", "page.pdf"];
const NO_PDF: &str = "; choose a model that does, or attach the text.\n";

#[test]
fn what_is_attached_stays_in_the_conversation_byte_for_byte() {
    row(|api| {
        // Nothing can send a document there, whatever is configured.
        let documents = api != ServedApi::Ollama;
        let stage = stage(
            api,
            true,
            true,
            vec![answer("A red dot."), answer("Still red.")],
        );
        let first = shown(&stage.run("What is it?", &BOTH).exits(0));
        let notice = match documents {
            true => String::new(),
            false => format!(
                "notice As far as is known, {} takes no PDF, so it is told the name alone of page.pdf{NO_PDF}",
                column::model(api)
            ),
        };
        assert_eq!(
            first,
            format!("{notice}text A red dot.\ncompleted A red dot.\n")
        );
        // Another process: all of it is read from the log.
        let second = shown(&stage.run("And now?", &["--continue"]).exits(0));
        assert_eq!(second, "text Still red.\ncompleted Still red.\n");

        let named = "<attachment name=\"red.png\" type=\"image/png\"/>\n";
        let pdf = "<attachment name=\"page.pdf\" type=\"application/pdf\"";
        let message = match documents {
            true => format!("user {named}\nmedia\nuser {pdf}/>\n\nmedia\nuser What is it?\n"),
            false => format!(
                "user {named}{pdf}>\n[not shown: this model does not accept PDF documents]\n</attachment>\nWhat is it?\nmedia\n"
            ),
        };
        let heard = format!("{message}assistant A red dot.\nuser And now?\n");
        assert_eq!(stage.heard(), heard);
        for number in [0, 1] {
            assert_eq!(count(&stage, number, PNG), 1);
            assert_eq!(count(&stage, number, PDF), usize::from(documents));
        }
        let row = [0, 1].map(|number| SentBody {
            kind: RequestPurpose::Turn,
            body: body(&stage, number),
        });
        assert_eq!(grown(&row), Ok(()));
        stage.is_clean();

        is_on_record(&stage);
    });
}

/// Both files are named in the log, lie beside it for nobody else to read, and are shown.
#[track_caller]
fn is_on_record(stage: &ModelStage) {
    let log = stage.world.log();
    let media = |name: &str, mime: &str, bytes: &[u8]| {
        let blob = aside_base::digest::sha256(bytes);
        json!({"name": name, "media": {"media_type": mime, "blob": blob, "size": bytes.len()}})
    };
    assert_eq!(
        log.all("user_message")[0]["attachments"],
        json!([
            media("red.png", "image/png", PNG),
            media("page.pdf", "application/pdf", PDF),
        ])
    );
    for blob in blobs(stage) {
        let mode = fs::metadata(&blob).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", blob.display());
    }
    let shown = stage.command(&["conversation", "show"]);
    let attached =
        "Attached: `red.png` (image/png, 69 bytes), `page.pdf` (application/pdf, 327 bytes).";
    assert!(ended(shown).exits(0).stdout.contains(attached));
}

fn ended(mut command: std::process::Command) -> ProgramResult {
    start(&mut command).end()
}

#[test]
fn a_model_that_takes_nothing_is_told_names_and_the_user_is_told_once() {
    row(|api| {
        let stage = stage(api, false, false, vec![answer("No idea."), answer("None.")]);
        let first = shown(&stage.run("What is it?", &BOTH).exits(0));
        let notice = format!(
            "notice As far as is known, {} takes no images and no PDF, so it is told the name alone of red.png, \
             page.pdf; choose a model that does; if this one does, ask its provider with `aside model list`, or set \
             `images = true` among the `models` of its provider in your aside.toml.\n",
            column::model(api)
        );
        assert_eq!(
            first,
            format!("{notice}text No idea.\ncompleted No idea.\n")
        );
        let second = shown(&stage.run("And now?", &["--continue"]).exits(0));
        assert_eq!(second, "text None.\ncompleted None.\n");
        let named = |name: &str, mime: &str, what: &str| {
            format!(
                "<attachment name=\"{name}\" type=\"{mime}\">\n[not shown: this model does not accept {what}]\n</attachment>\n"
            )
        };
        let heard = format!(
            "user {}{}What is it?\nassistant No idea.\nuser And now?\n",
            named("red.png", "image/png", "images"),
            named("page.pdf", "application/pdf", "PDF documents")
        );
        assert_eq!(stage.heard(), heard);
        stage.is_clean();
    });
}

#[test]
fn a_fork_has_them_too_and_a_deleted_conversation_leaves_nothing() {
    let api = ServedApi::Anthropic;
    let stage = stage(api, true, true, vec![answer("Red."), answer("Still.")]);
    stage.run("What is it?", &BOTH).exits(0);
    let first = stage.world.conversation();
    ended(stage.command(&["conversation", "fork", &first])).exits(0);
    ended(stage.command(&["conversation", "delete", &first])).exits(0);
    assert_eq!(blobs(&stage).len(), 2);
    let fork = stage.world.conversation();
    assert_ne!(fork, first);
    stage.run("And now?", &["-c", &fork]).exits(0);
    assert_eq!((count(&stage, 1, PNG), count(&stage, 1, PDF)), (1, 1));
    stage.is_clean();
    ended(stage.command(&["conversation", "delete", &fork])).exits(0);
    let state = stage.world.folder().join("state");
    let left = stage
        .world
        .within("find", &[state.to_str().unwrap(), "-path", "*blobs*"]);
    assert_eq!(ended(left).exits(0).stdout, "");
}

#[test]
fn what_was_damaged_is_told_as_lost_and_the_conversation_goes_on() {
    let stage = stage(
        ServedApi::Gemini,
        true,
        true,
        vec![answer("Red."), answer("Lost.")],
    );
    stage.run("What is it?", &BOTH).exits(0);
    let (png, pdf) = (
        aside_base::digest::sha256(PNG),
        aside_base::digest::sha256(PDF),
    );
    for blob in blobs(&stage) {
        match blob.file_name().unwrap().to_str() {
            Some(name) if name == png => fs::write(&blob, "not what it was").unwrap(),
            Some(name) if name == pdf => fs::remove_file(&blob).unwrap(),
            other => panic!("{other:?}"),
        }
    }
    stage.run("And now?", &["--continue"]).exits(0);
    let lost = |name: &str, mime: &str| {
        format!(
            "<attachment name=\"{name}\" type=\"{mime}\">\n[not shown: the content is lost]\n</attachment>\n"
        )
    };
    let heard = format!(
        "user {}{}What is it?\nassistant Red.\nuser And now?\n",
        lost("red.png", "image/png"),
        lost("page.pdf", "application/pdf")
    );
    assert_eq!(stage.heard(), heard);
    stage.is_clean();
}

#[test]
fn an_image_may_be_piped_in() {
    let stage = stage(ServedApi::OpenaiResponses, true, true, vec![answer("Red.")]);
    let mut command = stage.command(&[
        "run",
        "-m",
        column::model(stage.api),
        "--trust",
        "What is it?",
    ]);
    command.stdin(File::open(stage.world.at("red.png")).unwrap());
    ended(command).exits(0).writes("Red.\n");
    let heard = "user <attachment name=\"stdin\" type=\"image/png\"/>\n\nmedia\nuser What is it?\n";
    assert_eq!(stage.heard(), heard);
    stage.is_clean();
}

#[test]
fn what_cannot_be_attached_is_one_sentence_and_no_conversation() {
    let stage = stage(ServedApi::Anthropic, true, true, Vec::new());
    let world = &stage.world;
    let sized = |name: &str, begin: &[u8], size: u64| {
        fs::write(world.at(name), begin).unwrap();
        let file = File::options().write(true).open(world.at(name)).unwrap();
        file.set_len(size).unwrap();
    };
    sized("large.png", PNG, 7_500_001);
    sized("large.pdf", PDF, (16 << 20) + 1);
    sized("large.txt", b"text", (16 << 20) + 1);
    fs::write(world.at("program"), b"\x7fELF\x02\x01\x01\0\xff").unwrap();
    for (attached, expected) in [
        (
            "large.png",
            "large.png is an image of more than 7500000 bytes, and larger ones are not sent; attach a smaller one",
        ),
        (
            "large.pdf",
            "large.pdf is a PDF of more than 16777216 bytes, and larger ones are not sent; attach fewer pages",
        ),
        (
            "large.txt",
            "large.txt is a file of more than 16777216 bytes, and larger ones are not sent; attach a part of it",
        ),
        (
            "program",
            "program is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image nor a PDF; convert it first",
        ),
        (
            "red.png:1-2",
            "red.png is an image, which has no lines to choose from; attach it without a range",
        ),
        (
            "page.pdf:1-2",
            "page.pdf is a PDF, which has no lines to choose from; attach it without a range",
        ),
    ] {
        let done = ended(stage.command(&["run", "--attach", attached, "Look."])).exits(2);
        assert_eq!(
            done.stderr.lines().last(),
            Some(format!("aside: {expected}").as_str())
        );
    }
    assert_eq!(world.conversations(), Vec::<PathBuf>::new());
}

#[test]
fn the_largest_image_goes_as_it_is() {
    let stage = stage(ServedApi::Anthropic, true, true, vec![answer("Black.")]);
    let mut image = PNG.to_vec();
    image.resize(7_500_000, 0);
    fs::write(stage.world.at("red.png"), &image).unwrap();
    stage.run("What is it?", &["--attach", "red.png"]).exits(0);
    assert_eq!(count(&stage, 0, &image), 1);
    stage.is_clean();
}

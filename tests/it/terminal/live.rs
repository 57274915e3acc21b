//! What a terminal shows while a turn goes on: text as it comes, what runs, and lines that are edited while they are
//! typed. The screens are those that a terminal makes of what is written, with what stands there at the end.

use aside_model_server::{
    ServedApi,
    play::ModelReply,
    server::{BodyPart, ModelServer, ReplyGate},
};
use serde_json::json;

use super::{
    person::{PtyPerson, PtyStart},
    screen::{matches, settled},
};
use crate::world::TestWorld;

/// On a terminal whose cursor can be moved, with standard output on it.
pub(super) fn on_the_screen<'a>(args: &[&'a str]) -> PtyStart<'a> {
    PtyStart {
        shell: r#"exec "$@""#,
        env: vec![("TERM", "xterm")],
        ..PtyStart::aside(args)
    }
}

/// The screen that is left of what was written, with its tones in words.
fn screen(world: &TestWorld, written: &str) -> String {
    // Wider than the person's: no line is broken at a place that depends on where the world is.
    let mut terminal = vt100::Parser::new(60, 200, 0);
    terminal.process(written.replace('\n', "\r\n").as_bytes());
    let screen = terminal.screen();
    let (rows, columns) = screen.size();
    let mut text = String::new();
    for row in 0..rows {
        let mut tone = "";
        for column in 0..columns {
            let Some(cell) = screen.cell(row, column) else {
                continue;
            };
            let now = tone_of(cell);
            if now != tone {
                text += if tone.is_empty() { "" } else { "}" };
                text += now;
                tone = now;
            }
            text += if cell.has_contents() {
                cell.contents()
            } else {
                " "
            };
        }
        text += if tone.is_empty() { "\n" } else { "}\n" };
    }
    let shown = settled(world, &text);
    format!("{}\n", shown.trim_end())
}

fn tone_of(cell: &vt100::Cell) -> &'static str {
    match (cell.fgcolor(), cell.bold(), cell.italic(), cell.dim()) {
        (vt100::Color::Idx(1), ..) => "{red ",
        (vt100::Color::Idx(2), ..) => "{green ",
        (vt100::Color::Idx(3), ..) => "{yellow ",
        (vt100::Color::Idx(6), ..) => "{code ",
        (_, true, ..) => "{bold ",
        (_, _, true, _) => "{italic ",
        (_, _, _, true) => "{dim ",
        _ => "",
    }
}

/// A model that says the beginning of its answer, and the rest when it is told to.
fn hesitant(told: &ReplyGate) -> ModelServer {
    let told = told.clone();
    ModelServer::start(move |_| {
        let reply = ModelReply::new("model")
            .text([
                "# Plan\n\nFirst, **read the notes**, ",
                "then run `ls`.\n\n- one\n- *two*\n\n```sh\nls -l **\n```\n",
                "That is all.",
            ])
            .reply(ServedApi::Anthropic);
        let [BodyPart::Bytes(body)] = reply.body.as_slice() else {
            panic!("a body in one part");
        };
        let body = String::from_utf8(body.to_vec()).expect("text");
        let second = body.find("then run").expect("the second piece");
        let begin = body[..second].rfind("\n\n").expect("its event") + 2;
        reply.wait_at(begin, &told)
    })
}

#[test]
fn an_answer_is_on_the_screen_as_it_comes() {
    let (world, told) = (TestWorld::new(), ReplyGate::new());
    let model = hesitant(&told);
    world.user_config(&format!(
        "assistant.model = 'own/model'\n[providers.own]\napi = 'anthropic'\nbase_url = '{}'\n",
        model.url(ServedApi::Anthropic)
    ));
    let start = on_the_screen(&["run", "--trust", "Go"]);
    let mut person = PtyPerson::starts(&world, &start);
    // Only the beginning was sent by now.
    let mut written = person.sees("read the notes");
    told.open();
    written += &person.ends(0);
    matches("streaming.txt", &screen(&world, &written));
}

#[test]
fn what_runs_is_shown_with_its_last_lines_and_a_failure_is_red() {
    let world = TestWorld::new();
    let command = "echo one; echo two; until [ -e go ]; do sleep 0.05; done; exit 3";
    let script = format!(
        "run_command {{ command = '{command}' }}\nreasoning 'It failed.'\n+ 'It *failed*.'"
    );
    let model = world.script(&script);
    let args = [
        "run",
        "--trust",
        "--unsandboxed",
        "--mode",
        "auto",
        "-m",
        &model,
        "Go",
    ];
    let start = PtyStart {
        env: vec![("TERM", "xterm")],
        ..on_the_screen(&args)
    };
    let mut person = PtyPerson::starts(&world, &start);
    let mut written = person.sees("  │ two");
    let shown = screen(&world, &written);
    assert!(shown.contains(" run_command: Run `echo one;"), "{shown}");
    assert!(shown.contains("  │ one"), "{shown}");
    world.write("go", "");
    written += &person.ends(0);
    matches("running.txt", &screen(&world, &written));
}

#[test]
fn a_turn_that_failed_says_why() {
    let world = TestWorld::new();
    let model = world.script("-\n& fault = { status = 401, text = 'who are you' }");
    let start = PtyStart {
        // As wide as the screen.
        shell: r#"stty cols 200; exec "$@""#,
        ..on_the_screen(&["run", "--trust", "-m", &model, "Go"])
    };
    let written = PtyPerson::starts(&world, &start).ends(6);
    matches("failing.txt", &screen(&world, &written));
}

#[test]
fn a_line_is_edited_while_it_is_typed() {
    let world = TestWorld::new();
    let script = "ask_user ask { question = 'Which name?' }\n'Good.'";
    let model = world.script(script);
    let start = on_the_screen(&["run", "--trust", "-m", &model, "Go"]);
    let mut person = PtyPerson::starts(&world, &start);
    let mut written = person.is_asked();
    person.types("wold\x1b[D\x1b[Dr\x1b[D\x1b[D\x7fW\x05!\r");
    written += &person.ends(0);
    assert_eq!(
        world.log().told("ask"),
        json!({ "answer_type": "text", "answer": "World!" }).to_string()
    );
    matches("edited.txt", &screen(&world, &written));
}

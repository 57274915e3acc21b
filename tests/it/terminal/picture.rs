//! The session in the picture of README.md: played here, and drawn from what stands on the screen at its end.

use std::{fs, path::Path};

use super::{live::on_the_screen, person::PtyPerson, screen::settled};
use crate::world::TestWorld;

const SESSION: &str = r#"
"I look at how an upload is done."
+ read_file { path = "upload.py" }
"`upload` tries **once**: `attempts` is 1. I let it try five times."
+ edit_file { path = "upload.py", old_text = "attempts = 1", new_text = "attempts = 5" }
"An upload now tries **five times** before it gives up."
"#;
const UPLOAD: &str = "attempts = 1\n\n\ndef upload(file):\n    for _ in range(attempts):\n        if send(file):\n            return\n";
const MESSAGE: &str = "Why does an upload give up so soon?";
/// Columns of the screen.
const COLUMNS: u16 = 80;
/// How wide a letter is in the picture, and how high a line.
const LETTER: (f32, f32) = (8.4, 19.0);

#[test]
fn the_session_in_the_picture_is_one() {
    let world = TestWorld::new();
    world.write("upload.py", UPLOAD);
    let model = world.script(SESSION);
    world.user_config(&format!("assistant.model = '{model}'\n"));
    let start = on_the_screen(&["run", "--trust", MESSAGE]);
    let mut person = PtyPerson::starts(&world, &start);
    let mut written = person.is_asked();
    person.types("y\r");
    written += &person.ends(0);
    assert!(world.read("upload.py").starts_with("attempts = 5\n"));
    // What the model was told has the path of the world in it, so that its length differs from run to run.
    let written = settled(&world, &written);
    let lines = written.lines().filter(|line| !line.contains("tokens: "));
    let written: Vec<&str> = lines.collect();
    let typed = format!("\x1b[2m$\x1b[0m aside run --trust \"{MESSAGE}\"\n");
    let picture = drawn(&(typed + &written.join("\n")));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/session.svg");
    if std::env::var_os("ASIDE_TEST_WRITE").is_some() {
        fs::write(&path, &picture).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(picture == expected, "another session:\n{picture}");
}

/// The screen as a picture: a row a line, a part of it for each tone.
fn drawn(written: &str) -> String {
    let mut terminal = vt100::Parser::new(50, COLUMNS, 0);
    terminal.process(written.trim_end().replace('\n', "\r\n").as_bytes());
    let screen = terminal.screen();
    let rows = screen.cursor_position().0 + 1;
    let mut body = String::new();
    for row in 0..rows {
        let y = f32::from(row + 1) * LETTER.1 + 6.0;
        body += &format!("<text x=\"14\" y=\"{y:.0}\" xml:space=\"preserve\">");
        let mut open = String::new();
        for column in 0..COLUMNS {
            let Some(cell) = screen.cell(row, column) else {
                continue;
            };
            let tone = tone(cell);
            if tone != open {
                body += if open.is_empty() { "" } else { "</tspan>" };
                if !tone.is_empty() {
                    body += &format!("<tspan class=\"{tone}\">");
                }
                open = tone;
            }
            body += &escaped(if cell.has_contents() {
                cell.contents()
            } else {
                " "
            });
        }
        while body.ends_with(' ') {
            body.pop();
        }
        body += if open.is_empty() { "" } else { "</tspan>" };
        body += "</text>\n";
    }
    let (width, height) = (
        f32::from(COLUMNS) * LETTER.0 + 28.0,
        f32::from(rows) * LETTER.1 + 24.0,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>\n{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e1e2e\"/>\n{body}</svg>\n"
    )
}

const STYLE: &str = "text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #cdd6f4 }\n\
.bold { font-weight: bold }\n.dim { fill: #7f849c }\n.red { fill: #f38ba8 }\n.green { fill: #a6e3a1 }\n\
.yellow { fill: #f9e2af }\n.code { fill: #89dceb }\n";

fn tone(cell: &vt100::Cell) -> String {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(1) => "red",
        vt100::Color::Idx(2) => "green",
        vt100::Color::Idx(3) => "yellow",
        vt100::Color::Idx(6) => "code",
        _ if cell.dim() => "dim",
        _ => "",
    };
    let weight = if cell.bold() { "bold" } else { "" };
    format!("{colour} {weight}").trim().to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

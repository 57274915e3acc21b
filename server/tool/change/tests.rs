//! Random edits of random files, and an independent reader that compares what nobody named byte by byte.
//! `ASIDE_FILE_EDITS=1000000` tries more, others each time.

use std::{
    env,
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt, chown},
    path::PathBuf,
};

use fastrand::Rng;
use rustix::fs::{XattrFlags, fsetxattr};
use serde_json::{Value, json};

use crate::trial::ToolTrial;
use aside_base::system::files::Likeness;
use aside_turn::{
    input::Preparation,
    question::{Answer, AnswerType},
    record::CallKey,
};

/// Edits that are tried.
const EDITS: usize = 10_000;
const MARK: &str = "\u{feff}";
/// Words of lines: few, so that they occur more than once, and some that look like what they are not.
const WORDS: &[&str] = &[
    "a", "b", "aa", "ab", "", " ", "é", "𝄞", "\u{2028}", "\u{c}", "\t", "x = 1", "1%\r2%",
];

/// A file, as the test made it.
struct Made {
    text: String,
    /// All line ends are this one.
    end: Option<&'static str>,
}

fn words(random: &mut Rng) -> String {
    let count = random.usize(0..3);
    (0..count)
        .map(|_| WORDS[random.usize(..WORDS.len())])
        .collect()
}

fn made(random: &mut Rng) -> Made {
    let end = [Some("\n"), Some("\r\n"), None][random.usize(..3)];
    let mut text = String::new();
    if random.u8(..4) == 0 {
        text.push_str(MARK);
    }
    let lines = random.usize(1..9);
    for line in 1..=lines {
        text.push_str(&words(random));
        // A carriage return right before a line end would be another line end.
        if text.ends_with('\r') {
            text.push('.');
        }
        if line < lines || random.bool() {
            text.push_str(end.unwrap_or_else(|| ["\n", "\r\n"][random.usize(..2)]));
        }
    }
    let end = end.filter(|_| text.contains('\n'));
    Made { text, end }
}

fn new_text(random: &mut Rng) -> String {
    let lines: Vec<String> = (0..random.usize(0..4)).map(|_| words(random)).collect();
    let text = lines.join("\n").replace("\r\n", "\n");
    if random.bool() { text + "\n" } else { text }
}

/// The reader's own idea of a text without its kinds of line ends: each with the place where it begins and ends.
fn letters(text: &str) -> Vec<(char, usize, usize)> {
    let mut letters = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, letter)) = rest.next() {
        let end = at + letter.len_utf8();
        match (letter, rest.peek()) {
            ('\r', Some((_, '\n'))) => {
                rest.next();
                letters.push(('\n', at, end + 1));
            }
            ('\r', _) => letters.push(('\n', at, end)),
            _ => letters.push((letter, at, end)),
        }
    }
    letters
}

fn plain(text: &str) -> String {
    letters(text)
        .into_iter()
        .map(|(letter, ..)| letter)
        .collect()
}

/// Where a text begins and ends, as the reader finds it: letter by letter.
fn found(text: &str, wanted: &str) -> Vec<(usize, usize)> {
    let (text, wanted) = (letters(text), letters(wanted));
    let windows = text.windows(wanted.len());
    let alike = windows.filter(|window| window.iter().zip(&wanted).all(|(a, b)| a.0 == b.0));
    alike
        .map(|window| (window[0].1, window[window.len() - 1].2))
        .collect()
}

fn label(text: &str, places: &[(usize, usize)], at: usize) -> String {
    let line = |place: usize| text[..place].split('\n').count();
    let place = places[at].0;
    let alone = places.iter().filter(|it| line(it.0) == line(place)).count() == 1;
    let start = text[..place].rsplit('\n').next().unwrap_or_default();
    match alone {
        true => line(place).to_string(),
        false => format!("{}:{}", line(place), start.chars().count() + 1),
    }
}

fn ends(text: &str) -> (usize, usize) {
    (text.matches('\n').count(), text.matches("\r\n").count())
}

/// Plays one edit, and says what became of bytes that nobody named.
async fn edit(trial: &mut ToolTrial, random: &mut Rng, file: &Made) -> Result<(), String> {
    let text = &file.text;
    let letters = letters(text);
    let from = random.usize(..letters.len());
    let to = random.usize(from..letters.len().min(from + 9));
    let span = (letters[from].1, letters[to].2);
    let mut wanted = text[span.0..span.1].to_owned();
    if random.bool() {
        wanted = wanted.replace("\r\n", "\n");
    }
    let new = new_text(random);
    let places = found(text, &wanted);
    let args = json!({"path": "a.txt", "old_text": wanted, "new_text": new});
    if wanted == new {
        return Ok(());
    }
    if places.len() > 20 {
        let told = trial.call("edit_file", args).await;
        let refused = told.contains("over 20 times") && trial.text("a.txt").as_ref() == Some(text);
        return refused.then_some(()).ok_or(told);
    }
    if places.len() > 1 {
        let Preparation::Question(question) = trial.prepare("edit_file", args.clone()).await else {
            return Err(format!("{} places, and no question", places.len()));
        };
        let AnswerType::Select { options } = &question.answer_type else {
            return Err("no options".to_owned());
        };
        let overlap = places.windows(2).any(|pair| pair[1].0 < pair[0].1);
        let count = options.iter().filter(|option| *option != "all").count();
        if count != places.len() || overlap == (options.len() > count) {
            return Err(format!("{} places, asked {options:?}", places.len()));
        }
        let at = places
            .iter()
            .position(|place| *place == span)
            .ok_or("another place")?;
        let answer = Answer::Value(label(text, &places, at).into());
        trial.answers.push(("occurrence".to_owned(), answer));
    }
    let told = trial.call("edit_file", args).await;
    let now = trial.text("a.txt").ok_or("no file")?;
    let (before, after) = (&text[..span.0], &text[span.1..]);
    let within = now
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after));
    let Some(within) = within.filter(|_| now.len() >= before.len() + after.len()) else {
        return Err(format!(
            "bytes outside of {span:?} changed: {now:?}: {told}"
        ));
    };
    if plain(within) != plain(&new) {
        return Err(format!("{within:?} is not {new:?}: {told}"));
    }
    let only_ends = plain(&wanted) == plain(&new);
    if let (Some(end), false) = (file.end, only_ends) {
        let (all, wide) = ends(within);
        let alike = if end == "\n" { wide == 0 } else { all == wide };
        return alike
            .then_some(())
            .ok_or(format!("line ends in {within:?}: {told}"));
    }
    Ok(())
}

/// Makes a file something besides its text, at random. Returns what it is then.
fn shaped(trial: &ToolTrial, random: &mut Rng) -> (Likeness, Option<PathBuf>) {
    let root = trial.context.files.root();
    let path = root.join("a.txt");
    let _ = fs::remove_file(root.join("second"));
    let second = (random.u8(..4) == 0).then(|| root.join("second"));
    if let Some(second) = &second {
        fs::hard_link(&path, second).unwrap();
    }
    if rustix::process::geteuid().is_root() && random.u8(..4) == 0 {
        chown(&path, Some(1234), Some(1235)).unwrap();
    }
    let mode = [0o644, 0o600, 0o755, 0o444, 0o640, 0o664][random.usize(..6)];
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    let file = File::open(&path).unwrap();
    if random.u8(..4) == 0 {
        // Some file systems have no attributes.
        let _ = fsetxattr(&file, "user.note", b"kept", XattrFlags::empty());
    }
    (Likeness::of(&file).unwrap(), second)
}

/// Writes a file whole, and says what changed besides its words.
async fn write(trial: &ToolTrial, random: &mut Rng, file: &Made) -> Result<(), String> {
    let new = new_text(random);
    let text = &file.text;
    let args = json!({"path": "a.txt", "content": new});
    let told = trial.call("write_file", args).await;
    let now = trial.text("a.txt").ok_or("no file")?;
    let wrong = |what: &str| Err(format!("{what} of {now:?}, written as {new:?}: {told}"));
    if now.starts_with(MARK) != text.starts_with(MARK) {
        return wrong("the mark");
    }
    let (old_words, words) = (text.trim_start_matches(MARK), now.trim_start_matches(MARK));
    let bare = |text: &str| plain(text).trim_end_matches('\n').to_owned();
    if bare(words) != bare(&new) {
        return wrong("the words");
    }
    let is_line_ends = bare(&new).is_empty();
    if !is_line_ends && !old_words.is_empty() && words.ends_with('\n') != old_words.ends_with('\n')
    {
        return wrong("the last line end");
    }
    if let Some(end) = file.end {
        let (all, wide) = ends(words);
        if (end == "\n" && wide > 0) || (end == "\r\n" && all != wide) {
            return wrong("a line end");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_edit_changes_what_was_named_and_nothing_else() {
    let count = env::var("ASIDE_FILE_EDITS").ok();
    let count = count.map(|it| it.parse::<usize>().expect("a number"));
    let mut random = count.map_or_else(|| Rng::with_seed(24), |_| Rng::new());
    let mut trial = ToolTrial::new(&[]);
    let read: Value = json!({"path": "a.txt"});
    for case in 0..count.unwrap_or(EDITS) {
        if case % 1000 == 0 {
            // What is kept of each edit is forgotten.
            trial = ToolTrial::new(&[]);
        }
        let file = made(&mut random);
        if file.text.is_empty() {
            continue;
        }
        trial.call = CallKey(u32::try_from(case).expect("a number of 32 bits"));
        trial.answers.clear();
        let path = trial.context.files.root().join("a.txt");
        let _ = fs::remove_file(&path);
        trial.put("a.txt", &file.text);
        let (likeness, second) = shaped(&trial, &mut random);
        trial.call("read_file", read.clone()).await;
        let outcome = match random.bool() {
            true => edit(&mut trial, &mut random, &file).await,
            false => write(&trial, &mut random, &file).await,
        };
        if let Err(what) = outcome {
            panic!("case {case}, in {:?}: {what}", file.text);
        }
        let now = Likeness::of(&File::open(&path).unwrap()).unwrap();
        assert_eq!(now, likeness, "case {case}, in {:?}", file.text);
        if let Some(second) = second {
            assert_eq!(
                fs::read(second).unwrap(),
                fs::read(&path).unwrap(),
                "case {case}"
            );
        }
        trial.edits.lock().unwrap().clear();
    }
}

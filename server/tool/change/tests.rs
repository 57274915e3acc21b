//! Random edits of random files, and an independent reader that compares what nobody named byte by byte; then each edit is
//! undone. `ASIDE_FILE_EDITS=1000000` tries more, others each time, or those of `ASIDE_FILE_SEED`.

mod reader;

use std::{
    env,
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use fastrand::Rng;
use rustix::fs::{XattrFlags, fsetxattr};
use serde_json::json;

use self::reader::{ends, found, label, letters, plain};
use crate::trial::ToolTrial;
use aside_base::{system::files::Likeness, under_way::FilesUnderWay};
use aside_session::{
    blobs::Blobs,
    record::{Edit, Entry, Record},
    undo::{UndoRequest, plan, staged::stage},
};
use aside_turn::{
    input::Preparation,
    question::{Answer, AnswerType},
    record::CallKey,
};

/// Edits that are tried.
const EDITS: usize = 10_000;
/// A user of whom nothing else is here.
const USER: &str = "4321";
const MARK: &str = "\u{feff}";
/// Words of lines: few, so that they occur more than once, and some that look like what they are not.
const WORDS: &[&str] = &[
    "a", "b", "aa", "ab", "", " ", "é", "𝄞", "\u{2028}", "\u{c}", "\t", "x = 1", "1%\r2%",
];

/// A file, as the test made it.
struct Made {
    bytes: Vec<u8>,
    /// None where the bytes are in another encoding than Aside's.
    text: Option<String>,
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
    let end = [Some("\n"), Some("\r\n"), Some("\r"), None][random.usize(..4)];
    let mut text = String::new();
    if random.u8(..4) == 0 {
        text.push_str(MARK);
    }
    let lines = random.usize(1..9);
    for line in 1..=lines {
        text.push_str(&words(random));
        // A carriage return right before a line end would be another line end.
        if text.ends_with('\r') && end != Some("\r") {
            text.push('.');
        }
        if line < lines || random.bool() {
            text.push_str(end.unwrap_or_else(|| ["\n", "\r\n"][random.usize(..2)]));
        }
    }
    let end = end.filter(|end| text.contains(end));
    let bytes = match random.u8(..8) {
        0 => encoded(random, text.trim_start_matches(MARK)),
        _ => text.into_bytes(),
    };
    let text = String::from_utf8(bytes.clone()).ok();
    Made {
        text: text.filter(|text| !text.contains('\0')),
        bytes,
        end,
    }
}

/// A text as other programs write it.
fn encoded(random: &mut Rng, text: &str) -> Vec<u8> {
    let wide = |bytes: fn(u16) -> [u8; 2]| {
        let marked = [0xfeff].into_iter().chain(text.encode_utf16());
        marked.flat_map(bytes).collect()
    };
    match random.u8(..4) {
        0 => wide(u16::to_le_bytes),
        1 => wide(u16::to_be_bytes),
        2 => text
            .chars()
            .map(|it| u8::try_from(u32::from(it)).unwrap_or(b'?'))
            .collect(),
        _ => {
            // A letter that was cut off.
            let mut bytes = text.as_bytes().to_vec();
            bytes.extend_from_slice("é".as_bytes());
            bytes.pop();
            bytes
        }
    }
}

fn new_text(random: &mut Rng) -> String {
    let lines: Vec<String> = (0..random.usize(0..4)).map(|_| words(random)).collect();
    let text = lines.join("\n").replace("\r\n", "\n");
    if random.bool() { text + "\n" } else { text }
}

/// Plays one edit, and says what became of bytes that nobody named.
async fn edit(
    trial: &mut ToolTrial,
    random: &mut Rng,
    file: &Made,
    text: &str,
) -> Result<(), String> {
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
        let refused =
            told.contains("over 20 times") && trial.text("a.txt").as_deref() == Some(text);
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
        return has_ends(within, end)
            .then_some(())
            .ok_or(format!("line ends in {within:?}: {told}"));
    }
    Ok(())
}

/// Whether all line ends of a text are this one.
fn has_ends(text: &str, end: &str) -> bool {
    match (ends(text), end) {
        ((_, wide), "\n") => wide == 0,
        ((all, wide), "\r\n") => all == wide,
        ((all, _), _) => all == 0,
    }
}

/// A file as it is besides its text, and the names by which it is reached.
#[derive(Debug, PartialEq)]
struct Shape {
    likeness: Likeness,
    link: Option<PathBuf>,
    names: Vec<String>,
}

impl Shape {
    fn of(root: &Path) -> Self {
        let file = File::open(root.join("a.txt")).unwrap();
        let names = fs::read_dir(root).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Self {
            likeness: Likeness::of(&file).unwrap(),
            link: fs::read_link(root.join("a.txt")).ok(),
            names,
        }
    }
}

/// Makes a file, and of it something besides its text.
fn put(root: &Path, random: &mut Rng, file: &Made) {
    allow(root, 0o755);
    for name in ["a.txt", "real.txt", "second"] {
        let _ = fs::remove_file(root.join(name));
    }
    let is_link = random.u8(..8) == 0;
    let path = root.join(if is_link { "real.txt" } else { "a.txt" });
    if is_link {
        symlink("real.txt", root.join("a.txt")).unwrap();
    }
    fs::write(&path, &file.bytes).unwrap();
    if random.u8(..4) == 0 {
        fs::hard_link(&path, root.join("second")).unwrap();
    }
    if rustix::process::geteuid().is_root() && random.u8(..4) == 0 {
        chown(&path, Some(1234), Some(1235)).unwrap();
    }
    if random.u8(..4) == 0 {
        // Some file systems have no attributes.
        let file = File::open(&path).unwrap();
        let _ = fsetxattr(&file, "user.note", b"kept", XattrFlags::empty());
    }
    let mode = [0o644, 0o600, 0o755, 0o444, 0o640, 0o664, 0o4755][random.usize(..7)];
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    if random.u8(..4) == 0 {
        allow(root, 0o555);
    }
}

fn allow(folder: &Path, mode: u32) {
    fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
}

/// Takes all edits back, as a person does.
fn undo(trial: &ToolTrial, state: &Path) -> Result<(), String> {
    let edits: Vec<_> = std::mem::take(&mut *trial.edits.lock().unwrap());
    let blobs = Blobs::of(state);
    let keep = |blob: &String| {
        let bytes = (trial.context.read_blob)(blob, 0..u64::MAX).unwrap();
        // Without waiting for the disk.
        fs::create_dir_all(state.join("blobs")).unwrap();
        fs::write(state.join("blobs").join(blob), bytes).unwrap();
    };
    let record = |(edit, _): &(crate::FileEdit, _)| {
        edit.before.iter().chain(&edit.after).for_each(keep);
        let edit = Edit {
            call: edit.call.0,
            path: edit.path.clone(),
            before: edit.before.clone(),
            after: edit.after.clone(),
            mode: None,
        };
        Record {
            seq: 1,
            time: Duration::ZERO,
            turn: Some("t1".to_owned()),
            entry: Entry::Edit(edit),
        }
    };
    let records: Vec<Record> = edits.iter().map(record).collect();
    if records.is_empty() {
        return Ok(());
    }
    let root = trial.context.files.root();
    let wanted = UndoRequest {
        turn: "t1",
        root,
        blobs: &blobs,
        only: None,
    };
    let failed = |error: aside_session::undo::UndoError| error.to_string();
    let plan = plan(&records, &wanted, |_| false, |_| None).map_err(failed)?;
    let under_way = FilesUnderWay::of(state);
    let staged = stage(&plan, root, &blobs, &under_way).map_err(failed)?;
    staged.bring().and_then(|ready| ready.put()).map_err(failed)
}

/// Writes a file whole, and says what changed besides its words.
async fn write(trial: &ToolTrial, random: &mut Rng, file: &Made, text: &str) -> Result<(), String> {
    let new = new_text(random);
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
    let is_ended = |text: &str| plain(text).ends_with('\n');
    if !is_line_ends && !old_words.is_empty() && is_ended(words) != is_ended(old_words) {
        return wrong("the last line end");
    }
    if file.end.is_some_and(|end| !has_ends(words, end)) {
        return wrong("a line end");
    }
    Ok(())
}

/// Tries to change what is no text of Aside's, and says what became of it.
async fn refuse(trial: &ToolTrial, random: &mut Rng) -> Result<(), String> {
    let calls = [
        ("read_file", json!({"path": "a.txt"})),
        (
            "write_file",
            json!({"path": "a.txt", "content": new_text(random)}),
        ),
        (
            "edit_file",
            json!({"path": "a.txt", "old_text": "a", "new_text": "b"}),
        ),
    ];
    for (tool, args) in calls {
        let told = trial.call(tool, args).await;
        if !(told.starts_with("error: ") && told.ends_with('.')) {
            return Err(format!("{tool}: {told}"));
        }
    }
    match trial.edits.lock().unwrap().is_empty() {
        true => Ok(()),
        false => Err("an edit is on record".to_owned()),
    }
}

/// One file and one edit of it, which is undone.
async fn play(
    trial: &mut ToolTrial,
    random: &mut Rng,
    file: &Made,
    state: &Path,
) -> Result<(), String> {
    let root = trial.context.files.root().to_owned();
    put(&root, random, file);
    let shape = Shape::of(&root);
    match &file.text {
        None => refuse(trial, random).await?,
        Some(text) => {
            trial.call("read_file", json!({"path": "a.txt"})).await;
            match random.bool() && !text.is_empty() {
                true => edit(trial, random, file, text).await?,
                false => write(trial, random, file, text).await?,
            }
        }
    }
    let same_everywhere = || {
        let now = fs::read(root.join("a.txt")).unwrap();
        let other = ["real.txt", "second"].map(|name| fs::read(root.join(name)));
        let differs = other.into_iter().flatten().any(|other| other != now);
        (!differs)
            .then_some(now)
            .ok_or("another name has another text")
    };
    let after = Shape::of(&root);
    if after != shape {
        return Err(format!("{shape:?} became {after:?}"));
    }
    same_everywhere()?;
    undo(trial, state)?;
    let undone = Shape::of(&root);
    if same_everywhere()? != file.bytes || undone != shape {
        return Err(format!("the undo left {undone:?} of {shape:?}"));
    }
    Ok(())
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "a test that prints its figures")]
async fn an_edit_changes_what_was_named_and_nothing_else() {
    let number = |name: &str| {
        let set = env::var(name).ok();
        set.map(|it| it.parse::<u64>().expect("a number"))
    };
    let count = number("ASIDE_FILE_EDITS");
    let seed = number("ASIDE_FILE_SEED").unwrap_or_else(|| match count {
        Some(_) => fastrand::u64(..),
        None => 24,
    });
    let mut random = Rng::with_seed(seed);
    let began = Instant::now();
    let mut trial = ToolTrial::new(&[]);
    let mut state = tempfile::tempdir().unwrap();
    let count = count.unwrap_or(EDITS as u64);
    for case in 0..count {
        if case % 1000 == 0 {
            // What is kept of each edit is forgotten.
            trial = ToolTrial::new(&[]);
            state = tempfile::tempdir().unwrap();
        }
        let file = made(&mut random);
        trial.call = CallKey(u32::try_from(case).expect("a number of 32 bits"));
        trial.answers.clear();
        if let Err(what) = play(&mut trial, &mut random, &file, state.path()).await {
            let text = String::from_utf8_lossy(&file.bytes);
            panic!("seed {seed}, case {case}, in {text:?}: {what}");
        }
    }
    allow(trial.context.files.root(), 0o755);
    println!(
        "seed {seed}: {count} edits, 0 differences, {:.0?}",
        began.elapsed()
    );
}

/// The system's own user may write in every folder and every file.
#[test]
fn the_same_holds_for_a_user_with_fewer_rights() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let this = env::current_exe().unwrap();
    let name = "change::tests::an_edit_changes_what_was_named_and_nothing_else";
    let home = tempfile::tempdir().unwrap();
    allow(home.path(), 0o777);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    command
        .arg(this)
        .args(["--exact", name])
        .env("TMPDIR", home.path());
    let done = command.output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}

use tower_lsp::lsp_types::{Position, Range};

use super::*;
use crate::front::lsp::client::counting::LoneReturn;

const TEXT: &str = "one\r\ntwö €\r\n𝄞 clef\rlast";

#[test]
fn changes_apply_one_after_another() {
    let documents = Documents::default();
    let uri = Url::parse("file:///a.txt").unwrap();
    documents.open(uri.clone(), 1, TEXT.into());
    let change = |from: (u32, u32), to: (u32, u32), text: &str| TextDocumentContentChangeEvent {
        range: Some(Range::new(
            Position::new(from.0, from.1),
            Position::new(to.0, to.1),
        )),
        range_length: None,
        text: text.into(),
    };
    let changes = vec![change((2, 0), (2, 2), "G"), change((0, 0), (1, 0), "")];
    documents.change(&uri, 2, changes, Counting::plain(false));
    let document = documents.get(&uri).unwrap();
    assert_eq!(
        (document.text.as_str(), document.version, document.changed),
        ("twö €\r\nG clef\rlast", 2, UnsavedChanges::ByUser)
    );
    documents.saved(&uri);
    assert_eq!(documents.get(&uri).unwrap().changed, UnsavedChanges::No);
}

#[test]
fn a_document_is_found_by_the_real_path_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
    fs::write(at("a.txt"), "one\n").unwrap();
    std::os::unix::fs::symlink("a.txt", at("link")).unwrap();
    let documents = Documents::default();
    let link = Url::from_file_path(at("link")).unwrap();
    documents.open(link.clone(), 1, "one\n".into());
    documents.open(
        Url::from_file_path(at("new file")).unwrap(),
        1,
        "new".into(),
    );
    documents.open(Url::parse("untitled:1").unwrap(), 1, "draft".into());
    assert_eq!(documents.uri_of(&at("a.txt")), Some(link.clone()));
    assert_eq!(documents.unsaved(), [at("new file")]);
    documents.close(&link);
    assert_eq!(documents.uri_of(&at("a.txt")), None);
    // A document of another scheme is none of the file, whatever its path says.
    for scheme in ["git", "fugitive", "vscode-notebook-cell"] {
        let uri = format!("{scheme}:{}", at("a.txt").display());
        documents.open(Url::parse(&uri).unwrap(), 1, "old\n".into());
        assert_eq!(documents.uri_of(&at("a.txt")), None, "{scheme}");
    }
}

#[test]
fn what_is_not_on_disk_counts_as_the_users() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a.txt");
    let check = |file: Option<&[u8]>, text: &str, changed: UnsavedChanges| {
        let _ = fs::remove_file(&path);
        if let Some(bytes) = file {
            fs::write(&path, bytes).unwrap();
        }
        let documents = Documents::default();
        documents.open(Url::from_file_path(&path).unwrap(), 1, text.into());
        let of_file = || documents.of_file(&path).unwrap().1.changed;
        assert_eq!(of_file(), changed, "{file:?} and {text:?}");
        let compared = match changed {
            UnsavedChanges::No => FileText::Alike,
            _ => FileText::Older,
        };
        assert_eq!(documents.of_file(&path).unwrap().2, compared);
        assert!(!documents.of_file(&path).unwrap().1.behind);
        // A file that was loaded again, after it was changed behind the editor.
        let again = TextDocumentContentChangeEvent {
            range: None,
            range_length: None,
            text: "again\n".into(),
        };
        let uri = Url::from_file_path(&path).unwrap();
        documents.change(&uri, 2, vec![again], Counting::plain(true));
        assert_eq!(of_file(), UnsavedChanges::ByUser);
        assert!(!documents.of_file(&path).unwrap().1.behind);
        fs::write(&path, "again\n").unwrap();
        assert_eq!(of_file(), UnsavedChanges::No);
    };
    check(Some(b"one\n"), "one\n", UnsavedChanges::No);
    check(Some(b"one\n"), "two\n", UnsavedChanges::ByUser);
    check(Some(b"one\n"), "one\n\n", UnsavedChanges::ByUser);
    check(None, "", UnsavedChanges::No);
    check(Some(b""), "\n", UnsavedChanges::No);
    check(None, "\r\n", UnsavedChanges::No);
    check(None, "one", UnsavedChanges::ByUser);
    // What editors convert when they open a file.
    check(
        Some(b"\xef\xbb\xbfone\r\ntwo"),
        "one\ntwo\n",
        UnsavedChanges::No,
    );
    // Another encoding: nobody knows.
    check(
        Some(b"gr\xfc\xdfe\n"),
        "gr\u{fc}\u{df}e\n",
        UnsavedChanges::No,
    );
}

#[test]
fn a_document_that_nobody_changed_is_behind_a_newer_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a.txt");
    fs::write(&path, "one\n").unwrap();
    let documents = Documents::default();
    let uri = Url::from_file_path(&path).unwrap();
    documents.open(uri.clone(), 1, "one\n".into());
    fs::write(&path, "two\n").unwrap();
    assert!(documents.of_file(&path).unwrap().1.behind);
    assert!(documents.unsaved().is_empty(), "nothing in it is anybody's");
    documents.change(&uri, 2, vec![whole("typed\n")], Counting::plain(true));
    assert!(!documents.of_file(&path).unwrap().1.behind);
    assert_eq!(documents.unsaved(), std::slice::from_ref(&path));
    // What is in no file any more.
    documents.open(uri, 1, "one\n".into());
    fs::remove_file(&path).unwrap();
    let (_, state, file) = documents.of_file(&path).unwrap();
    assert_eq!(
        (state.changed, state.behind, file),
        (UnsavedChanges::ByUser, false, FileText::Older)
    );
}

fn whole(text: &str) -> TextDocumentContentChangeEvent {
    TextDocumentContentChangeEvent {
        range: None,
        range_length: None,
        text: text.into(),
    }
}

/// Two names of one file, opened, changed, saved and closed at random: what nobody saved is never passed over.
#[test]
fn of_two_names_the_one_with_unsaved_text_counts() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let path = root.join("real");
    fs::write(&path, "disk\n").unwrap();
    std::os::unix::fs::symlink("real", root.join("link")).unwrap();
    fs::hard_link(&path, root.join("hard")).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..300 {
        let names = [["real", "link"], ["real", "hard"], ["hard", "link"]][round % 3];
        let uris = names.map(|name| Url::from_file_path(root.join(name)).unwrap());
        let documents = Documents::default();
        // The reader's own books: the text of each open name, and whether it is unsaved.
        let mut open: [Option<(String, bool)>; 2] = [None, None];
        for step in 0..12 {
            let at = random.usize(..2);
            match (random.u8(..4), open[at].is_some()) {
                (0, false) => {
                    documents.open(uris[at].clone(), 1, "disk\n".into());
                    open[at] = Some(("disk\n".into(), false));
                }
                (1 | 2, true) => {
                    let text = format!("typed {step}\n");
                    documents.change(&uris[at], 2, vec![whole(&text)], Counting::plain(true));
                    open[at] = Some((text, true));
                }
                (3, true) => {
                    documents.close(&uris[at]);
                    open[at] = None;
                }
                _ => {}
            }
            let unsaved: Vec<&String> = open
                .iter()
                .flatten()
                .filter(|it| it.1)
                .map(|it| &it.0)
                .collect();
            match documents.of_file(&path) {
                None => assert!(open.iter().all(Option::is_none)),
                Some((_, state, _)) if unsaved.is_empty() => assert_eq!(state.text, "disk\n"),
                Some((_, state, _)) => assert!(unsaved.contains(&&state.text), "{state:?}"),
            }
            assert_eq!(documents.unsaved().is_empty(), unsaved.is_empty());
        }
    }
}

/// Random typing in a client that counts `\n` alone: its text and the server's copy are the same after each step.
#[test]
fn typing_is_followed_as_the_client_counts() {
    let pieces = [
        "a", "é", "𝄞", "\n", "\r\n", "\r", "\u{2028}", "\u{c}", "word", "",
    ];
    let mut random = fastrand::Rng::with_seed(5);
    let some = |random: &mut fastrand::Rng, most: usize| -> String {
        let count = random.usize(..most);
        (0..count)
            .map(|_| pieces[random.usize(..pieces.len())])
            .collect()
    };
    for case in 0..4000 {
        let documents = Documents::default();
        let uri = Url::parse("file:///nowhere/a.txt").unwrap();
        let counting = Counting {
            utf8: case % 2 == 0,
            returns: LoneReturn::Character,
        };
        let mut text = some(&mut random, 14);
        documents.open(uri.clone(), 1, text.clone());
        for version in 2..6 {
            let ends: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect();
            let from = random.usize(..ends.len());
            let to = random.usize(from..ends.len().min(from + 4));
            let new = some(&mut random, 4);
            let place = |byte: usize| {
                let line = text[..byte].matches('\n').count();
                let within = text[..byte].rsplit('\n').next().unwrap();
                let character = match counting.utf8 {
                    true => within.len(),
                    false => within.encode_utf16().count(),
                };
                Position::new(
                    u32::try_from(line).unwrap(),
                    u32::try_from(character).unwrap(),
                )
            };
            let change = TextDocumentContentChangeEvent {
                range: Some(Range::new(place(ends[from]), place(ends[to]))),
                range_length: None,
                text: new.clone(),
            };
            let unknown = text.contains('\r') && !text.contains('\n');
            let before = text.clone();
            text.replace_range(ends[from]..ends[to], &new);
            documents.change(&uri, version, vec![change.clone()], counting);
            let state = documents.get(&uri).unwrap();
            assert_eq!(state.text, text, "{before:?} {change:?}");
            assert!(state.doubtful || !unknown, "{before:?}");
        }
    }
}

#[test]
fn a_client_of_which_nothing_is_known_leaves_a_text_in_doubt() {
    let documents = Documents::default();
    let uri = Url::parse("file:///nowhere/a.txt").unwrap();
    let counting = Counting {
        utf8: false,
        returns: LoneReturn::Unknown,
    };
    documents.open(uri.clone(), 1, "1%\r2%\nb\n".into());
    assert!(!documents.get(&uri).unwrap().doubtful);
    let change = TextDocumentContentChangeEvent {
        range: Some(Range::new(Position::new(1, 0), Position::new(1, 0))),
        range_length: None,
        text: "x".into(),
    };
    documents.change(&uri, 2, vec![change], counting);
    assert!(documents.get(&uri).unwrap().doubtful);
    documents.change(&uri, 3, vec![whole("1%\r2%\nxb\n")], counting);
    assert!(!documents.get(&uri).unwrap().doubtful);
}

use tower_lsp::lsp_types::{Position, Range};

use super::*;

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
    documents.change(&uri, 2, changes, false);
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
        // The client told of no change.
        let behind = match changed {
            UnsavedChanges::No => FileText::Alike,
            _ => FileText::Behind,
        };
        assert_eq!(documents.of_file(&path).unwrap().2, behind);
        // A file that was loaded again, after it was changed behind the editor.
        let again = TextDocumentContentChangeEvent {
            range: None,
            range_length: None,
            text: "again\n".into(),
        };
        documents.change(&Url::from_file_path(&path).unwrap(), 2, vec![again], true);
        assert_eq!(of_file(), UnsavedChanges::ByUser);
        assert_ne!(documents.of_file(&path).unwrap().2, FileText::Behind);
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

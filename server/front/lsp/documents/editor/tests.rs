use tokio::time::Instant;
use tower_lsp::lsp_types::TextDocumentContentChangeEvent;

use super::*;
use crate::front::lsp::client::counting::Counting;

const BASE: &str = "one\ntwo\nthree\n";
const NEW: &str = "1\ntwo\n3\n";

/// An edit that was sent to a client, and what the client does.
struct Sent {
    documents: Documents,
    uri: Url,
    seen: oneshot::Receiver<bool>,
    reply: Option<oneshot::Sender<EditReply>>,
    replied: oneshot::Receiver<EditReply>,
    cancelled: CancellationToken,
}

impl Sent {
    fn new() -> Self {
        let documents = Documents::default();
        let uri = Url::parse("file:///nowhere/a.txt").unwrap();
        documents.open(uri.clone(), 3, BASE.into());
        let splices = Splices::between(BASE, NEW);
        let seen = documents.await_change(&uri, 3, BASE, splices).unwrap();
        let (reply, replied) = oneshot::channel();
        Self {
            documents,
            uri,
            seen,
            reply: Some(reply),
            replied,
            cancelled: CancellationToken::new(),
        }
    }

    fn shows(self, version: i32, text: &str) -> Self {
        let change = TextDocumentContentChangeEvent {
            range: None,
            range_length: None,
            text: text.into(),
        };
        self.documents
            .change(&self.uri, version, vec![change], Counting::plain(false));
        self
    }

    fn says(mut self, reply: EditReply) -> Self {
        self.reply.take().unwrap().send(reply).unwrap();
        self
    }

    fn closes(self) -> Self {
        self.documents.close(&self.uri);
        self
    }

    fn cancels(self) -> Self {
        self.cancelled.cancel();
        self
    }

    /// What came of it, after how long.
    #[track_caller]
    fn check(self, outcome: Result<(), EditError>, after: Duration) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            // Whole: the client and its documents are there until the end.
            let sent = self;
            let begun = Instant::now();
            let ended = confirmed(sent.seen, sent.replied, &sent.cancelled).await;
            assert_eq!((ended, begun.elapsed()), (outcome, after), "at {caller}");
        }
    }
}

const AT_ONCE: Duration = Duration::ZERO;

#[tokio::test(start_paused = true)]
async fn the_next_text_decides_not_what_the_client_says() {
    let unconfirmed = Err(EditError::Unconfirmed);
    let sent = Sent::new;
    sent().shows(4, NEW).check(Ok(()), AT_ONCE).await;
    let said = sent().shows(9, NEW).says(EditReply::Applied);
    said.check(Ok(()), AT_ONCE).await;
    let other = sent().shows(4, "else\n").says(EditReply::Applied);
    other.check(unconfirmed.clone(), AT_ONCE).await;
    let silent = sent().says(EditReply::Applied);
    silent.check(unconfirmed.clone(), CONFIRMED).await;
    sent().check(unconfirmed.clone(), CONFIRMED).await;
    // The state after another one does not make up for it.
    let late = sent()
        .shows(4, "else\n")
        .shows(5, NEW)
        .says(EditReply::Applied);
    late.check(unconfirmed, AT_ONCE).await;
}

#[tokio::test(start_paused = true)]
async fn edits_may_be_shown_one_after_another() {
    let sent = Sent::new().shows(4, "one\ntwo\n3\n").shows(5, NEW);
    sent.check(Ok(()), AT_ONCE).await;
    let half = Sent::new()
        .shows(4, "one\ntwo\n3\n")
        .says(EditReply::Applied);
    half.check(Err(EditError::Unconfirmed), CONFIRMED).await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_one_also_where_the_user_typed_meanwhile() {
    let why = Some("the version\nis another".to_owned());
    let told = EditError::Refused(Some("the version␊is another".into()));
    let sent = Sent::new().says(EditReply::Refused(why));
    sent.check(Err(told), AT_ONCE).await;
    let typed = Sent::new()
        .shows(4, "else\n")
        .says(EditReply::Refused(None));
    typed.check(Err(EditError::Refused(None)), AT_ONCE).await;
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_closed_meanwhile_confirms_nothing() {
    let unconfirmed = Err(EditError::Unconfirmed);
    let closed = Sent::new().closes();
    closed.check(unconfirmed.clone(), CONFIRMED).await;
    let closed = Sent::new().closes().says(EditReply::Applied);
    closed.check(unconfirmed, AT_ONCE).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_does_not_wait() {
    let sent = Sent::new().cancels();
    sent.check(Err(EditError::Cancelled), AT_ONCE).await;
}

#[test]
fn an_edit_starts_from_the_state_that_it_was_made_for() {
    let Sent { documents, uri, .. } = Sent::new();
    let wait = |version, base| {
        let splices = Splices::between(base, NEW);
        documents.await_change(&uri, version, base, splices)
    };
    assert!(wait(3, BASE).is_none(), "another edit is awaited");
    documents.give_up(&uri);
    assert!(wait(2, BASE).is_none(), "an older state");
    assert!(wait(3, "other\n").is_none(), "another text");
    assert!(wait(3, BASE).is_some());
}

#[test]
fn what_tools_changed_is_not_the_users_and_what_nobody_waits_for_is() {
    let changed = |sent: &Sent| sent.documents.get(&sent.uri).unwrap().changed;
    let sent = Sent::new();
    assert_eq!(changed(&sent), UnsavedChanges::No);
    let sent = sent.shows(4, NEW);
    assert_eq!(changed(&sent), UnsavedChanges::ByTools);
    sent.documents.saved_for_tools(&sent.uri);
    assert_eq!(changed(&sent), UnsavedChanges::No);
    let sent = sent.shows(5, "typed\n");
    sent.documents.saved_for_tools(&sent.uri);
    assert_eq!(
        changed(&sent),
        UnsavedChanges::ByUser,
        "typed after it was saved"
    );

    let sent = Sent::new().shows(4, "typed\n");
    assert_eq!(changed(&sent), UnsavedChanges::ByUser);
    let half = Sent::new().shows(4, "one\ntwo\n3\n");
    half.documents.give_up(&half.uri);
    assert_eq!(changed(&half), UnsavedChanges::ByUser);
    let late = Sent::new();
    late.documents.give_up(&late.uri);
    assert_eq!(changed(&late), UnsavedChanges::No);
    assert_eq!(changed(&late.shows(4, NEW)), UnsavedChanges::ByUser);
}

#[test]
fn versions_are_left_out_only_where_the_client_says_no() {
    let uri = Url::parse("file:///a.txt").unwrap();
    let edits = || Splices::between("a", "b").text_edits(Counting::plain(false));
    let shown =
        |versions| serde_json::to_value(workspace_edit(&uri, 7, edits(), versions)).unwrap();
    let range = serde_json::json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    let edit = serde_json::json!([{"range": range, "newText": "b"}]);
    assert_eq!(
        shown(true),
        serde_json::json!({"documentChanges": [
            {"textDocument": {"uri": "file:///a.txt", "version": 7}, "edits": edit}
        ]})
    );
    assert_eq!(
        shown(false),
        serde_json::json!({"changes": {"file:///a.txt": edit}})
    );
}

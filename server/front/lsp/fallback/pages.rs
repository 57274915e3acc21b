//! Files that the client is shown: what does not fit into a message, what is written in, transcripts. They are
//! the user's alone, in the folder of their conversation, and go with it.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use aside_base::{homes::home, private};
use aside_session::conversation::Conversation;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower_lsp::lsp_types::{Position, Range, ShowDocumentParams, Url, request::ShowDocument};

use super::{super::client::reply::ReplyError, state::Fallback};

/// Time limit for a client's word that it shows a page.
const SHOWING: Duration = Duration::from_secs(10);
/// Time for a client to draw a page before the message about it is sent. Some clients show a message before they draw,
/// so that the page would not be on the screen while its message is.
const DRAWING: Duration = Duration::from_millis(100);

/// Whether a page is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::front::lsp) enum PageShown {
    /// The client says so.
    Yes,
    /// The client cannot, or did not.
    No,
    /// The client says nothing: it may be busy with the person, and show it later.
    Unsaid,
}

impl Fallback {
    /// Shows a file in the editor, at a line, counted from 0.
    pub(in crate::front::lsp) async fn show_page(
        &self,
        path: &Path,
        focus: bool,
        line: u32,
    ) -> PageShown {
        let reply = self.request_page(path, focus, line);
        timeout(SHOWING, reply).await.unwrap_or(PageShown::Unsaid)
    }

    /// Shows a file that the person wants to see, however long the client takes: it may be busy with a message of ours.
    /// `Unsaid` where nobody wants it any more.
    pub(super) async fn show_wanted_page(
        &self,
        path: &Path,
        unwanted: &CancellationToken,
    ) -> PageShown {
        tokio::select! {
            biased;
            () = unwanted.cancelled() => PageShown::Unsaid,
            shown = self.request_page(path, true, 0) => shown,
        }
    }

    async fn request_page(&self, path: &Path, focus: bool, line: u32) -> PageShown {
        let Ok(uri) = Url::from_file_path(path) else {
            return PageShown::No;
        };
        if !self.handles.client.can().shows_pages() {
            return PageShown::No;
        }
        let at = Position::new(line, 0);
        let params = ShowDocumentParams {
            uri,
            external: Some(false),
            take_focus: Some(focus),
            selection: Some(Range::new(at, at)),
        };
        match self.handles.client.request::<ShowDocument>(params).await {
            Ok(reply) if reply.success => PageShown::Yes,
            Ok(_) | Err(ReplyError::Failed(_) | ReplyError::Unknown) => PageShown::No,
            Err(ReplyError::ConnectionOver) => PageShown::Unsaid,
        }
    }
}

/// Waits until a page that the client just showed is drawn, or nobody wants it any more.
pub(super) async fn drawn(unwanted: &CancellationToken) {
    tokio::select! {
        biased;
        () = unwanted.cancelled() => {}
        () = sleep(DRAWING) => {}
    }
}

/// A path as a person types it.
pub(super) fn typed(path: &Path) -> String {
    let home = home();
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(
        || path.display().to_string(),
        |below| format!("~/{}", below.display()),
    )
}

/// Folder of a conversation's pages.
pub(super) fn folder(conversation: &Conversation) -> PathBuf {
    conversation.folder().join("pages")
}

/// Takes away the pages of a conversation's earlier turns.
///
/// # Errors
/// Where they cannot be removed.
pub(super) fn clear(conversation: &Conversation) -> io::Result<()> {
    match fs::remove_dir_all(folder(conversation)) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}

/// A new page that only the user may read.
///
/// # Errors
/// Where it cannot be written.
pub(in crate::front::lsp) fn create(
    folder: &Path,
    name: &str,
    ending: &str,
    text: &str,
) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(name)
        .suffix(ending)
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep().map_err(|failed| failed.error)?;
    Ok(path)
}

/// Writes a page anew, at once and whole.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    private::replace(path, text.as_bytes())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_page_has_time_to_be_drawn_while_somebody_wants_it() {
        let (begin, unwanted) = (Instant::now(), CancellationToken::new());
        drawn(&unwanted).await;
        assert_eq!(begin.elapsed(), DRAWING);
        unwanted.cancel();
        drawn(&unwanted).await;
        assert_eq!(begin.elapsed(), DRAWING);
    }

    #[test]
    fn pages_are_the_users_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = create(&folder.path().join("pages"), "prompt-", ".txt", "one").unwrap();
        assert!(
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("prompt-")
        );
        replace(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

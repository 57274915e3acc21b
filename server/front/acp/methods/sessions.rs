//! `session/new`, `session/load` and other methods on a session as a whole.

use aside_base::system::folders::canonical;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
    ForkSessionRequest, ForkSessionResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse,
    ResumeSessionRequest, ResumeSessionResponse, SessionConfigOption, SessionId, SessionInfo,
    SessionModeState, SetSessionTitleRequest, SetSessionTitleResponse,
};
use aside_config::settings;
use aside_session::{
    conversation::{Conversation, ConversationSummary, ForkExtent},
    record::time_text,
    store::StoreError,
};

use super::super::{
    commands, connection::AcpConnection, options, replay, root::SessionRoot, session::Session,
};
use crate::{
    engine::clock::Clock,
    front::{
        error::{RequestError, Result, invalid, not_found},
        transport::in_order::let_next_begin,
    },
};

/// Number of sessions on a page of `session/list`.
const PAGE: usize = 50;

/// Age at which an empty session is deleted. A client may leave one open for days before its first message.
const EMPTY: Duration = Duration::from_hours(30 * 24);

/// Serves the method `session/new`. The session is on disk before the answer.
pub(in super::super) async fn new(
    at: Arc<AcpConnection>,
    params: NewSessionRequest,
) -> Result<NewSessionResponse> {
    let engine = at.engine.clone();
    let made = at.disk.of_conversation("", move || {
        let root = root(&params.cwd)?;
        let store = engine.conversations().store(&root.real)?;
        let conversation = store.create(None, Clock::start().now())?;
        Ok((conversation, root))
    });
    let (conversation, root) = made.await?;
    // Once is enough while a session is open in the folder.
    let is_first = !at.roots().contains(&root.real);
    let session = open(&at, conversation.id(), root, params.mcp_servers);
    let (modes, options) = choices(&at, &session).await;
    if is_first {
        forget_empty(&at, session.root.real.clone());
    }
    Ok(NewSessionResponse::new(session.id.clone())
        .modes(modes)
        .config_options(options))
}

/// Serves the method `session/load`. The whole history is sent before the answer.
pub(in super::super) async fn load(
    at: Arc<AcpConnection>,
    params: LoadSessionRequest,
) -> Result<LoadSessionResponse> {
    let (conversation, root) = find(&at, &params.session_id, params.cwd).await?;
    let session = open(&at, conversation.id(), root, params.mcp_servers);
    replay::show(&at, &session, conversation).await?;
    let (modes, options) = choices(&at, &session).await;
    Ok(LoadSessionResponse::new()
        .modes(modes)
        .config_options(options))
}

/// Serves the method `session/resume`.
pub(in super::super) async fn resume(
    at: Arc<AcpConnection>,
    params: ResumeSessionRequest,
) -> Result<ResumeSessionResponse> {
    let (conversation, root) = find(&at, &params.session_id, params.cwd).await?;
    let session = open(&at, conversation.id(), root, params.mcp_servers);
    let (modes, options) = choices(&at, &session).await;
    Ok(ResumeSessionResponse::new()
        .modes(modes)
        .config_options(options))
}

/// Serves the method `session/fork`.
pub(in super::super) async fn fork(
    at: Arc<AcpConnection>,
    params: ForkSessionRequest,
) -> Result<ForkSessionResponse> {
    let (conversation, root) = find(&at, &params.session_id, params.cwd).await?;
    let (engine, place) = (at.engine.clone(), root.real.clone());
    let id = params.session_id.0.clone();
    let forked = at.disk.of_conversation(&id, move || {
        let conversations = engine.conversations();
        Ok(conversations.fork(&place, &conversation, ForkExtent::Now)?)
    });
    let session = open(&at, forked.await?.id(), root, params.mcp_servers);
    let (modes, options) = choices(&at, &session).await;
    Ok(ForkSessionResponse::new(session.id.clone())
        .modes(modes)
        .config_options(options))
}

/// Serves the method `session/list`: the newest first, of one folder if it is named. Empty sessions are left out,
/// because clients create one before the first message.
pub(in super::super) async fn list(
    at: Arc<AcpConnection>,
    params: ListSessionsRequest,
) -> Result<ListSessionsResponse> {
    let (engine, open, connection) = (at.engine.clone(), at.roots(), at.clone());
    let cwd = params.cwd;
    let listed = at.disk.of_all(move || {
        let roots = match &cwd {
            // The folder may have been deleted.
            Some(cwd) => vec![(absolute(cwd)?, cwd.clone())],
            None => {
                let here = std::env::current_dir().ok();
                let roots = engine
                    .conversations()
                    .places(here.into_iter().chain(open).collect());
                let called = |root: PathBuf| {
                    let called = connection.called(&root);
                    (root, called)
                };
                roots.into_iter().map(called).collect()
            }
        };
        let mut all: Vec<(ConversationSummary, PathBuf)> = Vec::new();
        for (root, named) in roots {
            let listed = engine.conversations().store(&root)?.list()?;
            let said = listed.into_iter().filter(|it| !is_empty(it));
            all.extend(said.map(|it| (it, named.clone())));
        }
        all.sort_by(|(one, _), (other, _)| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
        Ok(all)
    });
    page(listed.await?, params.cursor.as_deref())
}

/// Serves the method `session/close`: cancels everything that runs in the session.
pub(in super::super) async fn close(
    at: Arc<AcpConnection>,
    params: CloseSessionRequest,
) -> Result<CloseSessionResponse> {
    at.session(&params.session_id)?;
    end(&at, &params.session_id).await;
    Ok(CloseSessionResponse::new())
}

/// Serves the method `session/delete`. A missing session counts as deleted.
pub(in super::super) async fn delete(
    at: Arc<AcpConnection>,
    params: DeleteSessionRequest,
) -> Result<DeleteSessionResponse> {
    let roots = places(&at);
    end(&at, &params.session_id).await;
    let (engine, id) = (at.engine.clone(), params.session_id.0.clone());
    let deleted = at.disk.of_conversation(&params.session_id.0, move || {
        let conversations = engine.conversations();
        match conversations.find(roots, &id) {
            Ok((conversation, root)) => Ok(conversations.delete(&root, &conversation)?),
            Err(StoreError::Unknown(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    deleted.await?;
    Ok(DeleteSessionResponse::new())
}

/// Serves the method `session/set_title`.
pub(in super::super) async fn set_title(
    at: Arc<AcpConnection>,
    params: SetSessionTitleRequest,
) -> Result<SetSessionTitleResponse> {
    let title = params.title.trim().to_owned();
    if title.is_empty() {
        return Err(invalid("title is empty"));
    }
    let (engine, roots) = (at.engine.clone(), places(&at));
    let (id, named) = (params.session_id.0.clone(), title.clone());
    let renamed = at.disk.of_conversation(&params.session_id.0, move || {
        let conversations = engine.conversations();
        let (conversation, root) = conversations.find(roots, &id).map_err(not_found)?;
        Ok(conversations.rename(&root, &conversation, &named)?)
    });
    renamed.await?;
    Ok(SetSessionTitleResponse::new(title))
}

/// Whether a session has neither messages nor a title of the user.
fn is_empty(listed: &ConversationSummary) -> bool {
    listed.turns == 0 && listed.title.is_empty()
}

/// Deletes old empty sessions of a folder, after the client has its answer.
fn forget_empty(at: &Arc<AcpConnection>, root: PathBuf) {
    let (connection, disk) = (at.clone(), at.disk.clone());
    let forget = move || {
        let conversations = connection.engine.conversations();
        let store = conversations.store(&root)?;
        let now = Clock::start().now();
        for old in store.list()? {
            let is_open = connection.session(&old.id.clone().into()).is_ok();
            if !is_open && is_empty(&old) && old.updated + EMPTY < now {
                let conversation = store.find(&old.id).map_err(not_found)?;
                conversations.delete(&root, &conversation)?;
            }
        }
        Ok(())
    };
    at.tasks
        .spawn_until("empty sessions", at.gone.clone(), async move {
            if let Err(why) = disk.run(forget).await {
                tracing::info!(%why, "an empty session was not deleted");
            }
        });
}

/// Cancels everything that runs in an open session and waits for its end.
async fn end(at: &AcpConnection, id: &SessionId) {
    if at.close(id).is_some() {
        let_next_begin();
        at.engine.conversations().running().idle(&id.0).await;
    }
}

fn open(
    at: &Arc<AcpConnection>,
    id: &str,
    root: SessionRoot,
    servers: Vec<McpServer>,
) -> Arc<Session> {
    let servers = servers.into_iter().filter_map(server).collect();
    let session = at.open(Session::new(id.to_owned(), root, servers));
    commands::announce(at, &session);
    session
}

/// The options of a session. `None` if the configuration is invalid; the next prompt reports the error.
async fn choices(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
) -> (Option<SessionModeState>, Option<Vec<SessionConfigOption>>) {
    let (connection, of) = (at.clone(), session.clone());
    let read = at.disk.run(move || options::read(&connection, &of)).await;
    read.map_or((None, None), |read| {
        (Some(read.modes()), Some(read.options()))
    })
}

/// The conversation of a session in its folder.
async fn find(
    at: &AcpConnection,
    id: &SessionId,
    cwd: PathBuf,
) -> Result<(Conversation, SessionRoot)> {
    let (engine, of) = (at.engine.clone(), id.0.clone());
    let found = at.disk.of_conversation(&id.0, move || {
        let root = root(&cwd)?;
        let found = engine.conversations().store(&root.real)?.find(&of);
        let found = found.map_err(not_found)?;
        match found.id() == &*of {
            true => Ok((found, root)),
            false => Err(RequestError::UnknownConversation(of.to_string())),
        }
    });
    found.await
}

/// Folders that may hold conversations: those of open sessions and the current one.
fn places(at: &AcpConnection) -> Vec<PathBuf> {
    let here = std::env::current_dir().ok();
    at.roots().into_iter().chain(here).collect()
}

/// The folder of a session, which has to be there.
fn root(cwd: &Path) -> Result<SessionRoot> {
    let root = absolute(cwd)?;
    if !root.is_dir() {
        return Err(invalid("cwd is not a folder"));
    }
    Ok(SessionRoot::new(root, cwd))
}

fn absolute(cwd: &Path) -> Result<PathBuf> {
    if !cwd.is_absolute() {
        return Err(invalid("cwd is not an absolute path"));
    }
    Ok(canonical(cwd).unwrap_or_else(|_| cwd.to_owned()))
}

/// A page of the list and its cursor, which holds the time and id of the last entry.
fn page(
    all: Vec<(ConversationSummary, PathBuf)>,
    cursor: Option<&str>,
) -> Result<ListSessionsResponse> {
    let from = match cursor {
        None => None,
        Some(cursor) => Some(
            cursor
                .split_once(' ')
                .ok_or_else(|| invalid("cursor is none that session/list gave"))?,
        ),
    };
    let older = |listed: &ConversationSummary| match from {
        None => true,
        Some((time, id)) => (time_text(listed.updated).as_str(), listed.id.as_str()) < (time, id),
    };
    let mut rest = all.into_iter().filter(|(listed, _)| older(listed));
    let page: Vec<SessionInfo> = rest.by_ref().take(PAGE).map(info).collect();
    let last = page.last().filter(|_| rest.next().is_some());
    let next = last.map(|last| {
        let time = last.updated_at.clone().unwrap_or_default();
        format!("{time} {}", last.session_id)
    });
    Ok(ListSessionsResponse::new(page).next_cursor(next))
}

fn info((listed, root): (ConversationSummary, PathBuf)) -> SessionInfo {
    let title = Some(listed.title).filter(|title| !title.is_empty());
    SessionInfo::new(listed.id, root)
        .title(title)
        .updated_at(time_text(listed.updated))
}

/// Converts an MCP server of the client to the settings. `None` for a transport that Aside did not announce.
fn server(given: McpServer) -> Option<(String, settings::McpServer)> {
    let given = match given {
        McpServer::Stdio(given) => given,
        McpServer::Http(given) => {
            let headers = given
                .headers
                .into_iter()
                .map(|it| (it.name, it.value.into()));
            let server = settings::McpServer {
                url: Some(given.url),
                headers: headers.collect(),
                ..settings::McpServer::default()
            };
            return Some((given.name, server));
        }
        _ => return None,
    };
    let env = given.env.into_iter().map(|it| (it.name, it.value.into()));
    let server = settings::McpServer {
        command: Some(given.command.display().to_string()),
        args: given.args,
        env: env.collect(),
        ..settings::McpServer::default()
    };
    Some((given.name, server))
}

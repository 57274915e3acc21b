//! `session/set_mode` and `session/set_config_option`: choices for the next turns.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, CurrentModeUpdate, SessionConfigOptionValue, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};

use super::super::{
    connection::AcpConnection,
    options::{self, SessionOptions},
    session::Session,
};
use crate::front::error::{Result, invalid};

/// Serves the method `session/set_mode`.
pub(in super::super) async fn set_mode(
    at: Arc<AcpConnection>,
    params: SetSessionModeRequest,
) -> Result<SetSessionModeResponse> {
    let session = at.session(&params.session_id)?;
    choose(&at, &session, "mode", &params.mode_id.0).await?;
    Ok(SetSessionModeResponse::new())
}

/// Serves the method `session/set_config_option`.
pub(in super::super) async fn set_option(
    at: Arc<AcpConnection>,
    params: SetSessionConfigOptionRequest,
) -> Result<SetSessionConfigOptionResponse> {
    let session = at.session(&params.session_id)?;
    let SessionConfigOptionValue::ValueId { value } = params.value else {
        return Err(invalid("value: it is not one of the option's values"));
    };
    let options = choose(&at, &session, &params.config_id.0, &value.0).await?;
    Ok(SetSessionConfigOptionResponse::new(options.options()))
}

/// Sets an option and notifies the client of it both as an option and as the mode.
async fn choose(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
    option: &str,
    value: &str,
) -> Result<SessionOptions> {
    let (connection, of) = (at.clone(), session.clone());
    let (option, value) = (option.to_owned(), value.to_owned());
    let chosen = at.disk.of_conversation(&session.id.0, move || {
        let before = options::read(&connection, &of)?;
        of.choose(before.with(&option, &value)?);
        Ok((before, options::read(&connection, &of)?))
    });
    let (before, now) = chosen.await?;
    if before.mode() != now.mode() {
        let mode = CurrentModeUpdate::new(now.mode());
        at.client
            .update(&session.id, SessionUpdate::CurrentModeUpdate(mode));
    }
    let all = ConfigOptionUpdate::new(now.options());
    at.client
        .update(&session.id, SessionUpdate::ConfigOptionUpdate(all));
    Ok(now)
}

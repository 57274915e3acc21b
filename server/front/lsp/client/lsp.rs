//! LSP's own methods that the client is called with, in the form of the protocol's table.

use tower_lsp::lsp_types::{
    notification::{LogMessage, Notification, Progress, ShowMessage},
    request::{
        ApplyWorkspaceEdit, RegisterCapability, Request, ShowDocument, ShowMessageRequest,
        WorkDoneProgressCreate, WorkspaceConfiguration,
    },
};

use crate::front::wire::methods::{ClientNotification, ClientRequest};

macro_rules! requests {
    ($($method:ty),+ $(,)?) => {$(
        impl ClientRequest for $method {
            const NAME: &'static str = <$method as Request>::METHOD;
            const IS_SECRET: bool = false;
            type Params = <$method as Request>::Params;
            type Result = <$method as Request>::Result;
        }
    )+};
}

macro_rules! notifications {
    ($($method:ty),+ $(,)?) => {$(
        impl ClientNotification for $method {
            const NAME: &'static str = <$method as Notification>::METHOD;
            type Params = <$method as Notification>::Params;
        }
    )+};
}

requests!(
    ApplyWorkspaceEdit,
    RegisterCapability,
    ShowDocument,
    ShowMessageRequest,
    WorkDoneProgressCreate,
    WorkspaceConfiguration,
);
notifications!(LogMessage, Progress, ShowMessage);

//! The questions that a server asks while a call runs, put to the person of that call.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use aside_turn::question::{Answer, Question};
use futures_util::future::BoxFuture;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
        ElicitResult, ElicitationCapability, ErrorCode, FormElicitationCapability, Implementation,
        ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Value, json};

use super::{
    form::{Form, FormFault},
    settings::HideSecrets,
};

/// Asks the person of a call; the words for the model where there is no answer.
pub(super) type AskPerson =
    Arc<dyn Fn(Question) -> BoxFuture<'static, Result<Answer, String>> + Send + Sync>;

/// What a connection's server may ask, and what it said besides.
pub(super) struct ServerQuestions {
    hide: HideSecrets,
    /// The call that runs. Of the older protocol no request says which call it belongs to, so that one runs at a time.
    asks: Mutex<Option<AskPerson>>,
    /// What was wrong with what it asked in this call.
    fault: Mutex<Option<FormFault>>,
    /// Why something that it asked in this call was not answered.
    unanswered: Mutex<Option<String>>,
    /// It said that its tools are others now.
    changed: AtomicBool,
}

impl ServerQuestions {
    /// Nobody is asked so far.
    pub(super) fn new(hide: HideSecrets) -> Self {
        Self {
            hide,
            asks: Mutex::default(),
            fault: Mutex::default(),
            unanswered: Mutex::default(),
            changed: AtomicBool::default(),
        }
    }

    /// From now on this person is asked; nobody, where it is none.
    pub(super) fn ask_through(&self, person: Option<AskPerson>) {
        *lock(&self.fault) = None;
        *lock(&self.unanswered) = None;
        *lock(&self.asks) = person;
    }

    /// What was wrong with what it asked.
    pub(super) fn take_fault(&self) -> Option<FormFault> {
        lock(&self.fault).take()
    }

    /// Why something that it asked in this call was not answered, in the words for the model.
    pub(super) fn take_unanswered(&self) -> Option<String> {
        lock(&self.unanswered).take()
    }

    /// Its tools are others now. They count from the next turn on.
    pub(super) fn has_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Whether its tools changed since this was asked last.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// What the server is answered to `elicitation/create`.
    async fn answer(&self, mut params: Value) -> Value {
        let decline = || json!({"action": "decline"});
        self.hide.in_json(&mut params);
        let Some(person) = lock(&self.asks).clone() else {
            return decline();
        };
        let form = match Form::read(&params, "form") {
            Ok(form) => form,
            Err(fault) => {
                *lock(&self.fault) = Some(fault);
                return decline();
            }
        };
        let mut answers = Vec::new();
        for question in form.questions() {
            match person(question.clone()).await {
                Ok(Answer::Value(value)) => answers.push(value),
                // No form asks for one.
                Ok(Answer::Secret(_)) => return decline(),
                Err(why) => {
                    lock(&self.unanswered).get_or_insert(why);
                    return decline();
                }
            }
        }
        form.reply(&answers)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holds one value, which is whole after every change.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Aside as a server sees it.
pub(super) struct AsideClient {
    pub(super) questions: Arc<ServerQuestions>,
    pub(super) version: ProtocolVersion,
}

impl ClientHandler for AsideClient {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.questions.answer(params).await;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method == "elicitation/create" {
            // A form of a kind that the typed request does not have.
            let answer = self.questions.answer(params.unwrap_or_default()).await;
            return Ok(CustomResult(answer));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.questions.has_changed();
    }

    fn get_info(&self) -> ClientConfig {
        let mut can = ClientCapabilities::default();
        let forms = FormElicitationCapability::default();
        can.elicitation = Some(ElicitationCapability::default().with_form(forms));
        let about = Implementation::new("aside", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(can, about).with_protocol_version(self.version.clone())
    }
}

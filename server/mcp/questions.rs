//! Puts questions that a server asks during a call to the person behind that call.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use aside_base::{lock, visible::short_line};
use aside_turn::question::{Answer, Question};
use futures_util::future::BoxFuture;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
        ElicitResult, ElicitationCapability, ErrorCode, FormElicitationCapability, Implementation,
        ProgressNotificationParam, ProgressToken, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    form::{Form, FormFault, clean},
    settings::HideSecrets,
};

/// Maximum length of what a server says of its progress at once.
const MAX_PROGRESS: usize = 200;

/// Asks the person behind a call. Returns a sentence for the model if there is no answer.
pub(super) type AskPerson =
    Arc<dyn Fn(Question) -> BoxFuture<'static, Result<Answer, String>> + Send + Sync>;

/// Reports what a server says of the progress of a call.
pub(super) type ReportProgress = Box<dyn Fn(&str) + Send + Sync>;

/// Questions and notices of one connection's server.
pub(super) struct ServerQuestions {
    hide: HideSecrets,
    /// The person behind the running call. Requests of the older protocol do not name their call, so only one call runs
    /// at a time.
    asks: Mutex<Option<AskPerson>>,
    /// Fault of a form in this call.
    fault: Mutex<Option<FormFault>>,
    /// Reason why a question in this call was not answered.
    unanswered: Mutex<Option<String>>,
    /// Whether the server announced that its tools changed.
    changed: AtomicBool,
    /// Reports on the progress of the calls that run.
    progress: Mutex<HashMap<ProgressToken, ReportProgress>>,
}

/// A call whose progress is reported as long as this is held: however the call ends.
pub(super) struct ProgressHeard<'a>(&'a ServerQuestions, ProgressToken);

impl Drop for ProgressHeard<'_> {
    fn drop(&mut self) {
        lock(&self.0.progress).remove(&self.1);
    }
}

/// The person behind the running call, who can be asked as long as this is held: however the call ends.
pub(super) struct PersonAsked<'a>(&'a ServerQuestions);

impl Drop for PersonAsked<'_> {
    fn drop(&mut self) {
        *lock(&self.0.asks) = None;
    }
}

impl ServerQuestions {
    /// Starts without a person to ask.
    pub(super) fn new(hide: HideSecrets) -> Self {
        Self {
            hide,
            asks: Mutex::default(),
            fault: Mutex::default(),
            unanswered: Mutex::default(),
            changed: AtomicBool::default(),
            progress: Mutex::default(),
        }
    }

    /// Reports the progress of a call until the result is dropped.
    pub(super) fn hear_progress(
        &self,
        token: ProgressToken,
        report: ReportProgress,
    ) -> ProgressHeard<'_> {
        lock(&self.progress).insert(token.clone(), report);
        ProgressHeard(self, token)
    }

    fn has_progressed(&self, params: &ProgressNotificationParam) {
        let said = self.hide.in_text(&progress(params));
        if let Some(report) = lock(&self.progress).get(&params.progress_token) {
            report(&said);
        }
    }

    /// Sets the person to ask until the result is dropped, and clears the faults of the previous call.
    pub(super) fn ask_through(&self, person: AskPerson) -> PersonAsked<'_> {
        *lock(&self.fault) = None;
        *lock(&self.unanswered) = None;
        *lock(&self.asks) = Some(person);
        PersonAsked(self)
    }

    /// Takes the fault of a form, if there was one.
    pub(super) fn take_fault(&self) -> Option<FormFault> {
        lock(&self.fault).take()
    }

    /// Takes the reason, as a sentence for the model, why a question in this call was not answered.
    pub(super) fn take_unanswered(&self) -> Option<String> {
        lock(&self.unanswered).take()
    }

    /// Notes that the tools changed. The next turn lists them again.
    pub(super) fn has_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Whether the tools changed since the last call of this function.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// Answers `elicitation/create`, unless the server takes it back.
    async fn answer(&self, params: Value, taken_back: &CancellationToken) -> Value {
        tokio::select! {
            biased;
            () = taken_back.cancelled() => json!({"action": "cancel"}),
            answer = self.of_person(params) => answer,
        }
    }

    async fn of_person(&self, mut params: Value) -> Value {
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
                // No form contains a secret question.
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

/// One line on the progress of a call.
fn progress(params: &ProgressNotificationParam) -> String {
    let count = match params.total {
        Some(total) => format!("{} of {total}", params.progress),
        None => params.progress.to_string(),
    };
    let words = clean(params.message.as_deref().unwrap_or_default());
    match short_line(words.trim(), MAX_PROGRESS) {
        words if words.is_empty() => format!("{count}\n"),
        words => format!("{words} ({count})\n"),
    }
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
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.questions.answer(params, &context.ct).await;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method == "elicitation/create" {
            // A form of a kind that the SDK's request type does not cover.
            let params = params.unwrap_or_default();
            let answer = self.questions.answer(params, &context.ct).await;
            return Ok(CustomResult(answer));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.questions.has_progressed(&params);
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

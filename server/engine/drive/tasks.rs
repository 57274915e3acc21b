//! The tasks of a turn. All of them end with the turn. A panic is reported to the turn as an error of the request or
//! call that the task worked on.

use std::{collections::HashMap, future::Future, time::Duration};

use aside_provider::{ModelRequest, Provider};
use aside_turn::{
    input::{Input, Preparation, RequestId, ToolOutcome, ToolOutput},
    record::CallKey,
    response::{Failure, FailureClass, Piece},
};
use futures_util::StreamExt;
use tokio::{
    sync::mpsc,
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Time that a tool's task may take after its token was cancelled. Its processes are killed earlier.
const GRACE_TIME: Duration = Duration::from_secs(5);

/// An event of a task or a tool.
#[derive(Debug)]
pub(in crate::engine) enum Happening {
    /// An input for the turn.
    Turn(Input),
    /// Output of a running call.
    Output(CallKey, String),
}

#[derive(Clone, Copy, Debug)]
enum What {
    Request(RequestId),
    Preparation(CallKey),
    Run(CallKey),
    Check,
}

/// The tasks of one turn.
pub(in crate::engine) struct TurnTasks {
    set: JoinSet<()>,
    what: HashMap<Id, What>,
    requests: HashMap<RequestId, AbortHandle>,
    runs: HashMap<CallKey, CancellationToken>,
    token: CancellationToken,
    happenings: mpsc::Sender<Happening>,
}

impl TurnTasks {
    pub(in crate::engine) fn new(happenings: mpsc::Sender<Happening>) -> Self {
        Self {
            set: JoinSet::new(),
            what: HashMap::new(),
            requests: HashMap::new(),
            runs: HashMap::new(),
            token: CancellationToken::new(),
            happenings,
        }
    }

    /// Sends a request and passes on its pieces.
    pub(in crate::engine) fn request(
        &mut self,
        id: RequestId,
        provider: std::sync::Arc<dyn Provider>,
        request: ModelRequest,
    ) {
        let happenings = self.happenings.clone();
        let handle = self.spawn(What::Request(id), async move {
            if let Err(failure) = stream(id, provider.as_ref(), request, &happenings).await {
                tell(&happenings, Input::Failed(id, failure)).await;
            }
        });
        self.requests.insert(id, handle);
    }

    /// Reports the failure of a request that could not be sent.
    pub(in crate::engine) fn fail(&mut self, id: RequestId, text: String) {
        let happenings = self.happenings.clone();
        let failure = Failure {
            class: FailureClass::Other,
            text,
            advice: None,
            retry_after: None,
        };
        self.spawn(What::Request(id), async move {
            tell(&happenings, Input::Failed(id, failure)).await;
        });
    }

    /// Aborts a request.
    pub(in crate::engine) fn abort(&mut self, id: RequestId) {
        if let Some(handle) = self.requests.remove(&id) {
            handle.abort();
        }
    }

    pub(in crate::engine) fn prepare(
        &mut self,
        call: CallKey,
        limit: Duration,
        prepare: impl Future<Output = Preparation> + Send + 'static,
    ) {
        let happenings = self.happenings.clone();
        self.spawn(What::Preparation(call), async move {
            let slow = || {
                let seconds = limit.as_secs();
                Preparation::Error(format!(
                    "Preparing the call took longer than {seconds} s; it was not run."
                ))
            };
            let preparation = timeout(limit, prepare).await.unwrap_or_else(|_| slow());
            tell(&happenings, Input::Prepared(call, preparation)).await;
        });
    }

    /// Runs a call. Its token is cancelled by [`TurnTasks::stop`] and with the turn.
    pub(in crate::engine) fn run<F: Future<Output = ToolOutcome> + Send + 'static>(
        &mut self,
        call: CallKey,
        run: impl FnOnce(CancellationToken) -> F,
    ) {
        let token = self.token.child_token();
        self.runs.insert(call, token.clone());
        let happenings = self.happenings.clone();
        let run = run(token.clone());
        self.spawn(What::Run(call), async move {
            let given_up = async {
                token.cancelled().await;
                tokio::time::sleep(GRACE_TIME).await;
            };
            let outcome = tokio::select! {
                outcome = run => outcome,
                () = given_up => ToolOutcome::Stopped,
            };
            tell(&happenings, Input::Finished(call, outcome)).await;
        });
    }

    pub(in crate::engine) fn stop(&mut self, call: CallKey) {
        if let Some(token) = self.runs.get(&call) {
            token.cancel();
        }
    }

    pub(in crate::engine) fn check(
        &mut self,
        check: impl Future<Output = Result<serde_json::Value, String>> + Send + 'static,
    ) {
        let happenings = self.happenings.clone();
        self.spawn(What::Check, async move {
            let checked = check.await;
            tell(&happenings, Input::Checked(checked)).await;
        });
    }

    fn spawn(
        &mut self,
        what: What,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        let handle = self.set.spawn(task);
        self.what.insert(handle.id(), what);
        handle
    }

    /// Waits until a task panics, and returns the resulting input for the turn.
    pub(in crate::engine) async fn next_panic(&mut self) -> Input {
        loop {
            match self.set.join_next_with_id().await {
                None => std::future::pending().await,
                Some(Ok((id, ()))) => drop(self.what.remove(&id)),
                Some(Err(error)) => {
                    let what = self.what.remove(&error.id());
                    if let Some(input) = what.and_then(|what| of_panic(what, &error)) {
                        return input;
                    }
                }
            }
        }
    }

    /// Cancels all tasks, and drops those that have not ended after `within`.
    pub(in crate::engine) async fn close(&mut self, within: Duration) {
        self.token.cancel();
        for (_, handle) in self.requests.drain() {
            handle.abort();
        }
        let all = async { while self.set.join_next().await.is_some() {} };
        if timeout(within, all).await.is_err() {
            self.set.shutdown().await;
        }
    }
}

fn of_panic(what: What, error: &JoinError) -> Option<Input> {
    if error.is_cancelled() {
        return None;
    }
    tracing::error!(?what, "a task panicked");
    let defect = "because of an error in Aside; please report it";
    Some(match what {
        What::Request(id) => Input::Failed(
            id,
            Failure {
                class: FailureClass::Other,
                text: format!("The request could not be made {defect}."),
                advice: None,
                retry_after: None,
            },
        ),
        What::Preparation(call) => Input::Prepared(
            call,
            Preparation::Error(format!("The call could not be prepared {defect}.")),
        ),
        What::Run(call) => {
            let text = format!(
                "The tool ended without a result {defect}. The effects of the call are unknown."
            );
            Input::Finished(call, ToolOutcome::Error(ToolOutput::text(text)))
        }
        What::Check => Input::Checked(Err("the check failed because of an error in Aside".into())),
    })
}

async fn stream(
    id: RequestId,
    provider: &dyn Provider,
    request: ModelRequest,
    happenings: &mpsc::Sender<Happening>,
) -> Result<(), Failure> {
    let mut pieces = provider.send(request).await?;
    tell(happenings, Input::FirstByte(id)).await;
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        let last = matches!(piece, Piece::Finish(_));
        tell(happenings, Input::Piece(id, piece)).await;
        if last {
            return Ok(());
        }
    }
    Err(Failure {
        class: FailureClass::Broken,
        text: "The response ended before it was complete; the connection was lost.".into(),
        advice: None,
        retry_after: None,
    })
}

async fn tell(happenings: &mpsc::Sender<Happening>, input: Input) {
    // A closed channel means that the turn has ended.
    let _ = happenings.send(Happening::Turn(input)).await;
}

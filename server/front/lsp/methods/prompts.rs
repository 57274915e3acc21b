//! `aside/prompt/…`: open prompts, and answers by other means than the prompt's message.

use std::sync::Arc;

use aside_turn::question::AnswerType;

use super::super::connection::LspConnection;
use crate::front::{
    error::{RequestError, Result, invalid},
    relay::interrupted::resumable,
    wire::{
        Prompt, PromptAnswer,
        requests::{AnswerParams, Empty, PendingResult},
    },
};

/// Serves the method `aside/prompt/pending`.
pub(in super::super) async fn pending(at: Arc<LspConnection>, _: Empty) -> Result<PendingResult> {
    let open = at.prompts.all();
    let open = open.iter().map(|open| open.prompt.as_ref().clone());
    let mut prompts: Vec<Prompt> = open.collect();
    let (engine, workspace) = (at.engine.clone(), at.workspace.as_of_now());
    let interrupted = at
        .disk
        .of_all(move || Ok(resumable(engine.conversations(), workspace.roots())?));
    prompts.extend(interrupted.await?);
    Ok(PendingResult { prompts })
}

/// Serves the method `aside/prompt/answer`.
pub(in super::super) async fn answer(
    at: Arc<LspConnection>,
    params: AnswerParams,
) -> Result<Empty> {
    let open = at.prompts.get(&params.prompt_id);
    let open = open.ok_or(RequestError::UnknownPrompt(params.prompt_id))?;
    if open.prompt.answer_type == AnswerType::Secret
        && matches!(params.answer, PromptAnswer::Answer { .. })
    {
        return Err(invalid(
            "answer: a secret is typed where it was asked for, and nowhere else",
        ));
    }
    at.answer(&open, params.answer.into()).await?;
    Ok(Empty {})
}

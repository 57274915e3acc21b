//! Turns: what the model says, what it asks, and how it ends.

use std::{fs, path::Path};

use aside_conformance::script::{Reply, Script};
use serde_json::{Value, json};

use crate::{
    Toy,
    replies::Given,
    store::{Call, Turn},
    wrong::Wrong,
};

/// What a command comes to, which is not run here.
const RAN: &str = "Exit status 0.";

impl Toy {
    /// The next request of a turn, and what the model says to it.
    pub(crate) fn step(&mut self, id: &str) {
        let Some(turn) = self.store.turn(id) else {
            return;
        };
        turn.step += 1;
        turn.heard = turn.steers.len();
        turn.text.clear();
        let step = turn.step;
        let reply = chosen(&self.script, turn).cloned().unwrap_or_default();
        for (place, item) in reply.say.iter().enumerate() {
            if let Some(text) = &item.text {
                self.tell(id, json!({"kind": "text", "step": step, "text": text}));
                if let Some(turn) = self.store.turn(id) {
                    turn.text += text;
                }
            }
            if let Some(tool) = &item.call {
                let arguments = serde_json::to_value(&item.arguments).unwrap_or_default();
                self.call(id, format!("call_{step}_{place}"), tool, arguments);
            }
        }
        if reply.fault.is_some_and(|fault| fault.stall) {
            return;
        }
        self.show(id);
        self.advance(id);
    }

    fn call(&mut self, turn: &str, id: String, tool: &str, arguments: Value) {
        let prompt = self.store.id("p");
        let mut call = Call {
            id,
            tool: tool.to_owned(),
            arguments,
            prompt,
            unfit: 0,
            result: None,
        };
        self.tell_call(turn, &call, "waiting");
        if self.is_approved(&call) {
            call.result = Some(RAN.to_owned());
        }
        if let Some(turn) = self.store.turn(turn) {
            turn.calls.push(call);
        }
    }

    /// Tells where a call stands; `ask_user` is hidden.
    fn tell_call(&mut self, turn: &str, call: &Call, status: &str) {
        if call.is_permission() {
            let step = self.store.turn(turn).map(|turn| turn.step);
            self.tell(
                turn,
                json!({
                    "kind": "toolCall", "step": step, "callId": call.id, "name": call.tool,
                    "title": call.path(), "arguments": call.arguments, "status": status,
                }),
            );
        }
    }

    /// Tells what a call came to.
    pub(crate) fn tell_result(&mut self, turn: &str, call: &Call, given: &Given) {
        if !call.is_permission() {
            return;
        }
        let runs = matches!(given, Given::Answer(answer, _) if answer != "no");
        if runs {
            let uri = format!("file://{}", self.root.join(call.path()).display());
            self.tell_call(turn, call, "running");
            if !call.is_command() {
                self.tell(
                    turn,
                    json!({"kind": "edit", "callId": call.id, "uris": [uri]}),
                );
            }
        }
        let status = if runs { "ok" } else { "denied" };
        let summary = call.result.as_deref().unwrap_or_default();
        self.tell(
            turn,
            json!({"kind": "toolResult", "callId": call.id, "status": status, "summary": summary}),
        );
    }

    /// Goes on where no call is open.
    pub(crate) fn advance(&mut self, id: &str) {
        let Some(turn) = self.store.turn(id) else {
            return;
        };
        if turn.outcome.is_some() || turn.open().next().is_some() {
            return;
        }
        if turn.calls.is_empty() && turn.heard == turn.steers.len() {
            return self.end(id, "completed");
        }
        turn.results = turn
            .calls
            .drain(..)
            .filter_map(|call| call.result)
            .collect();
        self.step(id);
    }

    /// Shows the open prompts of a turn.
    pub(crate) fn show(&mut self, id: &str) {
        let calls: Vec<Call> = self
            .store
            .turn(id)
            .map(|turn| turn.open().cloned().collect())
            .unwrap_or_default();
        for call in &calls {
            self.tell(
                id,
                json!({
                    "kind": "question", "promptId": call.prompt, "callId": call.id, "promptKind": kind(call),
                    "label": label(call), "text": call.text(),
                }),
            );
            self.show_one(&call.prompt);
        }
    }

    /// Shows a prompt, for the first time or again.
    pub(crate) fn show_one(&mut self, prompt: &str) {
        if !self.knows {
            return self.show_fallback();
        }
        let Some(params) = self.prompt(prompt) else {
            return;
        };
        let request = self.ask("aside/prompt", &params);
        self.asked.insert(request, prompt.to_owned());
        if self.is(Wrong::PromptTwice) {
            self.ask("aside/prompt", &params);
        }
    }

    /// A prompt as it is shown.
    pub(crate) fn prompt(&mut self, prompt: &str) -> Option<Value> {
        let turn_id = self.store.turn_of_prompt(prompt)?;
        let conversation = self.store.of_turn(&turn_id);
        let turn = self.store.turn(&turn_id)?;
        let of = turn.open().count();
        let place = turn.open().position(|call| call.prompt == prompt)?;
        let call = turn.open().nth(place)?;
        let mut params = json!({
            "promptId": prompt, "conversationId": conversation, "turnId": turn_id,
            "tool": {"name": call.tool, "callId": call.id, "arguments": call.arguments},
            "kind": kind(call), "label": label(call), "text": call.text(), "answerType": call.answer_type(),
            "remember": false, "exclusive": true, "position": {"n": place + 1, "of": of},
        });
        if call.optional() {
            params["optional"] = json!(true);
        }
        if call.tool == "asker" {
            params["source"] = json!({"type": "tool", "name": call.tool});
        } else if call.is_command() {
            params["source"] = json!({"type": "tool", "name": call.tool});
            params["preview"] =
                json!({"kind": "command", "text": call.command(), "cwd": self.root});
        } else if call.is_permission() {
            let path = self.root.join(call.path());
            let old = fs::read_to_string(&path).unwrap_or_default();
            params["source"] = json!({"type": "tool", "name": call.tool});
            params["preview"] = json!({"kind": "diff", "uri": format!("file://{}", path.display()), "old": old, "new": call.content()});
        } else {
            params["source"] = json!({"type": "assistant"});
        }
        Some(params)
    }

    /// What a call that was answered comes to.
    pub(crate) fn result(root: &Path, call: &Call, given: &Given) -> String {
        let kind = &call.answer_type()["type"];
        match given {
            Given::Answer(answer, text) if call.is_permission() => {
                if answer == "no" {
                    return format!(
                        "The user did not allow {} to run. Do not retry it in this turn; ask or continue without it.",
                        call.tool
                    );
                }
                if call.is_command() {
                    return RAN.to_owned();
                }
                let text = text.as_deref().unwrap_or_else(|| call.content());
                match fs::write(root.join(call.path()), text) {
                    Ok(()) => format!("Wrote {}.", call.path()),
                    Err(error) => format!("{} was not written: {error}", call.path()),
                }
            }
            Given::Answer(answer, _) if call.tool == "asker" => answer.to_string(),
            Given::Answer(answer, _) => json!({"answer_type": kind, "answer": answer}).to_string(),
            Given::Dismissed(note) => {
                let text = "The user dismissed the question. Do not ask it again in this turn; continue without it or explain what is missing.";
                match note {
                    Some(note) => format!("{text}\nThe user said: {note}"),
                    None => text.into(),
                }
            }
            Given::Failed(why) | Given::Unfit(why) => {
                let what = if call.is_permission() {
                    "prompt"
                } else {
                    "question"
                };
                format!(
                    "{}: the {what} could not be shown: {why}. Do not retry this tool call in this turn.",
                    call.tool
                )
            }
        }
    }

    /// Cancels a turn: its prompts are withdrawn.
    pub(crate) fn cancel(&mut self, id: &str) {
        let open: Vec<String> = self
            .store
            .turn(id)
            .map(|turn| turn.open().map(|call| call.prompt.clone()).collect())
            .unwrap_or_default();
        for prompt in open {
            if self.knows {
                self.send(
                    "aside/prompt/dismiss",
                    json!({"promptId": prompt, "reason": "withdrawn"}),
                );
            }
            self.tell(
                id,
                json!({"kind": "question", "promptId": prompt, "outcome": "cancelled", "reason": "withdrawn"}),
            );
        }
        self.end(id, "cancelled");
    }

    fn end(&mut self, id: &str, outcome: &str) {
        let conversation = self.store.of_turn(id);
        let Some(turn) = self.store.turn(id) else {
            return;
        };
        turn.outcome = Some(outcome.to_owned());
        let text = turn.text.clone();
        let usage = json!({"inputTokens": 1, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0});
        let mut last = usage.clone();
        last["kind"] = json!("usage");
        if self.is(Wrong::FieldMissing) {
            last["outputTokens"] = Value::Null;
        }
        let completed = json!({
            "conversationId": conversation, "turnId": id, "outcome": outcome, "answer": text, "usage": usage,
            "refusals": [], "prompts": [],
        });
        if !self.is(Wrong::CompletedEarly) {
            self.tell(id, last.clone());
        }
        if self.knows {
            self.send("aside/turn/completed", completed.clone());
        } else {
            self.send("window/showMessage", json!({"type": 3, "message": text}));
        }
        if self.is(Wrong::CompletedEarly) {
            self.tell(id, last);
        }
        if self.is(Wrong::CompletedTwice) {
            self.send("aside/turn/completed", completed);
        }
        self.live.remove(id);
    }

    /// Tells the client what happened in a turn, and keeps it on record.
    pub(crate) fn tell(&mut self, id: &str, update: Value) {
        let conversation = self.store.of_turn(id);
        if let Some(turn) = self.store.turn(id) {
            turn.updates.push(update.clone());
        }
        let step = if self.is(Wrong::SeqGaps) { 2 } else { 1 };
        let Some(seq) = self.live.get_mut(id) else {
            return;
        };
        *seq += step;
        let params =
            json!({"conversationId": conversation, "turnId": id, "seq": *seq, "update": update});
        if self.knows {
            self.send("aside/turn/update", params);
        }
    }
}

fn kind(call: &Call) -> &'static str {
    if call.is_permission() {
        "runTool"
    } else {
        "question"
    }
}

fn label(call: &Call) -> &str {
    match call.tool.as_str() {
        "ask_user" => "Assistant",
        tool => tool,
    }
}

/// The reply of the script that fits the next request.
fn chosen<'a>(script: &'a Script, turn: &Turn) -> Option<&'a Reply> {
    let user = turn.steers.last().unwrap_or(&turn.prompt);
    script.reply.iter().find(|reply| {
        let when = &reply.when;
        when.step.is_none_or(|step| step == turn.step)
            && when.user.as_ref().is_none_or(|part| user.contains(part))
            && when.result.as_ref().is_none_or(|wanted| {
                turn.results
                    .iter()
                    .any(|result| result.contains(&wanted.contains))
            })
    })
}

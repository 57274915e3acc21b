//! Approvals and trust.

use std::fs;

use serde_json::{Value, json};

use crate::{
    Toy,
    methods::{Result, optional, refused, string},
    store::Call,
    wrong::Wrong,
};

impl Toy {
    pub(crate) fn consent_request(&mut self, method: &str, params: &Value) -> Option<Result> {
        Some(match method {
            "aside/approval/list" => Ok(json!({"items": self.store.approvals})),
            "aside/approval/revoke" => self.revoke(params),
            "aside/workspace/preview" => string(params, "folder").map(|_| self.preview()),
            "aside/workspace/trust" => self.trust(params),
            _ => return None,
        })
    }

    /// Keeps that a command is allowed for good.
    pub(crate) fn approve(&mut self, command: &str) {
        let approval = json!({
            "approvalId": self.store.id("a"), "tool": "run_command", "title": command, "text": command,
            "cwd": self.root, "approvedAt": "2000-01-01T00:00:00Z",
        });
        self.store.approvals.push(approval);
    }

    pub(crate) fn is_approved(&self, call: &Call) -> bool {
        let mut approvals = self.store.approvals.iter();
        call.is_command() && approvals.any(|kept| kept["text"] == call.command())
    }

    fn revoke(&mut self, params: &Value) -> Result {
        let id = string(params, "approvalId")?;
        let is_it = |kept: &Value| kept["approvalId"] == *id;
        if !self.store.approvals.iter().any(is_it) {
            return refused(-32602, format!("`approvalId`: there is no {id}"));
        }
        if !self.is(Wrong::RevokeForgotten) {
            self.store.approvals.retain(|kept| !is_it(kept));
        }
        Ok(json!({}))
    }

    /// The text of the workspace's file stands for all that trust is bound to.
    fn fingerprint(&self) -> String {
        fs::read_to_string(self.root.join("aside.toml")).unwrap_or_default()
    }

    fn preview(&self) -> Value {
        let fingerprint = self.fingerprint();
        let file: toml::Table = toml::from_str(&fingerprint).unwrap_or_default();
        let tools = file.get("conversation").and_then(|it| it.get("tools"));
        let starts: Vec<Value> = tools
            .and_then(toml::Value::as_table)
            .into_iter()
            .flatten()
            .map(|(name, tool)| json!({"kind": "tool", "name": name, "command": tool.get("command")}))
            .collect();
        json!({
            "trusted": self.trusted.as_ref() == Some(&fingerprint), "fingerprint": fingerprint, "starts": starts,
            "settings": [], "programs": [], "ignored": [],
        })
    }

    fn trust(&mut self, params: &Value) -> Result {
        let now = self.fingerprint();
        let shown = optional(params, "fingerprint")?;
        if shown.is_some_and(|shown| shown != now) && !self.is(Wrong::TrustUnseen) {
            return refused(-32602, "`fingerprint`: the workspace changed");
        }
        self.trusted = (params["trusted"] == true).then_some(now);
        Ok(json!({}))
    }
}

//! Conversion of Aside's updates to those of the protocol. Pure.

use std::{collections::HashMap, sync::Arc};

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, Cost, Diff, MessageId, Meta,
    Notice, NoticeSeverity, SessionInfoUpdate, SessionUpdate, Terminal, ToolCall, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use aside_base::visible::visible;
use aside_session::export::fenced;
use aside_tool::registry::Registry;
use aside_turn::{
    record::{Level, Status},
    rules::Class,
};
use serde_json::{Value, json};

use super::{capabilities::ClientAbilities, root::SessionRoot};
use crate::front::uri::file_path;
use crate::front::wire::{CallStatus, ShownChange, SummaryStatus, TurnUsage, Update};

/// Number of bytes of a command's output that are shown at its end, for clients that cannot show it live.
const OUTPUT: usize = 32 * 1024;

/// A turn that is being shown to a client.
pub(super) struct ShownTurn {
    turn: String,
    root: SessionRoot,
    can: ClientAbilities,
    registry: Arc<Registry>,
    /// Shown calls by the provider's id.
    calls: HashMap<String, ShownCall>,
    /// Number of restarted steps; the text of a restarted step gets another id.
    anew: u32,
    lines: u32,
    /// Number of summaries of the conversation in the turn.
    summaries: u32,
    /// Whether the last of them is under way.
    summarises: bool,
    /// Usage of the turn so far.
    usage: TurnUsage,
    /// Cost of the earlier turns.
    cost_before: f64,
}

/// A call that the client knows.
#[derive(Debug)]
struct ShownCall {
    id: String,
    step: u32,
    is_command: bool,
    /// Whether the permission prompt already showed the diff.
    shows_diff: bool,
    output: String,
    left_out: usize,
    /// Changes that the permission prompt did not show.
    changes: Vec<ShownChange>,
}

impl ShownTurn {
    /// Creates the view of a turn that was not shown yet.
    pub(super) fn new(
        turn: &str,
        root: &SessionRoot,
        can: ClientAbilities,
        registry: Arc<Registry>,
        cost_before: f64,
    ) -> Self {
        Self {
            turn: turn.to_owned(),
            root: root.clone(),
            can,
            registry,
            calls: HashMap::new(),
            anew: 0,
            lines: 0,
            summaries: 0,
            summarises: false,
            usage: TurnUsage::default(),
            cost_before,
        }
    }

    /// The protocol's updates for an update.
    pub(super) fn update(&mut self, update: Update) -> Vec<SessionUpdate> {
        match update {
            Update::Text { step, text } => {
                let chunk =
                    ContentChunk::new(text.into()).message_id(MessageId::new(self.message(step)));
                vec![SessionUpdate::AgentMessageChunk(chunk)]
            }
            Update::Reasoning { step, text } => {
                let id = format!("{}.thought", self.message(step));
                let chunk = ContentChunk::new(text.into()).message_id(MessageId::new(id));
                vec![SessionUpdate::AgentThoughtChunk(chunk)]
            }
            Update::ToolCall { .. } => self.call(update),
            Update::ToolOutput { call_id, text } => self.output(&call_id, &text),
            Update::ToolResult { .. } => self.result(update),
            Update::Edit { call_id, changes } => self.edited(&call_id, changes),
            Update::Retry {
                after_ms,
                reason,
                discard_step,
                ..
            } => {
                let again = match discard_step {
                    Some(_) => "; what was said since the last call is void",
                    None => "",
                };
                self.anew += u32::from(discard_step.is_some());
                let seconds = after_ms.div_ceil(1000);
                let text = format!("{reason} Asked again in {seconds} s{again}.");
                vec![self.line(Level::Warning, &text)]
            }
            Update::Notice { level, text } => vec![self.line(level, &text)],
            Update::Summary { status, text } => self.summary(status, text).into_iter().collect(),
            Update::Usage(usage) => self.used(usage).into_iter().collect(),
            Update::Title { title } => {
                vec![SessionUpdate::SessionInfoUpdate(
                    SessionInfoUpdate::new().title(title),
                )]
            }
            Update::Question(_) | Update::Inquiry { .. } | Update::Steered { .. } => Vec::new(),
        }
    }

    /// A line of Aside's own.
    pub(super) fn line(&mut self, level: Level, text: &str) -> SessionUpdate {
        let text = visible(text);
        if self.can.notices {
            let severity = match level {
                Level::Info => NoticeSeverity::Info,
                Level::Warning => NoticeSeverity::Warning,
            };
            return SessionUpdate::Notice(Notice::new(severity, text));
        }
        self.lines += 1;
        let id = format!("{}.line.{}", self.turn, self.lines);
        let chunk = ContentChunk::new(format!("{text}\n\n").into()).message_id(MessageId::new(id));
        SessionUpdate::AgentMessageChunk(chunk)
    }

    /// The client's id of a call; `None` if the client does not know it, as with a hidden tool.
    pub(super) fn call_id(&self, call: &str) -> Option<&str> {
        self.calls.get(call).map(|call| call.id.as_str())
    }

    /// Notes that the permission prompt showed the call's change.
    pub(super) fn showed_diff(&mut self, call: &str) {
        if let Some(call) = self.calls.get_mut(call) {
            call.shows_diff = true;
        }
    }

    /// Known cost of the session so far.
    pub(super) fn cost(&self) -> f64 {
        self.cost_before + self.usage.cost_usd.unwrap_or_default()
    }

    fn message(&self, step: u32) -> String {
        match self.anew {
            0 => format!("{}.{step}", self.turn),
            anew => format!("{}.{step}.{anew}", self.turn),
        }
    }

    fn call(&mut self, update: Update) -> Vec<SessionUpdate> {
        let Update::ToolCall {
            step,
            call_id,
            name,
            title,
            arguments,
            status,
        } = update
        else {
            return Vec::new();
        };
        let status = match status {
            CallStatus::Waiting => ToolCallStatus::Pending,
            CallStatus::Running => ToolCallStatus::InProgress,
        };
        let title = visible(&title).into_owned();
        if let Some(known) = self.calls.get(&call_id).filter(|known| known.step == step) {
            let fields = ToolCallUpdateFields::new().status(status).title(title);
            let update = ToolCallUpdate::new(known.id.clone(), fields);
            return vec![SessionUpdate::ToolCallUpdate(update)];
        }
        // Providers reuse ids in other turns, and some in other steps.
        let id = format!("{}.{step}.{call_id}", self.turn);
        let (kind, is_command) = kind(&self.registry, &name);
        let mut call = ToolCall::new(id.clone(), title)
            .name(name.clone())
            .kind(kind)
            .status(status);
        if let Some(path) = arguments.get("path").and_then(Value::as_str)
            && self.registry.get(&name).is_some()
        {
            let path = self.root.called(&self.root.real.join(path));
            call = call.locations(vec![ToolCallLocation::new(path)]);
        }
        if is_command && self.can.terminal_output {
            call = call
                .content(vec![ToolCallContent::Terminal(Terminal::new(id.clone()))])
                .meta(meta(
                    "terminal_info",
                    json!({ "terminal_id": id, "cwd": self.root.called(&self.root.real) }),
                ));
        }
        let shown = ShownCall {
            id,
            step,
            is_command,
            shows_diff: false,
            output: String::new(),
            left_out: 0,
            changes: Vec::new(),
        };
        self.calls.insert(call_id, shown);
        vec![SessionUpdate::ToolCall(call.raw_input(arguments))]
    }

    /// Updates for a piece of output. Clients that cannot append get the output at the end, because sending the whole
    /// again and again would be quadratic.
    fn output(&mut self, call: &str, text: &str) -> Vec<SessionUpdate> {
        let Some(call) = self.calls.get_mut(call) else {
            return Vec::new();
        };
        if call.is_command && self.can.terminal_output {
            let data = text.replace("\r\n", "\n").replace('\n', "\r\n");
            let piece = json!({ "terminal_id": call.id, "data": data });
            let update = ToolCallUpdate::new(call.id.clone(), ToolCallUpdateFields::new())
                .meta(meta("terminal_output", piece));
            return vec![SessionUpdate::ToolCallUpdate(update)];
        }
        call.output.push_str(text);
        if call.output.len() > 2 * OUTPUT {
            let end = call.output.ceil_char_boundary(call.output.len() - OUTPUT);
            call.output.drain(..end);
            call.left_out += end;
        }
        Vec::new()
    }

    fn edited(&mut self, call: &str, changes: Vec<ShownChange>) -> Vec<SessionUpdate> {
        let Some(call) = self.calls.get_mut(call) else {
            return Vec::new();
        };
        let paths = changes.iter().filter_map(|change| file_path(&change.uri));
        let paths = paths.map(|path| self.root.called(&path));
        let locations: Vec<_> = paths.map(ToolCallLocation::new).collect();
        if !call.shows_diff {
            call.changes = changes;
        }
        let fields = ToolCallUpdateFields::new().locations(locations);
        let update = ToolCallUpdate::new(call.id.clone(), fields);
        vec![SessionUpdate::ToolCallUpdate(update)]
    }

    fn result(&mut self, update: Update) -> Vec<SessionUpdate> {
        let Update::ToolResult {
            call_id,
            status,
            summary,
            content: all,
            exit_status,
        } = update
        else {
            return Vec::new();
        };
        let Some(call) = self.calls.get_mut(&call_id) else {
            return Vec::new();
        };
        let is_ok = status == Status::Ok;
        let mut fields = ToolCallUpdateFields::new().status(if is_ok {
            ToolCallStatus::Completed
        } else {
            ToolCallStatus::Failed
        });
        let terminal = call.is_command && self.can.terminal_output;
        let changes = std::mem::take(&mut call.changes);
        let content = if !changes.is_empty() {
            let shown = |change| changed(change, &self.root);
            changes.into_iter().filter_map(shown).collect()
        } else if terminal && exit_status.is_some() {
            Vec::new()
        } else if !call.output.is_empty() {
            vec![text(printed(call))]
        } else if is_ok && call.shows_diff {
            Vec::new()
        } else {
            vec![text(visible(all.as_ref().unwrap_or(&summary)).into_owned())]
        };
        if !content.is_empty() {
            fields = fields.content(content);
        }
        let mut update = ToolCallUpdate::new(call.id.clone(), fields);
        if terminal {
            let exit = json!({ "terminal_id": call.id, "exit_code": exit_status, "signal": null });
            update = update.meta(meta("terminal_exit", exit));
        }
        call.output = String::new();
        vec![SessionUpdate::ToolCallUpdate(update)]
    }

    /// A summary of the conversation, for a client that shows them. Notices say the same to every client.
    fn summary(&mut self, status: SummaryStatus, text: Option<String>) -> Option<SessionUpdate> {
        if !self.summarises {
            self.summaries += 1;
        }
        self.summarises = status == SummaryStatus::Asked;
        if !self.can.summaries {
            return None;
        }
        let text = text.map(|text| visible(&text).into_owned());
        let id = format!("{}.summary.{}", self.turn, self.summaries);
        let update = |status| CompactionUpdate::new(id, status);
        Some(SessionUpdate::CompactionUpdate(match status {
            SummaryStatus::Asked => update(CompactionStatus::InProgress),
            SummaryStatus::Made => {
                let summary: Vec<ContentBlock> = text.into_iter().map(Into::into).collect();
                update(CompactionStatus::Completed).summary(summary)
            }
            SummaryStatus::Failed => {
                update(CompactionStatus::Failed).error(text.unwrap_or_default())
            }
            SummaryStatus::Cancelled => update(CompactionStatus::Cancelled),
        }))
    }

    /// The used context, and what the session cost.
    fn used(&mut self, usage: TurnUsage) -> Option<SessionUpdate> {
        self.usage = usage;
        let mut update = UsageUpdate::new(usage.context_tokens?, usage.context_window?);
        if usage.cost_usd.is_some() {
            update = update.cost(Cost::new(self.cost(), "USD"));
        }
        Some(SessionUpdate::UsageUpdate(update))
    }
}

/// The kind of a tool's calls, for the client's icon, and whether it runs a command.
fn kind(registry: &Registry, tool: &str) -> (ToolKind, bool) {
    let Some(tool) = registry.get(tool) else {
        return (ToolKind::Other, false);
    };
    let spec = tool.spec();
    let kind = match spec.class {
        _ if spec.runs_commands => ToolKind::Execute,
        Class::Reads if spec.name == "search" => ToolKind::Search,
        Class::Reads => ToolKind::Read,
        Class::Edits => ToolKind::Edit,
        Class::More => ToolKind::Other,
    };
    (kind, spec.runs_commands)
}

/// A change in a call; `None` for a file with another URI than a path's.
fn changed(change: ShownChange, root: &SessionRoot) -> Option<ToolCallContent> {
    let shown = match (change.whole, change.diff) {
        (Some(texts), _) => {
            let path = root.called(&file_path(&change.uri)?);
            let diff = Diff::new(path, texts.new);
            ToolCallContent::Diff(diff.old_text(texts.old))
        }
        (None, Some(diff)) => text(fenced("diff", &visible(&diff))),
        (None, None) => text(visible(&change.missing?).into_owned()),
    };
    Some(shown)
}

/// The output of a command, or its tail.
fn printed(call: &ShownCall) -> String {
    let start = call.output.len().saturating_sub(OUTPUT);
    let start = call.output.ceil_char_boundary(start);
    let output = fenced("", &visible(&call.output[start..]));
    match call.left_out + start {
        0 => output,
        bytes => format!("The first {bytes} bytes are left out here.\n\n{output}"),
    }
}

/// A text in a call.
pub(super) fn text(text: String) -> ToolCallContent {
    ToolCallContent::Content(agent_client_protocol_schema::v1::Content::new(
        ContentBlock::from(text),
    ))
}

fn meta(key: &str, value: Value) -> Meta {
    let mut meta = Meta::new();
    meta.insert(key.to_owned(), value);
    meta
}

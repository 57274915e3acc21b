//! Status lines about a running turn: each running call, its time, and its last lines of output. Pure: the lines follow
//! from updates and times.
//!
//! Nothing is shown in the first 300 ms of an activity, while a person is asked, or while text arrives.

#[cfg(test)]
mod tests;

use std::time::Duration;

use aside_base::visible::{one_line, printable};
use tokio::time::Instant;

use crate::front::wire::{
    CallStatus, InquiryStatus, QuestionUpdate, SummaryStatus, TurnUsage, Update,
};

/// Activities shorter than this are not shown.
const SHOW_AFTER: Duration = Duration::from_millis(300);
/// Interval between changes of the status lines.
const FRAME: Duration = Duration::from_millis(100);
/// Number of output lines shown of a call on a terminal.
pub const ON_TERMINAL: usize = 4;
/// Number of output lines that a log gets of a failed call. So many are kept.
pub const IN_LOG: usize = 20;
/// Number of bytes kept of an unfinished line.
const MAX_LINE: usize = 4096;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The activities of a turn.
#[derive(Debug)]
pub struct Live {
    calls: Vec<RunningCall>,
    /// Number of open prompts.
    asked: usize,
    /// Start of the current wait for the model; `None` while its response arrives.
    waiting: Option<Instant>,
    /// Number of calls in running inquiries.
    inquiries: usize,
    /// Whether the model summarises the conversation.
    summarising: bool,
    /// Share of the model's context window that the conversation fills, in per cent; `None` if that is not known.
    full: Option<u64>,
}

/// A running call.
#[derive(Debug)]
struct RunningCall {
    id: String,
    what: String,
    since: Instant,
    /// Last lines of output; the last one may be unfinished.
    lines: Vec<String>,
}

impl Live {
    /// Starts a turn by waiting for the model.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            calls: Vec::new(),
            asked: 0,
            waiting: Some(now),
            inquiries: 0,
            summarising: false,
            full: None,
        }
    }

    /// Handles an update of the turn.
    pub fn update(&mut self, update: &Update, now: Instant) {
        match update {
            Update::Text { .. } | Update::Reasoning { .. } => self.waiting = None,
            Update::ToolCall {
                call_id,
                name,
                title,
                status,
                ..
            } => {
                self.waiting = None;
                if *status == CallStatus::Running {
                    self.calls.retain(|call| call.id != *call_id);
                    self.calls.push(RunningCall {
                        id: call_id.clone(),
                        what: what(name, title),
                        since: now,
                        lines: vec![String::new()],
                    });
                }
            }
            Update::ToolOutput { call_id, text } => {
                let call = self.calls.iter_mut().find(|call| call.id == *call_id);
                if let Some(call) = call {
                    call.prints(text);
                }
            }
            Update::ToolResult { call_id, .. } => {
                self.calls.retain(|call| call.id != *call_id);
                self.waiting = Some(now);
            }
            Update::Question(QuestionUpdate::Opened { .. }) => self.asked += 1,
            Update::Question(QuestionUpdate::Closed { .. }) => {
                self.asked = self.asked.saturating_sub(1);
                self.waiting = Some(now);
            }
            Update::Inquiry { call_ids, status } => match status {
                InquiryStatus::Asked => {
                    self.inquiries += call_ids.len();
                    self.waiting = Some(now);
                }
                InquiryStatus::Answered | InquiryStatus::Failed => {
                    self.inquiries = self.inquiries.saturating_sub(call_ids.len());
                }
            },
            Update::Summary { status, .. } => {
                self.summarising = *status == SummaryStatus::Asked;
                self.waiting = Some(now);
            }
            Update::Retry { .. } | Update::Steered { .. } => self.waiting = Some(now),
            Update::Usage(usage) if usage.context_tokens.is_some() => self.full = full(usage),
            Update::Notice { .. }
            | Update::Edit { .. }
            | Update::Usage(_)
            | Update::Title { .. } => {}
        }
    }

    /// The lines to show now; empty if nothing is to be shown.
    #[must_use]
    pub fn lines(&self, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        if self.asked > 0 {
            return lines;
        }
        for call in &self.calls {
            if now < call.since + SHOW_AFTER {
                continue;
            }
            lines.push(line(&call.what, now - call.since));
            lines.extend(call.last_lines(ON_TERMINAL));
        }
        if let Some(since) = self.waiting
            && self.calls.is_empty()
            && now >= since + SHOW_AFTER
        {
            let what = match self.inquiries {
                0 if self.summarising => "the model summarises the conversation",
                0 => "waiting for the model",
                _ => "the model answers a tool's question",
            };
            let full = self.full.map(|full| format!(" · {full} % of the context"));
            lines.push(line(what, now - since) + &full.unwrap_or_default());
        }
        lines
    }

    /// The last output lines of a running call, at most so many, as shown.
    #[must_use]
    pub fn printed(&self, call_id: &str, most: usize) -> Vec<String> {
        let call = self.calls.iter().find(|call| call.id == call_id);
        call.map_or_else(Vec::new, |call| call.last_lines(most).collect())
    }

    /// The next time at which the lines may change.
    #[must_use]
    pub fn next(&self, now: Instant) -> Option<Instant> {
        if self.asked > 0 {
            return None;
        }
        let began = self.calls.iter().map(|call| call.since);
        let waits = self.waiting.filter(|_| self.calls.is_empty());
        let next = |since: Instant| {
            if now < since + SHOW_AFTER {
                since + SHOW_AFTER
            } else {
                now + FRAME
            }
        };
        began.chain(waits).map(next).min()
    }
}

impl RunningCall {
    fn last_lines(&self, most: usize) -> impl Iterator<Item = String> {
        let printed = self.lines.iter().filter(|line| !line.trim().is_empty());
        let printed: Vec<&String> = printed.collect();
        let from = printed.len().saturating_sub(most);
        let last = printed.into_iter().skip(from);
        last.map(|line| format!("  │ {line}"))
    }

    fn prints(&mut self, text: &str) {
        let text = printable(text.as_bytes());
        for part in text.split_inclusive('\n') {
            let (piece, is_over) = match part.strip_suffix('\n') {
                Some(piece) => (piece, true),
                None => (part, false),
            };
            if let Some(last) = self.lines.last_mut()
                && last.len() < MAX_LINE
            {
                last.push_str(&piece.replace('\t', " "));
            }
            if is_over {
                self.lines.push(String::new());
            }
        }
        // Blank lines are not shown, so they are not counted.
        let mut kept = 0;
        for at in (0..self.lines.len()).rev() {
            kept += usize::from(!self.lines[at].trim().is_empty());
            if kept > IN_LOG {
                self.lines.drain(..=at);
                break;
            }
        }
    }
}

/// The share of the context window that a conversation fills, in per cent; `None` right after a summary, too.
fn full(usage: &TurnUsage) -> Option<u64> {
    let tokens = usage.context_tokens.filter(|tokens| *tokens > 0)?;
    let window = usage.context_window.filter(|window| *window > 0)?;
    Some(tokens.saturating_mul(100).div_ceil(window))
}

fn what(name: &str, title: &str) -> String {
    let (name, title) = (one_line(name), one_line(title));
    if title.is_empty() {
        name
    } else {
        format!("{name}: {title}")
    }
}

fn line(what: &str, took: Duration) -> String {
    let frame = took.as_millis() / FRAME.as_millis();
    let frame = usize::try_from(frame).unwrap_or(0) % SPINNER.len();
    format!("{} {what} · {}", SPINNER[frame], elapsed(took))
}

/// A duration for people.
fn elapsed(took: Duration) -> String {
    let (seconds, tenths) = (took.as_secs(), took.subsec_millis() / 100);
    match seconds {
        0..60 => format!("{seconds}.{tenths} s"),
        60.. => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

//! Joins what a server says of a call's arguments.

use std::collections::HashMap;

use serde::de::IgnoredAny;

/// Arguments as they arrived, in parts.
#[derive(Debug, Default)]
pub(super) struct StreamedArguments {
    /// All parts, one behind the other.
    text: String,
    parts: Vec<Part>,
    /// Whether the server named the call since the last part.
    named: bool,
    /// Whether the last statement in `text` ended with its object.
    scan: Scan,
}

/// One part of the arguments.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where the part ends in the text.
    end: usize,
    /// Whether the server named the call beside this part.
    named: bool,
    /// Whether the part is all of the arguments.
    whole: bool,
}

/// What the parts from one beginning to the next add up to.
#[derive(Debug, Default)]
struct Statement {
    text: String,
    scan: Scan,
    named: bool,
    whole: bool,
}

/// How parts are read where one behind the other they are no object.
#[derive(Clone, Copy)]
struct Reading {
    /// A part that equals the one before it is that part again.
    skips_equal: bool,
    /// A part that begins an object begins the arguments anew.
    begins_anew: bool,
}

const READINGS: [Reading; 4] = [
    Reading::of(false, false),
    Reading::of(true, false),
    Reading::of(false, true),
    Reading::of(true, true),
];

impl Reading {
    const fn of(skips_equal: bool, begins_anew: bool) -> Self {
        Self {
            skips_equal,
            begins_anew,
        }
    }
}

impl StreamedArguments {
    pub(super) fn add(&mut self, text: &str, named: bool, whole: bool) {
        self.named |= named;
        if text.is_empty() {
            return;
        }
        if whole || self.scan.is_over() && !text.trim().is_empty() {
            self.scan = Scan::default();
        }
        self.scan.take(text);
        self.text.push_str(text);
        self.parts.push(Part {
            end: self.text.len(),
            named: std::mem::take(&mut self.named),
            whole,
        });
    }

    /// The parts, as they arrived.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.parts.iter().map(|part| part.end));
        let parts = starts.zip(&self.parts);
        parts.map(|(start, part)| &self.text[start..part.end])
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether the object is complete, so that nothing can follow.
    pub(super) fn is_over(&self) -> bool {
        self.scan.is_over()
    }

    /// The arguments that the parts amount to: the same text again is a repetition, more text a continuation, and
    /// other text replaces what was there. Text that allows none of this is kept as it came, for the model to read
    /// what is wrong with it; the last that the server called all of them counts alone. Of a response that was `cut` off no nested object is taken for a new beginning.
    pub(super) fn text(&self, cut: bool) -> String {
        if self.parts.len() < 2 || is_object(&self.text) {
            return self.text.clone();
        }
        let readings = if cut { &READINGS[..1] } else { &READINGS[..] };
        let mut found = readings.iter().filter_map(|reading| self.read(*reading));
        found.next().unwrap_or_else(|| match self.parts.last() {
            Some(part) if part.whole => self.parts().last().unwrap_or_default().to_owned(),
            _ => self.text.clone(),
        })
    }

    fn read(&self, reading: Reading) -> Option<String> {
        let mut sum = Statement::default();
        let mut last: Option<Statement> = None;
        let mut before = "";
        let mut start = 0;
        for part in &self.parts {
            let text = &self.text[start..part.end];
            start = part.end;
            if reading.skips_equal && text == std::mem::replace(&mut before, text) {
                continue;
            }
            let anew = part.whole
                || sum.whole
                || sum.scan.is_over()
                || reading.begins_anew && text.trim_start().starts_with('{');
            if anew && !text.trim().is_empty() && !sum.text.is_empty() {
                last = Some(Statement::joined(last, std::mem::take(&mut sum))?);
            }
            sum.add(text, *part);
        }
        let sum = Statement::joined(last, sum)?.text;
        is_object(&sum).then_some(sum)
    }
}

impl Statement {
    fn add(&mut self, text: &str, part: Part) {
        self.named |= self.text.is_empty() && part.named;
        self.whole |= part.whole;
        self.scan.take(text);
        self.text.push_str(text);
    }

    /// What counts after one statement was followed by another; `None` if they contradict each other.
    fn joined(before: Option<Self>, next: Self) -> Option<Self> {
        let Some(before) = before else {
            return Some(next);
        };
        let (old, new) = (before.text.trim(), next.text.trim());
        if new.starts_with(old) {
            return Some(next);
        }
        if old.starts_with(new) || old.ends_with(new) {
            return Some(before);
        }
        let replaces = next.whole || next.named && before.scan.is_over();
        (replaces && is_object(new)).then_some(next)
    }
}

/// Whether arguments are a complete JSON object, which nothing can follow.
pub(crate) fn is_object(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}')
        && serde_json::from_str::<HashMap<String, IgnoredAny>>(arguments).is_ok()
}

/// Finds the end of a JSON object in text that arrives in parts.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    depth: u32,
    quoted: bool,
    escaped: bool,
    over: bool,
}

impl Scan {
    fn take(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                _ if self.quoted => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.over |= self.depth == 0;
                }
                _ => {}
            }
        }
    }

    fn is_over(self) -> bool {
        self.over
    }
}

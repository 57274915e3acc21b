//! Splits a response into events: server-sent events, or one JSON document per line.
//!
//! The network may split the bytes anywhere.

use super::api::StreamFormat;

/// Maximum size of one event in bytes.
pub(super) const MAX_EVENT: usize = 16 * 1024 * 1024;
/// Maximum number of bytes kept of text outside of events.
const MAX_STRAY: usize = 16 * 1024 * 1024;

/// An event of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SseEvent {
    /// The data of an event.
    Data(String),
    /// An event without data, such as a comment.
    KeepAlive,
    /// A line between events that is none of their fields, and may be what is left of one.
    Stray,
}

/// Error: an event exceeds [`MAX_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Splits a response into events.
#[derive(Debug)]
pub(super) struct SseParser {
    framing: StreamFormat,
    /// The current line, as far as it was received.
    line: Vec<u8>,
    /// Whether the last byte was CR: a following LF belongs to it.
    after_cr: bool,
    /// Whether nothing was received yet: a byte order mark may follow.
    start: bool,
    data: String,
    has_data: bool,
    /// Whether an event with data was there.
    has_events: bool,
    stray: String,
}

impl SseParser {
    pub(super) fn new(framing: StreamFormat) -> Self {
        Self {
            framing,
            line: Vec::new(),
            after_cr: false,
            start: true,
            data: String::new(),
            has_data: false,
            has_events: false,
            stray: String::new(),
        }
    }

    /// Adds bytes and appends the events that they complete.
    ///
    /// # Errors
    /// Fails if an event is too long. The rest of the response is unusable then.
    pub(super) fn take(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), TooLong> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + self.data.len() + line.len() > MAX_EVENT {
                return Err(TooLong);
            }
            self.line.extend_from_slice(line);
            let Some(ending) = after.first() else { break };
            self.after_cr = *ending == b'\r';
            rest = &after[1..];
            self.end_line(out);
        }
        Ok(())
    }

    /// Handles the end of the body as the end of its last line and event. Returns the text outside of events.
    pub(super) fn end(&mut self, out: &mut Vec<SseEvent>) -> String {
        if !self.line.is_empty() {
            self.end_line(out);
        }
        self.end_event(out);
        std::mem::take(&mut self.stray)
    }

    fn end_line(&mut self, out: &mut Vec<SseEvent>) {
        let mut bytes = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.start) && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        let line = String::from_utf8_lossy(&bytes);
        match self.framing {
            StreamFormat::Ndjson => {
                let line = line.trim();
                if !line.is_empty() {
                    out.push(SseEvent::Data(line.to_owned()));
                }
            }
            StreamFormat::Sse => self.field(&line, out),
        }
        // Reuses the allocation.
        bytes.clear();
        self.line = bytes;
    }

    fn field(&mut self, line: &str, out: &mut Vec<SseEvent>) {
        if line.is_empty() {
            return self.end_event(out);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "" => out.push(SseEvent::KeepAlive),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // In every API the data repeats the name of the event.
            "event" | "id" | "retry" => {}
            _ => {
                if self.has_events && line.contains('{') {
                    out.push(SseEvent::Stray);
                }
                if self.stray.len() + line.len() < MAX_STRAY {
                    self.stray.push_str(line);
                    self.stray.push('\n');
                }
            }
        }
    }

    fn end_event(&mut self, out: &mut Vec<SseEvent>) {
        if std::mem::take(&mut self.has_data) {
            let data = std::mem::take(&mut self.data);
            // An event without data is none; it shows that the server lives.
            out.push(match data.trim().is_empty() {
                true => SseEvent::KeepAlive,
                false => {
                    self.has_events = true;
                    SseEvent::Data(data)
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the events of a text, for every split in two.
    fn check(framing: StreamFormat, text: &[u8], expected: &str, stray: &str) {
        for at in 0..=text.len() {
            let mut cutter = SseParser::new(framing);
            let mut events = Vec::new();
            cutter.take(&text[..at], &mut events).unwrap();
            cutter.take(&text[at..], &mut events).unwrap();
            let left = cutter.end(&mut events);
            let shown: Vec<String> = events
                .iter()
                .map(|event| match event {
                    SseEvent::Data(data) => data.replace('\n', "\\n"),
                    SseEvent::KeepAlive => "-".to_owned(),
                    SseEvent::Stray => "!".to_owned(),
                })
                .collect();
            assert_eq!(
                (shown.join("|").as_str(), left.as_str()),
                (expected, stray),
                "cut at {at}"
            );
        }
    }

    #[test]
    fn events_are_split_at_every_line_ending() {
        for ending in ["\n", "\r", "\r\n"] {
            let text = "\u{feff}event: a\ndata: {1}\n\n: hello\ndata:2\ndata: 3\nid: 7\n\ndata\n\nevent: none\n\ndata: €";
            check(
                StreamFormat::Sse,
                text.replace('\n', ending).as_bytes(),
                "{1}|-|2\\n3|-|€",
                "",
            );
        }
    }

    #[test]
    fn text_outside_of_events_is_kept() {
        let text = b"data: 1\n\n{\n  \"error\": {}\n}\n";
        check(StreamFormat::Sse, text, "1|!|!", "{\n  \"error\": {}\n}\n");
        let text = b"{\ndata: 1\n\nnoise\ndatta: {}\n\ndata: 2\n\n";
        check(StreamFormat::Sse, text, "1|!|2", "{\nnoise\ndatta: {}\n");
    }

    #[test]
    fn each_line_is_a_document() {
        check(
            StreamFormat::Ndjson,
            "{\"a\":1}\r\n\n {\"b\":\"€\"} \n{\"c\"".as_bytes(),
            "{\"a\":1}|{\"b\":\"€\"}|{\"c\"",
            "",
        );
    }

    #[test]
    fn events_are_limited_in_size() {
        let mut cutter = SseParser::new(StreamFormat::Sse);
        let mut events = Vec::new();
        let line = [b"data: ".as_slice(), &[b'x'; 1024 * 1024], b"\n"].concat();
        let taken = (0..17)
            .map(|_| cutter.take(&line, &mut events))
            .position(|taken| taken == Err(TooLong));
        assert_eq!(taken, Some(15));
    }
}

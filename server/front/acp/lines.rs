//! The protocol's framing: one JSON object a line, with bounds that are checked before memory is allocated.

use std::mem;

use bytes::Bytes;

use super::message::refusal;
use crate::front::transport::{
    end::ConnectionEnd,
    framing::{Cut, Framing, MAX_BODY, reserve_within, take},
};

/// The line being received: at most [`MAX_BODY`] bytes.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    /// Whether the line was refused as too long and the rest is being skipped.
    passes_over: bool,
}

impl Framing for Lines {
    fn cut(&mut self, input: &mut &[u8]) -> Option<Cut> {
        while !input.is_empty() {
            let end = memchr(input);
            let part = take(input, end.unwrap_or(input.len()));
            if end.is_some() {
                take(input, 1);
            }
            let was_passed_over = self.passes_over;
            let refused = self.add(part);
            if end.is_some() {
                self.passes_over = false;
                let line = mem::take(&mut self.line);
                if !was_passed_over && refused.is_none() && !line.trim_ascii().is_empty() {
                    return Some(Cut::Message(line.into()));
                }
            }
            if refused.is_some() {
                return refused;
            }
        }
        None
    }

    fn wrap(body: &str) -> String {
        let mut line = String::with_capacity(body.len() + 1);
        line.push_str(body);
        line.push('\n');
        line
    }

    /// The end of input is the only way to end a connection.
    fn end_of_input(&self) -> ConnectionEnd {
        if !self.line.trim_ascii().is_empty() || self.passes_over {
            let why =
                "standard input ended within a message of the client's; start the agent again";
            return ConnectionEnd::Framing(why.to_owned());
        }
        ConnectionEnd::Input {
            after_shutdown: true,
        }
    }
}

impl Lines {
    /// Appends to the line. Returns a refusal if the line becomes too long.
    fn add(&mut self, part: &[u8]) -> Option<Cut> {
        if self.passes_over {
            return None;
        }
        if self.line.len() + part.len() > MAX_BODY {
            self.line = Vec::new();
            self.passes_over = true;
            let why = format!("the message has more than the {MAX_BODY} bytes that one may have");
            let reply = Self::wrap(&refusal(-32600, &why));
            return Some(Cut::Skip(Bytes::from(reply)));
        }
        reserve_within(&mut self.line, part.len(), MAX_BODY);
        self.line.extend_from_slice(part);
        None
    }
}

fn memchr(input: &[u8]) -> Option<usize> {
    input.iter().position(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &mut Lines, mut input: &[u8]) -> Vec<String> {
        let mut cuts = Vec::new();
        while let Some(cut) = lines.cut(&mut input) {
            cuts.push(match cut {
                Cut::Message(body) => String::from_utf8(body.to_vec()).unwrap(),
                Cut::Skip(reply) => String::from_utf8(reply.to_vec()).unwrap(),
                other => panic!("{other:?}"),
            });
        }
        assert!(input.is_empty());
        cuts
    }

    #[test]
    fn lines_are_messages_however_they_come_in_and_empty_ones_are_none() {
        let text = b"{\"a\":1}\n\n \r\n{\"b\":2}\r\n{\"c\"";
        for at in 0..text.len() {
            let mut lines = Lines::default();
            let (first, rest) = text.split_at(at);
            let mut cuts = all(&mut lines, first);
            cuts.extend(all(&mut lines, rest));
            assert_eq!(cuts, ["{\"a\":1}", "{\"b\":2}\r"], "{at}");
        }
    }

    #[test]
    fn input_that_ends_within_a_line_is_no_end_that_a_client_means() {
        for (input, within) in [
            ("", false),
            ("{}\n", false),
            ("{}\n \r", false),
            ("{}\n{\"a\"", true),
        ] {
            let mut lines = Lines::default();
            all(&mut lines, input.as_bytes());
            let end = lines.end_of_input();
            assert_eq!(end.exit_code(), u8::from(within), "{input:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_once_and_the_next_one_counts() {
        let mut lines = Lines::default();
        let part = vec![b'x'; MAX_BODY / 2 + 1];
        assert!(all(&mut lines, &part).is_empty());
        let refused = all(&mut lines, &part);
        assert!(
            refused.len() == 1 && refused[0].contains("-32600"),
            "{refused:?}"
        );
        assert_eq!(lines.line.capacity(), 0);
        assert_eq!(all(&mut lines, b"xx\n{}\n"), ["{}"]);
    }
}

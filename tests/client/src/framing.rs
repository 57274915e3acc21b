//! Messages on a pipe: a header with `Content-Length`, an empty line, JSON; or JSON, a line each.

use std::{
    io::{self, BufRead, Error, ErrorKind, Read},
    time::Instant,
};

use serde_json::Value;

/// Bytes of a message, at the most.
pub const MAX_MESSAGE: usize = 64 << 20;
/// Bytes of a line of the header, at the most.
const MAX_LINE: u64 = 4096;

/// How messages are told apart on a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// A header with `Content-Length` stands before each, as in the Language Server Protocol.
    Headers,
    /// Each is a line, as in the Agent Client Protocol.
    Lines,
}

/// A message as it came, not parsed yet.
#[derive(Debug)]
pub struct Message {
    /// When its last byte had been read.
    pub at: Instant,
    /// What it took of the pipe, header included, in bytes.
    pub bytes: usize,
    body: Vec<u8>,
}

impl Message {
    /// The message.
    ///
    /// # Errors
    /// Where it is not JSON.
    pub fn parse(&self) -> io::Result<Value> {
        serde_json::from_slice(&self.body)
            .map_err(|error| invalid(&format!("a message is not JSON: {error}")))
    }

    /// Whether these bytes stand anywhere in it.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.body.windows(bytes.len()).any(|part| part == bytes)
    }
}

impl Frames {
    /// The next message; none at the end of the input.
    ///
    /// # Errors
    /// Where the pipe breaks, or what comes is not framed.
    pub fn read(self, input: &mut impl BufRead) -> io::Result<Option<Message>> {
        match self {
            Self::Headers => read(input),
            Self::Lines => read_line(input),
        }
    }

    /// A message as it is written.
    pub fn frame(self, message: &Value) -> Vec<u8> {
        match self {
            Self::Headers => frame(message),
            Self::Lines => format!("{message}\n").into_bytes(),
        }
    }
}

/// The next line.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let mut body = Vec::new();
    let count = input
        .take(MAX_MESSAGE as u64)
        .read_until(b'\n', &mut body)?;
    if count == 0 {
        return Ok(None);
    }
    if body.pop() != Some(b'\n') {
        return Err(invalid("a message has no end"));
    }
    Ok(Some(Message {
        at: Instant::now(),
        bytes: count,
        body,
    }))
}

/// The next message; none at the end of the input.
///
/// # Errors
/// Where the pipe breaks, or what comes has no proper header.
pub fn read(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let mut length = None;
    let mut head = 0;
    loop {
        let mut line = String::new();
        let count = input.take(MAX_LINE).read_line(&mut line)?;
        if count == 0 {
            return match length {
                None => Ok(None),
                Some(_) => Err(invalid("the input ends inside a header")),
            };
        }
        head += count;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(invalid(&format!("this is no line of a header: {line:?}")));
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length.ok_or_else(|| invalid("a header has no Content-Length"))?;
    if length > MAX_MESSAGE {
        return Err(invalid(&format!("a message claims {length} bytes")));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(Message {
        at: Instant::now(),
        bytes: head + length,
        body,
    }))
}

/// A message as it is written.
pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pipe: &mut &[u8]) -> io::Result<Option<Value>> {
        read(pipe)?.map(|message| message.parse()).transpose()
    }

    #[test]
    fn what_is_framed_is_read_back() {
        let message =
            serde_json::json!({"jsonrpc": "2.0", "method": "exit", "params": {"text": "grüß"}});
        let mut pipe = frame(&message);
        pipe.extend(frame(&message));
        let mut pipe = pipe.as_slice();
        assert_eq!(parsed(&mut pipe).unwrap(), Some(message.clone()));
        assert_eq!(parsed(&mut pipe).unwrap(), Some(message));
        assert_eq!(parsed(&mut pipe).unwrap(), None);
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for (bytes, why) in [
            ("hello\r\n\r\n", "this is no line of a header: \"hello\""),
            ("Content-Type: x\r\n\r\n", "a header has no Content-Length"),
            ("Content-Length: 9", "the input ends inside a header"),
            (
                "Content-Length: 99999999999\r\n\r\n",
                "a message claims 99999999999 bytes",
            ),
            ("Content-Length: 2\r\n\r\nno", "a message is not JSON"),
            ("Content-Length: 9\r\n\r\n{}", "failed to fill whole buffer"),
        ] {
            let error = parsed(&mut bytes.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(why), "{bytes:?}: {error}");
        }
    }
}

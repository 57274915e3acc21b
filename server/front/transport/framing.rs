//! Framing of messages: the trait for each protocol, and common limits.

use bytes::Bytes;

use super::end::ConnectionEnd;

/// Maximum size of a message in bytes.
pub const MAX_BODY: usize = 64 * 1024 * 1024;
/// Maximum nesting depth of a message. The JSON parser fails one level deeper.
pub const MAX_DEPTH: usize = 127;

/// Splits a client's bytes into messages, and frames messages for the client.
pub trait Framing: Send + 'static {
    /// Takes the next message from the front of `input`. `None` takes all of it and needs more. After [`Cut::Broken`]
    /// all input is dropped.
    fn cut(&mut self, input: &mut &[u8]) -> Option<Cut>;

    /// Frames the JSON text of a message.
    fn wrap(body: &str) -> String;

    /// The reason for the end of the connection if the input ends here.
    fn end_of_input(&self) -> ConnectionEnd;
}

/// Result of splitting the input so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The JSON text of a valid message.
    Message(Bytes),
    /// The client's last message, and the reason why the connection ends with it.
    Last(Bytes, ConnectionEnd),
    /// A message that cannot be handled, with the framed reply to it. Further messages follow.
    Skip(Bytes),
    /// Framing was lost, for this reason. The stream ends here.
    Broken(String),
}

/// Whether brackets outside of strings are nested deeper than `limit`. Exact for JSON; anything else is left to the
/// parser.
pub fn is_deeper(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' if depth == limit => return true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    false
}

/// Skips to behind the closing quote of a string.
fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

/// Reserves space for `more` bytes by doubling, without exceeding `limit` unless necessary.
pub fn reserve_within(buffer: &mut Vec<u8>, more: usize, limit: usize) {
    let needed = buffer.len() + more;
    if needed > buffer.capacity() {
        let room = needed.max(limit.min(buffer.capacity() * 2));
        buffer.reserve_exact(room - buffer.len());
    }
}

/// Takes up to `count` bytes from the front.
pub fn take<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (part, rest) = input.split_at(count.min(input.len()));
    *input = rest;
    part
}

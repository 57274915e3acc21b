//! How bytes become messages: the trait that each protocol's framing implements, and the bounds that all keep.

use bytes::Bytes;

use super::end::ConnectionEnd;

/// The longest message, in bytes.
pub const MAX_BODY: usize = 64 * 1024 * 1024;
/// The deepest nesting of a message: at one level more the JSON parser gives up.
pub const MAX_DEPTH: usize = 127;

/// Cuts a client's bytes into messages, and frames those for the client.
pub trait Framing: Send + 'static {
    /// Takes from the front of `input` up to the end of the next message. `None` takes all of it and needs more.
    /// After [`Cut::Broken`] all input is dropped.
    fn cut(&mut self, input: &mut &[u8]) -> Option<Cut>;

    /// The JSON text of one message as it goes over the pipe.
    fn wrap(body: &str) -> String;

    /// Why the connection is over where the input ends here.
    fn end_of_input(&self) -> ConnectionEnd;
}

/// What the bytes so far amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The JSON text of a message that can be handled.
    Message(Bytes),
    /// The same for the client's last message, and why the connection is over with it.
    Last(Bytes, ConnectionEnd),
    /// A message that cannot be handled: the reply to it, framed. The next message counts.
    Skip(Bytes),
    /// Where the next message begins is lost, and why. Nothing follows.
    Broken(String),
}

/// Whether brackets outside of strings are nested deeper than `limit`. Exact for JSON; for anything else only the
/// parser's word counts.
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

/// Goes on behind the quote that ends a string.
fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

/// Makes room for `more` bytes by doubling, but not beyond `limit` while `limit` is enough.
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

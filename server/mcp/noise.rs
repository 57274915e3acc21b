//! Filters the output of a local server line by line. Lines that are not messages, or that no parser accepts, are
//! dropped and reported without affecting the rest.

use std::sync::{Arc, Mutex};

use aside_base::{
    lock,
    visible::{printable, short_line},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _,
    BufReader, DuplexStream, duplex,
};

use super::connection::{INTERNAL_ERROR, MAX_MESSAGE};

/// Maximum depth of a message. JSON parsers have a slightly higher limit.
const MAX_DEPTH: usize = 100;
/// Size of the buffer in bytes.
const BUFFER: usize = 64 << 10;
/// Mark that some programs write in front of their first text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Maximum number of places in a line at which a message is looked for.
const MAX_STARTS: usize = 16;

/// Output of a server that is no message.
#[derive(Debug, Default)]
pub(super) struct Noise {
    /// The last line between its messages.
    last: Mutex<Option<String>>,
    /// The end of the standard error of its last start.
    pub(super) errors: Arc<Mutex<Vec<u8>>>,
}

/// The members by which a line is a message, and of which kind.
#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
    method: Option<IgnoredAny>,
}

impl Noise {
    /// The last of it, as a part of a sentence; empty where all that came is messages.
    pub(super) fn clause(&self) -> String {
        let last = lock(&self.last);
        match &*last {
            Some(last) => format!("; it printed output that is not MCP ({last})"),
            None => String::new(),
        }
    }

    fn note(&self, line: &[u8], is_whole: bool) {
        let shown = short_line(printable(&line[..line.len().min(1000)]).trim(), 80);
        let shown = match is_whole {
            true => format!("\"{shown}\""),
            false => format!("a line longer than {} MiB", MAX_MESSAGE >> 20),
        };
        *lock(&self.last) = Some(shown);
    }
}

/// Returns only the messages in a server's output. Reading stops if the first message does not come within the maximum
/// size of one.
pub(super) fn messages(
    output: impl AsyncRead + Send + Unpin + 'static,
    noise: &Arc<Noise>,
) -> DuplexStream {
    let (to, from) = duplex(BUFFER);
    tokio::spawn(pass_messages(BufReader::new(output), to, noise.clone()));
    from
}

async fn pass_messages(
    mut output: impl AsyncBufRead + Send + Unpin,
    mut to: DuplexStream,
    noise: Arc<Noise>,
) {
    let (mut line, mut wasted) = (Vec::new(), Some(0));
    loop {
        line.clear();
        let most = MAX_MESSAGE as u64 + 1;
        let read = (&mut output).take(most).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        let is_whole = line.len() <= MAX_MESSAGE;
        let mut passed = match is_whole {
            true => message(&line).map(shallow),
            false => None,
        };
        if !is_whole {
            let mut outline = Shallow::new(1);
            outline.take(&line);
            let ended = line.ends_with(b"\n") || rest_of_line(&mut output, &mut outline).await;
            passed = too_long(&outline.out);
            if !ended && passed.is_none() {
                return;
            }
        }
        if let Some(message) = passed {
            wasted = None;
            if to.write_all(&message).await.is_err() {
                return;
            }
            continue;
        }
        if !line.trim_ascii().is_empty() {
            noise.note(&line, is_whole);
        }
        if let Some(wasted) = &mut wasted {
            *wasted += line.len();
            if *wasted > MAX_MESSAGE {
                return;
            }
        }
    }
}

/// The message that a line is, without what stands in front of it. Behind words only an answer is one: a server that
/// logs what it was sent has not sent it.
fn message(line: &[u8]) -> Option<&[u8]> {
    let starts = line.iter().enumerate().filter(|(_, byte)| **byte == b'{');
    for (at, _) in starts.take(MAX_STARTS) {
        let (before, message) = line.split_at(at);
        let Ok(envelope) = serde_json::from_slice::<Envelope>(message) else {
            continue;
        };
        let is_silent = printable(before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before))
            .trim()
            .is_empty();
        return (is_silent || envelope.method.is_none()).then_some(message);
    }
    None
}

/// Reads the rest of a line for its outline. Returns false at the end of the output.
async fn rest_of_line(output: &mut (impl AsyncBufRead + Unpin), outline: &mut Shallow) -> bool {
    while let Ok(bytes @ [_, ..]) = output.fill_buf().await {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let passed = end.map_or(bytes.len(), |end| end + 1);
        outline.take(&bytes[..passed]);
        output.consume(passed);
        if end.is_some() {
            return true;
        }
    }
    false
}

/// The answer in place of one that is too long, by the outline of that: its request has to end.
fn too_long(outline: &[u8]) -> Option<Vec<u8>> {
    let answer: Map<String, Value> = serde_json::from_slice(message(outline)?).ok()?;
    let is_answer = ["result", "error"]
        .iter()
        .any(|key| answer.contains_key(*key));
    let id = answer.get("id").filter(|_| is_answer)?;
    let why = format!("its answer is longer than {} MiB", MAX_MESSAGE >> 20);
    let error = json!({ "code": INTERNAL_ERROR, "message": why });
    let mut line = json!({ "jsonrpc": "2.0", "id": id, "error": error })
        .to_string()
        .into_bytes();
    line.push(b'\n');
    Some(line)
}

/// Replaces values that are nested too deep with null, so that one invalid tool of a list does not affect the others.
fn shallow(json: &[u8]) -> Vec<u8> {
    let mut shallow = Shallow::new(MAX_DEPTH);
    shallow.take(json);
    shallow.out
}

/// JSON that comes in pieces, with null in place of what is nested too deep, and nothing behind the longest message.
struct Shallow {
    most: usize,
    out: Vec<u8>,
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Shallow {
    fn new(most: usize) -> Self {
        Self {
            most,
            out: Vec::new(),
            depth: 0,
            in_text: false,
            is_escaped: false,
        }
    }

    fn take(&mut self, json: &[u8]) {
        for byte in json {
            match byte {
                b'"' if !self.is_escaped => self.in_text = !self.in_text,
                b'{' | b'[' if !self.in_text => {
                    self.depth += 1;
                    if self.depth == self.most + 1 {
                        self.out.extend_from_slice(b"null");
                    }
                }
                _ => {}
            }
            self.is_escaped = self.in_text && *byte == b'\\' && !self.is_escaped;
            if self.depth <= self.most && self.out.len() <= MAX_MESSAGE {
                self.out.push(*byte);
            }
            if matches!(byte, b'}' | b']') && !self.in_text {
                self.depth = self.depth.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_nested_too_deep_become_null() {
        let nested = |depth: usize| (0..depth).fold(json!("[{\"\\"), |inner, _| json!([inner]));
        let whole = nested(MAX_DEPTH).to_string();
        assert_eq!(shallow(whole.as_bytes()), whole.as_bytes());
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let both = format!("{{\"a\":{deep},\"b\":\"]}}\\\"\"}}");
        let read: Value = serde_json::from_slice(&shallow(both.as_bytes())).expect("JSON");
        assert_eq!(read["b"], "]}\"");
    }

    /// Returns the messages in this output, and the report about the rest.
    async fn passed(written: Vec<u8>) -> (String, String) {
        let noise = Arc::new(Noise::default());
        let mut from = messages(std::io::Cursor::new(written), &noise);
        let mut text = String::new();
        from.read_to_string(&mut text).await.expect("text");
        (text, noise.clause())
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_an_error_to_its_request() {
        let long = "x".repeat(MAX_MESSAGE);
        let why = "its answer is longer than 4 MiB";
        let first = json!({"id": "a", "jsonrpc": "2.0", "result": {"content": [{"text": &long}]}});
        let last = format!("{{\"jsonrpc\":\"2.0\",\"error\":{{\"message\":{long:?}}},\"id\":7}}");
        let asks = json!({"jsonrpc": "2.0", "id": 8, "method": "elicitation/create", "params": {"message": long}});
        for (line, id) in [
            (first.to_string(), json!("a")),
            (last, json!(7)),
            (asks.to_string(), json!(null)),
        ] {
            let (text, _) = passed(format!("{line}\n").into()).await;
            let read: Value = serde_json::from_str(&text).unwrap_or_default();
            assert_eq!(read["id"], id);
            assert_eq!(
                read["error"]["message"],
                if id.is_null() {
                    json!(null)
                } else {
                    json!(why)
                }
            );
        }
    }

    #[tokio::test]
    async fn invalid_lines_are_skipped_and_kept_for_the_error() {
        let message = "{\"jsonrpc\":\"2.0\",\"id\":1}\n";
        let (text, noise) =
            passed(format!("loading 100%\n\n{message}{{\"half\": \n{message}").into()).await;
        assert_eq!(
            (text, noise.as_str()),
            (
                message.repeat(2),
                "; it printed output that is not MCP (\"{\"half\":\")"
            )
        );
        let long = "x".repeat(MAX_MESSAGE + 1);
        let (text, noise) = passed(format!("{message}{long}y\n{message}").into()).await;
        assert_eq!(
            (text, noise.as_str()),
            (
                message.repeat(2),
                "; it printed output that is not MCP (a line longer than 4 MiB)"
            )
        );
        // What stands in front of a message is no part of it; behind words only an answer is a message.
        let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
        let asked = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        for (before, taken) in [
            ("\u{feff}", true),
            ("\u{feff} ", true),
            ("\u{1b}[0m ", true),
            ("ready {0} ", false),
            ("< ", false),
        ] {
            let (text, _) = passed(format!("{before}{asked}{before}{answer}").into()).await;
            let expected =
                [asked, answer].map(|line| if taken || line == answer { line } else { "" });
            assert_eq!(text, expected.concat(), "{before:?}");
        }
        // Without a message before it, reading stops.
        let (text, noise) = passed(format!("{long}\n{message}").into()).await;
        assert_eq!(
            (text.as_str(), noise.as_str()),
            (
                "",
                "; it printed output that is not MCP (a line longer than 4 MiB)"
            )
        );
    }
}

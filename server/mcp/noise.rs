//! Filters the output of a local server line by line. Lines that are not messages, or that no parser accepts, are
//! dropped and reported without affecting the rest.

use std::sync::{Arc, Mutex};

use aside_base::{
    lock,
    visible::{printable, short_line},
};
use serde::{Deserialize, de::IgnoredAny};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _,
    BufReader, DuplexStream, duplex,
};

use super::connection::MAX_MESSAGE;

/// Maximum depth of a message. JSON parsers have a slightly higher limit.
const MAX_DEPTH: usize = 100;
/// Size of the buffer in bytes.
const BUFFER: usize = 64 << 10;

/// The last output of a server that was not a message.
#[derive(Debug, Default)]
pub(super) struct Noise(Mutex<Option<String>>);

/// The member common to all messages.
#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
}

impl Noise {
    /// The last of it, as a part of a sentence; empty where all that came is messages.
    pub(super) fn clause(&self) -> String {
        let last = lock(&self.0);
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
        *lock(&self.0) = Some(shown);
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
        if is_whole && serde_json::from_slice::<Envelope>(&line).is_ok() {
            wasted = None;
            if to.write_all(&shallow(&line)).await.is_err() {
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
        if !is_whole && !line.ends_with(b"\n") && !skip_line(&mut output).await {
            return;
        }
    }
}

/// Skips the rest of a line. Returns false at the end of the output.
async fn skip_line(output: &mut (impl AsyncBufRead + Unpin)) -> bool {
    while let Ok(bytes @ [_, ..]) = output.fill_buf().await {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let passed = end.map_or(bytes.len(), |end| end + 1);
        output.consume(passed);
        if end.is_some() {
            return true;
        }
    }
    false
}

/// Replaces values that are nested too deep with null, so that one invalid tool of a list does not affect the others.
fn shallow(json: &[u8]) -> Vec<u8> {
    let (mut out, mut depth) = (Vec::with_capacity(json.len()), 0_usize);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in json {
        match byte {
            b'"' if !is_escaped => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                if depth == MAX_DEPTH + 1 {
                    out.extend_from_slice(b"null");
                }
            }
            _ => {}
        }
        is_escaped = in_text && *byte == b'\\' && !is_escaped;
        if depth <= MAX_DEPTH {
            out.push(*byte);
        }
        if matches!(byte, b'}' | b']') && !in_text {
            depth = depth.saturating_sub(1);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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

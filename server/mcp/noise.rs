//! What a server that is a program writes, on its way to the protocol: line by line, so that one that is no message, or
//! that no parser would go into, costs no more than itself and can be told of.

use std::sync::{Arc, Mutex, PoisonError};

use aside_base::visible::{printable, short_line};
use serde::{Deserialize, de::IgnoredAny};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _,
    BufReader, DuplexStream, duplex,
};

use super::connection::MESSAGE;

/// How deep a message may be nested. Parsers of JSON give up a little further down.
const DEEP: usize = 100;
/// Bytes that are on their way.
const ON_THE_WAY: usize = 64 << 10;

/// What a server wrote that is no message.
#[derive(Debug, Default)]
pub(super) struct Noise(Mutex<Option<String>>);

/// What every message has.
#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
}

impl Noise {
    /// The last of it, as a part of a sentence; empty where all that came is messages.
    pub(super) fn in_words(&self) -> String {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(last) => format!("; it wrote what is no message: {last}"),
            None => String::new(),
        }
    }

    fn note(&self, line: &[u8], is_whole: bool) {
        let shown = short_line(printable(&line[..line.len().min(1000)]).trim(), 80);
        let shown = match is_whole {
            true => format!("\"{shown}\""),
            false => format!("a line of more than {} MiB", MESSAGE >> 20),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }
}

/// What the protocol is to read of what a server writes. A server whose first message does not come after so many bytes
/// as one may have is not read any further.
pub(super) fn messages(
    output: impl AsyncRead + Send + Unpin + 'static,
    noise: &Arc<Noise>,
) -> DuplexStream {
    let (to, from) = duplex(ON_THE_WAY);
    tokio::spawn(pass_on(BufReader::new(output), to, noise.clone()));
    from
}

async fn pass_on(
    mut output: impl AsyncBufRead + Send + Unpin,
    mut to: DuplexStream,
    noise: Arc<Noise>,
) {
    let (mut line, mut wasted) = (Vec::new(), Some(0));
    loop {
        line.clear();
        let most = MESSAGE as u64 + 1;
        let read = (&mut output).take(most).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        let is_whole = line.len() <= MESSAGE;
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
            if *wasted > MESSAGE {
                return;
            }
        }
        if !is_whole && !line.ends_with(b"\n") && !pass_over(&mut output).await {
            return;
        }
    }
}

/// Passes over the rest of a line; false at the end.
async fn pass_over(output: &mut (impl AsyncBufRead + Unpin)) -> bool {
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

/// The same JSON, with null in place of what is nested too deep: so that what is odd in one tool of a list costs that tool.
fn shallow(json: &[u8]) -> Vec<u8> {
    let (mut out, mut depth) = (Vec::with_capacity(json.len()), 0_usize);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in json {
        match byte {
            b'"' if !is_escaped => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                if depth == DEEP + 1 {
                    out.extend_from_slice(b"null");
                }
            }
            _ => {}
        }
        is_escaped = in_text && *byte == b'\\' && !is_escaped;
        if depth <= DEEP {
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
    fn what_is_nested_too_deep_is_null() {
        let nested = |depth: usize| (0..depth).fold(json!("[{\"\\"), |inner, _| json!([inner]));
        let whole = nested(DEEP).to_string();
        assert_eq!(shallow(whole.as_bytes()), whole.as_bytes());
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let both = format!("{{\"a\":{deep},\"b\":\"]}}\\\"\"}}");
        let read: Value = serde_json::from_slice(&shallow(both.as_bytes())).expect("JSON");
        assert_eq!(read["b"], "]}\"");
    }

    /// What is passed on of this, and what is said of the rest.
    async fn passed(written: Vec<u8>) -> (String, String) {
        let noise = Arc::new(Noise::default());
        let mut from = messages(std::io::Cursor::new(written), &noise);
        let mut text = String::new();
        from.read_to_string(&mut text).await.expect("text");
        (text, noise.in_words())
    }

    #[tokio::test]
    async fn what_is_no_message_is_passed_over_and_kept_to_be_said() {
        let message = "{\"jsonrpc\":\"2.0\",\"id\":1}\n";
        let (text, noise) =
            passed(format!("loading 100%\n\n{message}{{\"half\": \n{message}").into()).await;
        assert_eq!(
            (text, noise.as_str()),
            (
                message.repeat(2),
                "; it wrote what is no message: \"{\"half\":\""
            )
        );
        let long = "x".repeat(MESSAGE + 1);
        let (text, noise) = passed(format!("{message}{long}y\n{message}").into()).await;
        assert_eq!(
            (text, noise.as_str()),
            (
                message.repeat(2),
                "; it wrote what is no message: a line of more than 4 MiB"
            )
        );
        // Where nothing else came before, nothing is waited for.
        let (text, noise) = passed(format!("{long}\n{message}").into()).await;
        assert_eq!(
            (text.as_str(), noise.as_str()),
            (
                "",
                "; it wrote what is no message: a line of more than 4 MiB"
            )
        );
    }
}

use aside_test_table::rows;

use super::*;

const CHUNK: usize = 64 * 1024;

/// One word or line for each cut.
fn told(cut: Cut) -> String {
    match cut {
        Cut::Message(body) => String::from_utf8(body.to_vec()).unwrap(),
        Cut::Last(body, end) => {
            assert!(matches!(end, ConnectionEnd::Exit { .. }), "{end}");
            format!("Exit {}", str::from_utf8(&body).unwrap())
        }
        Cut::Skip(reply) => {
            let reply = str::from_utf8(&reply).unwrap();
            let (header, body) = reply.split_once("\r\n\r\n").unwrap();
            assert_eq!(header, format!("Content-Length: {}", body.len()));
            let reply: Value = serde_json::from_str(body).unwrap();
            assert_eq!(reply["jsonrpc"], "2.0");
            let id = match &reply["id"] {
                Value::Null => String::new(),
                id => format!(" of {id}"),
            };
            format!(
                "{}{id} {}",
                reply["error"]["code"],
                reply["error"]["message"].as_str().unwrap()
            )
        }
        Cut::Broken(broken) => format!("broken: {broken}"),
    }
}

fn cut_in(parts: &[&[u8]]) -> Vec<String> {
    let mut cutter = ContentLength::default();
    let (mut cuts, mut after_shutdown) = (Vec::new(), false);
    for part in parts {
        let mut rest = *part;
        while let Some(cut) = cutter.cut(&mut rest) {
            let seen = if cutter.after_shutdown && !after_shutdown {
                "Shutdown "
            } else {
                ""
            };
            after_shutdown = cutter.after_shutdown;
            cuts.push(format!("{seen}{}", told(cut)));
            assert!(cutter.held() <= MAX_BODY);
        }
        assert!(rest.is_empty());
    }
    cuts
}

fn framed(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [header(body.len()).as_bytes(), body].concat()
}

fn nested(levels: usize) -> String {
    let params = "[".repeat(levels - 1) + &"]".repeat(levels - 1);
    format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#)
}

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

#[test]
fn a_header_names_one_length_within_the_bound() {
    let long = format!("X: {}\r\n", "x".repeat(MAX_HEADER));
    let just = format!("X: {}\r\n", "x".repeat(MAX_HEADER - 29));
    check_header(&(just + "Content-Length: 33\r\n\r\n"), NOTE);
    check_header(&long, "longer than 8192 bytes");
    check_header(&"x".repeat(1024 * 1024), "longer than 8192 bytes");
    check_header(" Content-Length: 33\r\n\r\n", "not `Name: value`");
    let control = "Content-Length: 3\u{1b}[3\r\n\r\n";
    check_header(control, "is \"3\\u{1b}[3\", not a number");
    let table = r#"
        Content-Length: 33\r\n\r\n | NOTE
        content-length:33\r\n\r\n | NOTE
        CONTENT-LENGTH: \t 0033 \r\n\r\n | NOTE
        Content-Length: 33\n\n | NOTE
        Content-Type: text/plain; charset=latin1\r\nContent-Length: 33\r\n\r\n | NOTE
        A: 1\r\nB:\r\nC_d: e:f\r\nContent-Length: 33\r\nG: h\r\n\r\n | NOTE
        \r\n | has no Content-Length
        Content-Type: x\r\n\r\n | has no Content-Length
        Content-Length\r\n\r\n | not `Name: value`
        {"jsonrpc":"2.0"}\r\n\r\n | not `Name: value`
        : 33\r\n\r\n | not `Name: value`
        Content Length: 33\r\n\r\n | not `Name: value`
        Content-Length: 33\r\nContent-Length: 33\r\n\r\n | two Content-Lengths
        Content-Length:\r\n\r\n | is "", not a number
        Content-Length: -1\r\n\r\n | is "-1", not a number
        Content-Length: +33\r\n\r\n | is "+33", not a number
        Content-Length: 0x21\r\n\r\n | is "0x21", not a number
        Content-Length: 1073741825\r\n\r\n | is 1073741825, over 1073741824
        Content-Length: 9223372036854775808\r\n\r\n | is 9223372036854775808, over
        Content-Length: 99999999999999999999999\r\n\r\n | is 99999999999999999999999, over
    "#;
    for [header, outcome] in rows(table) {
        let header = header.replace(r"\r", "\r").replace(r"\n", "\n");
        let outcome = if outcome == "NOTE" { NOTE } else { outcome };
        check_header(&header.replace(r"\t", "\t"), outcome);
    }
}

fn check_header(header: &str, outcome: &str) {
    let bytes = [header.as_bytes(), NOTE.as_bytes()].concat();
    let cuts = cut_in(&[&bytes]);
    let [cut] = cuts.as_slice() else {
        panic!("{header:?}: {cuts:?}")
    };
    let expected = if outcome == NOTE {
        cut == NOTE
    } else {
        cut.contains(outcome)
    };
    assert!(expected, "{header:?}: {cut}");
    assert_eq!(cut.starts_with("broken"), outcome != NOTE, "{header:?}");
    let single: Vec<_> = bytes.chunks(1).collect();
    assert_eq!(cut_in(&single), cuts, "{header:?} byte by byte");
}

#[test]
fn a_body_that_cannot_be_handled_is_answered_and_the_next_message_counts() {
    let deep = "[".repeat(100_000);
    let (just, over) = (nested(MAX_DEPTH), nested(MAX_DEPTH + 1));
    let in_text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{deep}\"[["]}}"#);
    let too_deep = "-32700 the message is nested deeper than 127 levels";
    check_body(NOTE.as_bytes(), NOTE);
    check_body(just.as_bytes(), &just);
    check_body(in_text.as_bytes(), &in_text);
    check_body(over.as_bytes(), too_deep);
    check_body(deep.as_bytes(), too_deep);
    for not_utf8 in [
        &b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"[..],
        b"\xed\xa0\x80",
    ] {
        check_body(not_utf8, "-32700 the message is not UTF-8");
    }
    let table = r#"
        {"jsonrpc":"2.0","id":1,"result":null} | {"jsonrpc":"2.0","id":1,"result":null}
        {"jsonrpc":"2.0","method":"exit"} | Exit {"jsonrpc"
        {"method":"\u0065xit","jsonrpc":"2.0","params":null} | Exit {
        {"jsonrpc":"2.0","method":"exit","id":1} | {"jsonrpc"
        {"jsonrpc":"2.0","method":"m","params":{"method":"exit"}} | {"jsonrpc"
        {"jsonrpc":"2.0","id":"a","method":"shutdown"} | Shutdown {
        {"jsonrpc":"2.0","method":"shutdown"} | {"jsonrpc"
         | -32700 the message is not JSON
        exit | -32700 the message is not JSON
        {"jsonrpc":"2.0","method":"m"}} | -32700 the message is not JSON
        {"jsonrpc":"2.0","method":"m" | -32700 the message is not JSON
        ]]]]{"jsonrpc":"2.0" | -32700 the message is not JSON
        "never closed \ | -32700 the message is not JSON
        {"jsonrpc":"2.0","method":"m","params":[1e999]} | -32700 the message is not JSON
        {"jsonrpc":"2.0","method":"m","params":["\ud800"]} | -32700 the message is not JSON
        null | -32600 the message is not a JSON-RPC
        [] | -32600 the message is not a JSON-RPC
        [{"jsonrpc":"2.0","method":"m"}] | -32600 the message is not a JSON-RPC
        {"method":"m"} | -32600 the message is not a JSON-RPC
        {"jsonrpc":"1.0","method":"m"} | -32600 the message is not a JSON-RPC
        {"jsonrpc":"2.0","method":7} | -32600 the message is not a JSON-RPC
        {"jsonrpc":"2.0","method":"m","id":1.5} | -32600 the message is not a JSON-RPC
        {"jsonrpc":"2.0","method":"m","method":"m"} | -32600 the message is not a JSON-RPC
        {"jsonrpc":"1.0","method":"m","id":"a"} | -32600 of "a" the message is not a JSON-RPC
        {"jsonrpc":"2.0","method":7,"id":7} | -32600 of 7 the message is not a JSON-RPC
        {"jsonrpc":"2.0","id":7} | -32600 of 7 the message is not a JSON-RPC 2.0 message: it has no method
        {"jsonrpc":"2.0","method":"aside/turn/start","id":7,"params":[]} | -32602 of 7 the params of aside/turn/start are an object, not a list
        {"jsonrpc":"2.0","method":"$/unknown","id":7,"params":{}} | -32601 of 7 there is no request $/unknown
        {"jsonrpc":"2.0","method":"typeHierarchy/subtypes","id":7,"params":{"item":{"tags":[1]}}} | -32601 of 7 there is no request typeHierarchy/subtypes
        {"jsonrpc":"2.0","method":"$/unknown","params":{}} | {"jsonrpc":"2.0","method":"$/unknown","params":{}}
        {"jsonrpc":"2.0","method":"shutdown","id":7,"params":null} | Shutdown {"jsonrpc":"2.0","method":"shutdown","id":7}
        {"jsonrpc":"2.0","method":"shutdown","id":7,"params":{}} | Shutdown {"jsonrpc":"2.0","method":"shutdown","id":7}
        {"jsonrpc":"2.0","method":"exit","params":{}} | Exit {"jsonrpc":"2.0","method":"exit"}
        {"jsonrpc":"2.0","method":"aside/conversation/list","id":7} | {"jsonrpc":"2.0","method":"aside/conversation/list","params":{},"id":7}
        {"jsonrpc":"2.0","method":"aside/conversation/list","id":7,"params":null} | {"jsonrpc":"2.0","method":"aside/conversation/list","params":{},"id":7}
    "#;
    for [body, outcome] in rows(table) {
        check_body(body.as_bytes(), outcome);
    }
}

fn check_body(body: &[u8], outcome: &str) {
    let body_text = String::from_utf8_lossy(body);
    let cuts = cut_in(&[&framed(body), &framed(NOTE)]);
    let [cut, next] = cuts.as_slice() else {
        panic!("{body_text}: {cuts:?}")
    };
    assert!(cut.starts_with(outcome), "{body_text}: {cut}");
    assert_eq!(next, NOTE, "{body_text}");
}

#[test]
fn a_message_that_is_too_long_is_answered_and_passed_over() {
    let length = MAX_BODY + 3;
    let mut cutter = ContentLength::default();
    let mut told_of = Vec::new();
    let mut take = |bytes: &[u8]| {
        let mut rest = bytes;
        while let Some(cut) = cutter.cut(&mut rest) {
            told_of.push(told(cut));
        }
        assert!(rest.is_empty() && cutter.held() <= MAX_HEADER);
    };
    take(&framed(NOTE));
    take(header(length).as_bytes());
    let chunk = [b'x'; CHUNK];
    let whole = length / CHUNK;
    (0..whole).for_each(|_| take(&chunk));
    let end = [&chunk[..length % CHUNK], &framed(NOTE)].concat();
    take(&end);
    let why = "-32600 the message has 67108867 bytes, more than the 67108864 that one may have";
    assert_eq!(told_of, [NOTE, why, NOTE]);
}

#[test]
fn what_follows_a_broken_header_is_dropped() {
    let cuts = cut_in(&[
        b"nonsense\r\n\r\n",
        &framed(NOTE),
        b"more nonsense\r\n",
        &framed(NOTE),
    ]);
    assert_eq!(cuts, [format!("broken: {}", HeaderError::NotAHeader)]);
}

/// A session with every kind of cut; the header at its end is broken.
fn session() -> Vec<u8> {
    let text = r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a","languageId":"x","version":1,"text":"}{][ \"\\ \r\n\r\nContent-Length: 3 é😀"}}}"#;
    let bodies: &[&[u8]] = &[
        br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}"#,
        br#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
        text.as_bytes(),
        b"\xff\xfe",
        br#"{"jsonrpc":"2.0","id":"q-1","result":{"action":"answer","answer":true}}"#,
        b"",
        br#"{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"cancelled"}}"#,
        b"[[[[",
        br#"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#,
        br#"{"jsonrpc":"2.0","method":"exit"}"#,
    ];
    let mut session: Vec<u8> = bodies.iter().flat_map(framed).collect();
    session.extend_from_slice(b"Content-Type: a\r\nContent-Length: many\r\n\r\n{}");
    session
}

#[test]
fn where_the_bytes_are_split_changes_nothing() {
    let session = session();
    let whole = cut_in(&[&session]);
    assert_eq!(whole.len(), 11);
    assert!(whole.last().unwrap().starts_with("broken"));
    for at in 0..=session.len() {
        let (first, second) = session.split_at(at);
        assert_eq!(cut_in(&[first, second]), whole, "split at {at}");
    }
    for size in 1..=session.len() {
        let parts: Vec<_> = session.chunks(size).collect();
        assert_eq!(cut_in(&parts), whole, "{size} bytes at once");
    }
}

/// What clients send, framed: the session above, and each kind of request.
fn corpus() -> Vec<Vec<u8>> {
    let requests = aside_test_fuzz::corpus("tests/wire", &["-request.json"]);
    let requests = requests.into_iter().map(|(_, bytes)| framed(bytes));
    std::iter::once(session()).chain(requests).collect()
}

#[test]
fn fuzzed_framing_never_panics_and_what_passes_can_be_parsed() {
    let mut seen = [0; 3];
    let damaged = corpus().into_iter().flat_map(|bytes| {
        // The session has each kind of cut.
        let count = if bytes.len() > 1_000 { 10_000 } else { 200 };
        aside_test_fuzz::damaged(&bytes, count)
    });
    for damaged in damaged {
        let mut cutter = ContentLength::default();
        let mut rest = damaged.as_slice();
        while let Some(cut) = cutter.cut(&mut rest) {
            match cut {
                Cut::Message(body) | Cut::Last(body, _) => {
                    seen[0] += 1;
                    let parsed: Result<Parsed, _> = serde_json::from_slice(&body);
                    assert!(parsed.is_ok(), "{body:?}");
                }
                Cut::Skip(_) => seen[1] += 1,
                Cut::Broken(_) => seen[2] += 1,
            }
        }
        assert!(rest.is_empty());
    }
    assert!(
        seen.iter().all(|count| *count > 1000),
        "each must come up: {seen:?}"
    );
}

#[test]
fn no_more_is_held_than_the_bound() {
    let mut cutter = ContentLength::default();
    let mut header = header(MAX_BODY);
    header.insert_str(0, &format!("X: {}\r\n", "x".repeat(8000)));
    for byte in header.as_bytes() {
        assert!(cutter.cut(&mut [*byte].as_slice()).is_none());
        assert!(cutter.held() <= MAX_HEADER);
    }
    assert_eq!(cutter.held(), 0, "a length alone takes no memory");
    let chunk = [b' '; CHUNK];
    let mut sent = 0;
    while sent + CHUNK < MAX_BODY {
        assert!(cutter.cut(&mut chunk.as_slice()).is_none());
        sent += CHUNK;
        assert!(
            cutter.held() <= MAX_BODY && cutter.held() <= 2 * sent,
            "{sent}"
        );
    }
    assert!(!cutter.is_between());
    let last = cutter.cut(&mut chunk.as_slice()).map(told);
    assert!(last.unwrap().starts_with("-32700"));
    assert!(cutter.is_between());
    assert_eq!(cutter.held(), 0);
}

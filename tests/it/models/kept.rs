//! Connections that are kept: a server may say that it keeps one, and let it go all the same.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
};

use aside_model_server::{ServedApi, play::ModelReply};

use super::{column, stage::AUTO};
use crate::world::TestWorld;

/// Reads one request.
fn read_request(stream: &mut TcpStream) {
    let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut chunk).unwrap();
        assert!(count > 0, "a whole request");
        seen.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let lower = head.to_ascii_lowercase();
        let length = lower.split_once("content-length: ").unwrap().1;
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        if body.len() >= length {
            return;
        }
    }
}

/// Answers with a whole response, and promises to keep the connection.
fn reply(stream: &mut TcpStream, play: &ModelReply) {
    let body = play.stream(ServedApi::OpenaiChat);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body).unwrap();
}

/// Lets `lost` connections die with a request on them, each behind a good response, and then answers.
fn server(listener: TcpListener, lost: usize) -> JoinHandle<()> {
    let call = |number: usize| {
        let play = ModelReply::new("calls").number(number);
        play.call(
            &format!("call_{number}"),
            "read_file",
            r#"{"path":"a.txt"}"#,
        )
    };
    thread::spawn(move || {
        for number in 1..=lost {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream);
            reply(&mut stream, &call(number));
            read_request(&mut stream);
        }
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&mut stream);
        let end = ModelReply::new("end").number(9);
        reply(&mut stream, &end.text("Done."));
    })
}

#[test]
fn a_request_on_a_connection_that_was_let_go_is_sent_again_and_nobody_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let world = TestWorld::new();
    world.write("a.txt", "A\n");
    let address = listener.local_addr().unwrap().to_string();
    world.user_config(&column::configuration(&address));
    let model = column::model(ServedApi::OpenaiChat);
    world.listed(model, &format!("http://{address}/v1"));
    let served = server(listener, 3);
    let mut args = vec!["run", "--output", "jsonl", "--trust", "-m"];
    args.push(model);
    args.extend(AUTO);
    args.push("Go");
    let mut command = world.command(&args);
    command.envs(column::environment(&address));
    let done = crate::world::start(&mut command).end().exits(0);
    let told = |line: &&serde_json::Value| line["params"]["update"]["kind"] == "retry";
    assert_eq!(done.lines().iter().find(told), None);
    served.join().unwrap();
}

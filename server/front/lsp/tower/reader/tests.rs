use std::thread;

use tokio::io::AsyncReadExt;

use super::*;
use crate::front::transport::inbox::{Inbox, channel};

fn reading() -> (Inbox, Reader) {
    let (inbox, incoming) = channel();
    (inbox, Reader::new(incoming))
}

#[tokio::test]
async fn messages_come_out_framed_whatever_is_read_at_once() {
    let bodies = ["{}", "a longer message", "é", "{\"x\":1}"];
    let expected: String = bodies
        .iter()
        .map(|body| header(body.len()) + body)
        .collect();
    for size in 1..expected.len() + 2 {
        let (inbox, mut reader) = reading();
        bodies
            .iter()
            .for_each(|body| inbox.push(Bytes::from_static(body.as_bytes())));
        inbox.close();
        let (mut read, mut part) = (Vec::new(), vec![0; size]);
        loop {
            let count = reader.read(&mut part).await.unwrap();
            read.extend_from_slice(&part[..count]);
            if count < size {
                break;
            }
        }
        assert_eq!(
            str::from_utf8(&read),
            Ok(expected.as_str()),
            "{size} bytes at once"
        );
    }
}

#[tokio::test]
async fn a_reader_that_waits_is_woken_by_a_message_and_by_the_end() {
    let (inbox, mut reader) = reading();
    let mut part = [0; 100];
    let mut read = Box::pin(reader.read(&mut part));
    assert!(futures_util::poll!(&mut read).is_pending());
    let pusher = thread::spawn(move || {
        inbox.push(Bytes::from_static(b"{}"));
        inbox
    });
    let count = read.await.unwrap();
    assert_eq!(&part[..count], b"Content-Length: 2\r\n\r\n{}");
    let inbox = pusher.join().unwrap();
    let mut read = Box::pin(reader.read(&mut part));
    assert!(futures_util::poll!(&mut read).is_pending());
    let closer = thread::spawn(move || inbox.close());
    assert_eq!(read.await.unwrap(), 0);
    closer.join().unwrap();
}

use std::thread;

use tokio::io::AsyncReadExt;

use super::*;

fn waiting(inbox: &Inbox) -> (usize, usize) {
    let state = inbox.0.lock();
    (state.queue.len(), state.bytes)
}

/// Pushes from a thread, as the pump does, and reads only while the queue is full or all is pushed: the most
/// messages and bytes that waited, and what was read.
async fn most_waiting(messages: Vec<Bytes>) -> (usize, usize, Vec<u8>) {
    let (inbox, mut reader) = channel();
    let pushing = inbox.clone();
    let pusher = thread::spawn(move || {
        messages
            .into_iter()
            .for_each(|message| pushing.push(message));
        pushing.close();
    });
    let (mut most, mut read, mut part) = ((0, 0), Vec::new(), vec![0; 1024 * 1024]);
    loop {
        while !inbox.0.lock().is_full() && !pusher.is_finished() {
            thread::yield_now();
        }
        let (count, bytes) = waiting(&inbox);
        most = (most.0.max(count), most.1.max(bytes));
        match reader.read(&mut part).await.unwrap() {
            0 => break,
            count => read.extend_from_slice(&part[..count]),
        }
    }
    pusher.join().unwrap();
    (most.0, most.1, read)
}

#[tokio::test]
async fn a_number_of_messages_waits_at_most() {
    let messages = vec![Bytes::from_static(b"1"); 3 * MAX_MESSAGES];
    let (count, _, read) = most_waiting(messages).await;
    assert_eq!(count, MAX_MESSAGES);
    assert_eq!(
        read,
        "Content-Length: 1\r\n\r\n1"
            .repeat(3 * MAX_MESSAGES)
            .as_bytes()
    );
}

#[tokio::test]
async fn a_number_of_bytes_and_one_message_waits_at_most() {
    let size = MAX_BYTES / 3 - 1;
    let (count, bytes, read) = most_waiting(vec![Bytes::from(vec![b' '; size]); 8]).await;
    assert_eq!((count, bytes), (4, 4 * size));
    assert_eq!(read.len(), 8 * (header(size).len() + size));
}

#[tokio::test]
async fn messages_come_out_framed_whatever_is_read_at_once() {
    let bodies = ["{}", "a longer message", "é", "{\"x\":1}"];
    let expected: String = bodies
        .iter()
        .map(|body| header(body.len()) + body)
        .collect();
    for size in 1..expected.len() + 2 {
        let (inbox, mut reader) = channel();
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
    let (inbox, mut reader) = channel();
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

#[test]
fn without_a_reader_nothing_is_kept_and_nobody_waits() {
    let (inbox, reader) = channel();
    (0..MAX_MESSAGES).for_each(|_| inbox.push(Bytes::from_static(b"1")));
    let pushing = inbox.clone();
    let pusher = thread::spawn(move || pushing.push(Bytes::from_static(b"2")));
    drop(reader);
    pusher.join().unwrap();
    inbox.push(Bytes::from_static(b"3"));
    assert_eq!(waiting(&inbox), (0, 0));
}

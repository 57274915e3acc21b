use std::thread;

use futures_util::StreamExt;

use super::*;

fn waiting(inbox: &Inbox) -> (usize, usize) {
    let state = lock(&inbox.0.state);
    (state.queue.len(), state.bytes)
}

/// Pushes from a thread, as the pump does, and reads only while the queue is full or everything is pushed. Returns the
/// largest queue in messages and bytes, and the messages read.
async fn most_waiting(messages: Vec<Bytes>) -> (usize, usize, Vec<Bytes>) {
    let (inbox, mut incoming) = channel();
    let pushing = inbox.clone();
    let pusher = thread::spawn(move || {
        messages
            .into_iter()
            .for_each(|message| pushing.push(message));
        pushing.close();
    });
    let (mut most, mut read) = ((0, 0), Vec::new());
    loop {
        while !lock(&inbox.0.state).is_full() && !pusher.is_finished() {
            thread::yield_now();
        }
        let (count, bytes) = waiting(&inbox);
        most = (most.0.max(count), most.1.max(bytes));
        match incoming.next().await {
            None => break,
            Some(body) => read.push(body),
        }
    }
    pusher.join().unwrap();
    (most.0, most.1, read)
}

#[tokio::test]
async fn queued_messages_are_limited() {
    let messages = vec![Bytes::from_static(b"1"); 3 * MAX_MESSAGES];
    let (count, _, read) = most_waiting(messages).await;
    assert_eq!(count, MAX_MESSAGES);
    assert_eq!(read, vec![Bytes::from_static(b"1"); 3 * MAX_MESSAGES]);
}

#[tokio::test]
async fn queued_bytes_are_limited_except_for_one_message() {
    let size = MAX_BYTES / 3 - 1;
    let (count, bytes, read) = most_waiting(vec![Bytes::from(vec![b' '; size]); 8]).await;
    assert_eq!((count, bytes), (4, 4 * size));
    assert_eq!(read.iter().map(Bytes::len).sum::<usize>(), 8 * size);
}

#[tokio::test]
async fn messages_arrive_in_order_before_the_end() {
    let (inbox, incoming) = channel();
    for body in ["{}", "a longer message", "é"] {
        inbox.push(Bytes::from_static(body.as_bytes()));
    }
    inbox.close();
    let all: Vec<Bytes> = incoming.collect().await;
    assert_eq!(all, ["{}", "a longer message", "é"]);
}

#[test]
fn pushing_without_a_reader_neither_stores_nor_blocks() {
    let (inbox, incoming) = channel();
    (0..MAX_MESSAGES).for_each(|_| inbox.push(Bytes::from_static(b"1")));
    let pushing = inbox.clone();
    let pusher = thread::spawn(move || pushing.push(Bytes::from_static(b"2")));
    drop(incoming);
    pusher.join().unwrap();
    inbox.push(Bytes::from_static(b"3"));
    assert_eq!(waiting(&inbox), (0, 0));
}

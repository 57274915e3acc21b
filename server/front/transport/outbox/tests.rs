use std::{
    sync::mpsc::{self, Receiver, Sender, SyncSender},
    thread::{self, JoinHandle},
};

use futures_util::poll;
use tokio::io::AsyncWriteExt;

use super::*;
use crate::front::transport::end::{self, Signals};

/// A pipe that reports each write and waits for its result.
struct Gate {
    told: Sender<String>,
    answers: Receiver<io::Result<usize>>,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.told
            .send(String::from_utf8(bytes.to_vec()).unwrap())
            .unwrap();
        self.answers.recv().unwrap()
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Client {
    outbox: Outbox,
    signals: Signals,
    writes: Receiver<String>,
    answers: SyncSender<io::Result<usize>>,
    writer: JoinHandle<()>,
}

fn client() -> Client {
    let (ends, signals) = end::channel();
    let outbox = Outbox::new(ends, str::to_owned);
    let (told, writes) = mpsc::channel();
    let (answers, answered) = mpsc::sync_channel(0);
    let (writing, gate) = (
        outbox.clone(),
        Gate {
            told,
            answers: answered,
        },
    );
    let writer = thread::spawn(move || writing.write_to(gate));
    Client {
        outbox,
        signals,
        writes,
        answers,
        writer,
    }
}

impl Client {
    /// The bytes of the current write.
    fn write(&self) -> String {
        self.writes.recv().unwrap()
    }

    fn answer(&self, answer: io::Result<usize>) {
        self.answers.send(answer).unwrap();
    }
}

#[tokio::test]
async fn queued_bytes_are_written_together() {
    let mut client = client();
    client.outbox.write_all(b"one").await.unwrap();
    assert_eq!(client.write(), "one");
    client.outbox.write_all(b"two").await.unwrap();
    client.outbox.push(b"three");
    client.outbox.write_all(b"four").await.unwrap();
    client.outbox.flush().await.unwrap();
    client.answer(Ok(3));
    assert_eq!(client.write(), "twothreefour");
    client.outbox.shutdown().await.unwrap();
    client.outbox.push(b"late");
    client.outbox.close();
    client.outbox.push(b"too late");
    client.answer(Ok(12));
    assert_eq!(client.write(), "late", "an answer behind the last message");
    client.answer(Ok(4));
    client.writer.join().unwrap();
    assert!(client.writes.try_recv().is_err());
    assert_eq!((client.outbox.queued(), client.signals.now()), (0, None));
}

#[tokio::test]
async fn unwritten_bytes_stay_queued() {
    let client = client();
    client.outbox.push(b"0123456789");
    let mut below_ten = Box::pin(client.outbox.drained(10));
    let mut below_five = Box::pin(client.outbox.drained(5));
    let mut all = Box::pin(client.outbox.drained(1));
    let mut bound_of_zero = Box::pin(client.outbox.drained(0));
    assert_eq!(
        (client.write().as_str(), client.outbox.queued()),
        ("0123456789", 10)
    );
    assert!(poll!(&mut below_ten).is_pending());
    client.answer(Err(io::ErrorKind::Interrupted.into()));
    assert_eq!(
        (client.write().as_str(), client.outbox.queued()),
        ("0123456789", 10)
    );
    client.answer(Ok(4));
    assert_eq!(
        (client.write().as_str(), client.outbox.queued()),
        ("456789", 6)
    );
    assert!(poll!(&mut below_ten).is_ready());
    assert!(poll!(&mut below_five).is_pending());
    client.answer(Ok(3));
    assert_eq!(
        (client.write().as_str(), client.outbox.queued()),
        ("789", 3)
    );
    assert!(poll!(&mut below_five).is_ready());
    assert!(poll!(&mut all).is_pending());
    assert!(poll!(&mut bound_of_zero).is_pending());
    client.answer(Ok(3));
    all.await;
    bound_of_zero.await;
    assert_eq!(client.outbox.queued(), 0);
}

#[tokio::test]
async fn write_errors_end_the_connection() {
    let table = [
        (Err(io::ErrorKind::BrokenPipe.into()), "broken pipe"),
        (Err(io::ErrorKind::StorageFull.into()), "no storage space"),
        (Ok(0), "write zero"),
    ];
    for (answer, end) in table {
        let mut client = client();
        client.outbox.push(b"one");
        client.write();
        client.outbox.push(b"two");
        client.answer(answer);
        assert_eq!(
            client.signals.ended().await,
            ConnectionEnd::Output(end.into())
        );
        client.writer.join().unwrap();
        client.outbox.drained(1).await;
        client.outbox.write_all(b"three").await.unwrap();
        assert_eq!(client.outbox.queued(), 0);
    }
}

#[tokio::test]
async fn clients_that_do_not_read_are_dropped_at_the_limit() {
    let mut client = client();
    let megabyte = vec![b'x'; 1024 * 1024];
    client.outbox.push(b"in the pipe");
    client.write();
    for _ in 0..64 {
        client.outbox.write_all(&megabyte).await.unwrap();
    }
    assert_eq!(
        (client.outbox.queued(), client.signals.now()),
        (MAX_QUEUED + 11, None)
    );
    assert!(lock(&client.outbox.0.state).pending.capacity() <= MAX_QUEUED);
    let mut drained = Box::pin(client.outbox.drained(1));
    assert!(poll!(&mut drained).is_pending());
    client.outbox.push(b"one more");
    assert_eq!(client.signals.ended().await, ConnectionEnd::NotReading);
    drained.await;
    assert_eq!(client.outbox.queued(), 0);
    assert_eq!(lock(&client.outbox.0.state).pending.capacity(), 0);
    client.answer(Ok(11));
    client.writer.join().unwrap();
    assert_eq!(client.outbox.queued(), 0);
}

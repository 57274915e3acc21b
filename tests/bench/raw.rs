//! A server that notes when each request and each piece of its response passed the socket. It is as bare as can be,
//! so that nothing of it is in the figures.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// When things of one request passed the socket.
#[derive(Debug)]
pub(crate) struct Stamps {
    /// The first bytes of the request had come.
    pub(crate) first: Instant,
    /// All of it had come.
    pub(crate) whole: Instant,
    /// Bytes of its body.
    pub(crate) body: usize,
    /// Just before each part of the response was written.
    pub(crate) parts: Vec<Instant>,
}

/// Answers every request with these parts, a write each, so far apart. The server lives as long as the process.
pub(crate) fn serve(parts: Vec<Vec<u8>>, pace: Duration) -> (SocketAddr, Receiver<Stamps>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let address = listener.local_addr().expect("the address that was bound");
    let (sender, stamps) = channel();
    let parts = Arc::new(parts);
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (parts, sender) = (parts.clone(), sender.clone());
            // A client that leaves ends its thread.
            thread::spawn(move || answer(socket, &parts, pace, &sender));
        }
    });
    (address, stamps)
}

fn answer(
    mut socket: TcpStream,
    parts: &[Vec<u8>],
    pace: Duration,
    sender: &Sender<Stamps>,
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    loop {
        let mut stamps = read(&mut socket)?;
        socket.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        for part in parts {
            thread::sleep(pace);
            let mut chunk = format!("{:x}\r\n", part.len()).into_bytes();
            chunk.extend_from_slice(part);
            chunk.extend_from_slice(b"\r\n");
            stamps.parts.push(Instant::now());
            socket.write_all(&chunk)?;
        }
        socket.write_all(b"0\r\n\r\n")?;
        if sender.send(stamps).is_err() {
            return Ok(());
        }
    }
}

/// Reads a request with a length, and lets go of it.
fn read(socket: &mut TcpStream) -> io::Result<Stamps> {
    let mut buffer = vec![0; 256 * 1024];
    let mut head = Vec::new();
    let mut first = None;
    let end = loop {
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        first.get_or_insert_with(Instant::now);
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&head[..end]).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let body = length.map_or(0, |length| length.trim().parse().expect("a length"));
    let mut left = (end + body).saturating_sub(head.len());
    while left > 0 {
        match socket.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => left = left.saturating_sub(count),
        }
    }
    let whole = Instant::now();
    Ok(Stamps {
        first: first.unwrap_or(whole),
        whole,
        body,
        parts: Vec::new(),
    })
}

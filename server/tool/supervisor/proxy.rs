//! The proxy to allowed hosts for a command without network.
//!
//! The proxy listens at a socket in the command's own network, so that no other process can reach it; on macOS, where there
//! is no such network, at a port of this machine that is the only one which the command reaches. A request for an
//! allowed host is connected to one of its addresses. They are resolved once, so that the checked address is the
//! connected one. At one address there may be other sites too: a plain request names the allowed one, and a tunnel begins
//! with TLS for it.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

use aside_base::lock;
use url::{Host, Url};

use super::hello;
use crate::sandbox::hosts::{AllowedHost, host_of, is_refused, split};

/// Maximum size in bytes of a request's head.
const HEAD: usize = 8 << 10;
/// Maximum number of headers of a request.
const HEADERS: usize = 100;
/// Maximum number of simultaneous connections.
const MOST: usize = 64;
/// Maximum number of refused hosts that the command's output names.
const NAMED: usize = 10;
/// Ports of a host that is allowed without one: of plain requests, and of tunnels.
const PLAIN: u16 = 80;
const TUNNEL: u16 = 443;
/// Time limit for receiving a request and for connecting.
const PATIENCE: Duration = Duration::from_secs(20);

/// State that the command's connections share.
struct Proxy {
    allowed: Vec<AllowedHost>,
    open: AtomicUsize,
    named: Mutex<BTreeSet<String>>,
}

/// Destination of a request.
#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    host: Host,
    port: u16,
    /// Bytes to send first; `None` for a tunnel.
    first: Option<Vec<u8>>,
}

impl ProxyRequest {
    fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The port of a host that is allowed without one.
    fn usual(&self) -> u16 {
        match self.first {
            Some(_) => PLAIN,
            None => TUNNEL,
        }
    }
}

/// Refusal of a request: a status and its explanation.
#[derive(Debug, PartialEq, Eq)]
struct Denial {
    status: &'static str,
    why: String,
}

/// Serves a command at the socket from its network. Returns at once if the socket does not listen.
#[cfg(target_os = "linux")]
pub(super) fn serve(socket: OwnedFd, allowed: Vec<AllowedHost>) {
    if listens(&socket) {
        Arc::new(Proxy::new(allowed)).attend_all(&TcpListener::from(socket));
    }
}

#[cfg(target_os = "linux")]
fn listens(socket: &OwnedFd) -> bool {
    use rustix::net::{AddressFamily, SocketType, sockopt};
    sockopt::socket_acceptconn(socket) == Ok(true)
        && sockopt::socket_domain(socket) == Ok(AddressFamily::INET)
        && sockopt::socket_type(socket) == Ok(SocketType::STREAM)
}

/// Serves a command at these sockets of this machine, each in a thread of its own.
///
/// # Errors
/// Fails if there is no thread.
#[cfg(target_os = "macos")]
pub(super) fn serve_at(listeners: Vec<TcpListener>, allowed: Vec<AllowedHost>) -> io::Result<()> {
    let proxy = Arc::new(Proxy::new(allowed));
    for listener in listeners {
        let proxy = proxy.clone();
        thread::Builder::new().spawn(move || proxy.attend_all(&listener))?;
    }
    Ok(())
}

impl Proxy {
    fn new(allowed: Vec<AllowedHost>) -> Self {
        Self {
            allowed,
            open: AtomicUsize::new(0),
            named: Mutex::default(),
        }
    }

    /// Serves all connections that come, each in a thread of its own.
    fn attend_all(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            let Ok(client) = client else {
                // For example too many open files; existing connections end at some time.
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let proxy = self.clone();
            if proxy.open.fetch_add(1, Ordering::Relaxed) >= MOST {
                proxy.open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let begun = thread::Builder::new().spawn({
                let proxy = proxy.clone();
                move || {
                    // A client that hangs up needs no report.
                    let _ = proxy.attend(client);
                    proxy.open.fetch_sub(1, Ordering::Relaxed);
                }
            });
            if begun.is_err() {
                proxy.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Serves one connection to its end.
    fn attend(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(PATIENCE))?;
        let reached = read_head(&mut client).and_then(|(head, rest)| {
            let wanted = wanted(&head, rest)?;
            let server = self.reach(&wanted)?;
            Ok((wanted, server))
        });
        let (wanted, mut server) = match reached {
            Ok(reached) => reached,
            Err(denial) => return client.write_all(denial.response().as_bytes()),
        };
        let first = match wanted.first {
            Some(first) => first,
            None => {
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
                let name = wanted.name();
                let hello = hello::read(&mut client, &wanted.host);
                hello.inspect_err(|why| self.tell(&name, &Denial::tunnel(&name, why)))?
            }
        };
        client.set_read_timeout(None)?;
        server.write_all(&first)?;
        let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
        let up = thread::Builder::new().spawn(move || pass(&mut from, &mut to))?;
        pass(&mut server, &mut client);
        let _ = up.join();
        Ok(())
    }

    /// Connects to a host that the user allowed.
    fn reach(&self, wanted: &ProxyRequest) -> Result<TcpStream, Denial> {
        let (host, port, name) = (&wanted.host, wanted.port, wanted.name());
        let look_up = || {
            let text = host.to_string();
            let found = (text.trim_matches(['[', ']']), port).to_socket_addrs();
            found.map(Iterator::collect)
        };
        let addresses = addresses(&self.allowed, wanted, look_up);
        let addresses = addresses.inspect_err(|it| self.tell(&name, it))?;
        let mut last = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(server) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        let why = last.map_or_else(|| "it has no address".to_owned(), |error| error.to_string());
        Err(Denial::unreached(&name, &why))
    }

    /// Reports a refused host in the command's output, so that its reader knows why.
    fn tell(&self, name: &str, denial: &Denial) {
        let mut named = lock(&self.named);
        if named.len() < NAMED && named.insert(name.to_owned()) {
            let line = match denial.status {
                FORBIDDEN => format!("[The sandbox lets nothing reach {name}.]\n"),
                _ => format!("[The host {}.]\n", denial.why),
            };
            let _ = io::stderr().lock().write_all(line.as_bytes());
        }
    }
}

/// Status for a host that is not allowed, or that resolves to an address which is never allowed.
const FORBIDDEN: &str = "403 Forbidden";

impl Denial {
    fn forbidden(why: String) -> Self {
        let status = FORBIDDEN;
        Self { status, why }
    }

    fn malformed(why: &str) -> Self {
        let status = "400 Bad Request";
        let why = format!("this proxy reads HTTP/1 alone: {why}");
        Self { status, why }
    }

    fn tunnel(name: &str, why: &io::Error) -> Self {
        Self {
            status: "421 Misdirected Request",
            why: format!("{name} was not reached: {why}"),
        }
    }

    fn unreached(name: &str, why: &str) -> Self {
        Self {
            status: "502 Bad Gateway",
            why: format!("{name} was not reached: {why}"),
        }
    }

    fn response(&self) -> String {
        let (status, why) = (self.status, &self.why);
        let length = why.len() + 1;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{why}\n"
        )
    }
}

/// The allowed addresses of a host.
fn addresses(
    allowed: &[AllowedHost],
    wanted: &ProxyRequest,
    look_up: impl FnOnce() -> io::Result<Vec<SocketAddr>>,
) -> Result<Vec<SocketAddr>, Denial> {
    let (name, usual) = (wanted.name(), wanted.usual());
    let mut rules = allowed.iter();
    if !rules.any(|rule| rule.fits(&wanted.host, wanted.port, usual)) {
        let way = match wanted.first {
            Some(_) => "without TLS",
            None => "by TLS",
        };
        let why = format!("{name} is none of the hosts that the user lets commands reach {way}");
        return Err(Denial::forbidden(why));
    }
    let mut found = look_up().map_err(|error| Denial::unreached(&name, &error.to_string()))?;
    found.retain(|address| !is_refused(address.ip()));
    if found.is_empty() {
        let why = format!(
            "{name} leads to this machine, to its link or nowhere, where no command is let"
        );
        return Err(Denial::forbidden(why));
    }
    Ok(found)
}

/// Reads the head of a request, and any bytes of the body that came with it.
fn read_head(client: &mut impl Read) -> Result<(Vec<u8>, Vec<u8>), Denial> {
    let mut read = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return Ok((read, rest));
        }
        if read.len() >= HEAD {
            return Err(Denial::malformed("its headers are over 8 KiB"));
        }
        match client.read(&mut chunk) {
            Ok(0) => return Err(Denial::malformed("it ended within its headers")),
            Ok(count) => read.extend_from_slice(&chunk[..count]),
            Err(error) => return Err(Denial::malformed(&error.to_string())),
        }
    }
}

/// The destination of a request, and the bytes to send there first.
fn wanted(head: &[u8], rest: Vec<u8>) -> Result<ProxyRequest, Denial> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let read = request.parse(head);
    let (Ok(_), Some(method), Some(target)) = (read, request.method, request.path) else {
        return Err(Denial::malformed("the request cannot be read"));
    };
    // Programs differ in where a request ends that is not clear, so that a second one, for another site, could follow.
    let lengths = request.headers.iter().filter(|it| says_length(it.name));
    let lengths: Vec<&httparse::Header<'_>> = lengths.collect();
    if lengths.len() > 1 {
        return Err(Denial::malformed("it says its length in two ways"));
    }
    if !lengths.iter().all(|it| is_clear(it)) {
        return Err(Denial::malformed("it says its length in an odd way"));
    }
    if method == "CONNECT" {
        let parts = split(target).and_then(|(host, port)| Some((host_of(host)?, port?)));
        let (host, port) = parts.ok_or_else(|| Denial::malformed("it names no host and port"))?;
        if !rest.is_empty() {
            return Err(Denial::malformed("it goes on before the tunnel is there"));
        }
        return Ok(ProxyRequest {
            host,
            port,
            first: None,
        });
    }
    let url = Url::parse(target).ok().filter(|url| url.scheme() == "http");
    let url = url.ok_or_else(|| Denial::malformed("it names no URL with http"))?;
    let host = url.host_str().and_then(host_of);
    let host = host.ok_or_else(|| Denial::malformed("it names no host"))?;
    let query = url
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    let mut first = format!("{method} {}{query} HTTP/1.1\r\n", url.path()).into_bytes();
    // Not as it came: it could name another site at the same address.
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    first.extend_from_slice(format!("Host: {host}{port}\r\n").as_bytes());
    for header in request.headers.iter() {
        if !is_for_us(header.name) {
            first.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
        }
    }
    // One request a connection, because the next one may be for another host.
    first.extend_from_slice(b"Connection: close\r\n\r\n");
    first.extend(rest);
    Ok(ProxyRequest {
        host,
        port: url.port_or_known_default().unwrap_or(PLAIN),
        first: Some(first),
    })
}

/// Whether a header says where a request ends.
fn says_length(name: &str) -> bool {
    let names = ["content-length", "transfer-encoding"];
    names.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Whether every program takes a header that says where a request ends for the same.
fn is_clear(header: &httparse::Header<'_>) -> bool {
    match header.name.eq_ignore_ascii_case("content-length") {
        true => !header.value.is_empty() && header.value.iter().all(u8::is_ascii_digit),
        false => header.value.eq_ignore_ascii_case(b"chunked"),
    }
}

/// Whether a header is hop-by-hop, or names the host.
fn is_for_us(name: &str) -> bool {
    let names = [
        "connection",
        "host",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "te",
        "upgrade",
    ];
    names.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Copies data until its end, and then closes the other side.
fn pass(from: &mut TcpStream, to: &mut TcpStream) {
    let _ = io::copy(from, to);
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(head: &str, rest: &str) -> Result<(String, Option<String>), String> {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let wanted = wanted(head.as_bytes(), rest.into());
        let wanted = wanted.map_err(|denial| denial.why)?;
        let place = format!("{}:{}", wanted.host, wanted.port);
        Ok((place, wanted.first.map(text)))
    }

    #[test]
    fn where_a_request_goes() {
        let tunnel = "CONNECT crates.io:443 HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(text(tunnel, ""), Ok(("crates.io:443".into(), None)));
        let plain = "POST http://Example.com/a?b=c HTTP/1.1\r\nHost: example.com\r\nProxy-Connection: keep-alive\r\n\
                     connection: keep-alive\r\nContent-Length: 2\r\n\r\n";
        let first = "POST /a?b=c HTTP/1.1\r\nHost: example.com\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
        let expected = ("example.com:80".into(), Some(first.into()));
        assert_eq!(text(plain, "hi"), Ok(expected));
        let other =
            "GET http://ok.example:8080/ HTTP/1.1\r\nHost: evil.internal\r\nhost: b\r\n\r\n";
        let first = "GET / HTTP/1.1\r\nHost: ok.example:8080\r\nConnection: close\r\n\r\n";
        let expected = ("ok.example:8080".into(), Some(first.into()));
        assert_eq!(text(other, ""), Ok(expected));
        for wrong in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://x/ HTTP/1.1\r\n\r\n",
            "CONNECT crates.io HTTP/1.1\r\n\r\n",
            "CONNECT http://crates.io:443 HTTP/1.1\r\n\r\n",
            "\u{5}\u{1}\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nContent-Length: 5\r\ncontent-length: 50\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nContent-Length: 5, 50\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nContent-Length: +5\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nContent-Length: 0x5\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nContent-Length:\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nTransfer-Encoding: identity, chunked\r\n\r\n",
            "POST http://x/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
        ] {
            assert!(text(wrong, "").is_err(), "{wrong}");
        }
        assert!(text(tunnel, "early").is_err());
        let chunked = "POST http://x/ HTTP/1.1\r\nTransfer-Encoding: Chunked \r\n\r\n";
        assert!(text(chunked, "0\r\n\r\n").is_ok());
    }

    #[test]
    fn a_head_is_read_to_its_end_and_no_further_than_its_bound() {
        let read = |bytes: &[u8]| read_head(&mut &bytes[..]).map_err(|denial| denial.why);
        let whole = read(b"GET x HTTP/1.1\r\n\r\nrest");
        assert_eq!(
            whole,
            Ok((b"GET x HTTP/1.1\r\n\r\n".to_vec(), b"rest".to_vec()))
        );
        assert!(read(b"GET x").unwrap_err().contains("ended within"));
        assert!(read(&[b'x'; 20_000]).unwrap_err().contains("over 8 KiB"));
    }

    #[test]
    fn addresses_are_looked_up_once_and_looked_at() {
        let allowed = [AllowedHost::parse("in.example").unwrap()];
        let tunnel = |host: &str, port| ProxyRequest {
            host: host_of(host).unwrap(),
            port,
            first: None,
        };
        let find = |host: &str, port, found: &[&str]| {
            let found = found
                .iter()
                .map(|it| format!("{it}:{port}").parse().unwrap());
            let found: Vec<SocketAddr> = found.collect();
            let addresses = addresses(&allowed, &tunnel(host, port), || Ok(found));
            let addresses = addresses.map_err(|denial| denial.status);
            addresses.map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let good = vec!["192.0.2.7:443".to_owned()];
        assert_eq!(find("in.example", 443, &["192.0.2.7"]), Ok(good.clone()));
        assert_eq!(
            find("in.example", 443, &["127.0.0.1", "192.0.2.7"]),
            Ok(good)
        );
        let forbidden = Err("403 Forbidden");
        assert_eq!(find("in.example", 443, &["127.0.0.1"]), forbidden);
        assert_eq!(find("in.example", 443, &["169.254.169.254"]), forbidden);
        assert_eq!(find("in.example", 22, &["192.0.2.7"]), forbidden);
        assert_eq!(find("in.example", 80, &["192.0.2.7"]), forbidden);
        assert_eq!(find("out.example", 443, &["192.0.2.7"]), forbidden);
        let not_looked_up = addresses(&allowed, &tunnel("192.0.2.7", 443), || {
            panic!("nobody asks for the address of a host that is not allowed")
        });
        assert!(not_looked_up.is_err());
    }
}
